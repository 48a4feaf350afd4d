"""A run as the body of a mail, for readers that know no style sheet, script or drawing. Pure; knows no markup."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hudi_reconcile.core.open_drift import open_rules
from hudi_reconcile.core.outcome import Outcome, gravest
from hudi_reconcile.report.advice import Advice, advice
from hudi_reconcile.report.numbers import Number, numbers_of
from hudi_reconcile.report.rule_words import open_rules_text
from hudi_reconcile.report.tones import tone_of
from hudi_reconcile.report.wording import drift_rows, reasons, verdict, was_compared

Document = Mapping[str, Any]

# Text on ground, 4.5 : 1 and more: most mail readers know neither variables nor dark mode.
COLOURS = {
    "good": ("#17603c", "#e6f2ea"),
    "mended": ("#0b5961", "#e2f1f3"),
    "warn": ("#7a4a00", "#fcf0d9"),
    "bad": ("#97201b", "#fbe9e6"),
    "plain": ("#33475f", "#e8edf3"),
}
MOST_TABLES, MOST_REASONS = 60, 20


@dataclass(frozen=True, slots=True)
class MailTable:
    """One line. `drift` is None where nothing was compared; `ink` and `ground` are its outcome's colours.

    `rules` says how many did not hold: a table whose drift was corrected may still end in `drift` for them.
    """

    name: str
    outcome: str
    ink: str
    ground: str
    drift: int | None
    written: int
    rules: str


@dataclass(frozen=True, slots=True)
class Mail:
    """The whole body."""

    run: Document
    trust: tuple[str, ...]
    ink: str
    ground: str
    verdict: str
    advice: Advice
    numbers: tuple[Number, ...]
    tables: tuple[MailTable, ...]
    more_tables: int
    reasons: tuple[tuple[str, str, str], ...]
    more_reasons: int


def mail_of(run: Document, guards: Mapping[str, Any]) -> Mail:
    """The body for a run; `guards` are those of its plans, by table. Tables worst first; what has no room is counted."""
    tables = sorted(run["tables"], key=_worst_first)
    why = [(table["name"], what, fix) for table in tables for what, fix in reasons(table)]
    ink, ground = COLOURS[tone_of(run["outcome"])]
    return Mail(
        run=run,
        trust=tuple(run.get("trust", ())),
        ink=ink,
        ground=ground,
        verdict=verdict(run),
        advice=advice(run, guards=guards),
        numbers=numbers_of(run),
        tables=tuple(map(_table, tables[:MOST_TABLES])),
        more_tables=max(0, len(tables) - MOST_TABLES),
        reasons=tuple(why[:MOST_REASONS]),
        more_reasons=max(0, len(why) - MOST_REASONS),
    )


def _worst_first(table: Document) -> tuple[int, int, str]:
    graver = sum(gravest([one, Outcome(table["outcome"])]) is one for one in Outcome)
    return graver, -drift_rows(table), table["name"]


def _table(table: Document) -> MailTable:
    ink, ground = COLOURS[tone_of(table["outcome"])]
    drift = drift_rows(table) if was_compared(table) else None
    rules = open_rules_text(open_rules(table), table["outcome"])
    return MailTable(table["name"], table["outcome"], ink, ground, drift, table["corrections"]["applied"], rules)
