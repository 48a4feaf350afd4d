"""Of the runs before the newest ones those that still count for some table, found by the audit log. Reads only.

A table with a schedule of its own may have its last run behind hundreds of others. The log names each run's command and
tables, so that ten thousand runs cost one file, and only the results that say something of such a table are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hudi_reconcile.evidence import audit
from hudi_reconcile.evidence.files import EvidenceError
from hudi_reconcile.evidence.history import UNREADABLE, PastRun, past_run
from hudi_reconcile.evidence.logged import LoggedResults
from hudi_reconcile.evidence.names import AUDIT_FILE
from hudi_reconcile.evidence.store import COMPARED, Store

Logged = tuple[str, tuple[str, ...]]  # command, tables


def older_runs(
    store: Store,
    older: Sequence[str],
    newest: Sequence[PastRun],
    *,
    comparisons: int,
    results: LoggedResults | None = None,
) -> Iterator[PastRun]:
    """Of the runs `older`, newest first, those that tell of tables that `newest` does not compare.

    Each such table's newest `comparisons` with the applies after them, and of every other command the newest run. A run that
    the log does not name is read always. `results`: what the log has of them, to hold them against.
    """
    left = {one.name: 0 for run in newest if run.command in COMPARED for one in run.tables}
    seen = {(run.command, one.name) for run in newest for one in run.tables}
    logged = _logged(store) if older else {}
    for run_id in older:
        line = logged.get(run_id)
        if line is not None and not any(_wanted(line[0], name, left.get(name, comparisons), seen) for name in line[1]):
            continue
        run = past_run(store, run_id, results)
        yield run
        command, names = (
            (run.command, [one.name for one in run.tables]) if run.command != UNREADABLE else (line or ("", ()))
        )
        seen.update((command, name) for name in names)
        if command in COMPARED:
            left.update({name: max(0, left.get(name, comparisons) - 1) for name in names})


def _wanted(command: str, name: str, left: int, seen: set[tuple[str, str]]) -> bool:
    return left > 0 and (command in COMPARED or command == "apply" or (command, name) not in seen)


def _logged(store: Store) -> Mapping[str, Logged]:
    """Command and tables of each run that the log names, as far as it can be read."""
    found: dict[str, Logged] = {}
    lines = audit.records(store.reports / AUDIT_FILE)
    while True:
        try:
            line = next(lines, None)
        except EvidenceError:  # what is behind the damage is read run by run
            return found
        if line is None:
            return found
        try:
            found[str(line["run_id"])] = (str(line["command"]), tuple(str(one["name"]) for one in line["tables"]))
        except (KeyError, TypeError):
            continue
