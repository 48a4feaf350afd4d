"""A run as JUnit XML, as CI servers read it: one suite a table, one case for the comparison and one for each rule. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from xml.etree import ElementTree as ET

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result_queries import find_open_drift
from hudi_reconcile.report.safe import spell_hidden
from hudi_reconcile.report.words.rules import list_details, order_rules
from hudi_reconcile.report.words.verdict import list_reasons

Document = Mapping[str, Any]
Ending = Literal["passed", "failure", "error", "skipped"]
_GOOD = frozenset({Outcome.CLEAN.value, Outcome.CORRECTED.value, Outcome.PULLED.value, Outcome.APPROVED.value})


@dataclass(frozen=True, slots=True)
class Case:
    """One test case: how it ended, in one line, and in more."""

    name: str
    ending: Ending
    message: str = ""
    text: str = ""


def render_junit(run: Document) -> str:
    """The XML text. A suite has a failure or an error exactly where the table's outcome is not a good one."""
    root = ET.Element("testsuites", {"name": f"hudi-reconcile {run['command']} {run['run_id']}"})
    for table in run["tables"]:
        _add_suite(root, run, table, tuple(_cases(run, table)))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _cases(run: Document, table: Document) -> Iterator[Case]:
    rules = [_rule_case(table, rule) for rule in order_rules(table)]
    explained = any(case.ending in ("failure", "error") for case in rules)
    yield _work_case(run, table, explained=explained)
    yield from rules


def _work_case(run: Document, table: Document, *, explained: bool) -> Case:
    why = "\n".join(f"{why}\nfix: {fix}" if fix else why for why, fix in list_reasons(table))
    drift, name = find_open_drift(table), f"{run['command']} {table['name']}"
    if table["outcome"] in _GOOD:
        return Case(name, "passed")
    if table["error"] or table["unverified"] or (table["outcome"] == Outcome.UNVERIFIED.value and not explained):
        return Case(name, "error", table["outcome"], why)
    if drift or not explained or table["outcome"] in (Outcome.INCOMPLETE.value, Outcome.REFUSED.value):
        counts_text = ", ".join(f"{kind} {rows}" for kind, rows in drift.items())
        return Case(name, "failure", f"{table['outcome']}: {counts_text}" if counts_text else table["outcome"], why)
    return Case(name, "passed")


def _rule_case(table: Document, rule: Document) -> Case:
    name, text = f"{rule['id']}: {rule['what']}", "\n".join(list_details(rule))
    match rule["status"]:
        case "error":
            return Case(name, "error", "could not run", text)
        case "waived":
            return Case(name, "skipped", f"waived: {rule['failed_rows']} failed rows", text)
        case "fail" if rule["severity"] == "warn" and table["provenance"].get("fail_on") != "warn":
            return Case(name, "skipped", f"warning: {rule['failed_rows']} failed rows", text)
        case "fail":
            return Case(name, "failure", f"{rule['failed_rows']} failed rows", text)
        case _:
            return Case(name, "passed")


def _add_suite(root: ET.Element, run: Document, table: Document, cases: tuple[Case, ...]) -> None:
    numbers = {
        "tests": len(cases),
        "failures": sum(case.ending == "failure" for case in cases),
        "errors": sum(case.ending == "error" for case in cases),
        "skipped": sum(case.ending == "skipped" for case in cases),
    }
    seconds = f"{table['cost']['seconds']:.3f}"
    about = {"name": spell_hidden(table["name"]), "timestamp": run["started_utc"].removesuffix("Z"), "time": seconds}
    suite = ET.SubElement(root, "testsuite", {**about, **{name: str(number) for name, number in numbers.items()}})
    for number, case in enumerate(cases):
        took = seconds if number == 0 else "0"
        element = ET.SubElement(
            suite, "testcase", {"classname": spell_hidden(table["name"]), "name": spell_hidden(case.name), "time": took}
        )
        if case.ending != "passed":
            ended = ET.SubElement(element, case.ending, {"message": spell_hidden(case.message)})
            ended.text = "\n".join(spell_hidden(line) for line in case.text.split("\n"))
