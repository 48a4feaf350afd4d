"""The values that a rules file holds, as values of the lake's column. Pure: Spark's type texts in, Python values out.

Nothing is guessed: a value that the column's type cannot hold exactly is a named error.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation

from hudi_reconcile.core.rules import Scalar

INTEGRAL = frozenset({"tinyint", "smallint", "int", "bigint"})
FLOATING = frozenset({"float", "double"})
CLOCKS = frozenset({"timestamp", "timestamp_ntz"})
_MOST_DIGITS = 38  # of a Spark decimal

Typed = str | int | bool | float | Decimal | date | datetime


def typed(value: Scalar, spark_type: str) -> Typed:
    """The value for a column of a type.

    Raises:
        ValueError: it is no value of that type.

    >>> typed("2026-01-02", "date"), typed(3, "decimal(10,2)"), typed(7, "string")
    (datetime.date(2026, 1, 2), Decimal('3'), '7')
    """
    if spark_type == "boolean":
        if not isinstance(value, bool):
            raise ValueError("the column is boolean, a value of the rule is neither true nor false")
        return value
    if spark_type == "string":
        return ("true" if value else "false") if isinstance(value, bool) else _plain(value)
    if isinstance(value, bool):
        raise ValueError(f"the column is {spark_type}, a value of the rule is true or false")
    if spark_type in INTEGRAL or spark_type in FLOATING or spark_type.startswith("decimal("):
        return _number(value, spark_type)
    if spark_type == "date":
        return _parsed(value, spark_type, date.fromisoformat)
    if spark_type in CLOCKS:
        return _parsed(value, spark_type, _moment)
    raise ValueError(f"the column is {spark_type}, which this check cannot compare: use check: sql")


def literal(value: Typed, spark_type: str) -> str:
    """The value as a Spark SQL literal that no session setting changes."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        kind = "timestamp_ntz" if spark_type == "timestamp_ntz" else "timestamp"
        zone = "" if kind == "timestamp_ntz" else "Z"
        return f"{kind}'{value.isoformat(sep=' ', timespec='microseconds')}{zone}'"
    if isinstance(value, date):
        return f"date'{value.isoformat()}'"
    if isinstance(value, float):
        return f"cast('{value!r}' as double)"
    if isinstance(value, int | Decimal):
        text = _plain(value)
        return f"{text}BD" if len(text.lstrip("-").replace(".", "")) <= _MOST_DIGITS else f"cast('{text}' as double)"
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _number(value: Scalar, spark_type: str) -> Typed:
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"the column is {spark_type}, a value of the rule is no number") from None
    if not found.is_finite():
        raise ValueError(f"the column is {spark_type}, a value of the rule is not finite")
    return float(found) if spark_type in FLOATING else found


def _parsed(value: Scalar, spark_type: str, parse: Callable[[str], date]) -> Typed:
    try:
        return parse(str(value).strip())
    except ValueError:
        example = "2026-03-01" if spark_type == "date" else "2026-03-01T10:00:00Z"
        raise ValueError(f"the column is {spark_type}, a value of the rule is none: write it as {example}") from None


def _moment(text: str) -> datetime:
    """A clock's time without zone: UTC where the text says a zone."""
    found = datetime.fromisoformat(text)
    return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)


def _plain(value: str | int | Decimal) -> str:
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
