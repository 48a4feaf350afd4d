"""What the timeline tells of corrective commits: those of a plan or a run, what each says it wrote, and which were taken back.

A killed apply leaves nothing else, so whatever comes after it asks here and not the run folders.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from hudi_reconcile.core.commit_counts import parse_counts
from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.plan import Plan
from hudi_reconcile.core.values import Instant
from hudi_reconcile.ports import Lake
from hudi_reconcile.stages.request import TableJob

PLAN_LABEL = "plan"  # the plan's id and the part of it, `:first` where a second commit was to follow
UNDOABLE = "wrote"  # the commit that `undo` takes back, by the run that made it
COUNTS = "counts"  # what became of every key of the part (core/commit_counts.py)
SAVEPOINT = "savepoint"  # the instant that was kept from before the first commit
STOOD = "stood"  # what a word of `--accept` replaced in the checkpoint
UNDO_LABEL = "undo"  # the run that was taken back, as it was named
RUN_LABEL = "run_id"  # the run that made the commit, of any kind
UNDID = "undid"  # the commit that was taken back, by its requested time
FIRST = ":first"


@dataclass(frozen=True, slots=True)
class Landed:
    """One commit of a plan. `last`: with it the part was done, else a second was to follow.

    `run_id` is the run that made it, where `undo` can take it back. `counts` is None where an earlier version made it.
    `savepoint` is as the commit carries it; `stood` too, and the first of two has the second's: with it the word is given
    back. `undone` is the commit that took it back, and `undone_counts` what that one tells of the rows.
    """

    instant: Instant
    part: str
    last: bool
    run_id: str | None
    counts: Mapping[str, int] | None
    stood: str | None
    savepoint: str | None
    undone: Instant | None
    undone_counts: Mapping[str, int] | None
    plan_id: str


def landed_of(lake: Lake, plan_id: str) -> tuple[Landed, ...]:
    """The commits of a plan, newest first."""
    return _told(lake, [(text, at) for text, at in lake.labelled(PLAN_LABEL) if _plan(text) == plan_id])


def undoable(lake: Lake, run_id: str, completed: Collection[str]) -> tuple[Landed, ...]:
    """The commits that a run made, or that its result names by their completion, and that can be taken back; newest first."""
    mine = {at.requested for run, at in lake.labelled(UNDOABLE) if run == run_id or at.completed in completed}
    return _told(lake, [(text, at) for text, at in lake.labelled(PLAN_LABEL) if at.requested in mine])


def merging(lake: Lake, landed: Sequence[Landed]) -> tuple[Instant, ...]:
    """The commits of the same plans that made doubled keys one, newest first: no undo takes them back."""
    ours, undoable = {one.instant.requested for one in landed}, {at.requested for _, at in lake.labelled(UNDOABLE)}
    found = lake.labelled(PLAN_LABEL)
    plans = {_plan(text) for text, at in found if at.requested in ours}
    return tuple(at for text, at in found if _plan(text) in plans and at.requested not in undoable)


def made_by(lake: Lake, run_id: str) -> bool:
    """True where any commit, of whatever kind, is of the run."""
    return any(run == run_id for run, _ in lake.labelled(RUN_LABEL))


def parts_of(landed: Sequence[Landed]) -> frozenset[str]:
    """The parts of the plan that are done: `all`, `upsert`, `delete`."""
    return frozenset(one.part for one in landed if one.last)


def refuse_undone(job: TableJob, plan: Plan, landed: Sequence[Landed]) -> None:
    """Raises RefusedError where any of the plan's commits was taken back: the lake is no longer what the plan compared."""
    for one in landed:
        if one.undone is not None:
            raise RefusedError(
                f"table {job.name}: the plan of run {plan.run_id} was applied (commit {one.instant.completed}) and was undone "
                f"(commit {one.undone.completed})",
                fix=f"sweep again: hudi-reconcile sweep -t {job.name}",
            )


def _told(lake: Lake, found: Sequence[tuple[str, Instant]]) -> tuple[Landed, ...]:
    if not found:
        return ()
    wrote, counts, stood, kept = (
        {at.requested: text for text, at in lake.labelled(key)} for key in (UNDOABLE, COUNTS, STOOD, SAVEPOINT)
    )
    replaced = {_plan(text): stood[at.requested] for text, at in lake.labelled(PLAN_LABEL) if at.requested in stood}
    undid, undid_run = (dict(lake.labelled(key)) for key in (UNDID, UNDO_LABEL))
    landed = []
    for text, at in found:
        part, run = text.partition(":")[2], wrote.get(at.requested)
        # Commits of an earlier version's undo name the run alone.
        undone = undid.get(at.requested) or (None if run is None else undid_run.get(run))
        landed.append(
            Landed(
                at,
                part.removesuffix(FIRST),
                not part.endswith(FIRST),
                run,
                _counts(counts, at),
                stood.get(at.requested) or (replaced.get(_plan(text)) if part.endswith(FIRST) else None),
                kept.get(at.requested),
                undone,
                None if undone is None else _counts(counts, undone),
                _plan(text),
            )
        )
    return tuple(landed)


def _plan(text: str) -> str:
    return text.partition(":")[0]


def _counts(counts: Mapping[str, str], at: Instant) -> Mapping[str, int] | None:
    text = counts.get(at.requested)
    return None if text is None else parse_counts(text)
