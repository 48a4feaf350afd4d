"""A run for GitHub Actions: the step's summary as Markdown, and one annotation for each thing that did not pass. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result_queries import find_open_drift
from hudi_reconcile.report.safe import spell_hidden
from hudi_reconcile.report.words.advice import advise
from hudi_reconcile.report.words.rules import list_details, order_rules, select_failed, select_status, select_warned
from hudi_reconcile.report.words.verdict import count_drift_rows, list_reasons, was_compared, write_verdict

Document = Mapping[str, Any]
_DASH = "–"  # noqa: RUF001 - nobody looked, which is no 0
_SIGNS = {"pass": "✅", "waived": "⏸️", "fail": "❌", "error": "⚠️"}
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&-])")


def render_summary(run: Document) -> str:
    """Markdown for `$GITHUB_STEP_SUMMARY`: verdict, what to do next, one table of tables and one of rules."""
    lines = [f"## hudi-reconcile {run['command']}: {run['outcome']}", ""]
    lines += [text for sentence in run.get("trust", ()) for text in (f"⚠️ **Not checked.** {_plain(sentence)}", "")]
    lines += [_plain(write_verdict(run)), ""]
    step = advise(run)
    lines += [_plain(step.sentence), ""]
    if step.commands:
        lines += ["```", *map(spell_hidden, step.commands), "```", ""]
    lines += ["| table | outcome | drifted rows | rules |", "|---|---|--:|---|"]
    lines += [
        f"| {_plain(table['name'])} | {table['outcome']} | {_drift(table)} | {_counts(table)} |"
        for table in run["tables"]
    ]
    rules = [(table, rule) for table in run["tables"] for rule in order_rules(table)]
    if rules:
        lines += ["", "| | rule | says | failed rows | |", "|---|---|---|--:|---|"]
        lines += [_rule_row(rule) for _, rule in rules]
    return "\n".join(lines) + "\n"


def render_workflow_commands(run: Document) -> Iterator[str]:
    """Workflow commands, one line each. GitHub reads them from stdout and stderr alike."""
    for table in run["tables"]:
        place = table["provenance"].get("rules")
        for rule in order_rules(table):
            level = _level(rule)
            if level:
                title = f"{table['name']} {rule['id']}: {rule['status']}"
                yield _command(level, title, "\n".join([rule["what"], *list_details(rule)]), file=place)
        own = [] if table["error"] is None and not table["unverified"] else list_reasons(table)
        for why, fix in own:
            yield _command("error", f"{table['name']}: {table['outcome']}", f"{why}\nfix: {fix}" if fix else why)
        if count_drift_rows(table):
            counts_text = ", ".join(f"{kind} {rows}" for kind, rows in table["findings"].items() if rows)
            is_open = find_open_drift(table) and table["outcome"] != Outcome.CORRECTED.value
            level, what = ("error", "drift") if is_open else ("notice", "corrected drift")
            yield _command(level, f"{table['name']}: {table['outcome']}", f"{what}: {counts_text}")


def _level(rule: Document) -> str | None:
    if rule["status"] == "pass":
        return None
    if rule["status"] == "waived":
        return "notice"
    return "warning" if rule["status"] == "fail" and rule["severity"] == "warn" else "error"


def _rule_row(rule: Document) -> str:
    more = " ".join(list_details(rule)) if rule["status"] != "pass" else ""
    warning = " (warning)" if rule["severity"] == "warn" else ""
    return (
        f"| {_SIGNS[rule['status']]} {rule['status']} | {_plain(rule['id'])} | {_plain(rule['what'])}{warning} "
        f"| {_DASH if rule['status'] == 'error' else rule['failed_rows']} | {_plain(more)} |"
    )


def _drift(table: Document) -> str:
    return str(count_drift_rows(table)) if was_compared(table) else _DASH


def _counts(table: Document) -> str:
    counts = {status: len(select_status([table], status)) for status in _SIGNS} | {"fail": len(select_failed([table]))}
    return ", ".join(
        f"{number} {said}" for said, number in {**counts, "warning": len(select_warned([table]))}.items() if number
    )


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, in one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(spell_hidden(text.replace("\n", " ")).split()))


def _command(level: str, title: str, message: str, *, file: str | None = None) -> str:
    shown = "\n".join(spell_hidden(line) for line in message.split("\n"))
    properties = {"file": file, "title": spell_hidden(title)}
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
    return f"::{level} {listed}::{_data(shown)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
