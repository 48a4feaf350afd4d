"""The sections of a table on the page: the one table of what each shows, as values that its template lays out. Pure.

The template of a section is `report/templates/sections/<name>.html`; it knows what was decided here as `shown`, and its
table as `table`. A section whose decision is empty is not on the page.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hudi_reconcile.core.sweep.coverage import Coverage
from hudi_reconcile.core.sweep.drift import DRIFT_KINDS, KINDS, NOT_DRIFT_KINDS
from hudi_reconcile.report.page.age import AgeView, view_ages
from hudi_reconcile.report.page.control_totals import build_control_totals
from hudi_reconcile.report.page.drift_profile import view_anatomy
from hudi_reconcile.report.page.facts import Fact, list_facts
from hudi_reconcile.report.page.sample import ShownFinding, build_corrected_view, show_finding
from hudi_reconcile.report.page.trend import COMPARING_COMMANDS, Trend, build_history_line, build_trend
from hudi_reconcile.report.words.rules import describe_rule_counts, list_details, order_rules
from hudi_reconcile.report.words.scope import list_not_compared, view_rest
from hudi_reconcile.report.words.verdict import count_drift_rows, list_reasons, write_figure

Document = Mapping[str, Any]
_RULE_TONES = {"pass": "good", "waived": "mended", "fail": "warn", "error": "bad"}


@dataclass(frozen=True, slots=True)
class RunDocuments:
    """What is kept beside a run's result, each by table but `past`: the history of the runs before it, newest first."""

    plans: Mapping[str, Document] = field(default_factory=dict)
    samples: Mapping[str, Sequence[Document]] = field(default_factory=dict)
    coverage: Mapping[str, Coverage] = field(default_factory=dict)
    past: Sequence[Document] = ()
    corrected: Mapping[str, Document] = field(default_factory=dict)  # what the lake tells, where it was asked
    left: Mapping[str, Sequence[Document]] = field(default_factory=dict)  # the first rows that an apply left


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
class Subject:
    """One table of a run, and what is kept beside the run. `findings_run` names the run that lists all of its findings."""

    run: Document
    table: Document
    kept: RunDocuments

    @property
    def name(self) -> str:
        """The table's."""
        return str(self.table["name"])

    @property
    def plan(self) -> Document | None:
        """The plan that the run made of the table, or carried out."""
        return self.kept.plans.get(self.name)

    @property
    def findings_run(self) -> str:
        """Empty where no run lists them."""
        if self.plan:
            return str(self.plan["run_id"])
        return str(self.run["run_id"]) if self.run["command"] in COMPARING_COMMANDS else ""


def build_sections(subject: Subject) -> Iterator[tuple[str, Any]]:
    """Each section's template, and what it shows; empty where the table has nothing of the kind."""
    return ((f"sections/{name}.html", decide(subject)) for name, decide in SECTIONS.items())


def _kinds(subject: Subject) -> tuple[tuple[KindRow, ...], tuple[KindRow, ...]] | None:
    table = subject.table
    if table["source"] is None or table["lake"] is None:
        return None
    return _kind_rows(table["findings"], DRIFT_KINDS), _kind_rows(table["not_drift"], NOT_DRIFT_KINDS)


def _kind_rows(counts: Mapping[str, int], kinds: Sequence[str]) -> tuple[KindRow, ...]:
    most = max(counts.values(), default=0) or 1
    return tuple(
        KindRow(kind, KINDS[kind].meaning, KINDS[kind].correction, counts[kind], 100 * counts[kind] / most)
        for kind in kinds
        if kind in counts  # an earlier version counted fewer
    )


def _findings(subject: Subject) -> tuple[tuple[ShownFinding, ...], str] | None:
    sample = tuple(map(show_finding, subject.kept.samples.get(subject.name, ())))
    listed = count_drift_rows(subject.table) and subject.findings_run
    return (sample, subject.findings_run) if sample or listed else None


def _rules(subject: Subject) -> tuple[tuple[RuleView, ...], str] | None:
    views = tuple(map(_rule, order_rules(subject.table)))
    return (views, describe_rule_counts(subject.table)) if views else None


