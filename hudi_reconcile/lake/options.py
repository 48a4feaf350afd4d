"""Every Hudi write option that this tool sets, with its reason, and what a commit into an existing table is made of. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.core.errors import RefusedError, UsageError
from hudi_reconcile.core.lake.locks import FILE_LOCK, PROVIDER
from hudi_reconcile.core.lake.ownership import list_option_problems, override_options
from hudi_reconcile.core.tables.values import READ_SEQ, LakePin, LakeTable
from hudi_reconcile.lake import foreign_table
from hudi_reconcile.lake.bridge import Timeline
from hudi_reconcile.lake.correct import CorrectionBatch, prepare
from hudi_reconcile.lake.files import Files
from hudi_reconcile.lake.foreign_table import ForeignTable
from hudi_reconcile.lake.odd_rows import check_values, leave_out_odd, list_spelled_key
from hudi_reconcile.lake.reads import read_newest, redact_failures
from hudi_reconcile.lake.schema import fit_to_table
from hudi_reconcile.lake.table import METADATA_PARTITIONS
from hudi_reconcile.ports import Corrective, Frame, NewTable

Index = Literal["simple", "bloom"]
HUDI_TYPES = {"copy_on_write": "COPY_ON_WRITE", "merge_on_read": "MERGE_ON_READ"}
KEPT_COMMITS = 60  # long enough for a sweep's pin, and for change queries over some weeks of nightly runs
EXPIRED_MS = 180_000  # more than Hudi's default of two missed minutes
# Hudi's default is gzip. Of 2,000,000 rows zstd makes a pull a quarter shorter and files a seventh smaller, and reads faster. Of
# another tool's table nothing is known about who reads it.
_CODEC = {"hoodie.parquet.compression.codec": "zstd"}
_KEYGEN = "org.apache.hudi.keygen."
_LOCK = "hoodie.write.lock."
# How keys and partition paths are made, which another tool's table says itself.
_OF_THE_MAKER = (
    "hoodie.datasource.write.keygenerator.", "hoodie.datasource.write.hive_style_partitioning",
    "hoodie.datasource.write.partitionpath.",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How this session writes. `cores` bounds the shuffles; `overrides` are the user's `lake.options`, already checked.

    `lock_provider` is the one for the scheme of the path, where `overrides` name none. `index` is that of our own tables.
    """

    cores: int = 2
    overrides: Mapping[str, str] = field(default_factory=dict)
    compact_after_commits: int = 10
    heartbeat_ms: int = 5_000
    lock_provider: str = FILE_LOCK
    index: Index = "simple"

    def __post_init__(self) -> None:
        wrong = sorted(key for key, _ in list_option_problems(self.overrides))
        if wrong:
            raise UsageError(
                f"lake.options: {', '.join(wrong)} cannot be set: the tool owns it, or it is no hoodie.* option",
                fix="remove it from lake.options",
            )


def build_retention_options(commits: int) -> dict[str, str]:
    """Options that let change queries and an undo go back over so many commits."""
    return {
        "hoodie.clean.commits.retained": str(commits),
        # The archiver stays behind the cleaner, as Hudi demands.
        "hoodie.keep.min.commits": str(commits + 20),
        "hoodie.keep.max.commits": str(commits + 40),
    }


def build_create_options(options: WriteOptions, table: NewTable) -> dict[str, str]:
    """Options of the commit that makes a table."""
    partitions = tuple(part.lake_name for part in table.partition_by)
    settings = {
        **_session(options),
        **_identity(table.name, list_spelled_key(table.record_key) if table.spelled else table.record_key, partitions),
        **_index(options.index, partitions),
        **_CODEC,
        "hoodie.datasource.write.table.type": HUDI_TYPES[table.type],
        "hoodie.datasource.write.operation": "bulk_insert",
        # Owned by the tool and rising: Hudi itself then drops an image older than what the lake has (docs/guarantees).
        "hoodie.table.ordering.fields": READ_SEQ,
        "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
        "hoodie.compact.inline": "false",
        # Small tables are written twice as fast without it, and readers list files where a table has none.
        "hoodie.metadata.enable": "false",
    }
    if partitions:
        # One file a partition, not one a task; sorted, for a task holds a Parquet writer open for each partition it has begun.
        settings["hoodie.bulkinsert.sort.mode"] = "PARTITION_PATH_REPARTITION_AND_SORT"
    if table.change_log is not None:
        settings["hoodie.table.cdc.enabled"] = "true"
        settings["hoodie.table.cdc.supplemental.logging.mode"] = table.change_log.upper()
    return override_options(settings, options.overrides)


