"""The guards of a plan: its numbers against the policy, and what the source is read from, at the sweep and again at apply."""

from __future__ import annotations

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.plan.guards import PlanCounts, guard_replica_deletes, judge_guards
from hudi_reconcile.core.plan.plan import Plan
from hudi_reconcile.core.pull.source_lineage import SourceLineage, judge_lineage
from hudi_reconcile.core.result_parts import Guard
from hudi_reconcile.core.sweep.drift import DRIFT_KINDS
from hudi_reconcile.core.sweep.drift_profile import Anatomy
from hudi_reconcile.core.tables.values import CheckpointAt, Moment
from hudi_reconcile.stages.comparison import Sides
from hudi_reconcile.stages.job import TableJob
from hudi_reconcile.stages.sweep.two_looks import LookResult
from hudi_reconcile.stages.watermark import FIX, choose_watermark, describe_replica_lag

REPLICA_DELETES = "replica_deletes"


def check_guards(
    job: TableJob, comparison: LookResult, parts: Anatomy, *, table_rows: int | None, lineage: SourceLineage
) -> tuple[Guard, ...]:
    """All guards. `table_rows`: the whole table's where a part was compared. Shares are of the lake's keys: a plan is one too."""
    deletes = comparison.kinds.get("deleted", 0)
    upserts = sum(comparison.kinds.get(kind, 0) for kind in DRIFT_KINDS) - deletes
    apart = {name: rows for name, rows in parts.columns.items() if name not in job.pull.watermark}
    lake_keys = comparison.lake_rows - (parts.extra_copies or 0)
    counts = PlanCounts(upserts, deletes, comparison.source_rows, lake_keys, apart, table_rows)
    before = None if comparison.checkpoint is None else comparison.checkpoint.checkpoint
    return (
        *judge_guards(counts, job.policy),
        *((guard_replica_deletes(deletes),) if comparison.moment.is_replica else ()),
        *judge_lineage(before, lineage, deletes=deletes, regressed=comparison.kinds.get("regressed", 0)),
    )


def refuse_unreplayed(
    job: TableJob, plan: Plan, sides: Sides, checkpoint: CheckpointAt | None, moment: Moment, *, deletes: bool
) -> None:
    """Raises RefusedError where the source now is a replica that has not come as far as the lake, or is one since the sweep.

    Behind one address there may be another server than at the sweep: a row that it has yet to get looks deleted. `deletes`: the
    plan's are to be written, and nobody accepted a replica's word for them.
    """
    why = describe_replica_lag(choose_watermark(job, sides.table), checkpoint, moment, sides.source.zone_offset_micros)
    if why:
        raise RefusedError(f"table {job.name}: {why}; nothing was written", fix=f"apply again {FIX}")
    asked = any(guard.name == REPLICA_DELETES for guard in plan.guards)
    if moment.is_replica and deletes and plan.deletes and not asked:
        guard = guard_replica_deletes(plan.deletes)
        raise RefusedError(
            f"table {job.name}: the source is a replica now, and was none at the sweep of run {plan.run_id}: "
            f"guard {guard.name}: limit {guard.limit}, found {guard.found}",
            fix=guard.fix,
            guards=(*plan.guards, guard),
        )
