"""The order of a pull and the window that it reads: its rows, its pages, the checkpoint that it may leave. Pure.

One order for all strategies: by watermark, then by incrementing id, NULL ids first; `incrementing` alone is an order by
that one column.

The upper end of a window is the safe bound, excluded: no transaction still open can commit a clock-given watermark below
it, so every row at or below the checkpoint was visible when it was read, and `>` loses no tie
(docs/adr/0002-window-ends.md). What is lost all the same, because a clock lied or a watermark did not move, is the sweep's
to find. A number has no clock, so its window has no upper end.

Pages tile the window and never split rows that stand at one mark: each begins exactly where the one before it ended.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

from hudi_reconcile.core.tables.kinds import Kind

_EXACT = Context(prec=80)
Number = int | Decimal
# Microseconds of a wall clock, a number, or ISO-like text.
Value = int | Decimal | str


@dataclass(frozen=True, slots=True)
class Order:
    """By which columns a pull goes forward: the greatest of `columns` that is not NULL, then `id_column`."""

    columns: tuple[str, ...]
    id_column: str | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """One row's place. `id` is None where the row has none or the order has no id."""

    value: Value
    id: Number | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """One end of a window; `inclusive` where the row that stands exactly there is inside."""

    mark: Mark
    inclusive: bool = False


def rank(mark: Mark) -> tuple[Any, ...]:
    """A sort key: by value, then id, a missing id first."""
    return (mark.value, mark.id is not None, 0 if mark.id is None else mark.id)


def is_after(edge: Edge | None, mark: Mark) -> bool:
    """True where the row lies above this lower end; everything does where there is none."""
    if edge is None:
        return True
    return rank(mark) > rank(edge.mark) or (edge.inclusive and rank(mark) == rank(edge.mark))


def is_before(edge: Edge | None, mark: Mark) -> bool:
    """True where the row lies below this upper end; everything does where there is none."""
    if edge is None:
        return True
    return rank(mark) < rank(edge.mark) or (edge.inclusive and rank(mark) == rank(edge.mark))


def find_value_above(value: Value) -> Value:
    """A value above this one, as an open end for all that there is now.

    >>> find_value_above(7), find_value_above("2026-01-01")
    (Decimal('8'), '2026-01-01~')
    """
    return f"{value}~" if isinstance(value, str) else _EXACT.add(Decimal(value), 1)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY_MICROS = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Window:
    """Rows to read. No lower end: from the beginning, NULL watermarks included. No upper end: all there is."""

    order: Order
    lower: Edge | None = None
    upper: Edge | None = None


def build_full_window(order: Order) -> Window:
    """Every row: a first load or a full fetch. The checkpoint it leaves is still held below the bound."""
    return Window(order)


def build_next_window(order: Order, reached: Mark | None, bound: Value | None, *, overlap_micros: int = 0) -> Window:
    """The window after a checkpoint. Empty where the bound has not moved past it: nothing is read.

    An overlap counts on clocks only; it reaches behind the checkpoint whatever ids stand there. A text has no bound that would
    wait for its second, or its day, to be over: rows of the last one read are read again, since more may have come.
    """
    lower = None if reached is None else Edge(reached)
    if reached is not None and isinstance(reached.value, str) and _may_tie(reached.value):
        lower = Edge(Mark(reached.value), inclusive=True)
    if reached is not None and overlap_micros and isinstance(reached.value, int):
        lower = Edge(Mark(reached.value - overlap_micros))
    return Window(order, lower, None if bound is None else Edge(Mark(bound)))


def _may_tie(text: str) -> bool:
    """Whether more rows may come with this very text: unless it has microseconds.

    >>> _may_tie("2026-03-01"), _may_tie("2026-03-01 10:08:00.123"), _may_tie("2026-03-01T10:08:00.123456Z")
    (True, True, False)
    """
    return _MICROS.search(text) is None


def holds(window: Window, mark: Mark | None) -> bool:
    """True where a row with that mark is read; None is a row without a watermark."""
    if mark is None:
        return window.lower is None
    return is_after(window.lower, mark) and is_before(window.upper, mark)


def is_empty(window: Window) -> bool:
    """True where no row can lie in the window, so that no query is needed."""
    lower, upper = window.lower, window.upper
    if lower is None or upper is None:
        return False
    if rank(lower.mark) == rank(upper.mark):
        return not (lower.inclusive and upper.inclusive)
    low, high = lower.mark.value, upper.mark.value
    if window.order.id_column is None and isinstance(low, int) and isinstance(high, int):
        return high - low <= (0 if lower.inclusive or upper.inclusive else 1)
    return rank(upper.mark) < rank(lower.mark)


def choose_next_checkpoint(before: Mark | None, greatest: Mark | None) -> Mark | None:
    """The checkpoint after a pull: the greatest mark read below the bound; never falls, None until one was seen."""
    known = [mark for mark in (before, greatest) if mark is not None]
    return max(known, key=rank) if known else None


