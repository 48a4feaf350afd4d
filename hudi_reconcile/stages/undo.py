"""The undo of one apply: a corrective commit that restores what it changed, for keys that nobody touched since.

The rows from before come from the lake's own history, so nothing of them is kept elsewhere. Doubled keys that were made
one are not doubled again.
"""

from __future__ import annotations

from dataclasses import replace

from hudi_reconcile.core.errors import RefusedError, SupersededError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import Corrections, SideState, TableResult
from hudi_reconcile.core.values import Instant, LakeTable
from hudi_reconcile.ports import Edges, TakenBack
from hudi_reconcile.stages.commits import UNDOABLE, first_of
from hudi_reconcile.stages.confirm import pinned
from hudi_reconcile.stages.lake_state import existing, refuse_foreign
from hudi_reconcile.stages.request import TableJob

UNDO_LABEL = "undo"
_AGAIN = "the source still differs: the next sweep finds these rows again"


def undo(job: TableJob, applied_run: str, edges: Edges, *, finished_plan: str | None = None) -> TableResult:
    """Take an apply back, at most once. Raises RefusedError where it made no commit, or its rows may be cleaned.

    `finished_plan`: the plan that the run applied to its end; of an apply that was killed between its two commits, the first
    is that run's to take back.
    """
    with edges.lake.lease(job.run_id):
        earlier = edges.lake.find_commit(UNDO_LABEL, applied_run)
        if earlier is not None:
            made = Corrections(instants=(earlier.completed,))
            return TableResult(job.name, Outcome.CORRECTED, corrections=made, already_applied=True)
        table = existing(job, edges.lake.look())
        refuse_foreign(job, edges.source.describe(), table, edges.lake.origin, "apply")
        commit = edges.lake.find_commit(UNDOABLE, applied_run)
        if commit is None and finished_plan is not None:
            commit = first_of(finished_plan, None, edges.lake)
        if commit is None:
            raise RefusedError(
                f"table {job.name}: run {applied_run} made no commit in {job.lake_path} that can be taken back",
                fix="choose a run that applied something: hudi-reconcile history",
            )
        return _undo(job, applied_run, commit, table, edges)


def _undo(job: TableJob, applied_run: str, commit: Instant, table: LakeTable, edges: Edges) -> TableResult:
    _, checkpoint = pinned(edges.lake)
    if checkpoint is None:
        raise RefusedError(f"table {job.name}: the lake carries no checkpoint", fix="hudi-reconcile doctor")
    read_seq = max(edges.clock.utc_micros(), checkpoint.checkpoint.read_seq + 1)
    found = edges.lake.taken_back(commit, table, read_seq)
    labels = {**job.labels("undo"), UNDO_LABEL: applied_run}
    instant = None
    if any(status == "ready" for _, status in found.counts):
        try:
            instant = edges.lake.correct(found.batch, table, replace(checkpoint.checkpoint, read_seq=read_seq), labels)
        except SupersededError:
            instant = None
    return _result(job, found, table, instant, edges)


def _result(job: TableJob, found: TakenBack, table: LakeTable, instant: Instant | None, edges: Edges) -> TableResult:
    rows = {name: sum(n for (action, _), n in found.counts.items() if action == name) for name in ("upsert", "delete")}
    ready = {name: found.counts.get((name, "ready"), 0) for name in rows}
    # A delete either is in the commit or the commit is not; an upsert may be dropped by the merge.
    applied = 0 if instant is None else ready["delete"] + edges.lake.shows(found.batch.upserts, table)
    failed = 0 if instant is None else sum(ready.values()) - applied
    superseded = sum(rows.values()) - applied - failed
    pin, checkpoint = pinned(edges.lake)
    return TableResult(
        name=job.name,
        outcome=Outcome.INCOMPLETE if superseded or failed else Outcome.CORRECTED,
        lake=SideState(edges.lake.count(pin), pin.instant.completed),
        checkpoint=None if checkpoint is None else checkpoint.checkpoint.text,
        corrections=Corrections(
            upserts=rows["upsert"],
            deletes=rows["delete"],
            applied=applied,
            superseded=superseded,
            failed=failed,
            instants=() if instant is None else (instant.completed,),
        ),
        notes=(_AGAIN, *(("superseded: other writers touched these rows since; they are left",) if superseded else ())),
    )
