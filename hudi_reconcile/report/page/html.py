"""Renders the HTML pages and the body of a mail: one file each, no network, no script needed. Pure: documents in, text out.

Everything from documents passes through `spell_hidden` and is escaped by the template engine; the content security policy allows
our own style sheet and script by their hashes and nothing else, so that a value that did slip through could do nothing. The
script only filters, sorts and copies.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from hudi_reconcile import __version__
from hudi_reconcile.core.outcome import Outcome, find_gravest
from hudi_reconcile.core.result_queries import count_open_rules
from hudi_reconcile.report.page.control_totals import write_signed
from hudi_reconcile.report.page.sections import RunDocuments
from hudi_reconcile.report.page.trend import Index
from hudi_reconcile.report.page.view import Number, build_page, list_numbers
from hudi_reconcile.report.safe import spell_hidden
from hudi_reconcile.report.words.advice import Advice, advise, write_command_prefix
from hudi_reconcile.report.words.rules import describe_open_rules
from hudi_reconcile.report.words.verdict import (
    choose_tone,
    count_drift_rows,
    count_text,
    list_reasons,
    was_compared,
    write_figure,
    write_verdict,
)

Document = Mapping[str, Any]


def render_report(run: Document, kept: RunDocuments) -> str:
    """The report's page. A table without plan, findings, coverage or past shows none.

    The same documents give the same text. Nothing in it comes from elsewhere, but for this tool's version.
    """
    return _template("report.html").render(
        page=build_page(run, kept), tool=write_command_prefix(run), **_inline_sources()
    )


def render_index(index: Index, base: str) -> str:
    """The page over all tables. `base` leads from the page to the reports folder, ending in a slash."""
    return _template("index.html").render(index=index, base=quote(base), **_inline_sources())


def render_mail(mail: Mail) -> str:
    """A run as the body of a mail: no style sheet, no script, no drawing."""
    return _template("mail.html").render(mail=mail)


def _inline_sources() -> dict[str, Any]:
    style, script = (Markup(_source(name)) for name in ("report.css", "page.js"))  # noqa: S704 - our own files
    return {"style": style, "style_hash": _csp_hash(style), "script": script, "script_hash": _csp_hash(script)}


def _csp_hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("hudi_reconcile.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_show_value,
    )
    environment.filters |= {
        "figure": write_figure,
        "signed": write_signed,
        "counted": count_text,
        "lines": _lines,
        "breakable": _breakable,
    }
    environment.globals["version"] = __version__
    return environment


def _template(name: str) -> Template:
    return _environment().get_template(name)


def _source(name: str) -> str:
    loader = _environment().loader
    assert loader is not None
    return loader.get_source(_environment(), name)[0]


def _show_value(value: Any) -> Any:
    return spell_hidden(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _breakable(word: str) -> Markup:
    """One of our own words, with places where a narrow screen may break it."""
    return Markup("_<wbr>").join(escape(part) for part in word.split("_"))


def _lines(text: str) -> Markup:
    """Text whose line ends stay, all else visible and escaped."""
    return Markup("\n").join(escape(spell_hidden(line)) for line in text.split("\n"))


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


def build_mail(run: Document, guards: Mapping[str, Any]) -> Mail:
    """The body for a run; `guards` are those of its plans, by table. Tables worst first; what has no room is counted."""
    tables = sorted(run["tables"], key=_worst_first)
    why = [(table["name"], what, fix) for table in tables for what, fix in list_reasons(table)]
    ink, ground = COLOURS[choose_tone(run["outcome"])]
    return Mail(
        run=run,
        trust=tuple(run.get("trust", ())),
        ink=ink,
        ground=ground,
        verdict=write_verdict(run),
        advice=advise(run, guards=guards),
        numbers=list_numbers(run),
        tables=tuple(map(_table, tables[:MOST_TABLES])),
        more_tables=max(0, len(tables) - MOST_TABLES),
        reasons=tuple(why[:MOST_REASONS]),
        more_reasons=max(0, len(why) - MOST_REASONS),
    )


def _worst_first(table: Document) -> tuple[int, int, str]:
    graver = sum(find_gravest([outcome, Outcome(table["outcome"])]) is outcome for outcome in Outcome)
    return graver, -count_drift_rows(table), table["name"]


def _table(table: Document) -> MailTable:
    ink, ground = COLOURS[choose_tone(table["outcome"])]
    drift = count_drift_rows(table) if was_compared(table) else None
    rules = describe_open_rules(count_open_rules(table), table["outcome"])
    return MailTable(table["name"], table["outcome"], ink, ground, drift, table["corrections"]["applied"], rules)
