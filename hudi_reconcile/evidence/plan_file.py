"""A table's `plan.json`, held against the log and against its own id before anybody shows, approves or applies it. Reads only."""

from __future__ import annotations

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.plan import Plan, parse
from hudi_reconcile.evidence.files import file_sha256
from hudi_reconcile.evidence.logged import lines_of, logged_hash
from hudi_reconcile.evidence.names import PLAN_FILE, table_folder
from hudi_reconcile.evidence.store import Store


def plan_of(store: Store, run_id: str, table: str) -> Plan | None:
    """The plan of a run for a table; None where it made none.

    The id covers what a plan does, the run's line in the log every byte of the file: the times and sentences too. Where no
    line names the run and the log is whole, such as beside a folder that was copied by itself, there is the id alone.

    Raises:
        RefusedError: the file or the log's line of its run was edited, or it is the plan of another run or table.
        EvidenceError: it cannot be read, or is of an unknown version.
    """
    document = store.plan(run_id, table)
    if document is None:
        return None
    name = f"{table_folder(table)}/{PLAN_FILE}"
    own, flawed = lines_of(store, run_id)
    if flawed:
        raise _refused(table, f"plan.json of run {run_id} cannot be trusted: the audit log was edited")
    logged = [logged_hash(link, name) for link in own]
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
