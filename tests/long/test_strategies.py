"""`make strategies`: every pull strategy by table type by partitioning. Half of them are in `make test`."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.project import Project
from tests.integration.strategies import cells, ends_equal
from tests.support.postgres import Database


def test_every_strategy_into_every_kind_of_table_equals_the_source_after_one_sweep_and_apply(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ends_equal(spark, Project.of(tmp_path, pg, capsys), cells())
