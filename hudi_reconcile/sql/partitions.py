"""Which rows may lie in some partitions, as a predicate: a sieve in the database before Spark tells for sure. Pure text."""

from __future__ import annotations

from hudi_reconcile.core.kinds import TEXT_KINDS, Column, Kind
from hudi_reconcile.core.partitions import Between, Condition, Equals, IsEmpty, Near
from hudi_reconcile.sql.dialect import Dialect


def near_predicate(dialect: Dialect, near: Near) -> str:
    """Rows for which any of the conditions holds; rows of other partitions may be among them."""
    return " or ".join("(" + " and ".join(_one(dialect, part) for part in parts) + ")" for parts in near)


def _one(dialect: Dialect, condition: Condition) -> str:
    name = dialect.quote(condition.column.name)
    match condition:
        case IsEmpty(column):
            return f"({name} is null or {name} = '')" if _is_text(column) else f"{name} is null"
        case Equals(_, value):
            return f"{name} = {value}" if isinstance(value, int) else f"{name} = '{value}'"
        case Between(column, low, high):
            return f"{name} >= {dialect.literal(column, low)} and {name} < {dialect.literal(column, high)}"


def _is_text(column: Column) -> bool:
    return column.kind in TEXT_KINDS or column.kind is Kind.CHAR
