"""What the HTML report shows, as values: decided here, laid out by the template. Pure; knows no markup."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import DRIFT_KINDS, NOT_DRIFT_KINDS
from hudi_reconcile.report.anatomy import AnatomyView, anatomy_of
from hudi_reconcile.report.control import ControlTotals, control_totals
from hudi_reconcile.report.provenance import Fact, facts
from hudi_reconcile.report.rule_words import details, of_status, rule_counts, rules_of
from hudi_reconcile.report.sample import ShownFinding, shown_finding
from hudi_reconcile.report.wording import (
    KIND_CORRECTION,
    KIND_MEANING,
    Advice,
    advice,
    counted,
    coverage_text,
    drift_rows,
    figure,
    reasons,
    scope_lines,
    verdict,
)

Document = Mapping[str, Any]

COMPARING_COMMANDS = frozenset({"sweep", "run"})
_RULE_TONES = {"pass": "good", "waived": "mended", "fail": "warn", "error": "bad"}
_TONES = {
    Outcome.CLEAN: "good",
    Outcome.CORRECTED: "mended",
    Outcome.PULLED: "plain",
    Outcome.APPROVED: "plain",
    Outcome.DRIFT: "warn",
    Outcome.INCOMPLETE: "warn",
    Outcome.UNVERIFIED: "bad",
    Outcome.REFUSED: "bad",
    Outcome.USAGE: "bad",
}


@dataclass(frozen=True, slots=True)
class Number:
    """One of the figures at the top. `detail` is its small print."""

    label: str
    value: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class KindRow:
    """One kind of finding of a table. `share` is its part of the most frequent kind, in percent, for the bar."""

    kind: str
    meaning: str
    correction: str
    rows: int
    share: float


@dataclass(frozen=True, slots=True)
class RuleView:
    """One rule of a table. `sample` are keys of failed rows as JSON texts; `more_rows` are those beyond them."""

    id: str
    status: str
    tone: str
    severity: str
    what: str
    failed_rows: int
    allow: str
    details: tuple[str, ...]
    sample: tuple[str, ...]
    more_rows: int


@dataclass(frozen=True, slots=True)
class TableView:
    """One table's section. `document` is its part of `result.json`; `findings_run` names the run that lists all rows."""

    anchor: str
    name: str
    outcome: str
    tone: str
    document: Document
    drift: int
    kinds: tuple[KindRow, ...]
    not_drift: tuple[KindRow, ...]
    anatomy: AnatomyView | None
    totals: ControlTotals | None
    reasons: tuple[tuple[str, str], ...]
    scope: tuple[str, ...]
    sample: tuple[ShownFinding, ...]
    rules: tuple[RuleView, ...]
    rule_counts: str
    findings_run: str
    plan: Document | None
    guards: tuple[Document, ...]
    provenance: tuple[Fact, ...]
    cost: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """The whole report."""

    run: Document
    tone: str
    verdict: str
    advice: Advice
    numbers: tuple[Number, ...]
    tables: tuple[TableView, ...]
    provenance: tuple[Fact, ...]


def page_of(run: Document, plans: Mapping[str, Document], samples: Mapping[str, Sequence[Document]]) -> Page:
    """The report of a run (`result.json`), its plans and samples of its findings, both by table."""
    guards = {name: plan["guards"] for name, plan in plans.items()}
    return Page(
        run=run,
        tone=_TONES[Outcome(run["outcome"])],
        verdict=verdict(run),
        advice=advice(run, guards=guards),
        numbers=_numbers(run),
        tables=tuple(
            _table(run, number, plan=plans.get(table["name"]), sample=samples.get(table["name"], ()))
            for number, table in enumerate(run["tables"], start=1)
        ),
        provenance=tuple(facts(run.get("provenance", {}))),
    )


# Figures at the top


def _numbers(run: Document) -> tuple[Number, ...]:
    tables = run["tables"]
    if run["command"] == "pull":
        return _pull_numbers(tables)
    if run["command"] == "check":
        return _rule_numbers(tables)
    done = [table["corrections"] for table in tables]
    planned = sum(one["upserts"] + one["deletes"] for one in done)
    upserts, deletes = sum(one["upserts"] for one in done), sum(one["deletes"] for one in done)
    gaps = sum(len(table["unverified"]) + (table["error"] is not None) for table in tables)
    part = "only what was compared" if any(coverage_text(table.get("coverage")) for table in tables) else ""
    return (
        Number("Rows in the source", _total(tables, "source"), part),
        Number("Rows in the lake", _total(tables, "lake"), part),
        Number("Drifted rows", f"{sum(map(drift_rows, tables)):,}"),
        Number(
            "Corrections written",
            f"{sum(one['applied'] for one in done):,}",
            f"of {planned:,} planned: {counted(upserts, 'upsert')}, {counted(deletes, 'delete')}" if planned else "",
        ),
        Number("Not compared", f"{gaps:,}", "columns, segments or tables" if gaps else "nothing left out"),
    )


