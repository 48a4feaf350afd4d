"""Commits of ours into a table that another tool made: exactly its columns, and corrections that its ordering cannot drop.

A delete travels as the lake's own row with a mark in a text column (`hoodie.payload.delete.*`), so that its ordering value
equals the stored one and wins. Where an upsert is older than what the lake shows, or below a delete that a log file holds,
Hudi would drop it in silence, and so the partitions are written anew, in the same one commit. So they are where a row lies
in a log file alone, as Flink's writer leaves new ones: the index of Spark's writer knows base files, and would write a second
copy of such a row, or delete none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import cast
from uuid import uuid4

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.tables.values import READ_SEQ, LakeColumn, LakePin, LakeTable
from hudi_reconcile.lake.buckets import choose_bucket_options
from hudi_reconcile.lake.correct import (
    DELETE,
    CorrectionBatch,
    DeleteMark,
    check_facts,
    count_batch_facts,
    keep_exact,
    match_keys,
)
from hudi_reconcile.lake.files import Files
from hudi_reconcile.lake.foreign import choose_key_options, take_sample
from hudi_reconcile.lake.reads import read_base, read_newest, read_pinned, read_unmerged, redact_failures
from hudi_reconcile.lake.schema import find_hudi_type, fit_to_table, list_columns
from hudi_reconcile.ports import Corrective, Frame

_SEQNO = "_hoodie_commit_seqno"
_INDEXED = ("_hoodie_record_key", "_hoodie_partition_path")


@dataclass(frozen=True, slots=True)
class Shown:
    """What a table shows at a pin, and every row in the files of a merge_on_read table, of which logs may hide some."""

    rows: DataFrame
    unmerged: DataFrame | None = None


def build_images(batch: DataFrame, table: LakeTable) -> DataFrame:
    """Source images as the table's columns; those that only the lake has are NULL.

    Raises RefusedError with counts where a value would not be the same in the lake's type.
    """
    types = {column.name: column for column in table.columns}
    rows = batch if READ_SEQ in types else batch.drop(READ_SEQ)
    altered = {
        column.name: _is_altered(F.col(f"`{column.name}`"), find_hudi_type(column.type), types[column.name].type)
        for column in list_columns(rows)
        if column.name in types and find_hudi_type(column.type) != types[column.name].type
    }
    _refuse_altered(rows, altered, table)
    typed = rows.select(
        *(
            F.col(f"`{name}`").cast(types[name].type if name in altered else kind).alias(name)
            for name, kind in _kinds(rows)
        )
    )
    missing = [column for column in table.columns if column.name not in rows.columns]
    return typed.select("*", *(F.lit(None).cast(column.type).alias(column.name) for column in missing))


def _kinds(rows: DataFrame) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in rows.schema.fields]


def _is_altered(value: SparkColumn, own: str, lake: str) -> SparkColumn:
    return ~value.cast(lake).cast(own).eqNullSafe(value)


def _refuse_altered(rows: DataFrame, altered: dict[str, SparkColumn], table: LakeTable) -> None:
    if not altered:
        return
    counts = rows.agg(*(F.count(F.when(when, 1)) for when in altered.values())).collect()[0]
    wrong = [f"{name} in {counts[place]} rows" for place, name in enumerate(altered) if counts[place]]
    if wrong:
        raise RefusedError(
            f"Hudi table {table.path}: its columns cannot hold these values as they are: {', '.join(wrong)}",
            fix="widen the lake's columns with the tool that made them, or leave these rows out with source.where",
        )


def refuse_unordered(rows: DataFrame, table: LakeTable) -> None:
    """Raises RefusedError for rows without a value in an ordering field: Hudi fails on them, or orders them by chance."""
    if table.ordering != "event_time":
        return
    blank = rows.alias("r").where(_blank("r", table)).count()
    if blank:
        raise RefusedError(
            f"Hudi table {table.path}: {blank} rows have no value in its ordering field {', '.join(table.ordering_fields)}",
            fix="leave these rows out with source.where",
        )


def add_lake_columns(upserts: DataFrame, only: Sequence[LakeColumn], table: LakeTable, now: DataFrame) -> DataFrame:
    """The images with the lake's own values in columns that the source does not have; new rows keep NULL there."""
    if not only:
        return upserts
    kept = F.struct(*[F.col(f"`{column.name}`") for column in only])
    same = match_keys("u", "n", table.record_key)
    there = now.alias("n").join(upserts.select(*table.record_key).alias("u"), same, "left_semi")
    newest = there.groupBy(*table.record_key).agg(F.max_by(kept, F.col(_SEQNO)).alias("_hr_kept"))
    joined = upserts.alias("u").join(newest.alias("n"), same, "left")
    names = {column.name for column in only}
    return joined.select(
        *(
            F.col("n._hr_kept").getField(column.name).alias(column.name)
            if column.name in names
            else F.col(f"u.`{column.name}`")
            for column in table.columns
        )
    )


