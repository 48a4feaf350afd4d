"""`make foreign`: the other kinds of tables that other tools make. Those of `make test` are in tests/integration."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.foreign import Maker
from tests.integration.test_foreign_tables import REST, stays_its_own
from tests.support.postgres import Database


@pytest.mark.parametrize("maker", REST, ids=lambda maker: maker.name)
def test_table_of_another_tool_is_corrected_in_one_commit_and_stays_its_own(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], maker: Maker
) -> None:
    stays_its_own(maker, spark, pg, tmp_path, capsys)
