"""What the stages ask of one source table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from hudi_reconcile.core.pull.cursor import Ahead, Mark, Order, Value, Window
from hudi_reconcile.core.pull.read_plan import ReadPlan
from hudi_reconcile.core.pull.source_lineage import SourceLineage
from hudi_reconcile.core.rules.verdict import TotalTexts
from hudi_reconcile.core.sweep.proof import SegmentVersions, Standing
from hudi_reconcile.core.sweep.segments import KeyExtent, Probe, Segmentation, SegmentSet
from hudi_reconcile.core.tables.agreement import Agreement
from hudi_reconcile.core.tables.canonical_text import SegmentSum
from hudi_reconcile.core.tables.key_encoding import Key
from hudi_reconcile.core.tables.partitions import Near
from hudi_reconcile.core.tables.values import Moment, SourceTable
from hudi_reconcile.ports.lake import Frame


@dataclass(frozen=True, slots=True)
class NamedRows:
    """Rows that may have one of some keys: `rows` by the source's own count, and how to read them as `read_rows` does."""

    rows: int
    read: Callable[[], Frame]


Inside = Callable[[], tuple[SegmentSum, ...]]


@dataclass(frozen=True, slots=True)
class Survey:
    """How many rows the table counts itself, None where only some segments were searched; columns whose values a read alters."""

    rows: int | None
    altered: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RowVersions:
    """Which versions of its rows a source shows. `standing` is what they hang on, None where none can be relied on: `why`.

    `begin` asks for their digests by segments, of key ranges alone, and what it returns waits for them: one entry per segment
    that holds a row, ordered.
    """

    standing: Standing | None
    why: str
    begin: Callable[[Segmentation], Callable[[], tuple[SegmentVersions, ...]]]


@dataclass(frozen=True, slots=True)
class KeyFaults:
    """Source keys that cannot name a row. Samples hold key columns only, as text, at most five."""

    duplicated_keys: int
    null_keys: int
    sample: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Staged:
    """A pull's rows, materialised, with what was counted on the same read. `parts` are the rows of each part.

    `greatest` is the greatest mark below the bound. `shapes` are how text watermarks look, digits as 0, at most three.
    """

    frame: Frame
    rows: int
    greatest: Mark | None
    null_watermark_rows: int
    parts: tuple[int, ...] = ()
    shapes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadCost:
    """What the reads of rows took: parts, how many of them were read again, bytes where known, seconds by phase."""

    parts: int = 0
    repeated: int = 0
    bytes_estimate: int | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Signs:
    """What the source shows of the watermark beside a pull's window.

    `newest_micros` is the greatest watermark of a clock without zone, by that clock, up to 14 hours ahead of it: what lies
    beyond is on no zone's clock; None for any other watermark.

    `unmarked_rows` have none. `future_rows` lie above the database's own clock. `greatest` is the greatest watermark
    as the source's text, told only where it lies below the checkpoint. `is_indexed` is None where the catalog does not say;
    `id_cache` is how many ids a session takes at once from the sequence of the order's last column, 1 where that is not known.
    """

    unmarked_rows: int = 0
    future_rows: int = 0
    greatest: str | None = None
    is_indexed: bool | None = None
    id_cache: int = 1
    newest_micros: int | None = None


