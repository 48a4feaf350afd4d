"""By what a table's pulls go forward: its watermark columns, their clock if they have one, its id, and their text. Pure.

Also whether a replica has come as far as the lake: one that has not shows rows as deleted that it has yet to get, or as
older.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

from hudi_reconcile.core.errors import SourceError, UsageError
from hudi_reconcile.core.pull.cursor import DAY_MICROS, Mark, Number, Order, Value, cut_bound, watermark_text
from hudi_reconcile.core.pull.zone_offset import find_least_offset
from hudi_reconcile.core.result_parts import Unverified
from hudi_reconcile.core.tables.kinds import CALENDAR_KINDS, INCREMENTING_KINDS, WATERMARK_KINDS, Column, Kind
from hudi_reconcile.core.tables.values import Checkpoint, CheckpointAt, Moment, SourceTable, is_behind, is_older
from hudi_reconcile.stages.job import TableJob


@dataclass(frozen=True, slots=True)
class Watermark:
    """The watermark columns of a table, empty where it has none, and the incrementing column of its strategy."""

    columns: tuple[Column, ...]
    id_column: Column | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The watermark columns' source names."""
        return tuple(column.name for column in self.columns)

    @property
    def order(self) -> Order:
        """The order of pulls; without a watermark the id alone."""
        if self.id_column is None:
            return Order(self.names)
        return Order(self.names, self.id_column.name) if self.columns else Order((self.id_column.name,))

    @property
    def moving(self) -> tuple[Column, ...]:
        """The columns whose greatest value goes forward."""
        return self.columns or (() if self.id_column is None else (self.id_column,))

    @property
    def kind(self) -> Kind:
        """The kind whose text and clock the greatest watermark has."""
        kinds = {column.kind for column in self.moving}
        return self.moving[0].kind if len(kinds) == 1 else Kind.TIMESTAMP

    @property
    def by_version(self) -> bool:
        """True where the database's own number of a row's version is the watermark: exact, and no clock."""
        return any(column.system for column in self.columns)

    @property
    def has_bound(self) -> bool:
        """True where no row can appear below a bound any more."""
        return self.has_clock or self.by_version

    @property
    def has_clock(self) -> bool:
        """True where watermarks are times, so that a safe bound can be had."""
        return bool(self.columns) and self.kind in CALENDAR_KINDS

    def bound(self, moment: Moment, offset_at: Callable[[int], int]) -> int | None:
        """The safe bound: in the watermark's clock, cut to the coarsest precision, or a row version. None without either."""
        if self.by_version:
            return moment.version_bound
        if not self.has_clock:
            return None
        offset = find_least_offset(moment.bound_micros, offset_at)
        return min(
            cut_bound(c.kind, moment.bound_micros, zone_offset_micros=offset, precision=c.precision)
            for c in self.columns
        )

    def bound_why(self, moment: Moment) -> str | None:
        """How the bound was found, in words; None where the watermark knows none."""
        if self.by_version:
            return "every transaction below this number has ended"
        return moment.bound_why if self.has_clock or not self.moving else None

    def convert_clock(self, moment: Moment, offset_at: Callable[[int], int]) -> int | None:
        """The watermark's own clock now; None without one."""
        if not self.has_clock:
            return None
        zoned = self.kind is Kind.TIMESTAMPTZ
        return moment.clock_micros + (0 if zoned else offset_at(moment.clock_micros))

    def horizon(self, moment: Moment, offset_at: Callable[[int], int]) -> int | None:
        """A day after now: nothing above it can be waited for. None without a clock."""
        now = self.convert_clock(moment, offset_at)
        return None if now is None else now + DAY_MICROS

    def text(self, mark: Mark | None) -> str | None:
        """A mark for people: ISO text, number or text; the id after a comma. None where there is none."""
        if mark is None or not self.moving:
            return None
        shown = _plain(mark.value)
        if self.has_clock and isinstance(mark.value, int):
            shown = watermark_text(self.kind, mark.value)
        return shown if mark.id is None else f"{shown}, {_plain(mark.id)}"

    def find_reached_mark(self, checkpoint: Checkpoint | None) -> Mark | None:
        """How far pulls by these columns are complete; None where nothing with a watermark was pulled."""
        if checkpoint is None or not self.continues(checkpoint):
            return None
        at_id = None if checkpoint.incrementing_value is None else Decimal(checkpoint.incrementing_value)
        if not self.columns:
            return None if at_id is None else Mark(at_id)
        value: Value | None = checkpoint.watermark_micros
        if checkpoint.watermark_value is not None:
            is_text = self.kind is Kind.TEXT
            value = checkpoint.watermark_value if is_text else Decimal(checkpoint.watermark_value)
        return None if value is None else Mark(value, at_id if self.id_column is not None else None)

    def continues(self, checkpoint: Checkpoint) -> bool:
        """True where a pull may go on from this checkpoint: same columns, or an id that came in addition."""
        same = checkpoint.watermark == self.names
        return same and checkpoint.incrementing in ({self.id_name, None} if self.columns else {self.id_name})

    @property
    def id_name(self) -> str | None:
        """The incrementing column's name."""
        return None if self.id_column is None else self.id_column.name

    def set_mark(self, checkpoint: Checkpoint, mark: Mark | None) -> Checkpoint:
        """The checkpoint with this mark in it."""
        named = replace(checkpoint, watermark=self.names, incrementing=self.id_name, text=self.text(mark))
        if mark is None:
            return named
        if not self.columns:
            return replace(named, incrementing_value=_plain(mark.value))
        at_id = None if mark.id is None else _plain(mark.id)
        if self.has_clock and isinstance(mark.value, int):
            return replace(named, watermark_micros=mark.value, incrementing_value=at_id)
        return replace(named, watermark_value=_plain(mark.value), incrementing_value=at_id)


