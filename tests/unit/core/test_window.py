from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from hudi_reconcile.core.pull.cursor import (
    Edge,
    Mark,
    Order,
    Window,
    build_full_window,
    build_next_window,
    choose_next_checkpoint,
    cut_bound,
    is_empty,
    watermark_text,
)
from hudi_reconcile.core.tables.kinds import Kind

HOUR = 3_600_000_000


def micros(text: str) -> int:
    moment = datetime.fromisoformat(text).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return moment // timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("kind", "offset_hours", "precision", "expected"),
    [
        (Kind.TIMESTAMPTZ, 2, 6, "2026-03-01T23:30:59.123456"),
        (Kind.TIMESTAMP, 0, 6, "2026-03-01T23:30:59.123456"),
        (Kind.TIMESTAMP, 2, 6, "2026-03-02T01:30:59.123456"),
        (Kind.TIMESTAMP, 0, 3, "2026-03-01T23:30:59.123"),
        (Kind.TIMESTAMP, 0, 0, "2026-03-01T23:30:59"),
        (Kind.TIMESTAMP, 0, None, "2026-03-01T23:30:59.123456"),
        (Kind.DATE, 0, None, "2026-03-01T00:00:00"),
        (Kind.DATE, 2, None, "2026-03-02T00:00:00"),
        (Kind.DATE, -24, None, "2026-02-28T00:00:00"),
    ],
)
def test_bound_stands_in_the_watermarks_own_clock_and_precision(
    kind: Kind, offset_hours: int, precision: int | None, expected: str
) -> None:
    utc = micros("2026-03-01T23:30:59.123456")

    found = cut_bound(kind, utc, zone_offset_micros=offset_hours * HOUR, precision=precision)

    assert found == micros(expected)


def test_bound_before_1970_is_cut_downwards_too() -> None:
    assert cut_bound(Kind.TIMESTAMP, -1, zone_offset_micros=0, precision=0) == -1_000_000
    assert cut_bound(Kind.DATE, -1, zone_offset_micros=0, precision=None) == -24 * HOUR


AT = Order(("at",))
BOTH = Order(("at",), "id")


def window(after: int | None, before: int | None) -> Window:
    return build_next_window(AT, None if after is None else Mark(after), before)


def test_next_window_opens_behind_the_checkpoint_by_the_overlap() -> None:
    assert build_next_window(AT, Mark(1000), 5000, overlap_micros=300) == window(700, 5000)
    assert build_next_window(BOTH, Mark(1000, 7), 5000, overlap_micros=300).lower == Edge(Mark(700))


def test_window_without_a_checkpoint_reads_from_the_beginning_up_to_the_bound() -> None:
    assert build_next_window(AT, None, 5000, overlap_micros=300) == Window(AT, None, Edge(Mark(5000)))


@pytest.mark.parametrize(
    ("found", "empty"),
    [
        (window(10, 12), False),
        (window(10, 11), True),
        (window(10, 10), True),
        (window(10, 5), True),
        (window(None, 5), False),
        (build_full_window(AT), False),
        (Window(AT, Edge(Mark(10), inclusive=True), Edge(Mark(11))), False),
        (Window(AT, Edge(Mark(10), inclusive=True), Edge(Mark(10), inclusive=True)), False),
        (Window(BOTH, Edge(Mark(10, 4)), Edge(Mark(11))), False),
        (Window(BOTH, Edge(Mark(10, 4)), Edge(Mark(10))), True),
        (build_next_window(Order(("id",)), Mark(Decimal(10)), None), False),
    ],
)
def test_window_is_empty_where_no_watermark_fits_between_its_ends(found: Window, *, empty: bool) -> None:
    assert is_empty(found) is empty


@pytest.mark.parametrize(
    ("before", "greatest", "after"),
    [
        (None, None, None), (Mark(5), None, Mark(5)), (None, Mark(7), Mark(7)), (Mark(5), Mark(7), Mark(7)),
        (Mark(7), Mark(5, 9), Mark(7)), (Mark(-1), Mark(0), Mark(0)), (Mark(7), Mark(7, 1), Mark(7, 1)),
        (Mark(7, 2), Mark(7, 1), Mark(7, 2)),
    ],
)  # fmt: skip
def test_checkpoint_rises_to_what_was_read_and_never_falls(
    before: Mark | None, greatest: Mark | None, after: Mark | None
) -> None:
    assert choose_next_checkpoint(before, greatest) == after


@pytest.mark.parametrize(
    ("kind", "at", "text"),
    [
        (Kind.TIMESTAMP, "2026-03-01T00:00:00", "2026-03-01T00:00:00.000000"),
        (Kind.TIMESTAMP, "2026-03-01T01:02:03.000004", "2026-03-01T01:02:03.000004"),
        (Kind.TIMESTAMPTZ, "2026-03-01T01:02:03.000004", "2026-03-01T01:02:03.000004Z"),
        (Kind.DATE, "2026-03-01T00:00:00", "2026-03-01"),
        (Kind.TIMESTAMP, "1969-12-31T23:59:59.999999", "1969-12-31T23:59:59.999999"),
        (Kind.TIMESTAMP, "0044-03-15T00:00:00", "0044-03-15T00:00:00.000000"),
        (Kind.DATE, "0044-03-15T00:00:00", "0044-03-15"),
    ],
)
def test_watermark_is_told_as_iso_text(kind: Kind, at: str, text: str) -> None:
    assert watermark_text(kind, micros(at)) == text


@pytest.mark.parametrize("digits", [7, 9])
def test_column_of_nanoseconds_has_a_bound_of_whole_microseconds(digits: int) -> None:
    bound = cut_bound(Kind.TIMESTAMP, 1_717_200_000_000_001, zone_offset_micros=0, precision=digits)

    assert (bound, type(bound)) == (1_717_200_000_000_001, int)
