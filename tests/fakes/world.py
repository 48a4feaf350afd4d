"""Source, lake, comparer and clock in memory: dicts for tables, lists for frames, and a journal of what was called.

A journal point is a name such as `lake.pin`; a test may hang an action on a point, which then runs once, before it.
"""
# ruff: noqa: ARG002 - the signatures are those of the ports

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from typing import Any, Literal, cast
from zlib import crc32

from hudi_reconcile.core.errors import RefusedError, SourceError, SupersededError
from hudi_reconcile.core.plan.apply_outcome import REASONS
from hudi_reconcile.core.plan.guards import Policy
from hudi_reconcile.core.plan.lake_ownership import Writers
from hudi_reconcile.core.plan.plan import Approval, Plan
from hudi_reconcile.core.pull.cursor import Ahead, Mark, Order, Value, Window, holds, rank
from hudi_reconcile.core.pull.read_plan import PlannedPart, ReadPlan
from hudi_reconcile.core.pull.source_lineage import SourceLineage
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.rules.verdict import TotalTexts
from hudi_reconcile.core.sweep.drift import Facts, PendingRange, choose_repair, classify
from hudi_reconcile.core.sweep.drift_profile import Anatomy, DriftCell
from hudi_reconcile.core.sweep.proof import SegmentVersions, Standing
from hudi_reconcile.core.sweep.segments import HashSegments, KeyExtent, Probe, RangeSegments, Segmentation, SegmentSet
from hudi_reconcile.core.tables import kinds
from hudi_reconcile.core.tables.agreement import Agreement
from hudi_reconcile.core.tables.canonical_text import SegmentSum, sum_digests
from hudi_reconcile.core.tables.key_encoding import Key as Asked
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.partitions import (
    DEFAULT,
    CalendarRange,
    Condition,
    Equals,
    IsEmpty,
    Near,
    PartitionRows,
    PartitionScope,
    PathRule,
)
from hudi_reconcile.core.tables.values import (
    IN_SCOPE,
    READ_SEQ,
    Checkpoint,
    CheckpointAt,
    Foreign,
    Instant,
    LakeColumn,
    LakePin,
    LakeTable,
    Moment,
    PartitionField,
    SourceTable,
)
from hudi_reconcile.ports import (
    AS_SOURCE,
    HELD_RULES,
    BatchShape,
    Corrective,
    Edges,
    FilesRead,
    Frame,
    Inside,
    KeyFaults,
    KeysOf,
    Look,
    NamedRows,
    NewTable,
    Origin,
    ReadCost,
    Replaced,
    RowVersions,
    SegmentDigest,
    Signs,
    Staged,
    Survey,
    TakenBack,
)
from hudi_reconcile.stages.apply.apply import apply
from hudi_reconcile.stages.apply.uncorrected import Listing
from hudi_reconcile.stages.job import LakeSettings, Pages, PartialSweep, PullSettings, SweepSettings, TableJob
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.sweep.partial import WHOLE
from hudi_reconcile.stages.sweep.sweep import Swept, sweep

Row = dict[str, Any]
Action = Callable[[], None]
SEQNO = "_hoodie_commit_seqno"

COLUMNS = (
    Column("id", Kind.INTEGER, "bigint", nullable=False, bits=64),
    Column("v", Kind.INTEGER, "bigint", bits=64),
    Column("at", Kind.TIMESTAMP, "timestamp", precision=6),
)


def rows_of(frame: Frame) -> list[Row]:
    return cast("list[Row]", frame)


@dataclass(slots=True)
class Journal:
    """What was called, in order, and what a test lets happen just before."""

    calls: list[str] = field(default_factory=list)
    planned: list[tuple[str, Action]] = field(default_factory=list)

    def before(self, point: str, action: Action) -> None:
        self.planned.append((point, action))

    def reached(self, point: str) -> None:
        due = [item for item in self.planned if item[0] == point]
        self.planned[:] = [item for item in self.planned if item[0] != point]
        for _, action in due:
            action()
        self.calls.append(point)


class Killed(BaseException):
    """SIGKILL: nothing of the product runs after it."""


@dataclass(slots=True)
class FakeClock:
    """Time stands still but for `sleep` and what a test adds; with a step, each question for a duration takes that long."""

    journal: Journal
    now_micros: int = 1_000
    step_micros: int = 0
    slept_seconds: float = 0.0

    def utc_micros(self) -> int:
        return self.now_micros

    def monotonic_seconds(self) -> float:
        self.now_micros += self.step_micros
        return self.now_micros / 1_000_000

    def sleep(self, seconds: float) -> None:
        self.journal.reached("clock.sleep")
        self.now_micros += int(seconds * 1_000_000)
        self.slept_seconds += seconds


