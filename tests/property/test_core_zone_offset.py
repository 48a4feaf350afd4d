"""A writer's zone from its newest row: never a wrong one, whatever the row's age."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.pull.zone_offset import find_zone_hours

MINUTE = 60_000_000
NOW = 10**15


@given(halves=st.integers(-28, 28), age=st.integers(0, 48 * 60), since=st.integers(0, 48 * 60))
def test_hours_that_are_told_hold_those_of_the_writer_and_never_none_at_all(halves: int, age: int, since: int) -> None:
    newest = NOW + halves * 30 * MINUTE - min(age, since) * MINUTE

    hours = find_zone_hours(newest, NOW, since * MINUTE)

    assert 0 not in hours
    assert not hours or halves / 2 in hours
    if halves:
        assert find_zone_hours(NOW + halves * 30 * MINUTE, NOW, 0) == (halves / 2,)
