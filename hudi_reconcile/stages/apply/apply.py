"""The apply of one plan, through the steps that `core/plan/steps.py` explains, in that order.

A correction never overwrites, and never deletes, anything newer than what was compared: every key is held against both
sides once more, and the commit goes through only if the lake still holds the versions that were compared. The keys of
deletes are also asked for at the source by another way than rows are read: a read in parts can lack a row without an error
while the source is written to; the answer to that question may name too many rows, never too few.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hudi_reconcile.core.errors import STOPS, ReconcileError
from hudi_reconcile.core.lake.ownership import describe_writers, refuse_silent
from hudi_reconcile.core.notes import Note, Stake
from hudi_reconcile.core.plan.guards import Policy, guard_shrunken_source, list_failed_guards, tighten_guards
from hudi_reconcile.core.plan.plan import SCHEMA, Approval, Plan
from hudi_reconcile.core.plan.steps import Course, StepName, list_steps
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import Cost, Failure, Guard
from hudi_reconcile.core.sweep.segments import HashSegments, SegmentSet, parse
from hudi_reconcile.core.tables.key_encoding import MOST_ASKED
from hudi_reconcile.core.tables.schema_evolution import PullRecord
from hudi_reconcile.core.tables.values import SourceTable
from hudi_reconcile.ports import Edges, Frame, Look, Quarantine, Source
from hudi_reconcile.stages.apply.commits import (
    ApplyWork,
    Recheck,
    exclude_landed,
    select_first_commits,
    write_corrections,
)
from hudi_reconcile.stages.apply.progress import CommitOutcome, Tally
from hudi_reconcile.stages.apply.recovery import (
    MadeRows,
    PlanCommits,
    RestOfPlan,
    add_killed_applies,
    count_earlier,
    find_plan_commits,
    find_rest,
    find_rewritten_versions,
    look_at_made_rows,
    name_other_part,
    refuse_undone,
)
from hudi_reconcile.stages.apply.result import (
    ApplyOutcome,
    build_done_result,
    build_failed_result,
    build_refused_result,
)
from hudi_reconcile.stages.apply.uncorrected import Listing, Remainder, save_left
from hudi_reconcile.stages.comparison import Sides, list_hidden_digits, measure_precision, note_settings, pair_tables
from hudi_reconcile.stages.hoodiestreamer import find_streamer_checkpoint
from hudi_reconcile.stages.job import LandedError, TableJob
from hudi_reconcile.stages.odd_keys import describe_unjudged_keys
from hudi_reconcile.stages.preconditions import refuse_foreign, refuse_mismatch, require_table, roll_back_dead_writers
from hudi_reconcile.stages.pull.schema import follow_for_correction
from hudi_reconcile.stages.requirements import (
    refuse_changed_schema,
    refuse_changed_standing,
    refuse_other_rows,
    refuse_stale,
    write_schema,
)
from hudi_reconcile.stages.stage_log import Laps, step_log
from hudi_reconcile.stages.sweep.guards import REPLICA_DELETES, refuse_unreplayed
from hudi_reconcile.stages.sweep.partial import check_derived, find_partitions
from hudi_reconcile.stages.sweep.settling import look_until_settled
from hudi_reconcile.stages.sweep.stability import check_complete
from hudi_reconcile.stages.sweep.two_looks import LookResult, choose_timing, pin_lake
from hudi_reconcile.stages.watermark import choose_watermark

EXPIRED = "expired_plan"


def apply(
    job: TableJob,
    plan: Plan,
    findings_path: str,
    approval: Approval,
    edges: Edges,
    *,
    quarantine: Quarantine | None = None,
    listing: Listing | None = None,
) -> TableResult:
    """Execute a plan at most once; what is left uncorrected is listed in `listing`, each row with its reason.

    A plan whose commits are on the timeline is compared again, and nothing is written. Raises RefusedError before anything is
    written where a requirement does not hold. An error after a commit has landed is in the result, which names the commit;
    one that is no ReconcileError, and a stop of the process, comes as LandedError.
    """
    with edges.lake.lease(job.run_id), step_log(job.name, edges.clock) as say:
        course = Course(list_steps(plan), say)
        course.begin(StepName.REQUIRE)
        landed = find_plan_commits(edges.lake, plan.plan_id)
        refuse_undone(job, plan, landed)
        rest = find_rest(plan, landed, approval.only)
        table = edges.source.describe()
        refuse_stale(job, plan, table, edges.clock.utc_micros(), approval.accept | ({EXPIRED} if rest.done else set()))
        lineage = edges.source.read_lineage()
        refuse_changed_standing(job, plan, lineage)
        if rest.done:
            course.skip_to(StepName.VERIFY)
            return _add_steps(course, _reverify(_work(job, plan, findings_path, rest, edges), edges, listing, course))
        course.begin(StepName.GUARD)
        if no := _refusals(job.policy, plan, approval, rest.action, _guard_size(job.policy, plan, table, edges.source)):
            return _add_steps(course, build_refused_result(job, plan, no, landed=bool(landed)))
        if approval.dead_writers:
            course.begin(StepName.ROLL_BACK)
        cleared = roll_back_dead_writers(job, edges.lake, approval.dead_writers)
        work = replace(_work(job, plan, findings_path, rest, edges), quarantine=quarantine, lineage=lineage)
        work = replace(work, words=approval.accept)
        refuse_changed_schema(job, plan, work.pair.agreement, approval.accept)
        done = _carried_out(work, edges, listing, Tally(course, edges.whole_commit))
        return _add_steps(course, replace(done, notes=(*cleared, *done.notes)))


def _add_steps(course: Course, result: TableResult) -> TableResult:
    return replace(result, corrections=replace(result.corrections, steps=tuple(course.taken)))


def _refusals(
    policy: Policy, plan: Plan, approval: Approval, action: str | None, shrunken: tuple[Guard, ...]
) -> tuple[Guard, ...]:
    return list_failed_guards(
        (*tighten_guards(plan.guards, policy), *shrunken),
        deletes=plan.deletes,
        approved=approval.approve_deletes,
        only=action,
        allow_empty=approval.allow_empty_source,
        accepted=approval.accept,
    )


def _carried_out(work: ApplyWork, edges: Edges, listing: Listing | None, tally: Tally) -> TableResult:
    job, plan = work.job, work.plan
    writers = edges.lake.list_writers()
    refuse_silent(job.name, writers.without_heartbeat)
    laps = Laps(edges.clock)
    try:
        done = _execute(work, edges, tally, laps)
        result = build_done_result(job, plan, done, work.earlier, planned=work.planned_rows, complete=work.finishes)
        result = _add_list(work, done, result, listing)
    except (Exception, *STOPS) as error:
        if not tally.instants:
            if isinstance(error, ReconcileError) and tally.savepoint is not None:
                error.message += f"; savepoint {tally.savepoint} stays until the next apply that makes one"
            raise
        failed_result = _add_steps(tally.course, build_failed_result(job, plan, tally, work.earlier))
        if isinstance(error, ReconcileError):
            return replace(failed_result, error=Failure(error.type, error.message, error.fix))
        raise LandedError(failed_result, error) from error
    notes = (*note_settings(job.columns, work.pair), *result.notes, *describe_writers(writers))
    cost = result.cost + Cost(phases_seconds=laps.seconds)
    return replace(result, schema=work.pair.schema, columns=work.pair.types, notes=notes, cost=cost)


def _add_list(work: ApplyWork, done: ApplyOutcome, result: TableResult, listing: Listing | None) -> TableResult:
    if listing is None:
        return result
    counts = result.corrections
    rows = counts.upserts + counts.deletes - counts.applied - counts.applied_before
    remainder = Remainder(
        work.plan.run_id, work.sides.comparer, work.planned, work.not_asked, work.earlier, done.commits.ended
    )
    return replace(result, uncorrected=save_left(remainder, listing, rows))


def _reverify(work: ApplyWork, edges: Edges, listing: Listing | None, course: Course) -> TableResult:
    """The plan's commits, or those of the part that was asked for, are on the timeline: nothing is written."""
    _, checkpoint = pin_lake(work.sides.lake)
    refuse_unreplayed(work.job, work.plan, work.sides, checkpoint, work.sides.source.read_moment(), deletes=False)
    work = replace(work, followed=replace(work.followed, notes=()))  # of what a commit would do
    laps = Laps(edges.clock)
    done = _verify_commits(work, edges, CommitOutcome({}, work.earlier.instants), course)
    laps.end("verify")
    result = build_done_result(
        work.job, work.plan, done, work.earlier, planned=work.planned_rows, complete=work.finishes, again=True
    )
    result = _add_list(work, done, result, listing)
    cost = result.cost + Cost(phases_seconds=laps.seconds)
    notes = (*note_settings(work.job.columns, work.pair), *result.notes)
    return replace(result, schema=work.pair.schema, columns=work.pair.types, notes=notes, cost=cost)


