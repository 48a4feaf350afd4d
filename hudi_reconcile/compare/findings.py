"""Facts into findings: kind, action, differing columns, and the finished NDJSON line of contract §6, one row per key."""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.compare.canonical import named, value_of
from hudi_reconcile.compare.closeness import same
from hudi_reconcile.compare.drift import action_column, kind_column
from hudi_reconcile.compare.sides import Shape, lake_values, source_values
from hudi_reconcile.compare.spelling import Masks, hex_digest, shown, spelled, watermark_text
from hudi_reconcile.core.agreement import Compared
from hudi_reconcile.core.classify import PendingRange

ROWS_PER_FILE = 200_000


def findings_of(facts: DataFrame, shape: Shape, *, table: str, pending: PendingRange | None, masks: Masks) -> DataFrame:
    """One row per candidate key: what was found, and what apply needs to know of it."""
    judged = facts.withColumn("kind", kind_column(pending)).withColumn("action", action_column(F.col("kind")))
    judged = judged.withColumn("columns", differing_columns(shape.agreement.columns))
    line = F.to_json(
        F.struct(
            F.lit(table).alias("table"),
            F.col("kind"),
            key_struct(shape).alias("key"),
            F.col("action"),
            F.col("columns"),
            _source_image(shape, masks).alias("source"),
            _lake_image(shape, masks).alias("lake"),
        ),
        {"ignoreNullFields": "false"},
    )
    return judged.select(
        "kind",
        "action",
        "segment",
        *shape.key_names,
        "columns",
        "source_digest",
        "lake_digest",
        "lake_copies",
        "lake_seqnos",
        "source_micros",
        "lake_micros",
        line.alias("line"),
    )


def differing_columns(items: tuple[Compared, ...]) -> SparkColumn:
    """Source names of the columns that differ, where both sides hold the row; empty otherwise."""
    names = [
        F.when(~same(item, source, lake), F.lit(item.column.name))
        for item, source, lake in zip(items, source_values(items), lake_values(items), strict=True)
    ]
    listed = F.array_compact(F.array(*names)) if names else F.array().cast("array<string>")
    both = F.col("in_source") & (F.col("lake_copies") > 0)
    return F.when(both, listed).otherwise(F.array().cast("array<string>"))


def key_struct(shape: Shape) -> SparkColumn:
    """The key under the source's names; from its canonical form, so that a key that vanished on both sides has its name."""
    pairs = zip(shape.agreement.key, shape.key_names, strict=True)
    return F.struct(*[spelled(item, value_of(item, F.col(name))).alias(item.column.name) for item, name in pairs])


def _source_image(shape: Shape, masks: Masks) -> SparkColumn:
    image = F.struct(
        watermark_text(shape.agreement.moving, F.col("source_micros"), masks).alias("watermark"),
        hex_digest(F.col("source_digest")).alias("digest"),
        shown(shape.agreement.columns, source_values(shape.agreement.columns), masks).alias("values"),
    )
    return F.when(F.col("in_source"), image)


def _lake_image(shape: Shape, masks: Masks) -> SparkColumn:
    image = F.struct(
        watermark_text(shape.agreement.watermark, F.col("lake_micros"), masks).alias("watermark"),
        hex_digest(F.col("lake_digest")).alias("digest"),
        F.col("lake_commit_time").alias("commit_time"),
        F.col("lake_partition_path").alias("partition_path"),
        F.col("lake_copies").alias("copies"),
        shown(shape.agreement.columns, lake_values(shape.agreement.columns), masks).alias("values"),
    )
    return F.when(F.col("lake_copies") > 0, image)


def save(findings: DataFrame, path: str, *, rows: int, shape: Shape) -> None:
    """Write the findings as Parquet, ordered by kind and key, in as many files as their number asks for."""
    order = [named(name) for name in ("kind", *shape.key_names)]
    if rows <= ROWS_PER_FILE:
        ordered = findings.coalesce(1).sortWithinPartitions(*order)
    else:
        ordered = findings.repartitionByRange(-(-rows // ROWS_PER_FILE), *order).sortWithinPartitions(*order)
    ordered.write.mode("errorifexists").parquet(path)
