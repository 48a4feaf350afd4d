"""The source in memory: one table as a dict."""
# ruff: noqa: ARG002 - the signatures are those of the port

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from hudi_reconcile.core.errors import SourceError
from hudi_reconcile.core.pull.cursor import Ahead, Mark, Order, Value, Window, holds, rank
from hudi_reconcile.core.pull.read_plan import PlannedPart, ReadPlan
from hudi_reconcile.core.pull.source_lineage import SourceLineage
from hudi_reconcile.core.pull.zone_offset import MOST_AHEAD_MICROS
from hudi_reconcile.core.rules.verdict import TotalTexts
from hudi_reconcile.core.sweep.proof import SegmentVersions, Standing
from hudi_reconcile.core.sweep.segments import KeyExtent, Probe, RangeSegments, Segmentation, SegmentSet
from hudi_reconcile.core.tables.agreement import Agreement
from hudi_reconcile.core.tables.key_encoding import Key
from hudi_reconcile.core.tables.kinds import Column
from hudi_reconcile.core.tables.partitions import (
    CalendarRange,
    Condition,
    Equals,
    IsEmpty,
    Near,
)
from hudi_reconcile.core.tables.values import (
    Moment,
    SourceTable,
)
from hudi_reconcile.ports import (
    Frame,
    Inside,
    KeyFaults,
    NamedRows,
    ReadCost,
    RowVersions,
    Signs,
    Staged,
    Survey,
)
from tests.fakes.comparer import FakeComparer
from tests.fakes.rows import COLUMNS, FakeClock, Journal, Row, lies_in, rows_of, segment_of, spread_bits


