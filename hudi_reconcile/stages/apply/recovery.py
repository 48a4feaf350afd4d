"""What earlier applies of a plan or a run did, as the lake's timeline tells it, and which part is left to do.

A killed apply leaves nothing but its commit, so whatever comes after asks here and not the run folders. The commit for keys
that the lake holds more than once writes partitions anew, and with them rows of the plan's other part: another version, and
nobody changed them. Nobody else's commit lies between the two snapshots around it, so such a row is what it was before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.plan.apply_outcome import UNKNOWN, WRITTEN, infer_reasons, parse_counts
from hudi_reconcile.core.plan.plan import Plan
from hudi_reconcile.core.tables.values import Instant
from hudi_reconcile.ports import Comparer, Frame, Lake, Look
from hudi_reconcile.stages.apply.progress import DOUBLED, LANDED, READY
from hudi_reconcile.stages.comparison import Sides
from hudi_reconcile.stages.job import TableJob

PLAN_LABEL = "plan"  # the plan's id and the part of it, `:first` where a second commit was to follow
UNDOABLE = "wrote"  # the commit that `undo` takes back, by the run that made it
COUNTS = "counts"  # what became of every key of the part (core/plan/apply_outcome.py)
SAVEPOINT = "savepoint"  # the instant that was kept from before the first commit
STOOD = "stood"  # what a word of `--accept` replaced in the checkpoint
UNDO_LABEL = "undo"  # the run that was taken back, as it was named
RUN_LABEL = "run_id"  # the run that made the commit, of any kind
UNDID = "undid"  # the commit that was taken back, by its requested time
FIRST = ":first"


@dataclass(frozen=True, slots=True)
class PlanCommits:
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


def find_plan_commits(lake: Lake, plan_id: str) -> tuple[PlanCommits, ...]:
    """The commits of a plan, newest first."""
    return _read_commits(lake, [(text, at) for text, at in lake.find_labels(PLAN_LABEL) if _plan(text) == plan_id])


def find_undoable(lake: Lake, run_id: str, completed: Collection[str]) -> tuple[PlanCommits, ...]:
    """The commits that a run made, or that its result names by their completion, and that can be taken back; newest first."""
    mine = {at.requested for run, at in lake.find_labels(UNDOABLE) if run == run_id or at.completed in completed}
    return _read_commits(lake, [(text, at) for text, at in lake.find_labels(PLAN_LABEL) if at.requested in mine])


def find_merging(lake: Lake, landed: Sequence[PlanCommits]) -> tuple[Instant, ...]:
    """The commits of the same plans that made doubled keys one, newest first: no undo takes them back."""
    ours, undoable = (
        {commit.instant.requested for commit in landed},
        {at.requested for _, at in lake.find_labels(UNDOABLE)},
    )
    labels = lake.find_labels(PLAN_LABEL)
    plans = {_plan(text) for text, at in labels if at.requested in ours}
    return tuple(at for text, at in labels if _plan(text) in plans and at.requested not in undoable)


def has_commit_of(lake: Lake, run_id: str) -> bool:
    """True where any commit, of whatever kind, is of the run."""
    return any(run == run_id for run, _ in lake.find_labels(RUN_LABEL))


def find_done_parts(landed: Sequence[PlanCommits]) -> frozenset[str]:
    """The parts of the plan that are done: `all`, `upsert`, `delete`."""
    return frozenset(commit.part for commit in landed if commit.last)


def refuse_undone(job: TableJob, plan: Plan, landed: Sequence[PlanCommits]) -> None:
    """Raises RefusedError where any of the plan's commits was taken back: the lake is no longer what the plan compared."""
    for commit in landed:
        if commit.undone is not None:
            raise RefusedError(
                f"table {job.name}: the plan of run {plan.run_id} was applied (commit {commit.instant.completed}) and was undone "
                f"(commit {commit.undone.completed})",
                fix=f"sweep again: hudi-reconcile sweep -t {job.name}",
            )


