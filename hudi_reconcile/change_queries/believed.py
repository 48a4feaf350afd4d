"""A change log that was read as somebody else wrote it, and when it is believed. Spark expressions, and one look at sums."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from hudi_reconcile.change_queries.images import same_row
from hudi_reconcile.change_queries.lines import struct_of
from hudi_reconcile.change_queries.queries import FEW_ROWS
from hudi_reconcile.core.change_log import LoggedCommit, images_of

_OPS = ("i", "u", "d")


def believed(changes: DataFrame, key: Sequence[str], commits: Sequence[LoggedCommit]) -> DataFrame | None:
    """The changes (`n`, `op`, `before`, `after`) as `log_of` gives them, one of each key and commit; materialised.

    None where they are not as many of each op as a commit counted, where an op does not fit its images, where a row before is
    not the row that the change before it left, or where a commit touched several copies of a key.
    A row that moved to another partition comes as a delete and an insert, and is one change.
    """
    log = _by_key(changes, key).localCheckpoint()
    if not _is_whole(log.coalesce(1) if images_of(commits) <= FEW_ROWS else log, commits):
        return None
    return log.select("n", "op", "key", "before", "after", F.lit(False).alias("doubled"))


def _by_key(changes: DataFrame, key: Sequence[str]) -> DataFrame:
    row = F.coalesce("after", "before")
    keyed = changes.withColumn("key", F.struct(*[row[name].alias(name) for name in key])).repartition("key")
    by_key = keyed.groupBy("n", "key").agg(
        *[F.first(name, ignorenulls=True).alias(name) for name in ("before", "after")],
        *[F.count(name).alias(f"{name}_rows") for name in ("before", "after")],
        *[F.count_if(F.col("op") == op).alias(f"{op}_rows") for op in _OPS],
    )
    before, after = F.col("before"), F.col("after")
    op = F.when(before.isNull(), "i").when(after.isNull(), "d").otherwise("u")
    chain = Window.partitionBy("key").orderBy("n")
    left = F.lag("after").over(chain)
    same = F.when(
        left.isNotNull() & before.isNotNull(), same_row(left, before, struct_of(changes.schema["after"].dataType))
    )
    follows = (F.row_number().over(chain) == 1) | F.coalesce(same, left.isNull() & before.isNull())
    return by_key.withColumns({"op": op, "follows": follows})


def _is_whole(log: DataFrame, commits: Sequence[LoggedCommit]) -> bool:
    sound = (
        F.col("follows")
        & (F.greatest("before_rows", "after_rows") == 1)
        & (F.col("before_rows") == F.col("u_rows") + F.col("d_rows"))
        & (F.col("after_rows") == F.col("u_rows") + F.col("i_rows"))
    )
    sums = [F.sum(f"{op}_rows") for op in _OPS]
    found = log.groupBy("n").agg(F.min(sound.cast("int")), *sums).collect()
    counted = {one.n: (one.inserted_rows, one.updated_rows, one.deleted_rows) for one in commits}
    told = {row[0]: tuple(row[2:]) for row in found}
    return all(row[1] for row in found) and told == {n: counts for n, counts in counted.items() if any(counts)}
