"""A plan's keys read once more: which may still be corrected, which moved or were superseded, and what came of the commit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.compare.candidates import group_by_key
from hudi_reconcile.compare.columns import ComparisonShape, name_columns
from hudi_reconcile.compare.equality import write_canonical
from hudi_reconcile.core.tables.key_encoding import Key
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.core.tables.values import READ_SEQ
from hudi_reconcile.ports import HELD_RULES, StatusCounts
from hudi_reconcile.sql.spark_text import quote_name, text_literal

READY, MOVED, SUPERSEDED, FAILED, APPLIED = "ready", "moved", "superseded", "failed", "applied"
DOUBLED, LANDED, HELD = "doubled", "landed", "held"
WRITTEN = (READY, DOUBLED)


def select_planned(findings: DataFrame) -> DataFrame:
    """The plan's part of a sweep's findings: one row per correction."""
    return findings.where(F.col("action") != "none")


def hold_plan(plan: DataFrame, shape: ComparisonShape) -> DataFrame:
    """What the plan says of its keys, in a plan of Spark's that ends here; no job.

    Hudi's read of a table of more columns than Spark compiles into one stage switches Parquet's batches off while a plan
    begins, for the whole session: findings in the same plan would come as rows where batches are waited for.
    """
    names = ("segment", *shape.key_names, "action", "source_digest", "lake_digest", "lake_seqnos")
    return plan.select(*names).localCheckpoint(eager=False)


def recheck(plan: DataFrame, source: DataFrame, lake: DataFrame, shape: ComparisonShape) -> DataFrame:
    """Hold every planned key against both sides as they are now. Materialised; one row per correction.

    `superseded`: the lake's versions of the key, or its row, are no longer those that were compared. `moved`: the source's
    row is no longer the one that was compared, or is there twice, or a row to be deleted is there again. `ready` keys may be
    written, and so may `doubled` ones, which the lake holds more than once: an upsert would write every copy, so they take
    another commit. What was planned stays beside it (`planned_digest`, `planned_seqnos`).
    """
    kept = ("source_digest as planned_digest", "lake_digest as planned_lake", "lake_seqnos as planned_seqnos")
    planned = plan.selectExpr("segment", *shape.key_names, "action", *kept)
    now = group_by_key(source, lake, shape, planned).where("action is not null")
    # A part of a row that comes late into a merge_on_read table changes the row, and the row keeps its version.
    status = (
        "case when not planned_seqnos <=> lake_seqnos"
        f" or size(planned_seqnos) = 1 and not planned_lake <=> lake_digest then '{SUPERSEDED}'"
        f" when not planned_digest <=> source_digest or source_rows > 1 then '{MOVED}'"
        f" when size(planned_seqnos) > 1 then '{DOUBLED}' else '{READY}' end as status"
    )
    return now.selectExpr("*", status, "cast(array() as array<string>) as rules").localCheckpoint(eager=True)


def hold(rechecked: DataFrame, keys: DataFrame, shape: ComparisonShape) -> DataFrame:
    """Upserts of these record keys, each named once, get the status `held`, and the `rules` they break. Materialised."""
    names = [item.column.lake_name for item in shape.agreement.key]
    named = [F.col(f"`{name}`").alias(f"hr_held_{i}") for i, name in enumerate(names)]
    marked = keys.select(*named, F.col(HELD_RULES).alias("hr_rules")).distinct()
    same = F.col("action") == "upsert"
    for i, value in enumerate(_lake_keys(shape)):
        same = same & value.eqNullSafe(F.col(f"hr_held_{i}"))
    joined = rechecked.join(F.broadcast(marked.withColumn("hr_held", F.lit(True))), same, "left")
    status = F.when(F.col("hr_held"), HELD).otherwise(F.col("status"))
    broken = F.coalesce("hr_rules", "rules")
    marked = joined.withColumn("status", status).withColumn("rules", broken)
    return marked.select(*rechecked.columns).localCheckpoint(eager=True)


def read_back(rechecked: DataFrame, lake: DataFrame, written: Collection[str], shape: ComparisonShape) -> DataFrame:
    """What the lake really shows for the keys of the written statuses: `applied` or `failed`; the others stay.

    `lake` has the key and `lake_digest` of each copy. The commit's own statistics do not tell that the merge ignored a row, so
    the rows are read. The source is not asked again: what counts is the image that was to be written.
    """
    names = ("action", "source_digest", "status", "rules")
    heap = rechecked.select("segment", *shape.key_names, *names).unionByName(lake, allowMissingColumns=True)
    facts = ", ".join(f"first({name}, true) as {name}" for name in names)
    grouped = heap.groupBy("segment", *shape.key_names).agg(
        F.expr(f"struct({facts}, count(lake_digest) as copies, max(lake_digest) as lake_digest) as facts")
    )
    right = (
        "if(facts.action = 'delete', facts.copies = 0, facts.copies = 1 and facts.lake_digest <=> facts.source_digest)"
    )
    is_written = f"facts.status in ({', '.join(map(text_literal, written))})" if written else "false"
    status = f"if({is_written}, if({right}, '{APPLIED}', '{FAILED}'), facts.status) as status"
    shown = grouped.where("facts.action is not null").selectExpr(*shape.key_names, status, "facts.rules as rules")
    return shown.localCheckpoint(eager=False)


def count_by(frame: DataFrame, *columns: str) -> dict[str, int]:
    """How many rows have each value of a column, as text; of several columns the values are joined by blanks."""
    values = F.expr(f"concat_ws(' ', {', '.join(columns)})" if columns[1:] else f"cast({columns[0]} as string)")
    return {row[0]: row["count"] for row in frame.groupBy(values).count().collect()}


def count_statuses(rechecked: DataFrame) -> StatusCounts:
    """The corrections by status, and what is to be known of those that may be written. One job."""
    has_seq = READ_SEQ in rechecked.select("lake_row.*").columns
    facts = ("count(1) as rows", "count_if(action = 'delete') as deletes")
    newest = f"max(lake_row.{READ_SEQ}) as seq" if has_seq else "cast(null as bigint) as seq"
    each = rechecked.groupBy("status").agg(F.expr(f"struct({', '.join((*facts, newest))}) as facts")).collect()
    facts_by_status = {row["status"]: row["facts"] for row in each}
    open_ones = [facts_by_status[status] for status in WRITTEN if status in facts_by_status]
    return StatusCounts(
        rows={status: int(facts["rows"]) for status, facts in facts_by_status.items()},
        deletes=sum(int(facts["deletes"]) for facts in open_ones),
        newest_seq=max((int(facts["seq"]) for facts in open_ones if facts["seq"] is not None), default=None),
    )


def select_images(upserts: DataFrame, shape: ComparisonShape) -> DataFrame:
    """The source's rows that are to be written. Keys stay as the lake spells them where it has the row.

    Padding is no part of a key to us, and another key to Hudi: 'ab  ' in a table of a tool that does not trim `char(n)`.
    """
    padded = {f"c{i.index}": i.column.lake_name for i in shape.agreement.key if i.column.kind is Kind.CHAR}
    if not padded:
        return upserts.select("source_row.*")
    values = (
        f"coalesce(lake_row.{quote_name(padded[name])}, source_row.{name}) as {name}"
        if name in padded
        else f"source_row.{name}"
        for name in upserts.select("source_row.*").columns
    )
    return upserts.selectExpr(*values)


def list_expected_versions(rows: DataFrame, shape: ComparisonShape) -> DataFrame:
    """The record key columns under their lake names and `_hr_seqno`, one row per version that the plan compared.

    Keys take the form in which the lake holds them: from the lake's row where it has one, from the source's otherwise.
    """
    named = zip(_lake_keys(shape), shape.agreement.key, strict=True)
    key = [value.alias(item.column.lake_name) for value, item in named]
    return rows.select(*key, F.explode_outer("lake_seqnos").alias("_hr_seqno"))


def _lake_keys(shape: ComparisonShape) -> list[Column]:
    """The record key's columns as the lake holds them: from its row where it has one, from the source's otherwise.

    In the type that the correction writes: in the lake's own, a source key beyond it would become another key.
    """
    return [
        F.when(F.col("lake_row").isNotNull(), F.col("lake_row").getField(item.column.lake_name)).otherwise(
            F.col("source_row").getField(f"c{item.index}").cast(item.written_type)
        )
        for item in shape.agreement.key
    ]


Pair = tuple[DataFrame, DataFrame]


def mark_landed(rechecked: DataFrame, around: Pair, later: Sequence[Pair], shape: ComparisonShape) -> DataFrame:
    """Mark as `landed` the corrections that one commit made, between two lake snapshots, and that are still as it left them.

    The commit made it where the key was as compared just before, and just after has one new version with the compared
    image, or none where it was to be deleted. Nobody else's commit lies between the two. `later` are the snapshots around
    other commits of ours, oldest first: a version that one of them carried into another is still as the first left it.
    """
    marked = _add_versions(rechecked, around, shape)
    as_compared = F.col("before_seqnos").eqNullSafe(F.col("planned_seqnos"))
    changed = ~F.col("at_seqnos").eqNullSafe(F.col("before_seqnos"))
    written = (F.size("at_seqnos") == 1) & F.col("lake_digest").eqNullSafe(F.col("planned_digest"))
    made = F.when(F.col("action") == "delete", F.size("at_seqnos") == 0).otherwise(written)
    marked = marked.withColumn("made", as_compared & changed & made).withColumn("left_seqnos", F.col("at_seqnos"))
    for pair in later:
        marked = _add_versions(marked.drop("before_seqnos", "at_seqnos"), pair, shape)
        same = F.col("before_seqnos").eqNullSafe(F.col("left_seqnos"))
        marked = marked.withColumn("left_seqnos", F.when(same, F.col("at_seqnos")).otherwise(F.col("left_seqnos")))
    stays = F.col("lake_seqnos").eqNullSafe(F.col("left_seqnos"))
    status = F.when(F.col("made") & stays, LANDED).otherwise(F.col("status"))
    return marked.withColumn("status", status).select(*rechecked.columns).localCheckpoint(eager=True)


def find_rewritten(plan: DataFrame, action: str, around: Pair, shape: ComparisonShape) -> DataFrame:
    """The plan's rows of an action in the versions that a commit of ours, made for others, carried them into. Materialised.

    Only where the key was as compared just before that commit and is there after it: rows were carried, none was made.
    """
    marked = _add_versions(plan, around, shape)
    as_compared = F.col("before_seqnos").eqNullSafe(F.col("lake_seqnos")) & (F.size("before_seqnos") > 0)
    moved = (F.col("action") == action) & as_compared & (F.size("at_seqnos") > 0)
    seqnos = F.when(moved, F.col("at_seqnos")).otherwise(F.col("lake_seqnos"))
    return marked.withColumn("lake_seqnos", seqnos).select(*plan.columns).localCheckpoint(eager=True)


def _add_versions(rows: DataFrame, around: Pair, shape: ComparisonShape) -> DataFrame:
    """The rows with their versions before and after, as `before_seqnos` and `at_seqnos`; empty where there is none."""
    for name, copies in zip(("before", "at"), around, strict=True):
        versions = copies.groupBy(*shape.key_names).agg(F.sort_array(F.collect_list("seqno")).alias(f"{name}_seqnos"))
        same = [F.col(f"m.{key}").eqNullSafe(F.col(f"v.{key}")) for key in shape.key_names]
        joined = rows.alias("m").join(versions.alias("v"), reduce(Column.__and__, same), "left")
        seqnos = F.coalesce(f"v.{name}_seqnos", F.array().cast("array<string>")).alias(f"{name}_seqnos")
        rows = joined.select("m.*", seqnos)
    return rows


def list_keys_to_delete(rechecked: DataFrame, shape: ComparisonShape, most: int) -> tuple[Key, ...] | None:
    """The keys of the deletes that may be written, as text; None where there are more than `most`."""
    return list_key_texts(rechecked.where(_deletes()), shape, most)


def list_key_texts(rows: DataFrame, shape: ComparisonShape, most: int) -> tuple[Key, ...] | None:
    """The keys of these rows as text; None where there are more than `most`."""
    columns = [F.col(name) for name in shape.key_names]
    kinds = [item.column.kind for item in shape.agreement.key]
    texts = [
        F.hex(column) if kind is Kind.BYTES else column.cast("string")
        for column, kind in zip(columns, kinds, strict=True)
    ]
    keys = rows.select(*texts).limit(most + 1).collect()
    return None if len(keys) > most else tuple(tuple(row) for row in keys)


def mark_existing(rechecked: DataFrame, there: DataFrame | None, shape: ComparisonShape) -> DataFrame:
    """Deletes whose key is among these source rows get the status `moved`; without rows all do. Materialised."""
    status = F.when(_deletes(), MOVED).otherwise(F.col("status"))
    if there is None:
        return rechecked.withColumn("status", status).localCheckpoint(eager=True)
    key = shape.agreement.key
    values = zip(shape.key_names, key, name_columns("source", key), strict=True)
    keys = there.selectExpr(
        *[f"{write_canonical(item, value)} as there_{name}" for name, item, value in values]
    ).distinct()
    same = [F.col(name).eqNullSafe(F.col(f"there_{name}")) for name in shape.key_names]
    joined = rechecked.join(keys.withColumn("there", F.lit(True)), reduce(Column.__and__, same), "left")
    marked = joined.withColumn("status", F.when(F.col("there"), status).otherwise(F.col("status")))
    return marked.select(*rechecked.columns).localCheckpoint(eager=True)


def _deletes() -> Column:
    return (F.col("action") == "delete") & F.col("status").isin(*WRITTEN)
