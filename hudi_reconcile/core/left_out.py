"""What an apply says of the tables of a run that it has no plan for. Pure: the run's own words in, a result out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import Failure, TableResult, Unverified

_RIGHT = (Outcome.CLEAN, Outcome.CORRECTED)


def left_out(table: Mapping[str, Any], run_id: str) -> TableResult | None:
    """The result of a table as the run left it; None where it was found right.

    Without it, an apply of the other tables would be `corrected`, and a table that nobody compared would seem right.
    """
    outcome = Outcome(table["outcome"])
    if outcome in _RIGHT:
        return None
    error = table.get("error")
    if outcome is Outcome.DRIFT:
        note = f"run {run_id} found drift but holds no plan: what its rules found is not repaired by an apply"
        return TableResult(table["name"], outcome, notes=(note,))
    why = "it could not be compared" if error is None else error["message"]
    left = Unverified("table", table["name"], f"run {run_id} ended {outcome} and holds no plan: {why}", _fix(table))
    failure = None if error is None else Failure(error["type"], error["message"], error["fix"])
    return TableResult(table["name"], outcome, error=failure, unverified=(left,))


def _fix(table: Mapping[str, Any]) -> str:
    mend: Mapping[str, Any] = table.get("error") or next(iter(table.get("unverified", ())), {})
    first = f"{mend['fix']}; then: " if mend.get("fix") else ""
    return f"{first}hudi-reconcile sweep -t {table['name']}"
