"""Killed at a bad moment, the same command again ends right."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.killed import kill_when, started, timeline
from tests.integration.project import Project, in_lake, in_source
from tests.support.postgres import Database

COLUMNS = ("order_id", "note", "updated_at")


@pytest.fixture
def planned(
    spark: SparkSession,  # noqa: ARG001 - so that the command line joins this session
    pg: Database,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Project:
    """A project whose sweep found five updates and two deletes."""
    project = Project.of(tmp_path, pg, capsys)
    pg.execute(
        "create table orders (order_id bigint primary key, note text, updated_at timestamp)",
        "insert into orders select i, 'n' || i, timestamp '2025-01-01' + i * interval '1 min' from generate_series(1, 500) i",
    )
    assert project.run("pull").code == 0
    pg.execute("update orders set note = 'new' where order_id <= 5", "delete from orders where order_id in (400, 401)")
    assert project.run("sweep").code == 1
    return project


def assert_ends_right(spark: SparkSession, project: Project) -> bool:
    """Returns whether the killed apply had landed."""
    again = project.json("apply", "latest", "--yes")

    assert (again.code, again.document["outcome"]) == (0, "corrected"), again
    done = again.table["corrections"]
    assert (done["applied"], done["applied_before"]) in ((0, 7), (7, 0))
    assert (again.table["corrections"]["applied"] == 0) == again.table["already_applied"]
    sweep = project.json("sweep")
    assert (sweep.code, sweep.document["outcome"]) == (0, "clean")
    assert in_lake(spark, project, *COLUMNS) == in_source(project, *COLUMNS)
    return bool(again.table["already_applied"])


@pytest.mark.parametrize("moment", [r"\.requested$", r"\.inflight$", r"_\d+\.commit$"])
def test_apply_killed_in_the_middle_of_its_commit_or_just_after_ends_right_when_run_again(
    spark: SparkSession, planned: Project, moment: str
) -> None:
    before = timeline(planned)
    process = started(planned, "apply", "latest", "--yes")

    kill_when(process, planned, before, moment)

    # Nobody was told of the commit, and nobody may make it again.
    assert assert_ends_right(spark, planned) or "commit" not in moment


def test_process_killed_between_plan_and_apply_changes_nothing(spark: SparkSession, planned: Project) -> None:
    before = timeline(planned)
    process = started(planned, "plan", "latest")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)

    assert timeline(planned) == before
    assert_ends_right(spark, planned)