def choose_watermark(job: TableJob, table: SourceTable) -> Watermark:
    """The table's watermark and id. Raises UsageError for columns that cannot be one, or that keep different clocks."""
    columns = tuple(table.column(name) for name in job.pull.watermark)
    for column in columns:
        if column.kind not in WATERMARK_KINDS and not (column.kind is Kind.TEXT and job.pull.is_text_watermark):
            _refuse(job, column)
    watermark = Watermark(columns, None if job.pull.incrementing is None else table.column(job.pull.incrementing))
    if watermark.id_column is not None and watermark.id_column.kind not in INCREMENTING_KINDS:
        raise UsageError(
            f"table {job.name}: incrementing column {watermark.id_column.name} is {watermark.id_column.declared}; "
            "an integer or a decimal with declared digits can be one",
            fix=f"choose another tables[{job.name}].pull.incrementing, or strategy: timestamp",
        )
    if len({_clock(column) for column in columns}) > 1:
        raise UsageError(
            f"table {job.name}: watermarks {', '.join(job.pull.watermark)} mix columns with and without time zone, "
            "times and numbers, or numbers of different digits",
            fix="name watermark columns of one kind",
        )
    if job.pull.overlap_micros and watermark.moving and not watermark.has_clock:
        raise UsageError(
            f"table {job.name}: pull.overlap is a time, and {', '.join(watermark.order.columns)} holds none",
            fix=f"remove tables[{job.name}].pull.overlap",
        )
    return watermark


def _refuse(job: TableJob, column: Column) -> None:
    fix = f"choose another tables[{job.name}].pull.watermark, or strategy: full"
    if column.kind is Kind.TEXT:
        fix = f"where it holds ISO dates or times that all look alike: pull: {{watermark_text: true}}; else {fix}"
    raise UsageError(
        f"table {job.name}: watermark {column.name} is {column.declared}; "
        "date, timestamp, timestamptz, integer and decimal watermarks are read",
        fix=fix,
    )


def _clock(column: Column) -> str:
    if column.kind is Kind.DECIMAL:
        return f"decimal {column.scale}"
    if column.kind in CALENDAR_KINDS:
        return "zoned" if column.kind is Kind.TIMESTAMPTZ else "local"
    return column.kind.value


def _plain(value: Value | Number) -> str:
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


FIX = "when the replica has caught up (PostgreSQL: only a role with pg_read_all_stats sees that it has), or from the primary"


def describe_replica_lag(
    watermark: Watermark, checkpoint: CheckpointAt | None, moment: Moment, offset_at: Callable[[int], int]
) -> str:
    """Why a replica may not show all that the lake has; empty where it does, and for any other source.

    A watermark with a clock tells it by the rows; any other, and a whole fetch, by when the lake was brought up to date.
    """
    replayed, kept = moment.replayed_micros, None if checkpoint is None else checkpoint.checkpoint
    if moment.stopped or replayed is None or kept is None:
        return moment.stopped
    shown, mark = watermark_text(Kind.TIMESTAMPTZ, replayed), watermark.find_reached_mark(kept)
    if watermark.has_clock and mark is not None and isinstance(mark.value, int):
        here = replayed if watermark.kind is Kind.TIMESTAMPTZ else replayed + offset_at(replayed)
        brought = f"rows up to {watermark.text(mark)}" if is_behind(mark.value, here) else ""
    else:
        was = kept.as_of_micros
        late = was is not None and is_older(was, replayed)
        brought = f"what the source had at {watermark_text(Kind.TIMESTAMPTZ, was or 0)}" if late else ""
    if not brought:
        return ""
    return (
        f"the replica has replayed transactions up to {shown}, pulls have brought {brought}: what it does not show yet looks "
        "deleted or older"
    )


def check_replayed(job: TableJob, why: str) -> tuple[Unverified, ...]:
    """What to say of differences found on a replica that is behind the lake; nothing of any other source."""
    return (Unverified("table", job.name, why, f"sweep again {FIX}"),) if why else ()


def refuse_behind(job: TableJob, why: str) -> None:
    """Raises SourceError where a replica's older rows would be written over newer ones."""
    if why:
        raise SourceError(f"table {job.name}: {why}; nothing was written", fix=f"pull again {FIX}")