def spread_bits(text: str) -> int:
    """63 bits: sums of CRCs of texts that are alike are often equal."""
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big") >> 1


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
    table: dict[int | None, Row] = field(default_factory=dict)
    transaction: int = 0
    bound_lag_micros: int = 10
    largest_read: int = 0
    faults: KeyFaults = field(default_factory=lambda: KeyFaults(0, 0, ()))
    altered: tuple[str, ...] = ()
    lost_in_reads: set[int] = field(default_factory=set)
    unnameable: bool = False
    by_clock: bool = False  # no two moments have one name, as where the engine names them by its clock
    moments: int = 0
    no_digests: str = ""
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
    snapshot: dict[int | None, Row] | None = None
    moment_notes: tuple[str, ...] = ()
    replayed_micros: int | None = None
    stopped: str = ""
    stands: SourceLineage = field(default_factory=lambda: SourceLineage("none", "1"))
    reads: list[tuple[tuple[int, ...] | None, int]] = field(default_factory=list)  # segments asked for, rows given

    def put(self, key: int | None, value: int | None, at: int | None, **more: Any) -> None:
        self.transaction += 1
        self.table[key] = {"id": key, "v": value, "at": at, "xmin": self.transaction, **more}

    def delete(self, key: int | None) -> None:
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
            return RowVersions(None, self.no_versions, lambda _: ())

        def read(cut: Segmentation) -> tuple[SegmentVersions, ...]:
            assert isinstance(cut, RangeSegments)
            self.journal.reached("source.row_versions")
            if self.hides_versions:
                raise SourceError("column xmin does not exist", fix="none")
            held: dict[int, list[int]] = {}
            for row in self._now().values():
                held.setdefault(cut.segment_of(row["id"]), []).append(spread_bits(str(row["xmin"])))
            return tuple(SegmentVersions(one, len(marks), sum(marks)) for one, marks in sorted(held.items()))

        return RowVersions(Standing({"server": self.identity, **self.version_facts}, self.transaction), "", read)

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
        if segments is not None and isinstance(cut, HashSegments) and cut.by == "xxhash64":
            raise ValueError("a database cannot tell segments by Spark's own hash")
        held = [row for row in self._now().values() if is_near(row, near)]
        if segments is not None and isinstance(cut, RangeSegments):
            held = [row for row in held if cut.segment_of(row["id"]) in segments.ids]
        return len(held)

    def find_named_rows(self, table: SourceTable, keys: Sequence[Asked]) -> NamedRows | None:
        self.journal.reached("source.find_named_rows")
        if self.unnameable:
            return None
        wanted = {None if part is None else int(part) for (part,) in keys}
        there = [key for key in self._now() if key in wanted]
        seen = set(there) - self.lost_in_reads
        return NamedRows(len(there), lambda: Frame(self._positional(table, lambda row: row["id"] in seen)))

    def sum_column(self, table: SourceTable, column: str) -> TotalTexts:
        held = [row[column] for row in self._now().values() if row[column] is not None]
        return TotalTexts(str(sum(held)), str(min(held)), str(max(held))) if held else TotalTexts()

    def find_key_faults(self, table: SourceTable) -> KeyFaults:
        return self.faults

    def find_uncarried(self, table: SourceTable, window: Window | None) -> tuple[str, ...]:
        return self.altered

    def survey(self, table: SourceTable) -> Callable[[], Survey]:
        found = Survey(self.count_rows(table), self.altered)
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
        held = Frame(self._positional(table, lambda row: row["id"] not in self.lost_in_reads and is_near(row, near)))
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
        newest = None if greatest is None or not isinstance(greatest.value, int) else greatest.value
        top = str(greatest.value) if below and greatest else None
        return Signs(found.count(None), future, top, newest_micros=newest if order.columns == ("at",) else None)

    def _now(self) -> dict[int | None, Row]:
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


def _is_delete(row: Row) -> bool:
    return row["action"] == "delete" and row["status"] in ("ready", "doubled")


def silently(was: Row, now: Row) -> bool:
    """The source's row changed and its watermark did not."""
    marks = was["source_micros"] == now["source_micros"]
    return bool(was["in_source"] and now["in_source"] and was["source"] != now["source"] and marks)


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


@dataclass(frozen=True, slots=True)
class Commit:
    """One completed commit: the whole table after it, what it carries, and which keys it wrote or removed."""

    instant: Instant
    rows: tuple[Row, ...]
    checkpoint: Checkpoint | None
    labels: Mapping[str, str]


def _version(row: Row | None) -> str | None:
    return None if row is None else str(row[SEQNO])


