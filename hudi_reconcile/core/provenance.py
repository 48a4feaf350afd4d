"""Which commits were corrections of ours, by the labels they carry. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

UNDO_KIND = "undo"
UNDONE_PLANS = "undone_plans"  # in the provenance of an undo: the plans whose commits it took back, or found taken back


@dataclass(frozen=True, slots=True)
class Correction:
    """A corrective commit: the run that made it, its plan, and the sweep whose findings say why each key was corrected.

    An undo has neither plan nor findings; its `kind` is the kind of all its changes.
    """

    run_id: str
    plan_id: str | None = None
    sweep: str | None = None
    kind: str | None = None


def correction_of(labels: Mapping[str, str]) -> Correction | None:
    """The correction that a commit's labels tell of; None for a commit that is none.

    >>> correction_of({"kind": "apply", "run_id": "r2", "sweep": "r1", "plan": "abc:all"})
    Correction(run_id='r2', plan_id='abc', sweep='r1', kind=None)
    """
    match labels.get("kind"):
        case "apply":
            plan = labels.get("plan", "").split(":", 1)[0]
            return Correction(labels.get("run_id", ""), plan or None, labels.get("sweep"))
        case "undo":
            return Correction(labels.get("run_id", ""), kind=UNDO_KIND)
        case _:
            return None
