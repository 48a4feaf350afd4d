"""A run's result as plain text: the verdict first, one short block a table, and the next command last. Pure.

Written for somebody who was woken up: what is, why, and what to paste. The words come from `report.words`, so that
terminal and HTML report never disagree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hudi_reconcile.core.result import RunResult, run_document
from hudi_reconcile.core.safe_text import defuse_commands
from hudi_reconcile.core.sweep.drift import DRIFT_KINDS, NOT_DRIFT_KINDS
from hudi_reconcile.report.words.advice import advise
from hudi_reconcile.report.words.rules import list_rule_lines
from hudi_reconcile.report.words.scope import LeftView, list_scope_lines, view_rest
from hudi_reconcile.report.words.verdict import (
    count_drift_rows,
    count_text,
    describe_coverage,
    has_gaps,
    list_reasons,
    trust_lines,
    write_verdict,
)

_MARGIN = 14

Document = Mapping[str, Any]


def render_run(run: RunResult) -> str:
    """The text for a finished pull, sweep, apply or run."""
    document = run_document(run)
    lines = [*trust_lines(run.trust), f"{document['outcome'].upper()}  {write_verdict(document)}"]
    for table in document["tables"]:
        lines += ["", f"{table['name']}: {table['outcome']}", *_table_lines(table, view_rest(document, table))]
    lines += ["", _field("run", document["run_id"], indent=0)]
    next_step = advise(document)
    lines.append(_field("next", next_step.sentence, indent=0))
    lines += [f"  {command}" for command in next_step.commands]
    return defuse_commands("\n".join(lines))


def _table_lines(table: Document, rest: LeftView | None) -> Iterator[str]:
    for why, fix in list_reasons(table):
        yield _field("NOT OK", why)
        if fix:
            yield _field("", f"fix: {fix}")
    yield from (_field("column", line) for line in list_scope_lines(table))
    yield from _pull_lines(table.get("pull"))
    yield from _comparison_lines(table)
    yield from _correction_lines(table)
    if word := table.get("approval"):
        yield _field("approved", f"plan {word['plan_id']} of run {word['run_id']}")
    if rest is not None:
        yield _field("left", rest.sentence)
        if rest.command:
            yield _field("", f"list: {rest.command}")
    yield from (_field(label, text) for label, text in list_rule_lines(table))
    yield from (_field("note", note) for note in table["notes"])
    yield _field("cost", _cost(table["cost"]))


def _pull_lines(pull: Document | None) -> Iterator[str]:
    if pull is None:
        return
    pages = f", {pull['pages']} pages" if pull.get("pages", 0) > 1 else ""
    yield _field("pulled", f"{count_text(pull['rows'], 'row')}, {pull['mode']}{pages}")
    if odd_rows := pull.get("odd_rows", 0):
        yield _field("", f"{count_text(odd_rows, 'row')} of odd keys held back")
    if not pull.get("reached_bound", True):
        yield _field("", "rows are left: the next pull goes on from the checkpoint")
    yield _field("checkpoint", f"{pull['checkpoint_before'] or 'none'} -> {pull['checkpoint_after'] or 'none'}")
    if pull["null_watermark_rows"]:
        yield _field("", f"{count_text(pull['null_watermark_rows'], 'row')} without a watermark")


def _comparison_lines(table: Document) -> Iterator[str]:
    source, lake = table["source"], table["lake"]
    if source is None or lake is None:
        return
    yield _field("source", f"{count_text(source['rows'], 'row')} at {source['snapshot']}")
    yield _field("lake", f"{count_text(lake['rows'], 'row')} at {lake['instant']}")
    if digests := table.get("provenance", {}).get("digests"):
        yield _field("digests", digests)
    if part := describe_coverage(table.get("coverage")):
        yield _field("coverage", part)
    drift = _counts(table["findings"], DRIFT_KINDS)
    none = "none in what was compared" if has_gaps(table) else "none"
    yield _field("drift", f"{count_drift_rows(table):,}: {drift}" if drift else none)
    if other := _counts(table["not_drift"], NOT_DRIFT_KINDS):
        yield _field("not drift", other)


def _correction_lines(table: Document) -> Iterator[str]:
    done, guards = table["corrections"], table["guards"]
    planned = done["upserts"] + done["deletes"]
    ends = {end: done.get(end, 0) for end in ("applied", "applied_before", "moved", "superseded", "failed", "held")}
    counts_text = ", ".join(f"{rows:,} {end.replace('_', ' ')}" for end, rows in ends.items() if rows)
    if table["already_applied"]:
        what = "this plan was applied before" if table["plan_id"] else "taken back before"
        yield _field("corrected", f"{what}; nothing was written")
        if ends["applied_before"] < planned:
            yield _field("before", f"{counts_text or 'none applied'} of {planned:,}")
        return
    if planned:
        ok = sum(guard["ok"] for guard in guards)
        guard_text = f"; {ok} of {count_text(len(guards), 'guard')} ok" if guards else ""
        yield _field(
            "plan", f"{count_text(done['upserts'], 'upsert')}, {count_text(done['deletes'], 'delete')}{guard_text}"
        )
    if counts_text:
        yield _field("corrected", f"{counts_text} of {planned:,}{_commits(done['instants'])}")
        verified = table["verified_at"]
        yield _field("verified", f"compared again at {verified}" if verified else "NO, not compared again")


def _commits(instants: list[str]) -> str:
    return f" in commit {', '.join(instants)}" if instants else ""


def _counts(counts: Mapping[str, int], kinds: tuple[str, ...]) -> str:
    return ", ".join(f"{kind} {counts[kind]:,}" for kind in kinds if counts.get(kind))


def _cost(cost: Document) -> str:
    session = f" (+ {cost['session_seconds']:.1f} s for Spark's start)" if cost["session_seconds"] else ""
    fetched = f"{count_text(cost['source_rows_fetched'], 'row')} fetched in"
    return f"{cost['seconds']:.1f} s{session}, {fetched} {count_text(cost['source_statements'], 'statement')}"


def _field(label: str, text: str, *, indent: int = 2) -> str:
    margin = " " * indent
    head, *rest = text.splitlines() or [""]
    first = f"{margin}{label.ljust(_MARGIN - indent)}{head}"
    return "\n".join([first, *(f"{' ' * _MARGIN}{line}" for line in rest)])
