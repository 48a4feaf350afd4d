"""The window of a pull: which rows it reads, and which checkpoint it may leave behind. Pure arithmetic on microseconds.

A pull reads rows whose greatest non-null watermark lies in `(after, before)`, both ends excluded. `before` is the safe
bound: no transaction still open can commit a clock-given watermark below it, so every row at or below the checkpoint was
visible when it was read, and `>` loses no tie (docs/adr/0002-window-ends.md). What is lost all the same, because a clock
lied or a watermark did not move, is the sweep's to find.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hudi_reconcile.core.kinds import Kind

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_MICROS = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Window:
    """Rows to read. `after_micros` None: from the beginning, NULL watermarks included. `before_micros` None: no upper end."""

    columns: tuple[str, ...]
    after_micros: int | None
    before_micros: int | None


def full_window(columns: tuple[str, ...]) -> Window:
    """Every row: a first load or a full fetch. The checkpoint it leaves is still held below the bound."""
    return Window(columns, None, None)


def next_window(
    columns: tuple[str, ...], checkpoint_micros: int | None, bound_micros: int, *, overlap_micros: int
) -> Window:
    """The window after a checkpoint. Empty (after >= before) where the bound has not moved past it: nothing is read."""
    after = None if checkpoint_micros is None else checkpoint_micros - overlap_micros
    return Window(columns, after, bound_micros)


def is_empty(window: Window) -> bool:
    """True where no watermark can lie in the window, so that no query is needed."""
    if window.after_micros is None or window.before_micros is None:
        return False
    return window.before_micros - window.after_micros <= 1


def next_checkpoint(before_micros: int | None, greatest_micros: int | None) -> int | None:
    """The checkpoint after a pull: the greatest watermark read below the bound; never falls, None until one was seen."""
    known = [value for value in (before_micros, greatest_micros) if value is not None]
    return max(known) if known else None


def bound_for(kind: Kind, bound_utc_micros: int, *, zone_offset_micros: int, precision: int | None) -> int:
    """The bound in the watermark's own clock, cut down to its precision.

    A column that keeps whole seconds (or days) may still get rows of the current second (day): only what lies wholly
    before the bound is final. `zone_offset_micros` is what the source's zone is ahead of UTC; unused for zoned kinds.
    """
    local = bound_utc_micros if kind is Kind.TIMESTAMPTZ else bound_utc_micros + zone_offset_micros
    if kind is Kind.DATE:
        return local // _DAY_MICROS * _DAY_MICROS
    step: int = 10 ** (6 - (6 if precision is None else precision))
    return local // step * step


def watermark_text(kind: Kind, micros: int) -> str:
    """ISO text of a watermark: a date, or a timestamp with six fraction digits, `Z` where the kind has a zone."""
    # isoformat, not strftime: that leaves out the zeros of a year before 1000, and SQL reads 44-03-15 as 2044.
    moment = (_EPOCH + timedelta(microseconds=micros)).replace(tzinfo=None)
    if kind is Kind.DATE:
        return moment.date().isoformat()
    return moment.isoformat(timespec="microseconds") + ("Z" if kind is Kind.TIMESTAMPTZ else "")
