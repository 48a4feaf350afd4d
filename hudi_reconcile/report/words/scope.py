"""What a run did not compare, and what an apply did not correct, in lines with the reasons. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hudi_reconcile.core.plan.apply_outcome import REASONS, WHOLE
from hudi_reconcile.core.result import is_whole_comparison
from hudi_reconcile.report.safe import spell_hidden, write_key
from hudi_reconcile.report.words.advice import write_command_prefix
from hudi_reconcile.report.words.verdict import count_drift_after_apply, count_text, describe_coverage, describe_proven

Document = Mapping[str, Any]
NOTHING_LEFT_OUT = "Nothing: every row of both sides and every column was compared."
_SIDES = (("source_rows_left_out", "source"), ("lake_rows_left_out", "lake"))


def list_not_compared(run: Document, table: Document) -> tuple[str, ...]:
    """One line each; `NOTHING_LEFT_OUT` alone only where the result proves it."""
    lines = tuple(dict.fromkeys(_lines(run, table)))
    if lines:
        return lines
    return (NOTHING_LEFT_OUT,) if is_whole_comparison(table) else (_untold(run),)


def list_scope_lines(table: Document) -> list[str]:
    """How the columns of both sides came apart, and what was compared on fewer digits: one line each, none when alike.

    Results of earlier versions do not say.
    """
    lines = [_describe_change(change) for change in table.get("schema", ())]
    return lines + [_less_precise(entry) for entry in table.get("precision", ())]


def _lines(run: Document, table: Document) -> Iterator[str]:
    if table["error"]:
        yield f"The table, from where it failed: {table['error']['message']}"
    if run["command"] not in ("sweep", "run"):
        yield _untold(run)
    yield from (f"{entry['what']} {entry['name']}: {entry['why']}" for entry in table["unverified"])
    coverage: Document = table.get("coverage") or {}
    if part := describe_coverage(coverage or None):
        yield f"The rest of the table: {part}."
    if carried := describe_proven(coverage or None):
        yield f"{carried}."
    for field, side in _SIDES:
        if coverage.get(field):
            yield f"{count_text(coverage[field], 'row')} of the {side}, by its own count."
    compare = table.get("compare", {})
    yield from (f"column {name}: left out by compare.exclude" for name in compare.get("exclude", ()))
    yield from (
        f"column {name}: differences up to {most} are not counted (compare.tolerance)"
        for name, most in compare.get("tolerance", {}).items()
    )
    yield from list_scope_lines(table)


def _untold(run: Document) -> str:
    sentences = {
        "pull": "Everything: a pull compares nothing. hudi-reconcile sweep does.",
        "check": "Everything: rules judge the lake's rows, and nothing was held against the source's.",
        "approve": "Everything: an approval compares nothing.",
        "apply": "All but the plan's keys and their segments: the rest is the sweep's that made the plan.",
        "undo": "All but the keys that were put back.",
    }
    return sentences.get(run["command"], "Not every row: the result does not say that the whole table was compared.")


def _describe_change(change: Document) -> str:
    where = "at the source" if change["side"] == "source" else "in the lake"
    old = change.get("lake_column")
    what = f"may be {old} renamed" if change["what"] == "renamed" else change["what"]
    types = ", ".join(f"{side} {change[f'{side}_type']}" for side in ("source", "lake") if change[f"{side}_type"])
    since = f", first seen {change['since_utc']}" if change["since_utc"] else ""
    return f"{change['column']} {what} {where} ({types}): {'compared' if change['compared'] else 'not compared'}{since}"


def _less_precise(entry: Document) -> str:
    hidden = (
        f"digits of {count_text(entry['rows_hidden'], 'source row')} not compared"
        if entry["rows_hidden"]
        else "hides none"
    )
    return (
        f"{entry['column']} (source {entry['source']}, lake {entry['lake']}) compared to {entry['compared']}: {hidden}"
    )


@dataclass(frozen=True, slots=True)
class LeftRow:
    """One row that was not corrected; `rules` are those that held it back."""

    key: str
    action: str
    reason: str
    rules: str


@dataclass(frozen=True, slots=True)
class LeftView:
    """What is left of a table's plan. `command` lists it: rows with reasons, or where a plan was left whole its findings.

    It is empty where there is no list.
    """

    sentence: str
    reasons: tuple[tuple[str, str], ...]
    rows: tuple[LeftRow, ...]
    command: str


def view_rest(run: Document, table: Document, sample: Sequence[Document] = ()) -> LeftView | None:
    """What the run left of a table's plan; None where it applied nothing or left nothing."""
    uncorrected = table.get("uncorrected")
    if uncorrected is None or not uncorrected["rows"]:
        return None
    by_reason = sorted(uncorrected["by_reason"].items(), key=lambda pair: (-pair[1], pair[0]))
    counts_text = ", ".join(f"{reason} {rows:,}" for reason, rows in by_reason)
    why = f"; {uncorrected['why']}" if uncorrected["why"] else ""
    by = " by this run" if _is_whole(uncorrected) else ""  # what an earlier apply of the plan wrote, it did not look
    return LeftView(
        sentence=f"{count_text(uncorrected['rows'], 'planned row')} not corrected{by}: {counts_text}{why}",
        reasons=tuple((reason, REASONS[reason]) for reason, _ in by_reason if reason in REASONS),
        rows=tuple(
            LeftRow(write_key(row["key"]), row["action"], row["reason"], ", ".join(map(spell_hidden, row["rules"])))
            for row in sample
        ),
        command=_command(run, table),
    )


def explain_unlisted(run: Document, table: Document) -> list[str]:
    """Why not every row that differs is in the list of what was left, and how to see such rows; none where all are in it."""
    uncorrected, again = table["uncorrected"], count_drift_after_apply(table)
    sentences = []
    if uncorrected["why"]:
        sentences.append(
            f"{uncorrected['why']}; every row of the plan: {_command(run, table)}"
            if _is_whole(uncorrected)
            else str(uncorrected["why"])
        )
    if again:
        sentences.append(
            f"{count_text(again, 'row')} still differed when the touched segments were compared again; those that the plan does "
            f"not hold are listed by a new sweep: {write_command_prefix(run)} sweep -t {shlex.quote(table['name'])}"
        )
    return sentences


def _is_whole(uncorrected: Document) -> bool:
    return set(uncorrected["by_reason"]) <= WHOLE


def _command(run: Document, table: Document) -> str:
    uncorrected = table["uncorrected"]
    which = f" -t {shlex.quote(table['name'])}" if len(run["tables"]) > 1 else ""
    if _is_whole(uncorrected):
        return f"{write_command_prefix(run)} findings {shlex.quote(uncorrected['plan_run'])}{which}"
    return (
        f"{write_command_prefix(run)} findings {shlex.quote(run['run_id'])} --uncorrected{which}"
        if uncorrected["path"]
        else ""
    )