def _read_commits(lake: Lake, labels: Sequence[tuple[str, Instant]]) -> tuple[PlanCommits, ...]:
    if not labels:
        return ()
    wrote, counts, stood, kept = (
        {at.requested: text for text, at in lake.find_labels(key)} for key in (UNDOABLE, COUNTS, STOOD, SAVEPOINT)
    )
    replaced = {_plan(text): stood[at.requested] for text, at in lake.find_labels(PLAN_LABEL) if at.requested in stood}
    undid, exact = dict(lake.find_labels(UNDID)), {at.requested for _, at in lake.find_labels(UNDID)}
    undid_run = {run: at for run, at in lake.find_labels(UNDO_LABEL) if at.requested not in exact}
    landed = []
    for text, at in labels:
        part, run = text.partition(":")[2], wrote.get(at.requested)
        # Commits of an earlier version's undo name the run alone.
        undone = undid.get(at.requested) or (None if run is None else undid_run.get(run))
        landed.append(
            PlanCommits(
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


@dataclass(frozen=True, slots=True)
class EarlierCommits:
    """Rows that were written before, and those of the same parts of the plan that were not, by status.

    `left_rows` are the keys of the latter, by reason; None where there are none, or the lake cannot tell them.
    """

    applied: int = 0
    left: Mapping[str, int] = field(default_factory=dict)
    instants: tuple[Instant, ...] = ()
    notes: tuple[str, ...] = ()
    left_rows: Frame | None = None

    @property
    def is_whole(self) -> bool:
        """Every row of those parts was written."""
        return not self.left


NONE = EarlierCommits()


def count_earlier(
    sides: Sides, rows: Frame, landed: Sequence[PlanCommits], planned: int, own: Sequence[PlanCommits] | None
) -> EarlierCommits:
    """What these commits made of a plan's rows: those `planned` ones of the parts that they finished.

    `own` are all commits of the plan; None where columns or types are no longer those of the plan, so that no older snapshot
    can be held against it.
    """
    if not any(commit.last for commit in landed):
        return NONE
    ends = [commit.counts for commit in landed if commit.last]
    made = None if own is None else look_at_made_rows(sides, rows, landed, own)
    unwritten_rows: Counter[str] = Counter()
    written = 0
    for counts in ends:
        unwritten_rows.update({status: count for status, count in (counts or {}).items() if status != WRITTEN})
        written += (counts or {}).get(WRITTEN, 0)
    notes = [_wrote(landed)]
    if None in ends:  # an earlier version's commits do not tell
        written = min(0 if made is None else made.rows, planned)
        unwritten_rows.update({"superseded": planned - written})
        notes += [_UNTOLD] if planned > written else []
    elif made is not None and made.rows < written:
        unwritten_rows.update({"failed": written - made.rows})
        written = made.rows
    keys = _name_left(sides.comparer, made, unwritten_rows) if made is not None and written == made.rows else None
    return EarlierCommits(
        written, +unwritten_rows, tuple(commit.instant for commit in reversed(landed)), tuple(notes), keys
    )


@dataclass(frozen=True, slots=True)
class MadeRows:
    """How many rows the commits made right, and the others by how they stood just after the oldest commit."""

    rows: int
    left: Frame


def add_killed_applies(earlier: EarlierCommits, made: MadeRows | None, firsts: Sequence[PlanCommits]) -> EarlierCommits:
    """Together with what killed applies wrote of the part that is not asked for now."""
    if made is None or not made.rows:
        return earlier
    return replace(earlier, applied=earlier.applied + made.rows, notes=(*earlier.notes, _wrote(firsts)))


def _name_left(comparer: Comparer, made: MadeRows, unwritten_rows: Mapping[str, int]) -> Frame | None:
    if not any(unwritten_rows.values()):
        return None
    return comparer.name_reasons(
        made.left, "reason", infer_reasons(unwritten_rows, comparer.count(made.left, "reason"))
    )


def look_at_made_rows(
    sides: Sides, rows: Frame, landed: Sequence[PlanCommits], own: Sequence[PlanCommits]
) -> MadeRows | None:
    """What the commits made, each looked at just after it; None where a snapshot may be cleaned.

    `own` are all commits of the plan, which may have carried rows into new files.
    """
    comparer, touched = sides.comparer, sides.narrow_segments(rows)
    made_rows = 0
    for commit in landed:
        try:
            before, at = (sides.lake.read_rows(pin) for pin in sides.lake.pin_around(commit.instant))
        except RefusedError:
            return None
        look = Look(sides.source.read_rows(sides.table, sides.cut, touched), at)
        then = find_rewritten_versions(sides, rows, list_earlier_commits(commit, own))
        marked = comparer.mark_landed(comparer.recheck(then, look, touched), (before, at), touched)
        made_rows += comparer.count(marked, "status").get(LANDED, 0)
        rows = comparer.list_uncorrected(
            rows, [comparer.name_reasons(marked, "status", dict.fromkeys((READY, DOUBLED), UNKNOWN))]
        )
    return MadeRows(made_rows, rows)


_UNTOLD = (
    "superseded: a commit of an earlier version does not tell what became of these rows, and the lake does not show them "
    "written; sweep again"
)


def _wrote(landed: Sequence[PlanCommits]) -> str:
    said = [
        f"{commit.instant.completed}{f' of run {commit.run_id}' if commit.run_id else ''}"
        for commit in reversed(landed)
    ]
    return f"this plan was written before: commit {', '.join(said)}"


@dataclass(frozen=True, slots=True)
class RestOfPlan:
    """The part that is to be done (None: both); `done`: it was done before, so that nothing is written.

    `landed` are all of the plan's commits. `commits` are those that may have written rows of the parts that were done before
    and count for the result; these have `rows_before` planned rows, of `action_before` alone where it is not None. `rows`
    are the planned rows of all parts that the result is about; `finishes`: that is all.
    """

    action: str | None
    done: bool
    landed: tuple[PlanCommits, ...]
    commits: tuple[PlanCommits, ...]
    rows_before: int
    action_before: str | None
    rows: int
    finishes: bool


def find_rest(plan: Plan, landed: tuple[PlanCommits, ...], only: str | None) -> RestOfPlan:
    """What is left of the plan, or of the part that `--only` names."""
    done = find_done_parts(landed)
    action, again = _choose_part(plan, done, only)
    before = done & {action} if again and action else done
    parts = before if again else before | {action or "all"}
    commits = tuple(commit for commit in landed if _wrote_part(before, commit))
    alone = next(iter(before)) if len(before) == 1 and "all" not in before else None
    return RestOfPlan(
        action, again, landed, commits, _rows(plan, before), alone, _rows(plan, parts), _is_whole(plan, parts)
    )


def name_other_part(action: str | None) -> str:
    """The part of a plan beside this one."""
    return "delete" if action == "upsert" else "upsert"


def _wrote_part(parts: Collection[str], commit: PlanCommits) -> bool:
    """True for the commits that ended these parts, and for those of killed applies that may have begun them.

    An apply that was killed between two commits may have been asked for more, or for less, than the one that ended the part.
    """
    if commit.last or not parts:
        return commit.part in parts
    return commit.part in parts or commit.part == "all" or "all" in parts


def _choose_part(plan: Plan, done: Collection[str], only: str | None) -> tuple[str | None, bool]:
    if done and _is_whole(plan, done):
        return None, True
    if only is not None:
        return only, only in done
    if done:
        return name_other_part("upsert" if "upsert" in done else "delete"), False
    return None, False


def _is_whole(plan: Plan, parts: Collection[str]) -> bool:
    """True where these parts leave nothing of the plan to be done."""
    planned = {part for part, rows in (("upsert", plan.upserts), ("delete", plan.deletes)) if rows}
    return "all" in parts or planned <= set(parts)


def _rows(plan: Plan, parts: Collection[str]) -> int:
    by_part = {"upsert": plan.upserts, "delete": plan.deletes}
    return plan.upserts + plan.deletes if "all" in parts else sum(by_part[part] for part in parts)


def find_rewritten_versions(sides: Sides, rows: Frame, own: Sequence[PlanCommits]) -> Frame:
    """A plan's rows with the versions that its own commits of the other part, newest first, gave them.

    Where the snapshots around such a commit may be cleaned, its rows keep their versions, and look like another writer's.
    """
    for commit in reversed(own):
        if commit.part not in ("upsert", "delete") or not _rewrites(commit):
            continue
        snapshots = _read_around(sides, commit)
        if snapshots is not None:
            action = "delete" if commit.part == "upsert" else "upsert"
            rows = sides.comparer.carry_versions(rows, action, *snapshots)
    return rows


def find_rewritten_snapshots(
    sides: Sides, first: PlanCommits, own: Sequence[PlanCommits]
) -> tuple[tuple[Frame, Frame], ...]:
    """The lake around those of a plan's own commits that wrote partitions anew after this one, oldest first."""
    later = [
        commit for commit in reversed(own) if _rewrites(commit) and commit.instant.completed > first.instant.completed
    ]
    return tuple(snapshots for commit in later if (snapshots := _read_around(sides, commit)) is not None)


def list_earlier_commits(commit: PlanCommits, own: Sequence[PlanCommits]) -> tuple[PlanCommits, ...]:
    """Those of a plan's own commits that came before this one."""
    return tuple(other for other in own if other.instant.completed < commit.instant.completed)


def _rewrites(commit: PlanCommits) -> bool:
    return commit.run_id is None  # only such a commit cannot be taken back


def _read_around(sides: Sides, commit: PlanCommits) -> tuple[Frame, Frame] | None:
    try:
        was, at = sides.lake.pin_around(commit.instant)
    except RefusedError:
        return None
    return sides.lake.read_rows(was), sides.lake.read_rows(at)
