"""What `undo` does: which tables a run wrote, and taking each of them back."""

from __future__ import annotations

from collections.abc import Mapping

from hudi_reconcile.app.jobs import job_of
from hudi_reconcile.app.run import Call, Finished, TableRun, perform
from hudi_reconcile.config.model import Config
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.stages.undo import undo

WROTE = frozenset({"apply", "run"})


def applied_by(config: Config, run: str, names: tuple[str, ...]) -> tuple[str, Mapping[str, int]]:
    """The run's id, and how many rows it applied by table. Raises UsageError where it applied none."""
    store = Store(config.reports)
    run_id = store.resolve(run, commands=WROTE)
    wrote = {
        table["name"]: table["corrections"]["applied"]
        for table in store.result(run_id)["tables"]
        if table["corrections"]["instants"] and (not names or table["name"] in names)
    }
    for name in (*names, *wrote):
        config.table(name)
    if not wrote:
        raise UsageError(
            f"run {run_id} applied nothing{' to ' + ', '.join(names) if names else ''}",
            fix="choose a run that did: hudi-reconcile history",
        )
    return run_id, wrote


def run_undo(call: Call, run_id: str) -> Finished:
    """Take the run's corrections back, in every table of the call."""
    tables = Store(call.config.reports).result(run_id)["tables"]
    plans = {table["name"]: table["plan_id"] for table in tables if not table["already_applied"]}

    def take_back(one: TableRun) -> TableResult:
        job = job_of(one.table, one.folder.run_id, audit_head=one.folder.head_before)
        return undo(job, run_id, one.edges, finished_plan=plans.get(one.table.name))

    return perform("undo", call, take_back)
