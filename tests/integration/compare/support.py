"""One table of every supported kind, as the source reads it and as the lake holds it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from hudi_reconcile.compare.comparer import SparkComparer
from hudi_reconcile.compare.findings import Masks
from hudi_reconcile.core.sweep.segments import Segmentation, SegmentSet
from hudi_reconcile.core.tables.agreement import Agreement, ComparedColumn
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.ports import Frame, Look
from hudi_reconcile.spark.evidence_files import SparkFiles

COLUMNS: tuple[tuple[Column, T.DataType, tuple[int, int] | None], ...] = (
    (Column("id", Kind.INTEGER, "bigint", nullable=False, bits=64), T.LongType(), None),
    (Column("small", Kind.INTEGER, "smallint", bits=16), T.IntegerType(), None),
    (Column("num", Kind.DECIMAL, "numeric(12,2)", precision=12, scale=2), T.DecimalType(12, 2), (12, 2)),
    (Column("flag", Kind.BOOLEAN, "boolean"), T.BooleanType(), None),
    (Column("a.b", Kind.TEXT, "text"), T.StringType(), None),
    (Column("txt", Kind.TEXT, "text"), T.StringType(), None),
    (Column("ch", Kind.CHAR, "character(5)"), T.StringType(), None),
    (Column("uid", Kind.UUID, "uuid"), T.StringType(), None),
    (Column("raw", Kind.BYTES, "bytea"), T.BinaryType(), None),
    (Column("day", Kind.DATE, "date"), T.DateType(), None),
    (Column("ts", Kind.TIMESTAMP, "timestamp", precision=6), T.TimestampNTZType(), None),
    (Column("tz", Kind.TIMESTAMPTZ, "timestamptz", precision=6), T.TimestampType(), None),
    (Column("re", Kind.REAL, "real"), T.FloatType(), None),
    (Column("dbl", Kind.DOUBLE, "double precision"), T.DoubleType(), None),
)
PLACE = {column.name: index for index, (column, _, _) in enumerate(COLUMNS)}
UUID = "0a0b0c0d-0000-4000-8000-0123456789ab"
BASE: dict[str, Any] = {
    "id": 1, "small": 7, "num": Decimal("10.25"), "flag": True, "a.b": "dot", "txt": "text", "ch": "ab", "uid": UUID,
    "raw": bytearray(b"\x00\xff"), "day": date(2026, 1, 2), "ts": datetime(2026, 1, 2, 3, 4, 5, 6),  # noqa: DTZ001
    "tz": datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC), "re": 1.5, "dbl": 2.5,
}  # fmt: skip

Row = Mapping[str, Any]


def agreement(*key: str, watermark: tuple[str, ...] = ("ts",), digits: tuple[int, int] = (12, 2)) -> Agreement:
    items = tuple(
        ComparedColumn(index, column, kind.simpleString(), digits if own else None)
        for index, (column, kind, own) in enumerate(COLUMNS)
    )
    by_name = {item.column.name: item for item in items}
    return Agreement(items, tuple(by_name[n] for n in key or ("id",)), tuple(by_name[n] for n in watermark), ())


def row(**changes: Any) -> dict[str, Any]:
    return {**BASE, **changes}


def source_frame(spark: SparkSession, *rows: Row) -> Frame:
    schema = T.StructType([T.StructField(f"c{i}", kind) for i, (_, kind, _) in enumerate(COLUMNS)])
    return Frame(spark.createDataFrame([tuple(item[c.name] for c, _, _ in COLUMNS) for item in rows], schema))


def lake_frame(spark: SparkSession, *rows: Row, types: Mapping[str, T.DataType] | None = None) -> Frame:
    """Rows as Hudi shows them; `_seqno`, `_commit` and `_partition` of a row may be given."""
    own = types or {}
    fields = [T.StructField(c.name, own.get(c.name, kind)) for c, kind, _ in COLUMNS]
    hudi = ["_hoodie_commit_seqno", "_hoodie_commit_time", "_hoodie_partition_path"]
    schema = T.StructType([T.StructField(name, T.StringType()) for name in hudi] + fields)
    values = [
        (
            item.get("_seqno", f"s{number}"), item.get("_commit", "20260101000000000"), item.get("_partition", ""),
            *(item[c.name] for c, _, _ in COLUMNS),
        )
        for number, item in enumerate(rows)
    ]  # fmt: skip
    return Frame(spark.createDataFrame(values, schema))


def comparer(
    spark: SparkSession, cut: Segmentation, found: Agreement | None = None, masks: Masks | None = None
) -> SparkComparer:
    none = Masks({}, b"")
    return SparkComparer(
        spark, "orders", masks or none, agreement=found or agreement(), cut=cut, files=SparkFiles(spark)
    )


def look(source: Frame, lake: Frame) -> Look:
    return Look(source, lake)


def spark_frame(frame: Frame) -> DataFrame:
    assert isinstance(frame, DataFrame)
    return frame


ALL = SegmentSet.of([0, 1])
