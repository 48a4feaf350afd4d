"""What the stages ask of the world: Source, Lake, Comparer, Evidence, Clock. Edges implement these; fakes twin them.

A Frame is an opaque handle on rows that stay where they are (Spark). Stages pass frames on and never look inside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NewType, Protocol

from hudi_reconcile.core.segments import KeyExtent, Segmentation, SegmentSet
from hudi_reconcile.core.values import (
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


class Clock(Protocol):
    """The host's clock, for display and waiting; correctness uses the source's and the lake's clocks."""

    def utc_micros(self) -> int: ...
    def sleep(self, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True)
class KeyFaults:
    """Source keys that cannot name a row. Samples hold key columns only, as text, at most five."""

    duplicated_keys: int
    null_keys: int
    sample: tuple[str, ...]


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

    def key_faults(self, table: SourceTable) -> KeyFaults:
        """Keys that occur twice or are NULL throughout; no query at all where the catalog already rules them out."""
        ...

    def uncarried(self, table: SourceTable, window: Window | None) -> tuple[str, ...]:
        """Columns that hold values which the JDBC read would alter (infinity, BC, the 1582 gap)."""
        ...

    def rows(self, table: SourceTable, segmentation: Segmentation, segments: SegmentSet | None = None) -> Frame:
        """Rows under the source's column names, read in parallel when used. None: all segments."""
        ...

    def window_rows(self, table: SourceTable, segmentation: Segmentation, window: Window) -> Frame:
        """Rows of a pull's window, under the source's column names."""
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

    def rows(self, pin: LakePin) -> Frame:
        """All rows at the pin: the table's columns and Hudi's `_hoodie_*` columns."""
        ...

    def create(self, rows: Frame, table: NewTable, metadata: Mapping[str, str]) -> Instant:
        """Create the table with these rows in one commit that carries the metadata."""
        ...

    def upsert(self, rows: Frame, table: LakeTable, metadata: Mapping[str, str]) -> Instant:
        """Write rows (full images) in one commit that carries the metadata; an empty frame commits the metadata alone."""
        ...

    def correct(self, rows: Frame, table: LakeTable, expected: Frame, metadata: Mapping[str, str]) -> Instant:
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


class Comparer(Protocol):
    """Compares frames where they are; only digests and counts come back."""

    def digests(self, source: Frame, lake: Frame) -> Sequence[SegmentDigest]:
        """Digest both sides at once, one entry per segment that holds a row on either side, ordered by segment."""
        ...


class Evidence(Protocol):
    """The run folder."""

    def write_text(self, name: str, text: str) -> None: ...


Row = Mapping[str, Any]
