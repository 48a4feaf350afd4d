"""A plan's keys read once more: which may still be corrected, which moved, which were superseded, and what came of it."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.compare.sides import Shape, same_key

READY, MOVED, SUPERSEDED, FAILED, APPLIED = "ready", "moved", "superseded", "failed", "applied"


def planned_keys(findings: DataFrame) -> DataFrame:
    """The plan's part of a sweep's findings: one row per correction."""
    return findings.where(F.col("action") != "none")


def recheck(plan: DataFrame, source: DataFrame, lake: DataFrame, shape: Shape) -> DataFrame:
    """Hold every planned key against both sides as they are now. Materialised; one row per correction.

    `superseded`: the lake's versions of the key are no longer those that were compared. `moved`: the source's row is no
    longer the one that was compared, or a row to be deleted is there again. Only `ready` keys may be written.
    """
    joined = (
        plan.alias("p")
        .join(source.alias("s"), same_key("p", "s", shape), "left")
        .join(lake.alias("l"), same_key("p", "l", shape), "left")
    )
    seqnos = F.coalesce(F.col("l.seqnos"), F.array().cast("array<string>"))
    superseded = F.col("p.lake_seqnos") != seqnos
    moved = ~F.col("p.source_digest").eqNullSafe(F.col("s.digest"))
    return joined.select(
        *[F.col(f"p.{name}").alias(name) for name in shape.key_names],
        F.col("p.segment").alias("segment"),
        F.col("p.action").alias("action"),
        F.col("p.source_digest").alias("source_digest"),
        F.col("p.lake_seqnos").alias("lake_seqnos"),
        F.when(superseded, SUPERSEDED).when(moved, MOVED).otherwise(READY).alias("status"),
        F.col("s.row").alias("source_row"),
        F.col("l.image.row").alias("lake_row"),
    ).localCheckpoint(eager=True)


def read_back(written: DataFrame, lake: DataFrame, shape: Shape) -> dict[str, int]:
    """Count what the lake really shows for the keys that were written: `applied` or `failed`.

    The commit's own statistics do not tell that the merge ignored a row (research: hudi-tests A), so the rows are read.
    """
    joined = written.alias("w").join(lake.alias("l"), same_key("w", "l", shape), "left")
    copies = F.coalesce(F.col("l.copies"), F.lit(0).cast("bigint"))
    upserted = (copies == 1) & F.col("l.image.digest").eqNullSafe(F.col("w.source_digest"))
    done = F.when(F.col("w.action") == "delete", copies == 0).otherwise(upserted)
    return counted(joined.select(F.when(done, APPLIED).otherwise(FAILED).alias("status")), "status")


def counted(frame: DataFrame, column: str) -> dict[str, int]:
    """Rows by the values of one column."""
    return {row[column]: row["count"] for row in frame.groupBy(column).count().collect()}


def expected_versions(rows: DataFrame, shape: Shape) -> DataFrame:
    """The record key columns under their lake names and `_hr_seqno`, one row per version that the plan compared.

    Keys take the form in which the lake holds them: from the lake's row where it has one, from the source's otherwise.
    """
    key = [
        F.when(F.col("lake_row").isNotNull(), F.col("lake_row").getField(item.column.lake_name))
        .otherwise(F.col("source_row").getField(f"c{item.index}").cast(item.lake_type))
        .alias(item.column.lake_name)
        for item in shape.agreement.key
    ]
    return rows.select(*key, F.explode_outer("lake_seqnos").alias("_hr_seqno"))