@dataclass(slots=True)
class FakeLake:
    """One Hudi table as a list of commits, each with the whole table.

    `checks_versions` False forgets compare-and-set, `checks_conflicts` False forgets writers in flight.
    """

    journal: Journal
    commits: list[Commit] = field(default_factory=list)
    key: tuple[str, ...] = ("id",)
    ordering: tuple[str, ...] = (READ_SEQ,)
    path: str = "/lake/t"
    key_type: str = "bigint"
    at_type: str = "timestamp_ntz"
    v_type: str = "bigint"
    more_columns: tuple[LakeColumn, ...] = ()
    held_by: str | None = None
    holders: list[str] = field(default_factory=list)  # who took the lease and has not ended, lost or not
    in_flight: set[str] = field(default_factory=set)
    checks_versions: bool = True
    checks_conflicts: bool = True
    dropped_writes: set[int] = field(default_factory=set)
    writes: int = 0
    cannot_replace: str = ""
    savepoints: list[str] = field(default_factory=list)
    made_by: Origin = field(default_factory=Origin)
    partition_fields: tuple[str, ...] = ()
    misplaced: set[int] = field(default_factory=set)  # rows that lie where their columns do not tell
    cleaned: bool = False  # snapshots from before the newest commits are gone
    files: set[str] = field(default_factory=set)  # of the commits that were read: one file holds the whole table
    wrote: bool = False
    others: Writers = field(default_factory=Writers)
    foreign: Foreign = field(default_factory=lambda: Foreign("SimpleKeyGenerator"))

    @property
    def now(self) -> list[Row]:
        blank = {column.name: None for column in self.more_columns}
        return [{**blank, **row} for row in self.commits[-1].rows] if self.commits else []

    def plant(self, rows: list[Row], checkpoint: Checkpoint | None = None, **labels: str) -> Instant:
        """A commit of whoever: the whole table anew."""
        number = f"{len(self.commits) + 1:017d}"
        self.commits.append(Commit(Instant(number, number), tuple(dict(row) for row in rows), checkpoint, labels))
        return self.commits[-1].instant

    def stamped(self, row: Row) -> Row:
        self.writes += 1
        return {**row, SEQNO: f"s{self.writes:06d}"}

    # --- ports.Lake ---

    def look(self) -> LakeTable | None:
        if not self.commits:
            return None
        columns = (
            LakeColumn("id", self.key_type), LakeColumn("v", self.v_type), LakeColumn("at", self.at_type), *self.more_columns,
        )  # fmt: skip
        if self.ordering != (READ_SEQ,):
            return LakeTable(
                self.path, "t", "copy_on_write", 9, columns, self.key, (), self.ordering, "event_time", foreign=self.foreign,
            )  # fmt: skip
        return LakeTable(
            self.path, "t", "copy_on_write", 9, (*columns, LakeColumn(READ_SEQ, "bigint")), self.key, self.partition_fields,
            self.ordering, "tool",
        )  # fmt: skip

    def pin(self) -> LakePin | None:
        self.journal.reached("lake.pin")
        if not self.commits:
            return None
        return LakePin(self.commits[-1].instant, tuple(sorted(self.in_flight)))

    def is_intact(self, pin: LakePin) -> bool:
        return all(writer in self.in_flight for writer in pin.in_flight)

    def find_checkpoint(self) -> CheckpointAt | None:
        self.journal.reached("lake.find_checkpoint")
        for commit in reversed(self.commits):
            if commit.checkpoint is not None:
                return CheckpointAt(commit.checkpoint, commit.instant)
        return None

    def count_rows(self, pin: LakePin) -> int:
        return len(rows_of(self.read_rows(pin)))

    def read_rows(self, pin: LakePin) -> Frame:
        self.journal.reached("lake.read_rows")
        (found,) = [commit for commit in self.commits if commit.instant == pin.instant]
        self.files.add(found.instant.completed)
        blank = {column.name: None for column in self.more_columns}
        return Frame([{**blank, **row} for row in found.rows])

    def list_partitions(self, pin: LakePin, rule: PathRule) -> tuple[PartitionRows, ...]:
        self.journal.reached("lake.list_partitions")
        held = [(self._path_of(row, rule, "lake"), row["id"] in self.misplaced) for row in rows_of(self.read_rows(pin))]
        unlike = Counter(path for path, misplaced in held if misplaced)
        return tuple(PartitionRows(path, n, unlike[path]) for path, n in sorted(Counter(p for p, _ in held).items()))

    def mark_scope(self, rows: Frame, side: Literal["source", "lake"], scope: PartitionScope) -> Frame:
        return Frame([{**row, IN_SCOPE: self._path_of(row, scope.rule, side) in scope.paths} for row in rows_of(rows)])

    def _path_of(self, row: Row, rule: PathRule, side: str) -> str:
        """Of tables with one plain partition column."""
        (field_,) = rule.fields
        value = row[field_.lake_name if side == "lake" else f"c{field_.index}"]
        return DEFAULT if value is None else str(value)

    def build_batch(
        self,
        rows: Frame,
        columns: tuple[Column, ...],
        partition_by: tuple[PartitionField, ...],
        read_seq: int,
        shape: BatchShape = AS_SOURCE,
    ) -> Frame:
        named = {f"c{i}": c.lake_name for i, c in enumerate(columns) if c.lake_name not in shape.left_out}
        blank = {column.name: None for column in shape.dropped}
        return Frame(
            [{**{name: row[c] for c, name in named.items()}, **blank, READ_SEQ: read_seq} for row in rows_of(rows)]
        )

    def create(self, rows: Frame, table: NewTable, checkpoint: Checkpoint, labels: Mapping[str, str]) -> Instant:
        self._writes("lake.create")
        self.key = table.record_key
        return self.plant([self.stamped(row) for row in rows_of(rows)], checkpoint, **labels)

    def upsert(self, rows: Frame, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]) -> Instant:
        self._writes("lake.upsert")
        self._become(table, rows)
        return self.plant(self._merged(rows_of(rows), set()), checkpoint, **labels)

    def compare_overwrite(self, rows: Frame, table: LakeTable) -> Replaced:
        there = {row["id"] for row in rows_of(rows)}
        return Replaced(len(self.now), sum(row["id"] not in there for row in self.now))

    def overwrite(self, rows: Frame, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]) -> Instant:
        self._writes("lake.overwrite")
        self._become(table, rows)
        return self.plant([self.stamped(row) for row in rows_of(rows)], checkpoint, **labels)

    def mark(self, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]) -> Instant:
        self._writes("lake.mark")
        return self.plant(self.now, checkpoint, **labels)

    def read_origin(self) -> Origin:
        return self.made_by

    def hand_back(self, table: LakeTable, key: str, value: str) -> Instant:
        self._writes("lake.hand_back")
        instant = self.plant(self.now)
        self.made_by = replace(self.made_by, streamer_key=key, streamer_checkpoint=value, instant=instant)
        return instant

    def correct(
        self, batch: Corrective, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]
    ) -> Instant:
        self._writes("lake.correct")
        doubled = Counter(row["id"] for row in self.now)
        assert all(doubled[row["id"]] < 2 for row in rows_of(batch.expected)), "Hudi would write every copy"
        self._become(table, batch.upserts)
        return self._corrected(batch, checkpoint, labels)

    def replace(
        self, batch: Corrective, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]
    ) -> Instant:
        self._writes("lake.replace")
        if self.cannot_replace:
            raise RefusedError(self.cannot_replace, fix="another lake.path")
        self._become(table, batch.upserts)
        instant = self._corrected(batch, checkpoint, labels)
        self.commits[-1] = replace(self.commits[-1], rows=tuple(self.stamped(row) for row in self.now))
        return instant

    def _become(self, table: LakeTable, rows: Frame) -> None:
        """The table's columns are those of the newest commit; no commit may lack one, or have a narrower."""
        types = {column.name: column.type for column in table.columns}
        # What another tool's table has no column for is not written into it (`lake/foreign_table.py`).
        unwritten = {SEQNO} if table.owned else {SEQNO, READ_SEQ}
        assert all(row.keys() - unwritten == types.keys() for row in rows_of(rows)), "rows of other columns"
        was = self.look()
        assert was is None or all(kinds.holds(types[column.name], column.type) for column in was.columns)
        self.v_type = types["v"]
        ours = {"id", "v", "at", READ_SEQ}
        self.more_columns = tuple(column for column in table.columns if column.name not in ours)

    def _corrected(self, batch: Corrective, checkpoint: Checkpoint, labels: Mapping[str, str]) -> Instant:
        if self.checks_conflicts and self.in_flight:
            raise SupersededError("another writer is in flight", fix="sweep again")
        expected: dict[Any, list[str]] = {}
        for row in rows_of(batch.expected):
            expected.setdefault(row["id"], []).extend([row["_hr_seqno"]] if row["_hr_seqno"] else [])
        found = {key: sorted(row[SEQNO] for row in self.now if row["id"] == key) for key in expected}
        if self.checks_versions and found != {key: sorted(seqnos) for key, seqnos in expected.items()}:
            raise SupersededError("another writer was faster", fix="sweep again")
        upserts = [row for row in rows_of(batch.upserts) if row["id"] not in self.dropped_writes]
        gone = {row["id"] for row in rows_of(batch.deletes)} - self.dropped_writes
        return self.plant(self._merged(upserts, gone), checkpoint, **labels)

    def list_writers(self) -> Writers:
        return self.others

    def list_silent_writers(self) -> tuple[str, ...]:
        self.journal.reached("lake.list_silent_writers")
        return self.others.without_heartbeat

    def roll_back(self, requested: str) -> None:
        self.journal.reached("lake.roll_back")
        left = tuple(one for one in self.others.without_heartbeat if one != requested)
        self.others = replace(self.others, without_heartbeat=left)

    def pin_around(self, commit: Instant) -> tuple[LakePin, LakePin]:
        if self.cleaned:
            raise RefusedError("the rows from before may be cleaned", fix="sweep")
        place = next(number for number, one in enumerate(self.commits) if one.instant == commit)
        return LakePin(self.commits[place - 1].instant, ()), LakePin(commit, ())

    def prepare_undo(self, commit: Instant, table: LakeTable, read_seq: int) -> TakenBack:
        self.journal.reached("lake.prepare_undo")
        place = next(number for number, one in enumerate(self.commits) if one.instant == commit)
        before, at, now = (
            {row["id"]: row for row in rows}
            for rows in (self.commits[place - 1].rows, self.commits[place].rows, self.now)
        )
        wrote = [key for key in before | at if _version(before.get(key)) != _version(at.get(key))]
        status = {key: "ready" if _version(at.get(key)) == _version(now.get(key)) else "superseded" for key in wrote}
        since = {row["id"] for one in self.commits[place + 1 :] for row in one.rows}
        status |= {key: "superseded" for key in wrote if key not in at and key in since}
        counts = Counter(("upsert" if key in before else "delete", status[key]) for key in wrote)
        ready = [key for key in wrote if status[key] == "ready"]
        upserts = [{**before[key], READ_SEQ: read_seq} for key in ready if key in before]
        expected = [{"id": key, "_hr_seqno": _version(now.get(key))} for key in ready]
        deletes = [now[key] for key in ready if key not in before]
        return TakenBack(counts, Corrective(Frame(upserts), Frame(deletes), Frame(expected)))

    def count_shown(self, upserts: Frame, table: LakeTable) -> int:
        self.journal.reached("lake.count_shown")
        held = [{name: row[name] for name in ("id", "v", "at")} for row in self.now]
        return sum({name: row[name] for name in ("id", "v", "at")} in held for row in rows_of(upserts))

    def savepoint(self, comment: str, earlier: Sequence[str] = ()) -> str:
        self.journal.reached("lake.savepoint")
        stands = [one for one in earlier if one in self.savepoints]
        if stands:
            return stands[0]
        requested = self.commits[-1].instant.requested
        self.savepoints += [] if requested in self.savepoints else [requested]
        return requested

    def drop_savepoints(self, keep: str) -> tuple[str, ...]:
        self.journal.reached("lake.drop_savepoints")
        old = tuple(one for one in self.savepoints if one != keep)
        self.savepoints[:] = [one for one in self.savepoints if one == keep]
        return old

    def find_labels(self, key: str) -> tuple[tuple[str, Instant], ...]:
        return tuple((one.labels[key], one.instant) for one in reversed(self.commits) if key in one.labels)

    @contextmanager
    def lease(self, owner: str) -> Iterator[None]:
        if self.held_by is not None:
            raise RefusedError(f"held by {self.held_by}", fix="wait")
        self.held_by = owner
        self.holders.append(owner)
        try:
            yield
        finally:
            self.holders.remove(owner)
            self.held_by = None if self.held_by == owner else self.held_by

    def count_files(self) -> FilesRead:
        return FilesRead(len(self.files), is_all=not self.wrote)

    def _writes(self, point: str) -> None:
        self.journal.reached(point)
        self.wrote = self.wrote or bool(self.commits)
        if self.holders and self.held_by != self.holders[-1]:
            raise SupersededError("the lease was lost", fix="run it again")

    def _merged(self, upserts: list[Row], gone: set[Any]) -> list[Row]:
        replaced = {row["id"] for row in upserts} | gone
        return [row for row in self.now if row["id"] not in replaced] + [self.stamped(row) for row in upserts]


