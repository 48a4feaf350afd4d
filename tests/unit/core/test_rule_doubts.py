"""What a rule alone shows to be wrong; what only Java or the lake's types can tell is left to them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from hudi_reconcile.core.rules.rules import Matches, NotNull, Scalar, ValueRange
from hudi_reconcile.core.rules.verdict import doubt


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (5, 1),
        (Decimal("0.2"), Decimal("0.1")),
        (1, Decimal("0.5")),
        ("2026-03-02", "2026-03-01"),
        ("2026-03-01T01:00:00+01:00", "2026-02-28T23:59:00Z"),
    ],
)
def test_ends_between_which_nothing_lies_are_wrong(low: Scalar, high: Scalar) -> None:
    assert doubt(ValueRange("c", low, high)) == "min is above max: no value lies between them"


@pytest.mark.parametrize(
    ("low", "high"),
    [(1, 1), (1, 5), (None, 1), (5, None), ("b", "a"), ("9", "10"), (5, "1"), ("2026-03-01", "2026-03-01T10:00:00Z")],
)
def test_ends_that_may_hold_a_value_or_have_the_order_of_their_column_are_left(
    low: Scalar | None, high: Scalar | None
) -> None:
    assert doubt(ValueRange("c", low, high)) is None


@pytest.mark.parametrize(
    ("regex", "why"),
    [
        ("([", "'[' is not closed"),
        ("(a", "'(' is not closed"),
        ("a)", "')' closes nothing"),
        ("[a-z", "'[' is not closed"),
        ("a\\", "ends in a backslash that escapes nothing"),
    ],
)
def test_regex_that_no_java_takes_is_wrong(regex: str, why: str) -> None:
    assert doubt(Matches("c", regex)) == f"regex: {why}"


@pytest.mark.parametrize(
    "regex",
    [
        "^[^@]+@[^@]+$",
        r"\p{L}\(\[",
        "[(]",
        "[])]",
        "[^](]",
        r"\Q(\E",
        "(?x) a # (",
        "[a-z&&[^b]]",
        "[a[b]]",
        "(?<y>a)]",
        "",
    ],
)
def test_regex_that_java_takes_is_left(regex: str) -> None:
    assert doubt(Matches("c", regex)) is None


def test_other_checks_are_left() -> None:
    assert doubt(NotNull("c")) is None