def cut_bound(kind: Kind, bound_utc_micros: int, *, zone_offset_micros: int, precision: int | None) -> int:
    """The bound in the watermark's own clock, cut down to its precision.

    A column that keeps whole seconds (or days) may still get rows of the current second (day): only what lies wholly
    before the bound is final. `zone_offset_micros` is what the source's zone is ahead of UTC; unused for zoned kinds.
    """
    local = bound_utc_micros if kind is Kind.TIMESTAMPTZ else bound_utc_micros + zone_offset_micros
    if kind is Kind.DATE:
        return local // DAY_MICROS * DAY_MICROS
    step: int = 10 ** (6 - min(6, 6 if precision is None else precision))  # a float would round the bound
    return local // step * step


def watermark_text(kind: Kind, micros: int) -> str:
    """ISO text of a watermark: a date, or a timestamp with six fraction digits, `Z` where the kind has a zone."""
    # isoformat, not strftime: that leaves out the zeros of a year before 1000, and SQL reads 44-03-15 as 2044.
    moment = (_EPOCH + timedelta(microseconds=micros)).replace(tzinfo=None)
    if kind is Kind.DATE:
        return moment.date().isoformat()
    return moment.isoformat(timespec="microseconds") + ("Z" if kind is Kind.TIMESTAMPTZ else "")


@dataclass(frozen=True, slots=True)
class Ahead:
    """The next rows of a window in order: how many there are, and the least and greatest value among them.

    Values are watermarks, or, where one watermark was asked for, ids; rows where that value is NULL are not counted.
    """

    rows: int
    first: Value | None
    last: Value | None


@dataclass(frozen=True, slots=True)
class PageRange:
    """One page's rows, and the window that is left after it; None after the last. `is_group`: rows of one mark, whole."""

    window: Window
    rest: Window | None
    is_group: bool = False


# Looks at the next so many rows of a window; at one watermark's ids where a value is given.
Look = Callable[[Window, int, Value | None], Ahead]


def cut_next_page(window: Window, limit_rows: int, look: Look) -> PageRange:
    """The first rows of the window, at most `limit_rows`, or more where so many stand at one mark.

    Rows without a watermark come with the first page, rows without an id with the first of their watermark.
    """
    preview = look(window, limit_rows + 1, None)
    if preview.rows <= limit_rows or preview.last is None:
        return PageRange(window, None)
    if preview.first != preview.last:
        return _cut(window, Edge(Mark(preview.last)))
    if window.order.id_column is None:
        return _cut(window, Edge(Mark(preview.last), inclusive=True), is_group=True)
    inner = look(window, limit_rows + 1, preview.last)
    last = _number(inner.last)
    if inner.rows > limit_rows and inner.first != inner.last:
        return _cut(window, Edge(Mark(preview.last, last)))
    return _cut(window, Edge(Mark(preview.last, last), inclusive=True), is_group=True)


def _cut(window: Window, end: Edge, *, is_group: bool = False) -> PageRange:
    rest = replace(window, lower=Edge(end.mark, inclusive=not end.inclusive))
    return PageRange(replace(window, upper=end), rest, is_group)


def _number(value: Value | None) -> Number | None:
    return None if isinstance(value, str) else value


_MICRO = timedelta(microseconds=1)


def watermark_micros(kind: Kind, text: str) -> int:
    """Microseconds since 1970-01-01 of the watermark's own wall clock, UTC for a kind with a zone.

    Raises:
        ValueError: no ISO text of the kind: a date, a time without zone, or a time with one.

    >>> watermark_micros(Kind.TIMESTAMPTZ, "1970-01-01T01:00:01+01:00"), watermark_micros(Kind.DATE, "1970-01-02")
    (1000000, 86400000000)
    """
    if kind is Kind.DATE:
        return (datetime.combine(_date(text), datetime.min.time(), tzinfo=UTC) - _EPOCH) // _MICRO
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError("expected an ISO time, such as 2026-03-01T10:08:00.000000") from None
    if kind is Kind.TIMESTAMPTZ and moment.tzinfo is None:
        raise ValueError("expected a time with its zone, such as 2026-03-01T10:08:00Z")
    if kind is not Kind.TIMESTAMPTZ and moment.tzinfo is not None:
        raise ValueError("expected a time without zone, as the column has none")
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - _EPOCH) // _MICRO


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise ValueError("expected a date, such as 2026-03-01") from None


_MICROS = re.compile(r"[.,][0-9]{6}")
# Digits as 0. An offset other than Z may differ from row to row, and then text does not sort as time does.
_ISO = re.compile(r"0000-00-00([T ]00:00(:00([.,]0{1,9})?)?Z?)?")


def list_odd_shapes(shapes: tuple[str, ...], reached: Mark | None) -> tuple[str, ...]:
    """The shapes that are not ISO, or, where they are, all of them if there is more than one.

    >>> list_odd_shapes(("0000-00-00", "00.00.0000"), None), list_odd_shapes(("0000-00-00 00:00:00",), None)
    (('00.00.0000',), ())
    """
    before = {re.sub("[0-9]", "0", reached.value)} if reached and isinstance(reached.value, str) else set()
    odd = tuple(shape for shape in shapes if not _ISO.fullmatch(shape))
    every = sorted({*shapes, *before})
    return odd or (tuple(every) if len(every) > 1 else ())
