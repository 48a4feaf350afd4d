"""A paged pull that ends anywhere, again and again, holds exactly what its checkpoint says, and at last everything."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.killed import kill_when, killed_at, started, timeline
from tests.integration.paged import ends_right, holds_what_its_checkpoint_says, paged
from tests.support.kill_places import PLACES, ending
from tests.support.postgres import Database


def stop() -> None:
    raise RuntimeError("the end")


def test_paged_pull_ended_at_ten_places_and_killed_at_two_loses_and_doubles_nothing(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One pull of seven pages, ended twelve times on its way. Ten ends are exceptions in this process; two are real kills.

    The real ones are SIGKILL to a process and its JVM: between the requested and the completed instant of a page, and
    right after a commit. All ten places are killed for real by `make kills`.
    """
    project = paged(pg, tmp_path, capsys, rows=140, limit=20)

    def ended(number: int) -> int:
        with ending(PLACES[number], stop) as reached:
            assert project.json("pull").code == 3
        assert reached == [PLACES[number].name]
        return holds_what_its_checkpoint_says(spark, project)

    assert [ended(number) for number in range(5)] == [0] * 5
    assert [ended(number) for number in (5, 6, 7, 8)] == [20, 40, 40, 80]

    before = timeline(project)
    kill_when(started(project, "pull"), project, before, ".inflight")
    assert holds_what_its_checkpoint_says(spark, project) in (80, 100)  # a fast disk may have had it committed
    killed_at(project, 5)
    assert holds_what_its_checkpoint_says(spark, project) in (100, 120)

    assert ended(9) == 140
    ends_right(spark, project)
