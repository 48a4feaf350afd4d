"""Windows of a pull as SQL: which rows lie in one, what stands next in its order, and what a pull cannot see. Pure text.

A row's watermark is the greatest of several columns that is not NULL; conditions are written per column, so that an
index on one can serve them: greatest > x means some column > x.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.pull.cursor import DAY_MICROS, Edge, Order, Value, Window
from hudi_reconcile.core.tables.kinds import CALENDAR_KINDS, Column, Kind
from hudi_reconcile.sql import reads
from hudi_reconcile.sql.dialect import Dialect

Columns = Mapping[str, Column]


def window_predicate(dialect: Dialect, window: Window, columns: Columns) -> str | None:
    """Rows that lie in the window; None where the window takes every row."""
    parts = []
    if window.lower is not None:
        parts.append(f"({_lower_end_predicate(dialect, window.order, columns, window.lower)})")
    if window.upper is not None:
        alone = len(window.order.columns) == 1 and window.lower is not None  # NULL is not above it anyway
        parts += _upper_end_predicate(dialect, window.order, columns, window.upper, alone=alone)
    return " and ".join(parts) or None


def equal_predicate(dialect: Dialect, order: Order, columns: Columns, value: Value) -> str:
    """Rows whose watermark is exactly this value."""
    same = _any_predicate(dialect, order, columns, "=", value)
    return (
        f"({same})"
        if len(order.columns) == 1
        else f"({same}) and {_all_predicate(dialect, order, columns, '<=', value)}"
    )


def place(dialect: Dialect, column: Column) -> str:
    """What stands for the column in a condition: its bare name, which an index serves, or what a system column means."""
    return dialect.read(column) if column.system else dialect.quote(column.name)


def marked_predicate(dialect: Dialect, order: Order, columns: Columns) -> str:
    """Rows that have a watermark."""
    return " or ".join(f"{place(dialect, columns[name])} is not null" for name in order.columns)


def unmarked_predicate(dialect: Dialect, order: Order, columns: Columns) -> str:
    """Rows that have none."""
    return " and ".join(f"{place(dialect, columns[name])} is null" for name in order.columns)


def greatest_query(dialect: Dialect, order: Order, columns: Columns) -> str:
    """The greatest watermark that is not NULL; databases do not agree on what SQL's `greatest` does with NULL."""
    watermark = place(dialect, columns[order.columns[0]])
    for name in order.columns[1:]:
        other = place(dialect, columns[name])
        watermark = f"case when {watermark} is null or {other} > {watermark} then {other} else {watermark} end"
    return watermark


def ahead_query(
    dialect: Dialect, table: str, value: Column, expression: str, *, predicates: tuple[str, ...], rows: int | None
) -> tuple[str, tuple[Column, ...]]:
    """Least, greatest and number of the next `rows` values, ascending; all of them without a number.

    Gives the columns that it selects: `c0` and `c1` are read as `value` is, `c2` is the count.
    """
    at = dialect.quote("hr_at")
    inner = f"select {expression} as {at} from {table}{reads.where_clause(predicates)}"
    if rows is not None:
        inner = dialect.limit_rows(f"{inner} order by {at}", rows)
    low, high, count = (dialect.quote(name) for name in ("hr_low", "hr_high", "hr_n"))
    summed = f"select min({at}) as {low}, max({at}) as {high}, count(*) as {count} from ({inner}) hr_p"
    counted = Column("hr_n", Kind.INTEGER, "bigint", bits=64, native="bigint")
    plain = replace(value, system=False)
    columns = (replace(plain, name="hr_low"), replace(plain, name="hr_high"), counted)
    return f"select {reads.select_list(dialect, columns)} from ({summed}) hr_e", columns


def _lower_end_predicate(dialect: Dialect, order: Order, columns: Columns, edge: Edge) -> str:
    mark, more = edge.mark, ">=" if edge.inclusive else ">"
    if order.id_column is None or (mark.id is None and edge.inclusive):
        return _any_predicate(dialect, order, columns, more, mark.value)
    name = dialect.quote(order.id_column)
    rest = f"{name} is not null" if mark.id is None else f"{name} {more} {_number(mark.id)}"
    same = _any_predicate(dialect, order, columns, "=", mark.value)
    return f"{_any_predicate(dialect, order, columns, '>', mark.value)} or (({same}) and {rest})"


def _upper_end_predicate(dialect: Dialect, order: Order, columns: Columns, edge: Edge, *, alone: bool) -> list[str]:
    mark, less = edge.mark, "<=" if edge.inclusive else "<"
    if order.id_column is None or (mark.id is None and not edge.inclusive):
        return [_all_predicate(dialect, order, columns, less, mark.value, alone=alone)]
    name = dialect.quote(order.id_column)
    rest = "" if mark.id is None else f" or {name} {less} {_number(mark.id)}"
    under = _all_predicate(dialect, order, columns, "<", mark.value, alone=alone)
    return [
        _all_predicate(dialect, order, columns, "<=", mark.value, alone=alone),
        f"(({under}) or {name} is null{rest})",
    ]


def _any_predicate(dialect: Dialect, order: Order, columns: Columns, operator: str, value: Value) -> str:
    return " or ".join(_test(dialect, columns[name], operator, value) for name in order.columns)


def _all_predicate(
    dialect: Dialect, order: Order, columns: Columns, operator: str, value: Value, *, alone: bool = False
) -> str:
    tests = {name: _test(dialect, columns[name], operator, value) for name in order.columns}
    if alone:
        return tests[order.columns[0]]
    return " and ".join(f"({place(dialect, columns[name])} is null or {test})" for name, test in tests.items())


def _test(dialect: Dialect, column: Column, operator: str, value: Value) -> str:
    # A date is written without the value's time of day: a page that ends at ten holds what stands at midnight.
    if column.kind is Kind.DATE and isinstance(value, int) and value % DAY_MICROS:
        if operator == "=":
            return "1 = 0"
        operator = {"<": "<=", ">=": ">"}.get(operator, operator)
    return f"{place(dialect, column)} {operator} {literal(dialect, column, value)}"


def literal(dialect: Dialect, column: Column, value: Value) -> str:
    """A watermark of the column's kind.

    Raises RefusedError for a text that some database would not read as itself: rows and the lake's commits hold any.
    """
    if column.kind in CALENDAR_KINDS and isinstance(value, int):
        return dialect.literal(column, value)
    if not isinstance(value, str):
        return _number(value)
    if not reads.is_plain(value):
        raise RefusedError(
            f"watermark {column.name} holds text with backslashes or control characters, which is no time",
            fix="write all watermarks as ISO text of one form, such as 2026-03-01T10:08:00.000Z, or choose another column",
        )
    return "'" + value.replace("'", "''") + "'"


def _number(value: int | Decimal) -> str:
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
