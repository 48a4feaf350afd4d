"""`run --apply` that breaks off: what its earlier steps did is in the result."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from hudi_reconcile.app import commands
from hudi_reconcile.app.table_work import TableRun
from hudi_reconcile.app.time_limit import TimeLimit
from hudi_reconcile.config.tables import SweepConfig
from hudi_reconcile.core.deadline import Deadline, name_table_limit
from hudi_reconcile.core.errors import ReconcileError, RefusedError, SourceError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.apply_outcome import Uncorrected
from hudi_reconcile.core.plan.plan import Approval
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import Corrections, Failure, Pulled, SideState, Unverified
from hudi_reconcile.core.rules.rules import Rule, RuleSet, Unique
from hudi_reconcile.stages.job import LandedError

PULLED = TableResult("t", Outcome.PULLED, pull=Pulled(5, "incremental", None, None, "i"), notes=("pulled so",))
SWEPT = TableResult(
    "t",
    Outcome.DRIFT,
    SideState(5, "s"),
    SideState(7, "l"),
    findings={"deleted": 2},
    corrections=Corrections(deletes=2),
    plan_id="p",
)
GONE = SourceError("the connection was lost", fix="x")
PLAN = SimpleNamespace(plan=SimpleNamespace(upserts=0, deletes=2, run_id="r"))
ONE = cast(
    "TableRun",
    SimpleNamespace(
        table=SimpleNamespace(name="t", sweep=SweepConfig()),
        edges=None,
        session=SimpleNamespace(jvm=None),
        pause=None,
        limit=TimeLimit(),
    ),
)


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """How each step ends: a result, or an error."""
    steps: dict[str, object] = {"pull": PULLED, "sweep": SWEPT, "apply": SWEPT}

    def step(name: str) -> object:
        if isinstance(steps[name], Exception):
            raise cast("Exception", steps[name])
        return steps[name]

    monkeypatch.setattr(commands, "_job", lambda _: None)
    monkeypatch.setattr(commands, "_pull", lambda *_, **__: step("pull"))
    monkeypatch.setattr(commands, "sweep", lambda *_: step("sweep"))
    monkeypatch.setattr(commands, "_leave", lambda _, swept: (swept, PLAN))
    monkeypatch.setattr(commands, "_apply", lambda *_: step("apply"))
    return steps


def test_pull_of_a_run_whose_sweep_broke_off_is_told(ends: dict[str, object]) -> None:
    ends["sweep"] = GONE

    result = commands._nightly(ONE, Approval(), None)

    assert (result.outcome, result.pull, result.notes) == (Outcome.UNVERIFIED, PULLED.pull, PULLED.notes)
    assert result.error == Failure("SourceError", "the connection was lost", "x")


def test_pages_of_a_pull_that_was_then_refused_are_told_and_the_lake_is_compared(ends: dict[str, object]) -> None:
    ends["pull"] = LandedError(PULLED, RefusedError("an odd watermark", fix="x"))

    result = commands._nightly(ONE, Approval(), None)

    assert (result.outcome, result.pull, result.findings) == (Outcome.REFUSED, PULLED.pull, SWEPT.findings)
    assert (result.error and result.error.message, result.notes) == ("an odd watermark", PULLED.notes)


@pytest.mark.parametrize(("sweep", "pulled"), [(SWEPT, GONE), (GONE, RefusedError("an odd watermark", fix="x"))])
def test_pages_of_a_pull_are_told_where_nothing_is_compared_after_it(
    sweep: object, pulled: ReconcileError, ends: dict[str, object]
) -> None:
    ends |= {"sweep": sweep, "pull": LandedError(PULLED, pulled)}

    with pytest.raises(LandedError) as raised:
        commands._nightly(ONE, Approval(), None)

    assert (raised.value.result, raised.value.error) == (PULLED, pulled)


def test_pages_of_a_pull_are_told_where_a_bug_ends_the_comparison_after_it(ends: dict[str, object]) -> None:
    bug = ZeroDivisionError()
    ends |= {"sweep": bug, "pull": LandedError(PULLED, RefusedError("an odd watermark", fix="x"))}

    with pytest.raises(LandedError) as raised:
        commands._nightly(ONE, Approval(), None)

    assert (raised.value.result, raised.value.error) == (PULLED, bug)


def test_rules_are_said_to_be_unrun_beside_the_pages_of_a_pull_that_broke_off(ends: dict[str, object]) -> None:
    ends["pull"] = LandedError(PULLED, GONE)
    rules = RuleSet("t", (Rule("r", Unique(("a",))),))

    result = commands._nightly_with_rules(ONE, None, {"t": rules})

    assert (result.pull, result.outcome, result.error and result.error.message) == (
        PULLED.pull,
        GONE.outcome,
        GONE.message,
    )
    assert [(rule.id, rule.status) for rule in result.rules] == [("r", "error")]


@pytest.mark.usefixtures("ends")
@pytest.mark.parametrize("late", ["sweep", "apply"])
def test_stage_is_not_begun_once_the_time_limit_is_over_and_what_was_done_is_told(
    monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    limit, begun = TimeLimit("t", Deadline(name_table_limit("t"), "1s", 0.0)), list[str]()
    one = cast("TableRun", SimpleNamespace(**{**vars(ONE), "limit": limit}))

    def step(name: str, after: str) -> TableResult:
        begun.append(name)
        if late == after:
            limit._over.set()
        return PULLED if name == "pull" else SWEPT

    monkeypatch.setattr(commands, "_pull", lambda *_, **__: step("pull", "sweep"))
    monkeypatch.setattr(commands, "sweep", lambda *_: step("sweep", "apply"))
    monkeypatch.setattr(commands, "_apply", lambda *_: step("apply", ""))
    result = commands._nightly(one, Approval(), None)

    assert begun == (["pull"] if late == "sweep" else ["pull", "sweep"])
    assert (result.outcome, result.pull) == (Outcome.UNVERIFIED, PULLED.pull)
    assert result.findings == ({} if late == "sweep" else SWEPT.findings)
    assert result.error is not None
    assert result.error.type == "TimeLimitError"


def test_findings_and_plan_of_a_run_whose_apply_broke_off_are_told(ends: dict[str, object]) -> None:
    ends["apply"] = GONE

    result = commands._nightly(ONE, Approval(), None)

    assert (result.outcome, result.pull, result.findings) == (Outcome.UNVERIFIED, PULLED.pull, {"deleted": 2})
    assert (result.plan_id, result.corrections) == ("p", Corrections(deletes=2))
    assert result.uncorrected == Uncorrected(2, {"error": 2}, why="the connection was lost", plan_run="r")


def test_corrected_drift_beside_rows_that_never_rested_is_not_called_corrected(ends: dict[str, object]) -> None:
    unsettled = (Unverified("rows", "t", "3 rows changed", "x"),)
    ends["sweep"] = replace(SWEPT, unverified=unsettled)
    ends["apply"] = TableResult("t", Outcome.CORRECTED, corrections=Corrections(deletes=2, applied=2))

    result = commands._nightly(ONE, Approval(), None)

    assert (result.outcome, result.unverified, result.corrections.applied) == (Outcome.UNVERIFIED, unsettled, 2)


def test_commit_of_an_apply_that_broke_off_is_told_with_what_was_found(ends: dict[str, object]) -> None:
    landed = Corrections(deletes=2, applied=2, instants=("5",))
    ends["apply"] = LandedError(TableResult("t", Outcome.UNVERIFIED, corrections=landed), OSError("disk"))

    with pytest.raises(LandedError) as raised:
        commands._nightly(ONE, Approval(), None)

    kept = raised.value.result
    assert (kept.pull, kept.findings, kept.corrections) == (PULLED.pull, {"deleted": 2}, landed)


@pytest.mark.parametrize(("step", "told"), [("sweep", PULLED), ("apply", SWEPT)])
def test_what_was_pulled_and_found_is_told_where_nobody_foresaw_the_error(
    step: str, told: TableResult, ends: dict[str, object]
) -> None:
    ends[step] = ZeroDivisionError()

    with pytest.raises(LandedError) as raised:
        commands._nightly(ONE, Approval(), None)

    assert raised.value.result.pull == PULLED.pull
    assert raised.value.result.findings == told.findings


@pytest.mark.parametrize(
    ("error", "reason"), [(RefusedError("too old", fix="sweep again"), "refused"), (GONE, "error")]
)
def test_apply_that_ended_before_it_wrote_leaves_the_whole_plan_for_one_reason(
    ends: dict[str, object], error: ReconcileError, reason: str
) -> None:
    ends["apply"] = error

    result = commands._apply_alone(ONE, cast("commands.PlanFile", PLAN), Approval(), None)

    assert (result.outcome, result.error and result.error.message) == (error.outcome, error.message)
    assert result.uncorrected == Uncorrected(2, {reason: 2}, why=error.message, plan_run="r")
