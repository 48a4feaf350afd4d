"""The guards of a sweep's plan: its numbers against the policy, and what the source was read from. Decides nothing itself."""

from __future__ import annotations

from collections.abc import Mapping

from hudi_reconcile.core.guards import PlanCounts, Policy, guards, replica_deletes
from hudi_reconcile.core.result import DRIFT_KINDS, Guard
from hudi_reconcile.core.standing import Standing, standing_guards
from hudi_reconcile.stages.confirm import Confirmed
from hudi_reconcile.stages.request import TableJob


def guards_of(
    job: TableJob, found: Confirmed, columns: Mapping[str, int], *, table_rows: int | None, standing: Standing
) -> tuple[Guard, ...]:
    """All guards. `columns`: in how many rows each differs. `table_rows`: the whole table's where a part was compared."""
    deletes = found.kinds.get("deleted", 0)
    upserts = sum(found.kinds.get(kind, 0) for kind in DRIFT_KINDS) - deletes
    apart = {name: rows for name, rows in columns.items() if name not in job.watermark}
    counts = PlanCounts(upserts, deletes, found.source_rows, found.lake_rows, apart, table_rows)
    policy = Policy(job.max_deletes, job.max_delete_share, job.max_upsert_share)
    before = None if found.checkpoint is None else found.checkpoint.checkpoint
    return (
        *guards(counts, policy),
        *((replica_deletes(deletes),) if found.moment.is_replica else ()),
        *standing_guards(before, standing, deletes=deletes, regressed=found.kinds.get("regressed", 0)),
    )
