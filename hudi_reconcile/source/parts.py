"""Plans a read of one table: asks engine and catalog, lets `core/parts` decide, and writes the plan as SQL. Reads no row."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hudi_reconcile.core.kinds import Column
from hudi_reconcile.core.parts import Limits, Parts, PlannedPart, ReadPlan, Statistics, plan
from hudi_reconcile.core.segments import Segmentation
from hudi_reconcile.core.values import SourceTable
from hudi_reconcile.source.engine import Engine
from hudi_reconcile.source.statistics import Asked, gathered
from hudi_reconcile.sql import parts as sql
from hudi_reconcile.sql import statements


@dataclass(frozen=True, slots=True)
class Wanted:
    """A read: `where` are the configured predicates, `window` that of a pull; `hidden` columns may stand in no text."""

    table: SourceTable
    cut: Segmentation | None
    where: tuple[str, ...]
    window: str | None = None
    hidden: frozenset[str] = frozenset()


def planned(engine: Engine, wanted: Wanted, limits: Limits) -> ReadPlan:
    """How all rows of the read come, each exactly once."""
    table = wanted.table
    is_window = wanted.window is not None
    where = wanted.where if wanted.window is None else (*wanted.where, wanted.window)
    expected = engine.estimate(table.name, where) if is_window else table.rows_estimate
    rows = expected or 0
    key, named = table.key_columns[0], _named(table)
    # New rows lie where the key's statistics do not: shares by hash are even all the same.
    edges = not is_window and key.name not in wanted.hidden
    found = gathered(engine, Asked(table, wanted.cut, wanted.where, rows, edges))
    can_hash = engine.dialect.hash_predicate(named, 0, 2) is not None
    parts = plan(
        found,
        limits,
        columns=len(table.columns),
        can_hash=can_hash,
        can_range=edges,
    )
    if expected is None:
        parts = replace(parts, why=("how many rows the window holds is not known here: one part", found.why))
    return _written(engine, where, table, parts, found)


def _written(engine: Engine, where: tuple[str, ...], table: SourceTable, parts: Parts, found: Statistics) -> ReadPlan:
    dialect, key = engine.dialect, table.key_columns[0]
    if parts.how == "range":
        query = sql.rows_query(dialect, table.name, table.read_columns, key, where)
    else:
        query = statements.rows_query(dialect, table.name, table.read_columns, where)
    predicates = sql.predicates(dialect, parts, key, _named(table))
    each = tuple(PlannedPart(p, part.rows) for p, part in zip(predicates, parts.parts, strict=True))
    return ReadPlan(parts.how, parts.why, query, each, parts.fetch_rows, found.row_bytes)


def _named(table: SourceTable) -> tuple[tuple[str, Column], ...]:
    return tuple((f"c{table.columns.index(column)}", column) for column in table.key_columns)