class Source(Protocol):
    """One source table, read only. Every method raises SourceError where the database does not answer."""

    def describe(self) -> SourceTable:
        """Columns, key and identity. Raises UsageError for a missing table, column or key."""
        ...

    def read_moment(self) -> Moment:
        """The source's time now and its safe upper bound; taken before the rows it bounds are read."""
        ...

    def read_lineage(self) -> SourceLineage:
        """The filter, and the number of the server's history where it tells one."""
        ...

    def measure_extent(self, table: SourceTable) -> KeyExtent:
        """Smallest and greatest first key where it is an integer, and the row estimate."""
        ...

    def count_rows(
        self,
        table: SourceTable,
        cut: Segmentation | None = None,
        segments: SegmentSet | None = None,
        *,
        near: Near | None = None,
    ) -> int:
        """How many rows the table holds, by its own count: all, those of some segments, or those near some partitions."""
        ...

    def count_segments(self, table: SourceTable, cut: Segmentation) -> Mapping[int, int] | None:
        """The same by segment, in one statement; None where this source cannot tell by itself which segment a row is in."""
        ...

    def find_named_rows(self, table: SourceTable, keys: Sequence[Key]) -> NamedRows | None:
        """The rows that may have one of these keys, counted by the source itself; None where it cannot be asked for such keys."""
        ...

    def sum_column(self, table: SourceTable, column: str) -> TotalTexts:
        """A column's exact sum and its ends over the rows that are compared, as text; None of nothing. One statement."""
        ...

    def find_key_faults(self, table: SourceTable) -> KeyFaults:
        """Keys that occur twice or are NULL throughout; no query at all where the catalog already rules them out."""
        ...

    def find_altered(self, table: SourceTable, window: Window | None = None) -> tuple[str, ...]:
        """Columns that hold values which the JDBC read would alter (infinity, BC, the 1582 gap), in a pull's window or all."""
        ...

    def survey(self, table: SourceTable, cut: Segmentation, segments: SegmentSet | None = None) -> Callable[[], Survey]:
        """Begin to count all rows and to look for such values, in one statement that runs beside what Spark reads.

        Of some segments, and perhaps other rows, the values alone. The answer is there when the result is called, which raises
        what the statement raised.
        """
        ...

    def read_rows(
        self,
        table: SourceTable,
        segmentation: Segmentation,
        segments: SegmentSet | None = None,
        *,
        near: Near | None = None,
    ) -> Frame:
        """Rows as `c0, c1, …` in the order of `table.columns`, read in parallel when used. None: all segments.

        With `near` rows for which none of its conditions holds may be left out.
        """
        ...

    def plan_read(self, table: SourceTable, segmentation: Segmentation, window: Window) -> ReadPlan:
        """How a pull's window would be read: parts, SQL, expected rows. Reads no row."""
        ...

    def stage_rows(self, table: SourceTable, segmentation: Segmentation, window: Window, below: Value | None) -> Staged:
        """Rows of a pull's window, read exactly once; the greatest mark counted is the one below the bound."""
        ...

    def look_ahead(self, table: SourceTable, window: Window, rows: int | None, at: Value | None) -> Ahead:
        """The next rows of a window in its order, all without a number; with `at` the ids at that watermark."""
        ...

    def count_signs(self, table: SourceTable, order: Order, *, reached: Mark | None, now: Value | None) -> Signs:
        """What a pull's window does not show of the watermark; a few counts."""
        ...

    @property
    def cores(self) -> int:
        """How many tasks Spark runs at once."""
        ...

    @property
    def connections(self) -> int:
        """How many statements the source is sent at once, at most."""
        ...

    def freeze(self) -> AbstractContextManager[str | None]:
        """While open, everything that is read shows one moment, whose name is yielded; None where it cannot be had."""
        ...

    def find_hindrance(self, table: SourceTable, agreement: Agreement) -> str:
        """Why the source cannot digest its own rows; empty where it can."""
        ...

    def tells_buckets(self, table: SourceTable, agreement: Agreement) -> bool:
        """True where the rows of some md5 buckets of the key can be read without the others."""
        ...

    def probe(self, table: SourceTable, agreement: Agreement) -> Probe:
        """Measure link and digest on a sample of rows; three small statements."""
        ...

    def digest_inside(self, table: SourceTable, agreement: Agreement, cut: Segmentation) -> Inside:
        """Begin to digest all rows inside the source; the answer is there when the result is called."""
        ...

    def row_versions(self, table: SourceTable, agreement: Agreement) -> RowVersions:
        """The versions of the compared rows; asks the catalog, reads no row."""
        ...

    def zone_offset_micros(self, utc_micros: int) -> int:
        """How far the source's zone for timestamps without zone is ahead of UTC at that time."""
        ...

    def report_cost(self) -> ReadCost:
        """What all reads so far took."""
        ...

    def list_statements(self) -> tuple[str, ...]:
        """The SQL texts sent so far, without row values, in order."""
        ...
