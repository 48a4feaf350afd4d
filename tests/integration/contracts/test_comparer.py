"""The comparer of Spark frames keeps the contract of `tests/contracts/comparer.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.compare.comparer import SparkComparer
from hudi_reconcile.core.tables.agreement import Agreement, ComparedColumn
from hudi_reconcile.core.tables.values import IN_SCOPE, READ_SEQ
from hudi_reconcile.ports import HELD_RULES, Frame
from tests.contracts.comparer import CUT, ComparerContract, Held, Shown
from tests.fakes.rows import COLUMNS
from tests.integration.compare.support import comparer, spark_frame

HUDIS = "_hoodie_commit_seqno string, _hoodie_commit_time string, _hoodie_partition_path string"


def time_at(micros: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(microseconds=micros)  # noqa: DTZ001 - the column has no zone


@dataclass(frozen=True, slots=True)
class SparkGround:
    port: SparkComparer
    cutting: SparkComparer
    spark: SparkSession
    folder: Path

    def _frame(self, schema: str, rows: Sequence[tuple[Any, ...]]) -> DataFrame:
        return self.spark.createDataFrame(list(rows), schema).coalesce(1)

    def source(self, *rows: Held) -> Frame:
        held = [(row[0], row[1], time_at(row[2])) for row in rows]
        return Frame(self._frame("c0 bigint, c1 bigint, c2 timestamp_ntz", held))

    def lake(self, *rows: Shown) -> Frame:
        held = [(k, v, time_at(at), 100 * k, seqno, "20260101000000000", "") for k, v, at, seqno in rows]
        return Frame(self._frame(f"id bigint, v bigint, at timestamp_ntz, {READ_SEQ} bigint, {HUDIS}", held))

    def held(self, rules: Mapping[int, Sequence[str]]) -> Frame:
        return Frame(self._frame(f"id bigint, {HELD_RULES} array<string>", [(k, list(r)) for k, r in rules.items()]))

    def mark(self, frame: Frame, *ids: int) -> Frame:
        rows = spark_frame(frame)
        return Frame(rows.withColumn(IN_SCOPE, rows["c0" if "c0" in rows.columns else "id"].isin(*ids)))

    def told(self, frame: Frame, column: str) -> dict[int, Any]:
        rows = spark_frame(frame).select("k0", column).collect()
        found = {row[0]: row[1] for row in rows}
        assert len(found) == len(rows)
        return found

    def ids(self, frame: Frame, column: str) -> list[int]:
        return sorted(row[0] for row in spark_frame(frame).select(column).collect())

    def versions(self, expected: Frame) -> set[tuple[int, str | None]]:
        return {(row[0], row[1]) for row in spark_frame(expected).select("id", "_hr_seqno").collect()}

    def kept(self, frame: Frame, rows: int) -> Frame:
        path = self.folder / "findings"
        self.port.save(frame, str(path), rows)
        return self.port.load(str(path), [one.name for one in path.glob("*.parquet")])


def agreement(digits: int | None = None) -> Agreement:
    items = tuple(
        ComparedColumn(i, column, kind, fraction_digits=digits if column.name == "at" else None)
        for i, (column, kind) in enumerate(zip(COLUMNS, ("bigint", "bigint", "timestamp_ntz"), strict=True))
    )
    return Agreement(items, items[:1], items[2:], ())


@pytest.fixture
def ground(spark: SparkSession, tmp_path: Path) -> SparkGround:
    return SparkGround(comparer(spark, CUT, agreement()), comparer(spark, CUT, agreement(5)), spark, tmp_path)


class TestSparkComparer(ComparerContract):
    pass
