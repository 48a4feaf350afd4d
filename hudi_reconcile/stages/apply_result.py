"""What an apply says about itself. Pure: counts in, result out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan import Plan
from hudi_reconcile.core.result import (
    DRIFT_KINDS,
    NOT_DRIFT_KINDS,
    Corrections,
    Cost,
    Failure,
    Guard,
    Precision,
    SideState,
    TableResult,
    Unverified,
)
from hudi_reconcile.core.values import Instant
from hudi_reconcile.stages.confirm import Confirmed
from hudi_reconcile.stages.request import TableJob
from hudi_reconcile.stages.scope import settings_notes

_ONLY = "only a part of the plan was asked for (--only): the rest is still to be applied"


@dataclass(frozen=True, slots=True)
class Done:
    """What became of the corrections: counts by status, the commits, the verification of the touched segments.

    `source_rows` and `lake_rows` are the whole table's afterwards.
    """

    status: Mapping[str, int]
    instants: tuple[Instant, ...]
    verified: Confirmed | None
    source_rows: int = 0
    lake_rows: int = 0
    rows_fetched: int = 0
    unverified: tuple[Unverified, ...] = ()
    precision: tuple[Precision, ...] = ()
    notes: tuple[str, ...] = ()
    savepoint: str | None = None


def already_applied(job: TableJob, plan: Plan, instant: Instant, *, complete: bool) -> TableResult:
    """The plan's commit is on the timeline: nothing is written again. `complete` False: only a part of it is (--only)."""
    return TableResult(
        name=job.name,
        outcome=Outcome.CORRECTED if complete else Outcome.INCOMPLETE,
        corrections=Corrections(plan.upserts, plan.deletes, instants=(instant.completed,)),
        already_applied=True,
        plan_id=plan.plan_id,
        notes=(*_part(plan), *(() if complete else (_ONLY,))),
    )


def refused(job: TableJob, plan: Plan, no: tuple[Guard, ...]) -> TableResult:
    """A guard said no; nothing was written."""
    first = no[0]
    message = "; ".join(f"guard {guard.name}: limit {guard.limit}, found {guard.found}" for guard in no)
    by_name = {guard.name: guard for guard in (*plan.guards, *no)}
    return TableResult(
        name=job.name,
        outcome=Outcome.REFUSED,
        error=Failure("RefusedError", message, first.fix),
        guards=tuple(by_name.values()),
        corrections=Corrections(plan.upserts, plan.deletes),
        plan_id=plan.plan_id,
    )


def done_result(job: TableJob, plan: Plan, done: Done, *, planned: int, complete: bool) -> TableResult:
    """`corrected` only where every planned correction was applied and the touched segments are equal again.

    Where columns were left out of the comparison, all that was compared may be right: that is `unverified`.
    """
    applied = done.status.get("applied", 0)
    left = _left(done.verified)
    everything = complete and applied == planned and applied == sum(done.status.values())
    moving = done.verified is not None and (done.verified.kinds.get("moving", 0) > 0 or not done.verified.steady)
    fine = everything and not left and not moving
    verified = done.verified
    why = () if fine else _why(done, left, complete=complete)
    return TableResult(
        name=job.name,
        outcome=Outcome.INCOMPLETE if not fine else Outcome.UNVERIFIED if done.unverified else Outcome.CORRECTED,
        unverified=done.unverified,
        precision=done.precision,
        source=None if verified is None else SideState(done.source_rows, verified.moment.snapshot),
        lake=None if verified is None else SideState(done.lake_rows, verified.pin.instant.completed),
        checkpoint=None if verified is None or verified.checkpoint is None else verified.checkpoint.checkpoint.text,
        findings=left,
        not_drift={} if verified is None else {k: verified.kinds.get(k, 0) for k in NOT_DRIFT_KINDS},
        guards=plan.guards,
        corrections=Corrections(
            upserts=plan.upserts,
            deletes=plan.deletes,
            applied=applied,
            superseded=done.status.get("superseded", 0),
            moved=done.status.get("moved", 0),
            failed=done.status.get("failed", 0),
            held=done.status.get("held", 0),
            instants=tuple(instant.completed for instant in done.instants),
            savepoint=done.savepoint,
        ),
        plan_id=plan.plan_id,
        verified_at=None if verified is None else verified.pin.instant.completed,
        segments={} if verified is None else {"verified": len(verified.digests), "unequal": len(verified.unequal.ids)},
        notes=(*_part(plan), *settings_notes(job), *_kept(done.savepoint), *done.notes, *why),
        cost=Cost(source_rows_fetched=done.rows_fetched),
    )


def _part(plan: Plan) -> tuple[str, ...]:
    if plan.part is None:
        return ()
    return (f"the plan was made of a part of the table (only {plan.part} compared): the rest is not proven",)


def _kept(savepoint: str | None) -> tuple[str, ...]:
    if savepoint is None:
        return ()
    return (f"savepoint {savepoint}: the table as it was before; kept until the next apply that makes one",)


def _left(verified: Confirmed | None) -> Mapping[str, int]:
    if verified is None:
        return {}
    return {kind: verified.kinds[kind] for kind in DRIFT_KINDS if verified.kinds.get(kind)}


def _why(done: Done, left: Mapping[str, int], *, complete: bool) -> tuple[str, ...]:
    notes = []
    if not complete:
        notes.append(_ONLY)
    if done.status.get("superseded"):
        notes.append("superseded: another writer changed these rows in the lake after the sweep; sweep again")
    if done.status.get("moved"):
        notes.append("moved: the source changed these rows after the sweep; sweep again")
    if done.status.get("failed"):
        notes.append("failed: the lake does not show these rows as they should be; sweep again")
    if done.status.get("held"):
        notes.append("held: these rows break rules; correct them at the source and sweep again, or waive the rule")
    if left:
        notes.append("the touched segments still hold drift: sweep again")
    return tuple(notes)
