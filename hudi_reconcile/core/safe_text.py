"""Text of others made harmless: for terminals and CI servers, and without values of rows; and their JSON, of any shape. Pure.

Control characters, and those that reorder or hide what stands beside them, are escapes. GitHub takes lines that begin with
`::` for commands, GitHub `##[` and Azure `##vso[` wherever they stand in a line. The messages of Spark, of the drivers and
of Great Expectations hold values of rows, masked ones too: only names, grammar and places are repeated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from traceback import StackSummary, walk_tb
from typing import Any

from hudi_reconcile.core.errors import ReconcileError

# C0 but for tab and line end, DEL, C1; what reorders, joins or has no width; line separators; tags.
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_LOGGED_COMMAND = re.compile(r"##(?=\[|vso\[)", re.IGNORECASE)
_COMMAND = re.compile(r"^([^\S\n]*)(?=::)", re.MULTILINE)


def defuse_commands(text: str) -> str:
    r"""The text without a line that a CI server takes for a command of ours: GitHub obeys lines that begin with `::`.

    >>> defuse_commands("why: x\n  ::stop-commands::y")
    'why: x\n  | ::stop-commands::y'
    """
    return _COMMAND.sub(r"\1| ", text)


def escape_controls(text: str) -> str:
    r"""The text with such characters as escapes, and no command of a log within a line; line ends and tabs stay.

    >>> escape_controls("a\x1b[31mb ##[add-mask]c")
    'a\\x1b[31mb # #[add-mask]c'
    """
    text = _LOGGED_COMMAND.sub("# #", text)
    return _OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def escape_json(text: str) -> str:
    r"""JSON, or a part of it, with those characters escaped that JSON lets pass: it says the same.

    >>> escape_json('"a\u202eb ##vso[c"')
    '"a\\u202eb \\u0023#vso[c"'
    """
    text = _LOGGED_COMMAND.sub(r"\\u0023#", text)
    return _OBEYED.sub(lambda match: json.dumps(match[0])[1:-1], text)


# Names of settings that hold secrets, those of the stores of docs/object-stores.md among them; as Python's and Java's regular
# expressions both read them.
HIDDEN_SETTINGS = (
    r"password|passwd|passphrase|pwd|secret|token|credential|sas\b|\.key\b"
    r"|(?:access|account|api|encryption|private|shared)[._-]?key"
)
UNREADABLE = "a value could not be read as its type"
HIDDEN = "it says why in its own log; here that could show values of rows"
# Data exceptions, broken constraints, and what somebody's own function raises: their texts quote values.
_QUOTING_STATES = ("22", "23", "27", "44", "P0", "38", "39", "45")
# No such table, no such column (ISO 9075's, PostgreSQL's, Derby's): their texts quote that name.
_NAMING_STATES = ("42S02", "42S22", "42P01", "42703", "42X04", "42X05")
# What stands in quotes after these is a name, or a word of the statement that was sent.
_NAMES = re.compile(
    r"(?:\(conn=\d+\) )?(?:(?:ERROR|FATAL|PANIC): )?(?:"
    r"(?:missing FROM-clause entry for |must be owner of |permission denied (?:for|to)|cannot open|unrecognized|syntax error|"
    r"password authentication|no pg_hba|role|database|schema|relation|table|column|function|operator|type|view|sequence|"
    r"collation|extension|language|access method)\b(?! .*\b(?:values?|input|out of range)\b)"
    r"|(?:You have an error in your SQL syntax|Unknown (?:column|database|table|system variable)|Table |Access denied|"
    r"SELECT command denied|FUNCTION |View ))"
)
# Said of what we sent, not of a row, under states of which the texts quote values elsewhere.
_KNOWN = re.compile(r"(?:ERROR: )?(?:invalid snapshot identifier|could not import the requested snapshot)\b")
_QUOTED = re.compile(r"""(?<![^\s:(=,])["'].*""", re.DOTALL)


def redact_message(reason: str, *, state: str = "", kind: str = "", whole: str = "") -> str:
    """The message, without what it may quote of a row.

    `reason` is its first line, `state` the SQLSTATE and `kind` the class of the driver's exception where they are known,
    `whole` the text that the reason was taken from.

    >>> redact_message('ERROR: relation "orders" does not exist')
    'ERROR: relation "orders" does not exist'
    >>> redact_message('ERROR: invalid input syntax for type integer: "Ann"')
    'ERROR: invalid input syntax for type integer: …'
    """
    if known := _KNOWN.match(reason):
        return known.group()
    if state.startswith("22") or "DataException" in kind:
        return UNREADABLE
    if state.startswith(_QUOTING_STATES) or "IntegrityConstraint" in kind or re.search(r"\bat RAISE\b", whole):
        return HIDDEN
    names = state in _NAMING_STATES or _NAMES.match(reason)
    return reason if names else _QUOTED.sub("…", reason)


# What these say is about code or files.
_TELLING = (AttributeError, ImportError, NameError, NotImplementedError, OSError, TypeError)
_PLACE = re.compile(r"""^\s+(?:at [\w.$<>/()\-: ]+|File "[^"]*", line \d+, in [\w<>]+)$""")
_CAUSE = re.compile(r"^\s*((?:Caused by: )?[\w.$]+\.\w*(?:Error|Exception))\b")
_MOST_LINES = 80


def describe_trace(error: BaseException) -> str:
    """The chain of exceptions, the first cause first, each with its places and its class; words only where they are of code."""
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    before = "" if earlier is None or earlier is error else f"{describe_trace(earlier)}then:\n"
    frames = StackSummary.extract(walk_tb(error.__traceback__))
    places = "".join(f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}\n' for frame in frames)
    kind = type(error)
    own = isinstance(error, ReconcileError) or (kind.__module__ == "builtins" and isinstance(error, _TELLING))
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    return f"{before}{places}{name}{f': {error}' if own else ''}\n{extract_places(read_message(error))}"


def read_message(error: BaseException) -> str:
    """An error's own words; nothing where they cannot be had: those of Java's errors are asked of a JVM that may be gone."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - of whatever class: it is about an error that is told of anyway
        return ""


def extract_places(text: str) -> str:
    r"""The places and classes of a Java or Python stack trace within a text; nothing of what its exceptions say.

    >>> extract_places("An error: java.lang.X\nCaused by: a.BException: Ann\n\tat a.B.c(B.java:7)\nmore Ann")
    'Caused by: a.BException\n\tat a.B.c(B.java:7)\n'
    """
    places = []
    for line in text.splitlines():
        if _PLACE.match(line):
            places.append(line)
        elif cause := _CAUSE.match(line):
            places.append(cause.group(1))
    return "".join(f"{line}\n" for line in places[:_MOST_LINES])


def parse_json(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: no JSON, an integer of more digits than Python reads, or nested deeper than it can follow.

    >>> parse_json('{"a": [1]}')
    {'a': [1]}
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def list_avro_fields(schema: str) -> Iterator[tuple[str, list[Any]]]:
    """The fields of an Avro record schema, each with the types of its union; nothing of a text that is none.

    >>> list(list_avro_fields('{"fields": [{"name": "a", "type": ["null", "int"]}, {"name": "b", "type": "string"}, 3]}'))
    [('a', ['null', 'int']), ('b', ['string'])]
    """
    document: Any = None
    with suppress(ValueError):  # then nothing is known of any field
        document = parse_json(schema)
    fields = document.get("fields") if isinstance(document, dict) else None
    for field in fields if isinstance(fields, list) else ():
        if isinstance(field, dict) and isinstance(field.get("name"), str) and "type" in field:
            types = field["type"]
            yield field["name"], types if isinstance(types, list) else [types]
