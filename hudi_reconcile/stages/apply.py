"""The apply of one plan: require, guard, recheck, commit, read back, verify; the steps that `core/plan.py` explains.

A correction never overwrites, and never deletes, anything newer than what was compared: every key is held against both
sides once more, and the commit itself goes through only if the lake still holds the versions that were compared.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from hudi_reconcile.core.evolution import Past
from hudi_reconcile.core.guards import Policy, refusals, shrunken_source
from hudi_reconcile.core.plan import Approval, Plan
from hudi_reconcile.core.result import Guard, TableResult
from hudi_reconcile.core.segments import HashSegments, parse
from hudi_reconcile.core.standing import accepted
from hudi_reconcile.core.values import Instant, SourceTable
from hudi_reconcile.core.writers import refuse_silent, told_of
from hudi_reconcile.ports import Edges, Lake, Look, Quarantine, Source
from hudi_reconcile.stages.absence import proven_absent
from hudi_reconcile.stages.apply_result import Done, already_applied, done_result, refused
from hudi_reconcile.stages.beside import clear_way
from hudi_reconcile.stages.commits import PARTS, PLAN_LABEL, Work, Written, first_of, with_landed, write_corrections
from hudi_reconcile.stages.confirm import Confirmed, Waiting, look_twice, pinned
from hudi_reconcile.stages.evolve import correctable
from hudi_reconcile.stages.lake_state import existing, refuse_foreign, refuse_mismatch
from hudi_reconcile.stages.part import partitions_of
from hudi_reconcile.stages.request import TableJob
from hudi_reconcile.stages.requirements import refuse_changed_schema, refuse_changed_standing, refuse_stale
from hudi_reconcile.stages.scope import hidden_digits, precision_of, scope_of
from hudi_reconcile.stages.sides import Sides
from hudi_reconcile.stages.taken_over import taken_over
from hudi_reconcile.stages.watermarks import watermark_of


def apply(
    job: TableJob,
    plan: Plan,
    findings_path: str,
    approval: Approval,
    edges: Edges,
    *,
    quarantine: Quarantine | None = None,
) -> TableResult:
    """Execute a plan at most once; corrections that break a rule of the quarantine are held back.

    Raises RefusedError before anything is written where a requirement does not hold.
    """
    with edges.lake.lease(job.run_id):
        landed = _landed(edges.lake, plan)
        action, earlier = _remaining(plan, landed, approval.only)
        if earlier is not None:
            return already_applied(job, plan, earlier, complete=_is_whole(plan, landed))
        table = edges.source.describe()
        refuse_stale(job, plan, table, edges.clock.utc_micros(), approval.accept)
        standing = edges.source.standing()
        refuse_changed_standing(job, plan, standing)
        no = refusals(
            (*plan.guards, *_shrunken(job, plan, table, edges.source)),
            deletes=plan.deletes,
            approved=approval.approve_deletes,
            only=action,
            allow_empty=approval.allow_empty_source,
            accepted=approval.accept,
        )
        if no:
            return refused(job, plan, no)
        cleared = clear_way(job, edges.lake, approval.dead_writers)
        taken_over = accepted(standing, approval.accept)
        work = replace(_work(job, plan, findings_path, action, edges), quarantine=quarantine, accepted=taken_over)
        refuse_changed_schema(job, plan, work.scope.agreement, approval.accept)
        done = _carried_out(work, edges, complete=_is_whole(plan, {*landed, action or "all"}))
        return replace(done, notes=(*cleared, *done.notes))


def _carried_out(work: Work, edges: Edges, *, complete: bool) -> TableResult:
    job, plan = work.job, work.plan
    writers = edges.lake.writers()
    refuse_silent(job.name, writers.without_heartbeat)
    planned = {"upsert": plan.upserts, "delete": plan.deletes}.get(work.action or "", plan.upserts + plan.deletes)
    done = done_result(job, plan, _execute(work, edges), planned=planned, complete=complete)
    notes = (*done.notes, *told_of(writers))
    return replace(done, schema=work.scope.schema, columns=work.scope.types, notes=notes)


def _shrunken(job: TableJob, plan: Plan, table: SourceTable, source: Source) -> tuple[Guard, ...]:
    planned = next((guard.found for guard in plan.guards if guard.name == "empty_source"), 0)
    if not plan.deletes or not isinstance(planned, int) or not planned:
        return ()
    policy = Policy(job.max_deletes, job.max_delete_share, job.max_upsert_share)
    return (shrunken_source(planned, source.rows_now(table), policy),)


def _landed(lake: Lake, plan: Plan) -> Mapping[str, Instant]:
    """Which parts of the plan are on the timeline already: `all`, `upsert`, `delete`."""
    labels = {part: lake.find_commit(PLAN_LABEL, f"{plan.plan_id}:{part}") for part in PARTS}
    return {part: instant for part, instant in labels.items() if instant is not None}


def _remaining(plan: Plan, landed: Mapping[str, Instant], only: str | None) -> tuple[str | None, Instant | None]:
    """What is still to be done (None: both), or the instant that did all of what was asked for."""
    if landed and _is_whole(plan, landed):
        return None, max(landed.values(), key=lambda instant: instant.completed)
    if only is not None:
        return only, landed.get(only)
    if landed:
        return ("delete" if "upsert" in landed else "upsert"), None
    return None, None


def _is_whole(plan: Plan, parts: Collection[str]) -> bool:
    """True where these parts leave nothing of the plan to be done."""
    planned = {part for part, rows in (("upsert", plan.upserts), ("delete", plan.deletes)) if rows}
    return "all" in parts or planned <= set(parts)


def _work(job: TableJob, plan: Plan, findings_path: str, action: str | None, edges: Edges) -> Work:
    table = edges.source.describe()
    lake_table = existing(job, edges.lake.look())
    refuse_mismatch(job, table, lake_table)
    refuse_foreign(job, table, lake_table, edges.lake.origin, "apply")
    at = edges.lake.checkpoint()
    checkpoint = None if at is None else at.checkpoint
    scope = scope_of(job, table, lake_table, edges.source, whole=True, past=Past.of(checkpoint))
    followed = correctable(job, scope.table, lake_table, checkpoint)
    cut = parse(plan.segmentation)
    comparer = edges.make(scope.agreement, cut)
    rows = comparer.planned(comparer.load(findings_path), action)
    # Drift of other partitions in the same segments is not this plan's to repair, nor to verify.
    within = partitions_of(job, plan.partitions, scope)
    sides = Sides(scope.table, scope.agreement, cut, edges.source, edges.lake, comparer, scope=within)
    first = first_of(plan.plan_id, action, edges.lake)
    return Work(job, plan, action, sides, rows, comparer.segments_of(rows), scope, followed, first)


def _execute(work: Work, edges: Edges) -> Done:
    if not work.touched.ids:
        return Done({}, (), None, unverified=work.scope.unverified)
    sides, comparer = work.sides, work.sides.comparer
    pin, checkpoint = pinned(sides.lake)
    moment = sides.source.moment()
    kept = comparer.keep(sides.lake.rows(pin), work.touched)
    look = Look(sides.source.rows(sides.table, sides.cut, work.touched), kept)
    rechecked = with_landed(work, comparer.recheck(work.rows, look, work.touched))
    rechecked, unproven = proven_absent(sides, rechecked, work.touched)
    if checkpoint is None and not work.scope.lake_table.owned:
        checkpoint = taken_over(work.job, watermark_of(work.job, sides.table), sides.table, sides.lake)
    earlier = None if checkpoint is None else checkpoint.checkpoint
    work = replace(work, as_of_micros=moment.as_of(None))
    wrote = write_corrections(work, rechecked, earlier, moment.clock_micros)
    return _verified(work, edges, replace(wrote, notes=(*unproven, *wrote.notes)))


def _verified(work: Work, edges: Edges, wrote: Written) -> Done:
    found = _verify(work, edges)
    source_rows = work.sides.source.rows_now(work.sides.table)
    # The recheck read what the verification's first look read again; a hash segment cannot be had without the table.
    first = source_rows if isinstance(work.sides.cut, HashSegments) else found.source_rows
    fetched = first + (3 * first if found.unequal.ids else first)
    sides, scope = work.sides, work.scope
    precision = precision_of(scope, sides.comparer, lambda: sides.source.rows(sides.table, sides.cut))
    fetched += source_rows if precision else 0
    unverified = (*scope.unverified, *hidden_digits(scope, precision))
    lake_rows = sides.lake.count(found.pin)
    return Done(
        wrote.status,
        wrote.instants,
        found,
        source_rows,
        lake_rows,
        fetched,
        unverified,
        precision,
        (*work.followed.notes, *wrote.notes),
        wrote.savepoint,
    )


def _verify(work: Work, edges: Edges) -> Confirmed:
    mark = watermark_of(work.job, work.sides.table)
    foreign = not work.scope.lake_table.owned
    waiting = Waiting(edges.clock, work.job.settle_seconds, work.job.overlap_micros, mark, foreign=foreign)
    return look_twice(work.sides, waiting, work.touched)
