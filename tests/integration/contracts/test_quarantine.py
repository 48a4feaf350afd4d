"""The quarantine of Spark frames keeps the contract of `tests/contracts/quarantine.py`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.ports import HELD_RULES, Frame
from hudi_reconcile.rules.quarantine import SparkQuarantine
from hudi_reconcile.spark.evidence_files import SparkFiles
from tests.contracts.quarantine import RULES, Image, QuarantineContract
from tests.integration.compare.support import spark_frame


@dataclass(frozen=True, slots=True)
class SparkGround:
    port: SparkQuarantine
    spark: SparkSession
    folder: Path

    def images(self, *rows: Image) -> Frame:
        return Frame(self.spark.createDataFrame(list(rows), "id bigint, v bigint").coalesce(1))

    def held(self, keys: Frame) -> dict[int, list[str]]:
        assert spark_frame(keys).columns == ["id", HELD_RULES]
        rows = spark_frame(keys).collect()
        found = {row[0]: list(row[1]) for row in rows}
        assert len(found) == len(rows)
        return found

    def listed(self) -> set[int]:
        files = [str(path) for path in self.folder.glob("*.parquet")]
        return {row[0] for row in self.spark.read.parquet(*files).select("id").collect()} if files else set()


@pytest.fixture
def ground(spark: SparkSession, tmp_path: Path) -> SparkGround:
    folder = tmp_path / "held"
    return SparkGround(SparkQuarantine(RULES, f"file://{folder}", SparkFiles(spark)), spark, folder)


class TestSparkQuarantine(QuarantineContract):
    pass
