"""Pages in a row, killed anywhere, beside writers: no row below the bound is lost, none of a still table is read twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.pull.cursor import (
    Ahead,
    Edge,
    Mark,
    Order,
    Value,
    Window,
    build_full_window,
    build_next_window,
    choose_next_checkpoint,
    cut_next_page,
    holds,
    is_empty,
    rank,
)

BOTH, AT = Order(("at",), "id"), Order(("at",))
BOUND = 6
# Few values, so that most tables are ties: watermark (None: NULL), id (None: NULL).
row = st.tuples(st.none() | st.integers(0, 7), st.none() | st.integers(0, 3))
rows = st.lists(row, max_size=25)
limits = st.integers(1, 4)
orders = st.sampled_from([AT, BOTH])

Row = tuple[int | None, int | None]


def mark(found: Row, order: Order) -> Mark | None:
    at, id_value = found
    return None if at is None else Mark(at, id_value if order is BOTH else None)


def inside(table: list[Row], window: Window) -> list[Row]:
    return [found for found in table if holds(window, mark(found, window.order))]


def ahead(table: list[Row], window: Window, limit: int, at: Value | None) -> Ahead:
    marks = [here for found in inside(table, window) if (here := mark(found, window.order))]
    values: list[int] = [here.value for here in marks]  # type: ignore[misc]
    if at is not None:
        values = [here.id for here in marks if here.value == at and here.id is not None]  # type: ignore[misc]
    values = sorted(values)[:limit]
    return Ahead(len(values), values[0] if values else None, values[-1] if values else None)


@given(table=rows, limit=limits, order=orders, first=st.booleans())
def test_pages_of_a_still_table_hold_every_row_below_the_bound_once(
    table: list[Row], limit: int, order: Order, *, first: bool
) -> None:
    start = build_full_window(order) if first else build_next_window(order, Mark(1, 1 if order is BOTH else None), None)
    rest: Window | None = Window(order, start.lower, Edge(Mark(BOUND)))
    wanted = inside(table, rest) if rest else []
    read: list[Row] = []
    pages = 0
    while rest is not None:
        page = cut_next_page(rest, limit, lambda window, count, at: ahead(table, window, count, at))
        found = inside(table, page.window)
        groups = {mark(one, order) for one in found if one[0] is not None and (order is AT or one[1] is not None)}
        nulls = sum(one[0] is None or (order is BOTH and one[1] is None) for one in found)
        assert len(found) - nulls <= limit or len(groups) == 1, "more than a page, yet not one group"
        assert page.rest is None or found, "a page that brings nothing"
        read += found
        pages += 1
        rest = page.rest

    assert sorted(read, key=str) == sorted(wanted, key=str)
    assert pages <= len(wanted) + 1


writes = st.lists(st.tuples(st.sampled_from(["above", "move", "delete", "kill"]), row), max_size=12)


@given(rows, limits, orders, writes)
def test_beside_writers_and_kills_no_row_that_stays_below_the_bound_is_lost(
    table: list[Row], limit: int, order: Order, events: list[tuple[str, Row]]
) -> None:
    """Writers add rows at or above the bound, move rows there, delete rows; kills make the pull begin at its checkpoint."""
    table = list(table)
    steps = iter(events)
    reached: Mark | None = None
    read: set[Row] = set()
    rest = Window(order, None, Edge(Mark(BOUND)))
    for _ in range(100):
        page = cut_next_page(rest, limit, lambda window, count, at: ahead(table, window, count, at))
        event, other = next(steps, ("", (None, None)))
        if event == "above":
            table.append((BOUND + (other[0] or 0), other[1]))
        elif event in ("move", "delete") and table:
            gone = table.pop((other[0] or 0) % len(table))
            if event == "move":
                table.append((BOUND + 1, gone[1]))
        found = inside(table, page.window)
        read |= set(found)
        reached = choose_next_checkpoint(
            reached, max((m for one in found if (m := mark(one, order))), key=rank, default=None)
        )
        left = build_next_window(order, reached, BOUND) if event == "kill" else page.rest
        if left is None or is_empty(left):
            break
        rest = left
    else:
        raise AssertionError("the pages do not end")

    assert reached is None or rank(reached) < rank(Mark(BOUND))
    assert {one for one in table if one[0] is not None and one[0] < BOUND} <= read


@given(rows, limits)
def test_an_incrementing_column_with_gaps_is_read_to_the_end_that_was_taken_at_the_start(
    table: list[Row], limit: int
) -> None:
    """Each page another row arrives on top: the pull ends all the same."""
    table = [(at, None) for at, _ in table]
    top = max((at for at, _ in table if at is not None), default=0)
    rest: Window | None = Window(AT, None, Edge(Mark(top + 1)))
    pages = 0
    while rest is not None:
        table.append((top + 1 + pages, None))
        rest = cut_next_page(rest, limit, lambda window, count, at: ahead(table, window, count, at)).rest
        pages += 1

    assert pages <= len(table)
