"""How many buckets a table's writer has, from where its keys lie."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.lake.buckets import find_counts

CODES = st.lists(st.integers(0, 2**31 - 2), min_size=1, max_size=20)


@given(CODES, st.integers(1, 100_000))
def test_number_that_placed_the_keys_is_among_the_counts_and_each_of_them_places_all(
    codes: list[int], count: int
) -> None:
    placed = [(code, code % count) for code in codes]

    found = find_counts(placed)

    assert count in found
    assert all(code % one == bucket for one in found for code, bucket in placed)


@given(CODES, st.lists(st.integers(0, 99_999), min_size=20, max_size=20), st.integers(1, 100_000))
def test_number_that_puts_one_key_elsewhere_is_no_count(codes: list[int], buckets: list[int], count: int) -> None:
    placed = list(zip(codes, buckets, strict=False))

    assert (count in find_counts(placed)) == all(code % count == bucket for code, bucket in placed)
