"""Rows that may have one of some keys: counted by the database itself, and read only where there are any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce

from pyspark.sql import DataFrame

from hudi_reconcile.core.keys import ASKED_AT_ONCE, Key
from hudi_reconcile.core.kinds import Column
from hudi_reconcile.core.values import SourceTable
from hudi_reconcile.ports import Frame, Named
from hudi_reconcile.source.engine import Engine
from hudi_reconcile.source.frames import JdbcRead
from hudi_reconcile.sql import statements
from hudi_reconcile.sql.keys import keys_predicate
from hudi_reconcile.sql.parts import ALL

Read = Callable[[JdbcRead, tuple[Column, ...]], DataFrame]


def named(
    engine: Engine, where: tuple[str, ...], table: SourceTable, keys: Sequence[Key], *, read: Read
) -> Named | None:
    """The rows counted; None where a key of these cannot be said in SQL. Only what holds rows is read."""
    tests = [
        keys_predicate(engine.dialect, table.key_columns, keys[first : first + ASKED_AT_ONCE])
        for first in range(0, len(keys), ASKED_AT_ONCE)
    ]
    counts = {}
    for test in tests:
        if test is None:
            return None
        counts[test] = int(engine.rows(statements.count_query(table.name, (*where, test)))[0]["hr_rows"])
    held = [test for test, rows in counts.items() if rows]
    return Named(sum(counts.values()), partial(_rows, engine, where, table, held, read))


def _rows(engine: Engine, where: tuple[str, ...], table: SourceTable, tests: Sequence[str], read: Read) -> Frame:
    columns = table.read_columns
    queries = [statements.rows_query(engine.dialect, table.name, columns, (*where, test)) for test in tests]
    return Frame(reduce(DataFrame.unionByName, [read(JdbcRead(query, (ALL,)), columns) for query in queries]))
