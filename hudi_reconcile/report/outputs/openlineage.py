"""A run as OpenLineage events (spec 2-0-2): a START and a COMPLETE or FAIL for each table, rules as assertions. Pure.

Names follow OpenLineage's naming: a dataset is (namespace, name), such as (`postgres://host:5432`, `shop.public.orders`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from hudi_reconcile import __version__
from hudi_reconcile.report.safe import spell_hidden
from hudi_reconcile.report.words.verdict import list_reasons

Document = Mapping[str, Any]
_SPEC = "https://openlineage.io/spec"
_EVENT = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
_ASSERTIONS = f"{_SPEC}/facets/1-1-0/DataQualityAssertionsDatasetFacet.json#/$defs/DataQualityAssertionsDatasetFacet"
_ERROR = f"{_SPEC}/facets/1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet"
_PRODUCER = f"urn:hudi-reconcile:{__version__}"
_COMPARED = frozenset({"pull", "sweep", "run", "apply"})
_WROTE = frozenset({"pull", "run", "apply", "undo"})


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset as OpenLineage names it."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Ends:
    """Both sides of a table, and the time zone of the source's times that have none."""

    source: Dataset
    lake: Dataset
    zone: str = "UTC"


def render_openlineage(run: Document, namespace: str, ends: Mapping[str, Ends]) -> str:
    """One JSON line an event. `namespace` is that of the jobs; `ends` are by table."""
    events = (event for table in run["tables"] for event in _events(run, table, namespace, ends[table["name"]]))
    return "".join(json.dumps(event, ensure_ascii=True, allow_nan=False) + "\n" for event in events)


def _events(run: Document, table: Document, namespace: str, ends: Ends) -> Iterator[dict[str, Any]]:
    run_id = str(uuid5(NAMESPACE_URL, f"hudi-reconcile:{run['run_id']}:{spell_hidden(table['name'])}"))
    about = {
        "producer": _PRODUCER,
        "schemaURL": _EVENT,
        "job": {"namespace": namespace, "name": f"{run['command']}.{table['name']}"},
    }
    yield {**about, "eventType": "START", "eventTime": run["started_utc"], "run": {"runId": run_id}}
    why = "; ".join(spell_hidden(reason) for reason, _ in list_reasons(table))
    failed = run["exit_code"] != 0 and table["outcome"] in ("unverified", "refused", "usage", "incomplete")
    facets = (
        {"errorMessage": _facet(_ERROR, message=why or table["outcome"], programmingLanguage="Python")}
        if failed
        else {}
    )
    reads_source, writes = run["command"] in _COMPARED, run["command"] in _WROTE
    lake = {"namespace": ends.lake.namespace, "name": ends.lake.name}
    yield {
        **about,
        "eventType": "FAIL" if failed else "COMPLETE",
        "eventTime": run["ended_utc"],
        "run": {"runId": run_id, "facets": facets},
        "inputs": [
            *([{"namespace": ends.source.namespace, "name": ends.source.name}] if reads_source else []),
            {**lake, "inputFacets": _assertions(table)},
        ],
        "outputs": [lake] if writes else [],
    }


def _assertions(table: Document) -> dict[str, Any]:
    if not table["rules"]:
        return {}
    listed = [
        {
            "assertion": rule["check"],
            "success": rule["status"] in ("pass", "waived"),
            "severity": rule["severity"],
            "name": rule["id"],
            "description": f"{rule['what']}: {rule['status']}",
            "actual": str(rule["failed_rows"]),
            "expected": rule["allow"],
        }
        for rule in table["rules"]
    ]
    return {"dataQualityAssertions": _facet(_ASSERTIONS, assertions=listed)}


def _facet(schema: str, **values: Any) -> dict[str, Any]:
    return {"_producer": _PRODUCER, "_schemaURL": schema, **values}
