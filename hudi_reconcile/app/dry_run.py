"""`pull --dry-run`: what each table's pull would do, without a run folder, a lease or a row."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from hudi_reconcile.app.jobs import job_of, refuse_not_built
from hudi_reconcile.app.run import Call
from hudi_reconcile.app.world import World, open_world, with_session
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.config.trust import sentences
from hudi_reconcile.core.errors import ReconcileError
from hudi_reconcile.core.outcome import Outcome, gravest
from hudi_reconcile.stages.dry_run import PullPlan, dry_run

_RUN = "dry-run"


@dataclass(frozen=True, slots=True)
class Planned:
    """What every table's pull would do, or why it would be refused. `trust` are the checks that the config gives up."""

    outcome: Outcome
    tables: tuple[dict[str, Any], ...]
    trust: tuple[str, ...] = ()


def plan_pull(call: Call, *, full: bool) -> Planned:
    """Plan the pulls of a call. A table that would be refused does not hide the others."""
    refuse_not_built(call.config, call.tables)
    with open_world(call.config) as world:
        for table in call.tables:
            world.expect_rows(table)  # a wrong name or password fails before Spark has started
        with with_session(world, expected_rows=0):
            found = [_one(world, table, full=full) for table in call.tables]
    outcome = gravest(outcome for outcome, _ in found)
    return Planned(outcome, tuple(document for _, document in found), sentences(call.config))


def _one(world: World, table: TableConfig, *, full: bool) -> tuple[Outcome, dict[str, Any]]:
    try:
        return Outcome.CLEAN, _document(dry_run(job_of(table, _RUN), world.edges(table), full=full))
    except ReconcileError as error:
        failure = {"type": error.type, "message": error.message, "fix": error.fix}
        return error.outcome, {"name": table.name, "error": failure}


def _document(plan: PullPlan) -> dict[str, Any]:
    found = dataclasses.asdict(plan)
    document = {"name": found.pop("table"), "error": None, **found}
    if plan.read is not None:
        document["read"]["rows"] = plan.read.rows
    if plan.create is not None:
        document["create"]["columns"] = [{"name": name, "type": kind} for name, kind in plan.create.columns]
    return document
