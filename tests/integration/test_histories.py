"""Histories of source, pulls, sweeps, applies and undos on real PostgreSQL and Hudi: some of those that are played over fakes.

Each is played in both worlds, step by step: the invariants of `tests/fakes/ghost.py` and `story.py` hold in the real one too,
and its commands say what those over fakes say. Each is played in one type of tables; `make histories` takes the other.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.fakes.steps import SEEDS
from tests.integration.histories import KINDS, play
from tests.integration.project import Project
from tests.support.postgres import Database


@pytest.mark.parametrize("place", range(len(SEEDS)))
def test_history_keeps_the_invariants_and_its_commands_say_what_they_say_over_fakes(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], place: int
) -> None:
    play(spark, Project.of(tmp_path, pg, capsys), KINDS[place % 2], SEEDS[place])
