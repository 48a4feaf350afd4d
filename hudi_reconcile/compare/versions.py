"""What a plan's own commits did to the versions of its keys, told by the lake's snapshots around them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.compare.corrections import LANDED
from hudi_reconcile.compare.sides import Shape

Pair = tuple[DataFrame, DataFrame]


def landed(rechecked: DataFrame, around: Pair, later: Sequence[Pair], shape: Shape) -> DataFrame:
    """Mark as `landed` what one commit between two lake snapshots made, and what is still as it left it. Materialised.

    The commit made it where the key was as compared just before, and just after has one new version with the compared
    image, or none where it was to be deleted. Nobody else's commit lies between the two. `later` are the snapshots around
    other commits of ours, oldest first: a version that one of them carried into another is still as the first left it.
    """
    marked = _beside(rechecked, around, shape)
    as_compared = F.col("before_seqnos").eqNullSafe(F.col("planned_seqnos"))
    changed = ~F.col("at_seqnos").eqNullSafe(F.col("before_seqnos"))
    written = (F.size("at_seqnos") == 1) & F.col("lake_digest").eqNullSafe(F.col("planned_digest"))
    made = F.when(F.col("action") == "delete", F.size("at_seqnos") == 0).otherwise(written)
    marked = marked.withColumn("made", as_compared & changed & made).withColumn("left_seqnos", F.col("at_seqnos"))
    for pair in later:
        marked = _beside(marked.drop("before_seqnos", "at_seqnos"), pair, shape)
        same = F.col("before_seqnos").eqNullSafe(F.col("left_seqnos"))
        marked = marked.withColumn("left_seqnos", F.when(same, F.col("at_seqnos")).otherwise(F.col("left_seqnos")))
    stays = F.col("lake_seqnos").eqNullSafe(F.col("left_seqnos"))
    status = F.when(F.col("made") & stays, LANDED).otherwise(F.col("status"))
    return marked.withColumn("status", status).select(*rechecked.columns).localCheckpoint(eager=True)


def carried(plan: DataFrame, action: str, around: Pair, shape: Shape) -> DataFrame:
    """The plan's rows of an action in the versions that a commit of ours, made for others, carried them into. Materialised.

    Only where the key was as compared just before that commit and is there after it: rows were carried, none was made.
    """
    marked = _beside(plan, around, shape)
    as_compared = F.col("before_seqnos").eqNullSafe(F.col("lake_seqnos")) & (F.size("before_seqnos") > 0)
    moved = (F.col("action") == action) & as_compared & (F.size("at_seqnos") > 0)
    seqnos = F.when(moved, F.col("at_seqnos")).otherwise(F.col("lake_seqnos"))
    return marked.withColumn("lake_seqnos", seqnos).select(*plan.columns).localCheckpoint(eager=True)


def _beside(rows: DataFrame, around: Pair, shape: Shape) -> DataFrame:
    """The rows with their versions before and after, as `before_seqnos` and `at_seqnos`; empty where there is none."""
    for name, copies in zip(("before", "at"), around, strict=True):
        versions = copies.groupBy(*shape.key_names).agg(F.sort_array(F.collect_list("seqno")).alias(f"{name}_seqnos"))
        same = [F.col(f"m.{key}").eqNullSafe(F.col(f"v.{key}")) for key in shape.key_names]
        joined = rows.alias("m").join(versions.alias("v"), reduce(Column.__and__, same), "left")
        found = F.coalesce(f"v.{name}_seqnos", F.array().cast("array<string>")).alias(f"{name}_seqnos")
        rows = joined.select("m.*", found)
    return rows
