from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.tables.values import choose_replica_bound

SECOND = 1_000_000
micros = st.integers(0, 10**16)


def test_replica_that_lags_is_trusted_up_to_what_it_has_replayed_and_one_that_does_not_up_to_the_clock() -> None:
    assert choose_replica_bound(100 * SECOND, None)[0] == 95 * SECOND
    bound, why = choose_replica_bound(100 * SECOND, 40 * SECOND)
    assert (bound, "60 s behind the clock" in why) == (35 * SECOND, True)


@given(micros, st.one_of(st.none(), micros))
def test_bound_of_a_replica_lies_five_seconds_below_clock_and_replay(clock: int, replayed: int | None) -> None:
    assert choose_replica_bound(clock, replayed)[0] <= min(clock, clock if replayed is None else replayed) - 5 * SECOND
