"""What ran, and how it ended, newest first: reads each run's `result.json`. Decides nothing about a run.

A run that cannot be read is listed as `unreadable` with the reason, never left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from hudi_reconcile.core.open_drift import open_rules
from hudi_reconcile.core.result import compared_whole
from hudi_reconcile.evidence.files import EvidenceError
from hudi_reconcile.evidence.logged import LOOK, UntrustedError
from hudi_reconcile.evidence.store import Store

UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class PastTable:
    """How a run ended for one table. `findings` are drifts by kind, `applied` the corrections written.

    `applied_before` are corrections of the same plan that earlier applies wrote, of killed ones too; `plan_id` is the plan that
    the run made or applied. `open_rules` counts rules that could not run, or failed for the run.
    `whole`: every row of both sides was compared. `coverage` is how much was compared and how old the rest is, as in the
    run's result; None where the run compared nothing, or is older than these fields.
    """

    name: str
    outcome: str
    findings: Mapping[str, int] = field(default_factory=dict)
    applied: int = 0
    whole: bool = False
    coverage: Mapping[str, Any] | None = None
    applied_before: int = 0
    plan_id: str | None = None
    open_rules: int = 0


@dataclass(frozen=True, slots=True)
class PastRun:
    """One line of the history. `why` is set for an unreadable run only; such a run has no command, times or tables."""

    run_id: str
    command: str
    outcome: str
    started_utc: str
    ended_utc: str
    tables: tuple[PastTable, ...]
    why: str = ""

    @property
    def document(self) -> dict[str, Any]:
        """The line as a JSON document."""
        return asdict(self)


def history(store: Store, *, tables: Collection[str] = (), before: str | None = None) -> Iterator[PastRun]:
    """The runs of a store, newest first; with `tables` only those that touched one of them, and these only.

    `before`: only those older than this run. Runs that cannot be read, or are not what the log has of them, are always
    listed. Reads one run at a time.
    """
    for run_id in store.run_ids():
        if before is not None and run_id >= before:
            continue
        past = past_run(store, run_id)
        touched = tuple(one for one in past.tables if not tables or one.name in tables)
        if touched or not tables or past.why:
            yield replace(past, tables=touched)


def past_run(store: Store, run_id: str) -> PastRun:
    """One run's line; `unreadable` with the reason where its `result.json` cannot be read, or is not to be believed."""
    try:
        return _past(run_id, store.result(run_id))
    except UntrustedError as error:
        why = f"{error.doubt}: {LOOK}"
    except EvidenceError as error:
        why = error.message
    return PastRun(run_id, UNREADABLE, UNREADABLE, "", "", (), why=why)


def _past(run_id: str, document: Mapping[str, Any]) -> PastRun:
    tables = tuple(
        PastTable(
            one["name"],
            one["outcome"],
            dict(one["findings"]),
            one["corrections"]["applied"],
            compared_whole(one),
            one.get("coverage"),
            one["corrections"].get("applied_before", 0),
            one.get("plan_id"),
            open_rules(one),
        )
        for one in document["tables"]
    )
    times = (document["started_utc"], document["ended_utc"])
    return PastRun(run_id, document["command"], document["outcome"], *times, tables)
