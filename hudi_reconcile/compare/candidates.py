"""First and second look at the rows of unequal segments: which keys differ, and what each side holds for them.

Both sides are put in one heap and grouped by key: one shuffle, and NULL parts of a key meet by themselves. Everything
stays in Spark; what must not be read twice is materialised at once and fails, rather than being read again, if a part
of it is lost (localCheckpoint cuts the lineage).
"""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.compare.columns import (
    ComparisonShape,
    digest_rows,
    in_scope,
    lake_keys,
    lake_values,
    segment_column,
    select_segments,
    source_id,
    source_values,
    watermark_micros,
)
from hudi_reconcile.compare.equality import rows_are_close
from hudi_reconcile.core.sweep.drift import FindingKind
from hudi_reconcile.core.sweep.segments import SegmentSet
from hudi_reconcile.core.tables.values import IN_SCOPE

SEQNO = "_hoodie_commit_seqno"
COMMIT_TIME = "_hoodie_commit_time"
PARTITION = "_hoodie_partition_path"
_SIDE = "side"
_IN_SCOPE = "in_scope"


def source_images(frame: DataFrame, shape: ComparisonShape, segments: SegmentSet) -> DataFrame:
    """The source's rows of some segments: key, digest, watermark, and the whole row as `source_row`."""
    row = F.struct(*[F.col(f"`{name}`") for name in frame.columns if name != IN_SCOPE]).alias("source_row")
    marks = (
        watermark_micros("source", shape).alias("source_micros"),
        source_id(shape).alias("source_id"),
        in_scope(frame).alias(_IN_SCOPE),
    )
    images = digest_rows(frame, "source", shape, *marks, row)
    return (
        select_segments(images, segments)
        .withColumnRenamed("digest", "source_digest")
        .withColumn(_SIDE, F.lit("source"))
    )


def lake_images(frame: DataFrame, shape: ComparisonShape, segments: SegmentSet) -> DataFrame:
    """The lake's rows of some segments, one line per copy: key, version, and what that copy holds as `image`."""
    row = F.struct(
        *[F.col(f"`{name}`") for name in frame.columns if not name.startswith("_hoodie_") and name != IN_SCOPE]
    )
    facts = [
        in_scope(frame).alias(_IN_SCOPE),
        F.col(SEQNO).alias("seqno"),
        watermark_micros("lake", shape).alias("lake_micros"),
        F.col(COMMIT_TIME).alias("lake_commit_time"),
        F.col(PARTITION).alias("lake_partition_path"),
        row.alias("lake_row"),
    ]
    names = ("digest", "lake_micros", "lake_commit_time", "lake_partition_path", "lake_row")
    rows = select_segments(digest_rows(frame, "lake", shape, *facts), segments)
    image = F.struct(*[F.col(name) for name in names]).alias("image")
    return rows.select("segment", *shape.key_names, "seqno", _IN_SCOPE, image).withColumn(_SIDE, F.lit("lake"))


def lake_versions(frame: DataFrame, shape: ComparisonShape, segments: SegmentSet) -> DataFrame:
    """Key and version of the lake's rows of some segments, one line per copy; needs no other column of the table."""
    keys = lake_keys(shape)
    placed = frame.select(*keys, F.col(SEQNO).alias("seqno")).withColumn("segment", segment_column(shape))
    return select_segments(placed, segments)


