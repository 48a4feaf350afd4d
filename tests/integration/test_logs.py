"""What a run shows on stderr, in a process of its own: JSON lines alone, stages by name, nothing of a row."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.project import Project
from tests.support.postgres import Database

# Found by the words alone where they leak: no count, time or id looks like them.
SECRET_VALUES = ("Xylophone", "Zeppelin", "70077007")


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """Two tables; a first pull of `orders` is in the lake, which has drifted since. `lost` has no source."""
    pg.execute(
        "create table orders (order_id bigint primary key, note text, updated_at timestamp)",
        "insert into orders select i, 'n' || i, timestamp '2025-05-01' + i * interval '1 minute'"
        " from generate_series(1, 20) i",
        "insert into orders values (70077007, 'Zeppelin', timestamp '2025-05-01')",
    )
    project = Project.of(tmp_path, pg, capsys)
    lost = {**project.settings, "name": "lost", "source": {"table": "public.lost"}, "lake": {"path": "lake/lost"}}
    project.more = [lost]
    return project


def called(project: Project, *words: str) -> tuple[int, dict[str, Any], list[dict[str, Any]]]:
    """Exit code, the document of stdout, and every line of stderr."""
    command = [sys.executable, "-m", "hudi_reconcile", "-c", str(project.write_config()), "--log-format", "json"]
    done = subprocess.run([*command, *words, "--format", "json"], capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout), [json.loads(line) for line in done.stderr.splitlines()]


def drift(project: Project) -> None:
    project.database.execute(
        "update orders set note = 'Xylophone' where order_id = 3", "delete from orders where order_id = 70077007"
    )


def test_run_of_two_tables_leaves_json_lines_that_name_run_table_and_stage(project: Project) -> None:
    first = project.json("pull", "-t", "orders")
    assert first.code == 0, first
    drift(project)

    code, document, lines = called(project, "-v", "run", "--apply")

    assert (code, [table["outcome"] for table in document["tables"]]) == (2, ["corrected", "usage"]), lines
    assert all({"ts", "level", "run_id", "table", "message"} <= one.keys() for one in lines)
    of_run = [one for one in lines if one["run_id"] is not None]
    assert {one["run_id"] for one in of_run} == {document["run_id"]}
    assert lines[-1] == of_run[-1]
    ended = [(one["table"], one["stage"]) for one in lines if "seconds" in one]
    steps = document["tables"][0]["corrections"]["steps"]
    assert ended == [("orders", stage) for stage in ("compare", "judge", *steps)]  # nothing was pulled
    counts = {one["table"]: one["message"] for one in of_run if one["message"].endswith(" of 2)")}
    assert counts["lost"].startswith("lost: usage, UsageError: ")
    assert counts["orders"].startswith("orders: corrected, 2 findings, 2 corrected, ")
    sql = [one["message"] for one in lines if one["message"].startswith("sql: select ")]
    assert any(re.search(r'from "?public"?\."?orders"?', one) for one in sql), sql
    assert not [one for one in sql if re.search(r"'|\b\d{4}", one)]
    assert not [one for one in lines if any(value in json.dumps(one) for value in SECRET_VALUES)]


def test_lines_of_a_chatty_spark_are_wrapped_and_never_lost_from_json(project: Project) -> None:
    project.more = []
    path = project.write_config()
    path.write_text(json.dumps({**json.loads(path.read_text()), "spark": {"conf": {"spark.log.level": "INFO"}}}))
    command = [sys.executable, "-m", "hudi_reconcile", "-c", str(path), "--log-format", "json", "pull"]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert done.returncode == 0, lines
    spark = [one for one in lines if re.search(r"\d INFO ", one["message"])]
    assert len(spark) > 100
    assert {one["level"] for one in spark} == {"info"}
    assert {one["table"] for one in spark} == {None}
