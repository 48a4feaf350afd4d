"""What the stages ask of the world: Source, Lake, Comparer, Evidence, Clock. Edges implement these; fakes twin them.

A Frame is an opaque handle on rows that stay where they are (Spark). Stages pass frames on and never look inside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NewType, Protocol

from hudi_reconcile.core.agreement import Agreement
from hudi_reconcile.core.canon import SegmentSum
from hudi_reconcile.core.classify import PendingRange
from hudi_reconcile.core.cost import Probe
from hudi_reconcile.core.kinds import Column
from hudi_reconcile.core.segments import KeyExtent, Segmentation, SegmentSet
from hudi_reconcile.core.values import (
    Checkpoint,
    CheckpointAt,
    Instant,
    LakePin,
    LakeTable,
    Moment,
    PartitionField,
    SourceTable,
    TableType,
)
from hudi_reconcile.core.window import Window

Frame = NewType("Frame", object)


Inside = Callable[[], tuple[SegmentSum, ...]]


class Clock(Protocol):
    """The host's clock, for display and waiting; correctness uses the source's and the lake's clocks."""

    def utc_micros(self) -> int:
        """Microseconds since 1970, UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait this long."""
        ...


@dataclass(frozen=True, slots=True)
class KeyFaults:
    """Source keys that cannot name a row. Samples hold key columns only, as text, at most five."""

    duplicated_keys: int
    null_keys: int
    sample: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Staged:
    """A pull's rows, materialised, with what was counted on the same read."""

    frame: Frame
    rows: int
    greatest_micros: int | None
    null_watermark_rows: int


class Source(Protocol):
    """One source table, read only. Every method raises SourceError where the database does not answer."""

    def describe(self) -> SourceTable:
        """Columns, key and identity. Raises UsageError for a missing table, column or key."""
        ...

    def moment(self) -> Moment:
        """The source's time now and its safe upper bound; taken before the rows it bounds are read."""
        ...

    def extent(self, table: SourceTable) -> KeyExtent:
        """Smallest and greatest first key where it is an integer, and the row estimate."""
        ...

    def rows_now(self, table: SourceTable) -> int:
        """How many rows the table holds, by its own count."""
        ...

    def key_faults(self, table: SourceTable) -> KeyFaults:
        """Keys that occur twice or are NULL throughout; no query at all where the catalog already rules them out."""
        ...

    def uncarried(self, table: SourceTable, window: Window | None) -> tuple[str, ...]:
        """Columns that hold values which the JDBC read would alter (infinity, BC, the 1582 gap)."""
        ...

    def rows(self, table: SourceTable, segmentation: Segmentation, segments: SegmentSet | None = None) -> Frame:
        """Rows as `c0, c1, …` in the order of `table.columns`, read in parallel when used. None: all segments."""
        ...

    def staged(
        self, table: SourceTable, segmentation: Segmentation, window: Window, below_micros: int | None
    ) -> Staged:
        """Rows of a pull's window, read exactly once; the greatest watermark counted is the one below the bound."""
        ...

    @property
    def cores(self) -> int:
        """How many tasks Spark runs at once."""
        ...

    @property
    def connections(self) -> int:
        """How many statements the source is sent at once, at most."""
        ...

    def frozen(self) -> AbstractContextManager[str | None]:
        """While open, everything that is read shows one moment, whose name is yielded; None where it cannot be had."""
        ...

    def hindrance(self, table: SourceTable, agreement: Agreement) -> str:
        """Why the source cannot digest its own rows; empty where it can."""
        ...

    def probe(self, table: SourceTable, agreement: Agreement) -> Probe:
        """Measure link and digest on a sample of rows; three small statements."""
        ...

    def digests_inside(self, table: SourceTable, agreement: Agreement, cut: Segmentation) -> Inside:
        """Begin to digest all rows inside the source; the answer is there when the result is called."""
        ...

    def zone_offset_micros(self, utc_micros: int) -> int:
        """How far the source's zone for timestamps without zone is ahead of UTC at that time."""
        ...

    def statements(self) -> tuple[str, ...]:
        """The SQL texts sent so far, without row values, in order."""
        ...


@dataclass(frozen=True, slots=True)
class NewTable:
    """How a lake table is to be created."""

    name: str
    type: TableType
    record_key: tuple[str, ...]
    partition_by: tuple[PartitionField, ...]
    marker_column: str | None = None
    cdc: bool = False


@dataclass(frozen=True, slots=True)
class Corrective:
    """The rows of a corrective commit.

    `upserts` are full lake images. `deletes` are the lake's own rows of the keys to remove, so that their partition
    columns are the lake's. `expected` holds the record key columns and `_hr_seqno`, one row per version that was
    compared, NULL where the key was absent.
    """

    upserts: Frame
    deletes: Frame
    expected: Frame


