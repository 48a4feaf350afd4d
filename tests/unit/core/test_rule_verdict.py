"""The verdict on a rule follows from counts, allowance, severity, waivers and the day, and from nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.rules.rules import Allow, Check, Drift, Gx, NotNull, Rule, RuleSet, Severity, Sql, Waiver
from hudi_reconcile.core.rules.verdict import (
    NO_ROW,
    Measured,
    RuleResult,
    Status,
    counts,
    judge_outcome,
    judge_rule,
    report_unrun_rules,
)

RULE = Rule("r-1", NotNull("c"))
TODAY = date(2026, 11, 21)
SEVERITIES: tuple[Severity, ...] = ("warn", "error")
rows = st.integers(0, 10**12)
shares = st.decimals(0, 1, allow_nan=False, places=6)


def waiver(days: int, rule: str = "r-1") -> Waiver:
    return Waiver(rule, "T-1", TODAY + timedelta(days=days))


@given(failed=rows, judged_rows=rows, allowed=rows)
def test_count_allows_that_many_rows_whatever_the_table_holds(failed: int, judged_rows: int, allowed: int) -> None:
    found = judge_rule(replace(RULE, allow=Allow(allowed)), Measured(failed, judged_rows), (), TODAY)

    assert (found.status == "pass") is (failed <= allowed)


@given(failed=rows, more=rows, share=shares)
@example(failed=29, more=71, share=Decimal("0.29"))  # 0.29 * 100 is less than 29 in floats
def test_share_allows_that_part_of_the_judged_rows_exactly(failed: int, more: int, share: Decimal) -> None:
    found = judge_rule(replace(RULE, allow=Allow(share=share)), Measured(failed, failed + more), (), TODAY)

    numerator, denominator = share.as_integer_ratio()
    assert (found.status == "pass") is (failed * denominator <= numerator * (failed + more))


@given(failed=rows, days=st.integers(-400, 400), severity=st.sampled_from(SEVERITIES))
def test_waiver_turns_a_failure_into_waived_before_its_day_and_never_from_then_on(
    failed: int, days: int, severity: Severity
) -> None:
    found = judge_rule(replace(RULE, severity=severity), Measured(failed, failed), (waiver(days),), TODAY)

    assert found.status == ("pass" if failed == 0 else "waived" if days > 0 else "fail")
    assert (found.waiver is not None) is (found.status == "waived")
    assert found.failed_rows == failed


@given(days=st.integers(-400, 400), failed=rows, allowed=rows)
def test_rule_that_could_not_run_is_an_error_whatever_waives_or_allows_it(days: int, failed: int, allowed: int) -> None:
    rule = replace(RULE, severity="warn", allow=Allow(allowed))
    found = judge_rule(
        rule, Measured(failed, failed, success=True, problem="no column", fix="do"), (waiver(days),), TODAY
    )

    assert (found.status, found.failed_rows, found.why, found.fix) == ("error", 0, "no column", "do")
    assert judge_outcome((found,), "error") is Outcome.UNVERIFIED


def test_waiver_of_another_rule_waives_nothing() -> None:
    assert judge_rule(RULE, Measured(1, 1), (waiver(9, "r-2"),), TODAY).status == "fail"


def test_failure_under_an_expired_waiver_says_when_it_expired_and_shows_the_authors_note() -> None:
    found = judge_rule(replace(RULE, why="ask the shop"), Measured(1, 1), (waiver(-3),), TODAY)

    assert (found.status, found.why, found.notes) == ("fail", "ask the shop", ("its waiver expired on 2026-11-18",))


@pytest.mark.parametrize(
    ("measured", "allow", "status"),
    [
        (Measured(2, 10, success=True), Allow(), "pass"),  # it bears some itself: mostly
        (Measured(2, 10, success=False), Allow(), "fail"),
        (Measured(2, 10, success=False), Allow(2), "pass"),
        (Measured(1, 0, success=False), Allow(5), "fail"),  # it counts no rows: there is nothing to allow
    ],
)
def test_verdict_of_great_expectations_counts_where_it_has_one(
    measured: Measured, allow: Allow, status: Status
) -> None:
    assert judge_rule(Rule("r-1", Gx("expect_x", {}), allow=allow), measured, (), TODAY).status == status


results = st.builds(
    RuleResult,
    st.just("r"),
    st.sampled_from(SEVERITIES),
    st.sampled_from(["pass", "fail", "waived", "error"]),
    st.just(0),
)


@given(st.lists(results), st.sampled_from(SEVERITIES))
def test_outcome_is_unverified_over_drift_over_clean(found: list[RuleResult], fail_on: Severity) -> None:
    outcome = judge_outcome(tuple(found), fail_on)

    errors = [one for one in found if one.status == "error"]
    failures = [one for one in found if one.status == "fail" and (fail_on == "warn" or one.severity == "error")]
    assert outcome is (Outcome.UNVERIFIED if errors else Outcome.DRIFT if failures else Outcome.CLEAN)
    assert [one for one in found if counts(one, fail_on)] == failures


def test_rules_of_a_table_that_could_not_be_asked_are_all_errors() -> None:
    rules = RuleSet("t", (RULE, replace(RULE, id="r-2")), (waiver(9),))

    found = report_unrun_rules(rules, "the lake is gone", "pull")

    assert [(one.id, one.status, one.why) for one in found] == [
        ("r-1", "error", "the lake is gone"),
        ("r-2", "error", "the lake is gone"),
    ]


@pytest.mark.parametrize(
    ("check", "measured", "notes"),
    [
        (NotNull("c"), Measured(0, 0, counts_rows=True), (NO_ROW,)),
        (NotNull("c"), Measured(0, 5, counts_rows=True), ()),
        (
            Gx("expect_column_values_to_be_unique", {"column": "c"}),
            Measured(0, 0, success=True, counts_rows=True),
            (NO_ROW,),
        ),
        (Sql("select * from {batch}"), Measured(0, 0, counts_rows=True), (NO_ROW,)),
        (Gx("expect_table_row_count_to_equal", {"value": 3}), Measured(0, 0, success=True), ()),
        (Drift(("deleted",)), Measured(0, 0), ()),
    ],
)
def test_rule_that_judged_no_row_passes_and_says_so(check: Check, measured: Measured, notes: tuple[str, ...]) -> None:
    found = judge_rule(Rule("r-1", check), measured, (), TODAY)

    assert (found.status, found.notes) == ("pass", notes)
