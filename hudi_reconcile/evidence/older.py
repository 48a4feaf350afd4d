"""Of the runs before the newest ones those that still count for some table, found by the audit log. Reads only.

A table with a schedule of its own may have its last run behind hundreds of others. The log names each run's command and
tables, so that ten thousand runs cost one file, and only the results that say something of such a table are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hudi_reconcile.evidence.history import UNREADABLE, PastRun, past_run
from hudi_reconcile.evidence.store import COMPARED, Store


def older_runs(store: Store, older: Sequence[str], newest: Sequence[PastRun], *, comparisons: int) -> Iterator[PastRun]:
    """Of the runs `older`, newest first, those that tell of tables that `newest` does not compare.

    Each such table's newest `comparisons` with the applies after them, and of every other command the newest run. A run that
    no line of the log names that is to be believed is read always.
    """
    left = {one.name: 0 for run in newest if run.command in COMPARED for one in run.tables}
    seen = {(run.command, one.name) for run in newest for one in run.tables}
    logged = store.log().runs if older else {}
    for run_id in older:
        line = next((one for one in logged.get(run_id, ()) if not one.doubt), None)
        if line is not None and not any(
            _wanted(line.command, name, left.get(name, comparisons), seen) for name in line.tables
        ):
            continue
        run = past_run(store, run_id)
        yield run
        command, names = (
            (run.command, tuple(one.name for one in run.tables))
            if run.command != UNREADABLE or line is None
            else (line.command, line.tables)
        )
        seen.update((command, name) for name in names)
        if command in COMPARED:
            left.update({name: max(0, left.get(name, comparisons) - 1) for name in names})


def _wanted(command: str, name: str, left: int, seen: set[tuple[str, str]]) -> bool:
    return left > 0 and (command in COMPARED or command == "apply" or (command, name) not in seen)