def _pull_numbers(tables: Sequence[Document]) -> tuple[Number, ...]:
    pulled = [table["pull"] for table in tables if table.get("pull")]
    unmarked = sum(one["null_watermark_rows"] for one in pulled)
    return (
        Number("Rows handed to the lake", f"{sum(one['rows'] for one in pulled):,}"),
        Number("Tables pulled", f"{len(pulled):,}", f"of {len(tables):,}"),
        Number("Without a watermark", f"{unmarked:,}", "rows pulled with NULL watermarks"),
        Number("Full fetches", f"{sum(one['mode'] == 'full' for one in pulled):,}"),
        Number("Failed", f"{sum(table['error'] is not None for table in tables):,}", "tables"),
    )


def _rule_numbers(tables: Sequence[Document]) -> tuple[Number, ...]:
    failed = of_status(tables, "fail")
    warnings = sum(rule["severity"] == "warn" for rule in failed)
    return (
        Number("Rules", f"{sum(len(table['rules']) for table in tables):,}"),
        Number("Failed", f"{len(failed):,}", f"of which {counted(warnings, 'warning')}" if warnings else ""),
        Number("Waived", f"{len(of_status(tables, 'waived')):,}"),
        Number("Could not run", f"{len(of_status(tables, 'error')):,}"),
        Number("Rows in the lake", _total(tables, "lake")),
    )


def _total(tables: Sequence[Document], side: str) -> str:
    counts = [table[side]["rows"] for table in tables if table[side] is not None]
    return f"{sum(counts):,}" if counts else "not read"


# One table


def _table(run: Document, number: int, *, plan: Document | None, sample: Sequence[Document]) -> TableView:
    table = run["tables"][number - 1]
    compared = table["source"] is not None and table["lake"] is not None
    kinds = _kind_rows(table["findings"], DRIFT_KINDS) if compared else ()
    return TableView(
        anchor=f"table-{number}",
        name=table["name"],
        outcome=table["outcome"],
        tone=_TONES[Outcome(table["outcome"])],
        document=table,
        drift=drift_rows(table),
        kinds=kinds,
        not_drift=_kind_rows(table["not_drift"], NOT_DRIFT_KINDS) if compared else (),
        anatomy=anatomy_of(table),
        totals=control_totals(table),
        reasons=tuple(reasons(table)),
        scope=tuple(scope_lines(table)),
        sample=tuple(map(shown_finding, sample)),
        rules=tuple(map(_rule, rules_of(table))),
        rule_counts=rule_counts(table),
        findings_run=plan["run_id"] if plan else run["run_id"] if run["command"] in COMPARING_COMMANDS else "",
        plan=plan,
        guards=tuple((plan or table)["guards"]),
        provenance=_provenance(table, plan),
        cost=_cost(table["cost"]),
    )


def _rule(rule: Document) -> RuleView:
    keys = rule["keys"] or {"sample": (), "rows": 0}
    sample = tuple(json.dumps(one, ensure_ascii=False) for one in keys["sample"])
    return RuleView(
        id=rule["id"],
        status=rule["status"],
        tone=_RULE_TONES[rule["status"]],
        severity=rule["severity"],
        what=rule["what"],
        failed_rows=rule["failed_rows"],
        allow=rule["allow"],
        details=tuple(details(rule)),
        sample=sample,
        more_rows=max(0, keys["rows"] - len(sample)),
    )


def _kind_rows(counts: Mapping[str, int], kinds: Sequence[str]) -> tuple[KindRow, ...]:
    most = max(counts.values(), default=0) or 1
    return tuple(
        KindRow(kind, KIND_MEANING[kind], KIND_CORRECTION.get(kind, "none"), counts[kind], 100 * counts[kind] / most)
        for kind in kinds
    )


def _provenance(table: Document, plan: Document | None) -> tuple[Fact, ...]:
    source, lake = table["source"] or {}, table["lake"] or {}
    pull = table.get("pull") or {}
    named = {
        "Source snapshot S": source.get("snapshot"),
        "Lake instant T": lake.get("instant"),
        "Checkpoint": table["checkpoint"],
        "Pull's bound": pull.get("bound"),
        "How the bound was found": pull.get("bound_why"),
        "Source": plan and plan["source"]["identity"],
        "Lake path": plan and plan["lake"]["path"],
        "Key": plan and ", ".join(plan["key"]),
    }
    known = [Fact(label, str(value), code=True) for label, value in named.items() if value]
    return (*known, *facts(table["segments"], prefix="segments/"), *facts(table["provenance"]))


def _cost(cost: Document) -> tuple[Fact, ...]:
    phases, size = cost.get("phases_seconds", {}), cost.get("source_bytes_estimate")
    parts = [Fact(f"Of which {name}", f"{seconds:,.1f} s") for name, seconds in phases.items()]
    return (
        Fact("Time", f"{cost['seconds']:,.1f} s"),
        *parts,
        Fact("Spark's start, not counted in", f"{cost['session_seconds']:,.1f} s"),
        Fact("Statements sent to the source", figure(cost["source_statements"])),
        Fact("Rows fetched from the source", figure(cost["source_rows_fetched"])),
        *([] if size is None else [Fact("Bytes of them, by the catalog's row width", figure(size))]),
        Fact("Lake files read", figure(cost["lake_files_read"])),
    )
