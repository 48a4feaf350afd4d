"""Windows as SQL hold exactly the rows that `core/pull/cursor.py` says, on a real engine.

SQLite has the same three-valued logic.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from types import ModuleType

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.pull.cursor import Edge, Mark, Order, Window, holds, rank, watermark_text
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.databases.jdbc.dialect import GenericDialect
from hudi_reconcile.databases.jdbc.products import product
from hudi_reconcile.databases.mysql import dialect as mysql
from hudi_reconcile.databases.postgres import dialect as postgres
from hudi_reconcile.sql import windows
from hudi_reconcile.sql.dialect import Dialect

NUMBER = {name: Column(name, Kind.INTEGER, "bigint", bits=64, native="int8") for name in ("a", "b", "id")}
TIME = Column("at", Kind.TIMESTAMP, "timestamp", precision=6, native="timestamp")
few = st.none() | st.integers(0, 4)
rows = st.lists(st.tuples(few, few, few), max_size=15)
marks = st.builds(Mark, st.integers(0, 4), few)
edges = st.none() | st.builds(Edge, marks, st.booleans())
orders = st.sampled_from([Order(("a",)), Order(("a", "b")), Order(("a",), "id"), Order(("a", "b"), "id")])


def fitting(edge: Edge | None, order: Order) -> Edge | None:
    return edge if edge is None or order.id_column else Edge(Mark(edge.mark.value), edge.inclusive)


@given(rows, orders, edges, edges)
def test_predicate_holds_for_the_rows_of_the_window_and_no_other(
    table: list[tuple[int | None, int | None, int | None]], order: Order, lower: Edge | None, upper: Edge | None
) -> None:
    window = Window(order, fitting(lower, order), fitting(upper, order))
    found = windows.window_predicate(postgres, window, NUMBER) or "1 = 1"
    with sqlite3.connect(":memory:") as database:
        database.execute('create table t ("a", "b", "id")')
        database.executemany("insert into t values (?, ?, ?)", table)
        got = database.execute(f"select a, b, id from t where {found}").fetchall()
        greatest = database.execute(f"select {windows.greatest_query(postgres, order, NUMBER)} from t").fetchall()
    database.close()

    def mark(a: int | None, b: int | None, row_id: int | None) -> Mark | None:
        values = [value for value in ((a, b) if len(order.columns) > 1 else (a,)) if value is not None]
        return Mark(max(values), row_id if order.id_column else None) if values else None

    assert sorted(got, key=str) == sorted((row for row in table if holds(window, mark(*row))), key=str)
    assert [one[0] for one in greatest] == [None if (m := mark(*row)) is None else m.value for row in table]


TEXT = Column("at", Kind.TEXT, "text", native="text")
BREAKING = st.text(alphabet="20-:'\\\"` ();=orx#\n\0", max_size=12)


@pytest.mark.parametrize(
    ("dialect", "reader"), [(mysql, "mysql"), (postgres, "postgres"), (GenericDialect(product("oracle")), "postgres")]
)
@given(BREAKING)
def test_watermark_of_any_text_is_that_text_to_the_database_or_is_refused(
    dialect: Dialect, reader: str, text: str
) -> None:
    if "\\" in text or not text.isprintable() or not text:
        with pytest.raises(RefusedError):
            windows.equal_predicate(dialect, Order(("at",)), {"at": TEXT}, text)
        return
    said = windows.equal_predicate(dialect, Order(("at",)), {"at": TEXT}, text)
    found = sqlglot.parse_one(f"select 1 from t where {said}", read=reader)

    assert [(one.name, one.is_string) for one in found.find_all(exp.Literal)] == [("1", False), (text, True)]


def test_checkpoint_of_the_lake_that_would_leave_its_quotes_is_refused_before_anything_is_sent() -> None:
    forged = Mark("2026-03-01\\' or 1=1 -- ")

    with pytest.raises(RefusedError, match="holds text with backslashes or control characters"):
        windows.window_predicate(mysql, Window(Order(("at",)), Edge(forged, inclusive=False), None), {"at": TEXT})


@given(rows, st.integers(1, 4))
def test_look_ahead_counts_the_next_values_in_order(
    table: list[tuple[int | None, int | None, int | None]], limit: int
) -> None:
    order = Order(("a", "b"))
    marked = windows.marked_predicate(postgres, order, NUMBER)
    query, _ = windows.ahead_query(
        postgres, "t", NUMBER["a"], windows.greatest_query(postgres, order, NUMBER), predicates=(marked,), rows=limit
    )
    with sqlite3.connect(":memory:") as database:
        database.execute('create table t ("a", "b", "id")')
        database.executemany("insert into t values (?, ?, ?)", table)
        found = database.execute(query).fetchone()
    database.close()

    values = sorted(max(v for v in row[:2] if v is not None) for row in table if row[:2] != (None, None))[:limit]
    assert found == (values[0] if values else None, values[-1] if values else None, len(values))


@pytest.mark.parametrize(
    ("dialect", "literal", "limit"),
    [
        (postgres, "timestamp '1970-01-01T00:00:00.000007'", "limit 3)"),
        (mysql, "timestamp '1970-01-01 00:00:00.000007'", "limit 3)"),
        (GenericDialect(product("h2")), "timestamp '1970-01-01 00:00:00.000007'", "fetch first 3 rows only)"),
    ],
)
def test_compound_window_is_written_in_each_dialect(dialect: Dialect | ModuleType, literal: str, limit: str) -> None:
    order, columns = Order(("at",), "id"), {"at": TIME, "id": NUMBER["id"]}
    quote = dialect.quote

    found = windows.window_predicate(dialect, Window(order, Edge(Mark(7, 5))), columns)
    query, _ = windows.ahead_query(dialect, "t", TIME, quote("at"), predicates=(), rows=3)

    at = quote("at")
    assert found == f"({at} > {literal} or (({at} = {literal}) and {quote('id')} > 5))"
    assert f"order by {quote('hr_at')} {limit}" in query


def test_text_is_quoted_and_numbers_are_written_in_full() -> None:
    text = Column("iso", Kind.TEXT, "text")

    assert windows.literal(postgres, text, "2026'") == "'2026'''"
    assert windows.literal(postgres, NUMBER["a"], 10**20) == "1" + "0" * 20
    assert rank(Mark(1)) < rank(Mark(1, 0))


DAY = 86_400_000_000
LOCAL = {"d": Column("d", Kind.DATE, "date", native="date"), "t": replace(TIME, name="t")}
half_days = st.none() | st.integers(0, 8)
both_orders = st.sampled_from([Order(("d", "t")), Order(("t", "d")), Order(("d",))])


@given(st.lists(st.tuples(half_days, half_days), max_size=15), both_orders, edges, edges)
def test_dates_beside_times_lie_on_the_side_of_an_edge_that_their_midnight_does(
    table: list[tuple[int | None, int | None]], order: Order, lower: Edge | None, upper: Edge | None
) -> None:
    rows_ = [(None if d is None else d // 2 * DAY, None if t is None else t * DAY // 2) for d, t in table]
    ends = [edge and Edge(Mark(int(edge.mark.value) * DAY // 2), edge.inclusive) for edge in (lower, upper)]
    window = Window(order, *ends)
    found = (
        (windows.window_predicate(postgres, window, LOCAL) or "1 = 1")
        .replace("date '", "'")
        .replace("timestamp '", "'")
    )
    with sqlite3.connect(":memory:") as database:  # its texts sort as the times do
        database.execute('create table t (n, "d", "t")')
        texts = [
            (
                n,
                None if d is None else watermark_text(Kind.DATE, d),
                None if t is None else watermark_text(Kind.TIMESTAMP, t),
            )
            for n, (d, t) in enumerate(rows_)
        ]
        database.executemany("insert into t values (?, ?, ?)", texts)
        got = {n for (n,) in database.execute(f"select n from t where {found}")}
    database.close()

    def mark(d: int | None, t: int | None) -> Mark | None:
        values = [value for value in ((d, t) if len(order.columns) > 1 else (d,)) if value is not None]
        return Mark(max(values)) if values else None

    assert got == {n for n, row in enumerate(rows_) if holds(window, mark(*row))}
