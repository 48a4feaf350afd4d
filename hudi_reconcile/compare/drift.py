"""The decision table of `core/classify.py` as Spark columns. Reads the facts of a key, says its kind and its action.

Facts: `in_source`, `lake_copies`, `equal`, `unchanged` (never NULL); `source_micros`, `lake_micros`, `source_id` (NULL
where none).
"""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F

from hudi_reconcile.core.classify import NOT_DRIFT, FindingKind, PendingRange


def kind_column(pending_range: PendingRange | None) -> SparkColumn:
    """The kind of each row, exactly as `classify` decides it."""
    in_source, copies = F.col("in_source"), F.col("lake_copies")
    micros, lake_micros = F.col("source_micros"), F.col("lake_micros")
    equal_now = F.when(in_source, (copies == 1) & F.col("equal")).otherwise(copies == 0)
    pending = F.lit(False) if pending_range is None else in_source & _in_next_window(pending_range)
    silent = micros.isNull() | (lake_micros.isNotNull() & (micros == lake_micros))
    older = lake_micros.isNotNull() & (micros < lake_micros)
    return (
        F.when(equal_now, FindingKind.SETTLED.value)
        .when(
            in_source & (copies > 1),
            F.when(F.col("unchanged"), FindingKind.DUPLICATE_KEY.value).otherwise(FindingKind.MOVING.value),
        )
        .when(pending, FindingKind.PENDING.value)
        .when(~F.col("unchanged"), FindingKind.MOVING.value)
        .when(~in_source, FindingKind.DELETED.value)
        .when(copies == 0, FindingKind.LATE_ARRIVING.value)
        .when(silent, FindingKind.UPDATED_WITHOUT_WATERMARK.value)
        .when(older, FindingKind.REGRESSED.value)
        .otherwise(FindingKind.LATE_ARRIVING.value)
    )


def _in_next_window(pending: PendingRange) -> SparkColumn:
    value, source_id = F.col("source_micros"), F.col("source_id")
    if pending.by_id:
        value = F.when(F.col("lake_copies") == 0, source_id)
    found = value.isNotNull()
    if pending.after is not None:
        after, after_id = F.lit(pending.after.value), pending.after.id
        later_id = source_id.isNotNull() if after_id is None else F.coalesce(source_id > F.lit(after_id), F.lit(False))
        tied = F.lit(False) if pending.by_id else (value == after) & later_id
        found = found & ((value > after) | tied)
    if pending.until_micros is not None:
        found = found & (value <= F.lit(pending.until_micros))
    return found


def action_column(kind: SparkColumn) -> SparkColumn:
    """What would repair a row of this kind, as `action_for` decides it."""
    return (
        F.when(kind.isin([item.value for item in NOT_DRIFT]), "none")
        .when(kind == FindingKind.DELETED.value, "delete")
        .otherwise("upsert")
    )