def adopt_batch(batch: Corrective, table: LakeTable, now: DataFrame) -> Corrective:
    """The batch with its upserts as the table's own images."""
    given = cast("DataFrame", batch.upserts)
    only = [column for column in table.columns if column.name not in given.columns]
    upserts = add_lake_columns(build_images(given, table), only, table, now).localCheckpoint()
    return replace(batch, upserts=Frame(upserts))


def prepare(batch: Corrective, table: LakeTable) -> CorrectionBatch:
    """The batch in the table's exact schema, checked. The table has a column that can carry the mark of a delete.

    Raises LakeError for other columns or a key that occurs twice, NotBuiltError for an upsert of a key the lake has twice.
    """
    field = mark_field(table)
    if field is None:
        raise ValueError("no column of the table can carry the mark of a delete")
    rows, expected = keep_exact(batch, table)
    facts = count_batch_facts(rows, expected, table, "0L")
    check_facts(facts, table)
    mark = DeleteMark(field, f"__hr_delete__{uuid4().hex}")
    marked = F.when(F.col(DELETE), F.lit(mark.text)).otherwise(F.col(f"`{field}`"))
    return CorrectionBatch(rows.withColumn(field, marked).drop(DELETE), expected, mark, facts.written)


def mark_field(table: LakeTable) -> str | None:
    """The first text column that neither names, places nor orders a row."""
    taken = {*table.record_key, *table.partition_fields, *table.ordering_fields}
    return next((column.name for column in table.columns if column.type == "string" and column.name not in taken), None)


def count_overtaken(batch: Corrective, table: LakeTable, seen: Shown) -> int:
    """How many upserts Hudi would drop in silence, or that would bring an older row back: 0 without event-time ordering."""
    if table.ordering != "event_time":
        return 0
    upserts = fit_to_table(cast("DataFrame", batch.upserts), table.columns, table.path).alias("u")
    same = match_keys("u", "n", table.record_key)
    older = upserts.join(seen.rows.alias("n"), same).where(
        _blank("n", table) | (_order("u", table) < _order("n", table))
    )
    # The mark of a delete has the stored value, and Hudi cannot order one that is missing.
    count = older.count() + cast("DataFrame", batch.deletes).alias("d").where(_blank("d", table)).count()
    if seen.unmerged is not None:
        # A key that files hold and the table does not show was deleted by a log file, whose ordering value is not seen.
        gone = upserts.join(seen.rows.alias("n"), same, "left_anti")
        count += gone.join(seen.unmerged.alias("n"), match_keys("u", "n", table.record_key), "left_semi").count()
    return count


def count_moved(upserts: DataFrame, table: LakeTable, now: DataFrame) -> int:
    """How many rows would lie in another partition than the lake has them in."""
    if not table.partition_fields:
        return 0
    stays = match_keys("u", "n", table.partition_fields)
    return upserts.alias("u").join(now.alias("n"), match_keys("u", "n", table.record_key)).where(~stays).count()


def count_unindexed(keys: DataFrame, table: LakeTable, now: DataFrame, base: DataFrame) -> int:
    """How many rows of these keys are in log files alone."""
    there = now.alias("n").join(keys.alias("k"), match_keys("n", "k", table.record_key), "left_semi")
    return there.join(base.select(*_INDEXED), list(_INDEXED), "left_anti").count()


