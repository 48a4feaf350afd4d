"""What one corrective commit changed, as a batch that takes it back: read from the lake's own history.

The commit was made while no other writer was in flight, so the snapshots just before and at it differ by it alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.values import READ_SEQ, Instant, LakeColumn, LakePin, LakeTable
from hudi_reconcile.lake.bridge import Timeline
from hudi_reconcile.ports import Corrective, Frame, TakenBack

MOST_COMMITS_SINCE = 10  # Hudi's own default of commits whose files a cleaner keeps
_SEQNO = "_hoodie_commit_seqno"


@dataclass(frozen=True, slots=True)
class Snapshots:
    """The table just before the commit, at it, and now."""

    before: DataFrame
    at: DataFrame
    now: DataFrame


def around(line: Timeline, commit: Instant, path: str) -> tuple[LakePin, LakePin]:
    """The snapshots just before the commit and just after it.

    Raises RefusedError where its files may have been cleaned: many commits since, and no savepoint.
    """
    done = line.completed()
    earlier = [action.requested for action in done if (action.completed or "") < commit.completed]
    since = sum((action.completed or "") > commit.completed for action in done)
    before = max(earlier, default="")
    if not before or (since > MOST_COMMITS_SINCE and before not in line.savepoints()):
        raise RefusedError(
            f"Hudi table {path}: the rows from before {commit.completed} may be cleaned: {since} commits since "
            f"(limit {MOST_COMMITS_SINCE}), and no savepoint from before",
            fix="correct forward: hudi-reconcile sweep, then apply; and set policy.savepoint: always for the next time",
        )
    return LakePin(Instant(before, before), ()), LakePin(commit, ())


def taken_back(seen: Snapshots, table: LakeTable, requested: str, read_seq: int) -> TakenBack:
    """Every key that the commit wrote and nobody touched since, as it was before. One job, then lazy frames."""
    keys = [F.col(f"`{name}`") for name in table.record_key]
    marked = [
        _images(seen.before, table, "before"),
        _images(seen.at, table, "at"),
        _images(seen.now, table, "now"),
    ]
    heap = reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), marked)
    by_key = heap.groupBy(*keys).agg(
        *[F.first(name, ignorenulls=True).alias(name) for name in ("before", "at", "now")],
        F.count("now").alias("copies"),
    )
    wrote = F.col("at.sn").startswith(f"{requested}_") | (F.col("at").isNull() & F.col("before").isNotNull())
    untouched = F.col("at.sn").eqNullSafe(F.col("now.sn")) & (F.col("copies") <= 1)
    if table.foreign is not None:
        # Partitions that were written anew hold other rows, too, as they were.
        wrote = wrote & ~F.to_json("before.row").eqNullSafe(F.to_json("at.row"))
    rows = (
        by_key.where(wrote)
        .withColumn("status", F.when(untouched, "ready").otherwise("superseded"))
        .withColumn("action", F.when(F.col("before").isNull(), "delete").otherwise("upsert"))
        .localCheckpoint(eager=True)
    )
    ready = rows.where("status = 'ready'")
    upserts = ready.where("action = 'upsert'").select("before.row.*")
    if table.foreign is None:
        upserts = upserts.withColumn(READ_SEQ, F.lit(read_seq).cast("bigint"))
    expected = ready.select(*keys, F.col("now.sn").alias("_hr_seqno"))
    deletes = ready.where("action = 'delete'").select("now.row.*")
    counts = {
        (row["action"], row["status"]): row["count"] for row in rows.groupBy("action", "status").count().collect()
    }
    return TakenBack(counts, Corrective(Frame(upserts), Frame(deletes), Frame(expected)))


def shown(upserts: DataFrame, now: DataFrame, table: LakeTable) -> int:
    """How many of the upserts the lake shows as they should be, but for the read sequence."""
    columns = [column.name for column in table.columns if column.name != READ_SEQ]
    both = upserts.alias("u").join(now.alias("n"), reduce(SparkColumn.__and__, _same(table.record_key)))
    return both.where(reduce(SparkColumn.__and__, _same(columns))).count()


def _same(names: tuple[str, ...] | list[str]) -> list[SparkColumn]:
    return [F.col(f"u.`{name}`").eqNullSafe(F.col(f"n.`{name}`")) for name in names]


def _images(frame: DataFrame, table: LakeTable, name: str) -> DataFrame:
    # An earlier snapshot has the columns and types of its time; types only ever get wider.
    there = set(frame.columns)
    row = F.struct(*[_as_now(column, there).alias(column.name) for column in table.columns]).alias("row")
    keys = [F.col(f"`{key}`") for key in table.record_key]
    return frame.select(*keys, F.struct(F.col(_SEQNO).alias("sn"), row).alias(name))


def _as_now(column: LakeColumn, there: set[str]) -> SparkColumn:
    return (F.col(f"`{column.name}`") if column.name in there else F.lit(None)).cast(column.type)
