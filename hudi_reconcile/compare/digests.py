"""Segment digests of two frames in one Spark job: which segments differ, and how many rows each side has."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.compare.sides import Shape, digested, only, scoped
from hudi_reconcile.core.canon import SegmentSum
from hudi_reconcile.core.segments import SegmentSet
from hudi_reconcile.ports import SegmentDigest

_LOW_HALF = (1 << 32) - 1
_SUMS = ("source_rows", "lake_rows", "high", "low")


def segment_digests(
    source: DataFrame, lake: DataFrame, shape: Shape, segments: SegmentSet | None
) -> tuple[SegmentDigest, ...]:
    """Digest both sides at the same time and hold them against each other, segment by segment.

    A row's 64-bit digest is summed as two 32-bit halves, the lake's with a minus: equal segments sum to zero. One sum of
    64-bit values would wrap after a few rows; the halves hold to 2^31 rows a segment. Ordered by segment; segments
    without a row on either side are left out.
    """
    # Each side is summed before they meet: a union in front of the sums would cost a copy of every row.
    ours = _sums(digested(scoped(source), "source", shape), segments, sign=1)
    theirs = _sums(digested(scoped(lake), "lake", shape), segments, sign=-1)
    met = ours.unionAll(theirs).groupBy("segment").agg(*[F.sum(name).alias(name) for name in _SUMS])
    found = [
        SegmentDigest(
            segment=row["segment"],
            source_rows=row["source_rows"],
            lake_rows=row["lake_rows"],
            equal=row["source_rows"] == row["lake_rows"] and row["high"] == 0 and row["low"] == 0,
        )
        for row in met.collect()
    ]
    return tuple(sorted(found, key=lambda item: item.segment))


def source_digests(rows: DataFrame, shape: Shape) -> tuple[SegmentSum, ...]:
    """Digest the source's rows alone, in a job of its own: two calls are two reads. Ordered by segment."""
    found = _sums(digested(scoped(rows), "source", shape), None, sign=1).collect()
    sums = (SegmentSum(row["segment"], row["source_rows"], row["high"], row["low"]) for row in found)
    return tuple(sorted(sums, key=lambda item: item.segment))


def _sums(rows: DataFrame, segments: SegmentSet | None, *, sign: int) -> DataFrame:
    chosen = rows if segments is None else only(rows, segments)
    counted, absent = F.count(F.lit(1)), F.lit(0).cast("bigint")
    digest = F.col("digest")
    return chosen.groupBy("segment").agg(
        (counted if sign > 0 else absent).alias("source_rows"),
        (counted if sign < 0 else absent).alias("lake_rows"),
        (sign * F.sum(F.shiftright(digest, 32).cast("bigint"))).alias("high"),
        (sign * F.sum(digest.bitwiseAND(F.lit(_LOW_HALF)))).alias("low"),
    )
