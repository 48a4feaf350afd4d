"""Rules in plain sentences: how many hold, which do not, and what to know of each. Pure: reads `result.json` documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.rules.verdict import STATUSES

Document = Mapping[str, Any]
_WORDS = {"error": "could not run", "fail": "failed", "waived": "waived", "pass": "passed"}
_MOST_NAMES = 5


def order_rules(table: Document) -> list[Document]:
    """The rules of a table, those first that need a look: could not run, failed (errors before warnings), waived, passed."""
    rules = list(table.get("rules", ()))
    return sorted(rules, key=lambda rule: (STATUSES.index(rule["status"]), rule["severity"] != "error"))


def select_status(tables: Sequence[Document], status: str) -> list[Document]:
    """The rules of all tables with this status."""
    return [rule for table in tables for rule in order_rules(table) if rule["status"] == status]


def select_failed(tables: Sequence[Document]) -> list[Document]:
    """The failed rules of all tables that make a run fail."""
    return [rule for table in tables for rule in select_status([table], "fail") if not _is_warning(table, rule)]


def select_warned(tables: Sequence[Document]) -> list[Document]:
    """The failed rules of all tables that only warn."""
    return [rule for table in tables for rule in select_status([table], "fail") if _is_warning(table, rule)]


def describe_rule_counts(table: Document) -> str:
    """How the rules of a table ended, in numbers.

    >>> describe_rule_counts({"rules": [{"status": "pass", "severity": "warn"}, {"status": "fail", "severity": "warn"}]})
    '2: 1 failed as a warning, 1 passed'
    """
    parts = []
    for status in STATUSES:
        rules = select_status([table], status)
        warnings = select_warned([table]) if status == "fail" else []
        parts += [f"{number:,} {_WORDS[status]}"] if (number := len(rules) - len(warnings)) else []
        parts += [f"{len(warnings):,} failed {_describe_warnings(warnings)}"] if warnings else []
    return f"{len(order_rules(table)):,}: {', '.join(parts)}"


def describe_rules(tables: Sequence[Document]) -> str:
    """All rules of these tables in one sentence; empty where they have none."""
    rules = [rule for table in tables for rule in order_rules(table)]
    if not rules:
        return ""
    errors, warnings = select_status(tables, "error"), select_warned(tables)
    endings = (
        (errors, "could not run"),
        (select_failed(tables), "failed"),
        (warnings, f"failed {_describe_warnings(warnings)}"),
    )
    of_all = f"of {len(rules):,} rule{'s' * (len(rules) != 1)}"
    said = [f"{len(some):,} {of_all} {verb}: {_names(some)}." for some, verb in endings if some]
    if said:
        return " ".join(said)
    waived = len(select_status(tables, "waived"))
    return f"{'All ' if len(rules) > 1 else ''}{len(rules):,} rule{'s hold' if len(rules) > 1 else ' holds'}" + (
        f", {waived:,} of them waived." if waived else "."
    )


def describe_open_rules(number: int, outcome: str) -> str:
    """That many rules of a table did not hold; empty for none. Where one could not run, the outcome is no mere `drift`.

    >>> describe_open_rules(1, "drift"), describe_open_rules(2, "unverified"), describe_open_rules(0, "drift")
    ('1 rule failed', '2 rules failed or could not run', '')
    """
    what = "failed" if outcome == Outcome.DRIFT.value else "failed or could not run"
    return f"{number:,} rule{'s' * (number != 1)} {what}" if number else ""


def list_rule_lines(table: Document) -> Iterator[tuple[str, str]]:
    """Label and text for each line about a table's rules; nothing where it has none.

    Rules that passed are counted only, but for those that judged no row.
    """
    if not table.get("rules"):
        return
    yield "rules", describe_rule_counts(table)
    for rule in order_rules(table):
        if rule["status"] == "pass" and not rule["notes"]:
            continue
        yield rule["status"].upper(), f"{rule['id']}: {rule['what']}{_rows(rule)}{_warning(rule)}"
        for text in list_details(rule):
            yield "", text


def list_details(rule: Document) -> list[str]:
    """What else to know of a rule that did not pass, one line each."""
    details = [rule["why"]] if rule["why"] else []
    details += list(rule["notes"])
    if waiver := rule["waiver"]:
        owner = f", {waiver['owner']}" if waiver["owner"] else ""
        details.append(f"waived until {waiver['expires']} ({waiver['reason']}{owner})")
    if rule["keys"]:
        details.append(f"keys: {rule['keys']['path']} (Parquet, in the run's folder)")
    if rule["fix"] and rule["status"] != "pass":
        details.append(f"fix: {rule['fix']}")
    return details


def list_rule_errors(table: Document) -> list[tuple[str, str]]:
    """Why rules could not run, each with its fix; without those that only repeat the table's own error."""
    own = table["error"]["message"] if table["error"] else None
    errors = [rule for rule in order_rules(table) if rule["status"] == "error" and rule["why"] != own]
    return [(f"rule {rule['id']}: {rule['why']}", rule["fix"]) for rule in errors]


def _is_warning(table: Document, rule: Document) -> bool:
    return bool(rule["severity"] == "warn" and table.get("provenance", {}).get("fail_on") != "warn")


def _describe_warnings(rules: Sequence[Document]) -> str:
    return "as a warning" if len(rules) == 1 else "as warnings"


def _rows(rule: Document) -> str:
    if rule["status"] == "error" or rule["check"] in ("total", "freshness"):
        return ""
    rows = rule["failed_rows"]
    borne = f", allowed {rule['allow']}" if rule["allow"] != "0" else ""
    return f" ({rows:,} row{'s' * (rows != 1)}{borne})"


def _warning(rule: Document) -> str:
    return " (warning)" if rule["severity"] == "warn" else ""


def _names(rules: Sequence[Document]) -> str:
    names = [rule["id"] for rule in rules]
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")
