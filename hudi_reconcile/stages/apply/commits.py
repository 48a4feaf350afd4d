"""The commits of an apply: one for upserts and deletes; one more where the lake holds planned keys more than once.

The second writes partitions anew, which gives every row in them a new version, so it comes last. Decides the order and
what is counted when one of them is not made; which rows may be written is decided before. An apply that was killed between
the two is finished by the next: what its first commit made is known by the plan's id on the timeline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hudi_reconcile.core.errors import RefusedError, SupersededError
from hudi_reconcile.core.notes import Note, Stake
from hudi_reconcile.core.plan.apply_outcome import LEFT, WRITTEN, format_counts
from hudi_reconcile.core.plan.plan import Plan
from hudi_reconcile.core.plan.steps import StepName
from hudi_reconcile.core.pull.source_lineage import (
    FILTER,
    RESTORED,
    UNKNOWN,
    SourceLineage,
    accept_lineage,
    describe_replaced_lineage,
)
from hudi_reconcile.core.sweep.segments import SegmentSet
from hudi_reconcile.core.tables.values import READ_SEQ, Checkpoint, Instant
from hudi_reconcile.ports import Frame, Quarantine, StatusCounts
from hudi_reconcile.stages.apply.progress import DOUBLED, LANDED, READY, CommitOutcome, Tally
from hudi_reconcile.stages.apply.recovery import (
    COUNTS,
    FIRST,
    NONE,
    PLAN_LABEL,
    SAVEPOINT,
    STOOD,
    UNDOABLE,
    EarlierCommits,
    PlanCommits,
    find_rewritten_snapshots,
)
from hudi_reconcile.stages.apply.uncorrected import list_unwritten
from hudi_reconcile.stages.comparison import Sides, TablePair
from hudi_reconcile.stages.job import TableJob
from hudi_reconcile.stages.pull.schema import Followed
from hudi_reconcile.stages.sweep.two_looks import pin_lake


@dataclass(frozen=True, slots=True)
class ApplyWork:
    """A plan's corrections that are still to be made, and where.

    `followed` is the lake table as they leave it. `touched` are the segments of `rows`, `verify` those that are compared in
    the end. `firsts`: earlier applies made their first commit only. `earlier`: what applies of the plan's other parts did;
    `finishes`: with these the whole plan is done. `planned_rows` are those of all these parts. `lineage` and `words`: the
    source's filter and history now, and what a person accepted. `as_of_micros`: the source's time that the rows show.
    `own` are all commits of the plan, newest first. `planned` are all rows of the plan,
    `not_asked` those of the part that `--only` leaves to another apply.
    """

    job: TableJob
    plan: Plan
    action: str | None
    sides: Sides
    planned: Frame
    rows: Frame
    touched: SegmentSet
    pair: TablePair
    followed: Followed
    verify: SegmentSet
    planned_rows: int
    firsts: tuple[PlanCommits, ...] = ()
    earlier: EarlierCommits = NONE
    finishes: bool = True
    quarantine: Quarantine | None = None
    lineage: SourceLineage = UNKNOWN
    words: frozenset[str] = frozenset()
    as_of_micros: int | None = None
    not_asked: Frame | None = None
    own: tuple[PlanCommits, ...] = ()


@dataclass(frozen=True, slots=True)
class Recheck:
    """The plan's rows held against both sides as they are now, and counted."""

    work: ApplyWork
    rows: Frame
    counts: StatusCounts
    checkpoint: Checkpoint | None
    clock_micros: int
    notes: tuple[str, ...] = ()

    @property
    def ready_rows(self) -> int:
        """How many may be written."""
        return sum(self.counts.rows.get(status, 0) for status in (READY, DOUBLED))


def select_first_commits(landed: Sequence[PlanCommits], action: str | None) -> tuple[PlanCommits, ...]:
    """The first of two commits that killed applies of the same part, or of the whole, made; newest first."""
    return tuple(commit for commit in landed if not commit.last and (action is None or commit.part in ("all", action)))


def exclude_landed(work: ApplyWork, rechecked: Frame) -> Frame:
    """What the first commits of killed applies made is not superseded by them. Unknown where a forerunner may be cleaned."""
    lake = work.sides.lake
    for first in work.firsts:
        try:
            around = lake.pin_around(first.instant)
        except RefusedError:
            continue
        both, later = (
            (lake.read_rows(around[0]), lake.read_rows(around[1])),
            find_rewritten_snapshots(work.sides, first, work.own),
        )
        rechecked = work.sides.comparer.mark_landed(rechecked, both, work.touched, later)
    return rechecked


