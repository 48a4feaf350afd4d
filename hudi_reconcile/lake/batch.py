"""Source rows as lake rows: the source's columns under their lake names, derived partition columns, `_hr_read_seq`.

Knows how kinds are stored. The exact cast to an existing table's schema happens at the write.
"""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.core.kinds import Column
from hudi_reconcile.core.stored import stored_type
from hudi_reconcile.core.values import READ_SEQ, PartitionField
from hudi_reconcile.ports import AS_SOURCE, Shape

_PATTERNS = {"day": "yyyy-MM-dd", "month": "yyyy-MM", "year": "yyyy"}


def lake_rows(
    rows: DataFrame,
    columns: tuple[Column, ...],
    partition_by: tuple[PartitionField, ...],
    read_seq: int,
    shape: Shape = AS_SOURCE,
) -> DataFrame:
    """Rows `c0, c1, …` in the order of `columns`, as full images for the lake. A NULL partition source stays NULL."""
    stored = [
        F.col(f"c{i}").cast(stored_type(c)).alias(c.lake_name)
        for i, c in enumerate(columns)
        if c.lake_name not in shape.left_out
    ]
    stored += [F.lit(None).cast(column.type).alias(column.name) for column in shape.dropped]
    by_name = {column.name: index for index, column in enumerate(columns)}
    derived = [
        _derived(field, F.col(f"c{by_name[field.column]}")) for field in partition_by if field.transform != "identity"
    ]
    return rows.select(*stored, *derived, F.lit(read_seq).cast("bigint").alias(READ_SEQ))


def _derived(field: PartitionField, value: SparkColumn) -> SparkColumn:
    return derived_value(field.transform, value).alias(field.lake_name)


def derived_value(transform: str, value: SparkColumn) -> SparkColumn:
    """What a derived partition column holds for a value of its source column."""
    return F.date_format(value.cast("timestamp"), _PATTERNS[transform])
