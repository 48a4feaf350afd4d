"""How a sweep with a budget goes through a table's segments: how many at a time, and when it stops. Pure arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

_FIRST_SHARE = 32  # of the segments, to learn the pace from
_LOOKS_AGAIN = 2  # how often the rows of an unequal segment are read after its digest


@dataclass(frozen=True, slots=True)
class Pace:
    """How far a table is: of `segments`, `done` took `spent_seconds`, the last batch held `last`, `unequal` differ.

    `left_seconds` is what is left of the budget.
    """

    segments: int
    done: int
    last: int
    unequal: int
    spent_seconds: float
    left_seconds: float


def next_batch(pace: Pace) -> int:
    """How many segments come next; 0 where the table is done or the budget is.

    The first batch is always compared. Each later one is at most twice the last, and no more than the time left allows at
    the pace so far, when what the unequal segments still need is taken off.
    """
    rest = pace.segments - pace.done
    if not pace.done:
        return -(-pace.segments // _FIRST_SHARE)
    each = pace.spent_seconds / pace.done
    free = pace.left_seconds - _LOOKS_AGAIN * each * pace.unequal
    if free <= 0:
        return 0
    fits = int(free / each) if each > 0 and free / each < rest else rest
    return min(rest, 2 * pace.last, fits)


def share_seconds(left_seconds: float, tables_left: int) -> float:
    """What one of several tables may take of what is left: an even share, so that what one leaves falls to the next ones."""
    return max(0.0, left_seconds) / max(1, tables_left)
