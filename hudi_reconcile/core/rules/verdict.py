"""The verdict on each rule, from what was counted, and what is wrong in a rule by itself. Pure.

What could not be counted is `error`: never `fail`, never `pass`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal, localcontext
from typing import Any, Literal, NamedTuple

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.rules.java_regex import find_regex_fault
from hudi_reconcile.core.rules.rules import (
    ON_ONE_ROW,
    Allow,
    Check,
    Gx,
    Matches,
    Rule,
    RuleSet,
    Scalar,
    Severity,
    ValueRange,
    Waiver,
    describe_check,
)

Status = Literal["pass", "fail", "waived", "error"]
STATUSES: tuple[Status, ...] = ("error", "fail", "waived", "pass")  # the order in which people want to see them


@dataclass(frozen=True, slots=True)
class Measured:
    """What was counted for one rule.

    `success` is Great Expectations' own verdict where it counts no rows, or bears some. `problem` is why the rule could
    not run; then nothing else counts. `totals` are what a `total` rule found, None where its column is masked.
    `counts_rows`: `judged_rows` is a number of rows.
    """

    failed_rows: int = 0
    judged_rows: int = 0
    success: bool | None = None
    detail: str = ""
    problem: str = ""
    fix: str = ""
    totals: BothTotals | None = None
    counts_rows: bool = False


@dataclass(frozen=True, slots=True)
class FailedKeys:
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
    keys: FailedKeys | None = None
    totals: BothTotals | None = None
    notes: tuple[str, ...] = ()


def judge_rule(
    rule: Rule, measured: Measured, waivers: tuple[Waiver, ...], today: date, *, hidden: bool = False
) -> RuleResult:
    """The verdict on a rule from what was counted. A waiver changes `fail` only: an error is never waived.

    `hidden`: the rule is on a masked column, and its own values are not told.
    """
    result = RuleResult(
        id=rule.id,
        severity=rule.severity,
        status="pass",
        failed_rows=measured.failed_rows,
        check=rule.kind,
        what=describe_check(rule.check, hidden=hidden),
        allow=str(rule.allow),
        judged_rows=measured.judged_rows,
        why=measured.detail,
        fix=measured.fix,
        totals=measured.totals,
    )
    if measured.problem:
        return replace(result, status="error", failed_rows=0, judged_rows=0, why=measured.problem)
    if measured.success or (measured.success is None and rule.allow.bears(measured.failed_rows, measured.judged_rows)):
        return replace(result, notes=(NO_ROW,)) if measured.counts_rows and not measured.judged_rows else result
    bears = rule.allow != Allow() and rule.allow.bears(measured.failed_rows, measured.judged_rows)
    if measured.success is False and measured.judged_rows and bears:
        return result
    mine = [waiver for waiver in waivers if waiver.rule == rule.id]
    holding = next((waiver for waiver in mine if waiver.holds(today)), None)
    if holding is not None:
        return replace(result, status="waived", waiver=holding)
    expired = max((waiver.expires for waiver in mine), default=None)
    notes = () if expired is None else (f"its waiver expired on {expired.isoformat()}",)
    return replace(result, status="fail", why=result.why or rule.why, notes=notes)


NO_ROW = "it judged no row: no row met its condition, or all were NULL"


def judge_outcome(results: tuple[RuleResult, ...], fail_on: Severity) -> Outcome:
    """What the rules alone say: `unverified` where one could not run, `drift` where one failed that counts, else `clean`.

    >>> judge_outcome((RuleResult("a", "warn", "fail", 1),), "error").value
    'clean'
    """
    if any(result.status == "error" for result in results):
        return Outcome.UNVERIFIED
    return Outcome.DRIFT if any(counts(result, fail_on) for result in results) else Outcome.CLEAN


def counts(result: RuleResult, fail_on: Severity) -> bool:
    """True where the rule failed at or above the severity that makes a run fail."""
    return result.status == "fail" and (fail_on == "warn" or result.severity == "error")


def select_quarantine_rules(rules: RuleSet, today: date, *, every: bool) -> tuple[Rule, ...]:
    """The rules that hold corrections back: on single rows, of severity error, not waived today, and marked (or `every`)."""
    waived = {waiver.rule for waiver in rules.waivers if waiver.holds(today)}
    return tuple(
        rule for rule in rules.rules if can_hold(rule) and (every or rule.quarantine) and rule.id not in waived
    )


def can_hold(rule: Rule) -> bool:
    """True for a rule that may hold corrections back: on single rows, of severity error."""
    return isinstance(rule.check, ON_ONE_ROW) and rule.severity == "error"


def report_unrun_rules(rules: RuleSet, why: str, fix: str) -> tuple[RuleResult, ...]:
    """Every rule of a table as `error`: nothing could be asked, so which columns are masked is not known either."""
    problem = Measured(problem=why, fix=fix)
    return tuple(judge_rule(rule, problem, (), date.min, hidden=True) for rule in rules.rules)


def doubt(check: Check) -> str | None:
    """Why no run of the check can be what its author means; None where nothing is certainly wrong."""
    match check:
        case ValueRange(_, low, high) if low is not None and high is not None and _is_above(low, high):
            return "min is above max: no value lies between them"
        case Matches(_, regex) if why := find_regex_fault(regex):
            return f"regex: {why}"
        case Gx(kind, kwargs):
            return _pass_doubt(kind, kwargs) or _argument_doubt(kwargs)
        case _:
            return None


def _pass_doubt(kind: str, kwargs: Mapping[str, Any]) -> str | None:
    """Arguments that an expectation takes, and with which every table passes."""
    ends = [kwargs.get(name) for name in ("min_value", "max_value", "quantile_ranges")]
    # The library itself refuses a range of values without ends.
    if kind.endswith("_to_be_between") and kind != "expect_column_values_to_be_between" and ends == [None] * 3:
        return "neither min_value nor max_value: every table passes"
    return "mostly is 0: every table passes" if kwargs.get("mostly") == 0 else None


def _argument_doubt(kwargs: Mapping[str, Any]) -> str | None:
    """Arguments of an expectation that it takes, and that can only fail, or pass, whatever the rows hold."""
    low, high = kwargs.get("min_value"), kwargs.get("max_value")
    scalars = str | int | Decimal | float
    if isinstance(low, scalars) and isinstance(high, scalars) and _is_above(_exact(low), _exact(high)):
        return "min_value is above max_value: nothing lies between them"
    if kwargs.get("value_set") == []:
        return "value_set is empty"
    if "regex" in kwargs and not isinstance(kwargs["regex"], str):
        return "regex is no text"
    listed = kwargs.get("regex_list")
    for regex in (kwargs.get("regex"), *(listed if isinstance(listed, list) else ())):
        if isinstance(regex, str) and (why := find_regex_fault(regex)):
            return f"regex: {why}"
    return None


def _exact(value: str | Decimal | float) -> Scalar:
    return Decimal(repr(value)) if isinstance(value, float) else value


def _is_above(low: Scalar, high: Scalar) -> bool:
    """True for two numbers, or two times in ISO text, in the wrong order; other texts have the order of their column."""
    if isinstance(low, int | Decimal) and isinstance(high, int | Decimal):
        return low > high
    if not isinstance(low, str) or not isinstance(high, str):
        return False
    try:
        first, last = datetime.fromisoformat(low), datetime.fromisoformat(high)
    except ValueError:
        return False
    return first.replace(tzinfo=first.tzinfo or UTC) > last.replace(tzinfo=last.tzinfo or UTC)


_DIGITS = 100  # for a difference of two sums


class TotalTexts(NamedTuple):
    """What a database says of a column, as its own text; None of no value."""

    sum: str | None = None
    least: str | None = None
    greatest: str | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """One side's; NULLs are left out. The sum of nothing is 0, its ends are None."""

    sum: Decimal
    least: Decimal | None = None
    greatest: Decimal | None = None

    @staticmethod
    def parse(texts: TotalTexts) -> Totals:
        """From a database's texts. Raises decimal.InvalidOperation where one is no number."""
        ends = [None if text is None else Decimal(text) for text in (texts.least, texts.greatest)]
        return Totals(Decimal(0) if texts.sum is None else Decimal(texts.sum), *ends)

    @property
    def document(self) -> dict[str, str | None]:
        """As texts, in full."""
        texts = {"sum": self.sum, "min": self.least, "max": self.greatest}
        return {name: None if value is None else f"{value:f}" for name, value in texts.items()}


@dataclass(frozen=True, slots=True)
class BothTotals:
    """A column of both sides, under its name in the lake."""

    column: str
    source: Totals
    lake: Totals

    @property
    def difference(self) -> Decimal:
        """Of the sums, source less lake, exactly."""
        return difference(self.source.sum, self.lake.sum)

    @property
    def document(self) -> Mapping[str, object]:
        """As `result.json` has it."""
        return {"column": self.column, "source": self.source.document, "lake": self.lake.document}


def difference(number: Decimal, other: Decimal) -> Decimal:
    """Exact, however many digits both have.

    >>> difference(Decimal("12345678901234567890123456789.01"), Decimal("0.01"))
    Decimal('12345678901234567890123456789.00')
    """
    with localcontext(prec=_DIGITS):
        return number - other
