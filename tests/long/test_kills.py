"""`make kills`: a paged pull in a process of its own, killed with its JVM at each place; the same command again ends right.

Not a part of `make test`: each kill costs a JVM's start, and those inside a commit the 15 seconds after which a writer counts as
dead. `tests/integration/test_paged_kills.py` ends a pull at the same places by exceptions.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.killed import kill_when, killed_at, started, timeline
from tests.integration.paged import ends_right, holds_what_its_checkpoint_says, paged
from tests.integration.project import Project
from tests.support.kill_places import PLACES
from tests.support.postgres import Database


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    return paged(pg, tmp_path, capsys, rows=100, limit=30)


@pytest.mark.parametrize("place", range(len(PLACES)), ids=lambda number: PLACES[number].name)
def test_paged_pull_killed_at_a_place_ends_right_when_run_again(
    spark: SparkSession, project: Project, place: int
) -> None:
    if "there" in PLACES[place].name:
        project.settings["pull"]["limit"] = 60  # made by the first page, killed at the second
    killed_at(project, place)

    holds_what_its_checkpoint_says(spark, project)
    ends_right(spark, project)
    assert project.json("sweep").code == 0


@pytest.mark.parametrize("word", [".requested", ".inflight"])
def test_paged_pull_killed_inside_the_commit_of_its_second_page_ends_right_when_run_again(
    spark: SparkSession, project: Project, word: str
) -> None:
    killed_at(project, 6)
    assert holds_what_its_checkpoint_says(spark, project) == 30
    before = timeline(project)

    kill_when(started(project, "pull"), project, before, word)

    assert holds_what_its_checkpoint_says(spark, project) in (30, 60)
    ends_right(spark, project)
    assert project.json("sweep").code == 0
