"""What the HTML report shows, as values that the template lays out. Pure; knows no markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hudi_reconcile.core.result import is_whole_comparison
from hudi_reconcile.report.page.facts import Fact, list_facts
from hudi_reconcile.report.page.sections import RunDocuments, Subject, build_sections
from hudi_reconcile.report.words.advice import Advice, advise
from hudi_reconcile.report.words.rules import select_failed, select_status, select_warned
from hudi_reconcile.report.words.scope import NOTHING_LEFT_OUT, list_not_compared
from hudi_reconcile.report.words.verdict import (
    choose_tone,
    count_drift_rows,
    count_text,
    describe_coverage,
    was_compared,
    write_verdict,
)

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TableView:
    """One table. `document` is its part of `result.json`; `sections` are templates with what they show.

    `left_out` is its `count_left_out` as a figure.
    """

    anchor: str
    name: str
    outcome: str
    tone: str
    document: Document
    drift: int
    is_compared: bool
    left_out: str
    sections: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class ReportPage:
    """The whole report."""

    run: Document
    trust: tuple[str, ...]
    tone: str
    verdict: str
    advice: Advice
    numbers: tuple[Number, ...]
    tables: tuple[TableView, ...]
    provenance: tuple[Fact, ...]


def build_page(run: Document, kept: RunDocuments) -> ReportPage:
    """The report of a run (`result.json`)."""
    guards = {name: plan["guards"] for name, plan in kept.plans.items()}
    return ReportPage(
        run=run,
        trust=tuple(run.get("trust", ())),
        tone=choose_tone(run["outcome"]),
        verdict=write_verdict(run),
        advice=advise(run, guards=guards),
        numbers=list_numbers(run),
        tables=tuple(_table(Subject(run, table, kept), number) for number, table in enumerate(run["tables"], start=1)),
        provenance=tuple(list_facts(run.get("provenance", {}))),
    )


def _table(subject: Subject, number: int) -> TableView:
    table = subject.table
    return TableView(
        anchor=f"table-{number}",
        name=subject.name,
        outcome=table["outcome"],
        tone=choose_tone(table["outcome"]),
        document=table,
        drift=count_drift_rows(table),
        is_compared=was_compared(table),
        left_out=count_left_out(subject.run, [table]).value,
        sections=tuple(build_sections(subject)),
    )


# What commands leave out that do not compare whole tables.
_MEANT = {
    "approve": ("all", "an approval compares nothing"),
    "apply": ("the rest", "only the plan's keys and their segments were"),
    "undo": ("the rest", "only the keys put back were"),
}


@dataclass(frozen=True, slots=True)
class Number:
    """One of the figures at the top. `detail` is its small print."""

    label: str
    value: str
    detail: str = ""


def list_numbers(run: Document) -> tuple[Number, ...]:
    """The five of a run."""
    tables = run["tables"]
    if run["command"] == "pull":
        return _pull_numbers(tables)
    if run["command"] == "check":
        return _rule_numbers(tables)
    done = [table["corrections"] for table in tables]
    planned = sum(corrections["upserts"] + corrections["deletes"] for corrections in done)
    upserts, deletes = (
        sum(corrections["upserts"] for corrections in done),
        sum(corrections["deletes"] for corrections in done),
    )
    part = "only what was compared" if any(describe_coverage(table.get("coverage")) for table in tables) else ""
    return (
        Number("Rows in the source", _total(tables, "source"), part),
        Number("Rows in the lake", _total(tables, "lake"), part),
        Number("Drifted rows", f"{sum(map(count_drift_rows, tables)):,}"),
        Number(
            "Corrections written",
            f"{sum(corrections['applied'] for corrections in done):,}",
            f"of {planned:,} planned: {count_text(upserts, 'upsert')}, {count_text(deletes, 'delete')}{_describe_before(done)}"
            if planned
            else "",
        ),
        count_left_out(run, tables),
    )


def _describe_before(done: Sequence[Document]) -> str:
    before = sum(corrections.get("applied_before", 0) for corrections in done)
    return f"; {before:,} more written before" if before else ""


def count_left_out(run: Document, tables: Sequence[Document]) -> Number:
    """What was not compared of these tables of a run. Nothing was left out only where each table's result proves it."""
    gaps = sum(len(table["unverified"]) + (table["error"] is not None) for table in tables)
    if gaps:
        return Number("Not compared", f"{gaps:,}", "columns, segments or tables")
    if all(list_not_compared(run, table) == (NOTHING_LEFT_OUT,) for table in tables):
        return Number("Not compared", "0", "nothing left out")
    if all(is_whole_comparison(table) for table in tables) and (proven := sum(map(_count_proven, tables))):
        return Number("Not compared again", f"{proven:,}", "segments that did not change on either side")
    return Number("Not compared", *_MEANT.get(run["command"], ("some", "named in the report, table by table")))


def _count_proven(table: Document) -> int:
    segments: int = (table.get("coverage") or {}).get("proven", 0)
    return segments


def _pull_numbers(tables: Sequence[Document]) -> tuple[Number, ...]:
    pulled = [table["pull"] for table in tables if table.get("pull")]
    unmarked = sum(pull["null_watermark_rows"] for pull in pulled)
    return (
        Number("Rows handed to the lake", f"{sum(pull['rows'] for pull in pulled):,}"),
        Number("Tables pulled", f"{len(pulled):,}", f"of {len(tables):,}"),
        Number("Without a watermark", f"{unmarked:,}", "rows pulled with NULL watermarks"),
        Number("Full fetches", f"{sum(pull['mode'] == 'full' for pull in pulled):,}"),
        Number("Failed", f"{sum(table['error'] is not None for table in tables):,}", "tables"),
    )


def _rule_numbers(tables: Sequence[Document]) -> tuple[Number, ...]:
    warnings = len(select_warned(tables))
    return (
        Number("Rules", f"{sum(len(table['rules']) for table in tables):,}"),
        Number(
            "Failed", f"{len(select_failed(tables)):,}", f"and {count_text(warnings, 'warning')}" if warnings else ""
        ),
        Number("Waived", f"{len(select_status(tables, 'waived')):,}"),
        Number("Could not run", f"{len(select_status(tables, 'error')):,}"),
        Number("Rows in the lake", _total(tables, "lake")),
    )


def _total(tables: Sequence[Document], side: str) -> str:
    counts = [table[side]["rows"] for table in tables if table[side] is not None]
    return f"{sum(counts):,}" if counts else "not read"
