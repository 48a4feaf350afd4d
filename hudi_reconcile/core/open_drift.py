"""What a table of a `result.json` leaves open: drift that the run did not correct, and rules that nobody found to hold. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hudi_reconcile.core.outcome import Outcome

Document = Mapping[str, Any]
_LEFT = ("superseded", "moved", "failed", "held")
# Any graver outcome may hide an apply whose verification still found drift, or was not steady.
_VERIFIED_FULLY = frozenset({Outcome.CORRECTED.value, Outcome.DRIFT.value})


def corrected_whole(table: Document) -> bool:
    """True where every finding of the run was corrected, by this run or before, and the touched segments proved equal.

    Of what was compared: ask `compared_whole` too where the whole table matters. Each finding has one correction, so
    corrections that are fewer than findings cover not all of them; what is pending, settled or moving is no finding.
    """
    done = table["corrections"]
    planned = done["upserts"] + done["deletes"]
    return (
        table["outcome"] in _VERIFIED_FULLY
        and bool(table["verified_at"])
        and done["applied"] + done.get("applied_before", 0) == planned > 0
        and not any(done.get(status, 0) for status in _LEFT)
        and sum(table["findings"].values()) <= planned
    )


def open_drift(table: Document) -> dict[str, int]:
    """The findings by kind that the run left as they are; none where it corrected and verified all of them.

    Where a verification proved the rest of them, those that it still found and those that were not corrected are left. Rows
    that are left and of no known kind count for each kind: never less than the truth.
    """
    if corrected_whole(table):
        return {}
    found = {kind: rows for kind, rows in table["findings"].items() if rows}
    again, listed = table.get("findings_left"), table.get("uncorrected")
    if again is None or listed is None or not table["verified_at"]:
        return found
    done, by_kind = table["corrections"], listed.get("by_kind", {})
    unknown = max(0, sum(found.values()) - done["applied"] - done.get("applied_before", 0) - sum(by_kind.values()))
    kinds = {**found, **again}
    left = {k: max(again.get(k, 0), min(found.get(k, 0), by_kind.get(k, 0) + unknown)) for k in kinds}
    return {kind: rows for kind, rows in left.items() if rows}


def after_apply(table: Document, applied: Document) -> Document:
    """The part of a sweep's or run's result after an apply of its plan: what was compared, and what was corrected."""
    told = ("outcome", "corrections", "verified_at", "findings_left", "uncorrected")
    return {**table, **{name: applied.get(name) for name in told}}


def open_rules(table: Document) -> int:
    """How many rules of the table could not run, or failed at a severity that makes the run fail."""
    by_warning = table["provenance"].get("fail_on") == "warn"
    return sum(
        rule["status"] == "error" or (rule["status"] == "fail" and (by_warning or rule["severity"] == "error"))
        for rule in table.get("rules", ())
    )
