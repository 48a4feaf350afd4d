"""Tables for the lake's tests: frames from SQL text, and what a table holds as sorted tuples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.core.tables.values import Checkpoint, LakeTable, PartitionField, TableType
from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.ports import Corrective, Frame, NewTable

TYPES: tuple[TableType, ...] = ("copy_on_write", "merge_on_read")


def checkpoint(read_seq: int) -> Checkpoint:
    return Checkpoint("timestamp", ("at",), read_seq * 10, None, read_seq, "server:1/table:2")


def new_table(kind: TableType, key: Sequence[str] = ("id",), partition_by: Sequence[str] = ()) -> NewTable:
    return NewTable("orders", kind, tuple(key), tuple(PartitionField(column) for column in partition_by))


def frame(spark: SparkSession, schema: str, *rows: Sequence[Any]) -> Frame:
    return Frame(spark.createDataFrame([tuple(row) for row in rows], schema))


def table_of(lake: HudiLake) -> LakeTable:
    found = lake.look()
    assert found is not None
    return found


def pinned(lake: HudiLake) -> DataFrame:
    pin = lake.pin()
    assert pin is not None
    rows = lake.read_rows(pin)
    assert isinstance(rows, DataFrame)
    return rows


def content(lake: HudiLake, *columns: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in pinned(lake).select(*columns).collect()), key=str)


def versions(lake: HudiLake, keys: Sequence[str], *wanted: Sequence[Any]) -> list[tuple[Any, ...]]:
    """`expected` rows for these keys as the lake shows them now."""
    found: dict[tuple[Any, ...], list[str]] = {}
    for row in pinned(lake).select(*keys, "_hoodie_commit_seqno").collect():
        found.setdefault(tuple(row)[:-1], []).append(row[-1])
    return [(*key, seqno) for key in map(tuple, wanted) for seqno in found.get(key, [None])]


def corrective(
    spark: SparkSession, lake: HudiLake, schema: str, *, upserts: Any, deletes: Any, expected: Any
) -> Corrective:
    """`deletes` is an SQL condition on the lake's own rows; `expected` rows hold the key columns and the version."""
    keys = table_of(lake).record_key
    types = dict(part.rsplit(" ", 1) for part in schema.split(", "))
    key_schema = ", ".join(f"{key} {types[key]}" for key in keys)
    return Corrective(
        upserts=frame(spark, schema, *upserts),
        deletes=Frame(pinned(lake).where(deletes)),
        expected=frame(spark, f"{key_schema}, _hr_seqno string", *expected),
    )
