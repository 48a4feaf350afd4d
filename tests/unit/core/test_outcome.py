from __future__ import annotations

from itertools import combinations

import pytest

from hudi_reconcile.core.outcome import Outcome, find_gravest

# Contract §4: 3 over 5 over 4 over 1 over 0. A usage error mends before anything but what could not be compared.
GRAVITY = (3, 2, 5, 4, 1, 0)


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        ("clean", 0),
        ("corrected", 0),
        ("pulled", 0),
        ("drift", 1),
        ("usage", 2),
        ("unverified", 3),
        ("incomplete", 4),
        ("refused", 5),
    ],
)
def test_outcome_has_the_exit_code_of_the_contract(outcome: str, code: int) -> None:
    assert Outcome(outcome).exit_code == code


def test_every_outcome_of_the_contract_exists_and_one_of_approve() -> None:
    assert len(Outcome) == 8 + 1


@pytest.mark.parametrize("pair", list(combinations(Outcome, 2)))
def test_gravest_of_two_is_the_one_earlier_in_the_contract_in_either_order(pair: tuple[Outcome, Outcome]) -> None:
    expected = min((outcome.exit_code for outcome in pair), key=GRAVITY.index)

    assert find_gravest(pair).exit_code == expected
    assert find_gravest(reversed(pair)) is find_gravest(pair)


def test_gravest_of_nothing_is_an_error_and_never_clean() -> None:
    with pytest.raises(ValueError, match="nothing ran"):
        find_gravest([])
