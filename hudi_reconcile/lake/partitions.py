"""Hudi's partition paths as Spark expressions: of the source's rows by the rule by which pulls place them, and the lake's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.core.partitions import DEFAULT, ESCAPED, PartitionRows, PathField, PathRule
from hudi_reconcile.core.stored import stored_type
from hudi_reconcile.core.values import IN_SCOPE
from hudi_reconcile.lake.batch import derived_value

PARTITION_PATH = "_hoodie_partition_path"


def listed(lake: DataFrame, rule: PathRule) -> tuple[PartitionRows, ...]:
    """The lake's partitions by path, with their rows, and how many of those the rule would place elsewhere. One job."""
    path, told = F.col(PARTITION_PATH), _path(rule, [_text(F.col(f"`{one.lake_name}`")) for one in rule.fields])
    unlike = F.count(F.when(~path.eqNullSafe(told), 1))
    rows = lake.groupBy(path.alias("path")).agg(F.count(F.lit(1)).alias("rows"), unlike.alias("unlike")).collect()
    return tuple(
        PartitionRows(row["path"], row["rows"], row["unlike"]) for row in sorted(rows, key=lambda r: r["path"])
    )


def marked(rows: DataFrame, side: Literal["source", "lake"], rule: PathRule, paths: Sequence[str]) -> DataFrame:
    """The same rows with one more column, which is true where the row lies in one of these partitions."""
    path = F.col(PARTITION_PATH) if side == "lake" else _path(rule, [_source_text(one) for one in rule.fields])
    return rows.withColumn(IN_SCOPE, F.coalesce(path.isin(*paths), F.lit(False)))


def _source_text(field: PathField) -> SparkColumn:
    value = F.col(f"c{field.index}")
    if field.transform != "identity":
        return _text(derived_value(field.transform, value))
    return _text(value.cast(stored_type(field.column)).cast(field.lake_type))


def _text(value: SparkColumn) -> SparkColumn:
    return value.cast("string")


def _path(rule: PathRule, texts: Sequence[SparkColumn]) -> SparkColumn:
    parts = []
    for field, text in zip(rule.fields, texts, strict=True):
        shown = F.when(text.rlike(f"[{ESCAPED}]"), _escaped(text)).otherwise(text) if rule.encoded else text
        part = F.when(text.isNull() | (text == ""), F.lit(DEFAULT)).otherwise(shown)
        parts.append(F.concat(F.lit(f"{field.lake_name}="), part) if rule.hive_style else part)
    return F.concat_ws("/", *parts)


def _escaped(text: SparkColumn) -> SparkColumn:
    letters = F.split(text, "")
    hexed = F.transform(
        letters,
        lambda one: F.when(
            one.rlike(f"[{ESCAPED}]"), F.concat(F.lit("%"), F.lpad(F.hex(one.cast("binary")), 2, "0"))
        ).otherwise(one),
    )
    return F.array_join(hexed, "")
