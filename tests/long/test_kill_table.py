"""`make kills`: a run over ten tables is killed, or terminated, at each of twenty places; no evidence of a done table is lost.

The same command again must end right, and everything that the first run committed must be named or found by `audit lake`.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.integration.killed import started
from tests.integration.project import Project, in_table
from tests.support.postgres import Database
from tests.support.stop_places import NIGHT

TABLES = tuple(f"t{number}" for number in range(10))
PATIENCE_SECONDS = 240.0
WAYS = {"SIGKILL": (-signal.SIGKILL, 137, "Killed"), "SIGTERM": (143, 143, "Interrupted")}


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """Ten tables that were pulled; since then each got a new row, and one changed without its watermark."""
    for name in TABLES:
        pg.execute(
            f"create table {name} (order_id bigint primary key, note text, updated_at timestamp not null)",
            f"insert into {name} select i, 'n' || i, timestamp '2025-01-01' + i * interval '1 hour'"
            " from generate_series(1, 40) i",
        )
    project = Project.of(tmp_path, pg, capsys)
    settings = {**project.settings, "policy": {"savepoint": "never"}}
    tables = [
        {**settings, "name": name, "source": {"table": f"public.{name}"}, "lake": {"path": f"lake/{name}"}}
        for name in TABLES
    ]
    project.settings, project.more = tables[0], tables[1:]
    assert project.json("pull").code == 0
    for name in TABLES:
        pg.execute(
            f"update {name} set note = 'silent' where order_id = 7",
            f"insert into {name} values (41, 'new', timestamp '2025-02-01')",
        )
    for folder in ("lake", "reports"):
        shutil.copytree(tmp_path / folder, tmp_path / f"before-{folder}")
    return project


def begin_anew(project: Project) -> None:
    """Lake and reports as they were before any kill."""
    for folder in ("lake", "reports"):
        shutil.rmtree(project.folder / folder)
        shutil.copytree(project.folder / f"before-{folder}", project.folder / folder)


def end_at(project: Project, place: str, way: str) -> None:
    module = ("tests.support.stop_places", place, way)
    process: subprocess.Popen[bytes] = started(project, "run", "--apply", "--format", "json", module=module)
    assert process.wait(PATIENCE_SECONDS) == WAYS[way][0], (project.folder / "killed.log").read_text()


def commits_of(project: Project, run_id: str, name: str) -> list[str]:
    """The completion times of the run's corrections in a table, by its timeline."""
    folder = project.folder / "lake" / name / ".hoodie" / "timeline"
    made = [path for path in folder.glob("*commit") if run_id.encode() in path.read_bytes()]
    return sorted(path.stem.partition("_")[2] for path in made if b'"apply"' in path.read_bytes())


def done_tables(place: str) -> int:
    """How many tables were done when the place was reached, and kept."""
    words = {"before Spark": 0, "first table: its result was kept": 1, "first table": 0, "fifth table": 4}
    return next((count for word, count in words.items() if place.startswith(word)), 10)


def assert_evidence_is_complete(project: Project, ended: dict[str, Any], place: str, way: str) -> None:
    _, code, kind = WAYS[way]
    is_logged = place.startswith("between the line")
    assert ended["exit_code"] == (0 if is_logged else code)
    least = done_tables(place)
    done = [table for table in ended["tables"] if table["outcome"] == "corrected"]
    assert [table["name"] for table in ended["tables"]] == list(TABLES)
    assert len(done) == least if way == "SIGKILL" else len(done) >= least
    assert {table["error"]["type"] for table in ended["tables"] if table not in done} <= {kind}
    for table in ended["tables"]:
        named, made = table["corrections"]["instants"], commits_of(project, ended["run_id"], table["name"])
        if table in done or way == "SIGTERM":
            assert sorted(named) == made, (place, table)
        if table in done:
            assert (table["corrections"]["applied"], table["pull"]["rows"]) == (1, 1)
            folder = project.folder / "reports" / ended["run_id"] / table["name"]
            assert json.loads((folder / "plan.json").read_text())["plan_id"] == table["plan_id"]
            assert list((folder / "findings").glob("*.parquet"))


@pytest.mark.parametrize("way", WAYS)
def test_run_over_ten_tables_that_is_ended_anywhere_keeps_the_evidence_of_each_done_table(
    spark: SparkSession, project: Project, way: str
) -> None:
    rows = {
        name: sorted(project.database.query(f"select order_id, note, updated_at from {name}"), key=str)
        for name in TABLES
    }
    for place in NIGHT:
        if way == "SIGTERM" and place.function in ("publish", "finish", "write_result"):
            continue  # a signal waits there: the run is over, and ends as it would have
        begin_anew(project)
        before = {path.name for path in (project.folder / "reports").iterdir()}
        end_at(project, place.name, way)

        again = project.json("run", "--apply")

        assert again.code == 0, (place.name, again)
        runs = sorted({path.name for path in (project.folder / "reports").iterdir()} - before)
        assert (len(runs), runs[-1]) == (2, again.document["run_id"]), place.name
        ended = json.loads((project.folder / "reports" / runs[0] / "result.json").read_text())
        assert_evidence_is_complete(project, ended, place.name, way)
        assert project.run("audit", "verify").code == 0
        assert project.run("audit", "lake").code == 0
        for name in TABLES:
            found = in_table(spark, project.folder / "lake" / name, "order_id", "note", "updated_at")
            assert found == rows[name], (place.name, name)
        sys.stdout.write(
            f"{way:8}  {place.name:70}  {sum(t['outcome'] == 'corrected' for t in ended['tables']):2} of 10 done\n"
        )