@dataclass(slots=True)
class FakeSource:
    """One table as a dict. `at` of a row is its watermark in microseconds; every change is a transaction of its own.

    `xmin` of a row is the transaction that wrote it; `version` says that the table shows it, `open_since` is the oldest
    transaction that has not ended, where there is one.
    """

    journal: Journal
    clock: FakeClock
    columns: tuple[Column, ...] = COLUMNS
    key: tuple[str, ...] = ("id",)
    identity: str = "server:1/table:1"
    table: dict[Any, Row] = field(default_factory=dict)
    transaction: int = 0
    bound_lag_micros: int = 10
    largest_read: int = 0
    faults: KeyFaults = field(default_factory=lambda: KeyFaults(0, 0, ()))
    altered: tuple[str, ...] = ()
    altered_key: int | None = None  # the one row that has such values, where not all have
    lost_in_reads: set[int] = field(default_factory=set)
    unnameable: bool = False
    by_clock: bool = False  # no two moments have one name, as where the engine names them by its clock
    moments: int = 0
    no_digests: str = ""
    counts_no_groups: bool = False  # as a database of which nobody ran what counts rows by segment
    no_versions: str = ""
    hides_versions: bool = False
    version_facts: dict[str, str] = field(default_factory=dict)
    measured: Probe = field(default_factory=lambda: Probe(100.0, 0.0, 1e-6))
    mistold: set[int] = field(default_factory=set)  # rows that the source's own digest writes in another way
    cores: int = 2
    connections: int = 1
    can_freeze: bool = True
    version: Column | None = None
    open_since: int | None = None
    has_extent: bool = True
    snapshot: dict[Any, Row] | None = None
    moment_notes: tuple[str, ...] = ()
    replayed_micros: int | None = None
    stopped: str = ""
    stands: SourceLineage = field(default_factory=lambda: SourceLineage("none", "1"))
    reads: list[tuple[tuple[int, ...] | None, int]] = field(default_factory=list)  # segments asked for, rows given

    def put(self, key: int | str | None, value: int | None, at: int | None, **more: Any) -> None:
        self.transaction += 1
        self.table[key] = {"id": key, "v": value, "at": at, "xmin": self.transaction, **more}

    def delete(self, key: int | str | None) -> None:
        self.table.pop(key, None)
        self.transaction += 1

    # --- ports.Source ---

    @contextmanager
    def freeze(self) -> Iterator[str | None]:
        self.journal.reached("source.freeze")
        kept = {key: dict(row) for key, row in self.table.items()}
        self.snapshot = kept if self.can_freeze else None
        try:
            yield "frozen" if self.can_freeze else None
        finally:
            self.snapshot = None

    def find_hindrance(self, table: SourceTable, agreement: Agreement) -> str:
        return self.no_digests

    def tells_buckets(self, table: SourceTable, agreement: Agreement) -> bool:
        return not self.no_digests

    def probe(self, table: SourceTable, agreement: Agreement) -> Probe:
        self.journal.reached("source.probe")
        return self.measured

    def digest_inside(self, table: SourceTable, agreement: Agreement, cut: Segmentation) -> Inside:
        self.journal.reached("source.digest_inside")
        rows = self._positional(table, lambda row: row["id"] not in self.mistold)
        told = [
            {**row, "c1": f"~{row['c1']}"} for row in self._positional(table, lambda row: row["id"] in self.mistold)
        ]
        found = FakeComparer(self.journal, {}, agreement, cut).sums([*rows, *told], "c")
        return lambda: found

    def row_versions(self, table: SourceTable, agreement: Agreement) -> RowVersions:
        if self.no_versions:
            return RowVersions(None, self.no_versions, lambda _: tuple)

        def begin(cut: Segmentation) -> Callable[[], tuple[SegmentVersions, ...]]:
            assert isinstance(cut, RangeSegments)
            self.journal.reached("source.row_versions")
            held: dict[int, list[int]] = {}
            for row in self._now().values():
                held.setdefault(cut.find_segment(row["id"]), []).append(spread_bits(str(row["xmin"])))
            versions = tuple(SegmentVersions(one, len(marks), sum(marks)) for one, marks in sorted(held.items()))

            def receive() -> tuple[SegmentVersions, ...]:
                if self.hides_versions:
                    raise SourceError("column xmin does not exist", fix="none")
                return versions

            return receive

        return RowVersions(Standing({"server": self.identity, **self.version_facts}, self.transaction), "", begin)

    def describe(self) -> SourceTable:
        self.journal.reached("source.describe")
        return SourceTable("t", self.columns, self.key, len(self.table), self.identity, self.version)

    def read_moment(self) -> Moment:
        self.journal.reached("source.read_moment")
        now = self.clock.now_micros
        self.moments += 1
        name = f"clock {self.moments}" if self.by_clock else f"{self.transaction}:{self.transaction}:"
        version_bound = self.transaction + 1 if self.open_since is None else self.open_since
        bound = now - self.bound_lag_micros
        notes, replayed = self.moment_notes, self.replayed_micros
        return Moment(now, bound, "fake", name, version_bound, notes, replayed, self.stopped)

    def read_lineage(self) -> SourceLineage:
        return self.stands

    def measure_extent(self, table: SourceTable) -> KeyExtent:
        keys = [key for key in self.table if key is not None and self.has_extent]
        return KeyExtent(min(keys, default=None), max(keys, default=None), table.rows_estimate)

    def count_rows(
        self,
        table: SourceTable,
        cut: Segmentation | None = None,
        segments: SegmentSet | None = None,
        *,
        near: Near | None = None,
    ) -> int:
        self.journal.reached("source.count_rows")
        if segments is not None and cut is not None and not _serves_segments(cut):
            raise ValueError("segments of Spark's own hash cannot be counted by the source")
        return sum(is_near(row, near) and _lies_in(row, cut, segments) for row in self._now().values())

    def count_segments(self, table: SourceTable, cut: Segmentation) -> Mapping[int, int] | None:
        self.journal.reached("source.count_segments")
        if self.counts_no_groups or not _serves_segments(cut):
            return None
        return Counter(segment_of(cut, (row["id"],)) for row in self._now().values())

    def find_named_rows(self, table: SourceTable, keys: Sequence[Key]) -> NamedRows | None:
        self.journal.reached("source.find_named_rows")
        if self.unnameable:
            return None
        there = [key for key in self._now() if (None if key is None else str(key),) in keys]
        seen = set(there) - self.lost_in_reads
        return NamedRows(len(there), lambda: Frame(self._positional(table, lambda row: row["id"] in seen)))

    def sum_column(self, table: SourceTable, column: str) -> TotalTexts:
        held = [row[column] for row in self._now().values() if row[column] is not None]
        return TotalTexts(str(sum(held)), str(min(held)), str(max(held))) if held else TotalTexts()

    def find_key_faults(self, table: SourceTable) -> KeyFaults:
        return replace(self.faults, null_keys=self.faults.null_keys + (None in self._now()))

    def find_altered(self, table: SourceTable, window: Window | None = None) -> tuple[str, ...]:
        return self.altered

    def survey(self, table: SourceTable, cut: Segmentation, segments: SegmentSet | None = None) -> Callable[[], Survey]:
        found = Survey(self.count_rows(table), self.altered)
        if segments is not None:
            assert isinstance(cut, RangeSegments)
            is_there = self.altered_key is None or cut.find_segment(self.altered_key) in segments.ids
            found = Survey(None, self.altered if is_there else ())
        return lambda: found

    def read_rows(
        self,
        table: SourceTable,
        segmentation: Segmentation,
        segments: SegmentSet | None = None,
        *,
        near: Near | None = None,
    ) -> Frame:
        self.journal.reached("source.read_rows")
        served = segments if _serves_segments(segmentation) else None

        def is_read(row: Row) -> bool:
            is_lost = row["id"] in self.lost_in_reads
            return not is_lost and is_near(row, near) and _lies_in(row, segmentation, served)

        held = Frame(self._positional(table, is_read))
        self.reads.append((None if segments is None else segments.ids, len(rows_of(held))))
        return held

    def plan_read(self, table: SourceTable, segmentation: Segmentation, window: Window) -> ReadPlan:
        self.journal.reached("source.plan_read")
        rows = len(self._positional(table, lambda row: holds(window, mark_of(row, window.order))))
        return ReadPlan("whole", ("a fake",), "select", (PlannedPart("1 = 1", rows),), 1_000)

    def stage_rows(self, table: SourceTable, segmentation: Segmentation, window: Window, below: Value | None) -> Staged:
        self.journal.reached("source.stage_rows")
        held = [row for row in self._now().values() if holds(window, mark_of(row, window.order))]
        held = [row for row in held if row["id"] not in self.lost_in_reads]
        found = self._positional(table, lambda row: row in held)
        self.largest_read = max(self.largest_read, len(found))
        marks = [mark_of(row, window.order) for row in held]
        usable = [mark for mark in marks if mark and (below is None or rank(mark) < rank(Mark(below)))]
        nulls = marks.count(None) if window.order.columns else 0
        shapes = {re.sub("[0-9]", "0", mark.value) for mark in marks if mark and isinstance(mark.value, str)}
        return Staged(
            Frame(found), len(found), max(usable, default=None, key=rank), nulls, shapes=tuple(sorted(shapes))
        )

    def look_ahead(self, table: SourceTable, window: Window, rows: int | None, at: Value | None) -> Ahead:
        self.journal.reached("source.look_ahead")
        marks = [mark for row in self._now().values() if (mark := mark_of(row, window.order)) and holds(window, mark)]
        if at is None:
            values: list[Any] = sorted((mark.value for mark in marks), key=lambda value: rank(Mark(value)))
        else:
            values = sorted(mark.id for mark in marks if mark.value == at and mark.id is not None)
        values = values[:rows]
        return Ahead(len(values), values[0] if values else None, values[-1] if values else None)

    def count_signs(self, table: SourceTable, order: Order, *, reached: Mark | None, now: Value | None) -> Signs:
        self.journal.reached("source.count_signs")
        found = [mark_of(row, Order(order.columns)) for row in self._now().values()]
        marks = [mark for mark in found if mark]
        future = sum(now is not None and rank(mark) > rank(Mark(now)) for mark in marks)
        greatest = max(marks, key=rank, default=None)
        below = greatest is not None and reached is not None and rank(greatest) < rank(Mark(reached.value))
        times = [mark.value for mark in marks if isinstance(mark.value, int) and isinstance(now, int)]
        newest = max((at for at in times if isinstance(now, int) and at <= now + MOST_AHEAD_MICROS), default=None)
        top = str(greatest.value) if below and greatest else None
        return Signs(found.count(None), future, top, newest_micros=newest if order.columns == ("at",) else None)

    def _now(self) -> dict[Any, Row]:
        return self.table if self.snapshot is None else self.snapshot

    def zone_offset_micros(self, utc_micros: int) -> int:
        return 0

    def report_cost(self) -> ReadCost:
        return ReadCost()

    def list_statements(self) -> tuple[str, ...]:
        return ()

    def _positional(self, table: SourceTable, wanted: Callable[[Row], bool]) -> list[Row]:
        names = [column.name for column in table.read_columns]
        return [
            {f"c{index}": row.get(name) for index, name in enumerate(names)}
            for row in (self.table if self.snapshot is None else self.snapshot).values()
            if wanted(row)
        ]


def _serves_segments(cut: Segmentation) -> bool:
    """A database knows key ranges and its own hash, and not Spark's."""
    return isinstance(cut, RangeSegments) or cut.by == "md5"


def _lies_in(row: Row, cut: Segmentation | None, segments: SegmentSet | None) -> bool:
    return cut is None or segments is None or lies_in(cut, segments, (row["id"],))


def is_near(row: Row, near: Near | None) -> bool:
    """Leaves out all that it may: whoever relies on more than `near` promises is found out."""
    return near is None or any(all(_holds(row[one.column.name], one) for one in parts) for parts in near)


def _holds(value: Any, condition: Condition) -> bool:
    match condition:
        case IsEmpty():
            return value is None or value == ""
        case Equals():
            return bool(value == condition.value)
        case CalendarRange():
            return value is not None and condition.low_micros <= value < condition.high_micros


def mark_of(row: Row, order: Order) -> Mark | None:
    """A row's place in the order; None without a watermark."""
    values = [row[name] for name in order.columns if row.get(name) is not None]
    return Mark(max(values), row.get(order.id_column or "")) if values else None
