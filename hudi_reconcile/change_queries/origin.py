"""Where each change came from: the instant of its commit, and for a correction of ours the run, the plan and the finding.

Spark expressions only. The kind of finding comes from the findings of the sweep that the plan was made of; where those are
gone, or do not hold the key, it is NULL, never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.change_queries.lines import spelled, struct_of
from hudi_reconcile.core.change_range import Commit
from hudi_reconcile.core.provenance import Correction, correction_of

COLUMNS = ("op", "key", "before", "after", "instant", "correction")
_COMMIT = "struct<instant:string,run_id:string,plan_id:string,sweep:string,commit_kind:string>"


def originated(
    answer: DataFrame, commits: Sequence[Commit], kinds: DataFrame | None, *, corrections_only: bool
) -> DataFrame:
    """The answer with `n`, `instant` (completion time) and `correction` (struct `run_id`, `plan_id`, `kind`, or NULL)."""
    # One literal: no job and no join.
    known = F.array(*[_struct(commit) for commit in commits])[F.col("n")] if commits else F.lit(None).cast(_COMMIT)
    found = answer.withColumn("known", known).select("*", "known.*").drop("known")
    if kinds is None:
        found = found.withColumn("kind", F.col("commit_kind"))
    else:
        found = found.withColumn("parts", parts_of(answer)).join(kinds, ["sweep", "parts"], "left")
        found = found.withColumn("kind", F.coalesce("commit_kind", "found_kind"))
    correction = F.when(F.col("run_id").isNotNull(), F.struct("run_id", "plan_id", "kind"))
    found = found.withColumn("correction", correction)
    return (found.where("correction is not null") if corrections_only else found).select("n", *COLUMNS)


def kinds_of(spark: SparkSession, findings: Mapping[str, str], key: Sequence[str]) -> DataFrame | None:
    """Which kind each corrected key had: `sweep`, `parts`, `found_kind`. None where there are no findings.

    A finding's key has no padding (char(n)), so that `parts` have none either; keys that then are alike and were corrected for
    different kinds have none, as have those that a damaged folder holds twice.

    `findings` are folders by sweep run; `key` the key's columns under the source's names, in the order of the record key.
    """
    parts = F.array(*[F.rtrim(F.col("found.key").getItem(name)) for name in key])
    frames = [
        spark.read.parquet(folder)
        .where("action <> 'none'")
        .select(F.from_json("line", "key map<string,string>").alias("found"), F.col("kind").alias("found_kind"))
        .select(F.lit(sweep).alias("sweep"), parts.alias("parts"), "found_kind")
        for sweep, folder in findings.items()
    ]
    if not frames:
        return None
    least, most = F.min("found_kind"), F.max("found_kind")
    kinds = reduce(DataFrame.unionByName, frames).groupBy("sweep", "parts")
    return kinds.agg(F.when(least == most, least).alias("found_kind"))


def parts_of(answer: DataFrame) -> Column:
    """The key of each change as texts, as the findings spell it."""
    key = struct_of(answer.schema["key"].dataType)
    return F.array(*[F.rtrim(spelled(F.col("key")[field.name], field.dataType).cast("string")) for field in key.fields])


def _struct(commit: Commit) -> Column:
    found = correction_of(commit.labels)
    told = (None, None, None, None) if found is None else _told(found)
    return F.struct(*[F.lit(value).cast("string") for value in (commit.instant.completed, *told)]).cast(_COMMIT)


def _told(found: Correction) -> tuple[str | None, ...]:
    return found.run_id, found.plan_id, found.sweep, found.kind
