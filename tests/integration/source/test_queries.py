"""A query is described as the table that it reads would be, by each engine's own way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.tables.kinds import Column
from hudi_reconcile.databases.base import TableRequest
from tests.integration.source import support
from tests.integration.source.test_mysql import engine as maria_engine
from tests.integration.source.test_mysql import source as maria_source
from tests.support.mariadb import MariaDatabase
from tests.support.postgres import Database

Describe = Callable[[TableRequest], tuple[Column, ...]]


def both(describe: Describe) -> tuple[dict[str, Column], dict[str, Column]]:
    """Columns of the table `t` and of a query for all of it; a query never promises NOT NULL."""
    of_table = describe(TableRequest("t", "t", key=("id",)))
    of_query = describe(TableRequest("t", "", key=("id",), query="select * from t where id > 0 -- all: of 100%\n;"))
    return {one.name: replace(one, nullable=True) for one in of_table}, {one.name: one for one in of_query}


def test_postgres_tells_types_with_their_modifiers(pg: Database) -> None:
    pg.execute(
        "create type mood as enum ('ok')",
        "create table t (id bigint primary key, i2 int2, i4 int4, n numeric(12,2), free numeric, neg numeric(3,-2), b bool,"
        " t text, v varchar(3), c char(5), d date, ts timestamp, ts0 timestamp(0), tz timestamptz(3), u uuid, bytes bytea,"
        " r real, dbl double precision, jb jsonb, arr int[], m mood, rc regclass)",
    )
    with support.engine(pg) as engine:
        table, query = both(lambda request: engine.describe(request).table.columns)
        facts = engine.table_facts(TableRequest("t", "", key=("id",), query="select * from t"))

    assert query == table
    assert (facts.can_read, facts.can_write, facts.key_proven) == (True, False, False)


def test_mariadb_tells_types_with_their_digits(maria: MariaDatabase) -> None:
    maria.execute(
        "create table t (id bigint primary key, t1 tinyint(1), tu tinyint unsigned, s smallint, m mediumint unsigned, i int,"
        " iu int unsigned, bu bigint unsigned, n decimal(12,2), nu decimal(5,0) unsigned, big decimal(50,3), f float, d double,"
        " b1 bit(1), b9 bit(9), v varchar(10), c char(3), tx text, lt longtext, vb varbinary(9), bn binary(4), bl blob,"
        " dt date, tm time(2), at datetime(3), at0 datetime, st timestamp(6) null, y year, e enum('a'), se set('a','b'))"
    )
    with maria_engine(maria) as engine:
        table, query = both(lambda request: engine.describe(request).table.columns)

    def gist(one: Column) -> tuple[object, ...]:
        return one.kind, one.bits, one.precision, one.scale

    assert {name: gist(one) for name, one in query.items()} == {name: gist(one) for name, one in table.items()}


def test_query_that_is_not_understood_is_a_wrong_config(pg: Database, maria: MariaDatabase) -> None:
    request = TableRequest("t", "", key=("id",), query="select id fro t")
    with (
        support.engine(pg) as postgres,
        maria_engine(maria) as mariadb,
    ):
        for engine in (postgres, mariadb):
            with pytest.raises(UsageError, match=r"table t: source\.query is refused: "):
                engine.describe(request)


def test_totals_are_exact_and_told_in_full(pg: Database, maria: MariaDatabase) -> None:
    amounts = ("12345678901234567890.12", "-0.50", "null", "0.03")
    rows = ", ".join(f"({place}, {amount})" for place, amount in enumerate(amounts))
    with support.source(pg, "t") as postgres, maria_source(maria) as mariadb:
        for database, source in ((pg, postgres), (maria, mariadb)):
            database.execute("create table t (id bigint primary key, a decimal(30,2))", f"insert into t values {rows}")
            table = source.describe()

            assert source.sum_column(table, "a") == ("12345678901234567889.65", "-0.50", "12345678901234567890.12")
            database.execute("delete from t")
            assert source.sum_column(table, "a") == (None, None, None)
