"""Histories of source, pulls, sweeps, applies and undos on real PostgreSQL and Hudi: some of those that are played over fakes.

Each is played in both worlds, step by step: the invariants of `tests/fakes/ghost.py` and `story.py` hold in the real one too,
and its commands say what those over fakes say.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.fakes.played import FakePlayed
from tests.fakes.steps import SEEDS, STEPS_EACH, drawn, take
from tests.fakes.story import Story
from tests.fakes.world import World
from tests.integration.histories import real
from tests.integration.project import Project
from tests.support.postgres import Database


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project.of(tmp_path, pg, capsys)


@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
@pytest.mark.parametrize("seed", SEEDS)
def test_history_keeps_the_invariants_and_its_commands_say_what_they_say_over_fakes(
    spark: SparkSession, project: Project, kind: str, seed: int
) -> None:
    history = drawn(Story(FakePlayed(World.new())), seed, STEPS_EACH)
    fakes = Story(FakePlayed(World.new()))
    with real(spark, project, kind) as played:
        story = Story(played)
        for taken in [("begin", {}), *history]:
            for one in (fakes, story):
                one.told.clear()
                take(one, taken)
            assert story.told == fakes.told, (taken, history)
            assert played.source_holds() == fakes.world.source_holds(), (taken, history)
            assert played.lake_holds() == fakes.world.lake_holds(), (taken, history)
        assert played.changes_at_the_source() == played.written, "I15: rows of the source were written by somebody else"
