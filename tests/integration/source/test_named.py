"""Rows asked for by their keys on real databases: every row that is there is found by the canonical text of its key."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.compare.columns import ComparisonShape, digest_rows
from hudi_reconcile.compare.comparer import SparkComparer
from hudi_reconcile.compare.findings import Masks
from hudi_reconcile.core.sweep.segments import HashSegments
from hudi_reconcile.core.tables.agreement import Agreement, ComparedColumn
from hudi_reconcile.core.tables.key_encoding import ASKED_AT_ONCE, Key
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.ports import Frame
from hudi_reconcile.source.table_source import TableSource
from hudi_reconcile.spark.evidence_files import SparkFiles
from tests.integration.source import test_mysql
from tests.integration.source.support import source
from tests.support.mariadb import MariaDatabase
from tests.support.postgres import Database

CUT = HashSegments(("id",), 4)
POSTGRES = (
    "create type mood as enum ('ok', 'so-so')",
    ("create table t (id bigint, n numeric(9,2), free numeric, t text, v varchar(20), c char(5), d date, ts timestamp, tz"
    " timestamptz(3), u uuid, b bytea, m mood, i inet)"),
    ("insert into t values (1, -1.25, 7.100, 'O''Brien: 100% ß', '--x', 'ab', '2026-01-02', '2026-01-02 03:04:05.000006',"
    " '1969-12-31 23:59:59.999+00', '0A0B0C0D-0000-4000-8000-0123456789ab', '\\x00ff', 'so-so', '10.0.0.1'),"
    " (-9223372036854775808, 9999999.99, null, ':a', '#', 'x', '0001-01-01', '9999-12-30 00:00:00', '2026-07-01 12:00:00+02',"
    " '00000000-0000-0000-0000-000000000000', '\\x7f', 'ok', '::1')"),
)  # fmt: skip
MARIADB = (
    ("create table t (id bigint unsigned, n decimal(9,2), v varchar(20) character set latin1, t varchar(40) character set"
    " utf8mb4, c char(5), b binary(4), d date, dt datetime(3), ts timestamp(6) null, y year, e enum('a','b'), u uuid)"),
    ("insert into t values (18446744073709551615, -1.25, 'O''Brien ß', '100%: 漢字 --x', 'ab', x'00ff7f80', '2026-01-02',"
    " '2026-01-02 03:04:05.006', '2026-01-02 03:04:05.000006', 2024, 'b', '0a0b0c0d-0000-4000-8000-0123456789ab'),"
    " (0, 9999999.99, ':a', '#', 'x', x'01020304', '1000-01-01', '9999-12-30 00:00:00', null, 1901, 'a',"
    " '00000000-0000-0000-0000-000000000001')"),
)  # fmt: skip


def asked(spark: SparkSession, found: TableSource) -> tuple[tuple[Key, ...], int, list[str], tuple[str, ...]]:
    """The keys of all rows, how many rows they name, what becomes of their deletes, and what was logged."""
    table = found.describe()
    items = tuple(
        ComparedColumn(index, one, "", (one.precision or 0, one.scale or 0) if one.kind is Kind.DECIMAL else None)
        for index, one in enumerate(table.read_columns)
    )
    key = tuple(item for name in table.key for item in items if item.column.name == name)
    agreement = Agreement(items, key, (), ())
    rows = found.read_rows(table, CUT)
    assert isinstance(rows, DataFrame)
    planned = digest_rows(rows, "source", ComparisonShape(agreement, CUT), "'delete' as action", "'ready' as status")
    rechecked = Frame(planned.localCheckpoint())
    comparer = SparkComparer(spark, "t", Masks({}, b""), agreement=agreement, cut=CUT, files=SparkFiles(spark))
    keys = comparer.list_deletes(rechecked, 10)
    assert keys is not None
    named = found.find_named_rows(table, keys)
    assert named is not None
    left = comparer.mark_existing(rechecked, comparer.stage_rows(named.read())[0])
    assert isinstance(left, DataFrame)
    return keys, named.rows, [row.status for row in left.collect()], found.list_statements()


def test_rows_of_postgres_are_named_by_keys_of_every_kind_and_gone_ones_are_not(
    pg: Database, spark: SparkSession
) -> None:
    pg.execute(*POSTGRES)
    columns = ("id", "n", "free", "t", "v", "c", "d", "ts", "tz", "u", "b", "m", "i")
    with source(pg, "t", spark, key=columns) as found:
        keys, rows, statuses, logged = asked(spark, found)
        pg.execute("delete from t where id = 1")
        left = found.find_named_rows(found.describe(), keys)

    assert (rows, statuses) == (2, ["moved", "moved"])
    assert left is not None
    assert left.rows == 1
    assert not [text for text in logged if "Brien" in text or "9223372036854775808" in text]


def test_row_that_is_near_the_keys_of_two_statements_is_there_once(pg: Database, spark: SparkSession) -> None:
    """Decimals are asked for by a range about them, since the lake may hold fewer digits."""
    rows = 3 * ASKED_AT_ONCE
    pg.execute(
        "create table t (id numeric(9,2) primary key)",
        f"insert into t select i / 4.0 from generate_series(1, {rows}) i",
    )
    with source(pg, "t", spark, key=("id",)) as found:
        table = found.describe()
        item = ComparedColumn(0, table.columns[0], "decimal(9,2)", (9, 2))
        agreement = Agreement((item,), (item,), (), ())
        comparer = SparkComparer(spark, "t", Masks({}, b""), agreement=agreement, cut=CUT, files=SparkFiles(spark))
        named = found.find_named_rows(table, tuple((f"{i / 4:.2f}",) for i in range(1, rows + 1)))
        assert named is not None
        staged, read_rows = comparer.stage_rows(named.read())

    assert isinstance(staged, DataFrame)
    assert (read_rows, named.rows) == (named.rows, read_rows)
    assert read_rows > rows
    assert (staged.count(), staged.distinct().count(), staged.columns) == (rows, rows, ["c0"])


def test_rows_of_mariadb_are_named_by_keys_of_every_kind_and_gone_ones_are_not(
    maria: MariaDatabase, spark: SparkSession
) -> None:
    maria.execute(*MARIADB)
    columns = ("id", "n", "v", "t", "c", "b", "d", "dt", "ts", "y", "e", "u")
    with test_mysql.source(maria, spark, key=columns) as found:
        keys, rows, statuses, logged = asked(spark, found)
        maria.execute("delete from t where id = 0")
        left = found.find_named_rows(found.describe(), keys)

    assert (rows, statuses) == (2, ["moved", "moved"])
    assert left is not None
    assert left.rows == 1
    assert not [text for text in logged if "Brien" in text or "18446744073709551615" in text]
