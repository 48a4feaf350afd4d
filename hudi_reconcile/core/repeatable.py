"""What of a database's message may be repeated: names and grammar, never what it quotes of a row. Pure."""

from __future__ import annotations

import re

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


def of_message(reason: str, *, state: str = "", kind: str = "", whole: str = "") -> str:
    """The message, without what it may quote of a row.

    `reason` is its first line, `state` the SQLSTATE and `kind` the class of the driver's exception where they are known,
    `whole` the text that the reason was taken from.

    >>> of_message('ERROR: relation "orders" does not exist')
    'ERROR: relation "orders" does not exist'
    >>> of_message('ERROR: invalid input syntax for type integer: "Ann"')
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
