"""What products that no test runs are sent, parsed by grammars that are not ours: sqlglot's, and sqlfluff's of Db2.

Nobody publishes one of SAP HANA: its statements are held against sqlfluff's of standard SQL.
A grammar that takes a statement is no proof that the product does: docs/jdbc.md says which were only parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import sqlglot
from sqlfluff.core import FluffConfig, Linter
from sqlglot import exp

from hudi_reconcile.core.pull.cursor import Edge, Mark, Order, Window
from hudi_reconcile.core.source.jdbc import Reported
from hudi_reconcile.core.sweep.segments import KeyRange
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.databases.jdbc.dialect import GenericDialect
from hudi_reconcile.databases.jdbc.products import PRODUCTS, product
from hudi_reconcile.databases.jdbc.ranks import KeyRanks
from hudi_reconcile.sql import reads, windows

# Tibero speaks Oracle's SQL.
GRAMMARS = {"oracle": "oracle", "tibero": "oracle", "teradata": "teradata", "sqlserver": "tsql"}
MORE_GRAMMARS = {"db2": "db2", "sap": "ansi"}
SECOND = 1_000_000
TABLE = '"SHOP"."Order Items"'
COLUMNS = (
    Reported("Größe m²", 12, "VARCHAR", 20),
    Reported("id", -5, "BIGINT", 64, 0),
    Reported("price", 3, "DECIMAL", 10, 2),
    Reported("day", 91, "DATE"),
    Reported("at", 93, "TIMESTAMP", 29, 6),
    Reported("fine", 93, "TIMESTAMP", 29, 9),
    Reported("doc", 2009, "XML"),
    Reported("raw", -3, "VARBINARY", 8),
    Reported("what", 1111, "SOMETHING"),
)
KEY = ("Größe m²", "id", "day", "at")
ROW = {"hr_0": "it's Ä", "hr_1": 7, "hr_2": "2024-01-31", "hr_3": "2024-01-31 12:00:00.123456"}


def statements(name: str) -> Iterator[str]:
    """One of every kind that reads a table."""
    dialect = GenericDialect(product(name))
    # xmlserialize(content …), which Oracle demands, is beyond the grammar.
    table = tuple(dialect.describe_column(one) for one in COLUMNS if (name, one.name) != ("oracle", "doc"))
    columns = {column.name: column for column in table}
    key = tuple(columns[one] for one in KEY)
    low, high = Edge(Mark(SECOND, 3)), Edge(Mark(2 * SECOND), inclusive=True)
    for watermark in ("day", "at", "fine"):
        order = Order((watermark,), "id")
        if columns[watermark].kind not in (Kind.DATE, Kind.TIMESTAMP):
            continue
        where = (windows.window_predicate(dialect, Window(order, low, high), columns) or "", "x > 1")
        yield reads.count_query(TABLE, where)
        greatest = windows.greatest_query(dialect, order, columns)
        yield windows.ahead_query(dialect, TABLE, columns[watermark], greatest, predicates=where, rows=500)[0]
    ranks = KeyRanks(dialect, dialect.product)
    ranked = ranks.columns(key)
    assert ranked == key
    yield ranks.query(TABLE, ranked, ("x > 1",), step=70, sieve=None)
    named = tuple((dialect.quote(column.name), column) for column in key)
    if sieve := dialect.hash_predicate(named, 1, 8):
        yield ranks.query(TABLE, ranked, (), step=70, sieve=sieve)
    edge = ranks.edge(ranked, ROW)
    assert edge is not None
    parts = reads.part_query(dialect, TABLE, table, ranked, ("x > 1",))
    for part in range(3):
        yield f"select * from ({parts}) hr where {ranks.predicate(ranked, (edge, edge), part)}"
    ranges = (KeyRange(None, 5), KeyRange(10, 20), KeyRange(None, None, nulls=True, keys=False))
    yield dialect.ranges_query(reads.select_list(dialect, table), TABLE, "id", ranges, ())
    yield reads.extent_query(dialect, TABLE, "id", ())
    yield reads.total_query(dialect, TABLE, "price", ())
    yield reads.key_faults_query(dialect, TABLE, key, ())
    yield reads.key_sample_query(dialect, TABLE, key, ())
    yield (reads.altered_query(dialect, TABLE, table, ()) or ("",))[0]
    yield from product(name).clocks[:1]


@pytest.mark.parametrize(("name", "grammar"), GRAMMARS.items(), ids=GRAMMARS)
def test_statements_of_a_product_that_is_not_run_are_read_by_its_grammar(name: str, grammar: str) -> None:
    for sql in statements(name):
        found = sqlglot.parse_one(sql, dialect=grammar)
        assert isinstance(found, exp.Select), sql


def refused(sql: str, grammar: str) -> list[str]:
    """What sqlfluff's grammar does not understand."""
    parsed = Linter(config=FluffConfig(overrides={"dialect": grammar})).parse_string(f"{sql}\n")
    return [str(one) for one in parsed.violations]


@pytest.mark.parametrize(("name", "grammar"), MORE_GRAMMARS.items(), ids=MORE_GRAMMARS)
def test_statements_to_db2_and_sap_hana_are_read_by_another_grammar(name: str, grammar: str) -> None:
    found = list(statements(name))

    assert {sql: refused(sql, grammar) for sql in found} == {sql: [] for sql in found}
    assert refused(found[0].replace(" where ", " wher "), grammar) != []


@pytest.mark.parametrize("name", [*GRAMMARS, *MORE_GRAMMARS])
def test_rows_of_every_product_are_limited_in_its_own_words(name: str) -> None:
    dialect = GenericDialect(product(name))
    sql = dialect.limit_rows('select "a" from t order by "a"', 5)

    assert sql != 'select "a" from t order by "a"'
    if name in MORE_GRAMMARS:
        assert refused(sql, MORE_GRAMMARS[name]) == []
        return
    found = sqlglot.parse_one(sql, dialect=GRAMMARS[name])
    assert found.args.get("limit") is not None or "rownum" in sql


def test_every_product_is_run_or_parsed() -> None:
    run = {name for name, one in PRODUCTS.items() if one.proven}
    assert run | set(GRAMMARS) | set(MORE_GRAMMARS) == set(PRODUCTS)


def test_sql_server_is_sent_no_literal_and_no_function_that_it_does_not_have() -> None:
    """Its grammar at sqlglot is wider than the product: it takes date '…' and mod()."""
    for sql in statements("sqlserver"):
        assert re.search(r"\b(date|timestamp|time)\s*'|\bmod\s*\(|\bfetch\b|\blimit\b|\|\|", sql) is None, sql


@pytest.mark.parametrize(
    ("type_name", "kind", "literal"),
    [
        ("date", Kind.DATE, "cast('1970-01-01' as date)"),
        ("datetime2", Kind.TIMESTAMP, "cast('1970-01-01 00:00:01.003000' as datetime2)"),
        ("datetime", Kind.TIMESTAMP, "convert(datetime, '1970-01-01 00:00:01.003', 121)"),
        ("datetimeoffset", Kind.TIMESTAMPTZ, "cast('1970-01-01 00:00:01.003000+00:00' as datetimeoffset)"),
    ],
)
def test_sql_servers_times_are_cast_from_text_that_no_language_setting_reads_otherwise(
    type_name: str, kind: Kind, literal: str
) -> None:
    """A `datetime` holds thirds of a hundredth of a second: as a datetime2 no checkpoint would ever equal it."""
    column = Column("c", kind, type_name, precision=3)

    assert GenericDialect(product("sqlserver")).literal(column, SECOND + 3_000) == literal
