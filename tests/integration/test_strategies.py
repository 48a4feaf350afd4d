"""Every pull strategy into two kinds of tables, such that all four kinds are there. `make strategies`: into all four."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.project import Project
from tests.integration.strategies import cells, ends_equal
from tests.support.postgres import Database


@pytest.mark.parametrize("share", range(5))  # ten tables in one test are too many for its time limit
def test_every_strategy_equals_the_source_after_one_sweep_and_apply(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], share: int
) -> None:
    # Of the four kinds of a strategy the first and the last, of the next strategy the two between.
    half = [cell for place, cell in enumerate(cells()) if (place % 4 in (0, 3)) == (place // 4 % 2 == 0)]
    assert len(half) * 2 == len(cells())

    ends_equal(spark, Project.of(tmp_path, pg, capsys), half[share::5])
