"""What the stages ask of one Hudi table, and `Frame`, a handle on rows that stay where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, NewType, Protocol

from hudi_reconcile.core.lake.ownership import Writers
from hudi_reconcile.core.tables.kinds import Column
from hudi_reconcile.core.tables.partitions import PartitionRows, PartitionScope, PathRule
from hudi_reconcile.core.tables.values import (
    ChangeLog,
    Checkpoint,
    CheckpointAt,
    Instant,
    LakeColumn,
    LakePin,
    LakeTable,
    PartitionField,
    TableType,
)


@dataclass(frozen=True, slots=True)
class NewTable:
    """How a lake table is to be created.

    `spelled`: where its first rows need it, a column of the tool's own makes the record key tell every two texts apart.
    """

    name: str
    type: TableType
    record_key: tuple[str, ...]
    partition_by: tuple[PartitionField, ...]
    change_log: ChangeLog | None = None
    spelled: bool = False


@dataclass(frozen=True, slots=True)
class BatchShape:
    """Where a batch's columns are not the source's: `dropped` are the lake's that the source no longer has, NULL in every row.

    `left_out` are source columns, by lake name, that the lake does not have yet. `into` is the table that is to take the rows,
    where rows of odd keys and places are to be held back; None where all of them are wanted.
    """

    dropped: tuple[LakeColumn, ...] = ()
    left_out: frozenset[str] = frozenset()
    into: LakeTable | NewTable | None = None


AS_SOURCE = BatchShape()


@dataclass(frozen=True, slots=True)
class Batch:
    """Full lake images. `odd_rows` more were held back: the table does not tell their keys or places from others.

    At most five keys are named.
    """

    rows: Frame
    odd_rows: int = 0
    odd_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Corrective:
    """The rows of a corrective commit.

    `upserts` are full lake images. `deletes` are the lake's own rows of the keys to remove, so that their partition
    columns are the lake's. `expected` holds the record key columns and `_hr_seqno`, one row per version that was
    compared, NULL where the key was absent. `rows`: how many there are at most, where known.
    """

    upserts: Frame
    deletes: Frame
    expected: Frame
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a replacement of all rows would do to the lake: rows it shows now, and how many of those would be gone."""

    lake_rows: int
    gone_rows: int


@dataclass(frozen=True, slots=True)
class Origin:
    """Who wrote the table, as far as it tells: its key generator, and the checkpoint that HoodieStreamer left.

    `instant` is the commit that carries the streamer's checkpoint.
    """

    key_generator: str | None = None
    streamer_key: str | None = None
    streamer_checkpoint: str | None = None
    instant: Instant | None = None


