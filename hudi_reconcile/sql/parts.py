"""SQL of a read in parts: the predicate of each, and the statement that samples keys. Pure text, sends nothing.

The predicates of a range name `hr_k`, the key column itself, so that its index can serve them: the columns that are read may
be casts of it.
"""

from __future__ import annotations

from hudi_reconcile.core.key_values import edge_text, micros_of
from hudi_reconcile.core.kinds import CALENDAR_KINDS, Column, Kind
from hudi_reconcile.core.parts import KeyValue, Part, Parts
from hudi_reconcile.sql import statements
from hudi_reconcile.sql.dialect import Dialect

KEY = "hr_k"
ALL = "1 = 1"


def rows_query(dialect: Dialect, table: str, columns: tuple[Column, ...], key: Column, where: tuple[str, ...]) -> str:
    """SELECT of the columns, with the key column itself as the last one."""
    select = f"{statements.select_list(dialect, columns)}, {dialect.quote(key.name)} as {KEY}"
    return f"select {select} from {table}{statements.where(where)}"


def predicates(dialect: Dialect, plan: Parts, key: Column, named: tuple[tuple[str, Column], ...]) -> tuple[str, ...]:
    """One predicate per part: each row fits exactly one. `named` are the key's columns as the query calls them."""
    if plan.how == "whole":
        return (ALL,)
    if plan.how == "range":
        return tuple(range_predicate(dialect, key, part) for part in plan.parts)
    shares = [dialect.hash_predicate(named, share, len(plan.parts)) for share in range(len(plan.parts))]
    found = tuple(share for share in shares if share is not None)
    if len(found) != len(plan.parts):
        raise ValueError(f"{dialect.NAME} has no hash to make shares of")
    return found


def range_predicate(dialect: Dialect, key: Column, part: Part) -> str:
    """Keys of `[low, high)`; NULL where the part says so. Both ends open: every row."""
    ends = [(">=", part.low), ("<", part.high)]
    tests = [f"{KEY} {sign} {edge_literal(dialect, key, value)}" for sign, value in ends if value is not None]
    if not tests:
        return ALL
    inside = " and ".join(tests)
    return f"({inside}) or {KEY} is null" if part.nulls else inside


def edge_literal(dialect: Dialect, key: Column, value: KeyValue) -> str:
    """An edge as a literal of the key's type."""
    if isinstance(value, int) and key.kind in CALENDAR_KINDS:
        return dialect.literal(key, micros_of(key, value))
    text = edge_text(key, value)
    if key.kind in (Kind.INTEGER, Kind.DECIMAL):
        return text
    return "'" + text.replace("'", "''") + "'"


def sample_query(
    dialect: Dialect, table: str, key: Column, where: tuple[str, ...], *, one_in: int, suffix: str = ""
) -> str | None:
    """One of so many keys, as text `hr_key`, chosen by a hash of the key: no stretch of keys is preferred.

    `suffix` is the table's own sampling clause where it has one. None where the dialect knows no way.
    """
    name = dialect.quote(key.name)
    tests = [*where, f"{name} is not null"]
    if not suffix and one_in > 1:
        share = dialect.hash_predicate(((name, key),), 0, one_in)
        if share is None and key.kind is not Kind.INTEGER:
            return None
        tests.append(f"mod({name}, {one_in}) = 0" if share is None else share)
    return f"select {dialect.text(name)} as hr_key from {table}{suffix}{statements.where(tuple(tests))}"
