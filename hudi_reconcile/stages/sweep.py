"""The sweep of one table: agree on columns, cut the key space, look twice, judge, and draft the plan. Never writes the lake."""

from __future__ import annotations

from dataclasses import dataclass

from hudi_reconcile.core.agreement import Agreement, agree, without
from hudi_reconcile.core.carry import carried
from hudi_reconcile.core.classify import NOT_DRIFT
from hudi_reconcile.core.cost import Choice
from hudi_reconcile.core.errors import UnverifiedError
from hudi_reconcile.core.guards import PlanCounts, Policy, guards
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan import Plan, Requirement
from hudi_reconcile.core.result import DRIFT_KINDS, Corrections, SideState, TableResult, Unverified
from hudi_reconcile.core.segments import HashSegments, Segmentation, document
from hudi_reconcile.core.values import LakeTable, SourceTable
from hudi_reconcile.ports import Clock, Comparer, Edges, Frame, Lake, Source
from hudi_reconcile.stages.confirm import Confirmed, Sides, Waiting, look_twice
from hudi_reconcile.stages.cut import cut_of
from hudi_reconcile.stages.keys import refuse_key_faults
from hudi_reconcile.stages.lake_state import existing
from hudi_reconcile.stages.mode import choose_mode
from hudi_reconcile.stages.request import TableJob
from hudi_reconcile.stages.watermarks import Watermark, watermark_of


@dataclass(frozen=True, slots=True)
class Swept:
    """A sweep's result, its findings (None where every segment was equal), and the plan without its files.

    `rows_fetched` counts the source rows of all reads, segments of later reads as counted by the first.
    """

    result: TableResult
    findings: Frame | None
    findings_rows: int
    draft: Plan | None
    rows_fetched: int
    comparer: Comparer

    def save(self, path: str) -> None:
        """Write the findings as Parquet."""
        if self.findings is not None:
            self.comparer.save(self.findings, path, self.findings_rows)


@dataclass(frozen=True, slots=True)
class _Ground:
    table: SourceTable
    lake_table: LakeTable
    watermark: Watermark
    agreement: Agreement
    mode: Choice
    cut: Segmentation
    uncarried: tuple[str, ...]


def sweep(job: TableJob, edges: Edges) -> Swept:
    """Compare the source with a pinned lake snapshot and say what drifted and why.

    Raises LakeError where there is no table to compare, RefusedError for keys that cannot name a row.
    """
    ground = _ground(job, edges.source, edges.lake)
    comparer = edges.make(ground.agreement, ground.cut)
    sides = Sides(
        ground.table, ground.agreement, ground.cut, edges.source, edges.lake, comparer, ground.mode.pushdown
    )
    waiting = Waiting(edges.clock, job.settle_seconds, job.overlap_micros, ground.watermark)
    found = look_twice(sides, waiting, None)
    unverified = _unverified(job, ground, found)
    drift = sum(found.kinds.get(kind, 0) for kind in DRIFT_KINDS)
    draft = _draft(job, ground, found, edges.clock) if drift and found.steady and not found.missed_rows else None
    result = _result(job, ground, found, unverified, draft)
    rows = sum(found.kinds.values())
    return Swept(result, found.findings, rows, draft, _fetched(ground, found), comparer)


def _fetched(ground: _Ground, found: Confirmed) -> int:
    again = set(found.unequal.ids)
    first = 0 if ground.mode.pushdown else found.source_rows
    if again and isinstance(ground.cut, HashSegments) and ground.cut.by == "xxhash64":
        return found.source_rows * 3  # the source cannot serve one hash segment of Spark's alone
    return first + 2 * sum(item.source_rows for item in found.digests if item.segment in again)


def _ground(job: TableJob, source: Source, lake: Lake) -> _Ground:
    described = source.describe()
    watermark = watermark_of(job.name, job.watermark, described)
    refuse_key_faults(job.name, source.key_faults(described))
    lake_table = existing(job, lake.look())
    table = carried(without(described, job.exclude - set(job.watermark)), lake_table)
    agreement = agree(table, lake_table, watermark=job.watermark, exclude=job.exclude, partition_by=job.partition_by)
    if len(agreement.key) < len(table.key):
        reasons = "; ".join(f"{item.name}: {item.why}" for item in agreement.unverified if item.name in table.key)
        raise UnverifiedError(
            f"table {job.name}: the key cannot be compared: {reasons}",
            fix="map the key columns with compare.rename, or choose others with source.key",
        )
    mode = choose_mode(job, table, agreement, source)
    cut = cut_of(job, table, source, pushdown=mode.pushdown)
    return _Ground(table, lake_table, watermark, agreement, mode, cut, source.uncarried(table, None))