Key = tuple[Any, ...]


@dataclass(slots=True)
class FakeComparer:
    """Compares lists of dicts, one key at a time, by the real classification."""

    journal: Journal
    disk: dict[str, list[Row]]
    agreement: Agreement
    cut: Segmentation

    def compare_digests(self, look: Look, segments: SegmentSet | None) -> tuple[SegmentDigest, ...]:
        sides = [
            self._images([row for row in rows_of(frame) if row.get(IN_SCOPE, True)], side)
            for frame, side in ((look.source, "c"), (look.lake, "lake"))
        ]
        touched = {self._segment(key) for side in sides for key in side}
        found = []
        for segment in sorted(touched if segments is None else touched & set(segments.ids)):
            ours, theirs = (
                sorted((repr((key, image)) for key, images in side.items() for image, _, _ in images
                        if self._segment(key) == segment))
                for side in sides
            )  # fmt: skip
            (told,) = sum_digests((segment, spread_bits(one)) for one in theirs) or (SegmentSum(segment, 0, 0, 0),)
            found.append(SegmentDigest(segment, len(ours), len(theirs), ours == theirs, told.high, told.low))
        return tuple(found)

    def sums(self, rows: list[Row], side: str) -> tuple[SegmentSum, ...]:
        images = self._images(rows, side).items()
        return sum_digests(
            (self._segment(key), crc32(repr((key, image)).encode())) for key, all_ in images for image, _, _ in all_
        )

    def digest_source(self, source: Frame) -> tuple[SegmentSum, ...]:
        return self.sums(rows_of(source), "c")

    def digest_texts(self, lake: Frame) -> tuple[SegmentSum, ...]:
        return self.sums(rows_of(lake), "lake")

    def keep(self, lake: Frame, segments: SegmentSet) -> Frame:
        return Frame(list(rows_of(lake)))

    def find_candidates(self, look: Look, segments: SegmentSet) -> Frame:
        return Frame([fact for fact in self._facts(look, segments) if not fact["equal"] and fact["in_scope"]])

    def judge_candidates(
        self, candidates: Frame, look: Look, segments: SegmentSet, pending: PendingRange | None
    ) -> Frame:
        first = {fact["key"]: fact for fact in rows_of(candidates)}
        now = {fact["key"]: fact for fact in self._facts(look, segments)}
        found = []
        for key in first | now:
            fact = now.get(key) or self._fact(key, [], [])
            if key not in first and (fact["equal"] or not fact["in_scope"]):
                continue
            was = first.get(key)
            unchanged = was is not None and (was["source"], was["seqnos"]) == (fact["source"], fact["seqnos"])
            facts = Facts(
                fact["in_source"], len(fact["seqnos"]), fact["equal"], unchanged, fact["source_micros"],
                fact["lake_micros"], pending, fact["source_id"],
            )  # fmt: skip
            kind = classify(facts)
            silent = was is not None and (
                was.get("silent", False) or (kind not in ("pending", "settled") and silently(was, fact))
            )
            found.append({**fact, "kind": kind.value, "action": choose_repair(kind).value, "silent": silent})
        return Frame(found)

    def judge_again(self, found: Frame, look: Look, segments: SegmentSet, pending: PendingRange | None) -> Frame:
        self.journal.reached("comparer.judge_again")
        moving = [row for row in rows_of(found) if row["kind"] == "moving"]
        keys = [row["key"] for row in moving]
        judged = [
            row for row in rows_of(self.judge_candidates(Frame(moving), look, segments, pending)) if row["key"] in keys
        ]
        return Frame([*(row for row in rows_of(found) if row["kind"] != "moving"), *judged])

    def named_keys(self, found: Frame, which: KeysOf, most: int) -> tuple[Asked, ...] | None:
        wanted = self._is_absent if which == "absent" else lambda row: row["kind"] == "moving"
        keys = [row["key"] for row in rows_of(found) if wanted(row)]
        return None if len(keys) > most else tuple(tuple(None if k is None else str(k) for k in key) for key in keys)

    def unsettle(self, found: Frame) -> Frame:
        return Frame([{**row, "kind": "moving"} if self._is_absent(row) else row for row in rows_of(found)])

    @staticmethod
    def _is_absent(row: Row) -> bool:
        return row["kind"] == "settled" and not row["in_source"] and not row["seqnos"]

    def count_hidden_rows(self, source: Frame) -> dict[str, int]:
        self.journal.reached("comparer.count_hidden_rows")
        names = [f"c{item.index}" for item in self.agreement.cut]
        hidden = [sum(row[name] is not None and row[name] % 10 != 0 for row in rows_of(source)) for name in names]
        return {item.column.name: rows for item, rows in zip(self.agreement.cut, hidden, strict=True)}

    def count(self, frame: Frame, column: str) -> dict[str, int]:
        return dict(Counter(str(row[column]).lower() for row in rows_of(frame)))

    def save(self, findings: Frame, path: str, rows: int) -> None:
        assert rows == len(rows_of(findings))
        self.disk[path] = [dict(row) for row in rows_of(findings)]

    def load(self, path: str, files: Collection[str]) -> Frame:
        return Frame([dict(row) for row in self.disk[path]])

    def select_corrections(self, findings: Frame, action: str | None) -> Frame:
        legal = {"upsert", "delete"} if action is None else {action}
        return Frame([row for row in rows_of(findings) if row["action"] in legal])

    def _differing(self, findings: Frame) -> dict[str, int]:
        names = [item.column.name for item in self.agreement.columns]
        both = [row for row in rows_of(findings) if row["in_source"] and row["lake_row"]]
        held = [[row["lake_row"][item.column.lake_name] for item in self.agreement.columns] for row in both]
        pairs = [zip(names, row["source"], lake, strict=True) for row, lake in zip(both, held, strict=True)]
        return dict(Counter(name for pair in pairs for name, ours, theirs in pair if ours != theirs))

    def profile_drift(self, findings: Frame, rows: int, *, timed: bool, reached_micros: int | None) -> Anatomy:
        drift = rows_of(self.select_corrections(findings, None))
        assert rows == len(drift)
        cells = Counter(row["kind"] for row in drift)
        return Anatomy(
            tuple(DriftCell(kind, None, None, n) for kind, n in cells.items()), 0, self._differing(Frame(drift))
        )

    def recheck(self, plan: Frame, look: Look, segments: SegmentSet) -> Frame:
        now = {fact["key"]: fact for fact in self._facts(look, segments)}
        found = []
        for row in rows_of(plan):
            fact = now.get(row["key"]) or self._fact(row["key"], [], [])
            status = "doubled" if len(fact["seqnos"]) > 1 else "ready"
            if row["source"] != fact["source"] or fact["source_rows"] > 1:
                status = "moved"
            if row["seqnos"] != fact["seqnos"]:
                status = "superseded"
            planned = (row["source"], row["seqnos"])
            found.append({**fact, "action": row["action"], "status": status, "planned": planned, "rules": []})
        return Frame(found)

    def list_deletes(self, rechecked: Frame, most: int) -> tuple[Asked, ...] | None:
        rows = [row for row in rows_of(rechecked) if _is_delete(row)]
        return None if len(rows) > most else tuple(tuple(None if k is None else str(k) for k in r["key"]) for r in rows)

    def stage_rows(self, source: Frame) -> tuple[Frame, int]:
        return source, len(rows_of(source))

    def mark_existing(self, rechecked: Frame, there: Frame | None) -> Frame:
        keys = None if there is None else set(self._images(rows_of(there), "c"))
        moved = [_is_delete(row) and (keys is None or row["key"] in keys) for row in rows_of(rechecked)]
        return Frame(
            [{**row, "status": "moved"} if gone else row for row, gone in zip(rows_of(rechecked), moved, strict=True)]
        )

    def mark_landed(
        self,
        rechecked: Frame,
        around: tuple[Frame, Frame],
        segments: SegmentSet,
        later: Sequence[tuple[Frame, Frame]] = (),
    ) -> Frame:
        shown = [self._images(rows_of(frame), "lake") for frame in around]
        moved = [[self._versions(frame) for frame in pair] for pair in later]
        found = []
        for row in rows_of(rechecked):
            was, then = (sorted(one[SEQNO] for _, _, one in side.get(row["key"], [])) for side in shown)
            now = then
            for old, new in moved:
                now = new.get(row["key"], []) if old.get(row["key"], []) == now else now
            wanted, planned = row["planned"]
            images = [image for image, _, _ in shown[1].get(row["key"], [])]
            made = was == planned != then and images == ([] if row["action"] == "delete" else [wanted])
            image_stays = row["action"] == "delete" or self._lake_image(row) == wanted
            found.append({**row, "status": "landed"} if made and now == row["seqnos"] and image_stays else row)
        return Frame(found)

    def carry_versions(self, plan: Frame, action: str, before: Frame, at: Frame) -> Frame:
        was, then = self._versions(before), self._versions(at)
        return Frame(
            [
                {**row, "seqnos": then[row["key"]]}
                if row["action"] == action
                and row["seqnos"]
                and was.get(row["key"]) == row["seqnos"]
                and row["key"] in then
                else row
                for row in rows_of(plan)
            ]
        )

    def _versions(self, frame: Frame) -> dict[Key, list[str]]:
        images = self._images(rows_of(frame), "lake").items()
        return {key: sorted(row[SEQNO] for _, _, row in copies) for key, copies in images}

    def _lake_image(self, row: Row) -> Any:
        return row["lake_row"] and tuple(row["lake_row"][item.column.lake_name] for item in self.agreement.columns)

    def hold(self, rechecked: Frame, keys: Frame) -> Frame:
        named = {(row["id"],): row[HELD_RULES] for row in rows_of(keys)}
        held = [{**row, "status": "held", "rules": named[row["key"]]}
                if row["action"] == "upsert" and row["key"] in named else row
                for row in rows_of(rechecked)]  # fmt: skip
        return Frame(held)

    def find_newest_seq(self, rechecked: Frame) -> int | None:
        rows = [row["lake_row"] for row in rows_of(rechecked) if row["lake_row"]]
        return max((row[READ_SEQ] for row in rows if READ_SEQ in row), default=None)

    def build_corrective(self, rechecked: Frame, status: str = "ready") -> Corrective:
        rows = [row for row in rows_of(rechecked) if row["status"] == status]
        return Corrective(
            upserts=Frame([row["source_row"] for row in rows if row["action"] == "upsert"]),
            deletes=Frame([row["lake_row"] for row in rows if row["action"] == "delete"]),
            expected=Frame([{"id": r["key"][0], "_hr_seqno": s} for r in rows for s in (r["seqnos"] or [None])]),
        )

    def read_back(
        self, rechecked: Frame, look: Look, segments: SegmentSet, *, written: Collection[str] = ("ready", "doubled")
    ) -> Frame:
        lake = self._images(rows_of(look.lake), "lake")
        found = []
        for row in rows_of(rechecked):
            shown = [image for image, _, _ in lake.get(row["key"], [])]
            wanted = [] if row["action"] == "delete" else [row["source"]]
            status = "applied" if shown == wanted else "failed"
            found.append({**row, "status": status if row["status"] in written else row["status"]})
        return Frame(found)

    def name_reasons(self, rows: Frame, column: str, reasons: Mapping[str, str]) -> Frame:
        left = [row for row in rows_of(rows) if row[column] not in ("applied", "landed")]
        told = [(row["key"], reasons.get(row[column], row[column]), row.get("rules", [])) for row in left]
        return Frame([{"key": key, "reason": reason, "rules": rules} for key, reason, rules in told])

    def list_uncorrected(self, planned: Frame, ends: Sequence[Frame]) -> Frame:
        left = [row for one in ends for row in rows_of(one)]
        by_key = {row["key"]: row for row in left}
        assert len(by_key) == len(left), "a row is uncorrected for two reasons"
        return Frame([{**row, **by_key[row["key"]]} for row in rows_of(planned) if row["key"] in by_key])

    def find_segments(self, plan: Frame) -> SegmentSet:
        return SegmentSet.of(row["segment"] for row in rows_of(plan))

    # --- helpers ---

    def _images(self, rows: list[Row], side: str) -> dict[Key, list[tuple[Key, int | None, Row]]]:
        def value(row: Row, item: Any) -> Any:
            return row[f"c{item.index}" if side == "c" else item.column.lake_name]

        images: dict[Key, list[tuple[Key, int | None, Row]]] = {}
        for row in rows:
            key = tuple(value(row, item) for item in self.agreement.key)
            items = self.agreement.moving if side == "c" else self.agreement.watermark
            marks = [mark for item in items if (mark := value(row, item)) is not None]
            image = tuple(value(row, item) for item in self.agreement.columns)
            images.setdefault(key, []).append((image, max(marks, default=None), row))
        return images

    def _facts(self, look: Look, segments: SegmentSet) -> list[Row]:
        source, lake = self._images(rows_of(look.source), "c"), self._images(rows_of(look.lake), "lake")
        keys = [key for key in {**source, **lake} if self._segment(key) in segments.ids]
        return [self._fact(key, source.get(key, []), lake.get(key, [])) for key in keys]

    def _fact(self, key: Key, source: list[Any], lake: list[Any]) -> Row:
        shown = max(lake, key=lambda item: item[2][SEQNO]) if lake else (None, None, None)
        ours = source[0] if source else (None, None, None)
        return {
            "key": key,
            "segment": self._segment(key),
            "in_source": bool(source),
            "source_rows": len(source),
            "in_scope": any(row.get(IN_SCOPE, True) for _, _, row in (*source, *lake)),
            "source": ours[0],
            "source_micros": ours[1],
            "source_row": ours[2],
            "source_id": self._id(ours[2]),
            "seqnos": sorted(row[SEQNO] for _, _, row in lake),
            "lake_micros": shown[1],
            "lake_row": shown[2],
            "equal": len(lake) == 1 and shown[0] == ours[0],
        }

    def _id(self, row: Row | None) -> Any:
        item = self.agreement.incrementing
        return None if row is None or item is None else row[f"c{item.index}"]

    def _segment(self, key: Key) -> int:
        if isinstance(self.cut, RangeSegments):
            return self.cut.segment_of(key[0])
        return crc32(repr(key).encode()) % self.cut.count


