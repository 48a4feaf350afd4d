"""What the HTML report shows, as values: decided here, laid out by the template. Pure; knows no markup."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hudi_reconcile.core.coverage import Coverage
from hudi_reconcile.core.result import DRIFT_KINDS, NOT_DRIFT_KINDS
from hudi_reconcile.report.advice import Advice, advice
from hudi_reconcile.report.age import AgeView, age_of
from hudi_reconcile.report.anatomy import AnatomyView, anatomy_of
from hudi_reconcile.report.control import ControlTotals, control_totals
from hudi_reconcile.report.corrected import CorrectedView, corrected_view
from hudi_reconcile.report.kind_words import KIND_CORRECTION, KIND_MEANING
from hudi_reconcile.report.numbers import Number, left_out, numbers_of
from hudi_reconcile.report.provenance import Fact, facts
from hudi_reconcile.report.rule_words import details, rule_counts, rules_of
from hudi_reconcile.report.sample import ShownFinding, shown_finding
from hudi_reconcile.report.scope import not_compared
from hudi_reconcile.report.tones import tone_of
from hudi_reconcile.report.trend import COMPARING_COMMANDS, Trend, as_past, trend_of
from hudi_reconcile.report.uncorrected import LeftView, left_of
from hudi_reconcile.report.wording import drift_rows, figure, reasons, verdict

Document = Mapping[str, Any]

_RULE_TONES = {"pass": "good", "waived": "mended", "fail": "warn", "error": "bad"}


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
    """One table's section. `document` is its part of `result.json`; `findings_run` names the run that lists all rows.

    `left_out` is `not_compared` as a figure.
    """

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
    not_compared: tuple[str, ...]
    left_out: str
    trend: Trend | None
    age: AgeView | None
    sample: tuple[ShownFinding, ...]
    rules: tuple[RuleView, ...]
    rule_counts: str
    findings_run: str
    plan: Document | None
    guards: tuple[Document, ...]
    corrected: CorrectedView | None
    left: LeftView | None
    provenance: tuple[Fact, ...]
    cost: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """The whole report."""

    run: Document
    trust: tuple[str, ...]
    tone: str
    verdict: str
    advice: Advice
    numbers: tuple[Number, ...]
    tables: tuple[TableView, ...]
    provenance: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept beside a run's result, each by table but `past`: the history of the runs before it, newest first."""

    plans: Mapping[str, Document] = field(default_factory=dict)
    samples: Mapping[str, Sequence[Document]] = field(default_factory=dict)
    coverage: Mapping[str, Coverage] = field(default_factory=dict)
    past: Sequence[Document] = ()
    corrected: Mapping[str, Document] = field(default_factory=dict)  # what the lake tells, where it was asked
    left: Mapping[str, Sequence[Document]] = field(default_factory=dict)  # the first rows that an apply left


def page_of(run: Document, kept: Kept) -> Page:
    """The report of a run (`result.json`)."""
    guards = {name: plan["guards"] for name, plan in kept.plans.items()}
    return Page(
        run=run,
        trust=tuple(run.get("trust", ())),
        tone=tone_of(run["outcome"]),
        verdict=verdict(run),
        advice=advice(run, guards=guards),
        numbers=numbers_of(run),
        tables=tuple(_table(run, number, kept) for number in range(1, len(run["tables"]) + 1)),
        provenance=tuple(facts(run.get("provenance", {}))),
    )


# One table


def _table(run: Document, number: int, kept: Kept) -> TableView:
    table = run["tables"][number - 1]
    name = table["name"]
    plan, coverage = kept.plans.get(name), kept.coverage.get(name)
    compared = table["source"] is not None and table["lake"] is not None
    kinds = _kind_rows(table["findings"], DRIFT_KINDS) if compared else ()
    return TableView(
        anchor=f"table-{number}",
        name=name,
        outcome=table["outcome"],
        tone=tone_of(table["outcome"]),
        document=table,
        drift=drift_rows(table),
        kinds=kinds,
        not_drift=_kind_rows(table["not_drift"], NOT_DRIFT_KINDS) if compared else (),
        anatomy=anatomy_of(table),
        totals=control_totals(table),
        reasons=tuple(reasons(table)),
        not_compared=not_compared(run, table),
        left_out=left_out(run, [table]).value,
        trend=trend_of(name, [as_past(run), *kept.past]),
        age=None if coverage is None else age_of(coverage, run["run_id"], run["ended_utc"]),
        sample=tuple(map(shown_finding, kept.samples.get(name, ()))),
        rules=tuple(map(_rule, rules_of(table))),
        rule_counts=rule_counts(table),
        findings_run=plan["run_id"] if plan else run["run_id"] if run["command"] in COMPARING_COMMANDS else "",
        plan=plan,
        guards=tuple((plan or table)["guards"]),
        corrected=corrected_view(kept.corrected.get(name)),
        left=left_of(run, table, kept.left.get(name, ())),
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
