"""HoodieStreamer's checkpoint: what is written can be gone on from, and no reading of it passes a row over."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.pull.hoodiestreamer import read_position, spell_checkpoint
from hudi_reconcile.core.tables.kinds import Kind

HOUR = 3_600_000_000
MICROS = st.integers(-62_000_000_000_000_000, 253_000_000_000_000_000)


@given(MICROS)
def test_local_time_is_read_back_with_its_ties(micros: int) -> None:
    found = read_position(Kind.TIMESTAMP, spell_checkpoint(Kind.TIMESTAMP, micros) or "")

    assert found is not None
    assert (found.earliest, found.latest) == (micros - 1, micros)


@given(MICROS, st.integers(-12, 14))
def test_zoned_time_is_never_read_later_than_it_was_reached_in_any_zone(micros: int, zone_hours: int) -> None:
    written = read_position(Kind.TIMESTAMP, spell_checkpoint(Kind.TIMESTAMPTZ, micros) or "")
    shown = read_position(Kind.TIMESTAMPTZ, spell_checkpoint(Kind.TIMESTAMP, micros + zone_hours * HOUR) or "")

    assert written is not None
    assert shown is not None
    assert int(written.latest) - zone_hours * HOUR <= micros
    assert int(shown.earliest) < micros <= int(shown.latest)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**20), max_value=10**20))
def test_number_is_read_back(number: Decimal) -> None:
    found = read_position(Kind.DECIMAL, spell_checkpoint(Kind.DECIMAL, number) or "")

    assert found is not None
    assert (found.earliest, found.latest) == (number - 1, number)


@given(st.text())
def test_any_text_is_a_position_or_none(text: str) -> None:
    for kind in Kind:
        read_position(kind, text)