@dataclass(slots=True)
class World:
    """Everything that one table's work touches, in memory. `make` may be replaced by a test."""

    journal: Journal
    clock: FakeClock
    source: FakeSource
    lake: FakeLake
    disk: dict[str, list[Row]] = field(default_factory=dict)
    comparer: type[FakeComparer] = FakeComparer

    @staticmethod
    def new() -> World:
        journal = Journal()
        clock = FakeClock(journal)
        return World(journal, clock, FakeSource(journal, clock), FakeLake(journal))

    @property
    def edges(self) -> Edges:
        def make(agreement: Agreement, cut: Segmentation) -> FakeComparer:
            return self.comparer(self.journal, self.disk, agreement, cut)

        return Edges(self.source, self.lake, make, self.clock)

    def lake_holds(self) -> dict[Any, tuple[Any, ...]]:
        """Key to (v, at), as the lake shows it; a key that is there twice fails."""
        keys = [row["id"] for row in self.lake.now]
        assert len(keys) == len(set(keys)), keys
        return {row["id"]: (row["v"], row["at"]) for row in self.lake.now}

    def source_holds(self) -> dict[Any, tuple[Any, ...]]:
        return {key: (row["v"], row["at"]) for key, row in self.source.table.items()}

    def silently_change_lake(self, key: int, value: int) -> None:
        """Another writer changes a row in the lake and moves its version."""
        rows = [self.lake.stamped({**row, "v": value}) if row["id"] == key else row for row in self.lake.now]
        self.lake.plant(rows)


