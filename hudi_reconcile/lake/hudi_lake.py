"""`HudiLake`: one Hudi table as the port `Lake` asks for it. Joins the other modules of this room; decides little."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import reduce
from typing import Literal, cast

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import LakeError, RefusedError
from hudi_reconcile.core.lake.locks import FILE_LOCK, STORAGE_LOCK, choose_lock, list_client_classes
from hudi_reconcile.core.lake.ownership import Writers
from hudi_reconcile.core.tables.kinds import Column, choose_stored_type
from hudi_reconcile.core.tables.partitions import DEFAULT, ESCAPED, PartitionRows, PartitionScope, PathField, PathRule
from hudi_reconcile.core.tables.values import (
    IN_SCOPE,
    READ_SEQ,
    Checkpoint,
    CheckpointAt,
    Instant,
    LakePin,
    LakeTable,
    PartitionField,
)
from hudi_reconcile.lake import correct, rewrite_partitions, timeline, undo
from hudi_reconcile.lake.bridge import Timeline, has_classes, skip_probes
from hudi_reconcile.lake.commit import Target, commit, commit_alone
from hudi_reconcile.lake.files import Files
from hudi_reconcile.lake.foreign import hinder_changelog
from hudi_reconcile.lake.lease import Renewal
from hudi_reconcile.lake.odd_rows import check_types, check_values, has_mixed_keys, leave_out_odd
from hudi_reconcile.lake.options import Index, WriteOptions, Writer, build_create_options, build_overwrite_options
from hudi_reconcile.lake.reads import SnapshotReader, read_newest, read_unmerged, redact_failures
from hudi_reconcile.lake.recover import hold_lease, roll_back_dead
from hudi_reconcile.lake.schema import build_lake_rows, derive_value, fit_to_new_table, fit_to_table, list_columns
from hudi_reconcile.lake.table import SCHEMA, add_file_types, build_lake_table, has_table, read_properties
from hudi_reconcile.lake.timeline import (
    KEYS,
    PREFIX,
    commit_metadata,
    find_silent_writers,
    format_keys,
    list_heartbeats,
    list_writers,
    read_origin,
)
from hudi_reconcile.lake.undo import drop_ours, keep_one
from hudi_reconcile.ports import (
    AS_SOURCE,
    Batch,
    BatchShape,
    Corrective,
    FilesRead,
    Frame,
    NewTable,
    Origin,
    Replaced,
    TakenBack,
)
from hudi_reconcile.sql.spark_text import quote_name


class HudiLake:
    """One Hudi table at a path, existing or to be made: every call looks anew. Under a lease every write asks first for that."""

    def __init__(
        self,
        spark: SparkSession,
        path: str,
        *,
        name: str,
        options: Mapping[str, str],
        adopt: bool = False,
        index: Index = "simple",
        alone: AbstractContextManager[object] | None = None,
    ) -> None:
        """`name` is the table's name where it is made; `options` and `index` are the user's.

        `adopt`: a table that another tool made is cleared of what its dead writers left, as ours are. `alone` is held while
        settings of the session are changed, where other tables are worked on in it.
        """
        skip_probes(spark)
        self._spark = spark
        self._path = path.rstrip("/") or path
        self._name = name
        self._files = Files(spark, self._path)
        self._has_client = has_classes(spark, list_client_classes(self._path))
        self._options = WriteOptions(
            cores=spark.sparkContext.defaultParallelism,
            overrides=dict(options),
            lock_provider=STORAGE_LOCK if self._has_client else FILE_LOCK,
            index=index,
        )
        self._adopt = adopt
        self._alone = alone or nullcontext()
        self._writer = Writer(spark, self._files, self._options)
        self._renewal: Renewal | None = None
        self._reader = SnapshotReader(spark, self._path)
        self._wrote = False

    def look(self) -> LakeTable | None:
        """The table as it is now; None where there is none, or only the remains of a creation that never committed."""
        if not has_table(self._files, self._path):
            return None
        line = self._timeline()
        table = build_lake_table(self._path, read_properties(line, self._path), ())
        if line.list_completed():
            now, schemas = read_newest(self._spark, self._path), line.metadata(SCHEMA, archived=False)
            texts = (text for text, _ in schemas)
            columns = add_file_types(list_columns(now), line.properties(), table.partition_fields, texts)
            return hinder_changelog(build_lake_table(self._path, line.properties(), columns), now.columns)
        if table.owned:
            return None
        raise LakeError(f"Hudi table {self._path} has no completed commit", fix="let its writer finish, then try again")

    def pin(self) -> LakePin | None:
        """The newest completed snapshot and the writers in flight."""
        return timeline.pin_snapshot(self._timeline()) if has_table(self._files, self._path) else None

    def is_intact(self, pin: LakePin) -> bool:
        """True while the pin shows what it showed."""
        return timeline.is_pin_intact(self._timeline(), pin)

    def find_checkpoint(self) -> CheckpointAt | None:
        """The newest checkpoint on the timeline, archive included."""
        return timeline.find_checkpoint(self._timeline()) if has_table(self._files, self._path) else None

    def count_rows(self, pin: LakePin) -> int:
        """How many rows there are at the pin."""
        with redact_failures(self._path):
            return self._reader.rows(pin).count()

    def read_rows(self, pin: LakePin) -> Frame:
        """All rows at the pin, with Hudi's own columns."""
        return Frame(self._reader.rows(pin))

    def list_partitions(self, pin: LakePin, rule: PathRule) -> tuple[PartitionRows, ...]:
        """The partitions at the pin, with their rows; one job over the partition columns."""
        with redact_failures(self._path):
            return list_partitions(self._reader.rows(pin), rule)

    def mark_scope(self, rows: Frame, side: Literal["source", "lake"], scope: PartitionScope) -> Frame:
        """The rows with a mark on those of the partitions."""
        return Frame(flag_in_scope(_spark(rows), side, scope.rule, scope.paths))

    def find_labels(self, key: str) -> tuple[tuple[str, Instant], ...]:
        """Every commit that carries the label, active or archived."""
        return tuple(timeline.find_label(self._timeline(), PREFIX + key)) if has_table(self._files, self._path) else ()

    def build_batch(
        self,
        rows: Frame,
        columns: tuple[Column, ...],
        partition_by: tuple[PartitionField, ...],
        read_seq: int,
        shape: BatchShape = AS_SOURCE,
    ) -> Batch:
        """Source rows `c0, c1, …` as full lake images, those of odd keys and places held back where a table is named."""
        images = build_lake_rows(_spark(rows), columns, partition_by, read_seq, shape)
        if shape.into is None:
            return Batch(Frame(images))
        with redact_failures(self._path):
            return leave_out_odd(images, shape.into, lambda: read_newest(self._spark, self._path))

    def create(self, rows: Frame, table: NewTable, checkpoint: Checkpoint, labels: Mapping[str, str]) -> Instant:
        """Make the table with these rows in one commit.

        Raises RefusedError for columns or values Hudi cannot hold, LakeError where a table is already there.
        """
        if has_table(self._files, self._path) and (self.look() is not None or self._timeline().pending()):
            raise LakeError(f"{self._path} already holds a Hudi table", fix="pull into it, or set another lake.path")
        self._files.delete(f"{self._path}/.hoodie")  # what a creation that never committed left
        frame = fit_to_new_table(_spark(rows), table.partition_by)
        columns, partitions = list_columns(frame), tuple(part.lake_name for part in table.partition_by)
        if READ_SEQ not in {column.name for column in columns if column.type == "bigint"}:
            raise LakeError(f"rows of new table {table.name} have no bigint column {READ_SEQ}", fix="report a bug")
        check_types(columns, table.record_key, partitions)
        with redact_failures(self._path):
            # Only where these rows need it: other writers of the table have to know the record key's columns.
            table = replace(table, spelled=table.spelled and has_mixed_keys(frame, table.record_key))
            check_values(frame, table.record_key, partitions, spelled=table.spelled)
        target = Target(self._spark, self._path, table.name, exists=False, lease=self._renewal)
        return commit(target, frame, build_create_options(self._options, table), commit_metadata(checkpoint, labels))

    def upsert(self, rows: Frame, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]) -> Instant:
        """Write full images in one commit; an empty frame commits checkpoint and labels alone.

        Raises LakeError that lists the differences where the frame has other columns than the table.
        """
        options = self._writer.options(table)
        frame = self._writer.rows(rows, table, options)
        return commit(self._target(table), frame, options, commit_metadata(checkpoint, labels))

    def compare_overwrite(self, rows: Frame, table: LakeTable) -> Replaced:
        """What `overwrite` with these rows would do."""
        pin = self.pin()
        if pin is None:
            return Replaced(0, 0)
        frame = self._writer.fit_rows(rows, table)
        with redact_failures(self._path):
            return count_overwritten(frame, self._reader.rows(pin), table)

    def overwrite(self, rows: Frame, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]) -> Instant:
        """Make these rows all that the table holds, in one commit.

        Raises LakeError that lists the differences where the frame has other columns than the table.
        """
        options = build_overwrite_options(self._writer.options(table))
        frame = self._writer.rows(rows, table, {})
        return commit(self._target(table), frame, options, commit_metadata(checkpoint, labels))

    def mark(self, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]) -> Instant:
        """Commit checkpoint and labels alone."""
        return self.upsert(Frame(self._no_rows(table)), table, checkpoint, labels)

    def hand_back(self, table: LakeTable, key: str, value: str) -> Instant:
        """Commit HoodieStreamer's checkpoint alone, where its next run looks for it."""
        prefix = f"{key.split('.', 1)[0]}."
        fitted = fit_to_table(self._no_rows(table), table.columns, self._path)
        return commit(self._target(table), fitted, self._writer.options(table), {key: value}, prefix)

    def read_origin(self, upto: Instant | None = None) -> Origin:
        """Who wrote the table, by its properties and by what HoodieStreamer leaves on its commits."""
        if not has_table(self._files, self._path):
            return Origin()
        line = self._timeline()
        return read_origin(line, line.properties(), upto)

    def correct(
        self, batch: Corrective, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]
    ) -> Instant:
        """Upserts and deletes in one commit, only if every key is still as expected.

        Raises SupersededError where a key has another version or another writer is in flight; nothing is left behind.
        """
        plain = self._writer.options(table)
        batch, needs_rewrite = self._writer.correction(batch, table, self._require_pin(), plain)
        metadata = commit_metadata(checkpoint, labels)
        if needs_rewrite:
            return self._replace_partitions(batch, table, plain, metadata)
        upsert = self._writer.prepare_batch(batch, table, self._known_seq(checkpoint))
        metadata[KEYS] = format_keys(upsert.keys)
        with self._alone, correct.register_expected(self._spark, upsert.expected) as view:
            clusterings = timeline.list_planned_clusterings(self._timeline())
            options = {**plain, **correct.build_correction_options(table, view, upsert.mark, clusterings)}
            return commit_alone(self._target(table), upsert.rows, options, metadata)

    def replace(
        self, batch: Corrective, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]
    ) -> Instant:
        """Every copy of the expected keys replaced by the one right row, or by none, in one commit.

        Raises SupersededError where anything was committed meanwhile, RefusedError where Hudi cannot do it in one commit.
        """
        plain = self._writer.options(table)
        batch, _ = self._writer.correction(batch, table, self._require_pin(), plain)
        return self._replace_partitions(batch, table, plain, commit_metadata(checkpoint, labels))

    def _replace_partitions(
        self, batch: Corrective, table: LakeTable, plain: Mapping[str, str], metadata: Mapping[str, str]
    ) -> Instant:
        line = self._timeline()
        rewrite_partitions.refuse_clustering(self._path, timeline.list_planned_clusterings(line))
        known, pin = {action.requested for action in line.list_completed()}, self._require_pin()
        with redact_failures(self._path):
            unmerged_rows = (
                read_unmerged(self._spark, self._path) if table.foreign and table.type == "merge_on_read" else None
            )
            replacement = rewrite_partitions.build_replacement(
                batch, table, self._reader.rows(pin), unmerged_rows, plain
            )
            self._writer.check(
                fit_to_table(_spark(batch.upserts), table.columns, table.path), table
            )  # the others stay what they are
        metadata = {**metadata, KEYS: format_keys(replacement.keys)}
        with self._alone, correct.register_expected(self._spark, replacement.expected) as view:
            options = {**plain, **rewrite_partitions.replace_options(table, view, replacement, known)}
            return commit_alone(self._target(table), replacement.rows, options, metadata)

    def list_writers(self) -> Writers:
        """Who else writes the table, as far as it tells."""
        beating = list_heartbeats(self._files, self._path)
        return list_writers(self._timeline(), self._files, self._path, beating)

    def list_silent_writers(self) -> tuple[str, ...]:
        """The instants in flight without a heartbeat, oldest first; none where there is no table."""
        if not has_table(self._files, self._path):
            return ()
        beating = list_heartbeats(self._files, self._path)
        return find_silent_writers(self._timeline(), self._files, self._path, beating)

    def roll_back(self, requested: str) -> None:
        """Roll back an instant in flight. Raises LakeError where Hudi cannot, RefusedError where it has completed."""
        if self._renewal is not None:
            self._renewal.refuse_lost()
        if not roll_back_dead(Target(self._spark, self._path, self._name), requested):
            raise RefusedError(
                f"Hudi table {self._path}: instant {requested} has completed: its writer is alive, and nothing was rolled back",
                fix="run it again without --dead-writer",
            )

    def pin_around(self, commit: Instant) -> tuple[LakePin, LakePin]:
        """The snapshots just before a corrective commit and just after it."""
        return undo.find_snapshots_around(self._timeline(), commit, self._path)

    def prepare_undo(self, commit: Instant, table: LakeTable, read_seq: int) -> TakenBack:
        """What takes a corrective commit back, for keys untouched since."""
        return undo.revert_batch(self._spark, commit, table, self._require_pin(), read_seq, read=self._reader.rows)

    def count_shown(self, upserts: Frame, table: LakeTable) -> int:
        """How many of these rows are there as they are, but for the read sequence."""
        pin = self.pin()
        return 0 if pin is None else undo.count_matching(_spark(upserts), self._reader.rows(pin), table)

    def savepoint(self, comment: str, earlier: Sequence[str] = ()) -> str:
        """Keep the first of the earlier snapshots that still has a savepoint, whoever made it; else the newest."""
        return keep_one(Target(self._spark, self._path, self._name), comment, earlier)

    def drop_savepoints(self, keep: str) -> tuple[str, ...]:
        """Remove every savepoint of ours but one; those of others stay."""
        return drop_ours(Target(self._spark, self._path, self._name), keep)

    def count_files(self) -> FilesRead:
        """The files of the snapshots that were read, and whether nothing was written, which reads others."""
        files = self._reader.files()
        return FilesRead(len(files or ()), is_all=files is not None and not self._wrote)

    @contextmanager
    def lease(self, owner: str) -> Iterator[None]:
        """Hold the table's lease; what a killed process of ours left behind is rolled back first.

        An interrupted process leaves its lease: a commit may still be under way in the JVM, and only the lease of a dead
        process tells the next run to roll it back at once. Raises LockProviderError where no lock works for the path's scheme.
        """
        choose_lock(self._path, self._options.overrides, has_client=self._has_client)
        target = Target(self._spark, self._path, self._name)
        with hold_lease(target, self._files, owner, adopt=self._adopt) as renewal:
            self._renewal = renewal
            try:
                yield
            finally:
                self._renewal = None

    def _known_seq(self, checkpoint: Checkpoint) -> int:
        """The greatest read sequence handed out so far, by the timeline and by the caller."""
        known = self.find_checkpoint()
        return max(checkpoint.read_seq, 0 if known is None else known.checkpoint.read_seq)

    def _no_rows(self, table: LakeTable) -> DataFrame:
        return read_newest(self._spark, self._path).select(*(column.name for column in table.columns)).limit(0)

    def _require_pin(self) -> LakePin:
        pin = self.pin()
        if pin is None:
            raise LakeError(f"Hudi table {self._path} has no completed commit", fix="pull it first")
        return pin

    def _target(self, table: LakeTable) -> Target:
        """Of a write into the table, whose own reads nobody counts."""
        self._wrote = True
        return Target(self._spark, self._path, table.name, lease=self._renewal)

    def _timeline(self) -> Timeline:
        return Timeline(self._spark, self._path)