def write_corrections(recheck: Recheck, tally: Tally) -> CommitOutcome:
    """Make the commits, each noted in the tally before the process may be stopped, and read back what the lake shows.

    Raises RefusedError where Hudi cannot carry a correction out and nothing was written yet.
    """
    work, earlier = recheck.work, recheck.checkpoint
    if work.quarantine is not None:
        tally.course.begin(StepName.HOLD_BACK)
    rechecked, rows_by_rule = _hold_corrections_back(recheck)
    counts = work.sides.comparer.count_statuses(rechecked) if rows_by_rule else recheck.counts
    tally.found = Counter(counts.rows)
    broken = (f"held back: {rows} corrections break rule {rule}" for rule, rows in rows_by_rule.items())
    tally.notes += [Note(Stake.ROWS, text) for text in broken]
    if tally.waiting_rows:
        _make_savepoint(work, tally)
    read_seq = _next_seq(recheck, counts.newest_seq)
    for status in [status for status in (READY, DOUBLED) if tally.found[status]]:
        tally.course.begin(StepName.COMMIT if status == READY else StepName.REWRITE)
        try:
            with tally.whole_commit():
                instant = _commit(work, rechecked, _carry_checkpoint(work, earlier, read_seq), status, tally)
                tally.instants.append(instant)
                tally.written.append(status)
        except SupersededError as error:
            tally.lost = error.message
            break
        except RefusedError as error:
            if not tally.instants:
                raise
            tally.notes.append(f"{error.message}; {error.fix}")
    return _end_commits(work, rechecked, tally)


def _next_seq(recheck: Recheck, there: int | None) -> int:
    """A read sequence above those of pulls, and of the rows that are replaced: whoever wrote them, Hudi keeps the greater.

    `there` is the greatest of the latter.

    Raises RefusedError where such a row has the greatest that there is.
    """
    known = 0 if recheck.checkpoint is None else recheck.checkpoint.read_seq
    there = there if recheck.work.pair.lake_table.owned else None
    seq = max(recheck.clock_micros, known + 1, (there or 0) + 1)
    if seq >= _GREATEST_SEQ:
        raise RefusedError(
            f"table {recheck.work.job.name}: another writer gave rows of the plan the {READ_SEQ} {there}: no write of ours can "
            "replace them",
            fix="let the tool that wrote these rows delete them, then sweep again",
        )
    return seq


_GREATEST_SEQ = 2**63 - 2  # of a bigint; a delete's mark takes one more


def _end_commits(work: ApplyWork, rechecked: Frame, tally: Tally) -> CommitOutcome:
    if landed := tally.found[LANDED]:
        # Before anything is read: an error there tells of these commits too.
        tally.instants[:0] = [first.instant for first in reversed(work.firsts)]
        tally.notes.append(
            f"an apply of this plan was killed between its two commits; {landed} rows are from the first"
        )
    if tally.written:
        tally.course.begin(StepName.READ_BACK)
    comparer = work.sides.comparer
    shown = _read_back(work, rechecked, tuple(tally.written)) if tally.written else rechecked
    counts = comparer.count(shown, "status") if tally.written else {}
    unwritten = "superseded" if tally.lost else "failed"
    status = tally.count_ends({name: counts.get(name, 0) for name in ("applied", "failed")}, unwritten)
    if tally.savepoint and tally.written:
        work.sides.lake.drop_savepoints(keep=tally.savepoint)
    raced = tally.waiting_rows if tally.lost else 0
    unwritten_keys = list_unwritten(comparer, shown, unwritten, is_lost=bool(tally.lost))
    return CommitOutcome(
        status, tuple(tally.instants), tuple(tally.notes), tally.savepoint, raced, tally.lost, unwritten_keys
    )


def _hold_corrections_back(rechecked: Recheck) -> tuple[Frame, Mapping[str, int]]:
    """Upserts whose new image breaks a rule of the quarantine are not written: status `held`, and how many by rule."""
    work, rows = rechecked.work, rechecked.rows
    if work.quarantine is None:
        return rows, {}
    sides, rows_by_rule = work.sides, Counter[str]()
    for status in (READY, DOUBLED):
        upserts = sides.comparer.build_corrective(rows, status).upserts
        images = sides.lake.build_batch(
            upserts, sides.table.columns, work.job.lake.partition_by, 0, work.followed.shape
        ).rows
        key = tuple(column.lake_name for column in sides.table.key_columns)
        quarantined_rows = work.quarantine.hold_rows(images, key)
        if quarantined_rows.by_rule:
            rows = sides.comparer.hold(rows, quarantined_rows.keys)
            rows_by_rule.update(quarantined_rows.by_rule)
    return rows, rows_by_rule


