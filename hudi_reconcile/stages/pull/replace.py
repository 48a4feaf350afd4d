"""A full fetch that replaces the whole table: what is gone at the source goes, and only as much as the policy allows.

Decides when a pull does so, and refuses by the numbers. Nothing is written before the read is known to be whole.
"""

from __future__ import annotations

from hudi_reconcile.core.errors import RefusedError, SourceError
from hudi_reconcile.core.plan.guards import PlanCounts, judge_replacement, list_failed_guards
from hudi_reconcile.core.plan.plan import Approval
from hudi_reconcile.core.result_parts import Guard
from hudi_reconcile.ports import Replaced
from hudi_reconcile.stages.job import PullSettings, TableJob


def is_overwrite(pulls: PullSettings) -> bool:
    """Whether a full fetch replaces the table: what the config says, else what the strategy implies (docs/adr/0008)."""
    return (pulls.full_mode or ("overwrite" if pulls.strategy == "full" else "upsert")) == "overwrite"


def refuse_torn(job: TableJob, rows: int, before_rows: int, after_rows: int) -> None:
    """Raises SourceError where a read lacks rows that the source itself counted: what was missed would be deleted."""
    if not min(before_rows, after_rows) <= rows <= max(before_rows, after_rows):
        raise SourceError(
            f"table {job.name}: the read returned {rows} rows, the source counted {before_rows} before and {after_rows} "
            "after it; nothing was written, since what a read misses would be deleted",
            fix=f"pull again; if rows change all the time: tables[{job.name}].pull.full_mode: upsert",
        )


def check_replacement(
    job: TableJob, replacement: Replaced, source_rows: int, approval: Approval, of_lineage: tuple[Guard, ...] = ()
) -> None:
    """Hold a replacement against its guards, and those of what the source stands on. Raises RefusedError where one says no.

    What was approved or accepted says yes.
    """
    counts = PlanCounts(0, replacement.gone_rows, source_rows, replacement.lake_rows)
    guards = (*judge_replacement(counts, job.policy), *of_lineage)
    no = list_failed_guards(
        guards,
        deletes=replacement.gone_rows,
        approved=approval.approve_deletes,
        allow_empty=approval.allow_empty_source,
        accepted=approval.accept,
    )
    if no:
        text = "; ".join(f"guard {guard.name}: limit {guard.limit}, found {guard.found}" for guard in no)
        raise RefusedError(
            f"table {job.name}: the source has {source_rows} rows, the lake {replacement.lake_rows}; replacing it would delete "
            f"{replacement.gone_rows} of them ({text})",
            fix=no[0].fix
            if no[0].name != "approve_deletes"
            else f"approve this number: --approve-deletes {replacement.gone_rows}",
            guards=tuple({guard.name: guard for guard in (*guards, *no)}.values()),
        )
