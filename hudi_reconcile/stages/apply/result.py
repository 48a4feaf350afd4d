"""What an apply says about itself. Pure: counts in, result out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.apply_outcome import REFUSED, count_unfinished, count_untouched
from hudi_reconcile.core.plan.plan import Plan
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import Corrections, Cost, Failure, Guard, Precision, SideState, Unverified
from hudi_reconcile.core.sweep.drift import DRIFT_KINDS, NOT_DRIFT_KINDS
from hudi_reconcile.stages.apply.progress import CommitOutcome, Tally
from hudi_reconcile.stages.apply.recovery import EarlierCommits
from hudi_reconcile.stages.job import TableJob
from hudi_reconcile.stages.sweep.two_looks import LookResult, select_unequal

_LANDED = " (an earlier apply of the plan already committed some rows; this run did not check which)"
_ONLY = "only a part of the plan was asked for (--only): the rest is still to be applied"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyOutcome:
    """What became of the corrections, and the verification of the touched segments; None where none was touched.

    `source_rows` and `lake_rows` are the whole table's afterwards. `notes` are of the comparison, beside the commits' own.
    """

    commits: CommitOutcome
    verified: LookResult | None = None
    source_rows: int = 0
    lake_rows: int = 0
    rows_fetched: int = 0
    unverified: tuple[Unverified, ...] = ()
    precision: tuple[Precision, ...] = ()
    notes: tuple[str, ...] = ()


def build_refused_result(job: TableJob, plan: Plan, no: tuple[Guard, ...], *, landed: bool = False) -> TableResult:
    """A guard said no; nothing was written. `landed`: an earlier apply of the plan made a commit."""
    first = no[0]
    message = "; ".join(f"guard {guard.name}: limit {guard.limit}, found {guard.found}" for guard in no)
    said = f"{message}{_LANDED if landed else ''}"
    by_name = {guard.name: guard for guard in (*plan.guards, *no)}
    return TableResult(
        name=job.name,
        outcome=Outcome.REFUSED,
        error=Failure("RefusedError", message, first.fix),
        guards=tuple(by_name.values()),
        corrections=Corrections(plan.upserts, plan.deletes),
        plan_id=plan.plan_id,
        uncorrected=count_untouched(plan.upserts + plan.deletes, plan.run_id, REFUSED, said),
    )


def build_done_result(
    job: TableJob,
    plan: Plan,
    done: ApplyOutcome,
    earlier: EarlierCommits,
    *,
    planned: int,
    complete: bool,
    again: bool = False,
) -> TableResult:
    """`corrected` only where every planned correction was written, now or before, and the touched segments are equal.

    Where columns were left out of the comparison, all that was compared may be right: that is `unverified`. A plan of a part
    of the table is `corrected`, and the rest of the table is named as not compared. `again`: the plan was on the timeline
    already, and nothing was written.
    """
    status = Counter(done.commits.status) + Counter(earlier.left)
    applied = status.pop("applied", 0)
    drift = _count_left(done.verified)
    everything = complete and applied + earlier.applied == planned and not status.total()
    verified = done.verified
    moving = verified is not None and (verified.kinds.get("moving", 0) > 0 or not verified.steady)
    fine = everything and not drift and not moving
    why = () if fine else _why(done, status, drift, complete=complete)
    result = TableResult(
        name=job.name,
        outcome=Outcome.INCOMPLETE if not fine else Outcome.UNVERIFIED if done.unverified else Outcome.CORRECTED,
        unverified=(*done.unverified, *_part(job, plan)),
        precision=done.precision,
        findings=drift,
        findings_left=None if verified is None or moving or done.unverified else drift,
        guards=plan.guards,
        corrections=_corrections(plan, {**status, "applied": applied}, done, earlier),
        already_applied=again,
        plan_id=plan.plan_id,
        notes=(*earlier.notes, *_describe_savepoint(done.commits.savepoint), *done.notes, *done.commits.notes, *why),
        cost=Cost(source_rows_fetched=done.rows_fetched),
    )
    return result if verified is None else _add_sides(result, done, verified)


def _add_sides(result: TableResult, done: ApplyOutcome, verified: LookResult) -> TableResult:
    """The result with both sides as the verification saw them."""
    completed, digests = verified.pin.instant.completed, verified.first.digests
    return replace(
        result,
        source=SideState(done.source_rows, verified.moment.snapshot),
        lake=SideState(done.lake_rows, completed),
        checkpoint=None if verified.checkpoint is None else verified.checkpoint.checkpoint.text,
        not_drift={kind: verified.kinds.get(kind, 0) for kind in NOT_DRIFT_KINDS},
        verified_at=completed,
        segments={"verified": len(digests), "unequal": len(select_unequal(digests).ids)},
    )


def build_failed_result(job: TableJob, plan: Plan, tally: Tally, earlier: EarlierCommits) -> TableResult:
    """An error ended the apply after a commit of it had landed: what is known of it, whatever the error was."""
    status = Counter(tally.count_ends({"applied": tally.written_rows}, "failed")) + Counter(earlier.left)
    names = ", ".join(instant.completed for instant in tally.instants)
    why = f"an error ended the apply after commit {names}; rows in it, not read back: {status['applied']}"
    fix = f"run the same command again: it finds the commit, and compares; to take it back: hudi-reconcile undo {job.run_id}"
    done = ApplyOutcome(commits=CommitOutcome(status, tuple(tally.instants), savepoint=tally.savepoint))
    left_rows = plan.upserts + plan.deletes - status["applied"] - earlier.applied
    return TableResult(
        name=job.name,
        outcome=Outcome.UNVERIFIED,
        unverified=(Unverified("rows", job.name, why, fix),),
        guards=plan.guards,
        corrections=_corrections(plan, status, done, earlier),
        plan_id=plan.plan_id,
        uncorrected=count_unfinished(status, left_rows, plan.run_id),
        notes=(*earlier.notes, *_describe_savepoint(tally.savepoint), *tally.notes),
    )


def _corrections(plan: Plan, status: Mapping[str, int], done: ApplyOutcome, earlier: EarlierCommits) -> Corrections:
    return Corrections(
        upserts=plan.upserts,
        deletes=plan.deletes,
        applied=status.get("applied", 0),
        superseded=status.get("superseded", 0),
        moved=status.get("moved", 0),
        failed=status.get("failed", 0),
        held=status.get("held", 0),
        applied_before=earlier.applied,
        instants=tuple(instant.completed for instant in done.commits.instants),
        savepoint=done.commits.savepoint,
    )


def _part(job: TableJob, plan: Plan) -> tuple[Unverified, ...]:
    if plan.part is None:
        return ()
    why = f"the plan was made of a part of the table (only {plan.part} compared): the rest is not proven"
    return (Unverified("table", job.name, why, f"compare the rest: hudi-reconcile sweep -t {job.name}"),)


def _describe_savepoint(savepoint: str | None) -> tuple[str, ...]:
    if savepoint is None:
        return ()
    return (f"savepoint {savepoint}: the table as it was before; kept until the next apply that makes one",)


def _count_left(verified: LookResult | None) -> Mapping[str, int]:
    if verified is None:
        return {}
    return {kind: verified.kinds[kind] for kind in DRIFT_KINDS if verified.kinds.get(kind)}


def _why(done: ApplyOutcome, status: Mapping[str, int], drift: Mapping[str, int], *, complete: bool) -> tuple[str, ...]:
    notes = []
    if not complete:
        notes.append(_ONLY)
    if status.get("superseded", 0) > done.commits.raced_rows:
        notes.append("superseded: another writer changed these rows in the lake after the sweep; sweep again")
    if done.commits.raced_rows:
        notes.append(
            f"superseded: {done.commits.raced_rows} rows are as compared, but another writer was at work and our commit was not "
            f"made; run the same apply again ({done.commits.lost})"
        )
    if status.get("moved"):
        notes.append("moved: the source changed these rows after the sweep; sweep again")
    if status.get("failed"):
        notes.append("failed: the lake does not show these rows as they should be; sweep again")
    if status.get("held"):
        notes.append("held: these rows break rules; correct them at the source and sweep again, or waive the rule")
    if drift:
        notes.append("the touched segments still hold drift: sweep again")
    return (*notes, *_unsteady(done.verified))


def _unsteady(verified: LookResult | None) -> tuple[str, ...]:
    if verified is None:
        return ()
    moving = verified.kinds.get("moving", 0)
    notes = []
    if moving:
        notes.append(
            f"moving: {moving} rows of the touched segments changed while they were compared again; sweep again"
        )
    if not verified.steady:
        notes.append(
            "not steady: another writer completed a commit, or the cleaner passed the snapshot, while the touched segments "
            "were compared again; sweep again"
        )
    return tuple(notes)
