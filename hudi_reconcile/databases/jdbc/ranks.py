"""Keys cut by their rank in the database's own order, as SQL: the statement that ranks them, and the predicate of each part.

A database may sort text by a language's rules, of which Python and Spark know nothing, and may even compare it by other rules
than it sorts it. So keys are ranked, and edges compared, at the database alone; and a row belongs to the part before the first
edge that it lies below, whatever order the edges have: to exactly one, NULL or not. Pure text, sends nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from hudi_reconcile.core.tables.key_encoding import convert_to_micros, parse_key
from hudi_reconcile.core.tables.kinds import CALENDAR_KINDS, Column, Kind
from hudi_reconcile.databases.jdbc.products import Product
from hudi_reconcile.sql import reads
from hudi_reconcile.sql.dialect import Dialect

Edge = tuple[str, ...]  # a literal for each key column

_NUMBERS = frozenset({Kind.INTEGER, Kind.DECIMAL, Kind.NUMBER})
_ALIKE = _NUMBERS | {Kind.DATE, Kind.TIMESTAMP}  # sorted and compared by one rule in every database
_TEXT_CHARS = 200


class KeyRanks:
    """How one product ranks keys; implements `sql/dialect.py:Ranks`."""

    def __init__(self, dialect: Dialect, product: Product) -> None:
        self._dialect = dialect
        self._product = product

    def columns(self, key: tuple[Column, ...]) -> tuple[Column, ...]:
        """The first key columns, as far as their values can be named in SQL; empty where not even the first can."""
        return tuple(itertools.takewhile(lambda column: column.kind in self._product.keys.kinds, key))

    def query(
        self, table: str, key: tuple[Column, ...], where: tuple[str, ...], *, step: int, sieve: str | None
    ) -> str:
        """SELECT of each `step`-th key in the database's own order, one column `hr_0, hr_1, …` per key column.

        Keys whose first column is NULL are left out. With a `sieve` only rows that it lets through are ranked.
        """
        names = [self._dialect.quote(column.name) for column in key]
        inner = [f"{name} as hr_s{index}" for index, name in enumerate(names)]
        tests = (*where, *(() if sieve is None else (sieve,)), f"{names[0]} is not null")
        source = f"(select {', '.join(inner)} from {table}{reads.where_clause(tests)}) hr_s"
        order = ", ".join(f"hr_s{index}" for index in range(len(key)))
        ranked = self._product.keys.rank.format(shown=order, order=order, source=source)
        shown = [f"{self._show_key(f'hr_s{index}', column)} as hr_{index}" for index, column in enumerate(key)]
        every = self._product.keys.modulo.format(a="hr_rank", b=step)
        return f"select {', '.join(shown)} from ({ranked}) hr_r where {every} = 0 order by hr_rank"

    def edge(self, key: tuple[Column, ...], row: Mapping[str, Any]) -> Edge | None:
        """A ranked key as literals; None where a part of it is NULL or is nothing that a literal can say."""
        literals = [self._literal(column, row[f"hr_{index}"]) for index, column in enumerate(key)]
        edge = tuple(literal for literal in literals if literal is not None)
        return edge if len(edge) == len(literals) else None

    def predicate(self, key: tuple[Column, ...], edges: tuple[Edge, ...], part: int) -> str:
        """The rows of one part: below its edge, and below none before.

        The key's columns are called `hr_k`, `hr_k1`, `hr_k2` and so on. The first one is bounded in addition: that changes
        nothing, and lets an index serve the part.
        """
        if not edges:
            return reads.ALL
        low, high = edges[part - 1] if part else None, edges[part] if part < len(edges) else None
        if len(key) == 1 and key[0].kind in _ALIKE:
            return _test_between(low, high, "<") if part else f"{_test_between(low, high, '<')} or {reads.KEY} is null"
        tests = " ".join(f"when {_test_below(edge)} then {index}" for index, edge in enumerate(edges[: part + 1]))
        mine = f"case {tests} else {len(edges)} end = {part}"
        bounds = _test_between(low, high, "<=")
        return f"{mine} and {bounds}" if high is not None else f"{mine} and ({bounds} or {reads.KEY} is null)"

    def _show_key(self, name: str, column: Column) -> str:
        if column.kind in CALENDAR_KINDS and column.kind in self._product.by_text:
            return self._product.texts.plain.format(c=name)  # its driver alters the typed value
        return name

    def _literal(self, column: Column, value: object) -> str | None:
        if value is None:
            return None
        text = str(value)
        if column.kind in _NUMBERS:
            return _digits(text)
        if column.kind in CALENDAR_KINDS:
            day = text[:10] if column.kind is Kind.DATE else text
            key_value = parse_key(column, day)
            return (
                self._dialect.literal(column, convert_to_micros(column, key_value))
                if isinstance(key_value, int)
                else None
            )
        quoted = "'" + text[:_TEXT_CHARS].replace("'", "''") + "'"
        return self._product.literals.mark_text(quoted) if reads.is_plain(text) else None


def _digits(text: str) -> str | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return f"{number:f}" if number.is_finite() else None


def _name(index: int) -> str:
    return f"{reads.KEY}{index}" if index else reads.KEY


def _test_below(edge: Edge) -> str:
    """Keys before the edge, column by column; a NULL is below nothing.

    >>> _test_below(("5", "'a'"))
    "hr_k < 5 or (hr_k = 5 and hr_k1 < 'a')"
    """
    last = len(edge) - 1
    test = f"{_name(last)} < {edge[last]}"
    for index in reversed(range(last)):
        test = f"{_name(index)} < {edge[index]} or ({_name(index)} = {edge[index]} and {_group_test(test)})"
    return test


def _group_test(test: str) -> str:
    return f"({test})" if " or " in test else test


def _test_between(low: Edge | None, high: Edge | None, less: str) -> str:
    tests = [(f"{reads.KEY} >= {low[0]}" if low else ""), (f"{reads.KEY} {less} {high[0]}" if high else "")]
    return " and ".join(test for test in tests if test)