def _spark(frame: Frame) -> DataFrame:
    return cast("DataFrame", frame)


def count_overwritten(rows: DataFrame, lake: DataFrame, table: LakeTable) -> Replaced:
    """The lake's rows, and how many have a key that none of the new rows has. NULL parts of a key are equal."""
    keys = fit_to_table(rows, table.columns, table.path).select(*table.record_key).withColumn("_hr_there", F.lit(True))
    same = reduce(
        SparkColumn.__and__, (F.col(f"l.`{name}`").eqNullSafe(F.col(f"n.`{name}`")) for name in table.record_key)
    )
    joined = lake.select(*table.record_key).alias("l").join(keys.alias("n"), same, "left")
    counts = joined.agg(F.count(F.lit(1)), F.count(F.when(F.col("_hr_there").isNull(), 1))).collect()[0]
    return Replaced(int(counts[0]), int(counts[1]))


PARTITION_PATH = "_hoodie_partition_path"


def list_partitions(lake: DataFrame, rule: PathRule) -> tuple[PartitionRows, ...]:
    """The lake's partitions by path, with their rows, and how many of those lie or say otherwise than by the rule. One job."""
    path, rule_path = (
        F.col(PARTITION_PATH),
        _path(rule, [_text(F.col(f"`{field.lake_name}`")) for field in rule.fields]),
    )
    unlike = F.count(F.when(~path.eqNullSafe(rule_path), 1))
    counts = (
        F.count(F.lit(1)).alias("rows"), unlike.alias("unlike"), F.expr(f"count_if({_astray(rule)})").alias("astray")
    )  # fmt: skip
    rows = lake.groupBy(path.alias("path")).agg(*counts).collect()
    return tuple(
        PartitionRows(row["path"], row["rows"], row["unlike"], row["astray"])
        for row in sorted(rows, key=lambda r: r["path"])
    )


