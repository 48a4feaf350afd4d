"""What writes did to rows, told from one reading of each place that the rows were at. Spark expressions only.

A place is a file or the state of a file group; places that follow each other are a chain. A row's version
(`_hoodie_commit_seqno`) is at the place that the commit left which wrote it, and at every later one of the chain until a commit
updates or deletes it. So its first and its last place tell which commits did something to it.
"""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.lake.changes.looks import AFTER, BEFORE

MOST_BROADCAST_ROWS = 100_000
PLACE = ("chain", "version", "place")


def touched_of(placed: DataFrame, whole: DataFrame) -> DataFrame | None:
    """The rows of `whole` that a commit wrote or took away, with `n` and `side`; materialised.

    `placed` has every version of every place: `chain`, `version`, `place` (counted from 0), `n` (the commit asked for that left
    the place, if one did) and `then` (the one that left the next place). `whole` has each version at the first place where it is.

    None where a version is at places that do not follow each other, twice at one of them, or not in `whole`: no chain tells
    its story.
    """
    runs = _runs(placed).localCheckpoint()
    counted = runs.agg(F.count(F.lit(1)), F.max("broken")).head()
    if counted is None or counted[1]:
        return None
    wanted = F.broadcast(runs) if counted[0] <= MOST_BROADCAST_ROWS else runs
    rows = whole.join(wanted, list(PLACE)).localCheckpoint()
    if rows.count() != counted[0]:
        return None
    events = F.explode(F.array(_event("born", AFTER), _event("gone", BEFORE)))
    return rows.withColumn("event", events).where("event.n is not null").select("*", "event.*")


def _runs(placed: DataFrame) -> DataFrame:
    """Each version of a row that is not at all places of its chain: the first of them, and who wrote and removed it."""
    first, last = F.min("place"), F.max("place")
    runs = placed.groupBy("chain", "version").agg(
        first.alias("place"),
        F.min_by("n", "place").alias("born"),
        F.max_by("then", "place").alias("gone"),
        (F.count(F.lit(1)) != last - first + 1).alias("broken"),
    )
    return runs.where("born is not null or gone is not null or broken")


def _event(place: str, side: int) -> SparkColumn:
    return F.struct(F.col(place).alias("n"), F.lit(side).alias("side"))
