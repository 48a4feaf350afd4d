"""The window of a pull: which rows it reads, and which checkpoint it may leave behind. Pure.

A pull reads rows that lie between two ends in the order of `core/marks.py`. The upper end is the safe bound, excluded: no
transaction still open can commit a clock-given watermark below it, so every row at or below the checkpoint was
visible when it was read, and `>` loses no tie (docs/adr/0002-window-ends.md). What is lost all the same, because a clock
lied or a watermark did not move, is the sweep's to find. A number has no clock, so its window has no upper end.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hudi_reconcile.core.kinds import Kind
from hudi_reconcile.core.marks import Edge, Mark, Order, Value, is_after, is_before, rank

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_MICROS = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Window:
    """Rows to read. No lower end: from the beginning, NULL watermarks included. No upper end: all there is."""

    order: Order
    lower: Edge | None = None
    upper: Edge | None = None


def full_window(order: Order) -> Window:
    """Every row: a first load or a full fetch. The checkpoint it leaves is still held below the bound."""
    return Window(order)


def next_window(order: Order, reached: Mark | None, bound: Value | None, *, overlap_micros: int = 0) -> Window:
    """The window after a checkpoint. Empty where the bound has not moved past it: nothing is read.

    An overlap counts on clocks only; it reaches behind the checkpoint whatever ids stand there.
    """
    lower = None if reached is None else Edge(reached)
    if reached is not None and overlap_micros and isinstance(reached.value, int):
        lower = Edge(Mark(reached.value - overlap_micros))
    return Window(order, lower, None if bound is None else Edge(Mark(bound)))


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


def next_checkpoint(before: Mark | None, greatest: Mark | None) -> Mark | None:
    """The checkpoint after a pull: the greatest mark read below the bound; never falls, None until one was seen."""
    known = [mark for mark in (before, greatest) if mark is not None]
    return max(known, key=rank) if known else None


def bound_for(kind: Kind, bound_utc_micros: int, *, zone_offset_micros: int, precision: int | None) -> int:
    """The bound in the watermark's own clock, cut down to its precision.

    A column that keeps whole seconds (or days) may still get rows of the current second (day): only what lies wholly
    before the bound is final. `zone_offset_micros` is what the source's zone is ahead of UTC; unused for zoned kinds.
    """
    local = bound_utc_micros if kind is Kind.TIMESTAMPTZ else bound_utc_micros + zone_offset_micros
    if kind is Kind.DATE:
        return local // _DAY_MICROS * _DAY_MICROS
    step: int = 10 ** (6 - min(6, 6 if precision is None else precision))  # a float would round the bound
    return local // step * step


def watermark_text(kind: Kind, micros: int) -> str:
    """ISO text of a watermark: a date, or a timestamp with six fraction digits, `Z` where the kind has a zone."""
    # isoformat, not strftime: that leaves out the zeros of a year before 1000, and SQL reads 44-03-15 as 2044.
    moment = (_EPOCH + timedelta(microseconds=micros)).replace(tzinfo=None)
    if kind is Kind.DATE:
        return moment.date().isoformat()
    return moment.isoformat(timespec="microseconds") + ("Z" if kind is Kind.TIMESTAMPTZ else "")
