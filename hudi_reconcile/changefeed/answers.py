"""The four change queries over a change log, in Spark.

`core/changes/queries.py` says the same in plain Python, and a test holds the two together.

A log has the columns `n` (int, the commit's place in order of completion), `op`, `key` (struct), `before` and `after`
(structs of the table's columns, NULL where there is no row), and `doubled` (the commit touched several copies of the key).
An answer has the same columns but the last.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from hudi_reconcile.changefeed.lines import is_same_row
from hudi_reconcile.core.changes.queries import OP_ORDER, UPSERT, QueryType
from hudi_reconcile.core.errors import UsageError

FEW_ROWS = 100_000  # so many are counted in one task sooner than Spark exchanges them between some
COLUMNS = ("n", "op", "key", "before", "after")


def answer(kind: QueryType, log: DataFrame, instants: Sequence[str] = (), *, is_kept: bool = False) -> DataFrame:
    """The answer, materialised. `instants` are the commits' completion times, for the error; `is_kept`: so is the log.

    Raises UsageError where a key is in the log more than once at a time: upsert and min-delta have no one row for it.
    """
    changes = _answer(kind, log)
    if "broken_at" in changes.columns:
        changes = changes.localCheckpoint()
        _refuse_broken(changes, instants)
    elif not is_kept:
        changes = changes.localCheckpoint()
    return changes.select(*COLUMNS)


def _answer(kind: QueryType, log: DataFrame) -> DataFrame:
    match kind:
        case "full-delta":
            return log
        case "append-only":
            return log.where("op = 'i'")
        case "upsert":
            return _last(log)
        case "min-delta":
            return _net(log)


def require_one_row_each(changes: DataFrame, instants: Sequence[str] = (), *, few: bool = False) -> DataFrame:
    """Rows of an answer to `upsert` that were read as such, materialised. Raises UsageError for a key that has several."""
    rows = changes.localCheckpoint(eager=True)
    looked = rows.coalesce(1) if few else rows
    keys = looked.agg(F.count(F.lit(1)), F.countDistinct("key")).head()
    if keys is not None and keys[0] != keys[1]:
        copies = F.count(F.lit(1)).over(Window.partitionBy("key")) > 1
        _refuse_broken(rows.withColumn("broken_at", F.when(copies, F.col("n"))), instants)
    return rows.select(*COLUMNS)


def _place() -> SparkColumn:
    """A change's place among those of its key."""
    ranks = [F.when(F.col("op") == op, F.lit(rank)) for rank, op in enumerate(OP_ORDER)]
    return F.struct("n", F.coalesce(*ranks).alias("rank"))


def _chain_changes(log: DataFrame) -> DataFrame:
    """Each change with its place, and `broken_at`: its `n` where it does not follow from the one before or is of a copy."""
    chain = Window.partitionBy("key").orderBy("place")
    placed = log.withColumn("place", _place()).withColumn("is_there", F.col("after").isNotNull())
    follows = F.lag("is_there").over(chain)
    lost = F.coalesce(follows != F.col("before").isNotNull(), F.lit(False))
    return placed.withColumn("broken_at", F.when(lost | F.col("doubled"), F.col("n")))


def _last(log: DataFrame) -> DataFrame:
    newest = F.max_by("after", "place").alias("after")
    changes = (
        _chain_changes(log).groupBy("key").agg(F.max("n").alias("n"), newest, F.max("broken_at").alias("broken_at"))
    )
    # A broken chain stays in, so that it is seen.
    return changes.where(F.col("after").isNotNull() | F.col("broken_at").isNotNull()).withColumns(
        {"op": F.lit(UPSERT), "before": F.lit(None).cast(log.schema["before"].dataType)}
    )


def _net(log: DataFrame) -> DataFrame:
    folded = (
        _chain_changes(log)
        .groupBy("key")
        .agg(
            F.max("n").alias("n"),
            F.min_by("before", "place").alias("before"),
            F.max_by("after", "place").alias("after"),
            F.max("broken_at").alias("broken_at"),
        )
    )
    absent, gone = F.col("before").isNull(), F.col("after").isNull()
    image = log.schema["after"].dataType
    if not isinstance(image, StructType):
        raise TypeError("a log's images are structs")
    nothing = (absent & gone) | (~absent & ~gone & is_same_row(F.col("before"), F.col("after"), image))
    op = F.when(absent, "i").when(gone, "d").otherwise("u")
    return folded.where(~nothing | F.col("broken_at").isNotNull()).withColumn("op", op)


def _refuse_broken(changes: DataFrame, instants: Sequence[str]) -> None:
    at = changes.agg(F.max("broken_at")).head()
    if at is None or at[0] is None:
        return
    keys_broken = changes.where("broken_at is not null").select("key").distinct().count()
    after = f"--from {instants[at[0]]} begins after them; " if instants else ""
    keys, whose = ("key", "no one row is its own") if keys_broken == 1 else ("keys", "no one row is theirs")
    raise UsageError(
        f"commits touched several copies of {keys_broken} {keys} of this range, so that {whose}",
        fix=f"{after}--type full-delta or append-only shows each copy; of a key that is to stand once, sweep and apply leave one",
    )
