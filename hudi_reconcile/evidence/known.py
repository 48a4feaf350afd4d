"""What earlier runs saw of a table's columns: types at the last pull, at the last comparison, and what had changed by then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from itertools import islice
from typing import Any

from hudi_reconcile.core.result import SchemaChange
from hudi_reconcile.core.schema_drift import KnownColumns
from hudi_reconcile.evidence.store import UNUSABLE, Store

_MOST_RUNS = 100  # a pull and a comparison are among the newest few, or the reports folder is not this table's
_CHANGE_FIELDS = {one.name for one in fields(SchemaChange)}


def known_columns(store: Store, table: str) -> KnownColumns:
    """Look back until a pull and a comparison of the table were found. Runs that cannot be read are passed over.

    Where no pull is among them, the oldest comparison says what the source's types were.
    """
    source: Mapping[str, str] | None = None
    compared: Mapping[str, Any] | None = None
    oldest: Mapping[str, str] = {}
    for past in islice(_past(store, table), _MOST_RUNS):
        columns = past["columns"]
        oldest = columns["source"]
        if source is None and past.get("pull") is not None:
            source = columns["source"]
        if compared is None and "lake" in columns:
            compared = past
        if source is not None and compared is not None:
            break
    lake = {} if compared is None else compared["columns"]["lake"]
    listed = () if compared is None else tuple(_change(one) for one in compared["schema"])
    return KnownColumns(oldest if source is None else source, lake, listed)


def _past(store: Store, table: str) -> Iterator[Mapping[str, Any]]:
    for run_id in islice(store.run_ids(), _MOST_RUNS):
        with suppress(*UNUSABLE):
            tables = store.result(run_id).get("tables", ())
            yield from (one for one in tables if one["name"] == table and one.get("columns"))


def _change(document: Mapping[str, Any]) -> SchemaChange:
    return SchemaChange(**{name: value for name, value in document.items() if name in _CHANGE_FIELDS})
