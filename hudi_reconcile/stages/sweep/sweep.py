"""The sweep of one table: agree on columns, cut the key space, look twice, judge, draft the plan. Never writes the lake."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from functools import partial

from hudi_reconcile.core.notes import Note, Stake
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.plan import MAX_AGE, SCHEMA, Plan, Requirement, build_part_requirements
from hudi_reconcile.core.pull.source_lineage import SourceLineage, note_unknown_lineage
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import Corrections, Cost, CoverageSummary, Failure, SideState, Unverified
from hudi_reconcile.core.sweep.coverage import (
    Coverage,
    SweepReach,
    describe_part,
    list_left_out,
    note_part,
    restrict_walk,
)
from hudi_reconcile.core.sweep.drift import DRIFT_KINDS, NOT_DRIFT
from hudi_reconcile.core.sweep.drift_profile import Anatomy, find_shift_note
from hudi_reconcile.core.sweep.proof import ContentProof
from hudi_reconcile.core.sweep.segments import Choice, HashSegments, Segmentation, build_segmentation_document
from hudi_reconcile.core.tables.partitions import PartitionScope
from hudi_reconcile.core.tables.schema_evolution import PullRecord
from hudi_reconcile.ports import Clock, Comparer, Edges, Frame, Lake, Source
from hudi_reconcile.stages.comparison import (
    Sides,
    TablePair,
    list_hidden_digits,
    mark_altered,
    match_columns,
    measure_precision,
    note_masks,
    note_pending,
    note_settings,
)
from hudi_reconcile.stages.job import PartialSweep, TableJob
from hudi_reconcile.stages.odd_keys import describe_unjudged_keys
from hudi_reconcile.stages.preconditions import refuse_key_faults, require_table
from hudi_reconcile.stages.requirements import build_lineage_requirements, write_schema
from hudi_reconcile.stages.stage_log import Laps
from hudi_reconcile.stages.sweep.content_proof import ProofKeeper, keep_proof
from hudi_reconcile.stages.sweep.guards import check_guards
from hudi_reconcile.stages.sweep.mode import choose_mode
from hudi_reconcile.stages.sweep.partial import (
    WHOLE,
    Portion,
    build_next_coverage,
    check_derived,
    cut_portion,
    describe_coverage,
    digest_subject,
    list_partition_columns,
    measure_reach,
)
from hudi_reconcile.stages.sweep.second_look import estimate_rows
from hudi_reconcile.stages.sweep.settling import Settled, look_until_settled
from hudi_reconcile.stages.sweep.stability import (
    SchemaView,
    check_complete,
    check_query_stable,
    check_reread,
    check_schema_stable,
)
from hudi_reconcile.stages.sweep.two_looks import LookResult, Walk, choose_timing, select_unequal
from hudi_reconcile.stages.watermark import Watermark, check_replayed, choose_watermark, describe_replica_lag


@dataclass(frozen=True, slots=True)
class Swept:
    """A sweep's result, its findings (None where every segment was equal), and the plan without its files.

    `coverage` is what the next sweep with a budget goes on from; None where this one adds nothing to it. `proof` is what the
    next one need not compare again while it holds; None where nothing is proven.

    `rows_fetched` counts the source rows of all reads, segments of later reads as counted by the first, parts of segments by
    their share.
    """

    result: TableResult
    findings: Frame | None
    findings_rows: int
    draft: Plan | None
    rows_fetched: int
    comparer: Comparer | None
    coverage: Coverage | None = None
    proof: ContentProof | None = None

    def save(self, path: str) -> None:
        """Write the findings as Parquet."""
        if self.findings is not None and self.comparer is not None:
            self.comparer.save(self.findings, path, self.findings_rows)


def sweep(job: TableJob, edges: Edges, part: PartialSweep = WHOLE) -> Swept:
    """Compare the source, or a part of it, with a pinned lake snapshot and say what drifted and why.

    Raises LakeError where there is no table to compare, RefusedError for keys that cannot name a row, UsageError for a part
    that there is not.
    """
    seen, watermark = open_scope(job, edges.source, edges.lake, list_partition_columns(job, part))
    pair = seen.pair
    if len(pair.agreement.key) < len(pair.table.key):
        return Swept(_keyless(job, pair, edges.source), None, 0, None, 0, None)
    context = prepare_sweep(job, pair, watermark, edges, part)
    begun_micros, sides = edges.clock.utc_micros(), _sides(job, context, edges)
    laps = Laps(edges.clock, job.name, "compare")
    settled = look_until_settled(sides, choose_timing(job, watermark, pair, edges.clock, part.pause), walk=context.walk)
    looks = settled.found
    laps.end("compare", then="judge")
    compared = restrict_walk(looks.first.walked, context.cut)
    context, altered = _mark_altered(job, context, looks, edges.source)
    precision = measure_precision(context.pair, sides.comparer, lambda: sides.source_in_scope(compared))
    moving = check_query_stable(job, sides, compared) + _doubt_findings(job, seen, watermark, settled, edges)
    end = _find_reach(job, context, looks, edges.source)
    astray = check_derived(job, context.portion.scope, context.pair, edges.lake, looks.pin)
    missing = (*_describe_unverified(job, looks, context.portion.scope), *moving, *astray)
    unverified = (*context.pair.unverified, *list_hidden_digits(context.pair, precision), *missing, *list_left_out(end))
    is_sound = looks.steady and not (looks.missed_rows or looks.misread_rows or moving or looks.unexplained.ids)
    parts = profile_drift(context, looks, sides.comparer)
    draft = draft_plan(job, context, looks, end=end, parts=parts, clock=edges.clock) if parts and is_sound else None
    laps.end("judge")
    coverage, proof = _keep_for_later(job, context, looks, begun_micros, altered) if is_sound else (None, None)
    result = replace(
        _result(job, context, looks, unverified, draft),
        precision=precision,
        anatomy=parts,
        whole=end.is_whole and is_sound,
        coverage=_describe_covered(context, looks, end, coverage),
        notes=(*note_part(end), *_notes(job, context, settled), *_shift_notes(context, looks, parts)),
        cost=Cost(phases_seconds=laps.seconds),
    )
    fetched = _count_fetched(context, looks) + settled.rows_fetched + (looks.source_rows if precision else 0)
    return Swept(result, looks.findings, sum(looks.kinds.values()), draft, fetched, sides.comparer, coverage, proof)


def _keep_for_later(
    job: TableJob, context: SweepContext, comparison: LookResult, begun_micros: int, altered: tuple[str, ...]
) -> tuple[Coverage | None, ContentProof | None]:
    """What later sweeps of this table may go on from."""
    keeper = context.keeper
    if keeper is None:
        return build_next_coverage(job, context.portion, comparison, begun_micros), None
    coverage = build_next_coverage(job, context.portion, comparison, begun_micros, keeper.met)
    return coverage, keeper.build_next_proof(comparison.first.digests, job.run_id, altered)


def _describe_covered(
    context: SweepContext, comparison: LookResult, end: SweepReach, coverage: Coverage | None
) -> CoverageSummary:
    extent = describe_coverage(context.portion, end, coverage)
    return extent if context.keeper is None else context.keeper.describe(extent, comparison.first.digests)


def _mark_altered(
    job: TableJob, context: SweepContext, comparison: LookResult, source: Source
) -> tuple[SweepContext, tuple[str, ...]]:
    """Mark the columns that hold values which a read alters, and return their names. The first look may have found them."""
    altered = comparison.first.altered
    if altered is None:
        altered = source.find_altered(context.pair.declared)
    return replace(context, pair=mark_altered(job, context.pair, altered)), altered


def _doubt_findings(
    job: TableJob, seen: SchemaView, watermark: Watermark, settled: Settled, edges: Edges
) -> tuple[Unverified, ...]:
    """Columns that changed meanwhile, and drift that a replica may only not have replayed yet."""
    comparison, changed = settled.found, check_schema_stable(job, seen, settled.checkpoint, edges.source, edges.lake)
    if not any(comparison.kinds.get(kind, 0) for kind in DRIFT_KINDS):
        return changed
    why = describe_replica_lag(watermark, comparison.checkpoint, comparison.moment, edges.source.zone_offset_micros)
    return changed + check_replayed(job, why)


def _sides(job: TableJob, context: SweepContext, edges: Edges) -> Sides:
    return Sides(
        context.pair.table,
        context.pair.agreement,
        context.cut,
        edges.source,
        edges.lake,
        edges.make(context.pair.agreement, context.cut),
        pushdown=context.mode.pushdown,
        one_snapshot=job.sweep.one_snapshot,
        scope=context.portion.scope,
        survey=None if context.mode.pushdown else partial(edges.source.survey, context.pair.declared, context.cut),
    )


def _find_reach(job: TableJob, context: SweepContext, comparison: LookResult, source: Source) -> SweepReach:
    end = measure_reach(job, context.portion, comparison, comparison.source_rows)
    return (
        end if end.is_whole else measure_reach(job, context.portion, comparison, source.count_rows(context.pair.table))
    )


def _count_fetched(context: SweepContext, comparison: LookResult) -> int:
    first, met = comparison.first, None if context.keeper is None else set(context.keeper.met.ids)
    read = sum(digest.source_rows for digest in first.digests if met is None or digest.segment in met)
    unequal = tuple(digest for digest in first.digests if not digest.equal)
    if unequal and isinstance(context.cut, HashSegments) and context.cut.by == "xxhash64":
        return comparison.source_rows * 3  # the source cannot serve one hash segment of Spark's alone
    again = estimate_rows(context.cut, first.digests, first.next_segments)
    return (0 if context.mode.pushdown else read) + sum(digest.source_rows for digest in unequal) + again


def open_scope(job: TableJob, source: Source, lake: Lake, also: frozenset[str]) -> tuple[SchemaView, Watermark]:
    """What is compared, and the watermark; no value was looked at yet.

    Raises LakeError where there is no table, RefusedError for a key that names no row.
    """
    described = source.describe()
    watermark = choose_watermark(job, described)
    refuse_key_faults(job.name, source.find_key_faults(described))
    at = lake.find_checkpoint()
    table, past = require_table(job, lake.look()), PullRecord.of(None if at is None else at.checkpoint)
    return SchemaView(match_columns(job, described, table, past=past, also=also), at), watermark


def _keyless(job: TableJob, declared: TablePair, source: Source) -> TableResult:
    """No row can be named: nothing is compared, and the columns say why."""
    pair = mark_altered(job, declared, source.find_altered(declared.declared))
    reasons = "; ".join(f"{item.name}: {item.why}" for item in pair.unverified if item.name in pair.table.key)
    message = f"table {job.name}: the key cannot be compared: {reasons}"
    fix = "map the key columns with compare.rename, or choose others with source.key"
    return TableResult(
        name=job.name,
        outcome=Outcome.UNVERIFIED,
        error=Failure("UnverifiedError", message, fix),
        unverified=pair.unverified,
        schema=pair.schema,
        columns=pair.types,
    )


def _describe_unsettled(job: TableJob, comparison: LookResult) -> tuple[Unverified, ...]:
    """The rows that still moved at the last look: named by key among the findings, judged by nobody."""
    moving = comparison.kinds.get("moving", 0)
    if not moving:
        return ()
    why = f"{moving} rows changed between all looks: they were not judged"
    fix = f"name them: hudi-reconcile findings latest -t {shlex.quote(job.name)} --kind moving; then raise sweep.settle_limit"
    return (Unverified("rows", job.name, why, f"{fix}, or sweep again at a quieter time"),)


def _describe_unverified(job: TableJob, comparison: LookResult, scope: PartitionScope | None) -> tuple[Unverified, ...]:
    items = []
    if comparison.unexplained.ids:
        why = (
            f"{len(comparison.unexplained.ids)} segments differ by the source's own digest while their rows are equal: "
            "source and Spark write some value differently, so the digests prove nothing"
        )
        fix = f"set tables[{job.name}].sweep.mode: stream, and report it as a bug"
        items.append(Unverified("segment", job.name, why, fix))
    if comparison.missed_rows and scope is not None:
        why = f"a read of these partitions lacked {comparison.missed_rows} rows that the source counts"
        items.append(Unverified("table", job.name, why, "sweep again; if this persists, report it as a bug"))
        items += check_reread(comparison, job.name)
    else:
        items += check_complete(comparison, job.name)
    if not comparison.steady:
        why = "a writer that was in flight when the snapshot was pinned has completed since, or the cleaner passed it"
        fix = "sweep again; if this persists, raise hoodie.clean.commits.retained in the job that cleans the table"
        items.append(Unverified("table", job.name, why, fix))
    return tuple(items)


def _result(
    job: TableJob, context: SweepContext, comparison: LookResult, unverified: tuple[Unverified, ...], draft: Plan | None
) -> TableResult:
    unsettled = (
        *_describe_unsettled(job, comparison),
        *describe_unjudged_keys(job.name, comparison.kinds.get("odd_key", 0)),
    )
    drift = {kind: comparison.kinds.get(kind, 0) for kind in DRIFT_KINDS}
    outcome = Outcome.DRIFT if any(drift.values()) else Outcome.UNVERIFIED if unsettled else Outcome.CLEAN
    if unverified:
        outcome = Outcome.UNVERIFIED
    checkpoint = comparison.checkpoint
    text = None if checkpoint is None else checkpoint.checkpoint.text
    by_hash = isinstance(context.cut, HashSegments)
    return TableResult(
        name=job.name,
        outcome=outcome,
        source=SideState(comparison.source_rows, comparison.moment.snapshot),
        lake=SideState(comparison.lake_rows, comparison.pin.instant.completed),
        checkpoint=text,
        findings=drift,
        not_drift={kind.value: comparison.kinds.get(kind.value, 0) for kind in NOT_DRIFT},
        unverified=(*unverified, *unsettled),
        schema=context.pair.schema,
        columns=context.pair.types,
        guards=() if draft is None else draft.guards,
        corrections=Corrections() if draft is None else Corrections(upserts=draft.upserts, deletes=draft.deletes),
        segments={
            "compared": _segments_compared(context, comparison),
            "unequal": len(select_unequal(comparison.first.digests).ids),
        },
        provenance={
            "segments": "hash buckets of the key" if by_hash else f"ranges of {context.pair.table.key[0]}",
            "compared_columns": ", ".join(item.column.name for item in context.pair.agreement.columns),
            "digests": f"{'inside the source' if context.mode.pushdown else 'in Spark'} ({context.mode.why})",
            "source_clock_bound": comparison.moment.bound_why,
            "content_proof": context.keeper.explain() if context.keeper is not None else f"none: {context.no_proof}",
        },
    )


def _segments_compared(context: SweepContext, comparison: LookResult) -> int:
    walked = comparison.first.walked if context.keeper is None else context.keeper.met
    done = context.cut.count if walked is None else len(walked.ids)
    return min(done, context.cut.count)


def _notes(job: TableJob, context: SweepContext, settled: Settled) -> tuple[str, ...]:
    comparison = settled.found
    notes = [*note_settings(job.columns, context.pair), *note_masks(job, context.pair)]
    if context.keeper and context.keeper.note:
        notes.append(Note(Stake.PROOF, f"{context.keeper.note}; every segment was compared"))
    kept = [change.column for change in context.pair.schema if change.column in context.pair.dropped]
    if kept:
        notes.append(
            Note(Stake.PROOF, f"gone at the source, kept in the lake and compared with nothing: {', '.join(kept)}")
        )
    notes += comparison.moment.notes
    if settled.silent_rows and context.watermark.moving:
        silent = f"changes without its watermark: {settled.silent_rows} rows; no pull by it brings such changes"
        notes.append(Note(Stake.ROWS, silent))
    if context.portion.walk is not None and context.portion.walk.at_once:
        why = "this source cannot serve a part of a key's hash segments"
        at_once = f"{why}: all were compared at once, whatever the budget or duty"
        notes.append(Note(Stake.EFFORT, at_once))
    checkpoint = None if comparison.checkpoint is None else comparison.checkpoint.checkpoint
    rows = {kind: comparison.kinds.get(kind, 0) for kind in ("deleted", "regressed")}
    notes += note_unknown_lineage(checkpoint, context.lineage, deletes=rows["deleted"], regressed=rows["regressed"])
    return (*notes, *note_pending(context.pair, context.watermark, checkpoint))


def _shift_notes(context: SweepContext, comparison: LookResult, parts: Anatomy | None) -> tuple[Note, ...]:
    drift_rows = sum(comparison.kinds.get(kind, 0) for kind in DRIFT_KINDS)
    note = None if parts is None else find_shift_note(parts.shift, drift_rows, context.watermark.names)
    return () if note is None else (note,)


@dataclass(frozen=True, slots=True)
class SweepContext:
    """Settled for the whole sweep."""

    pair: TablePair
    watermark: Watermark
    mode: Choice
    portion: Portion
    lineage: SourceLineage
    keeper: ProofKeeper | None = None
    no_proof: str = ""

    @property
    def cut(self) -> Segmentation:
        """How the key space is cut."""
        return self.portion.cut

    @property
    def walk(self) -> Walk | None:
        """What chooses the segments to compare, the content proof or a budget; None where all are compared."""
        return self.keeper or self.portion.walk


def prepare_sweep(
    job: TableJob, pair: TablePair, watermark: Watermark, edges: Edges, part: PartialSweep
) -> SweepContext:
    """Choose where digests are made, and cut the keys of the part that is asked for."""
    kept = keep_proof(job, pair, part, edges, digest_subject(job, part, pair))
    keeper, why = (None, kept) if isinstance(kept, str) else (kept, "")
    if keeper is not None and keeper.past is not None:
        mode = Choice(pushdown=False, why=f"sweep.mode: {job.sweep.mode}, and most segments are proven")
    else:
        mode = choose_mode(job, pair.table, pair.agreement, edges.source, part)
    if keeper is not None and mode.pushdown:
        keeper, why = None, "digests are made inside the source"
    portion = cut_portion(
        job, part, pair, pushdown=mode.pushdown, source=edges.source, lake=edges.lake, clock=edges.clock
    )
    if keeper is not None:
        known = replace(keeper.base.coverage, subject=portion.coverage.subject)  # a budget may go on from it
        portion = replace(portion, cut=known.cut, coverage=known)
    return SweepContext(pair, watermark, mode, portion, edges.source.read_lineage(), keeper, why)


def profile_drift(context: SweepContext, comparison: LookResult, comparer: Comparer) -> Anatomy | None:
    """Counts by place, day, column and lateness; None where nothing drifted."""
    drift_rows = sum(comparison.kinds.get(kind, 0) for kind in DRIFT_KINDS)
    if comparison.findings is None or not drift_rows:
        return None
    mark, at = context.watermark, comparison.checkpoint
    known = at is not None and mark.has_clock and mark.continues(at.checkpoint)
    reached = at.checkpoint.watermark_micros if at is not None and known else None
    return comparer.profile_drift(comparison.findings, drift_rows, timed=mark.has_clock, reached_micros=reached)


def draft_plan(
    job: TableJob, context: SweepContext, comparison: LookResult, *, end: SweepReach, parts: Anatomy, clock: Clock
) -> Plan:
    """The plan for these findings, with its guards and what must still hold when it is applied."""
    deletes = comparison.kinds.get("deleted", 0)
    drift = {kind: comparison.kinds[kind] for kind in DRIFT_KINDS if comparison.kinds.get(kind)}
    upserts = sum(drift.values()) - deletes
    table_rows = None if end.is_whole else comparison.source_rows + end.source_rows_left_out
    return Plan(
        run_id=job.run_id,
        table=job.name,
        created_micros=clock.utc_micros(),
        lake_path=job.lake.path,
        lake_instant=comparison.pin.instant.completed,
        source_identity=context.pair.table.identity,
        source_snapshot=comparison.moment.snapshot,
        key=context.pair.table.key,
        columns=tuple(item.column.name for item in context.pair.agreement.columns),
        segmentation=build_segmentation_document(context.cut),
        by_kind=drift,
        upserts=upserts,
        deletes=deletes,
        guards=check_guards(job, comparison, parts, table_rows=table_rows, lineage=context.lineage),
        requirements=(
            Requirement("lake_path", job.lake.path),
            Requirement("source_identity", context.pair.table.identity),
            Requirement("record_key", ",".join(context.pair.lake_table.record_key)),
            Requirement(SCHEMA, write_schema(context.pair.agreement)),
            Requirement(MAX_AGE, str(job.max_plan_age_micros)),
            *build_part_requirements(describe_part(end), end.asked),
            *build_lineage_requirements(context.lineage),
        ),
        files={},
    )
