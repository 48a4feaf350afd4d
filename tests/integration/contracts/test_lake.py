"""A Hudi table keeps the contract of `tests/contracts/lake.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.ports import Frame
from tests.contracts.lake import NO_VERSION, Image, LakeContract
from tests.integration.lake.support import table_of

SCHEMA = "id bigint, v bigint, at timestamp_ntz, _hr_read_seq bigint"


@dataclass(frozen=True, slots=True)
class HudiGround:
    port: HudiLake
    spark: SparkSession

    def _frame(self, schema: str, rows: Sequence[tuple[Any, ...]]) -> DataFrame:
        return self.spark.createDataFrame(list(rows), schema).coalesce(1)

    def images(self, *rows: Image) -> Frame:
        return Frame(self._frame(SCHEMA, [(key, value, None, read_seq) for key, value, read_seq in rows]))

    def source_rows(self, *rows: tuple[int, int | None]) -> Frame:
        return Frame(self._frame("c0 bigint, c1 bigint, c2 timestamp_ntz", [(*row, None) for row in rows]))

    def expected(self, versions: Mapping[int, list[str]]) -> Frame:
        pairs = [(key, one) for key, seqnos in versions.items() for one in seqnos or NO_VERSION]
        return Frame(self._frame("id bigint, _hr_seqno string", pairs))

    def keep(self, rows: Frame, *keys: int) -> Frame:
        assert isinstance(rows, DataFrame)
        return Frame(rows.where(rows["id"].isin(*keys)))

    def read(self, rows: Frame, *columns: str) -> list[tuple[object, ...]]:
        assert isinstance(rows, DataFrame)
        return sorted((tuple(row) for row in rows.select(*columns).collect()), key=str)

    def names(self, rows: Frame) -> set[str]:
        assert isinstance(rows, DataFrame)
        return set(rows.columns)

    def double(self, key: int, value: int) -> None:
        options = {"hoodie.table.name": "t", "hoodie.datasource.write.operation": "bulk_insert"}
        rows = self._frame(SCHEMA, [(key, value, None, 1)])
        rows.write.format("hudi").options(**options).mode("append").save(table_of(self.port).path)

    def begin(self) -> str:
        pin = self.port.pin()
        assert pin is not None
        requested = str(int(pin.instant.requested) + 1)
        timeline = Path(table_of(self.port).path) / ".hoodie" / "timeline"
        (timeline / f"{requested}.commit.requested").write_bytes(b"")
        (timeline / f"{requested}.inflight").write_bytes(b"")
        return requested


@pytest.fixture
def ground(spark: SparkSession, tmp_path: Path) -> HudiGround:
    return HudiGround(HudiLake(spark, str(tmp_path / "t"), name="t", options={}), spark)


class TestHudiLake(LakeContract):
    pass