def job(**changes: Any) -> TableJob:
    """The table's settings: watermark `at`, one segment, no wait, wide limits. `changes` name the settings of any part."""
    plain = TableJob(
        name="t",
        run_id="run-1",
        lake=LakeSettings(path="/lake/t", type="copy_on_write"),
        pull=PullSettings(strategy="timestamp", watermark=("at",)),
        sweep=SweepSettings(segments=1),
        policy=Policy(1000, 100.0, 100.0),
        savepoint="never",
    )
    return change_job(plain, **changes)


def change_job(settings: TableJob, **changes: Any) -> TableJob:
    """The same settings with `changes`, each in the part that knows it; a name that none knows is a TypeError."""
    pages = {name: changes.pop(name) for name in ("limit_rows", "most", "stop_after_seconds") if name in changes}
    if pages:
        changes["pages"] = Pages(**pages)
    for part in ("lake", "source", "pull", "columns", "sweep", "policy"):
        value = getattr(settings, part)
        own = {f.name: changes.pop(f.name) for f in fields(value) if f.name in changes}
        settings = replace(settings, **{part: replace(value, **own)})
    return replace(settings, **changes)


def pulled(*rows: tuple[int, int | None, int | None], partitioned: bool = False) -> World:
    """A world whose source holds these (id, v, at) and whose lake has pulled them; `partitioned` by `v`."""
    world = World.new()
    world.lake.partition_fields = ("v",) if partitioned else ()
    for key, value, at in rows:
        world.source.put(key, value, at)
    pull(job(), world.edges, full=False)
    world.journal.calls.clear()
    return world


