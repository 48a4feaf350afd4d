"""A table's `plan.json`, held against the log and against its own id before anybody shows, approves or applies it. Reads only."""

from __future__ import annotations

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.plan import Plan, parse
from hudi_reconcile.evidence import audit
from hudi_reconcile.evidence.files import file_sha256
from hudi_reconcile.evidence.names import AUDIT_FILE, PLAN_FILE, table_folder
from hudi_reconcile.evidence.store import Store


def plan_of(store: Store, run_id: str, table: str) -> Plan | None:
    """The plan of a run for a table; None where it made none.

    The id covers what a plan does, the run's line in the log every byte of the file: the times and sentences too. A run that
    no line names, such as a folder that was copied by itself, has the id alone.

    Raises:
        RefusedError: the file was edited, or is the plan of another run or table.
        EvidenceError: it cannot be read, is of an unknown version, or the log cannot be read.
    """
    document = store.plan(run_id, table)
    if document is None:
        return None
    name = f"{table_folder(table)}/{PLAN_FILE}"
    lines = (line for line in audit.records(store.reports / AUDIT_FILE) if line.get("run_id") == run_id)
    logged = [dict(line.get("files", {})).get(name) for line in lines]
    if logged and logged != [file_sha256(store.reports / run_id / name)]:
        raise _refused(table, f"plan.json of run {run_id} was changed: it is not what the audit log has of it")
    plan = parse(document)
    if (plan.run_id, plan.table) != (run_id, table):
        raise _refused(table, f"plan.json of run {run_id} was changed: it is the plan of run {plan.run_id}")
    return plan


def _refused(table: str, why: str) -> RefusedError:
    return RefusedError(
        f"table {table}: {why}", fix=f"look: hudi-reconcile audit verify; then: hudi-reconcile sweep -t {table}"
    )
