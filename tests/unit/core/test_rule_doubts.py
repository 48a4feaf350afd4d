"""What a rule alone shows to be wrong; what only Java or the lake's types can tell is left to them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from hudi_reconcile.config.rules_load import parse_rules
from hudi_reconcile.core.rules.rules import Gx, Matches, NotNull, Scalar, ValueRange
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


@pytest.mark.parametrize(
    ("regex", "why"),
    [
        ("(?P<year>[0-9]{4})", "Python's"),
        ("(?P=year)", "Python's"),
        ("(?<my_name>a)", "'my_name' is none in Java"),
        ("(?<a>b)(?<a>c)", "there twice"),
        (r"(?<a>b)\k<c>", "names no group"),
        (r"^\y", r"\y means nothing"),
        (r"\u{1F600}", r"\u lacks"),
        ("(?#note)a", "no comment"),
        ("(?(1)a|b)", "is not in Java"),
        ("(?L)a", "begins no group"),
        ("[[:alpha:]]+", r"\p{Alpha}"),
        ("a{,3}", "begins no count"),
        ("{name}", "begins no count"),
        ("a{3,2}", "counts down"),
        ("*a", "repeats nothing"),
        ("a**", "repeats nothing"),
    ],
)
def test_regex_of_another_dialect_is_wrong_and_says_what_java_has(regex: str, why: str) -> None:
    assert why in (doubt(Matches("c", regex)) or "")
    assert why in (doubt(Gx("expect_column_values_to_match_regex", {"column": "c", "regex": regex})) or "")
    listed = Gx("expect_column_values_to_match_regex_list", {"column": "c", "regex_list": ["a", regex]})
    assert why in (doubt(listed) or "")


@pytest.mark.parametrize(
    "regex", [r"(?<y>a)\k<y>", r"\p{L}\x{1F600}\N{DIGIT ONE}", "a{2}+", "a*?b++", "(?i-s:a)", "{2}", "}"]
)
def test_regex_of_java_alone_is_left(regex: str) -> None:
    assert doubt(Matches("c", regex)) is None


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"min_value": 5, "max_value": 1}, "min_value is above max_value"),
        ({"min_value": 0.3, "max_value": 0.1}, "min_value is above max_value"),
        ({"min_value": "2026-03-02", "max_value": "2026-03-01"}, "min_value is above max_value"),
        ({"value_set": []}, "value_set is empty"),
        ({"regex": 5}, "regex is no text"),
        ({"min_value": 1, "max_value": 1}, None),
        ({"value_set": [1]}, None),
    ],
)
def test_arguments_of_an_expectation_that_no_rows_could_change_are_wrong(
    arguments: dict[str, object], why: str | None
) -> None:
    found = doubt(Gx("expect_column_values_to_be_between", {"column": "c", **arguments}))

    assert found is None if why is None else (found or "").startswith(why)


@pytest.mark.parametrize(
    ("kind", "arguments", "why"),
    [
        ("expect_column_max_to_be_between", {"column": "c"}, "neither min_value nor max_value"),
        ("expect_table_row_count_to_be_between", {"max_value": None}, "neither min_value nor max_value"),
        ("expect_column_max_to_be_between", {"column": "c", "max_value": 5}, None),
        ("expect_column_quantile_values_to_be_between", {"quantile_ranges": {"quantiles": [0.5]}}, None),
        ("expect_column_values_to_be_unique", {"column": "c", "mostly": 0}, "mostly is 0"),
        ("expect_column_values_to_be_unique", {"column": "c", "mostly": 0.5}, None),
    ],
)
def test_arguments_with_which_every_table_passes_are_wrong(
    kind: str, arguments: dict[str, object], why: str | None
) -> None:
    found = doubt(Gx(kind, arguments))

    assert found is None if why is None else (found or "").startswith(why)


def test_share_of_more_digits_than_a_float_has_is_borne_to_the_last_of_them() -> None:
    text = "version: 1\ntable: t\nrules: [{id: r, check: not_null, column: c, allow: 0.33333333333333333334}]\n"

    (rule,) = parse_rules(text, "r.yaml", "t").rules

    assert rule.allow.share == Decimal("0.33333333333333333334")
    rows = 3 * 10**20
    assert rule.allow.bears(10**20 + 2, rows)
    assert not rule.allow.bears(10**20 + 3, rows)
    assert str(rule.allow) == "33.333333333333333334%"
