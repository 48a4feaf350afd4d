"""A run in Prometheus' text format, for node_exporter's textfile collector. Pure.

Labels hold tables, kinds, statuses and commands only: keys or values of rows would explode.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from hudi_reconcile.core.rules.verdict import STATUSES

Document = Mapping[str, Any]
_PREFIX = "hudi_reconcile"


def prometheus(run: Document) -> str:
    """The text of one file; every series carries the command, so that files of several commands lie side by side."""
    lines: list[str] = []
    for name, about, samples in _families(run):
        lines += [f"# HELP {_PREFIX}_{name} {about}", f"# TYPE {_PREFIX}_{name} gauge"]
        lines += [f"{_PREFIX}_{name}{{{_labels(run, labels)}}} {value}" for labels, value in samples]
    return "\n".join(lines) + "\n"


Samples = list[tuple[dict[str, str], float]]


def _families(run: Document) -> Iterator[tuple[str, str, Samples]]:
    tables = run["tables"]
    ended = datetime.fromisoformat(run["ended_utc"]).timestamp()
    yield "run_end_timestamp_seconds", "When the newest run ended.", [({}, ended)]
    yield "run_exit_code", "Exit code of the newest run.", [({}, run["exit_code"])]
    outcomes: Samples = [({"table": table["name"], "outcome": table["outcome"]}, 1) for table in tables]
    yield "table_outcome", "1 for the outcome of the table in the newest run.", outcomes
    yield "table_seconds", "What the table's work took.", [({"table": t["name"]}, t["cost"]["seconds"]) for t in tables]
    compared = [table for table in tables if table["source"] is not None and table["lake"] is not None]
    if compared:
        found: Samples = [
            ({"table": table["name"], "kind": kind}, rows)
            for table in compared
            for kind, rows in table["findings"].items()
        ]
        yield "findings", "Drifted rows by kind.", found
        rows: Samples = [
            ({"table": t["name"], "side": side}, t[side]["rows"]) for t in compared for side in ("source", "lake")
        ]
        yield "rows", "Rows of each side.", rows
    gaps: Samples = [
        ({"table": table["name"]}, len(table["unverified"]) + (table["error"] is not None)) for table in tables
    ]
    yield "unverified", "Columns, segments or tables that were not compared.", gaps
    judged = [table for table in tables if table["rules"]]
    if judged:
        counted: Samples = [
            ({"table": t["name"], "severity": severity, "status": status}, _count(t, severity, status))
            for t in judged for severity in ("error", "warn") for status in STATUSES
        ]  # fmt: skip
        yield "rules", "Rules by severity and status.", counted


def _count(table: Document, severity: str, status: str) -> int:
    return sum((rule["severity"], rule["status"]) == (severity, status) for rule in table["rules"])


def _labels(run: Document, labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in {"command": run["command"], **labels}.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
