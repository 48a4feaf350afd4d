"""What must still hold of a plan when it is applied. Pure; raises RefusedError with expected and found."""

from __future__ import annotations

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.plan import Plan
from hudi_reconcile.core.values import SourceTable
from hudi_reconcile.stages.request import TableJob


def refuse_stale(job: TableJob, plan: Plan, table: SourceTable, now_micros: int) -> None:
    """Raises RefusedError for a plan of another lake, source or key, or one that is too old."""
    pairs = (
        ("lake path", plan.lake_path, job.lake_path),
        ("source", plan.source_identity, table.identity),
        ("key", ", ".join(plan.key), ", ".join(table.key)),
    )
    for what, planned, found in pairs:
        if planned != found:
            raise RefusedError(
                f"table {job.name}: the plan of run {plan.run_id} is for {what} {planned}, the config now means {found}",
                fix=f"sweep again: hudi-reconcile sweep -t {job.name}",
            )
    if now_micros >= plan.expires_micros:
        hours = (now_micros - plan.created_micros) // 3_600_000_000
        raise RefusedError(
            f"table {job.name}: the plan of run {plan.run_id} is {hours} h old (limit 24 h)",
            fix=f"sweep again: hudi-reconcile sweep -t {job.name}",
        )