class Lake(Protocol):
    """One Hudi table. Every method raises LakeError where the table or its storage does not answer."""

    def look(self) -> LakeTable | None:
        """The table as it is now; None where there is no Hudi table at the path."""
        ...

    def pin(self) -> LakePin | None:
        """The newest completed snapshot and the writers in flight; None where nothing was ever committed."""
        ...

    def still(self, pin: LakePin) -> bool:
        """True while the pin still shows what it showed: none of its writers in flight has completed since."""
        ...

    def checkpoint(self) -> CheckpointAt | None:
        """The newest checkpoint on the timeline (archive included), walking back over commits that carry none."""
        ...

    def count(self, pin: LakePin) -> int:
        """How many rows there are at the pin."""
        ...

    def rows(self, pin: LakePin) -> Frame:
        """All rows at the pin: the table's columns and Hudi's `_hoodie_*` columns."""
        ...

    def batch(
        self, rows: Frame, columns: tuple[Column, ...], partition_by: tuple[PartitionField, ...], read_seq: int
    ) -> Frame:
        """Source rows `c0, c1, …` as full lake images: lake names, derived partition columns, `_hr_read_seq`."""
        ...

    def create(self, rows: Frame, table: NewTable, checkpoint: Checkpoint, labels: Mapping[str, str]) -> Instant:
        """Create the table with these rows in one commit that carries the checkpoint and the labels (`_hr.<label>`)."""
        ...

    def upsert(self, rows: Frame, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]) -> Instant:
        """Write full images in one commit that carries checkpoint and labels; an empty frame commits those alone."""
        ...

    def correct(
        self, batch: Corrective, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]
    ) -> Instant:
        """Upserts and deletes in one commit, only if every key is still as expected. Raises SupersededError."""
        ...

    def find_commit(self, key: str, value: str) -> Instant | None:
        """The commit whose metadata holds this value under this key, active or archived; None where there is none."""
        ...

    def lease(self, owner: str) -> AbstractContextManager[None]:
        """Hold the table's lease. Raises RefusedError while another living process holds it."""
        ...


@dataclass(frozen=True, slots=True)
class SegmentDigest:
    """Rows and checksum of one segment on both sides."""

    segment: int
    source_rows: int
    lake_rows: int
    equal: bool


@dataclass(frozen=True, slots=True)
class Look:
    """One reading of both sides: the source's rows and the lake's, whole rows, of the same segments."""

    source: Frame
    lake: Frame


class Comparer(Protocol):
    """Compares frames where they are; only digests and counts come back. Made for one table, agreement and segmentation."""

    def digests(self, look: Look, segments: SegmentSet | None) -> tuple[SegmentDigest, ...]:
        """Digest both sides at once, one entry per segment that holds a row on either side, ordered by segment."""
        ...

    def text_digests(self, lake: Frame) -> tuple[SegmentSum, ...]:
        """Digest the lake by canonical text, as a source that digests its own rows does; ordered by segment."""
        ...

    def keep(self, lake: Frame, segments: SegmentSet) -> Frame:
        """The lake's rows of these segments, materialised: looks at the same instant need not read the lake again."""
        ...

    def candidates(self, look: Look, segments: SegmentSet) -> Frame:
        """First look: the keys of these segments whose images differ, and what identified both images."""
        ...

    def findings(self, candidates: Frame, look: Look, segments: SegmentSet, pending: PendingRange | None) -> Frame:
        """Second look: what became of each candidate, classified; materialised."""
        ...

    def hidden_rows(self, source: Frame) -> dict[str, int]:
        """Source rows whose value has digits that the comparison cuts off, by column; asked only where one is cut."""
        ...

    def count(self, frame: Frame, column: str) -> dict[str, int]:
        """Rows by the values of one column."""
        ...

    def save(self, findings: Frame, path: str, rows: int) -> None:
        """Write findings as Parquet."""
        ...

    def load(self, path: str) -> Frame:
        """Findings that were saved."""
        ...

    def planned(self, findings: Frame, action: str | None) -> Frame:
        """The findings that are corrections; of one action only where one is named."""
        ...

    def recheck(self, plan: Frame, look: Look, segments: SegmentSet) -> Frame:
        """Every planned correction held against both sides as they are now: `status` ready, moved or superseded."""
        ...

    def ready(self, rechecked: Frame) -> Corrective:
        """The ready corrections: `upserts` still as source rows `c0, c1, …`, the rest as the lake wants it."""
        ...

    def read_back(self, rechecked: Frame, look: Look, segments: SegmentSet) -> dict[str, int]:
        """What the lake really shows for the ready corrections: `applied` and `failed`."""
        ...

    def segments_of(self, plan: Frame) -> SegmentSet:
        """The segments that a plan touches."""
        ...


MakeComparer = Callable[[Agreement, Segmentation], Comparer]


@dataclass(frozen=True, slots=True)
class Edges:
    """All that one table's work may touch."""

    source: Source
    lake: Lake
    make: MakeComparer
    clock: Clock
