"""What the HTML report shows, as values that the template lays out. Pure; knows no markup."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

from hudi_reconcile.core.result import DRIFT_KINDS, NOT_DRIFT_KINDS, is_whole_comparison
from hudi_reconcile.core.sweep.coverage import Coverage, coverage_age
from hudi_reconcile.core.sweep.drift import KIND_CORRECTION, KIND_MEANING
from hudi_reconcile.report.page.control_totals import ControlTotals, control_totals
from hudi_reconcile.report.page.drift_profile import AnatomyView, Bar, bars, span_text, view_anatomy
from hudi_reconcile.report.page.sample import CorrectedView, ShownFinding, corrected_view, show_finding
from hudi_reconcile.report.page.trend import COMPARING_COMMANDS, Trend, as_history_line, build_trend
from hudi_reconcile.report.words.advice import Advice, advice
from hudi_reconcile.report.words.rules import details, of_status, order_rules, rule_counts, select_failed, select_warned
from hudi_reconcile.report.words.scope import NOTHING_LEFT_OUT, LeftView, not_compared, view_rest
from hudi_reconcile.report.words.verdict import (
    choose_tone,
    count_text,
    coverage_text,
    drift_rows,
    figure,
    reasons,
    verdict,
)

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

    `count_left_out` is `not_compared` as a figure.
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


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept beside a run's result, each by table but `past`: the history of the runs before it, newest first."""

    plans: Mapping[str, Document] = field(default_factory=dict)
    samples: Mapping[str, Sequence[Document]] = field(default_factory=dict)
    coverage: Mapping[str, Coverage] = field(default_factory=dict)
    past: Sequence[Document] = ()
    corrected: Mapping[str, Document] = field(default_factory=dict)  # what the lake tells, where it was asked
    left: Mapping[str, Sequence[Document]] = field(default_factory=dict)  # the first rows that an apply left


def build_page(run: Document, kept: Kept) -> ReportPage:
    """The report of a run (`result.json`)."""
    guards = {name: plan["guards"] for name, plan in kept.plans.items()}
    return ReportPage(
        run=run,
        trust=tuple(run.get("trust", ())),
        tone=choose_tone(run["outcome"]),
        verdict=verdict(run),
        advice=advice(run, guards=guards),
        numbers=list_numbers(run),
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
        tone=choose_tone(table["outcome"]),
        document=table,
        drift=drift_rows(table),
        kinds=kinds,
        not_drift=_kind_rows(table["not_drift"], NOT_DRIFT_KINDS) if compared else (),
        anatomy=view_anatomy(table),
        totals=control_totals(table),
        reasons=tuple(reasons(table)),
        not_compared=not_compared(run, table),
        left_out=count_left_out(run, [table]).value,
        trend=build_trend(name, [as_history_line(run), *kept.past]),
        age=None if coverage is None else view_ages(coverage, run["run_id"], run["ended_utc"]),
        sample=tuple(map(show_finding, kept.samples.get(name, ()))),
        rules=tuple(map(_rule, order_rules(table))),
        rule_counts=rule_counts(table),
        findings_run=plan["run_id"] if plan else run["run_id"] if run["command"] in COMPARING_COMMANDS else "",
        plan=plan,
        guards=tuple((plan or table)["guards"]),
        corrected=corrected_view(kept.corrected.get(name)),
        left=view_rest(run, table, kept.left.get(name, ())),
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
        Fact("Lake files read", _lake_files(cost)),
    )


def _lake_files(cost: Document) -> str:
    """Results from before the files were counted have 0, which says nothing."""
    files = figure(cost["lake_files_read"])
    if cost.get("lake_files_counted", False):
        return files
    rest = "and those that Hudi read in order to write, which are not counted"
    return f"{files}, {rest}" if cost["lake_files_read"] else "not counted"


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
            f"of {planned:,} planned: {count_text(upserts, 'upsert')}, {count_text(deletes, 'delete')}{_before(done)}"
            if planned
            else "",
        ),
        count_left_out(run, tables),
    )


def _before(done: Sequence[Document]) -> str:
    before = sum(one.get("applied_before", 0) for one in done)
    return f"; {before:,} more written before" if before else ""


def count_left_out(run: Document, tables: Sequence[Document]) -> Number:
    """What was not compared of these tables of a run. Nothing was left out only where each table's result proves it."""
    gaps = sum(len(table["unverified"]) + (table["error"] is not None) for table in tables)
    if gaps:
        return Number("Not compared", f"{gaps:,}", "columns, segments or tables")
    if all(not_compared(run, table) == (NOTHING_LEFT_OUT,) for table in tables):
        return Number("Not compared", "0", "nothing left out")
    if all(is_whole_comparison(table) for table in tables) and (proven := sum(map(_proven, tables))):
        return Number("Not compared again", f"{proven:,}", "segments that did not change on either side")
    return Number("Not compared", *_MEANT.get(run["command"], ("some", "named in the report, table by table")))


