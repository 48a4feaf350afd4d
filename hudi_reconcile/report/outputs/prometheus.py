"""A run in Prometheus' text format, for node_exporter's textfile collector. Pure.

Labels hold tables, kinds, statuses, commands and the config's path only: keys or values of rows would explode. What has an
age is a Unix timestamp, so that the reader computes the age and a tool that no longer runs looks old.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any
from zoneinfo import ZoneInfo

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import is_whole_comparison
from hudi_reconcile.core.result_queries import read_begin
from hudi_reconcile.core.rules.verdict import STATUSES

Document = Mapping[str, Any]
Samples = list[tuple[dict[str, str], float]]
_PREFIX = "hudi_reconcile"
_RIGHT = frozenset({Outcome.CLEAN.value, Outcome.CORRECTED.value})
_ISO = re.compile(r"\d{4}-\d\d-\d\d")  # a whole number may be the date of another calendar to Python
_ODD, _MOST_NAME_CHARS = re.compile(r"[^A-Za-z0-9-]+"), 40
# What a run that did not come so far leaves as it was.
_NEWEST, _CLEAN = "newest_row_timestamp_seconds", "clean_timestamp_seconds"
_KEPT = re.compile(rf"^{_PREFIX}_({_NEWEST}|{_CLEAN})(\{{[^\n]*\}}) ([0-9.e+-]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MetricsFile:
    """Where a command's metrics of one config go: its path as the label has it, and the file that was there before.

    `zone` is the time zone of watermarks without one.
    """

    config: str
    zone: str = "UTC"
    before: str = ""


def name_metrics(command: str, config: str) -> str:
    """The file's name: of one command and one config, whoever else uses the folder. The last part is a digest of the path.

    >>> name_metrics("run", "/srv/shop/reconcile.yaml")
    'hudi_reconcile_run_shop_reconcile_f205cb6a.prom'
    """
    *_, folder, file = ["", *config.split("/")]
    plain = (_ODD.sub("-", part)[:_MOST_NAME_CHARS] for part in (folder, file.rpartition(".")[0] or file))
    shown = "_".join(filter(None, plain))
    return f"{_PREFIX}_{command.replace(' ', '-')}_{shown}_{sha256(config.encode()).hexdigest()[:8]}.prom"


def render_prometheus(run: Document, file: MetricsFile) -> str:
    """The text of one file; every series carries command and config, so that files of several lie side by side."""
    lines: list[str] = []
    for name, about, samples in _families(run, file.zone):
        series = {f"{{{_labels(run, file.config, labels)}}}": str(value) for labels, value in samples}
        if name in (_NEWEST, _CLEAN):
            series = {labels: value for kept, labels, value in _KEPT.findall(file.before) if kept == name} | series
        if series:
            lines += [f"# HELP {_PREFIX}_{name} {about}", f"# TYPE {_PREFIX}_{name} gauge"]
            lines += [f"{_PREFIX}_{name}{labels} {value}" for labels, value in series.items()]
    return "\n".join(lines) + "\n"


def _families(run: Document, zone: str) -> Iterator[tuple[str, str, Samples]]:
    tables = run["tables"]
    started, ended = (datetime.fromisoformat(run[f"{end}_utc"]).timestamp() for end in ("started", "ended"))
    yield "run_start_timestamp_seconds", "When the newest run began.", [({}, started)]
    yield "run_end_timestamp_seconds", "When the newest run ended.", [({}, ended)]
    yield "run_duration_seconds", "What the newest run took, Spark's start included.", [({}, round(ended - started, 3))]
    yield "run_exit_code", "Exit code of the newest run.", [({}, run["exit_code"])]
    outcomes: Samples = [({"table": table["name"], "outcome": table["outcome"]}, 1) for table in tables]
    yield "table_outcome", "1 for the outcome of the table in the newest run.", outcomes
    yield "table_seconds", "What the table's work took.", [({"table": t["name"]}, t["cost"]["seconds"]) for t in tables]
    yield from _work(tables)
    yield from _comparison(tables)
    newest = {table["name"]: _read_time(table["checkpoint"], zone) for table in tables}
    yield _NEWEST, "The greatest watermark pulled so far.", [({"table": t}, at) for t, at in newest.items() if at]
    right: Samples = [
        ({"table": t["name"]}, datetime.fromisoformat(read_begin(t) or run["ended_utc"]).timestamp())
        for t in tables
        if is_whole_comparison(t) and t["outcome"] in _RIGHT
    ]
    yield _CLEAN, "When the whole table was last found, or made, equal to its source.", right


def _comparison(tables: list[Document]) -> Iterator[tuple[str, str, Samples]]:
    compared = [table for table in tables if table["source"] is not None and table["lake"] is not None]
    if compared:
        findings: Samples = [
            ({"table": table["name"], "kind": kind}, rows)
            for table in compared
            for kind, rows in table["findings"].items()
        ]
        yield "findings", "Drifted rows by kind.", findings
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


def _work(tables: list[Document]) -> Iterator[tuple[str, str, Samples]]:
    pulled: Samples = [({"table": t["name"]}, t["pull"]["rows"]) for t in tables if t.get("pull") is not None]
    yield "pulled_rows", "Rows that the newest run handed to Hudi.", pulled
    applied: Samples = [({"table": t["name"]}, t["corrections"]["applied"]) for t in tables]
    yield "corrections_applied", "Corrections that the newest run wrote.", applied


def _read_time(checkpoint: str | None, zone: str) -> float | None:
    """Seconds since 1970 of a checkpoint's watermark; None where that is no time."""
    text = (checkpoint or "").partition(",")[0].strip()
    if not _ISO.match(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=ZoneInfo(zone))).timestamp()
    except (ValueError, OverflowError):
        return None


def _count(table: Document, severity: str, status: str) -> int:
    return sum((rule["severity"], rule["status"]) == (severity, status) for rule in table["rules"])


def _labels(run: Document, config: str, labels: Mapping[str, str]) -> str:
    given = {"command": run["command"], "config": config, **labels}
    return ",".join(f'{name}="{_escape(value)}"' for name, value in given.items())


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
