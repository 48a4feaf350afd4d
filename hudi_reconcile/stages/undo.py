"""The undo of one apply: a corrective commit that restores what it changed, for keys that nobody touched since.

The rows from before come from the lake's own history, so nothing of them is kept elsewhere. Doubled keys that were made
one are not doubled again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from hudi_reconcile.core.changes.queries import UNDONE_PLANS
from hudi_reconcile.core.errors import STOPS, ReconcileError, RefusedError, SupersededError, UnknownRunError
from hudi_reconcile.core.lake.ownership import refuse_silent
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.apply_outcome import WRITTEN, format_counts
from hudi_reconcile.core.pull.source_lineage import restore_lineage
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import Corrections, Failure, SideState
from hudi_reconcile.core.tables.values import Checkpoint, Instant, LakeTable
from hudi_reconcile.ports import Edges, TakenBack
from hudi_reconcile.stages.apply.recovery import (
    COUNTS,
    UNDID,
    UNDO_LABEL,
    PlanCommits,
    find_merging,
    find_undoable,
    has_commit_of,
)
from hudi_reconcile.stages.job import LandedError, TableJob
from hudi_reconcile.stages.preconditions import refuse_foreign, refuse_unsafe_writers, require_table
from hudi_reconcile.stages.sweep.two_looks import pin_lake

_AGAIN = "the source still differs: the next sweep finds these rows again"
_OTHERS = "superseded: other writers touched these rows since; they are left"
_OWN = "superseded: other writers, or the plan's own commit that made doubled keys one, touched these rows since; they are left"
_FAILED = "failed: the lake does not show these rows as they were; look at them with hudi-reconcile changes"
_UPSERTS, _DELETES = "upserts", "deletes"


@dataclass(slots=True)
class _Undo:
    """One table's undo of a run, and what became of the rows so far; that is told even where an error ends it."""

    job: TableJob
    run: str
    table: LakeTable
    edges: Edges
    rows: Counter[str] = field(default_factory=Counter)
    instants: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    plans: list[str] = field(default_factory=list)
    others: str = _OTHERS


def undo(job: TableJob, applied_run: str, edges: Edges, *, instants: Collection[str] = ()) -> TableResult:
    """Take an apply back, at most once.

    What a killed run made is known by the run's id on the timeline. `instants` are the completions that the run's result
    names: commits of a killed apply that it finished, or found, are its to take back. Raises UnknownRunError where neither
    names anything, RefusedError where no commit can be taken back, or its rows may be cleaned.
    """
    with edges.lake.lease(job.run_id):
        commits = find_undoable(edges.lake, applied_run, instants)
        if not commits:
            raise _nothing(job, applied_run, known=bool(instants) or has_commit_of(edges.lake, applied_run))
        table = require_table(job, edges.lake.look())
        refuse_foreign(job, edges.source.describe(), table, edges.lake.read_origin, "undo")
        refuse_silent(job.name, edges.lake.list_writers().without_heartbeat)
        work = _Undo(job, applied_run, table, edges)
        _note_merged(work, find_merging(edges.lake, commits))
        for commit in commits:
            if commit.undone is not None:
                _add_earlier_undo(work, commit, commit.undone)
        remaining_commits = [commit for commit in commits if commit.undone is None]
        return _take_all_back(work, remaining_commits) or _result(work, again=not remaining_commits)


def _take_all_back(work: _Undo, commits: Sequence[PlanCommits]) -> TableResult | None:
    """None once all is done; the result of an undo that an error ended after a commit of it had landed."""
    try:
        for commit in commits:
            _take_back(work, commit)
    except ReconcileError as error:
        if not work.rows["applied"]:
            raise
        return replace(_broken_off(work), error=Failure(error.type, error.message, error.fix))
    except (Exception, *STOPS) as stop:
        if not work.rows["applied"]:
            raise
        raise LandedError(_broken_off(work), stop) from stop
    return None


def _nothing(job: TableJob, run: str, *, known: bool) -> RefusedError | UnknownRunError:
    fix = "choose a run that applied something (hudi-reconcile history), and name its tables with -t"
    if known:
        return RefusedError(
            f"table {job.name}: run {run} made no commit in {job.lake.path} that can be taken back", fix=fix
        )
    return UnknownRunError(f"table {job.name}: no commit in {job.lake.path} is of run {run}", fix=fix)


def _note_merged(work: _Undo, merged: Collection[Instant]) -> None:
    if merged:
        names = ", ".join(instant.completed for instant in merged)
        work.notes.append(f"doubled keys that the plan made one stay one: commit {names} is not taken back")
        work.others = _OWN


def _add_earlier_undo(work: _Undo, commit: PlanCommits, undone: Instant) -> None:
    """What an earlier undo of the same commit did, by what its own commit tells."""
    counts = dict(commit.undone_counts or {})
    written = counts.pop(WRITTEN, 0)
    if commit.undone_counts is None:
        work.notes.append(f"commit {undone.completed} of an earlier version does not tell how many rows it took back")
    pin, _ = pin_lake(work.edges.lake)
    if pin.instant == undone:  # nobody came since, so what is still as the apply left it was not taken back
        counts["failed"] = min(_count_still_there(work, commit), written)
    work.rows.update({**counts, "applied_before": written - counts.get("failed", 0)})
    work.instants.append(undone.completed)
    work.plans.append(commit.plan_id)


