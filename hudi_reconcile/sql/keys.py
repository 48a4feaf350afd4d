"""Rows by their keys as SQL: a predicate that holds for every row with one of some keys, and perhaps for others. Pure text.

It is the last question before a delete, so it may ask for too much and never for too little: a text is met as the column
compares, a time and a decimal by what lies around it. The keys stand between two marks, so that what is logged leaves them out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal

from hudi_reconcile.core.keys import Key
from hudi_reconcile.core.kinds import CALENDAR_KINDS, Column, Kind
from hudi_reconcile.sql.dialect import Dialect

_BEGIN, _END = "/* keys */", "/* end of keys */"
_MARKED = re.compile(re.escape(_BEGIN) + ".*" + re.escape(_END), re.DOTALL)
_WHOLE = re.compile(r"-?\d+\Z", re.ASCII)
_NUMBER = re.compile(r"-?\d+(\.\d+)?\Z", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.ASCII)
_EXACT = Context(prec=200)
_HEX = re.compile(r"([0-9A-F]{2})+\Z", re.ASCII)
_SECOND_MICROS, _DAY_MICROS = 1_000_000, 86_400_000_000


def keys_predicate(dialect: Dialect, columns: Sequence[Column], keys: Sequence[Key]) -> str | None:
    """Rows whose key may be one of these, in canonical texts; None where a key has no part that can be said in SQL."""
    if len(columns) == 1 and columns[0].kind is Kind.INTEGER:
        numbers = [part for (part,) in keys if part is not None and _WHOLE.match(part)]
        if len(numbers) == len(keys):
            return _marked(f"{dialect.quote(columns[0].name)} in ({', '.join(numbers)})")
    tests = [" and ".join(_parts(dialect, columns, key)) for key in keys]
    return _marked(" or ".join(f"({test})" for test in tests)) if tests and all(tests) else None


def without_keys(statement: str) -> str:
    """A statement as it may be logged.

    >>> without_keys("select 1 from t where (/* keys */ id in (7) /* end of keys */)")
    'select 1 from t where (/* keys */)'
    """
    return _MARKED.sub(_BEGIN, statement)


def _marked(tests: str) -> str:
    return f"{_BEGIN} {tests} {_END}"


def _parts(dialect: Dialect, columns: Sequence[Column], key: Key) -> Iterator[str]:
    for column, text in zip(columns, key, strict=True):
        test = f"{dialect.quote(column.name)} is null" if text is None else _test(dialect, column, text)
        if test is not None:
            yield test


def _test(dialect: Dialect, column: Column, text: str) -> str | None:
    """One part of a key; None where this kind, or this text, has no literal that is the same everywhere."""
    name = dialect.quote(column.name)
    if column.kind is Kind.INTEGER:
        return f"{name} = {text}" if _WHOLE.match(text) else None
    if column.kind in (Kind.DECIMAL, Kind.NUMBER):  # the lake may hold fewer digits than the source
        return _around(name, text) if _NUMBER.match(text) else None
    if column.kind in CALENDAR_KINDS:  # either side may hold fewer digits
        return _near(dialect, column, text) if _WHOLE.match(text) else None
    if column.kind is Kind.UUID:
        return f"{name} = '{text}'" if _UUID.match(text) else None
    if column.kind is Kind.BYTES and _HEX.match(text) and (said := dialect.bytes_literal(text)):
        return f"{name} = {said}"
    if column.kind in (Kind.TEXT, Kind.CHAR, Kind.OWN_TEXT) and _is_plain(text):
        return dialect.says(column, "'" + text.replace("'", "''") + "'")
    return None


def _around(name: str, text: str) -> str:
    # Added up here: a database's own sum may leave the type of its parts.
    low, high = (_EXACT.add(Decimal(text), step) for step in (-1, 1))
    return f"({name} > {low:f} and {name} < {high:f})"


def _near(dialect: Dialect, column: Column, text: str) -> str | None:
    name, at = dialect.quote(column.name), int(text)
    low, high = (at - _SECOND_MICROS, at + _SECOND_MICROS)
    if column.kind is Kind.DATE:
        low, high = at * _DAY_MICROS, (at + 1) * _DAY_MICROS
    try:
        return f"({name} >= {dialect.literal(column, low)} and {name} <= {dialect.literal(column, high)})"
    except OverflowError:  # beyond the year 9999
        return None


def _is_plain(text: str) -> bool:
    # Backslashes and control characters mean something to some literals, and '' is NULL to Oracle.
    return bool(text) and "\\" not in text and text.isprintable()
