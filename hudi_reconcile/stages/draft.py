"""What a sweep makes of its findings: where the drift lies, and the plan that would repair it. Writes nothing."""

from __future__ import annotations

from hudi_reconcile.core.anatomy import Anatomy
from hudi_reconcile.core.part_said import Reached, part_text
from hudi_reconcile.core.plan import MAX_AGE, SCHEMA, Plan, Requirement, part_requirements
from hudi_reconcile.core.result import DRIFT_KINDS
from hudi_reconcile.core.segments import document
from hudi_reconcile.ports import Clock, Comparer
from hudi_reconcile.stages.confirm import Confirmed
from hudi_reconcile.stages.ground import Ground
from hudi_reconcile.stages.plan_guards import guards_of
from hudi_reconcile.stages.request import TableJob
from hudi_reconcile.stages.requirements import schema_text, standing_requirements


def anatomy_of(ground: Ground, found: Confirmed, comparer: Comparer, drift_rows: int) -> Anatomy | None:
    """Counts by place, day, column and lateness; None where nothing drifted."""
    if found.findings is None or not drift_rows:
        return None
    mark, at = ground.watermark, found.checkpoint
    known = at is not None and mark.has_clock and mark.continues(at.checkpoint)
    reached = at.checkpoint.watermark_micros if at is not None and known else None
    return comparer.anatomy(found.findings, drift_rows, timed=mark.has_clock, reached_micros=reached)


def drafted(job: TableJob, ground: Ground, found: Confirmed, *, end: Reached, parts: Anatomy, clock: Clock) -> Plan:
    """The plan for these findings, with its guards and what must still hold when it is applied."""
    deletes = found.kinds.get("deleted", 0)
    drift = {kind: found.kinds[kind] for kind in DRIFT_KINDS if found.kinds.get(kind)}
    upserts = sum(drift.values()) - deletes
    table_rows = None if end.is_whole else found.source_rows + end.source_rows_left_out
    return Plan(
        run_id=job.run_id,
        table=job.name,
        created_micros=clock.utc_micros(),
        lake_path=job.lake_path,
        lake_instant=found.pin.instant.completed,
        source_identity=ground.scope.table.identity,
        source_snapshot=found.moment.snapshot,
        key=ground.scope.table.key,
        columns=tuple(item.column.name for item in ground.scope.agreement.columns),
        segmentation=document(ground.cut),
        by_kind=drift,
        upserts=upserts,
        deletes=deletes,
        guards=guards_of(job, found, parts.columns, table_rows=table_rows, standing=ground.standing),
        requirements=(
            Requirement("lake_path", job.lake_path),
            Requirement("source_identity", ground.scope.table.identity),
            Requirement("record_key", ",".join(ground.scope.lake_table.record_key)),
            Requirement(SCHEMA, schema_text(ground.scope.agreement)),
            Requirement(MAX_AGE, str(job.max_plan_age_micros)),
            *part_requirements(part_text(end), end.asked),
            *standing_requirements(ground.standing),
        ),
        files={},
    )
