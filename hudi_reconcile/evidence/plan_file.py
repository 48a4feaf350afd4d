"""A table's `plan.json`, held against the log and against its own id before anybody shows, approves or applies it. Reads only."""

from __future__ import annotations

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.plan import Plan, parse
from hudi_reconcile.core.segments import parse as parse_segments
from hudi_reconcile.evidence.store import UNUSABLE, Store


def plan_of(store: Store, run_id: str, table: str) -> Plan | None:
    """The plan of a run for a table; None where it made none.

    The id covers what a plan does, the run's line in the log every byte of the file: the times and sentences too. Where no
    line names the run and none has to, such as in a folder that was copied by itself, there is the id alone.

    Raises:
        RefusedError: the file is not the one that the run made, whatever it is now: edited, damaged, removed, a link, the
            plan of another run or table; or the log does not prove the run.
    """
    try:
        document = store.plan(run_id, table)
    except UNUSABLE as error:
        raise _refused(table, error.message) from error
    if document is None:
        return None
    plan = parse(document)
    if (plan.run_id, plan.table) != (run_id, table):
        raise _refused(table, f"plan.json of run {run_id} was changed: it is the plan of run {plan.run_id}")
    try:
        parse_segments(plan.segmentation)
    except (KeyError, TypeError, ValueError) as error:  # its id is right: made by somebody who can compute it
        raise _refused(table, f"plan.json of run {run_id} cuts the table in a way that no sweep does") from error
    if doubt := store.log().doubt_to_act(store.run_ids()):
        raise _refused(table, f"the plan of run {run_id} cannot be trusted: {doubt}")
    return plan


def _refused(table: str, why: str) -> RefusedError:
    return RefusedError(
        f"table {table}: {why}", fix=f"look: hudi-reconcile audit verify; then: hudi-reconcile sweep -t {table}"
    )
