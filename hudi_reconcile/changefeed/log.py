"""The change log of some commits, from the rows just before and just after each of them; and checks of a log that others wrote.

Versions come as `n` (the commit's place in order of completion), `side` (0 before, 1 after), `key` (struct), `partition`,
`version` (what Hudi gives each write of a row) and `row` (struct), of every row in the file groups that the commit touched.
Rows are a multiset: each copy of a key that the table holds more than once is in the log.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from hudi_reconcile.changefeed.answers import FEW_ROWS
from hudi_reconcile.changefeed.lines import is_same_row, require_struct
from hudi_reconcile.core.changes.range import LoggedCommit, count_images

BEFORE, AFTER = 0, 1
MOST_BROADCAST_ROWS = 100_000
_NAME = ("n", "key", "partition", "version")


def pair_versions(touched: DataFrame, replacing: Collection[int]) -> DataFrame:
    """One row per change, of the versions that are on one side only: `n`, `op`, `key`, `before`, `after`, `doubled`.

    `doubled` are those of a key of which the commit touched several copies: alone, one of them says nothing of the key.
    What a commit wrote again as it was is a change all the same (`u` with equal images), as in Hudi's own log; but for
    commits that replaced whole file groups (`replacing`): rows that those carried over are none. A version without a row counts
    as deleted: it is an absent one, on either side.
    """
    image = touched.schema["row"].dataType
    if not isinstance(image, StructType):
        raise TypeError("a row is a struct")
    copy = F.struct("partition", "version", "row")
    sides = [
        F.collect_list(F.when(F.col("side") == side, copy)).alias(name)
        for side, name in ((BEFORE, "old"), (AFTER, "new"))
    ]
    is_replacing = F.col("n").isin(*replacing) if replacing else F.lit(False)
    by_key = touched.groupBy("n", "key").agg(*sides)
    pairs = by_key.select(
        "n",
        "key",
        is_replacing.alias("replaced"),
        (F.greatest(F.size("old"), F.size("new")) > 1).alias("doubled"),
        F.explode(F.arrays_zip(_order_copies("old", "new", image), _order_copies("new", "old", image))).alias("pair"),
    )
    before, after = F.col("pair.0.row"), F.col("pair.1.row")
    log = pairs.select("n", "key", "replaced", "doubled", before.alias("before"), after.alias("after"))
    carried = F.col("replaced") & F.coalesce(_same("before", "after", image), F.lit(False))
    op = F.when(F.col("before").isNull(), "i").when(F.col("after").isNull(), "d").otherwise("u")
    is_there = F.col("before").isNotNull() | F.col("after").isNotNull()
    return log.where(~carried & is_there).select("n", op.alias("op"), "key", "before", "after", "doubled")


def filter_touched(versions: DataFrame, *, few: bool = False) -> DataFrame:
    """The copies whose version is on one side only: those that the commit did something to. `few` are read once, more twice."""
    return _select_touched_of_few(versions) if few else _select_touched_by_name(versions)


def _select_touched_by_name(versions: DataFrame) -> DataFrame:
    """The same by the names of versions alone: whole rows are read and moved only where something changed."""
    sides = versions.groupBy(*_NAME).agg(F.min("side").alias("first"), F.max("side").alias("last"))
    names = sides.where("first = last").select(*_NAME).localCheckpoint(eager=True)
    return versions.join(F.broadcast(names) if names.count() <= MOST_BROADCAST_ROWS else names, list(_NAME))


def _select_touched_of_few(versions: DataFrame) -> DataFrame:
    """The same, of rows that are few enough to be moved whole: one reading of the files, one job."""
    name = Window.partitionBy(*_NAME)
    sides = versions.withColumns({"first": F.min("side").over(name), "last": F.max("side").over(name)})
    return sides.where("first = last").drop("first", "last")


def _order_copies(side: str, other: str, image: StructType) -> SparkColumn:
    """Copies that are on the other side as they are first, so that those meet; then by place."""
    flagged = F.transform(
        side,
        lambda mine: F.struct(
            F.when(F.exists(other, lambda theirs: is_same_row(mine.row, theirs.row, image)), 0)
            .otherwise(1)
            .alias("rank"),
            mine.partition.alias("partition"),
            mine.version.alias("version"),
            mine.row.alias("row"),
        ),
    )
    return F.array_sort(flagged, _compare_copies)


def _compare_copies(left_copy: SparkColumn, right: SparkColumn) -> SparkColumn:
    a, b = (F.struct(copy.rank, copy.partition, copy.version) for copy in (left_copy, right))
    return F.when(a < b, -1).when(a > b, 1).otherwise(0)


def _same(left_name: str, right: str, image: StructType) -> SparkColumn:
    both = F.col(left_name).isNotNull() & F.col(right).isNotNull()
    return F.when(both, is_same_row(F.col(left_name), F.col(right), image))


_OPS = ("i", "u", "d")


def check_log(changes: DataFrame, key: Sequence[str], commits: Sequence[LoggedCommit]) -> DataFrame | None:
    """The changes (`n`, `op`, `before`, `after`) as `pair_versions` gives them, one of each key and commit; materialised.

    None where they are not as many of each op as a commit counted, where an op does not fit its images, where a row before is
    not the row that the change before it left, or where a commit touched several copies of a key.
    A row that moved to another partition comes as a delete and an insert, and is one change.
    """
    log = _group_by_key(changes, key).localCheckpoint()
    if not _is_whole(log.coalesce(1) if count_images(commits) <= FEW_ROWS else log, commits):
        return None
    return log.select("n", "op", "key", "before", "after", F.lit(False).alias("doubled"))


def _group_by_key(changes: DataFrame, key: Sequence[str]) -> DataFrame:
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
    previous_image = F.lag("after").over(chain)
    same = F.when(
        previous_image.isNotNull() & before.isNotNull(),
        is_same_row(previous_image, before, require_struct(changes.schema["after"].dataType)),
    )
    follows = (F.row_number().over(chain) == 1) | F.coalesce(same, previous_image.isNull() & before.isNull())
    return by_key.withColumns({"op": op, "follows": follows})


def _is_whole(log: DataFrame, commits: Sequence[LoggedCommit]) -> bool:
    sound = (
        F.col("follows")
        & (F.greatest("before_rows", "after_rows") == 1)
        & (F.col("before_rows") == F.col("u_rows") + F.col("d_rows"))
        & (F.col("after_rows") == F.col("u_rows") + F.col("i_rows"))
    )
    sums = [F.sum(f"{op}_rows") for op in _OPS]
    rows = log.groupBy("n").agg(F.min(sound.cast("int")), *sums).collect()
    counted = {commit.n: (commit.inserted_rows, commit.updated_rows, commit.deleted_rows) for commit in commits}
    log_counts = {row[0]: tuple(row[2:]) for row in rows}
    return all(row[1] for row in rows) and log_counts == {n: counts for n, counts in counted.items() if any(counts)}