def _rule(rule: Document) -> RuleView:
    keys = rule["keys"] or {"sample": (), "rows": 0}
    sample = tuple(json.dumps(key, ensure_ascii=False) for key in keys["sample"])
    return RuleView(
        id=rule["id"],
        status=rule["status"],
        tone=_RULE_TONES[rule["status"]],
        severity=rule["severity"],
        what=rule["what"],
        failed_rows=rule["failed_rows"],
        allow=rule["allow"],
        details=tuple(list_details(rule)),
        sample=sample,
        more_rows=max(0, keys["rows"] - len(sample)),
    )


def _plan(subject: Subject) -> tuple[Document | None, tuple[Document, ...]] | None:
    guards = tuple((subject.plan or subject.table)["guards"])
    return (subject.plan, guards) if subject.plan or guards else None


def _corrections(subject: Subject) -> Document | None:
    done: Document = subject.table["corrections"]
    is_told = subject.table["already_applied"] or any(
        done[name] for name in ("applied", "superseded", "moved", "failed")
    )
    return done if is_told or done.get("held") else None


def _trend(subject: Subject) -> tuple[Trend | None, AgeView | None] | None:
    name, run = subject.name, subject.run
    coverage = subject.kept.coverage.get(name)
    trend = build_trend(name, [build_history_line(run), *subject.kept.past])
    age = None if coverage is None else view_ages(coverage, run["run_id"], run["ended_utc"])
    return (trend, age) if trend or age else None


def _notes(subject: Subject) -> tuple[Sequence[str], Sequence[str]] | None:
    """Those that need a person, then those for the record."""
    notes, count = subject.table["notes"], subject.table.get("notes_open", 0)
    return (notes[:count], notes[count:]) if notes else None


def _evidence(subject: Subject) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    return _provenance(subject.table, subject.plan), _cost(subject.table["cost"])


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
    return (*known, *list_facts(table["segments"], prefix="segments/"), *list_facts(table["provenance"]))


def _cost(cost: Document) -> tuple[Fact, ...]:
    phases, size = cost.get("phases_seconds", {}), cost.get("source_bytes_estimate")
    parts = [Fact(f"Of which {name}", f"{seconds:,.1f} s") for name, seconds in phases.items()]
    return (
        Fact("Time", f"{cost['seconds']:,.1f} s"),
        *parts,
        Fact("Spark's start, not counted in", f"{cost['session_seconds']:,.1f} s"),
        Fact("Statements sent to the source", write_figure(cost["source_statements"])),
        Fact("Rows fetched from the source", write_figure(cost["source_rows_fetched"])),
        *([] if size is None else [Fact("Bytes of them, by the catalog's row width", write_figure(size))]),
        Fact("Lake files read", _lake_files(cost)),
    )


def _lake_files(cost: Document) -> str:
    """Results from before the files were counted have 0, which says nothing."""
    files = write_figure(cost["lake_files_read"])
    if cost.get("lake_files_counted", False):
        return files
    rest = "and those that Hudi read in order to write, which are not counted"
    return f"{files}, {rest}" if cost["lake_files_read"] else "not counted"


# In the order of the page.
SECTIONS: Final[Mapping[str, Callable[[Subject], Any]]] = {
    "reasons": lambda subject: tuple(list_reasons(subject.table)),
    "pull": lambda subject: subject.table.get("pull"),
    "totals": lambda subject: build_control_totals(subject.table),
    "kinds": _kinds,
    "anatomy": lambda subject: view_anatomy(subject.table),
    "findings": _findings,
    "rules": _rules,
    "plan": _plan,
    "corrections": _corrections,
    "left": lambda subject: view_rest(subject.run, subject.table, subject.kept.left.get(subject.name, ())),
    "corrected": lambda subject: build_corrected_view(subject.kept.corrected.get(subject.name)),
    "trend": _trend,
    "not_compared": lambda subject: list_not_compared(subject.run, subject.table),
    "notes": _notes,
    "evidence": _evidence,
}