def _count_still_there(work: _Undo, commit: PlanCommits) -> int:
    """How many rows are as the apply left them; 0 where the lake's history cannot tell, and the counts alone are believed."""
    try:
        reversal = work.edges.lake.prepare_undo(commit.instant, work.table, 0)
    except RefusedError:
        work.notes.append("the rows from before may be cleaned by now: not looked at again")
        return 0
    return sum(rows for (_, status), rows in reversal.counts.items() if status == "ready")


def _take_back(work: _Undo, commit: PlanCommits) -> None:
    lake = work.edges.lake
    _, at = pin_lake(lake)
    if at is None:
        raise RefusedError(f"table {work.job.name}: the lake carries no checkpoint", fix="hudi-reconcile doctor")
    read_seq = max(work.edges.source.read_moment().clock_micros, at.checkpoint.read_seq + 1)
    reversal = lake.prepare_undo(commit.instant, work.table, read_seq)
    rows = _count_taken_back(reversal)
    labels = {**work.job.labels("undo"), UNDO_LABEL: work.run, UNDID: commit.instant.requested}
    labels[COUNTS] = format_counts(rows)
    # What a word of --accept took over is given back too: the word is asked for again.
    carried = replace(restore_lineage(at.checkpoint, commit.stood), read_seq=read_seq)
    written = rows.pop(WRITTEN, 0)
    work.rows.update(rows)
    if not written:
        if commit.stood is not None:
            _give_word_back(work, at.checkpoint, carried)
        return
    try:
        with work.edges.whole_commit():
            instant = lake.correct(reversal.batch, work.table, carried, labels)
            work.instants.append(instant.completed)
            work.plans.append(commit.plan_id)
            work.rows["applied"] += written
    except SupersededError as error:
        work.notes.append(
            f"superseded: nothing of commit {commit.instant.completed} was taken back ({error.message}); run the same undo again"
        )
        work.rows.update(superseded=written, raced=written)
        return
    # A delete either is in the commit or the commit is not; an upsert may be dropped by the merge.
    failed = reversal.counts.get(("upsert", "ready"), 0) - lake.count_shown(reversal.batch.upserts, work.table)
    work.rows.update(applied=-failed, failed=failed)


def _give_word_back(work: _Undo, now: Checkpoint, carried: Checkpoint) -> None:
    """Nothing is left to revert, so a commit without rows restores the checkpoint. It is not labelled as the undo."""
    if replace(carried, read_seq=now.read_seq) == now:
        return
    refuse_unsafe_writers(work.job, work.edges.lake)
    instant = work.edges.lake.mark(work.table, carried, work.job.labels("undo"))
    work.notes.append(
        f"the next apply must pass --accept again (recorded in commit {instant.completed}, no rows changed)"
    )


def _count_taken_back(reversal: TakenBack) -> Counter[str]:
    counted: Counter[str] = Counter()
    for (action, status), rows in reversal.counts.items():
        counted[_UPSERTS if action == "upsert" else _DELETES] += rows
        counted[WRITTEN if status == "ready" else "superseded"] += rows
    return counted


def _result(work: _Undo, *, again: bool) -> TableResult:
    lake, rows = work.edges.lake, work.rows
    pin, checkpoint = pin_lake(lake)
    is_incomplete = bool(rows["superseded"] or rows["failed"]) or (again and not rows["applied_before"])
    notes = (*((work.others,) if rows["superseded"] > rows["raced"] else ()), *((_FAILED,) if rows["failed"] else ()))
    return TableResult(
        name=work.job.name,
        outcome=Outcome.INCOMPLETE if is_incomplete else Outcome.CORRECTED,
        lake=SideState(lake.count_rows(pin), pin.instant.completed),
        checkpoint=None if checkpoint is None else checkpoint.checkpoint.text,
        corrections=_corrections(work),
        already_applied=again,
        notes=(_AGAIN, *work.notes, *notes),
        provenance=_plans(work),
    )


def _broken_off(work: _Undo) -> TableResult:
    """An error ended the undo after a commit of it had landed."""
    return TableResult(
        name=work.job.name,
        outcome=Outcome.UNVERIFIED,
        corrections=_corrections(work),
        notes=(_AGAIN, *work.notes, "an error ended the undo after a commit of it had landed: run the same undo again"),
        provenance=_plans(work),
    )


def _plans(work: _Undo) -> dict[str, str]:
    return {UNDONE_PLANS: ", ".join(dict.fromkeys(work.plans))} if work.plans else {}


def _corrections(work: _Undo) -> Corrections:
    rows = work.rows
    return Corrections(
        upserts=rows[_UPSERTS],
        deletes=rows[_DELETES],
        applied=rows["applied"],
        superseded=rows["superseded"],
        failed=rows["failed"],
        instants=tuple(work.instants),
        applied_before=rows["applied_before"],
    )