def _proven(table: Document) -> int:
    segments: int = (table.get("coverage") or {}).get("proven", 0)
    return segments


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
    warnings = len(select_warned(tables))
    return (
        Number("Rules", f"{sum(len(table['rules']) for table in tables):,}"),
        Number(
            "Failed", f"{len(select_failed(tables)):,}", f"and {count_text(warnings, 'warning')}" if warnings else ""
        ),
        Number("Waived", f"{len(of_status(tables, 'waived')):,}"),
        Number("Could not run", f"{len(of_status(tables, 'error')):,}"),
        Number("Rows in the lake", _total(tables, "lake")),
    )


def _total(tables: Sequence[Document], side: str) -> str:
    counts = [table[side]["rows"] for table in tables if table[side] is not None]
    return f"{sum(counts):,}" if counts else "not read"


_WORDS = {"sql": "SQL", "jdbc": "JDBC", "url": "URL", "utc": "UTC", "id": "id", "sha256": "sha256", "t": "T", "s": "S"}
_CODE = ("sql", "statement", "query", "sha256", "snapshot", "instant", "plan_id", "digest", "jars", "conf")


@dataclass(frozen=True, slots=True)
class Fact:
    """One row: what, and its text. `code` is set in a fixed-width face with its lines kept."""

    label: str
    text: str
    code: bool = False


def facts(document: Mapping[str, Any], *, prefix: str = "") -> Iterator[Fact]:
    """The leaves of a document in its order; lists of texts are numbered, empty values left out."""
    for name, value in document.items():
        yield from _facts(f"{prefix}{name}", value)


def spell_label(path: str) -> str:
    """A field's path in words.

    >>> spell_label("spark_version"), spell_label("jars/postgresql-42.7.jar")
    ('Spark version', 'Jars: postgresql-42.7.jar')
    """
    head, *below = path.split("/", 1)
    words = " ".join(_WORDS.get(word, word) for word in head.split("_"))
    first = words[:1].upper() + words[1:]
    return f"{first}: {below[0]}" if below else first


def _facts(path: str, value: Any) -> Iterator[Fact]:
    if value is None or value in ("", [], {}):
        return
    if isinstance(value, Mapping):
        yield from facts(value, prefix=f"{path}/")
    elif isinstance(value, (list, tuple)):
        value = [
            "\n".join(f"{name} {part}" for name, part in item.items()) if isinstance(item, Mapping) else item
            for item in value
        ]
        for number, item in enumerate(value, start=1):
            yield from _facts(f"{path}/{number}" if len(value) > 1 else path, item)
    else:
        text = str(value)
        yield Fact(spell_label(path), text, code="\n" in text or any(word in path.lower() for word in _CODE))


_DAY = 86_400
# Upper ends; the last has none.
AGES_SECONDS: tuple[int, ...] = (3_600, _DAY, 7 * _DAY, 30 * _DAY)


@dataclass(frozen=True, slots=True)
class AgeView:
    """Segments by the age of their last comparison, the youngest first, those never compared last."""

    sentence: str
    spans: tuple[Bar, ...]


def view_ages(coverage: Coverage, run_id: str, ended_utc: str) -> AgeView:
    """The ages at the end of a run; what that run compared itself is told apart."""
    now_micros = _micros(ended_utc)
    found = coverage_age(coverage)
    own = sum(one.high - one.low for one in coverage.stretches if one.run_id == run_id)
    counts = [0] * (len(AGES_SECONDS) + 1)
    for one in coverage.stretches:
        if one.run_id != run_id:
            behind = (now_micros - one.compared_micros) / 1_000_000
            counts[sum(behind >= end for end in AGES_SECONDS)] += one.high - one.low
    told = [("compared by this run", own), *zip(_labels(), counts, strict=True), ("never compared", found.never)]
    if own == found.segments:
        return AgeView(f"All {count_text(found.segments, 'segment')} were compared by this run.", ())
    return AgeView(_sentence(coverage, now_micros), bars([one for one in told if one[1]]))


def _sentence(coverage: Coverage, now_micros: int) -> str:
    found = coverage_age(coverage)
    never = f"{found.never:,} of {count_text(found.segments, 'segment')} were never compared" if found.never else ""
    if found.oldest_micros is None:
        return f"{never}."
    oldest = span_text(max(0, now_micros - found.oldest_micros) / 1_000_000)
    rest = f"the oldest comparison of the {'others' if never else f'{found.segments:,} segments'} is {oldest} old"
    return f"{never}; {rest}." if never else f"{rest[0].upper()}{rest[1:]}."


def _labels() -> Sequence[str]:
    ends = [span_text(end) for end in AGES_SECONDS]
    between = [f"{low} to {high} ago" for low, high in pairwise(ends)]
    return [f"less than {ends[0]} ago", *between, f"{ends[-1]} ago or more"]


def _micros(utc: str) -> int:
    moment = datetime.fromisoformat(utc)
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond
