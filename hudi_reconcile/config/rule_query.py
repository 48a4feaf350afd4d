"""PURE: what a query of a `sql` rule has to be. Spark has the last word; this tells it with file and line."""

from __future__ import annotations

import re

_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_FIRST_WORD = re.compile(r"[\s(]*([A-Za-z]+)")
_SELECTS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE"})


def with_batch(query: str) -> str:
    """The query. Raises ValueError for one that is none, or that does not ask `{batch}`."""
    first = _FIRST_WORD.match(_COMMENTS.sub(" ", query))
    if first is None or first.group(1).upper() not in _SELECTS:
        raise ValueError("no query: it begins with SELECT, WITH, FROM, VALUES or TABLE; a rule changes nothing")
    if "{batch}" not in query:
        raise ValueError("must select from {batch}, which stands for the table's rows")
    return query