def _unverified(job: TableJob, ground: _Ground, found: Confirmed) -> tuple[Unverified, ...]:
    items = [
        Unverified(
            "column",
            name,
            "holds dates that the JDBC driver alters (infinity, BC, beyond 9999, 1582-10-05 to 1582-10-14)",
            f"leave it out on purpose: compare: {{exclude: [{name}]}}",
        )
        for name in ground.uncarried
    ]
    moving = found.kinds.get("moving", 0)
    if moving:
        why = f"{moving} rows differed twice and changed in between: they were not judged"
        items.append(Unverified("rows", job.name, why, "sweep again at a quieter time, or raise sweep.settle"))
    if found.unexplained.ids:
        why = (
            f"{len(found.unexplained.ids)} segments differ by the source's own digest while their rows are equal: "
            "source and Spark write some value differently, so the digests prove nothing"
        )
        fix = f"set tables[{job.name}].sweep.mode: stream, and report it as a bug"
        items.append(Unverified("segment", job.name, why, fix))
    if found.missed_rows:
        why = f"the read returned {found.source_rows} rows, the table counts {found.source_rows + found.missed_rows}"
        items.append(Unverified("table", job.name, why, "sweep again; if it stays so, report it as a bug"))
    if not found.steady:
        why = "a writer that was in flight when the snapshot was pinned has completed since"
        items.append(Unverified("table", job.name, why, "sweep again"))
    return (*ground.agreement.unverified, *items)


def _draft(job: TableJob, ground: _Ground, found: Confirmed, clock: Clock) -> Plan:
    deletes = found.kinds.get("deleted", 0)
    drift = {kind: found.kinds[kind] for kind in DRIFT_KINDS if found.kinds.get(kind)}
    upserts = sum(drift.values()) - deletes
    counts = PlanCounts(upserts, deletes, found.source_rows, found.lake_rows)
    policy = Policy(job.max_deletes, job.max_delete_share, job.max_upsert_share)
    return Plan(
        run_id=job.run_id,
        table=job.name,
        created_micros=clock.utc_micros(),
        lake_path=job.lake_path,
        lake_instant=found.pin.instant.completed,
        source_identity=ground.table.identity,
        source_snapshot=found.moment.snapshot,
        key=ground.table.key,
        columns=tuple(item.column.name for item in ground.agreement.columns),
        segmentation=document(ground.cut),
        by_kind=drift,
        upserts=upserts,
        deletes=deletes,
        guards=guards(counts, policy),
        requirements=(
            Requirement("lake_path", job.lake_path),
            Requirement("source_identity", ground.table.identity),
            Requirement("record_key", ",".join(ground.lake_table.record_key)),
        ),
        files={},
    )


def _result(
    job: TableJob, ground: _Ground, found: Confirmed, unverified: tuple[Unverified, ...], draft: Plan | None
) -> TableResult:
    drift = {kind: found.kinds.get(kind, 0) for kind in DRIFT_KINDS}
    outcome = Outcome.DRIFT if any(drift.values()) else Outcome.CLEAN
    if unverified:
        outcome = Outcome.UNVERIFIED
    checkpoint = found.checkpoint
    text = None if checkpoint is None else ground.watermark.text(checkpoint.checkpoint.watermark_micros)
    by_hash = isinstance(ground.cut, HashSegments)
    return TableResult(
        name=job.name,
        outcome=outcome,
        source=SideState(found.source_rows, found.moment.snapshot),
        lake=SideState(found.lake_rows, found.pin.instant.completed),
        checkpoint=text,
        findings=drift,
        not_drift={kind.value: found.kinds.get(kind.value, 0) for kind in NOT_DRIFT},
        unverified=unverified,
        guards=() if draft is None else draft.guards,
        corrections=Corrections() if draft is None else Corrections(upserts=draft.upserts, deletes=draft.deletes),
        segments={"compared": ground.cut.count, "unequal": len(found.unequal.ids)},
        notes=_notes(job, found),
        provenance={
            "segments": "hash buckets of the key" if by_hash else f"ranges of {ground.table.key[0]}",
            "compared_columns": ", ".join(item.column.name for item in ground.agreement.columns),
            "digests": f"{'inside the source' if ground.mode.pushdown else 'in Spark'} ({ground.mode.why})",
            "source_clock_bound": found.moment.bound_why,
        },
    )


def _notes(job: TableJob, found: Confirmed) -> tuple[str, ...]:
    notes = []
    if job.exclude:
        notes.append(f"left out on purpose (compare.exclude): {', '.join(sorted(job.exclude))}")
    if found.checkpoint is None:
        notes.append("the lake carries no checkpoint of ours: no difference could be called pending")
    elif found.checkpoint.checkpoint.watermark != job.watermark:
        notes.append("the checkpoint was made with other watermark columns: no difference could be called pending")
    return tuple(notes)
