"""Where the source's rows are digested: in Spark (`stream`) or inside the source (`pushdown`), and why."""

from __future__ import annotations

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.sweep.segments import SMALL_ROWS, Choice, choose_cheaper
from hudi_reconcile.core.tables.agreement import Agreement
from hudi_reconcile.core.tables.values import SourceTable
from hudi_reconcile.ports import Source
from hudi_reconcile.stages.job import PartialSweep, TableJob


def choose_mode(
    job: TableJob, table: SourceTable, agreement: Agreement, source: Source, part: PartialSweep | None = None
) -> Choice:
    """What `sweep.mode` says, and for `auto` what is cheaper by a sample of the link and the source.

    A part of a table is digested in Spark, whatever the mode.

    Raises UsageError where `pushdown` is demanded of a source, or of columns, that cannot be digested inside.
    """
    if job.sweep.mode == "stream":
        return Choice(pushdown=False, why="sweep.mode: stream")
    if part is not None and (why := _explain_spark(part)):
        return Choice(pushdown=False, why=f"sweep.mode: {job.sweep.mode}, but {why}")
    hindrance = _hindrance(agreement) or source.find_hindrance(table, agreement)
    if job.sweep.mode == "pushdown":
        if hindrance:
            raise UsageError(
                f"table {job.name}: sweep.mode pushdown is not possible: {hindrance}",
                fix=f"set tables[{job.name}].sweep.mode: auto (or stream)",
            )
        return Choice(pushdown=True, why="sweep.mode: pushdown")
    if hindrance:
        return Choice(pushdown=False, why=f"auto: {hindrance}")
    if table.rows_estimate < SMALL_ROWS:
        return Choice(pushdown=False, why=f"auto: under {SMALL_ROWS:,} rows either way takes about a second")
    probe = source.probe(table, agreement)
    choice = choose_cheaper(probe, table.rows_estimate, cores=source.cores)
    return Choice(choice.pushdown, f"auto: {choice.why}")


def _explain_spark(part: PartialSweep) -> str:
    if part.partitions:
        return "partitions are told apart in Spark"
    if part.budget_seconds is not None:
        return "a budget is spent in batches, by Spark"
    if part.pause is not None:
        return "sweep.pause needs batches, by Spark"
    return "sweep.max_duty is kept in batches, by Spark" if part.is_sparing else ""


def _hindrance(agreement: Agreement) -> str:
    if agreement.is_tolerant:
        return "compare.tolerance is decided in Spark"
    return ""
