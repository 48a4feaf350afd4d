"""Segment digests of two frames in one Spark job: which segments differ, and how many rows each side has."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.compare.sides import Shape, digested, only
from hudi_reconcile.core.segments import SegmentSet
from hudi_reconcile.ports import SegmentDigest

_LOW_HALF = (1 << 32) - 1


def segment_digests(
    source: DataFrame, lake: DataFrame, shape: Shape, segments: SegmentSet | None
) -> tuple[SegmentDigest, ...]:
    """Digest both sides at the same time and hold them against each other, segment by segment.

    A row's 64-bit digest is summed as two 32-bit halves, the lake's with a minus: equal segments sum to zero. One sum of
    64-bit values would wrap after a few rows; the halves hold to 2^31 rows a segment. Ordered by segment; segments
    without a row on either side are left out.
    """
    ours = digested(source, "source", shape).select("segment", F.lit(1).cast("bigint").alias("side"), "digest")
    theirs = digested(lake, "lake", shape).select("segment", F.lit(-1).cast("bigint").alias("side"), "digest")
    side, digest = F.col("side"), F.col("digest")
    both = ours.unionAll(theirs)
    grouped = (
        (both if segments is None else only(both, segments))
        .groupBy("segment")
        .agg(
            F.sum(F.when(side > 0, 1).otherwise(0)).alias("source_rows"),
            F.sum(F.when(side < 0, 1).otherwise(0)).alias("lake_rows"),
            F.sum(side * F.shiftright(digest, 32)).alias("high"),
            F.sum(side * digest.bitwiseAND(F.lit(_LOW_HALF))).alias("low"),
        )
    )
    found = [
        SegmentDigest(
            segment=row["segment"],
            source_rows=row["source_rows"],
            lake_rows=row["lake_rows"],
            equal=row["source_rows"] == row["lake_rows"] and row["high"] == 0 and row["low"] == 0,
        )
        for row in grouped.collect()
    ]
    return tuple(sorted(found, key=lambda item: item.segment))
