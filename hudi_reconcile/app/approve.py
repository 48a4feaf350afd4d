"""`approve`: somebody's word for the plans of a run, as a run of its own that the audit log names. No Spark, no database."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from hudi_reconcile.app.approvals import find_planner, read_separation
from hudi_reconcile.app.commands import PlanFile, read_plans
from hudi_reconcile.app.host import HostClock, find_actor, hides_user, write_utc
from hudi_reconcile.app.log_context import name_run
from hudi_reconcile.app.outputs import deliver, name_datasets
from hudi_reconcile.app.run import Call, Finished, describe_maker, finish
from hudi_reconcile.app.store import open_store
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.trust import sentences
from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.approvals import Actor, refuse_hidden_user, refuse_own_word
from hudi_reconcile.core.plan.plan import Plan, refuse_future
from hudi_reconcile.core.result import RunResult, TableResult, run_document
from hudi_reconcile.core.result_parts import Approved, Corrections
from hudi_reconcile.evidence.store import LATEST, Store, find_undo
from hudi_reconcile.evidence.trust import APPROVE


def select_plans(config: Config, run: str, tables: tuple[str, ...], ids: tuple[str, ...]) -> Mapping[str, PlanFile]:
    """The plans of a run, by table. `ids` are those that were looked at, or how they begin: no other plan is approved.

    Where ids are given, tables of other plans are left out, unless `tables` names them.

    Raises RefusedError for another plan, and for `latest` without ids beside a newer run that is under way: it may leave a
    plan that nobody has seen. Raises as `read_plans` too.
    """
    begun = Store(config.reports).list_open().live
    every = read_plans(config, run, tables)
    meant = {table: file for table, file in every.items() if _is_named(file.plan, ids)}
    plan_files = meant if meant and not tables else every
    for table, plan_file in plan_files.items():
        plan = plan_file.plan
        if not _is_named(plan, ids):
            raise RefusedError(
                f"table {table}: the plan of run {plan.run_id} is {plan.plan_id}, another than --plan names",
                fix=f"look at it: hudi-reconcile plan {plan.run_id} -t {table}",
            )
        newer = find_unseen_run(begun, plan.run_id) if run == LATEST and not ids else None
        if newer is not None:
            raise RefusedError(
                f"run {newer} is under way: 'latest' may soon mean another plan than the one that was looked at",
                fix=f"name the run: hudi-reconcile approve {plan.run_id} -t {table} --as NAME",
            )
    _refuse_unmatched(ids, plan_files)
    return plan_files


def run_approve(call: Call, plan_files: Mapping[str, PlanFile], name: str) -> Finished:
    """Approve the plans, one for each table of the call, in the name that is given.

    Raises RefusedError for a plan that is too old to be applied, from the future or was undone, or that is the approver's
    own where that cannot count, HiddenUserError in a user namespace where user ids have to differ, UsageError for a name
    that is none; nothing is left then.
    """
    clock, who = HostClock(), find_actor(os.environ, name)
    now = clock.utc_micros()
    store = open_store(call.config, os.environ)
    for table in call.tables:
        plan = plan_files[table.name].plan
        refuse_future(plan, now)
        _refuse_expired(plan, now)
        _refuse_undone(plan, find_undo(store, plan))
        others, by_login = read_separation(table)
        if table.policy.require_approval and by_login and hides_user():
            refuse_hidden_user(plan)
        if table.policy.require_approval and others:
            refuse_own_word(plan, who, find_planner(store, plan.run_id), by_login=by_login)
    with store.begin(now) as folder:
        name_run(folder.run_id)
        results = tuple(_describe_approval(plan_files[table.name].plan, who, now) for table in call.tables)
        provenance = describe_maker(call, who, folder)
        trust = sentences(call.config)
        result = RunResult(
            folder.run_id, APPROVE, write_utc(now), write_utc(clock.utc_micros()), results, provenance, trust
        )
        final = finish(store, folder, result)
    said = deliver(call.config.outputs, run_document(result), os.environ, name_datasets(call.config, call.tables))
    return Finished(result, final, said, audit_head=folder.head)


def _describe_approval(plan: Plan, who: Actor, now_micros: int) -> TableResult:
    at = write_utc(now_micros)
    word = Approved(plan.plan_id, plan.run_id, plan.upserts, plan.deletes, who.name, who.login, at, who.uid)
    return TableResult(
        plan.table,
        Outcome.APPROVED,
        guards=plan.guards,
        corrections=Corrections(upserts=plan.upserts, deletes=plan.deletes),
        plan_id=plan.plan_id,
        approval=word,
    )


def find_unseen_run(begun: Sequence[str], run_id: str) -> str | None:
    """The newest of the runs that were under way before `latest` was read, where nobody can have seen what it leaves.

    That is also the run itself, which ended in between.

    >>> begun = ["20261121T120000Z-b"]
    >>> find_unseen_run(begun, "20261121T110000Z-a"), find_unseen_run(begun, "20261121T120000Z-b")
    ('20261121T120000Z-b', '20261121T120000Z-b')
    >>> find_unseen_run(["20261121T100000Z-c"], "20261121T110000Z-a")
    """
    return next((building for building in begun if building >= run_id), None)


def _is_named(plan: Plan, ids: tuple[str, ...]) -> bool:
    return not ids or any(plan.plan_id.startswith(said) for said in ids)


def _refuse_unmatched(ids: tuple[str, ...], plan_files: Mapping[str, PlanFile]) -> None:
    plans = [file.plan for file in plan_files.values()]
    for said in ids:
        if not any(plan.plan_id.startswith(said) for plan in plans):
            raise RefusedError(
                f"--plan {said} is no plan of run {plans[0].run_id} for {', '.join(plan_files)}",
                fix=f"look at them: hudi-reconcile plan {plans[0].run_id}",
            )


def _refuse_expired(plan: Plan, now_micros: int) -> None:
    if now_micros >= plan.expires_micros:
        raise RefusedError(
            f"table {plan.table}: the plan of run {plan.run_id} is too old to be applied (policy.max_plan_age)",
            fix=f"sweep again: hudi-reconcile sweep -t {plan.table}",
        )


def _refuse_undone(plan: Plan, run_id: str | None) -> None:
    if run_id is not None:
        raise RefusedError(
            f"table {plan.table}: the plan of run {plan.run_id} was undone by run {run_id}: no apply takes it again",
            fix=f"sweep again: hudi-reconcile sweep -t {plan.table}",
        )
