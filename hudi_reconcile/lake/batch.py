"""Source rows as lake rows: the source's columns under their lake names, derived partition columns, `_hr_read_seq`.

Knows how kinds are stored. The exact cast to an existing table's schema happens at the write.
"""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.core.kinds import Column, Kind
from hudi_reconcile.core.values import READ_SEQ, PartitionField

_LONG_BITS = 64
_STORED = {
    Kind.BOOLEAN: "boolean",
    Kind.TEXT: "string",
    Kind.CHAR: "string",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp_ntz",
    Kind.TIMESTAMPTZ: "timestamp",
    Kind.UUID: "string",
    Kind.BYTES: "binary",
    Kind.REAL: "float",
    Kind.DOUBLE: "double",
    Kind.NUMBER: "string",
    Kind.OWN_TEXT: "string",
    Kind.OTHER: "string",
}
_PATTERNS = {"day": "yyyy-MM-dd", "month": "yyyy-MM", "year": "yyyy"}


def stored_type(column: Column) -> str:
    """The Spark type in which a column is stored in tables that we create."""
    if column.kind is Kind.INTEGER:
        return "bigint" if column.bits == _LONG_BITS else "int"
    if column.kind is Kind.DECIMAL:
        return f"decimal({column.precision},{column.scale})"
    return _STORED[column.kind]


def lake_rows(
    rows: DataFrame, columns: tuple[Column, ...], partition_by: tuple[PartitionField, ...], read_seq: int
) -> DataFrame:
    """Rows `c0, c1, …` in the order of `columns`, as full images for the lake. A NULL partition source stays NULL."""
    stored = [F.col(f"c{i}").cast(stored_type(c)).alias(c.lake_name) for i, c in enumerate(columns)]
    by_name = {column.name: index for index, column in enumerate(columns)}
    derived = [
        _derived(field, F.col(f"c{by_name[field.column]}")) for field in partition_by if field.transform != "identity"
    ]
    return rows.select(*stored, *derived, F.lit(read_seq).cast("bigint").alias(READ_SEQ))


def _derived(field: PartitionField, value: SparkColumn) -> SparkColumn:
    text = F.date_format(value.cast("timestamp"), _PATTERNS[field.transform])
    return text.alias(field.lake_name)
