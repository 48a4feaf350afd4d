"""What must still hold of a plan when it is applied. Pure; raises RefusedError with expected and found."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.plan.plan import POSITION, SCHEMA, TIMELINE, WHERE, Plan, Requirement, refuse_future
from hudi_reconcile.core.pull.source_lineage import SourceLineage, is_rewound
from hudi_reconcile.core.tables.agreement import Agreement
from hudi_reconcile.core.tables.values import SourceTable
from hudi_reconcile.stages.job import TableJob

_HOUR_MICROS = 3_600_000_000


def write_schema(agreement: Agreement) -> str:
    """The compared columns and their types on both sides, as a plan requires them."""
    return "; ".join(
        f"{i.column.name} {i.column.declared} = {i.column.lake_name} {i.lake_type}" for i in agreement.columns
    )


def refuse_stale(job: TableJob, plan: Plan, table: SourceTable, now_micros: int, accept: Collection[str] = ()) -> None:
    """Raises RefusedError for a plan of another lake, source or key, too old for it or the config, or from the future."""
    pairs = (
        ("lake path", plan.lake_path, job.lake.path),
        ("source", plan.source_identity, table.identity),
        ("key", ", ".join(plan.key), ", ".join(table.key)),
    )
    for what, planned, value in pairs:
        if planned != value:
            raise RefusedError(
                f"table {job.name}: the plan of run {plan.run_id} is for {what} {planned}, the config now means {value}",
                fix=f"sweep again: hudi-reconcile sweep -t {job.name}",
            )
    refuse_future(plan, now_micros)
    most = min(plan.max_age_micros, job.max_plan_age_micros)
    if now_micros >= plan.created_micros + most and "expired_plan" not in accept:
        hours = (now_micros - plan.created_micros) // _HOUR_MICROS
        limit = f"{most / _HOUR_MICROS:g}"
        raise RefusedError(
            f"table {job.name}: the plan of run {plan.run_id} is {hours} h old (limit {limit} h: policy.max_plan_age)",
            fix=f"sweep again: hudi-reconcile sweep -t {job.name}; or apply with --accept expired_plan",
        )


def refuse_other_rows(plan: Plan, rows: Mapping[str, int]) -> None:
    """Raises RefusedError where the findings hold other corrections, by action, than were counted, guarded and approved."""
    counts = (rows.get("upsert", 0), rows.get("delete", 0))
    if counts != (plan.upserts, plan.deletes):
        raise RefusedError(
            f"table {plan.table}: the plan of run {plan.run_id} is of {plan.upserts} upserts and {plan.deletes} deletes,"
            f" its findings hold {counts[0]} and {counts[1]}",
            fix=f"look: hudi-reconcile audit verify; then: hudi-reconcile sweep -t {plan.table}",
        )


def build_lineage_requirements(now: SourceLineage) -> tuple[Requirement, ...]:
    """What an apply needs to find as the sweep found it: filter and history of the source."""
    pairs = ((WHERE, now.where), (TIMELINE, now.timeline), (POSITION, now.position))
    return tuple(Requirement(name, value) for name, value in pairs if value is not None)


def refuse_changed_standing(job: TableJob, plan: Plan, now: SourceLineage) -> None:
    """Raises RefusedError where the config has another filter than at the sweep, or the server another history."""
    pairs = (("source.where", WHERE, now.where), ("the server's timeline", TIMELINE, now.timeline))
    for what, name, value in pairs:
        planned = plan.find_requirement(name)
        if None not in (planned, value) and planned != value:
            raise RefusedError(
                f"table {job.name}: {what} changed since the plan of run {plan.run_id}: planned {planned}, found {value}",
                fix=f"sweep again: hudi-reconcile sweep -t {job.name}",
            )
    _refuse_gone_back(job, plan, now)


def _refuse_gone_back(job: TableJob, plan: Plan, now: SourceLineage) -> None:
    planned = plan.find_requirement(POSITION)
    if planned is not None and now.position is not None and is_rewound(planned, now.position):
        raise RefusedError(
            f"table {job.name}: the server's GTIDs do not reach as far as at the plan of run {plan.run_id}: it was set back",
            fix=f"sweep again: hudi-reconcile sweep -t {job.name}",
        )


def refuse_changed_schema(job: TableJob, plan: Plan, agreement: Agreement, accept: Collection[str]) -> None:
    """Raises RefusedError where the compared columns or their types are no longer those of the sweep."""
    planned, schema = plan.find_requirement(SCHEMA), write_schema(agreement)
    if planned in (None, schema) or "changed_schema" in accept:
        return
    before, now = (set(text.split("; ")) for text in (planned or "", schema))
    was, became = ("; ".join(sorted(columns)) or "nothing" for columns in (before - now, now - before))
    raise RefusedError(
        f"table {job.name}: the schema changed since the plan of run {plan.run_id}: planned {was}, found {became}",
        fix=f"sweep again: hudi-reconcile sweep -t {job.name}; or apply with --accept changed_schema",
    )
