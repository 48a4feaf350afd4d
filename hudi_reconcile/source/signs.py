"""Signs, before a pull begins, that the watermark cannot be trusted: NULLs, a future, a fall below the checkpoint, no index."""

from __future__ import annotations

from hudi_reconcile.core.kinds import Column
from hudi_reconcile.core.marks import Edge, Mark, Order, Value
from hudi_reconcile.core.values import SourceTable
from hudi_reconcile.core.window import Window
from hudi_reconcile.ports import Signs
from hudi_reconcile.source.engine import Engine
from hudi_reconcile.source.request import TableRequest
from hudi_reconcile.sql import statements, windows
from hudi_reconcile.sql.parts import ALL


def signs(
    engine: Engine, request: TableRequest, table: SourceTable, order: Order, *, reached: Mark | None, now: Value | None
) -> Signs:
    """Ask only what can be: NULLs where a column may hold them, the greatest where no row stands at the checkpoint or above."""
    columns = _by_name(table)
    unmarked = future = 0
    if all(columns[name].nullable for name in order.columns):
        unmarked = _count(engine, request, table, windows.unmarked_predicate(engine.dialect, order, columns))
    if now is not None:
        above = windows.window_predicate(engine.dialect, Window(Order(order.columns), Edge(Mark(now))), columns)
        future = _count(engine, request, table, above or ALL)
    held, last = engine.indexes(request), order.id_column or order.columns[-1]
    return Signs(
        unmarked,
        future,
        None if reached is None else _fallen(engine, request, table, order, reached),
        None if held is None else bool(held.leading & set(order.columns)),
        1 if held is None else held.id_cache.get(last, 1),
    )


def _count(engine: Engine, request: TableRequest, table: SourceTable, predicate: str) -> int:
    return int(engine.rows(statements.count_query(table.name, (*request.predicates, predicate)))[0]["hr_rows"])


def _fallen(engine: Engine, request: TableRequest, table: SourceTable, order: Order, reached: Mark) -> str | None:
    """The greatest watermark as text where it lies below the checkpoint."""
    dialect, mine, columns = engine.dialect, request.predicates, _by_name(table)
    lower = Window(Order(order.columns), Edge(Mark(reached.value), inclusive=True))
    here = windows.window_predicate(dialect, lower, columns) or ALL
    some = f"select 1 as hr_one from {table.name}{statements.where((*mine, here))}"
    if engine.rows(dialect.limited(some, 1)):
        return None
    top = dialect.text(f"max({windows.greatest(dialect, order, columns)})")
    found = engine.rows(f"select {top} as hr_top from {table.name}{statements.where(mine)}")[0]["hr_top"]
    return None if found is None else str(found)


def _by_name(table: SourceTable) -> dict[str, Column]:
    return {column.name: column for column in table.read_columns}