def _guard_size(policy: Policy, plan: Plan, table: SourceTable, source: Source) -> tuple[Guard, ...]:
    planned = next((guard.found for guard in plan.guards if guard.name == "empty_source"), 0)
    if not plan.deletes or not isinstance(planned, int) or not planned:
        return ()
    return (guard_shrunken_source(planned, source.count_rows(table), policy),)


def _work(job: TableJob, plan: Plan, findings_path: str, rest: RestOfPlan, edges: Edges) -> ApplyWork:
    table = edges.source.describe()
    lake_table = require_table(job, edges.lake.look())
    refuse_mismatch(job, table, lake_table)
    refuse_foreign(job, table, lake_table, edges.lake.read_origin, "apply")
    at = edges.lake.find_checkpoint()
    checkpoint = None if at is None else at.checkpoint
    pair = pair_tables(job, table, lake_table, edges.source, past=PullRecord.of(checkpoint))
    followed = follow_for_correction(job, pair.table, lake_table, checkpoint)
    cut = parse(plan.segmentation)
    comparer = edges.make(pair.agreement, cut)
    files = [name.removeprefix("findings/") for name in plan.files]
    planned = comparer.select_corrections(comparer.load(findings_path, files), None)
    refuse_other_rows(plan, comparer.count(planned, "action"))
    # Drift of other partitions in the same segments is not this plan's to repair, nor to verify.
    within = find_partitions(job, plan.partitions, pair)
    sides = Sides(pair.table, pair.agreement, cut, edges.source, edges.lake, comparer, scope=within)
    own = rest.landed if plan.find_requirement(SCHEMA) in (None, write_schema(pair.agreement)) else None
    rows = find_rewritten_versions(sides, comparer.select_corrections(planned, rest.action), own or ())
    other = _other_part(sides, planned, rest, own)
    touched = sides.narrow_segments(rows)
    done = comparer.select_corrections(planned, rest.action_before)
    earlier = count_earlier(sides, done, rest.commits, rest.rows_before, own)
    return ApplyWork(
        job, plan, rest.action, sides, planned, rows, touched, pair, followed,
        verify=sides.find_segments(planned if other.rows is None and rest.action is not None else rows),
        firsts=select_first_commits(rest.landed, rest.action),
        earlier=add_killed_applies(earlier, other.made, other.firsts),
        planned_rows=rest.rows + (0 if other.made is None else other.made.rows),
        finishes=other.rows is None,
        not_asked=other.rows,
        own=own or (),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _OtherPart:
    """The part of a plan that is not asked for: its rows that are not written, None where there are none.

    `made` is what killed applies of the whole plan wrote of it, with `firsts`.
    """

    rows: Frame | None
    made: MadeRows | None = None
    firsts: tuple[PlanCommits, ...] = ()


def _other_part(sides: Sides, planned: Frame, rest: RestOfPlan, own: tuple[PlanCommits, ...] | None) -> _OtherPart:
    if rest.finishes:
        return _OtherPart(None)
    action = name_other_part(rest.action)
    rows = sides.comparer.select_corrections(planned, action)
    firsts = select_first_commits(rest.landed, action)
    made = look_at_made_rows(sides, rows, firsts, own) if firsts and own is not None else None
    if made is None:
        return _OtherPart(rows)
    unwritten = sides.comparer.count(made.left, "action")
    return _OtherPart(made.left if unwritten else None, made, firsts)


def _execute(work: ApplyWork, edges: Edges, tally: Tally, laps: Laps) -> ApplyOutcome:
    if not work.touched.ids:
        return ApplyOutcome(commits=CommitOutcome({}), unverified=work.pair.unverified)
    recheck = _recheck_plan(work, tally.course)
    laps.end("recheck")
    wrote = write_corrections(recheck, tally)
    laps.end("write")
    if wrote.lost and not tally.written:
        # Where the others' commit changed planned rows, the rest is tried once more, and none may be left; else whoever was
        # in flight still is.
        trial = tally.course.try_again(StepName.RECHECK)
        again = _recheck_plan(work, trial)
        laps.end("recheck")
        if again.ready_rows < recheck.ready_rows:
            spare = (f"savepoint {wrote.savepoint} was made, and nothing written then",) if wrote.savepoint else ()
            tally.begin_again(spare, trial.taken)
            recheck, wrote = again, write_corrections(again, tally)
            laps.end("write")
    done = _verify_commits(recheck.work, edges, replace(wrote, notes=(*recheck.notes, *wrote.notes)), tally.course)
    laps.end("verify")
    return done


def _recheck_plan(work: ApplyWork, course: Course) -> Recheck:
    course.begin(StepName.RECHECK)
    sides, comparer = work.sides, work.sides.comparer
    pin, checkpoint = pin_lake(sides.lake)
    moment = sides.source.read_moment()
    deletes = work.action != "upsert" and REPLICA_DELETES not in work.words
    refuse_unreplayed(work.job, work.plan, sides, checkpoint, moment, deletes=deletes)
    look = Look(sides.source.read_rows(sides.table, sides.cut, work.touched), sides.lake.read_rows(pin))
    rechecked = exclude_landed(work, comparer.recheck(work.rows, look, work.touched, rows=work.planned_rows))
    counts = comparer.count_statuses(rechecked)
    unproven: tuple[str, ...] = ()
    if work.plan.deletes and work.action != "upsert":
        course.begin(StepName.ASK_DELETES)
    if counts.deletes:
        asked = rechecked
        rechecked, unproven = recheck_deletes(sides, rechecked, work.touched)
        counts = counts if rechecked is asked else comparer.count_statuses(rechecked)
    if checkpoint is None and not work.pair.lake_table.owned:
        checkpoint = find_streamer_checkpoint(
            work.job.pull, choose_watermark(work.job, sides.table), sides.table, sides.lake
        )
    earlier = None if checkpoint is None else checkpoint.checkpoint
    work = replace(work, as_of_micros=moment.reckon_as_of(None))
    return Recheck(work, rechecked, counts, earlier, moment.clock_micros, unproven)


def _verify_commits(work: ApplyWork, edges: Edges, wrote: CommitOutcome, course: Course) -> ApplyOutcome:
    course.begin(StepName.VERIFY)
    course.end()
    comparison = _verify(work, edges)
    source_rows = work.sides.source.count_rows(work.sides.table)
    # The recheck read what the verification's first look read again; a hash segment cannot be had without the table.
    first = source_rows if isinstance(work.sides.cut, HashSegments) else comparison.source_rows
    fetched = first + (3 * first if comparison.findings is not None else first)
    sides, pair = work.sides, work.pair
    precision = measure_precision(pair, sides.comparer, lambda: sides.source.read_rows(sides.table, sides.cut))
    fetched += source_rows if precision else 0
    name, odd_rows = work.job.name, comparison.kinds.get("odd_key", 0)
    odd = describe_unjudged_keys(name, odd_rows, " in the segments that were compared again")
    astray = check_derived(work.job, sides.scope, pair, sides.lake, comparison.pin)
    unverified = (
        *pair.unverified,
        *list_hidden_digits(pair, precision),
        *check_complete(comparison, name),
        *odd,
        *astray,
    )
    lake_rows = sides.lake.count_rows(comparison.pin)
    return ApplyOutcome(
        commits=wrote,
        verified=comparison,
        source_rows=source_rows,
        lake_rows=lake_rows,
        rows_fetched=fetched,
        unverified=unverified,
        precision=precision,
        notes=work.followed.notes,
    )


def _verify(work: ApplyWork, edges: Edges) -> LookResult:
    timing = choose_timing(work.job, choose_watermark(work.job, work.sides.table), work.pair, edges.clock)
    return look_until_settled(work.sides, timing, work.verify).found


def recheck_deletes(sides: Sides, rechecked: Frame, touched: SegmentSet) -> tuple[Frame, tuple[str, ...]]:
    """The rechecked corrections, and notes: a delete whose key the source holds, or may hold, has `moved`."""
    comparer, source, table = sides.comparer, sides.source, sides.table
    keys = comparer.list_deletes(rechecked, MOST_ASKED)
    if keys == ():
        return rechecked, ()
    named = None if keys is None else source.find_named_rows(table, keys)
    if named is None:
        return _mark_existing_by_counts(sides, rechecked, touched)
    if not named.rows:
        return rechecked, ()
    there, rows = comparer.stage_rows(named.read())
    if rows < named.rows:
        note = f"a read of the deletes' keys gave {rows} rows, the source counts {named.rows}: nothing was deleted"
        return comparer.mark_existing(rechecked, None), (Note(Stake.ROWS, note),)
    return comparer.mark_existing(rechecked, there), ()


def _mark_existing_by_counts(sides: Sides, rechecked: Frame, touched: SegmentSet) -> tuple[Frame, tuple[str, ...]]:
    """By a whole read of what the deletes touch, which proves something only if the source counts the same before and after."""
    comparer, source = sides.comparer, sides.source
    is_own = isinstance(sides.cut, HashSegments) and sides.cut.by == "xxhash64"  # the source knows no such segment
    segments = None if is_own else touched
    before = source.count_rows(sides.table, sides.cut, segments)
    there, rows = comparer.stage_rows(source.read_rows(sides.table, sides.cut, segments))
    if before == rows == source.count_rows(sides.table, sides.cut, segments):
        return comparer.mark_existing(rechecked, there), ()
    note = (
        "the deletes' keys cannot be asked for in SQL, and the source changed while it was read: nothing was deleted; "
        "apply again at a quieter time"
    )
    return comparer.mark_existing(rechecked, None), (Note(Stake.ROWS, note),)
