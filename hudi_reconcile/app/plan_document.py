"""`plan.json` as it is written and shown: the plan, with its times as people read them."""

from __future__ import annotations

from typing import Any

from hudi_reconcile.app.clock import utc_text
from hudi_reconcile.core.plan import Plan, document


def plan_document(plan: Plan) -> dict[str, Any]:
    """All of it follows from the plan itself."""
    return document(plan, created_utc=utc_text(plan.created_micros), expires_utc=utc_text(plan.expires_micros))
