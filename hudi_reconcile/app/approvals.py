"""Who planned, approved and applies a plan: what the audit log has of it, and whether the table's policy lets it be applied."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hudi_reconcile.app.host import find_actor, hides_user
from hudi_reconcile.app.store import open_store
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.errors import ReconcileError
from hudi_reconcile.core.plan.approvals import Actor, Duties, find_approval, refuse_borrowed_plan, refuse_hidden_user
from hudi_reconcile.core.plan.plan import Plan
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.evidence.run_folder import RESULT_FILE
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.evidence.trust import is_own_sweep, list_approvals, list_misowned, refuse_edited

if TYPE_CHECKING:  # whoever looks at a plan waits for no database driver and no Spark
    from hudi_reconcile.app.table_work import TableRun


def read_duties(table_run: TableRun, plan: Plan) -> Duties:
    """Who planned and who applies. Raises UsageError for a name that is none."""
    applier = find_actor(os.environ)
    here = plan.run_id == table_run.folder.run_id
    return Duties(
        applier if here else find_planner(table_run.store, plan.run_id), applier, *read_separation(table_run.table)
    )


def read_separation(table: TableConfig) -> tuple[bool, bool]:
    """Whether the approver has to be another than planner and applier, and whether by login too."""
    approver = table.policy.approver
    return approver != "any", approver == "other_login"


def find_planner(store: Store, run_id: str) -> Actor | None:
    """Who made a run's plans; None where the run does not say, as those of earlier versions."""
    said = store.result(run_id).get("provenance", {})
    by, login, uid = (said.get(name, "") for name in ("by", "login", "uid"))
    return Actor(str(by), str(login), str(uid)) if by and login else None


def check_duties(table_run: TableRun, plan: Plan) -> Mapping[str, str]:
    """Planner, approver and applier, for the result.

    Raises RefusedError where the policy asks for an approval and none counts, EvidenceError where the log was edited.
    """
    if plan.run_id != table_run.folder.run_id and table_run.table.policy.require_approval:
        # It says who planned: whoever could edit it would approve a plan of their own.
        refuse_edited(table_run.store.reports, plan.run_id, RESULT_FILE, table_run.store.keys)
    duties = read_duties(table_run, plan)
    people = {"applied_by": duties.applier.name}
    if duties.planner is not None:
        people = {"planned_by": duties.planner.name, **people}
    if not table_run.table.policy.require_approval:
        return people
    if duties.by_login:
        duties = _add_file_owners(table_run, plan, duties)
    given = find_approval(plan, list_approvals(table_run.store.reports, table_run.store.keys), duties)
    return {**people, "approved_by": f"{given.by} ({given.login}) at {given.at_utc}"}


def _add_file_owners(table_run: TableRun, plan: Plan, duties: Duties) -> Duties:
    """The duties held against the owners of files, which a process in a user namespace cannot choose."""
    if hides_user():
        refuse_hidden_user(plan)
    is_here = plan.run_id == table_run.folder.run_id
    uid = "" if duties.planner is None else duties.planner.uid
    if not is_here and duties.planner is not None and not is_own_sweep(table_run.store.reports, plan.run_id, uid):
        refuse_borrowed_plan(plan)
    return replace(duties, borrowed=list_misowned(table_run.store.reports, table_run.store.keys))


def add_people(result: TableResult, people: Mapping[str, str]) -> TableResult:
    """The result that says who did what."""
    return replace(result, provenance={**people, **result.provenance})


Document = Mapping[str, Any]


def plan_approvals(config: Config | None, plans: Sequence[Document]) -> Mapping[str, Document]:
    """By table whose policy asks for an approval: `approver` as the policy has it, and `given`, oldest first.

    `given` is None where the log cannot be relied on, with `why`. Whether a word counts is settled when the plan is applied.
    """
    policies = {} if config is None else {table.name: table.policy for table in config.tables}
    needed = [plan for plan in plans if plan["table"] in policies and policies[plan["table"]].require_approval]
    if config is None or not needed:
        return {}
    try:
        store = open_store(config, os.environ)
        said, why = list(list_approvals(store.reports, store.keys)), ""
    except ReconcileError as error:
        said, why = [], error.message
    return {
        plan["table"]: {
            "approver": policies[plan["table"]].approver,
            "given": None
            if why
            else [
                {"by": approval.by, "login": approval.login, "at_utc": approval.at_utc}
                for approval in said
                if (approval.plan_id, approval.upserts, approval.deletes)
                == (plan["plan_id"], plan["upserts"], plan["deletes"])
            ],
            "why": why,
        }
        for plan in needed
    }
