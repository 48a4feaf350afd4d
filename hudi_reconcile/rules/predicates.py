"""Which rows break a rule, as Spark columns: one definition for what Great Expectations counts and for what we name.

A predicate is true where a row breaks the rule, and false where it holds or the value is NULL. Values of a rules file are
those of the lake's column: one that the column's type cannot hold exactly is a named error.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from hudi_reconcile.core.rules.rules import InSet, Matches, NotNull, OnBatch, Scalar, Unique, ValueRange
from hudi_reconcile.sql.spark_text import quote_name

_COPIES = "_hr_copies"
_WIDE = "decimal(38,18)"


def build_column(name: str) -> Column:
    """A column by its name, whatever characters it holds."""
    return F.col(quote_name(name))


def read_type(rows: DataFrame, column: str) -> str:
    """The column's Spark type text."""
    return rows.schema[column].dataType.simpleString()


def select_broken(rows: DataFrame, check: OnBatch) -> DataFrame | None:
    """The rows that break a check; None for a check that only its own engine understands (sql, gx).

    Raises:
        ValueError: a value of the rule is none of the column's type.
    """
    if isinstance(check, Unique):
        whole = rows.where(are_present(check.columns))
        together = Window.partitionBy(*[build_column(column) for column in check.columns])
        return whole.withColumn(_COPIES, F.count(F.lit(1)).over(together)).where(F.col(_COPIES) > 1).drop(_COPIES)
    breach = flag_breach(rows, check)
    return None if breach is None else rows.where(breach)


def flag_breach(rows: DataFrame, check: OnBatch) -> Column | None:
    """True where a row breaks a check on single rows, false or NULL where not; None for any other check."""
    match check:
        case NotNull(column):
            return build_column(column).isNull()
        case ValueRange(column):
            return ~is_in_range(rows, check) & build_column(column).isNotNull()
        case InSet(column, values):
            return ~build_column(column).isin(convert_members(rows, column, values))
        case Matches(column, regex):
            return ~build_column(column).rlike(regex)
        case _:
            return None


def are_present(columns: tuple[str, ...]) -> Column:
    """True where none of the columns is NULL."""
    condition = F.lit(True)
    for column in columns:
        condition = condition & build_column(column).isNotNull()
    return condition


def convert_members(rows: DataFrame, column: str, values: tuple[Scalar, ...]) -> list[Any]:
    """The values of a set in the column's type; times as Spark columns, which no session zone shifts."""
    kind = read_type(rows, column)
    members = [cast_value(value, kind) for value in values]
    return [F.expr(write_literal(member, kind)) for member in members] if kind in CLOCKS else members


def is_in_range(rows: DataFrame, check: ValueRange) -> Column:
    """True where the value lies between the ends, false where not, NULL where it is NULL.

    Texts are compared with numbers as numbers. Outside lie a text that is no number, NaN, which Spark puts above all numbers,
    and a text of more digits after the point than are compared, where those that are equal the end.
    """
    kind, value = read_type(rows, check.column), build_column(check.column)
    ends = [(check.min, "low"), (check.max, "high")]
    numeric = kind == "string" and not any(isinstance(end, str) for end, _ in ends)
    inside = F.lit(True)
    for end, side in ends:
        if end is None:
            continue
        if numeric:
            number = F.expr(write_literal(cast_value(end, _WIDE), _WIDE))
            inside = inside & F.when(value.isNotNull(), _is_text_within_end(check.column, number, side))
        else:
            inside = inside & _is_value_within_end(check.column, cast_value(end, kind), kind, side)
    return inside & ~F.isnan(value) if kind in FLOATING else inside


_FINER = r"\.\d{18}\d*[1-9]"  # than the scale of `_WIDE`, to which Spark rounds


def _is_text_within_end(column: str, end: Column, side: str) -> Column:
    wide, real = (F.expr(f"try_cast({quote_name(column)} as {form})") for form in (_WIDE, "double"))
    is_rounded = (wide == end) & build_column(column).rlike(_FINER)
    # What is too great for the wide form lies beyond every end, on the side of its sign.
    is_beyond = _is_within_end(real, F.lit(0.0), side) & ~F.isnan(real)
    return F.coalesce(_is_within_end(wide, end, side) & ~is_rounded, is_beyond, F.lit(False))


def _is_value_within_end(column: str, end: Typed, kind: str, side: str) -> Column:
    value = build_column(column)
    within = _is_within_end(value, _end(end, kind), side)
    if not isinstance(end, Decimal):
        return within
    # Spark brings both to the digits of the finer one: a value too great for that is NULL to it, and beyond every end.
    by_double = _is_within_end(value.cast("double"), F.lit(float(end)), side)
    return F.when(value.isNotNull(), F.coalesce(within, by_double))


def _end(value: Typed, kind: str) -> Column:
    """A text never goes through Spark's parser, which would put the environment in for `${env:NAME}`."""
    return F.lit(value) if isinstance(value, str) else F.expr(write_literal(value, kind))


def _is_within_end(value: Column, end: Column, side: str) -> Column:
    return value >= end if side == "low" else value <= end


INTEGRAL = frozenset({"tinyint", "smallint", "int", "bigint"})
FLOATING = frozenset({"float", "double"})
CLOCKS = frozenset({"timestamp", "timestamp_ntz"})
_MOST_DIGITS = 38  # of a Spark decimal

Typed = str | int | bool | float | Decimal | date | datetime


def cast_value(value: Scalar, spark_type: str) -> Typed:
    """The value for a column of a type.

    Raises:
        ValueError: it is no value of that type.

    >>> cast_value("2026-01-02", "date"), cast_value(3, "decimal(10,2)"), cast_value(7, "string")
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
        return _parse_value(value, spark_type, date.fromisoformat)
    if spark_type in CLOCKS:
        return _parse_value(value, spark_type, _moment)
    raise ValueError(f"the column is {spark_type}, which this check cannot compare: use check: sql")


def write_literal(value: Typed, spark_type: str) -> str:
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
        number = Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"the column is {spark_type}, a value of the rule is no number") from None
    if not number.is_finite():
        raise ValueError(f"the column is {spark_type}, a value of the rule is not finite")
    return float(number) if spark_type in FLOATING else number


def _parse_value(value: Scalar, spark_type: str, parse: Callable[[str], date]) -> Typed:
    try:
        return parse(str(value).strip())
    except ValueError:
        example = "2026-03-01" if spark_type == "date" else "2026-03-01T10:00:00Z"
        raise ValueError(f"the column is {spark_type}, a value of the rule is none: write it as {example}") from None


def _moment(text: str) -> datetime:
    """A clock's time without zone: UTC where the text says a zone."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def _plain(value: str | int | Decimal) -> str:
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
