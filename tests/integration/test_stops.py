"""Runs over several tables that are asked to end, or lose Java: one document, a complete run folder, every commit named."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.integration.project import Project
from tests.support.kill_places import ROOT
from tests.support.postgres import Database

TABLES = ("orders", "items", "parts")
PATIENCE_SECONDS = 240.0


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """Three tables that were pulled, each with one row that changed without its watermark since."""
    for name in TABLES:
        pg.execute(
            f"create table {name} (order_id bigint primary key, note text, updated_at timestamp not null)",
            f"insert into {name} select i, 'n' || i, timestamp '2025-01-01' + i * interval '1 hour'"
            " from generate_series(1, 40) i",
        )
    project = Project.of(tmp_path, pg, capsys)
    project.more = [
        {**project.settings, "name": name, "source": {"table": f"public.{name}"}, "lake": {"path": f"lake/{name}"}}
        for name in TABLES[1:]
    ]
    assert project.json("pull").code == 0
    for name in TABLES:
        pg.execute(f"update {name} set note = 'silent' where order_id = 7")
    return project


def begin(project: Project, *module: str, more: Sequence[str] = ()) -> subprocess.Popen[str]:
    """`run --apply` in a process of its own."""
    called = ["run", "--apply", "--format", "json", *more]
    command = [sys.executable, "-m", *module, "-c", str(project.write_config()), *called]
    with (project.folder / "stderr.log").open("w") as log:
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=ROOT,
            # A shell that runs the tests in the background has SIGINT ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no thread runs here
        )


def finish(project: Project, process: subprocess.Popen[str]) -> dict[str, Any]:
    """The document of the process, which is that of its run folder, whose line in the log is right."""
    out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    said = (project.folder / "stderr.log").read_text()
    document: dict[str, Any] = json.loads(out or "null")
    assert document is not None, said
    assert document["exit_code"] == process.returncode, said
    kept = json.loads((project.folder / "reports" / document["run_id"] / "result.json").read_text())
    assert kept["tables"] == document["tables"]
    assert project.run("audit", "verify").code == 0
    assert "Traceback" not in said
    return document


def commits_of(project: Project, document: dict[str, Any], name: str) -> list[str]:
    """The completion times of the run's commits in a table, by its timeline."""
    folder = project.folder / "lake" / name / ".hoodie" / "timeline"
    made = [path for path in folder.glob("*commit") if document["run_id"].encode() in path.read_bytes()]
    return sorted(path.stem.partition("_")[2] for path in made)


def outcomes(document: dict[str, Any]) -> list[str]:
    return [table["error"]["type"] if table["error"] else table["outcome"] for table in document["tables"]]


def repair(project: Project) -> None:
    """The same command again ends right, with nothing to do by hand."""
    again = project.json("run", "--apply")
    assert again.code == 0, again
    for name in TABLES:
        assert project.database.query(f"select count(*) from {name} where note = 'silent'") == [(1,)]


def test_terminated_in_a_commit_the_run_names_the_commit_and_the_next_run_ends_right(project: Project) -> None:
    process = begin(project, "tests.support.stop_places", "second commit, before anybody knows", "SIGTERM")

    document = finish(project, process)

    assert document["exit_code"] == 143
    assert outcomes(document) == ["corrected", "Interrupted", "Interrupted"]
    first, second, third = document["tables"]
    assert (second["corrections"]["applied"], third["corrections"]["applied"]) == (1, 0)
    for table in (first, second, third):
        assert table["corrections"]["instants"] == commits_of(project, document, table["name"])
    assert len(second["corrections"]["instants"]) == 1
    assert sum(second["findings"].values()) == 1
    repair(project)


def test_interrupted_while_rows_are_written_the_commit_lands_or_leaves_nothing_and_no_other_table_is_begun(
    project: Project,
) -> None:
    folder = project.folder / "lake" / "items" / ".hoodie" / "timeline"
    before = set(folder.iterdir())
    process = begin(project, "hudi_reconcile")
    patience = time.monotonic() + PATIENCE_SECONDS
    while not any(path.name.endswith(".inflight") for path in set(folder.iterdir()) - before):
        assert process.poll() is None, (project.folder / "stderr.log").read_text()
        assert time.monotonic() < patience
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGINT)

    document = finish(project, process)

    assert document["exit_code"] == 130
    assert outcomes(document) == ["corrected", "Interrupted", "Interrupted"]
    second, third = document["tables"][1:]
    assert second["corrections"]["instants"] == commits_of(project, document, "items")
    assert commits_of(project, document, "parts") == []
    assert third["pull"] is None if "pull" in third else True
    repair(project)


def test_java_out_of_memory_is_named_and_the_tables_after_it_are_done_by_another_java(project: Project) -> None:
    process = begin(project, "tests.support.stop_places", "sweep of the second table", "memory")

    document = finish(project, process)

    assert document["exit_code"] == 3
    assert outcomes(document) == ["corrected", "SparkLostError", "corrected"]
    error = document["tables"][1]["error"]
    assert "out of memory" in error["message"]
    assert "spark.driver.memory" in error["fix"]
    repair(project)


def test_terminated_while_two_tables_are_worked_on_the_commits_of_both_are_named(project: Project) -> None:
    timelines = [project.folder / "lake" / name / ".hoodie" / "timeline" for name in TABLES]
    before = {path for timeline in timelines for path in timeline.iterdir()}
    process = begin(project, "hudi_reconcile", more=("--jobs", "2"))
    patience = time.monotonic() + PATIENCE_SECONDS
    while not any(
        path.name.endswith(".inflight") for timeline in timelines for path in set(timeline.iterdir()) - before
    ):
        assert process.poll() is None, (project.folder / "stderr.log").read_text()
        assert time.monotonic() < patience
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGTERM)

    document = finish(project, process)

    assert document["exit_code"] == 143
    assert [table["name"] for table in document["tables"]] == list(TABLES)
    assert outcomes(document)[2] == "Interrupted"
    for table in document["tables"]:
        assert table["corrections"]["instants"] == commits_of(project, document, table["name"])
    repair(project)
