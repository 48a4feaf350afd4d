"""Pulls one after the other: no watermark below the bound is read twice or never, and the checkpoint never falls."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.pull.cursor import (
    Mark,
    Order,
    build_next_window,
    choose_next_checkpoint,
    cut_bound,
    holds,
    is_empty,
    rank,
    watermark_text,
)
from hudi_reconcile.core.tables.kinds import Kind

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
micros = st.integers(-(10**17), 10**17)
DAY = 86_400_000_000
small = st.integers(-30, 30)


AT = Order(("at",))


@given(st.lists(st.integers(0, 60), max_size=30), st.lists(st.integers(0, 70), min_size=1, max_size=6))
def test_pulls_read_every_watermark_below_the_bound_exactly_once(values: list[int], bounds: list[int]) -> None:
    checkpoint: Mark | None = None
    read: list[int] = []
    for bound in bounds:
        window = build_next_window(AT, checkpoint, bound)
        found = [value for value in values if holds(window, Mark(value))]
        assert not (is_empty(window) and found)
        after = choose_next_checkpoint(checkpoint, Mark(max(found)) if found else None)
        assert after is None or rank(after) < rank(Mark(max(bounds)))
        assert checkpoint is None or (after is not None and rank(after) >= rank(checkpoint))
        checkpoint = after
        read += found

    assert sorted(read) == sorted(value for value in values if value < max(bounds))


@given(small, st.integers(0, 20), small, small)
def test_overlap_only_widens_the_window_downwards(checkpoint: int, overlap: int, bound: int, value: int) -> None:
    narrow = build_next_window(AT, Mark(checkpoint), bound)
    wide = build_next_window(AT, Mark(checkpoint), bound, overlap_micros=overlap)

    assert holds(wide, Mark(value)) or not holds(narrow, Mark(value))


@given(micros, st.integers(-DAY, DAY), st.integers(0, 6), micros)
def test_bound_in_the_watermarks_precision_lies_above_no_value_that_may_still_come(
    utc: int, offset: int, precision: int, later: int
) -> None:
    """A row that commits at or after the bound gets its time cut (or rounded up) to the precision: it must not be below."""
    step = 10 ** (6 - precision)
    bound = cut_bound(Kind.TIMESTAMP, utc, zone_offset_micros=offset, precision=precision)
    still_to_come = max(utc, later) + offset

    assert still_to_come // step * step >= bound
    assert utc + offset - step < bound <= utc + offset


@given(micros, st.integers(-DAY, DAY), micros)
def test_bound_of_a_date_lies_above_no_day_that_may_still_come(utc: int, offset: int, later: int) -> None:
    bound = cut_bound(Kind.DATE, utc, zone_offset_micros=offset, precision=None)

    assert (max(utc, later) + offset) // DAY * DAY >= bound


@given(st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999))
def test_watermark_text_is_read_back_as_the_same_microsecond(value: int) -> None:
    text = watermark_text(Kind.TIMESTAMPTZ, value)

    assert (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1) == value
    assert len(text) == len("2026-01-01T00:00:00.000000Z")
