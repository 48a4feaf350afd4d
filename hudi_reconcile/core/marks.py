"""Where a row stands in the order of a pull: its watermark, and where the strategy has one, its incrementing id. Pure.

One order for all strategies: by watermark, then by id, NULL ids first. `incrementing` alone is an order by that one column.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

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


def beyond(value: Value) -> Value:
    """A value above this one, as an open end for all that there is now.

    >>> beyond(7), beyond("2026-01-01")
    (Decimal('8'), '2026-01-01~')
    """
    return f"{value}~" if isinstance(value, str) else _EXACT.add(Decimal(value), 1)