@dataclass(frozen=True, slots=True)
class FilesRead:
    """How many base and log files were behind the rows handed out; `is_all` False where more may have been read."""

    files: int
    is_all: bool


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What a commit wrote: rows by (action that takes it back, `ready` or `superseded`), and the batch of the ready ones."""

    counts: Mapping[tuple[str, str], int]
    batch: Corrective


class Lake(Protocol):
    """One Hudi table. Every method raises LakeError where the table or its storage does not answer."""

    def look(self) -> LakeTable | None:
        """The table as it is now; None where there is no Hudi table at the path."""
        ...

    def pin(self) -> LakePin | None:
        """The newest completed snapshot and the writers in flight; None where nothing was ever committed."""
        ...

    def is_intact(self, pin: LakePin) -> bool:
        """True while the pin still shows what it showed: none of its writers in flight has completed since."""
        ...

    def find_checkpoint(self) -> CheckpointAt | None:
        """The newest checkpoint on the timeline (archive included), walking back over commits that carry none."""
        ...

    def count_rows(self, pin: LakePin) -> int:
        """How many rows there are at the pin."""
        ...

    def read_rows(self, pin: LakePin) -> Frame:
        """All rows at the pin: the table's columns and Hudi's `_hoodie_*` columns."""
        ...

    def list_partitions(self, pin: LakePin, rule: PathRule) -> tuple[PartitionRows, ...]:
        """The partitions at the pin by path, with their rows, and those whose path the rule would not give."""
        ...

    def mark_scope(self, rows: Frame, side: Literal["source", "lake"], scope: PartitionScope) -> Frame:
        """The same rows, each saying whether it lies in the partitions: `Comparer` judges marked frames by that."""
        ...

    def build_batch(
        self,
        rows: Frame,
        columns: tuple[Column, ...],
        partition_by: tuple[PartitionField, ...],
        read_seq: int,
        shape: BatchShape = AS_SOURCE,
    ) -> Batch:
        """Source rows `c0, c1, …` as full lake images: lake names, derived partition columns, `_hr_read_seq`."""
        ...

    def create(self, rows: Frame, table: NewTable, checkpoint: Checkpoint, labels: Mapping[str, str]) -> Instant:
        """Create the table with these rows in one commit that carries the checkpoint and the labels (`_hr.<label>`)."""
        ...

    def upsert(self, rows: Frame, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]) -> Instant:
        """Write full images in one commit that carries checkpoint and labels; an empty frame commits those alone.

        Where the lake's row stands above an image in the table's ordering, the lake's row stays.
        `table.columns` are the table's from this commit on: they may be wider or more than it has now, never fewer.
        """
        ...

    def compare_overwrite(self, rows: Frame, table: LakeTable) -> Replaced:
        """What `overwrite` with these rows would do, by the record keys on both sides; reads, and writes nothing."""
        ...

    def overwrite(self, rows: Frame, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]) -> Instant:
        """Make these rows all that the table holds, in one commit that carries checkpoint and labels."""
        ...

    def mark(self, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]) -> Instant:
        """Commit checkpoint and labels alone; no row changes."""
        ...

    def hand_back(self, table: LakeTable, key: str, value: str) -> Instant:
        """Commit HoodieStreamer's checkpoint alone, under its key; no row changes, and the checkpoint of ours stays."""
        ...

    def read_origin(self, upto: Instant | None = None) -> Origin:
        """Who wrote the table, by the commits that completed until then; nothing known where there is no table."""
        ...

    def correct(
        self, batch: Corrective, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]
    ) -> Instant:
        """Upserts and deletes in one commit, only if every key is still as expected. Raises SupersededError.

        In a table of ours upserts are merged by the ordering as `upsert` does it; `Comparer.read_back` tells what was dropped.
        """
        ...

    def replace(
        self, batch: Corrective, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]
    ) -> Instant:
        """Reduce keys that the lake holds more than once to their right row, or to none, in one commit.

        Raises SupersededError where a key is not as expected, or anything is committed while it writes, and RefusedError where
        it cannot be one commit. What was committed before, to other keys, stays.
        """
        ...

    def list_writers(self) -> Writers:
        """Who else writes the table, as far as it tells."""
        ...

    def list_silent_writers(self) -> tuple[str, ...]:
        """The instants in flight whose writers keep no heartbeat, oldest first; none where there is no table."""
        ...

    def roll_back(self, requested: str) -> None:
        """Roll back an instant that never completed; its writer, should it live, fails. Wants the lease."""
        ...

    def pin_around(self, commit: Instant) -> tuple[LakePin, LakePin]:
        """The snapshots just before a corrective commit and just after it, which differ by it alone.

        Raises RefusedError where the rows from before it may be cleaned.
        """
        ...

    def prepare_undo(self, commit: Instant, table: LakeTable, read_seq: int) -> TakenBack:
        """The batch that restores what a corrective commit changed, for keys untouched since.

        Raises RefusedError where the rows from before it may be cleaned.
        """
        ...

    def count_shown(self, upserts: Frame, table: LakeTable) -> int:
        """How many of these rows the newest snapshot holds as they are, but for the read sequence."""
        ...

    def savepoint(self, comment: str, earlier: Sequence[str] = ()) -> str:
        """Keep the newest snapshot from being cleaned, or the first of these earlier ones that still has a savepoint.

        Returns its instant as Hudi's savepoint commands take it.
        """
        ...

    def drop_savepoints(self, keep: str) -> tuple[str, ...]:
        """Remove every savepoint of ours but one; returns those removed. Others' savepoints stay."""
        ...

    def find_labels(self, key: str) -> tuple[tuple[str, Instant], ...]:
        """Every commit that carries this label, after what it says there; newest first, active and archived."""
        ...

    def count_files(self) -> FilesRead:
        """The files of every snapshot whose rows were asked for so far, each once.

        What a write reads beside them is not told, so they are not all once anything was written into an existing table.
        """
        ...

    def lease(self, owner: str) -> AbstractContextManager[None]:
        """Hold the table's lease. Raises RefusedError while another living process holds it."""
        ...


Frame = NewType("Frame", object)
