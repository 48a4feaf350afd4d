"""From a rules file to a `RuleSet`: text, YAML, one entry at a time, with every problem of the file in one error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hudi_reconcile.config.fields import Location, Place, Section
from hudi_reconcile.config.files import read_text
from hudi_reconcile.config.problems import (
    MOST_SHOWN,
    config_error,
    find_fatal_problems,
    locate_problems,
    shorten,
)
from hudi_reconcile.config.rules_model import RULES, RulesFile, RulesHead
from hudi_reconcile.config.yaml_document import Document, Problem, read_document
from hudi_reconcile.core.errors import suggest_name
from hudi_reconcile.core.rules.rules import Rule, RuleSet

FIX = "correct the lines above, then: hudi-reconcile rules lint"
_MISSING = "name a rules file under `rules:` of the table, or remove the key"


Doubt = Callable[[Rule], str | None]


def load_rules(path: Path, *, shown: str, table: str | None, doubt: Doubt | None = None) -> RuleSet:
    """The rules of a file, which must be for this table; None: for any. `shown` is the file's name as people know it.

    `doubt` says what else may be wrong with a rule.

    Raises:
        ConfigError: the file cannot be read, or anything in it is wrong; all problems at once.
    """
    return parse_rules(read_text(path, what="rules file", shown=shown, fix=_MISSING), shown, table, doubt=doubt)


def parse_rules(text: str, file: str, table: str | None, *, doubt: Doubt | None = None) -> RuleSet:
    """The rules of a text; reads no file. Raises ConfigError with all its problems."""
    document = read_document(text)
    if fatal_problems := find_fatal_problems(document):
        raise config_error(list(dict.fromkeys([*document.problems, *fatal_problems])), file, fix=FIX)
    problems = list(document.problems)
    head, more = _entry(document, (), RulesHead, file)
    problems += more
    rules: list[Rule | None] = []
    for index, raw in enumerate(_list_entries(document.values)):
        rule, more = _rule(document, index, raw, file)
        rules.append(rule)
        problems += more
        if doubt is not None and rule is not None and (why := doubt(rule)):
            problems.append(Problem(document.find_line(("rules", index)), ("rules", index), why))
    problems += _cross_problems(document, table)
    if problems or not isinstance(head, RulesHead):
        raise config_error(problems, file, fix=FIX)
    waivers = tuple(entry.waiver() for entry in head.waivers)
    return RuleSet(head.table, tuple(sound_rule for sound_rule in rules if sound_rule is not None), waivers, file)


def rules_schema() -> dict[str, object]:
    """The JSON Schema of a rules file, draft 2020-12, for editors."""
    schema = RulesFile.model_json_schema(mode="validation")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "rules file of hudi-reconcile",
    }


# --- helpers ---


def _rule(document: Document, index: int, raw: object, file: str) -> tuple[Rule | None, list[Problem]]:
    here: Location = ("rules", index)
    line = document.find_line(here)
    if not isinstance(raw, dict):
        return None, [Problem(line, here, "expected a mapping such as {id: r-1, check: not_null, column: c}")]
    kind = raw.get("check")
    model = RULES.get(kind) if isinstance(kind, str) else None
    if model is None:
        legal = tuple(RULES)
        where = document.find_line((*here, "check"))
        if kind is None:
            return None, [Problem(where, (*here, "check"), f"is missing (legal: {' | '.join(legal)})")]
        close = suggest_name(str(kind).lower(), legal)
        return None, [
            Problem(where, (*here, "check"), f"expected {' | '.join(legal)}, found {shorten(str(kind))!r}{close}")
        ]
    entry, problems = _entry(document, here, model, file)
    return (None if entry is None else entry.rule()), problems


def _entry(document: Document, here: Location, model: type[Any], file: str) -> tuple[Any | None, list[Problem]]:
    """What stands at a place as a section of the model, or what is wrong with it."""
    assert issubclass(model, Section)
    try:
        return model.model_validate(document.find_value(here), context=Place(file, Path())), []
    except ValidationError as error:
        problems = locate_problems(error, document.enter(here), model)
        return None, [replace(problem, location=(*here, *problem.location)) for problem in problems]


def _list_entries(values: object, key: str = "rules") -> list[object]:
    entries = values.get(key) if isinstance(values, dict) else None
    return entries if isinstance(entries, list) else []


def _cross_problems(document: Document, table: str | None) -> Iterator[Problem]:
    """Ids are unique, waivers name rules, and the file is the table's own."""
    values = document.values
    own = values.get("table") if isinstance(values, dict) else None
    if table is not None and isinstance(own, str) and own != table:
        text = f"is {shorten(own)!r}, but reconcile.yaml names this file for the table {table!r}"
        yield Problem(document.find_line(("table",)), ("table",), text)
    seen: dict[str, int] = {}
    for index, raw in enumerate(_list_entries(values)):
        name = raw.get("id") if isinstance(raw, dict) else None
        if not isinstance(name, str):
            continue
        place: Location = ("rules", index, "id")
        if name.lower() in seen:
            text = f"is the id of the rule on line {seen[name.lower()]} already; case does not count"
            yield Problem(document.find_line(place), place, text)
        seen.setdefault(name.lower(), document.find_line(place))
    ids = dict.fromkeys(
        raw["id"] for raw in _list_entries(values) if isinstance(raw, dict) and isinstance(raw.get("id"), str)
    )
    unknown_count = 0
    for index, raw in enumerate(_list_entries(values, "waivers")):
        name = raw.get("rule") if isinstance(raw, dict) else None
        if isinstance(name, str) and name not in ids:
            place, unknown_count = ("waivers", index, "rule"), unknown_count + 1
            close = suggest_name(name.lower(), tuple(ids)) if unknown_count <= MOST_SHOWN else ""
            yield Problem(document.find_line(place), place, f"there is no rule {shorten(name)!r}{close}")
