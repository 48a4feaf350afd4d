"""Counts of findings by kind, partition and day, by copies, and of late rows by lateness: small jobs over findings."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.core.anatomy import LATENESS_SECONDS, MOST_CELLS, Cell, Lateness, day_text, lateness

_DAY_MICROS = 86_400_000_000
_LATE = "late_arriving"


def cells_of(drift: DataFrame, *, timed: bool) -> tuple[Cell, ...]:
    """The fullest cells. `timed`: the watermark is a time, in microseconds."""
    days = F.floor(F.coalesce("source_micros", "lake_micros") / F.lit(_DAY_MICROS)).cast("bigint")
    found = (
        drift.select(
            "kind",
            F.get_json_object("line", "$.lake.partition_path").alias("place"),
            (days if timed else F.lit(None).cast("bigint")).alias("day"),
        )
        .groupBy("kind", "place", "day")
        .count()
        .orderBy(F.desc("count"), "kind", "place", "day")
        .limit(MOST_CELLS)
        .collect()
    )
    return tuple(Cell(row["kind"], row["place"], day_text(row["day"]), row["count"]) for row in found)


def held_of(drift: DataFrame) -> tuple[int, int]:
    """Drifted keys that the lake does not hold, and its rows beyond the first of a key."""
    copies = F.col("lake_copies")
    (found,) = drift.agg(
        F.count(F.when(copies == 0, 1)).alias("missing"), F.sum(F.greatest(copies - 1, F.lit(0))).alias("extra")
    ).collect()
    return found["missing"], found["extra"] or 0


def lateness_of(drift: DataFrame, reached_micros: int) -> Lateness | None:
    """How far the late rows lie below the checkpoint; None where there is none."""
    late = drift.where(F.col("kind") == _LATE).select((F.lit(reached_micros) - F.col("source_micros")).alias("behind"))
    ends = [F.col("behind") >= end * 1_000_000 for end in (0, *LATENESS_SECONDS)]
    behind = [F.count(F.when(end, 1)).alias(f"behind_{place}") for place, end in enumerate(ends)]
    row = late.agg(
        F.count(F.lit(1)).alias("rows"), F.count("behind").alias("marked"), F.max("behind").alias("most"), *behind
    )
    (found,) = row.collect()
    counts = [found[f"behind_{place}"] for place in range(len(ends))]
    return lateness(found["rows"], found["marked"], counts, found["most"])
