"""`make strategies`: every pull strategy by table type by partitioning. A quarter of them is in `make test`."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.project import Project
from tests.integration.strategies import cells, ends_equal
from tests.support.postgres import Database


@pytest.mark.parametrize("strategy", range(5))  # twenty tables in one test are too many for its time limit
def test_every_strategy_into_every_kind_of_table_equals_the_source_after_one_sweep_and_apply(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], strategy: int
) -> None:
    assert len(cells()) == 5 * 4

    ends_equal(spark, Project.of(tmp_path, pg, capsys), cells()[4 * strategy : 4 * strategy + 4])
