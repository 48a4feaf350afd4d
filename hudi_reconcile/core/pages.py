"""Where the next page of a pull ends. Pure: looks ahead through a function, and never splits rows that stand at one mark.

Pages tile the window: each begins exactly where the one before it ended, so no row below the bound is in none or in two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hudi_reconcile.core.marks import Edge, Mark, Number, Value
from hudi_reconcile.core.window import Window


@dataclass(frozen=True, slots=True)
class Ahead:
    """The next rows of a window in order: how many there are, and the least and greatest value among them.

    Values are watermarks, or, where one watermark was asked for, ids; rows where that value is NULL are not counted.
    """

    rows: int
    first: Value | None
    last: Value | None


@dataclass(frozen=True, slots=True)
class Page:
    """One page's rows, and the window that is left after it; None after the last. `is_group`: rows of one mark, whole."""

    window: Window
    rest: Window | None
    is_group: bool = False


# Looks at the next so many rows of a window; at one watermark's ids where a value is given.
Look = Callable[[Window, int, Value | None], Ahead]


def next_page(window: Window, limit_rows: int, look: Look) -> Page:
    """The first rows of the window, at most `limit_rows`, or more where so many stand at one mark.

    Rows without a watermark come with the first page, rows without an id with the first of their watermark.
    """
    found = look(window, limit_rows + 1, None)
    if found.rows <= limit_rows or found.last is None:
        return Page(window, None)
    if found.first != found.last:
        return _cut(window, Edge(Mark(found.last)))
    if window.order.id_column is None:
        return _cut(window, Edge(Mark(found.last), inclusive=True), is_group=True)
    inner = look(window, limit_rows + 1, found.last)
    last = _number(inner.last)
    if inner.rows > limit_rows and inner.first != inner.last:
        return _cut(window, Edge(Mark(found.last, last)))
    return _cut(window, Edge(Mark(found.last, last), inclusive=True), is_group=True)


def _cut(window: Window, end: Edge, *, is_group: bool = False) -> Page:
    rest = replace(window, lower=Edge(end.mark, inclusive=not end.inclusive))
    return Page(replace(window, upper=end), rest, is_group)


def _number(value: Value | None) -> Number | None:
    return None if isinstance(value, str) else value