def swept(world: World, **settings: Any) -> Swept:
    """A sweep whose findings are on the fake disk under `findings`."""
    return swept_part(world, WHOLE, **settings)


def swept_part(world: World, part: PartialSweep, **settings: Any) -> Swept:
    """The same of a part of the table."""
    found = sweep(job(**settings), world.edges, part)
    found.save("findings")
    return found


def applied(world: World, plan: Plan | None, approval: Approval = Approval(), **settings: Any) -> TableResult:  # noqa: B008
    """The apply of a plan whose findings `swept` saved; what it leaves is in `left`, and must add up."""
    assert plan is not None
    asked = (job(**settings), plan, "findings", approval, world.edges)
    return listed(world, lambda listing: apply(*asked, listing=listing))


def listed(world: World, act: Callable[[Listing], TableResult]) -> TableResult:
    """An apply whose list must have every planned row that its result does not call applied, now or before."""
    world.disk.pop("uncorrected", None)
    result = act(Listing("uncorrected", "t/uncorrected"))
    done, told = result.corrections, result.uncorrected
    assert told is not None
    rows = done.upserts + done.deletes - done.applied - done.applied_before
    assert (told.rows, sum(told.by_reason.values())) == (rows, rows), "the reasons do not add up"
    assert set(told.by_reason) <= set(REASONS), told
    assert len(left(world)) == told.listed_rows, "the list does not hold what the result says"
    assert bool(told.why) == (told.listed_rows < rows), told
    return result


def left(world: World) -> dict[Any, str]:
    """Why each row was not corrected, by key, as the last apply listed it."""
    return {row["key"][0]: row["reason"] for row in world.disk.get("uncorrected", [])}


def at_checkpoint(world: World, **changes: Any) -> None:
    """The newest checkpoint once more, with changes, in a commit of its own."""
    found = world.lake.find_checkpoint()
    assert found is not None
    world.lake.plant(world.lake.now, replace(found.checkpoint, **changes))
