"""What earlier sweeps of a table left to go on from: the `coverage.json` of past runs, newest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from hudi_reconcile.core.coverage import Coverage, parse
from hudi_reconcile.evidence.store import UNUSABLE, Store

_MOST_RUNS = 200  # beyond these a table counts as never compared: more work, never less


def past_coverage(store: Store, table: str) -> tuple[Coverage, ...]:
    """The newest of each subject and segmentation. Coverage that cannot be read is passed over.

    Nothing is taken from before a run that made the lake table, or of which that cannot be told.
    """
    found: list[Coverage] = []
    for one in _documents(store, table):
        if all((one.subject, one.cut, one.wanted) != (known.subject, known.cut, known.wanted) for known in found):
            found.append(one)
    return tuple(found)


def _documents(store: Store, table: str) -> Iterator[Coverage]:
    for run_id in islice(store.run_ids(), _MOST_RUNS):
        with suppress(*UNUSABLE, ValueError):
            document = store.coverage(run_id, table)
            if document is not None and document.get("table") == table:
                yield parse(document)
        try:
            if _made(store.result(run_id), table):
                return
        except UNUSABLE:  # it may have made the table: what lies before is then of another one
            return


def _made(result: Mapping[str, Any], table: str) -> bool:
    """True where the run made the lake table: what was compared before it was another one, at the same path."""
    return any(one["name"] == table and (one.get("pull") or {}).get("created") for one in result.get("tables", ()))
