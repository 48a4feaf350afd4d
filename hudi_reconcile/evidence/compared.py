"""The newest comparison of a table: which run, what it says of the table, and what became of the table since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hudi_reconcile.evidence.store import COMPARED, Store


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run that compared the table, and its part of the result. `since` says why the table is another one now, if it is.

    `applied` is the newest apply of the run's own plan that was verified, as its id and its part of the result.
    """

    run_id: str
    ended_utc: str
    table: Mapping[str, Any]
    since: str = ""
    applied: tuple[str, Mapping[str, Any]] | None = None


def newest_compared(store: Store, table: str) -> Comparison | None:
    """The newest sweep or run that holds the table; None where there is none.

    Raises:
        EvidenceError: a newer run cannot be read, so nobody knows whether it compared the table.
    """
    since: dict[bool, str] = {}  # by whether the run changed the table itself, the newest of each
    applied: dict[str, tuple[str, Mapping[str, Any]]] = {}  # by plan, the newest of each
    for run_id in store.run_ids():
        document = store.result(run_id)
        for one in document["tables"]:
            if one["name"] != table:
                continue
            if document["command"] in COMPARED:
                other = since.get(True) or since.get(False, "")
                return Comparison(run_id, document["ended_utc"], one, other, applied.get(one["plan_id"] or ""))
            if document["command"] == "apply" and one["verified_at"] and one["plan_id"]:
                applied.setdefault(one["plan_id"], (run_id, one))
            if why := _other_since(run_id, document["command"], one):
                since.setdefault(not one["already_applied"], why)
    return None


def _other_since(run_id: str, command: str, table: Mapping[str, Any]) -> str:
    done = table["corrections"]
    if command == "undo" and done["applied"] + done.get("applied_before", 0):
        return f"corrections were taken back since, by run {run_id}"
    if (table.get("pull") or {}).get("created"):
        return f"the lake table was made anew since, by run {run_id}"
    return ""
