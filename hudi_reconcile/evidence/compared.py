"""The newest comparison of a table: which run, and what it says of the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hudi_reconcile.evidence.store import COMPARED, Store


def newest_compared(store: Store, table: str) -> tuple[str, Mapping[str, Any]] | None:
    """The newest sweep or run that holds the table; None where there is none.

    Raises:
        EvidenceError: a newer run cannot be read, so nobody knows whether it compared the table.
    """
    for run_id in store.run_ids():
        document = store.result(run_id)
        if document["command"] in COMPARED:
            for one in document["tables"]:
                if one["name"] == table:
                    return run_id, one
    return None
