"""PostgreSQL's `xmin` as a 64-bit number: across rounds of 2^32, what it is bound to, and what it is refused on."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.pull.cursor import Edge, Mark, Order, Window
from hudi_reconcile.core.sweep.segments import KeyExtent, choose
from hudi_reconcile.databases.base import TableRequest
from hudi_reconcile.databases.catalog import describe_table
from hudi_reconcile.databases.postgres import dialect
from tests.integration.source.support import engine, source
from tests.integration.source.test_engine import drop_role, role
from tests.support.postgres import Database

ROUND = 2**32


@pytest.fixture
def table(pg: Database) -> Database:
    pg.execute("create table t (id bigint primary key, v int)", "insert into t values (1, 1)")
    pg.execute("insert into t values (2, 2)")
    return pg


def versions(database: Database) -> dict[int, int]:
    return dict(database.query(f"select id, {dialect.number()} from t"))


@pytest.mark.parametrize(
    ("xid", "newest", "number"),
    [
        (700, 759, 700),
        (759, 759, 759),
        (ROUND - 6, ROUND + 20, ROUND - 6),  # written before the counter of 32 bits began again
        (10, ROUND + 20, ROUND + 10),
        (30, ROUND + 20, 30),
        (3, 5 * ROUND + 3, 5 * ROUND + 3),
        (4, 5 * ROUND + 3, 4 * ROUND + 4),
        (2, 5 * ROUND + 3, 2),  # frozen by a server before 9.4
        (1, 759, 1),
    ],
)
def test_number_is_the_greatest_below_the_newest_that_ends_in_the_same_bits(
    pg: Database, xid: int, newest: int, number: int
) -> None:
    assert pg.query(f"select {dialect.number(f'{xid}::text::xid', f'{newest}::bigint')}") == [(number,)]


def test_numbers_of_rows_are_those_of_their_transactions_and_vacuum_freeze_keeps_them(table: Database) -> None:
    with table.connect() as writer:
        (own,) = writer.execute("select pg_current_xact_id()::text::bigint").fetchone() or (0,)
        writer.execute("update t set v = 3 where id = 1")
        writer.execute("savepoint s")
        writer.execute("insert into t values (3, 3)")  # a sub-transaction has a number of its own, above
        writer.execute("release s")
        with engine(table) as found:
            held = found.moment().version_bound
        writer.commit()
    before = versions(table)
    with table.connect(autocommit=True) as admin:
        admin.execute("vacuum (freeze) t")

    assert held == own
    assert before[1] == own < before[3]
    assert before[2] < own
    assert versions(table) == before
    with engine(table) as found:
        assert (found.moment().version_bound or 0) > before[3]


def test_prepared_transaction_holds_the_bound(table: Database) -> None:
    with table.connect() as writer:
        (own,) = writer.execute("select pg_current_xact_id()::text::bigint").fetchone() or (0,)
        writer.execute("insert into t values (9, 9)")
        writer.execute("prepare transaction 'p'")
    with table.connect(autocommit=True) as admin, engine(table) as found:
        held = found.moment().version_bound
        admin.execute("rollback prepared 'p'")

    assert held == own


def test_identity_names_system_timeline_and_the_table_itself(table: Database) -> None:
    def identity(**more: Any) -> str:
        with source(table, "t", **more) as found:
            return found.describe().identity

    first, plain = identity(by_version=True), identity()
    table.execute("alter table t rename to old", "create table t (id bigint primary key, v int)")

    assert first.startswith(plain.partition("/")[0] + ":timeline 1:oid ")
    assert identity(by_version=True) != first
    assert identity() == plain


def test_what_keeps_no_xmin_is_refused_by_name(table: Database) -> None:
    table.execute(
        "create view seen as select * from t",
        "create materialized view copied as select * from t",
        "create table whole (id bigint primary key, v int) partition by range (id)",
        "create table part partition of whole for values from (0) to (10)",
    )
    for name in ("seen", "copied"):
        with (
            source(table, name, key=("id",), by_version=True) as found,
            pytest.raises(UsageError, match=f"{name} keeps no xmin"),
        ):
            found.describe()
    with source(table, "whole", by_version=True) as found:
        assert found.describe().version == dialect.COLUMN


def test_role_that_may_not_read_the_system_id_is_refused(table: Database) -> None:
    login = role(table, "plain")
    try:
        table.execute("revoke execute on function pg_control_system() from public")
        with source(table, "t", by_version=True) as found:
            assert found.describe().version == dialect.COLUMN  # the administrator may
        with engine(table, **login) as found_engine, pytest.raises(UsageError, match="bound to the server's system id"):
            found_engine.describe(TableRequest("t", "t", by_version=True))
    finally:
        drop_role(table, login)


def test_other_databases_are_refused_by_name() -> None:
    with pytest.raises(UsageError, match="system column of PostgreSQL's tables, which this source has not"):
        describe_table(
            TableRequest("t", "t", by_version=True), (), (), name="t", identity="mariadb:1/t", rows_estimate=0
        )


def test_window_of_versions_reads_the_rows_between_and_no_column_more(table: Database, spark: SparkSession) -> None:
    low, high = sorted(versions(table).values())
    with source(table, "t", spark, by_version=True) as found:
        described_table = found.describe()
        order, cut = Order(("xmin",)), choose(("id",), KeyExtent(1, 2, 2), integer_key=True, wanted=1)
        staged = found.stage_rows(described_table, cut, Window(order, Edge(Mark(low)), Edge(Mark(high + 1))), high + 1)
        ahead = found.look_ahead(described_table, Window(order), 1, None)
        rows: Any = staged.frame

    assert (staged.rows, staged.greatest, ahead.rows, ahead.last) == (1, Mark(high), 1, low)
    assert [tuple(row) for row in rows.collect()] == [(2, 2, high)]
    assert [column.name for column in described_table.columns] == ["id", "v"]
