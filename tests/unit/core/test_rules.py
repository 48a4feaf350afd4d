"""What a rule asks for, in a few words."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hudi_reconcile.core.rules.rules import Drift, Freshness, describe_check


@pytest.mark.parametrize(
    ("max_age", "said"),
    [
        (timedelta(hours=26), "26 h"),
        (timedelta(days=7), "7 d"),
        (timedelta(minutes=90), "90 min"),
        (timedelta(seconds=30), "30 s"),
        (timedelta(milliseconds=1500), "1500 ms"),
        (timedelta(0), "0 s"),
    ],
)
def test_rule_on_an_age_says_it_in_the_largest_unit_that_is_exact(max_age: timedelta, said: str) -> None:
    assert describe_check(Freshness(max_age)) == f"newest watermark is at most {said} old"
    assert describe_check(Drift(("deleted",), max_age)) == f"no drift (deleted) by a comparison at most {said} old"
