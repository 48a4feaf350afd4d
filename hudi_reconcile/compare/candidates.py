"""First and second look at the rows of unequal segments: which keys differ, and what each side holds for them.

Everything stays in Spark; a frame that must not be read twice from its side is materialised at once and fails,
rather than being read again, if a part of it is lost (localCheckpoint cuts the lineage).
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.compare.sides import Shape, digested, only, same_key, watermark_micros
from hudi_reconcile.core.segments import SegmentSet

SEQNO = "_hoodie_commit_seqno"
COMMIT_TIME = "_hoodie_commit_time"
PARTITION = "_hoodie_partition_path"


def source_images(frame: DataFrame, shape: Shape, segments: SegmentSet) -> DataFrame:
    """The source's rows of some segments: key, digest, watermark, and the whole row as `row`."""
    row = F.struct(*[F.col(f"`{name}`") for name in frame.columns]).alias("row")
    images = digested(frame, "source", shape, watermark_micros("source", shape).alias("micros"), row)
    return only(images, segments)


def lake_images(frame: DataFrame, shape: Shape, segments: SegmentSet) -> DataFrame:
    """The lake's rows of some segments, one line per key: copies, versions (sorted), and one copy's image.

    Which copy's image is shown where a key occurs twice is decided by the greatest version, so two looks agree.
    """
    image = F.struct(
        F.col(SEQNO).alias("seqno"),
        F.col("digest"),
        F.col("micros"),
        F.col(COMMIT_TIME).alias("commit_time"),
        F.col(PARTITION).alias("partition_path"),
        F.col("row"),
    )
    row = F.struct(*[F.col(f"`{name}`") for name in frame.columns if not name.startswith("_hoodie_")]).alias("row")
    extra = [watermark_micros("lake", shape).alias("micros"), F.col(SEQNO), F.col(COMMIT_TIME), F.col(PARTITION), row]
    rows = only(digested(frame, "lake", shape, *extra), segments)
    return rows.groupBy("segment", *shape.key_names).agg(
        F.count(F.lit(1)).alias("copies"),
        F.sort_array(F.collect_list(SEQNO)).alias("seqnos"),
        F.max_by(image, SEQNO).alias("image"),
    )


def differing(source: DataFrame, lake: DataFrame, shape: Shape) -> DataFrame:
    """Keys whose images differ, with what identifies both images. Materialised; one row per key."""
    joined = source.alias("s").join(lake.alias("l"), same_key("s", "l", shape), "full_outer")
    equal = F.col("s.digest").eqNullSafe(F.col("l.image.digest")) & F.col("l.copies").eqNullSafe(
        F.lit(1).cast("bigint")
    )
    return (
        joined.where(~equal)
        .select(
            *[F.coalesce(F.col(f"s.{name}"), F.col(f"l.{name}")).alias(name) for name in shape.key_names],
            F.coalesce(F.col("s.segment"), F.col("l.segment")).alias("segment"),
            F.col("s.digest").alias("source_digest"),
            F.coalesce(F.col("l.copies"), F.lit(0).cast("bigint")).alias("lake_copies"),
            F.coalesce(F.col("l.seqnos"), F.array().cast("array<string>")).alias("lake_seqnos"),
        )
        .localCheckpoint(eager=True)
    )


def second_look(candidates: DataFrame, source: DataFrame, lake: DataFrame, shape: Shape) -> DataFrame:
    """The facts of every candidate after the second read, with both rows. Materialised; one row per candidate."""
    joined = (
        candidates.alias("c")
        .join(source.alias("s"), same_key("c", "s", shape), "left")
        .join(lake.alias("l"), same_key("c", "l", shape), "left")
    )
    in_source = F.col("s.digest").isNotNull()
    copies = F.coalesce(F.col("l.copies"), F.lit(0).cast("bigint"))
    seqnos = F.coalesce(F.col("l.seqnos"), F.array().cast("array<string>"))
    return joined.select(
        *[F.col(f"c.{name}").alias(name) for name in shape.key_names],
        F.col("c.segment").alias("segment"),
        in_source.alias("in_source"),
        copies.alias("lake_copies"),
        seqnos.alias("lake_seqnos"),
        F.col("s.digest").alias("source_digest"),
        F.col("l.image.digest").alias("lake_digest"),
        F.coalesce(F.col("s.digest") == F.col("l.image.digest"), F.lit(False)).alias("equal"),
        (F.col("c.source_digest").eqNullSafe(F.col("s.digest")) & (F.col("c.lake_seqnos") == seqnos)).alias(
            "unchanged"
        ),
        F.col("s.micros").alias("source_micros"),
        F.col("l.image.micros").alias("lake_micros"),
        F.col("l.image.commit_time").alias("lake_commit_time"),
        F.col("l.image.partition_path").alias("lake_partition_path"),
        F.col("s.row").alias("source_row"),
        F.col("l.image.row").alias("lake_row"),
    )