def by_key(source: DataFrame, lake: DataFrame, shape: ComparisonShape, *others: DataFrame) -> DataFrame:
    """One line per key with what both sides hold: `in_source`, `source_*`, `lake_copies`, `lake_seqnos`, `lake_*`, `in_scope`.

    `source_rows` says how many rows the source has of it: of more than one, `source_digest` and `source_row` may be of two.

    Of a key that the lake holds twice, the copy with the greatest version is shown, so that two looks agree. `others`
    hold the key and further columns, at most one line per key; those columns are kept.
    """
    heap = source.unionByName(lake, allowMissingColumns=True)
    kept: list[str] = []
    for other in others:
        kept += [name for name in other.columns if name not in ("segment", *shape.key_names)]
        heap = heap.unionByName(other, allowMissingColumns=True)
    in_lake = F.col(_SIDE) == "lake"
    grouped = heap.groupBy("segment", *shape.key_names).agg(
        F.max(F.coalesce(F.col(_SIDE) == "source", F.lit(False))).alias("in_source"),
        F.count(F.when(F.col(_SIDE) == "source", 1)).alias("source_rows"),
        *[F.max(name).alias(name) for name in ("source_digest", "source_micros", "source_id")],
        F.first("source_row", ignorenulls=True).alias("source_row"),
        F.count(F.when(in_lake, 1)).alias("lake_copies"),
        F.coalesce(F.max(_IN_SCOPE), F.lit(False)).alias(_IN_SCOPE),
        F.sort_array(F.collect_list("seqno")).alias("lake_seqnos"),
        F.max_by("image", "seqno").alias("image"),
        *[F.first(name, ignorenulls=True).alias(name) for name in kept],
    )
    return grouped.select(
        *[F.col(name) for name in grouped.columns if name != "image"],
        F.col("image.digest").alias("lake_digest"),
        F.col("image.lake_micros").alias("lake_micros"),
        F.col("image.lake_commit_time").alias("lake_commit_time"),
        F.col("image.lake_partition_path").alias("lake_partition_path"),
        F.col("image.lake_row").alias("lake_row"),
        ((F.col("lake_copies") == 1) & _same_row(shape)).alias("equal"),
    )


def _same_row(shape: ComparisonShape) -> SparkColumn:
    """By digest, or column by column where one has a tolerance; the digest itself stays exact: it tells what moved."""
    by_digest = F.coalesce(F.col("source_digest") == F.col("image.digest"), F.lit(False))
    items = shape.agreement.columns
    close = rows_are_close(items, source_values(items), lake_values(items, "image.lake_row"))
    return by_digest if close is None else by_digest | (F.col("in_source") & close)


def find_differing(source: DataFrame, lake: DataFrame, shape: ComparisonShape) -> DataFrame:
    """Keys in scope whose images differ, with what identified both images. Materialised; one row per key.

    A key is in scope where any row of it is; it is judged by all of them, so a row that moved is neither missing nor new.
    """
    return (
        by_key(source, lake, shape)
        .where(~F.col("equal") & F.col(_IN_SCOPE))
        .select(
            "segment",
            *shape.key_names,
            F.lit(True).alias("was_candidate"),
            F.col("source_digest").alias("first_source_digest"),
            F.col("source_micros").alias("first_source_micros"),
            F.col("lake_seqnos").alias("first_lake_seqnos"),
            F.lit(False).alias("was_silent"),
        )
        .localCheckpoint(eager=True)
    )


def look_again(candidates: DataFrame, source: DataFrame, lake: DataFrame, shape: ComparisonShape) -> DataFrame:
    """The facts, after the second read, of every candidate and of every key that differs only now; one row per key.

    Keys that differ only now were never seen twice: they are not `unchanged`, so they can be pending or moving but never
    drift. Without them a difference that the first read missed would vanish from the verdict.
    """
    was_candidate = F.coalesce(F.col("was_candidate"), F.lit(False))
    compared = by_key(source, lake, shape, candidates).where(was_candidate | (~F.col("equal") & F.col(_IN_SCOPE)))
    return compared.withColumn("unchanged", was_candidate & _same_images()).withColumn("silently", _changed_silently())


def look_at_moving(found: DataFrame, source: DataFrame, lake: DataFrame, shape: ComparisonShape) -> DataFrame:
    """The facts of the findings that were moving, held against the look before; of no other key."""
    moving = found.where(f"kind = '{FindingKind.MOVING.value}'").select(
        "segment",
        *shape.key_names,
        F.lit(True).alias("was_candidate"),
        F.col("source_digest").alias("first_source_digest"),
        F.col("source_micros").alias("first_source_micros"),
        F.col("lake_seqnos").alias("first_lake_seqnos"),
        F.col("silent").alias("was_silent"),
    )
    return look_again(moving, source, lake, shape).where("was_candidate")


def _changed_silently() -> SparkColumn:
    """True where the source's row changed between the looks while its watermark stayed."""
    return F.expr(
        "coalesce(was_candidate and first_source_digest <> source_digest"
        " and first_source_micros <=> source_micros, false)"
    )


def _same_images() -> SparkColumn:
    return F.col("first_source_digest").eqNullSafe(F.col("source_digest")) & F.col("first_lake_seqnos").eqNullSafe(
        F.col("lake_seqnos")
    )
