"""PURE: what is wrong with a config, one sentence a problem: the key, what is legal there, the nearest spelling.

Values are repeated only where no secret can stand: a wrong value of a plain key, never one that came from a reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import get_origin

from pydantic import ValidationError

from hudi_reconcile.config.fields import Location, Section
from hudi_reconcile.config.partial import find_section
from hudi_reconcile.config.yaml_document import Document, Problem
from hudi_reconcile.core.errors import ConfigError, suggest_name

FIX = "correct the lines above, then: hudi-reconcile config validate"
# Keys whose values may hold credentials, whatever their parent.
_NEVER_REPEATED = frozenset({"url", "password", "jdbc", "conf", "options", "where", "query", "audit", "copy_to"})
_LONGEST_REPEATED = 60
_LONGEST_KEY = 200
MOST_SHOWN = 200
UNKNOWN_KEY = "unknown key"

_EXPECTED = {
    "string_type": "expected text; put it in quotes",
    "dataclass_exact_type": "expected text, such as ${env:NAME}; put it in quotes",
    "dataclass_type": "expected text, such as ${env:NAME}; put it in quotes",
    "int_type": "expected a whole number",
    "bool_type": "expected true or false",
    "tuple_type": "expected a list, such as [a, b]",
    "dict_type": "expected a mapping (key: value)",
    "model_type": "expected a mapping (key: value)",
    "string_too_short": "must not be empty",
    "is_instance_of": "expected text",
    "path_type": "expected text, a path",
}


def find_fatal_problems(document: Document) -> list[Problem]:
    """What makes all further messages pointless: no mapping at all, or a version that may mean other keys."""
    if document.values is None and document.problems:
        return document.problems
    if not isinstance(document.values, dict):
        return [Problem(document.find_line(()), (), "expected a mapping that starts with `version: 1`")]
    version = document.values.get("version", 1)
    if type(version) is not int or version != 1:
        return [Problem(document.find_line(("version",)), ("version",), "this release knows version 1 only")]
    return []


def config_error(problems: list[Problem], file: str, *, fix: str = FIX) -> ConfigError:
    """All problems of one file as one error, in the order of its lines."""
    entries = ((problem.line, key_text(problem.location), problem.text) for problem in problems)
    return join_problems(entries, file, fix=fix)


def locate_problems(error: ValidationError, document: Document, model: type[Section]) -> Iterator[Problem]:
    """The problems that validation found, each on the line of its key, in the order of the lines.

    Those beyond the first `MOST_SHOWN` are yielded without their sentence, which nobody will read and which takes its time.
    """
    entries = []
    for line in error.errors(include_url=False, include_input=False, include_context=False):
        location = tuple(step for step in line["loc"] if step != "[key]")
        entries.append((document.find_line(location), location, line["type"], line["msg"]))
    entries.sort(key=lambda entry: entry[0])
    for place, location, kind, message in entries[:MOST_SHOWN]:
        yield Problem(place, location, _sentence(kind, message, location, (document, model)))
    for place, location, kind, _ in entries[MOST_SHOWN:]:
        yield Problem(place, location, UNKNOWN_KEY if kind == "extra_forbidden" else "")


def join_problems(problems: Iterable[tuple[int, str, str]], file: str, *, fix: str) -> ConfigError:
    """Problems (line, key, text) of one file as one error, in the order of its lines, each once; `MOST_SHOWN` in words."""
    ordered = sorted(problems, key=lambda problem: problem[0])
    lines = dict.fromkeys(
        f"{file}:{line}: {shorten(key)}: {text}" if key else f"{file}:{line}: {text}"
        for line, key, text in ordered[:MOST_SHOWN]
    )
    return ConfigError(tuple(lines), fix=fix, more=max(0, len(ordered) - MOST_SHOWN))


def shorten(text: str) -> str:
    """The text, cut where it is too long for a message: a key or a value may be as long as the file."""
    return text if len(text) <= _LONGEST_KEY else f"{text[:_LONGEST_KEY]}…"


def key_text(location: Location) -> str:
    """A key's place as people read it: `tables[0].pull.strategy`."""
    text = ""
    for step in location:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


# --- helpers ---


def _sentence(kind: str, message: str, location: Location, context: tuple[Document, type[Section]]) -> str:
    document, model = context
    if kind == "extra_forbidden":
        legal = tuple(legal_keys(model, location[:-1]))
        return f"{UNKNOWN_KEY}{suggest_name(str(location[-1]).lower(), legal)} (legal: {', '.join(legal)})"
    if kind == "missing":
        return "is missing; start the file with `version: 1`" if location == ("version",) else "is missing"
    value_text = _describe_value(document, location)
    if kind == "literal_error":
        legal = tuple(
            word.strip("'") for word in message.removeprefix("Input should be ").replace(" or ", ", ").split(", ")
        )
        value = document.find_value(location)
        close = suggest_name(value.lower(), legal) if isinstance(value, str) and value_text else ""
        return f"expected {' | '.join(legal)}{value_text}{close}"
    if kind == "rule":
        return f"{message}{value_text}" if message.startswith(("not a", "must be", "more than")) else message
    if kind in ("model_type", "dict_type") and isinstance(document.find_value(location), str):
        # A whole URL, or a password on the wrong line, may stand here.
        value_text = ", found text"
    return f"{_EXPECTED.get(kind, message.replace('Input should', 'must'))}{value_text}"


def _describe_value(document: Document, location: Location) -> str:
    value = document.find_value(location)
    if value is None:
        return "" if not document.is_given(location) else ", found nothing"
    if not _NEVER_REPEATED.isdisjoint(str(step) for step in location):
        return ""
    if isinstance(value, bool):
        return f", found {str(value).lower()}"
    if isinstance(value, str):
        return "" if "${" in value or len(value) > _LONGEST_REPEATED else f", found {value!r}"
    shown = str(value) if isinstance(value, int | float) else ""
    return f", found {shown}" if 0 < len(shown) <= _LONGEST_REPEATED else ""


def legal_keys(model: type[Section], location: Location) -> Iterator[str]:
    """The keys that a section of the config may hold."""
    here, is_name = model, False
    for step in location:
        field = here.model_fields.get(step) if isinstance(step, str) and not is_name else None
        # The keys of a mapping of sections are names.
        is_name = field is not None and get_origin(field.annotation) is dict
        if field is not None:
            here = find_section(field.annotation, field.metadata) or here
    yield from here.model_fields
