"""`make histories`: each history of `tests/integration/test_histories.py` in the other type of tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.fakes.steps import SEEDS
from tests.integration.histories import KINDS, play
from tests.integration.project import Project
from tests.support.postgres import Database


@pytest.mark.parametrize("place", range(len(SEEDS)))
def test_history_keeps_the_invariants_in_the_other_type_of_tables(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], place: int
) -> None:
    play(spark, Project.of(tmp_path, pg, capsys), KINDS[(place + 1) % 2], SEEDS[place])
