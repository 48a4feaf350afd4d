"""`pull --dry-run` and `sweep --dry-run`: what each table's work would do and cost, without a run folder, a lease or a row."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hudi_reconcile.app.commands import ALL, PartialSweepRequest
from hudi_reconcile.app.connections import World, hold_session, open_world
from hudi_reconcile.app.jobs import build_job, build_pause, read_duty, refuse_not_built
from hudi_reconcile.app.run import Call
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.config.trust import sentences
from hudi_reconcile.core.errors import ReconcileError
from hudi_reconcile.core.outcome import Outcome, find_gravest
from hudi_reconcile.core.result_queries import add_config
from hudi_reconcile.core.sweep.segments import share_seconds
from hudi_reconcile.stages.job import PartialSweep
from hudi_reconcile.stages.pull.dry_run import PullPlan
from hudi_reconcile.stages.pull.dry_run import dry_run as pull_dry_run
from hudi_reconcile.stages.sweep.dry_run import dry_run as sweep_dry_run

_RUN = "dry-run"
Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DryRun:
    """What every table's work would be, or why it would be refused. `trust` are the checks that the config gives up.

    The outcome says that nothing stands in the way, or what does; `word` is how it is written, where `clean` would be read as
    a verdict.
    """

    outcome: Outcome
    word: str
    tables: tuple[Document, ...]
    trust: tuple[str, ...] = ()


def plan_pull(call: Call, *, full: bool) -> DryRun:
    """Plan the pulls of a call. A table that would be refused does not hide the others."""
    return _plan(
        call, lambda world, table: _pull_document(pull_dry_run(build_job(table, _RUN), world.edges(table), full=full))
    )


def plan_sweep(call: Call, asked: PartialSweepRequest = ALL) -> DryRun:
    """Plan the sweeps of a call, and what they would cost; a budget is shared out evenly among the tables."""
    budget = None if asked.budget_seconds is None else share_seconds(asked.budget_seconds, len(call.tables))

    def plan(world: World, table: TableConfig) -> Document:
        part = PartialSweep(
            asked.partitions,
            budget,
            asked.budget_text,
            max_duty=read_duty(table),
            pause=build_pause(table, world.engine),
        )
        return dataclasses.asdict(sweep_dry_run(build_job(table, _RUN), world.edges(table), part))

    dry_run = _plan(call, plan)
    return dataclasses.replace(dry_run, word="planned") if dry_run.outcome is Outcome.CLEAN else dry_run


def _plan(call: Call, plan: Callable[[World, TableConfig], Document]) -> DryRun:
    refuse_not_built(call.config, call.tables)
    with open_world(call.config) as world:
        for table in call.tables:
            world.expect_rows(table)  # a wrong name or password fails before Spark has started
        with hold_session(world, expected_rows=0):
            table_plans = [_plan_table(world, table, plan, call.config_file) for table in call.tables]
    outcome = find_gravest(outcome for outcome, _ in table_plans)
    return DryRun(outcome, outcome.value, tuple(document for _, document in table_plans), sentences(call.config))


def _plan_table(
    world: World, table: TableConfig, plan: Callable[[World, TableConfig], Document], config_file: str
) -> tuple[Outcome, Document]:
    try:
        document = plan(world, table)
    except ReconcileError as error:
        fix = add_config(error.fix, config_file, world.config.overlay.get("profile"))
        failure = {"type": error.type, "message": error.message, "fix": fix}
        return error.outcome, {"name": table.name, "error": failure}
    del document["table"]
    return Outcome.CLEAN, {"name": table.name, "error": None, **document}


def _pull_document(plan: PullPlan) -> Document:
    document = dataclasses.asdict(plan)
    if plan.read is not None:
        document["read"]["rows"] = plan.read.rows
    if plan.create is not None:
        document["create"]["columns"] = [{"name": name, "type": kind} for name, kind in plan.create.columns]
    return document