def _make_savepoint(work: ApplyWork, tally: Tally) -> None:
    """One savepoint a table is kept: the newest from before an apply that wrote. A second apply of a plan keeps the first's."""
    earlier = tuple(first.savepoint for first in reversed(work.firsts) if first.savepoint is not None)
    deletes = work.plan.deletes > 0 and work.action != "upsert"
    if not earlier and not {"always": True, "deletes": deletes}.get(work.job.savepoint, False):
        return
    tally.course.begin(StepName.SAVEPOINT)
    tally.savepoint = work.sides.lake.savepoint(f"before apply {work.job.run_id}", earlier)
    if earlier and tally.savepoint not in earlier:
        tally.notes.append(f"savepoint {earlier[0]} from before the plan's first commit is gone")


def _carry_checkpoint(work: ApplyWork, earlier: Checkpoint | None, read_seq: int) -> Checkpoint:
    # The pull's own progress is carried on unchanged; only the read sequence rises, so that nothing older wins later.
    if earlier is None:
        blank = Checkpoint(
            work.job.pull.strategy, work.job.pull.watermark, None, None, read_seq, work.sides.table.identity
        )
        return replace(blank, incrementing=work.job.pull.incrementing)
    as_of = max((at for at in (earlier.as_of_micros, work.as_of_micros) if at is not None), default=None)
    return replace(earlier, read_seq=read_seq, as_of_micros=as_of)


def _accept_into_checkpoint(work: ApplyWork, rechecked: Frame, carried: Checkpoint, tally: Tally) -> Checkpoint:
    """The checkpoint with the accepted filter and history, only where every row that the acceptance covers was written.

    A plan of a part says nothing of the rest: what is gone there waits for a word of its own.
    """
    if work.plan.part is not None:
        return carried
    done = {READY, DOUBLED, LANDED}
    whole = work.finishes and not work.earlier.left and set(+tally.found) <= done
    words = work.words & {FILTER, RESTORED} if whole else work.words & {FILTER}
    if words and not whole:
        deletes = work.sides.comparer.count(work.sides.comparer.select_corrections(rechecked, "delete"), "status")
        words = words if work.action != "upsert" and set(deletes) <= done else frozenset()
    taken = accept_lineage(work.lineage, words)
    if taken.where is not None:
        filled = carried.filled_where or carried.where  # rows that only the new filter takes in may be left
        carried = replace(carried, where=taken.where, filled_where=None if whole or filled == taken.where else filled)
    carried = replace(carried, timeline=taken.timeline or carried.timeline)
    return replace(carried, position=taken.position or carried.position)


def _commit(work: ApplyWork, rechecked: Frame, carried: Checkpoint, status: str, tally: Tally) -> Instant:
    sides, job = work.sides, work.job
    corrections = sides.comparer.build_corrective(rechecked, status, rows=tally.found[status])
    shape = work.followed.shape
    columns = sides.table.columns
    upserts = sides.lake.build_batch(corrections.upserts, columns, job.lake.partition_by, carried.read_seq, shape).rows
    last = status == DOUBLED or not tally.found[DOUBLED]
    stands = _accept_into_checkpoint(work, rechecked, carried, tally) if last else carried
    batch = replace(corrections, upserts=upserts)
    write = sides.lake.replace if status == DOUBLED else sides.lake.correct
    return write(
        batch,
        work.followed.table,
        stands,
        _labels(work, status, tally, describe_replaced_lineage(carried, stands), last=last),
    )


def _labels(work: ApplyWork, status: str, tally: Tally, stood: str | None, *, last: bool) -> Mapping[str, str]:
    # A plan counts as applied by the label of its last commit; a kill between the two leaves it to be applied again.
    part = f"{work.plan.plan_id}:{work.action or 'all'}"
    others = {name: rows for name, rows in tally.found.items() if name not in (READY, DOUBLED, LANDED)}
    written = tally.found[LANDED] + tally.written_rows + tally.found[status]
    labels = {
        **work.job.labels("apply"),
        "sweep": work.plan.run_id,
        PLAN_LABEL: part if last else part + FIRST,
        COUNTS: format_counts({**others, WRITTEN: written, LEFT: 0 if last else tally.found[DOUBLED]}),
    }
    if status == READY:
        labels[UNDOABLE] = work.job.run_id
    if tally.savepoint is not None:
        labels[SAVEPOINT] = tally.savepoint
    if stood is not None:
        labels[STOOD] = stood
    return labels


def _read_back(work: ApplyWork, rechecked: Frame, written: tuple[str, ...]) -> Frame:
    sides = work.sides
    pin, _ = pin_lake(sides.lake)
    return sides.comparer.read_back(rechecked, sides.lake.read_rows(pin), work.touched, written=written)
