"""Control totals say whether the findings explain the row counts, and never more than they know."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.sweep.drift import DRIFT_KINDS, NOT_DRIFT_KINDS
from hudi_reconcile.report.page.control_totals import build_control_totals

ROWS = st.integers(0, 50)


def table_of(source: int, lake: int, *, applied: int = 0, **counts: int) -> dict[str, Any]:
    return {
        "source": {"rows": source, "snapshot": "s"},
        "lake": {"rows": lake, "instant": "t"},
        "findings": {kind: counts.get(kind, 0) for kind in DRIFT_KINDS},
        "not_drift": {kind: counts.get(kind, 0) for kind in NOT_DRIFT_KINDS},
        "corrections": {"applied": applied},
    }


@pytest.mark.parametrize(
    ("source", "lake", "counts", "explained"),
    [
        (10, 10, {}, True),
        (10, 12, {"deleted": 2}, True),
        (10, 12, {}, False),
        (10, 9, {"late_arriving": 1}, True),
        (10, 10, {"late_arriving": 1}, True),
        (12, 10, {"late_arriving": 1}, False),
        (12, 10, {"pending": 2}, True),
        (10, 40, {"duplicate_key": 1}, True),
        (10, 10, {"duplicate_key": 1}, False),
        (10, 10, {"updated_without_watermark": 5}, True),
        (11, 10, {"updated_without_watermark": 5}, False),
    ],
)
def test_difference_is_explained_only_by_findings_that_can(
    source: int, lake: int, counts: dict[str, int], *, explained: bool
) -> None:
    totals = build_control_totals(table_of(source, lake, **counts))

    assert totals is not None
    assert totals.difference == source - lake
    assert totals.explained is explained


@given(both=ROWS, missing=ROWS, newer=ROWS, deleted=ROWS, pending=ROWS)
def test_tables_whose_findings_are_complete_are_always_explained(
    both: int, missing: int, newer: int, deleted: int, pending: int
) -> None:
    totals = build_control_totals(
        table_of(
            both + missing + pending, both + deleted, late_arriving=missing + newer, deleted=deleted, pending=pending
        )
    )

    assert totals is not None
    assert totals.explained is True


def test_counts_taken_around_a_correction_are_not_judged() -> None:
    totals = build_control_totals(table_of(10, 10, applied=2, deleted=2))

    assert totals is not None
    assert totals.explained is None


@pytest.mark.parametrize(
    ("source", "told"),
    [(10, "equal after the correction"), (13, "wait for the next pull, or drift outside the segments")],
)
def test_counts_of_an_apply_are_not_held_against_the_few_segments_that_it_compared_again(
    source: int, told: str
) -> None:
    again = {**table_of(source, 10), "verified_at": "20261121145100499"}

    totals = build_control_totals(again)

    assert totals is not None
    assert (totals.explained, totals.rows.explained, totals.keys) == (None, "", None)
    assert told in totals.sentence


def test_counts_after_an_apply_that_left_rows_name_these_as_what_the_difference_may_be() -> None:
    left = {"corrections": {"applied": 1}, "uncorrected": {"rows": 3}}

    totals = build_control_totals({**table_of(13, 10), **left, "verified_at": "20261121145100499"})

    assert totals is not None
    assert "may be planned rows that were not corrected, rows that wait" in totals.sentence


def test_side_that_was_not_read_has_no_totals() -> None:
    assert build_control_totals({**table_of(1, 1), "lake": None}) is None


def test_rows_of_some_partitions_are_not_held_against_findings_that_judge_whole_keys() -> None:
    table = table_of(10, 11, updated_without_watermark=1)

    totals = build_control_totals({**table, "coverage": {"partitions": ["month=2026-03"]}})

    assert totals is not None
    assert (totals.difference, totals.explained) == (-1, None)
    whole = build_control_totals({**table, "coverage": {"partitions": []}})
    assert whole is not None
    assert whole.explained is False


@given(
    both=ROWS,
    missing=ROWS,
    newer=ROWS,
    deleted=ROWS,
    pending_missing=ROWS,
    copies=st.lists(st.integers(2, 5), max_size=6),
)
def test_rows_and_keys_of_counted_copies_are_explained_exactly(
    *, both: int, missing: int, newer: int, deleted: int, pending_missing: int, copies: list[int]
) -> None:
    keys = both + newer + len(copies)
    source = keys + missing + pending_missing
    lake = both + newer + sum(copies) + deleted
    extra = sum(copies) - len(copies)
    table = table_of(
        source, lake, late_arriving=missing + newer, deleted=deleted, pending=pending_missing, duplicate_key=len(copies)
    )
    totals = build_control_totals({**table, "anatomy": {"extra_copies": extra, "missing_rows": missing}, "whole": True})

    assert totals is not None
    assert totals.explained is True
    if missing + newer + deleted + len(copies):
        assert totals.keys is not None
        assert (totals.keys.source, totals.keys.lake) == (source, keys + deleted)
    if not pending_missing:
        assert totals.rows.explained_low == totals.rows.explained_high == source - lake


def test_deleted_key_that_the_lake_held_twice_is_explained() -> None:
    table = {**table_of(10, 12, deleted=1), "anatomy": {"extra_copies": 1, "missing_rows": 0}}

    totals = build_control_totals(table)

    assert totals is not None
    assert totals.explained is True
    assert totals.keys is not None
    assert (totals.keys.difference, totals.keys.explained) == (-1, "\N{MINUS SIGN}1")


def test_keys_are_not_told_where_nobody_counted_copies() -> None:
    old = build_control_totals({**table_of(10, 12, deleted=2), "anatomy": {}})
    part = build_control_totals({**table_of(10, 10), "whole": False})
    whole = build_control_totals({**table_of(10, 10), "whole": True})

    assert old is not None
    assert part is not None
    assert whole is not None
    assert (old.keys, part.keys) == (None, None)
    assert whole.keys is not None


def test_column_of_a_total_rule_is_told_by_sum_least_and_greatest_with_each_difference() -> None:
    figures = {
        "column": "amount",
        "source": {"sum": "1234567.10", "min": "-3", "max": None},
        "lake": {"sum": "1234566", "min": "-3.0", "max": "2"},
    }
    rule = {"id": "t", "check": "total", "what": "sum of amount", "status": "fail", "why": "x", "totals": figures}

    totals = build_control_totals({**table_of(1, 1), "rules": [rule]})

    assert totals is not None
    (told,) = totals.sums
    assert [(one.what, one.source, one.lake, one.difference) for one in told.figures] == [
        ("Sum of amount", "1,234,567.10", "1,234,566", "+1.10"),
        ("Least of amount", "\N{MINUS SIGN}3", "\N{MINUS SIGN}3.0", "0"),
        ("Greatest of amount", "", "2", ""),
    ]


def test_sums_are_those_of_total_rules_and_hidden_ones_stay_hidden() -> None:
    rules = [
        {
            "id": "t1",
            "check": "total",
            "what": "sum of amount",
            "status": "pass",
            "why": "source 1.10, lake 1.1, difference 0.0",
        },
        {"id": "t2", "check": "total", "what": "sum of pay", "status": "fail", "why": ""},
        {"id": "t3", "check": "total", "what": "sum of x", "status": "error", "why": "no such column"},
        {"id": "n", "check": "not_null", "what": "x", "status": "pass", "why": ""},
    ]
    totals = build_control_totals({**table_of(1, 1), "rules": rules})

    assert totals is not None
    assert [(one.rule, one.told) for one in totals.sums] == [
        ("t1", "source 1.10, lake 1.1, difference 0.0"),
        ("t2", ""),
        ("t3", ""),
    ]
