"""A statement as a log may show it: its words and names, and `?` for every value. Pure.

Where it is not certain what a database takes for a value, the rest of the statement is left out: after a backslash within
quotes (some servers escape with it), a comment (it may hold a quote, and where it ends is the server's to say), dollar quotes.
"""

from __future__ import annotations

import re

from hudi_reconcile.sql.reads import hide_keys

_MOST_CHARS = 2_000
_LEFT_OUT = "…"
_QUOTES = "'\"`"
_KEYS = "/* keys */"
_WORD = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"\d[\w.]*")
_DOUBTFUL = ("--", "/*", "#", "$", "\\")


def hide_values(statement: str, name_quote: str) -> str:
    """The statement in one line, without any literal. `name_quote` is what names are quoted with: `"` or a backtick.

    >>> hide_values("select `it's`, 7 from t where d >= date '2026-01-02' and x = 'a''b'", "`")
    "select `it's`, ? from t where d >= date ? and x = ?"
    >>> hide_values("select 1 from t where x = 'a' -- don't", '"')
    'select ? from t where x = ? …'
    """
    text, at, pieces = " ".join(hide_keys(statement).split()), 0, list[str]()
    while at < len(text):
        shown, end = _next(text, at, name_quote)
        pieces.append(shown)
        at = end
    whole = "".join(pieces)
    return whole if len(whole) <= _MOST_CHARS else whole[:_MOST_CHARS] + _LEFT_OUT


def _next(text: str, at: int, name_quote: str) -> tuple[str, int]:
    """What is shown of the next piece of the text, and where the one after it begins."""
    if text[at] in _QUOTES:
        return _read_quoted(text, at, is_name=text[at] == name_quote)
    if text.startswith(_KEYS, at):
        return _KEYS, at + len(_KEYS)
    if text.startswith(_DOUBTFUL, at):
        return _LEFT_OUT, len(text)
    if word := _WORD.match(text, at):
        return word[0], word.end()
    if number := _NUMBER.match(text, at):
        return "?", number.end()
    return text[at], at + 1


def _read_quoted(text: str, at: int, *, is_name: bool) -> tuple[str, int]:
    """A name as it is, anything else as `?`; a quote within is doubled. One that does not end may be part of a cut statement."""
    quote, end = text[at], at + 1
    while (end := text.find(quote, end)) >= 0 and text.startswith(quote * 2, end):
        end += 2
    inside = text[at + 1 : end if end >= 0 else len(text)]
    if end < 0 or "\\" in inside:
        return f"?{_LEFT_OUT}", len(text)
    return (f"{quote}{inside}{quote}" if is_name else "?"), end + 1
