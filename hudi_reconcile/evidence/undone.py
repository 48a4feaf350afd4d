"""Which plans were undone, as the runs' own results tell. What another reports folder knows of is told by the lake alone."""

from __future__ import annotations

from contextlib import suppress

from hudi_reconcile.core.plan import Plan
from hudi_reconcile.core.provenance import UNDONE_PLANS
from hudi_reconcile.evidence.store import UNUSABLE, Store


def undone_by(store: Store, plan: Plan) -> str | None:
    """The newest run that took commits of the plan back; None where no run says so, as undos of earlier versions."""
    for run_id in store.run_ids():
        if run_id <= plan.run_id:
            return None
        with suppress(*UNUSABLE):  # of whichever run: the apply asks the lake itself
            result = store.result(run_id)
            told = [one.get("provenance", {}).get(UNDONE_PLANS, "") for one in result["tables"]]
            if result["command"] == "undo" and any(plan.plan_id in one.split(", ") for one in told):
                return run_id
    return None