def _astray(rule: PathRule) -> str:
    tests = [
        f"not (cast({quote_name(field.lake_name)} as string)"
        f" <=> {derive_value(field.transform, quote_name(field.column.lake_name), cast='try_cast')})"
        for field in rule.fields
        if field.transform != "identity"
    ]
    return " or ".join(tests) or "false"


def flag_in_scope(rows: DataFrame, side: Literal["source", "lake"], rule: PathRule, paths: Sequence[str]) -> DataFrame:
    """The same rows with one more column, which is true where the row lies in one of these partitions."""
    path = F.col(PARTITION_PATH) if side == "lake" else _path(rule, [_source_text(field) for field in rule.fields])
    return rows.withColumn(IN_SCOPE, F.coalesce(path.isin(*paths), F.lit(False)))


def _source_text(field: PathField) -> SparkColumn:
    if field.transform != "identity":
        return _text(F.expr(derive_value(field.transform, f"c{field.index}")))
    return _text(F.col(f"c{field.index}").cast(choose_stored_type(field.column)).cast(field.lake_type))


def _text(value: SparkColumn) -> SparkColumn:
    return value.cast("string")


def _path(rule: PathRule, texts: Sequence[SparkColumn]) -> SparkColumn:
    parts = []
    for field, text in zip(rule.fields, texts, strict=True):
        shown = F.when(text.rlike(f"[{ESCAPED}]"), _escape_path(text)).otherwise(text) if rule.encoded else text
        part = F.when(text.isNull() | (text == ""), F.lit(DEFAULT)).otherwise(shown)
        parts.append(F.concat(F.lit(f"{field.lake_name}="), part) if rule.hive_style else part)
    return F.concat_ws("/", *parts)


def _escape_path(text: SparkColumn) -> SparkColumn:
    letters = F.split(text, "")
    hexed = F.transform(
        letters,
        lambda letter: F.when(
            letter.rlike(f"[{ESCAPED}]"), F.concat(F.lit("%"), F.lpad(F.hex(letter.cast("binary")), 2, "0"))
        ).otherwise(letter),
    )
    return F.array_join(hexed, "")
