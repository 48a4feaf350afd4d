"""Every pull strategy into one kind of table, such that all four kinds are there. `make strategies`: each into all four."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.project import Project
from tests.integration.strategies import cells, ends_equal
from tests.support.postgres import Database


def test_every_strategy_equals_the_source_after_one_sweep_and_apply(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Of the first strategy the first kind, of the second the second, and so on.
    some = [cell for place, cell in enumerate(cells()) if place % 4 == place // 4 % 4]
    assert len(some) * 4 == len(cells())

    ends_equal(spark, Project.of(tmp_path, pg, capsys), some)
