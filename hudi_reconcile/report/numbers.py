"""The five figures at the top of the page, for each kind of command. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hudi_reconcile.report.rule_words import failed, of_status, warned
from hudi_reconcile.report.scope import NOTHING_LEFT_OUT, not_compared
from hudi_reconcile.report.wording import counted, coverage_text, drift_rows

Document = Mapping[str, Any]


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


def numbers_of(run: Document) -> tuple[Number, ...]:
    """The five of a run."""
    tables = run["tables"]
    if run["command"] == "pull":
        return _pull_numbers(tables)
    if run["command"] == "check":
        return _rule_numbers(tables)
    done = [table["corrections"] for table in tables]
    planned = sum(one["upserts"] + one["deletes"] for one in done)
    upserts, deletes = sum(one["upserts"] for one in done), sum(one["deletes"] for one in done)
    part = "only what was compared" if any(coverage_text(table.get("coverage")) for table in tables) else ""
    return (
        Number("Rows in the source", _total(tables, "source"), part),
        Number("Rows in the lake", _total(tables, "lake"), part),
        Number("Drifted rows", f"{sum(map(drift_rows, tables)):,}"),
        Number(
            "Corrections written",
            f"{sum(one['applied'] for one in done):,}",
            f"of {planned:,} planned: {counted(upserts, 'upsert')}, {counted(deletes, 'delete')}{_before(done)}"
            if planned
            else "",
        ),
        left_out(run, tables),
    )


def _before(done: Sequence[Document]) -> str:
    before = sum(one.get("applied_before", 0) for one in done)
    return f"; {before:,} more written before" if before else ""


def left_out(run: Document, tables: Sequence[Document]) -> Number:
    """What was not compared of these tables of a run. Nothing was left out only where each table's result proves it."""
    gaps = sum(len(table["unverified"]) + (table["error"] is not None) for table in tables)
    if gaps:
        return Number("Not compared", f"{gaps:,}", "columns, segments or tables")
    if all(not_compared(run, table) == (NOTHING_LEFT_OUT,) for table in tables):
        return Number("Not compared", "0", "nothing left out")
    return Number("Not compared", *_MEANT.get(run["command"], ("some", "named in the report, table by table")))


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
    warnings = len(warned(tables))
    return (
        Number("Rules", f"{sum(len(table['rules']) for table in tables):,}"),
        Number("Failed", f"{len(failed(tables)):,}", f"and {counted(warnings, 'warning')}" if warnings else ""),
        Number("Waived", f"{len(of_status(tables, 'waived')):,}"),
        Number("Could not run", f"{len(of_status(tables, 'error')):,}"),
        Number("Rows in the lake", _total(tables, "lake")),
    )


def _total(tables: Sequence[Document], side: str) -> str:
    counts = [table[side]["rows"] for table in tables if table[side] is not None]
    return f"{sum(counts):,}" if counts else "not read"