def upsert_options(options: WriteOptions, table: LakeTable, *, has_metadata_table: bool) -> dict[str, str]:
    """Options of a commit of full images."""
    settings = {
        **_session(options),
        **_choose_identity(table),
        **_index(options.index if table.owned else "simple", table.partition_fields),
        **(_CODEC if table.owned else {}),
        "hoodie.datasource.write.table.type": HUDI_TYPES[table.type],
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.write.table.version": str(table.version),
        # A writer without it would switch the table's metadata table off for everybody.
        "hoodie.metadata.enable": str(has_metadata_table).lower(),
        # Log files are merged at every read, so a pull folds them in now and then; pins and row versions outlive it.
        "hoodie.compact.inline": str(table.type == "merge_on_read").lower(),
        "hoodie.compact.inline.max.delta.commits": str(options.compact_after_commits),
    }
    return override_options({**settings, **(table.foreign.options if table.foreign else {})}, options.overrides)


def build_overwrite_options(upsert: Mapping[str, str]) -> dict[str, str]:
    """Options, from an upsert's, of a commit after which its rows are all that the table holds."""
    return {
        **upsert,
        "hoodie.datasource.write.operation": "insert_overwrite_table",
        "hoodie.compact.inline": "false",  # nothing is left to compact
    }


def split_lock_options(options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Options of a write under the table's lock that the caller holds, from an optimistic write's; and those of the lock.

    The write is as optimistic as before, and checks at its commit what others changed who know no lock; but Hudi takes no lock
    in it, or it would wait for ours.
    """
    lock = {key: value for key, value in options.items() if key.startswith(_LOCK)}
    rest = {key: value for key, value in options.items() if key not in lock}
    mode = "hoodie.write.concurrency.mode"
    none = {f"{_LOCK}provider": "org.apache.hudi.client.transaction.lock.NoopLockProvider"}
    return {**rest, **none}, {**lock, mode: options[mode]}


def _choose_identity(table: LakeTable) -> dict[str, str]:
    """As the table's own properties say where another tool made it; else as we made it."""
    key = list_spelled_key(table.record_key) if table.spelled else table.record_key
    ours = _identity(table.name, key, table.partition_fields)
    if table.foreign is None:
        return ours
    identity = {
        **{key: value for key, value in ours.items() if not key.startswith(_OF_THE_MAKER)},
    }
    if table.ordering_fields:
        identity["hoodie.datasource.write.precombine.field"] = ",".join(table.ordering_fields)
    return identity


def _identity(name: str, key: tuple[str, ...], partitions: tuple[str, ...]) -> dict[str, str]:
    identity = {
        "hoodie.table.name": name,
        "hoodie.datasource.write.recordkey.field": ",".join(key),
        "hoodie.datasource.write.partitionpath.field": ",".join(partitions),
        "hoodie.datasource.write.keygenerator.class": _KEYGEN + _generator(key, partitions),
        # Timestamps as keys get the same text from bulk_insert and upsert only with this, from the first commit on.
        "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled": "true",
    }
    if partitions:
        # Without both, `a=b` is read back as `b` and `a/b` makes two folders.
        identity["hoodie.datasource.write.hive_style_partitioning"] = "true"
        identity["hoodie.datasource.write.partitionpath.urlencode"] = "true"
    return identity


def _index(index: Index, partitions: tuple[str, ...]) -> dict[str, str]:
    if not partitions:
        return {"hoodie.index.type": "BLOOM"} if index == "bloom" else {}
    # A row whose partition value changed moves; a plain index would leave the old copy behind.
    return {"hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path": "true"}


def _generator(key: tuple[str, ...], partitions: tuple[str, ...]) -> str:
    if not partitions:
        # Of several columns, the non-partitioned one's bulk_insert throws on a NULL or empty part; its upsert does not.
        return "NonpartitionedKeyGenerator" if len(key) == 1 else "ComplexKeyGenerator"
    return "SimpleKeyGenerator" if len(key) == 1 and len(partitions) == 1 else "ComplexKeyGenerator"


def _session(options: WriteOptions) -> dict[str, str]:
    shuffles = (
        "upsert.shuffle",
        "insert.shuffle",
        "bulkinsert.shuffle",
        "delete.shuffle",
        "simple.index",
        "global.simple.index",
        "global.index.reconcile",
    )
    lanes = str(max(options.cores, 2))
    return {
        **{f"hoodie.{name}.parallelism": lanes for name in shuffles},
        "hoodie.embed.timeline.server": "false",  # a web server per write, for nothing at this size
        "hoodie.write.markers.type": "DIRECT",  # the other kind needs that server
        # One writer with defaults beside another loses rows without an error (research D); all ours are optimistic.
        "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
        "hoodie.clean.failed.writes.policy": "LAZY",
        "hoodie.write.lock.provider": options.lock_provider,
        # Held for the moment in which a pull's commit begins or ends, and for the whole of a correction (commit.py). A killed
        # holder's lock ends after 2 minutes, and a waiter waits that long.
        "hoodie.write.lock.filesystem.expire": "2",
        "hoodie.write.lock.wait_time_ms": "150000",
        "hoodie.write.lock.num_retries": "150",
        "hoodie.write.lock.wait_time_ms_between_retry": "1000",
        # Only these make a waiter of the file system's lock wait: its provider asks once, whatever the other numbers say. Others
        # wait by themselves, and each of these retries also waits for a lock service that does not answer.
        "hoodie.write.lock.client.num_retries": "150" if _has_file_lock(options) else "1",
        "hoodie.write.lock.client.wait_time_ms_between_retry": "1000",
        # A retry inside Hudi would write the old images again; the caller compares anew instead.
        "hoodie.write.num.retries.on.conflict.failures": "0",
        # Beats often, so that a killed writer is soon known; others' silence is tolerated for as long as Hudi does and more.
        "hoodie.client.heartbeat.interval_in_ms": str(options.heartbeat_ms),
        "hoodie.client.heartbeat.tolerable.misses": str(EXPIRED_MS // options.heartbeat_ms),
        "hoodie.write.auto.upgrade": "false",  # older readers of the table could no longer read it
        **build_retention_options(KEPT_COMMITS),
    }


def _has_file_lock(options: WriteOptions) -> bool:
    return options.overrides.get(PROVIDER, options.lock_provider) == FILE_LOCK


@dataclass(frozen=True, slots=True)
class Writer:
    """Prepares commits; makes none."""

    spark: SparkSession
    files: Files
    session: WriteOptions

    def options(self, table: LakeTable) -> dict[str, str]:
        """Options of a commit of full images. Raises RefusedError where another tool's table does not tell its own."""
        properties = Timeline(self.spark, table.path).properties()
        has_metadata_table = bool(properties.get(METADATA_PARTITIONS, ""))
        options = upsert_options(self.session, table, has_metadata_table=has_metadata_table)
        return options if table.foreign is None else {**options, **self._foreign(table).options(options)}

    def fit_rows(self, rows: Frame, table: LakeTable) -> DataFrame:
        """The rows in the table's exact schema. Raises LakeError that lists the differences."""
        frame = cast("DataFrame", rows)
        if table.foreign is not None:
            frame = self._foreign(table).images(frame)
        return fit_to_table(frame, table.columns, table.path)

    def rows(self, rows: Frame, table: LakeTable, options: Mapping[str, str]) -> DataFrame:
        """The rows as they may be written with these options. Raises RefusedError for values that Hudi would mix up."""
        frame = self.fit_rows(rows, table)
        with redact_failures(table.path):
            self.check(frame, table)
        if table.foreign is not None:
            self._foreign(table).refuse_moved(frame, options)
            if options:
                self._foreign(table).refuse_unindexed(frame, options)
        return frame

    def correction(
        self, batch: Corrective, table: LakeTable, pin: LakePin, options: Mapping[str, str]
    ) -> tuple[Corrective, bool]:
        """The batch as the table takes it, and whether an upsert would not do all of it: never in a table of ours."""
        if table.foreign is None:
            return batch, False
        adopted_batch, needs_rewrite = self._foreign(table).correction(batch, pin, options)
        self._foreign(table).refuse_moved(cast("DataFrame", adopted_batch.upserts), options)
        return adopted_batch, needs_rewrite

    def prepare_batch(self, batch: Corrective, table: LakeTable, known_seq: int) -> CorrectionBatch:
        """The batch as one upsert writes it, its deletes marked. Raises RefusedError for values that Hudi would mix up."""
        with redact_failures(table.path):
            upsert = prepare(batch, table, known_seq) if table.foreign is None else foreign_table.prepare(batch, table)
            self.check(upsert.rows, table)
            if not table.owned:
                self._refuse_alike(upsert.rows, table)
        return upsert

    def _refuse_alike(self, rows: DataFrame, table: LakeTable) -> None:
        """Raises RefusedError for a key that Hudi takes for an odd row's: another tool brought that row since the sweep."""
        batch = leave_out_odd(rows, table, lambda: read_newest(self.spark, table.path))
        if batch.odd_rows:
            raise RefusedError(
                f"Hudi table {table.path}: {batch.odd_rows} planned keys have the record key of another row by now "
                f"(such as {', '.join(batch.odd_keys)}), which would be overwritten or deleted with them",
                fix="sweep again: such keys are held back then, and named",
            )

    def check(self, frame: DataFrame, table: LakeTable) -> None:
        """Raises RefusedError for values that Hudi would mix up, in a table of this record key."""
        check_values(frame, table.record_key, table.partition_fields, spelled=table.owned and table.spelled)

    def _foreign(self, table: LakeTable) -> ForeignTable:
        return ForeignTable(self.spark, self.files, table)
