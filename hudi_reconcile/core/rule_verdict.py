"""The verdict on each rule, from what was counted. Pure (contract §7).

What could not be counted is `error`: never `fail`, never `pass`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.rules import ON_ONE_ROW, Allow, Rule, RuleSet, Severity, Waiver, sentence
from hudi_reconcile.core.totals import BothTotals

Status = Literal["pass", "fail", "waived", "error"]
STATUSES: tuple[Status, ...] = ("error", "fail", "waived", "pass")  # the order in which people want to see them


@dataclass(frozen=True, slots=True)
class Measured:
    """What was counted for one rule.

    `success` is Great Expectations' own verdict where it counts no rows, or bears some. `problem` is why the rule could
    not run; then nothing else counts. `totals` are what a `total` rule found, None where its column is masked.
    """

    failed_rows: int = 0
    judged_rows: int = 0
    success: bool | None = None
    detail: str = ""
    problem: str = ""
    fix: str = ""
    totals: BothTotals | None = None


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of failed rows: how many were written, where (below the run's folder), and the first of them."""

    rows: int
    path: str
    sample: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class RuleResult:
    """The verdict on one rule. `why` and `fix` say what to know and do where it did not pass; `totals` are a `total` rule's."""

    id: str
    severity: Severity
    status: Status
    failed_rows: int
    check: str = ""
    what: str = ""
    allow: str = "0"
    judged_rows: int = 0
    why: str = ""
    fix: str = ""
    waiver: Waiver | None = None
    keys: Keys | None = None
    totals: BothTotals | None = None
    notes: tuple[str, ...] = ()


def judged(
    rule: Rule, measured: Measured, waivers: tuple[Waiver, ...], today: date, *, hidden: bool = False
) -> RuleResult:
    """The verdict on a rule from what was counted. A waiver changes `fail` only: an error is never waived.

    `hidden`: the rule is on a masked column, and its own values are not told.
    """
    found = RuleResult(
        id=rule.id,
        severity=rule.severity,
        status="pass",
        failed_rows=measured.failed_rows,
        check=rule.kind,
        what=sentence(rule.check, hidden=hidden),
        allow=str(rule.allow),
        judged_rows=measured.judged_rows,
        why=measured.detail,
        fix=measured.fix,
        totals=measured.totals,
    )
    if measured.problem:
        return replace(found, status="error", failed_rows=0, judged_rows=0, why=measured.problem)
    if measured.success or (measured.success is None and rule.allow.bears(measured.failed_rows, measured.judged_rows)):
        return found
    bears = rule.allow != Allow() and rule.allow.bears(measured.failed_rows, measured.judged_rows)
    if measured.success is False and measured.judged_rows and bears:
        return found
    mine = [one for one in waivers if one.rule == rule.id]
    holding = next((one for one in mine if one.holds(today)), None)
    if holding is not None:
        return replace(found, status="waived", waiver=holding)
    expired = max((one.expires for one in mine), default=None)
    notes = () if expired is None else (f"its waiver expired on {expired.isoformat()}",)
    return replace(found, status="fail", why=found.why or rule.why, notes=notes)


def outcome_of(results: tuple[RuleResult, ...], fail_on: Severity) -> Outcome:
    """What the rules alone say: `unverified` where one could not run, `drift` where one failed that counts, else `clean`.

    >>> outcome_of((RuleResult("a", "warn", "fail", 1),), "error").value
    'clean'
    """
    if any(one.status == "error" for one in results):
        return Outcome.UNVERIFIED
    return Outcome.DRIFT if any(counts(one, fail_on) for one in results) else Outcome.CLEAN


def counts(result: RuleResult, fail_on: Severity) -> bool:
    """True where the rule failed at or above the severity that makes a run fail."""
    return result.status == "fail" and (fail_on == "warn" or result.severity == "error")


def quarantining(rules: RuleSet, today: date, *, every: bool) -> tuple[Rule, ...]:
    """The rules that hold corrections back: on single rows, of severity error, not waived today, and marked (or `every`)."""
    waived = {waiver.rule for waiver in rules.waivers if waiver.holds(today)}
    return tuple(
        rule for rule in rules.rules if can_hold(rule) and (every or rule.quarantine) and rule.id not in waived
    )


def can_hold(rule: Rule) -> bool:
    """True for a rule that may hold corrections back: on single rows, of severity error."""
    return isinstance(rule.check, ON_ONE_ROW) and rule.severity == "error"


def not_run(rules: RuleSet, why: str, fix: str) -> tuple[RuleResult, ...]:
    """Every rule of a table as `error`: nothing could be asked, so which columns are masked is not known either."""
    problem = Measured(problem=why, fix=fix)
    return tuple(judged(rule, problem, (), date.min, hidden=True) for rule in rules.rules)
