"""Time limits: which end comes first, how long it is until then, and what is said of a table that met it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.deadline import (
    RUN_KEY,
    Deadline,
    build_unbegun_error,
    build_unfinished_error,
    find_first_deadline,
    name_table_limit,
)

SECONDS = st.floats(0, 1e9)


@given(SECONDS, SECONDS)
def test_time_that_is_left_is_never_negative_and_gone_exactly_when_the_deadline_is_over(at: float, now: float) -> None:
    deadline = Deadline("k", "1s", at)

    assert deadline.left_seconds(now) >= 0
    assert deadline.is_over(now) == (deadline.left_seconds(now) == 0)


@given(st.lists(st.none() | SECONDS, max_size=4))
def test_first_deadline_is_the_earliest_there_is(ends: list[float | None]) -> None:
    found = find_first_deadline(*(None if at is None else Deadline("k", "1s", at) for at in ends))

    assert (None if found is None else found.at_seconds) == min((at for at in ends if at is not None), default=None)


@pytest.mark.parametrize("key", [name_table_limit("orders"), RUN_KEY])
def test_error_names_the_table_and_the_limit_and_says_to_raise_it(key: str) -> None:
    error = build_unfinished_error(Deadline(key, "10m", 0), "orders")

    assert error.message == f"table orders was ended before it was done: {key} of 10m is over"
    assert error.fix.startswith(f"raise {key}, or narrow the work: ")


def test_table_that_the_run_did_not_come_to_is_not_called_ended() -> None:
    assert build_unbegun_error(Deadline(RUN_KEY, "2h", 0), "orders").message == (
        "table orders was not begun: run.time_limit of 2h is over"
    )
