"""What people have said of plans that need an approval, for whoever looks at them. Reads the audit log alone."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from hudi_reconcile.app.store import store_of
from hudi_reconcile.config.model import Config
from hudi_reconcile.core.errors import ReconcileError
from hudi_reconcile.evidence.approvals import approvals

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
        store = store_of(config, os.environ)
        said, why = list(approvals(store.reports, store.keys)), ""
    except ReconcileError as error:
        said, why = [], error.message
    return {
        plan["table"]: {
            "approver": policies[plan["table"]].approver,
            "given": None
            if why
            else [
                {"by": one.by, "login": one.login, "at_utc": one.at_utc}
                for one in said
                if (one.plan_id, one.upserts, one.deletes) == (plan["plan_id"], plan["upserts"], plan["deletes"])
            ],
            "why": why,
        }
        for plan in needed
    }