def _order(side: str, table: LakeTable) -> SparkColumn:
    return F.struct(*[F.col(f"{side}.`{name}`") for name in table.ordering_fields])


def _blank(side: str, table: LakeTable) -> SparkColumn:
    filled = (F.col(f"{side}.`{name}`").isNotNull() for name in table.ordering_fields)
    return ~reduce(SparkColumn.__and__, filled)


_HASHING = ".hoodie/.bucket_index/consistent_hashing_metadata"


@dataclass(frozen=True, slots=True)
class ForeignTable:
    """A table that another tool made, adopted for writing."""

    spark: SparkSession
    files: Files
    table: LakeTable

    def options(self, planned: Mapping[str, str]) -> dict[str, str]:
        """Write options beside the planned ones that the table's rows and files ask for.

        Raises RefusedError where they cannot be found out.
        """
        table = self.table
        if self.files.exists(f"{table.path}/{_HASHING}"):
            raise RefusedError(
                f"Hudi table {table.path}: its files are buckets of consistent hashing, whose number changes by itself",
                fix="let the tool that made the table write it, or pull into a new lake.path",
            )
        with redact_failures(table.path):
            sample = take_sample(read_newest(self.spark, table.path), table)
            key_options = choose_key_options(self.spark, table, planned, sample)
            return {**key_options, **choose_bucket_options(self.spark, table, planned, sample)}

    def images(self, rows: DataFrame) -> DataFrame:
        """Source images as the table's columns, every one with what orders it."""
        with redact_failures(self.table.path):
            images = build_images(rows, self.table)
            refuse_unordered(images, self.table)
        return images

    def refuse_moved(self, rows: DataFrame, options: Mapping[str, str]) -> None:
        """Raises RefusedError for rows that leave their partition, where Hudi would keep the old copy: buckets."""
        if options.get("hoodie.index.type") != "BUCKET":
            return
        with redact_failures(self.table.path):
            moved = count_moved(rows, self.table, read_newest(self.spark, self.table.path))
        if moved:
            raise RefusedError(
                f"Hudi table {self.table.path}: {moved} rows would leave their partition, and its files are buckets: the "
                "old copies would stay",
                fix="delete these rows from the lake with the tool that made it, then sweep again",
            )

    def refuse_unindexed(self, rows: DataFrame, options: Mapping[str, str]) -> None:
        """Raises RefusedError for rows of keys that lie in log files alone: an upsert of Spark's would write second copies."""
        table = self.table
        with redact_failures(table.path):
            doubled = self._count_unindexed(rows, read_newest(self.spark, table.path), options)
        if doubled:
            raise RefusedError(
                f"Hudi table {table.path}: {doubled} rows to write are in log files alone, as Flink's writer leaves new rows: "
                "the index of Spark's writer does not find them and would write each a second time",
                fix="let the tool that made the table compact it (in Flink compaction.async.enabled=true), then pull again",
            )

    def _count_unindexed(self, keys: DataFrame, now: DataFrame, options: Mapping[str, str]) -> int:
        if self.table.type != "merge_on_read" or options.get("hoodie.index.type") == "BUCKET":
            return 0
        return count_unindexed(keys, self.table, now, read_base(self.spark, self.table.path))

    def correction(self, batch: Corrective, pin: LakePin, options: Mapping[str, str]) -> tuple[Corrective, bool]:
        """The batch with the table's own images, and whether an upsert with these options would not do all of it."""
        path, table = self.table.path, self.table
        with redact_failures(path):
            now = read_pinned(self.spark, path, pin)
            adopted_batch = adopt_batch(batch, table, now)
            refuse_unordered(cast("DataFrame", adopted_batch.upserts), table)
            seen = Shown(now, read_unmerged(self.spark, path) if table.type == "merge_on_read" else None)
            needs_rewrite = (
                mark_field(table) is None
                or count_overtaken(adopted_batch, table, seen) > 0
                or self._count_unindexed(cast("DataFrame", adopted_batch.expected), now, options) > 0
            )
        return adopted_batch, needs_rewrite
