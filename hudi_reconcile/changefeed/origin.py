"""Where each change came from: its commit's instant, and for a correction of ours the run, the plan and the finding.

The kind comes from the findings that the plan was made of; where those are gone, or do not hold the key, it is NULL.
Corrections are also held against their findings, as far as both spell a value alike, and never for nested types. Lazy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DecimalType, StringType, TimestampType

from hudi_reconcile.changefeed.lines import render_json_value, require_struct
from hudi_reconcile.core.changes.queries import CorrectionOrigin, read_correction_origin
from hudi_reconcile.core.changes.range import Commit

COLUMNS = ("op", "key", "before", "after", "instant", "correction")
_COMMIT = "struct<instant:string,run_id:string,plan_id:string,sweep:string,commit_kind:string>"


def add_origin(
    answer: DataFrame, commits: Sequence[Commit], kinds: DataFrame | None, *, corrections_only: bool
) -> DataFrame:
    """The answer with `n`, `instant` (completion time) and `correction` (struct `run_id`, `plan_id`, `kind`, or NULL)."""
    # One literal: no job and no join.
    known = F.array(*[_struct(commit) for commit in commits])[F.col("n")] if commits else F.lit(None).cast(_COMMIT)
    changes = answer.withColumn("known", known).select("*", "known.*").drop("known")
    if kinds is None:
        changes = changes.withColumn("kind", F.col("commit_kind"))
    else:
        changes = changes.withColumn("parts", spell_key_parts(answer)).join(kinds, ["sweep", "parts"], "left")
        changes = changes.withColumn("kind", F.coalesce("commit_kind", "found_kind"))
    correction = F.when(F.col("run_id").isNotNull(), F.struct("run_id", "plan_id", "kind"))
    changes = changes.withColumn("correction", correction)
    return (changes.where("correction is not null") if corrections_only else changes).select("n", *COLUMNS)


def load_kinds(spark: SparkSession, findings: Mapping[str, str], key: Sequence[str]) -> DataFrame | None:
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


def spell_key_parts(answer: DataFrame) -> Column:
    """The key of each change as texts, as the findings spell it."""
    key = require_struct(answer.schema["key"].dataType)
    return F.array(
        *[F.rtrim(render_json_value(F.col("key")[field.name], field.dataType).cast("string")) for field in key.fields]
    )


def _struct(commit: Commit) -> Column:
    origin = read_correction_origin(commit.labels)
    words = (None, None, None, None) if origin is None else _list_words(origin)
    return F.struct(*[F.lit(value).cast("string") for value in (commit.instant.completed, *words)]).cast(_COMMIT)


def _list_words(origin: CorrectionOrigin) -> tuple[str | None, ...]:
    return origin.run_id, origin.plan_id, origin.sweep, origin.kind


_FINDING = "key map<string,string>, lake struct<values:map<string,string>>"
_UUID = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"


@dataclass(frozen=True, slots=True)
class FindingsAudit:
    """Keys that the findings do not bear out.

    `unnamed_keys` were changed and no finding names them; of `other_keys` the row before, or what was done to it, is another
    than the finding says.
    """

    unnamed_keys: int
    other_keys: int


def audit_against_findings(
    changes: DataFrame, folder: str, key: Sequence[str], columns: Mapping[str, str]
) -> FindingsAudit:
    """Count the keys of changes (`op`, `key`, `before`) that the findings in a folder do not bear out.

    `key` is the record key under the source's names, `columns` lake column by source column: those that may be compared,
    masked ones left out. A doubled key has several rows before it: it must be named, and is not compared further.
    """
    findings = _read_findings(changes, folder, key)
    rows = changes.withColumn("parts", spell_key_parts(changes)).join(findings, "parts", "left")
    was_there = F.col("before").isNotNull()
    differs = (
        (was_there != F.col("is_there"))
        | ((F.col("op") == "d") != (F.col("action") == "delete"))
        | _any_differs(changes, columns)
    )
    counted = rows.agg(
        F.countDistinct(F.when(F.col("kind").isNull(), F.col("key"))),
        F.countDistinct(F.when((F.col("kind") != "duplicate_key") & differs, F.col("key"))),
    ).head()
    assert counted is not None  # an aggregate has one row
    return FindingsAudit(counted[0], counted[1])


def _read_findings(changes: DataFrame, folder: str, key: Sequence[str]) -> DataFrame:
    rows = changes.sparkSession.read.parquet(folder).where("action <> 'none'")
    parts = F.array(*[F.rtrim(F.col("finding.key").getItem(name)) for name in key])  # as spell_key_parts
    return (
        rows.select(F.from_json("line", _FINDING).alias("finding"), "kind", "action")
        .select(
            parts.alias("parts"),
            "kind",
            "action",
            F.col("finding.lake").isNotNull().alias("is_there"),
            F.col("finding.lake.values").alias("values"),
        )
        .dropDuplicates(["parts"])
    )


def _any_differs(changes: DataFrame, columns: Mapping[str, str]) -> SparkColumn:
    image = require_struct(changes.schema["before"].dataType)
    types = {field.name: field.dataType for field in image.fields}
    comparable = [
        (source, lake) for source, lake in columns.items() if types[lake].typeName() not in ("array", "map", "struct")
    ]
    differing = [_differs(source, F.col("before")[lake], types[lake]) for source, lake in comparable]
    return reduce(lambda condition, other: condition | other, differing, F.lit(False))


def _differs(source: str, value: SparkColumn, kind: DataType) -> SparkColumn:
    """True where both sides have the column and tell another value of it."""
    both = F.col("before").isNotNull() & F.coalesce(F.map_contains_key("values", source), F.lit(False))
    theirs, ours = F.col("values").getItem(source), render_json_value(value, kind).cast("string")
    if isinstance(kind, DecimalType):  # a finding may show other trailing zeros
        exact = f"decimal({kind.precision},{kind.scale})"
        theirs, ours = theirs.cast(exact), value
    elif isinstance(kind, TimestampType):  # a finding has no zone where the source has none
        theirs, ours = F.rtrim(F.translate(theirs, "Z", " ")), F.rtrim(F.translate(ours, "Z", " "))
    elif isinstance(kind, StringType):  # a finding shows char(n) without its padding, and a uuid in lower case
        ours = F.when(theirs.rlike(_UUID), F.lower(ours)).otherwise(F.rtrim(ours))
        theirs = F.rtrim(theirs)
    return both & ~theirs.eqNullSafe(ours)
