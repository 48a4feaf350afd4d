"""MariaDB as a source: values exact whatever the server's settings, keys by bytes, the safe bound, errors by name."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pymysql
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import ReconcileError, SourceError, UsageError
from hudi_reconcile.core.pull.cursor import Mark, Order, build_full_window, build_next_window
from hudi_reconcile.core.source.connection import Connection
from hudi_reconcile.core.sweep.segments import HashSegments, RangeSegments, Segmentation, SegmentSet
from hudi_reconcile.core.tables.agreement import Agreement, ComparedColumn
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.core.tables.values import REPLICA
from hudi_reconcile.databases.base import TableRequest
from hudi_reconcile.databases.mysql.engine import MysqlEngine
from hudi_reconcile.ports import Frame
from hudi_reconcile.source.table_source import TableSource
from tests.support.mariadb import MariaDatabase

SECOND = 1_000_000
UNFRIENDLY = {
    "sql_mode": "ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,ORACLE",
    "time_zone": "-07:00",
    "character_set_server": "latin1",
    "collation_connection": "latin1_swedish_ci",
}


def connection(database: MariaDatabase, /, **changes: Any) -> Connection:
    server = database.server
    settings: dict[str, Any] = {
        "dialect": "mysql", "host": server.host, "port": server.port, "database": database.name,
        "user": server.user, "password": server.password,
    }  # fmt: skip
    return Connection(**{**settings, **changes})


@contextmanager
def engine(database: MariaDatabase, /, **changes: Any) -> Iterator[MysqlEngine]:
    found = MysqlEngine(connection(database, **changes))
    try:
        yield found
    finally:
        found.close()


@contextmanager
def source(database: MariaDatabase, spark: SparkSession | None = None, **request: Any) -> Iterator[TableSource]:
    with engine(database) as found:
        yield TableSource(found, TableRequest(**{"name": "t", "table": "t", **request}), spark, zone="UTC")


@contextmanager
def user(database: MariaDatabase, *grants: str) -> Iterator[dict[str, str]]:
    """A login of its own with these grants."""
    name = f"u_{database.name[3:]}"
    database.execute(f"create user {name}@'127.0.0.1' identified by 'pw'")
    try:
        database.execute(*(f"grant {grant} to {name}@'127.0.0.1'" for grant in grants))
        yield {"user": name, "password": "pw"}
    finally:
        database.execute(f"drop user {name}@'127.0.0.1'")


def frame(of: Frame) -> DataFrame:
    assert isinstance(of, DataFrame)
    return of


def values(rows: DataFrame, *, of: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """The rows as text, bytes as hex, floats as they are, in the order of the first column."""
    shown = [F.hex(name) if kind == "binary" else F.col(name) if kind in ("double", "float") else F.col(name).cast("string")
             for name, kind in rows.dtypes]  # fmt: skip
    assert [kind for _, kind in rows.dtypes] == list(of)
    return [tuple(row)[1:] for row in rows.orderBy(F.col("c0")).select(*shown).collect()]


# Declared type, what Spark reads it as, values as SQL literals, and the text of each as read.
TYPES: tuple[tuple[str, str, list[str], list[Any]], ...] = (
    ("tinyint(1)", "tinyint", ["2", "-1", "null"], ["2", "-1", None]),
    ("tinyint unsigned", "smallint", ["255", "0", "null"], ["255", "0", None]),
    ("smallint", "int", ["-32768", "32767", "null"], ["-32768", "32767", None]),
    ("mediumint unsigned", "bigint", ["16777215", "0", "null"], ["16777215", "0", None]),
    ("int unsigned zerofill", "bigint", ["4294967295", "7", "null"], ["4294967295", "7", None]),
    ("bigint", "bigint", [str(-(2**63)), str(2**63 - 1), "null"], [str(-(2**63)), str(2**63 - 1), None]),
    ("bigint unsigned", "decimal(20,0)", [str(2**64 - 1), str(2**63), "null"], [str(2**64 - 1), str(2**63), None]),
    ("decimal(38,10)", "decimal(38,10)", ["-9999999999999999999999999999.9999999999", "1.1", "null"],
     ["-9999999999999999999999999999.9999999999", "1.1000000000", None]),
    ("decimal(65,30)", "string", ["12345678901234567890123456789012345.000000000000000000000000000001", "-1e-30", "0"],
     ["12345678901234567890123456789012345.000000000000000000000000000001", f"-0.{'0' * 29}1", f"0.{'0' * 30}"]),
    ("double", "double", ["1.7976931348623157e308", "5e-324", "0.1e0 + 0.2e0"], [1.7976931348623157e308, 5e-324, 0.1 + 0.2]),
    ("float", "float", ["123456.789", "1.17549435e-38", "16777217"], [123456.7890625, 1.1754943508222875e-38, 16777216.0]),
    ("bit(1)", "boolean", ["1", "0", "null"], ["true", "false", None]),
    ("bit(10)", "string", ["513", "0", "null"], ["1000000001", "0000000000", None]),
    ("year", "int", ["1901", "0", "2155"], ["1901", "0", "2155"]),
    ("date", "date", ["'0001-01-01'", "'1582-10-10'", "'9999-12-31'"], ["0001-01-01", "1582-10-10", "9999-12-31"]),
    ("datetime(6)", "timestamp_ntz", ["'0001-01-01 00:00:00.000001'", "'1582-10-10 01:02:03.5'", "'9999-12-31 23:59:59.999999'"],
     ["0001-01-01 00:00:00.000001", "1582-10-10 01:02:03.5", "9999-12-31 23:59:59.999999"]),
    ("datetime", "timestamp_ntz", ["'2024-03-31 02:30:00'", "'2024-10-27 02:30:00'", "null"],
     ["2024-03-31 02:30:00", "2024-10-27 02:30:00", None]),
    ("timestamp(6) null", "timestamp_ntz", ["'1970-01-01 00:00:01.000001'", "'2038-01-19 03:14:07.999999'", "null"],
     ["1970-01-01 00:00:01.000001", "2038-01-19 03:14:07.999999", None]),
    ("time(6)", "string", ["'-838:59:59.000001'", "'25:01:02.5'", "'-00:00:00.000001'"],
     ["-838:59:59.000001", "25:01:02.500000", "-00:00:00.000001"]),
    ("enum('a','B','ü')", "string", ["'ü'", "'B'", "null"], ["ü", "B", None]),
    ("set('x','y','z')", "string", ["'x,z'", "''", "null"], ["x,z", "", None]),
    ("json", "string", ["'{\"b\": 1,  \"a\":null}'", "'null'", "null"], ['{"b": 1,  "a":null}', "null", None]),
    ("blob", "binary", ["x'00ff41'", "''", "null"], ["00FF41", "", None]),
    ("varbinary(9)", "binary", ["''", "x'80'", "null"], ["", "80", None]),
    ("binary(3)", "binary", ["'ab'", "''", "null"], ["616200", "000000", None]),
    ("char(9)", "string", ["'ab  '", "''", "null"], ["ab", "", None]),
    ("varchar(9) character set latin1", "string", ["'é '", "'€'", "null"], ["é ", "€", None]),
    ("varchar(9) collate utf8mb4_unicode_ci", "string", ["'😀 x '", "''", "null"], ["😀 x ", "", None]),
    ("longtext", "string", ["repeat('ü', 9)", "''", "null"], ["ü" * 9, "", None]),
    ("uuid", "string", ["'123E4567-e89b-12d3-a456-426655440000'", "null", "null"],
     ["123e4567-e89b-12d3-a456-426655440000", None, None]),
    ("inet6", "string", ["'::1'", "'2001:db8::ff00:42:8329'", "null"], ["::1", "2001:db8::ff00:42:8329", None]),
    ("point", "string", ["point(1, 2)", "null", "null"], ["000000000101000000000000000000f03f0000000000000040", None, None]),
)  # fmt: skip


def test_every_type_is_read_exactly_from_an_unfriendly_server(maria: MariaDatabase, spark: SparkSession) -> None:
    columns = ", ".join(f"v{i} {declared}" for i, (declared, *_) in enumerate(TYPES))
    rows = [", ".join((str(row), *(literals[row] for _, _, literals, _ in TYPES))) for row in range(3)]
    maria.execute(f"create table t (id int primary key, {columns})")
    maria.execute(*(f"insert into t values ({row})" for row in rows))

    with maria.unfriendly(**UNFRIENDLY), source(maria, spark) as found:
        table = found.describe()
        read = values(
            frame(found.read_rows(table, RangeSegments("id", 0, 1, 1))), of=("int", *(kind for _, kind, *_ in TYPES))
        )

    assert [column.kind for column in table.columns if column.kind is Kind.OTHER] == []
    for index, (declared, _, _, expected) in enumerate(TYPES):
        assert [row[index] for row in read] == expected, declared


def test_every_bit_of_a_double_arrives(maria: MariaDatabase, spark: SparkSession) -> None:
    numbers = [struct.unpack("<d", struct.pack("<q", 0x3FF0000000000001 * n % (2**62)))[0] for n in range(1, 400, 7)]
    maria.execute("create table t (id int primary key, v double)")
    maria.execute(*(f"insert into t values ({i}, {number!r})" for i, number in enumerate(numbers)))

    with source(maria, spark) as found:
        table = found.describe()
        read = values(frame(found.read_rows(table, RangeSegments("id", 0, 1, 1))), of=("int", "double"))

    assert [row[0] for row in read] == numbers


@pytest.mark.parametrize("query", [None, "select * from t"])
def test_characters_that_unicode_lacks_are_counted_and_never_become_question_marks_in_silence(
    maria: MariaDatabase, spark: SparkSession, query: str | None
) -> None:
    """MariaDB writes `?` for each of them, by both ways of reading."""
    maria.execute(
        "create table t (id int primary key, a varchar(9) character set cp1251, b varchar(9) character set sjis,"
        " c char(9) character set sjis, d enum('x', '?') character set cp1251, e text, f text character set cp932)",
        "insert into t values (1, x'98', x'8790', x'82a0', 'x', '?', x'8790'), (2, x'ff3f', x'82a03f', '?', '?', 'é', '?')",
    )
    with source(maria, spark, query=query, key=("id",) if query else ()) as found:
        assert found.find_altered(found.describe()) == ("a", "b")
    maria.execute("delete from t where id = 1")
    with source(maria, spark, query=query, key=("id",) if query else ()) as found:
        assert found.find_altered(found.describe()) == ()


def test_column_that_mariadb_hides_from_a_star_is_measured_with_the_rest(maria: MariaDatabase) -> None:
    maria.execute("create table t (id int primary key, v int invisible)", "insert into t (id, v) values (1, 7)")
    with source(maria) as found:
        table = found.describe()
        items = tuple(ComparedColumn(index, column, "int") for index, column in enumerate(table.columns))
        probe = found.probe(table, Agreement(items, items[:1], (), ()))

    assert [item.column.name for item in items] == ["id", "v"]
    assert probe.row_bytes > 0


def test_days_that_are_none_are_counted_and_never_become_null_in_silence(
    maria: MariaDatabase, spark: SparkSession
) -> None:
    maria.execute("create table t (id int primary key, zero date, month datetime, day date, fine datetime(6))")
    with maria.unfriendly(sql_mode="ALLOW_INVALID_DATES"):
        maria.execute(
            "insert into t values (1, '0000-00-00', '2024-00-10', '2024-02-31', '9999-12-31 23:59:59.999999'),"
            " (2, null, null, null, '0001-01-01'), (3, '2024-02-29', '2024-02-29', '2024-02-29', null)"
        )
    with source(maria, spark) as found:
        assert found.find_altered(found.describe()) == ("zero", "month", "day")
        assert found.find_altered(found.describe(), build_next_window(Order(("fine",)), Mark(SECOND), None)) == (
            "zero",
            "month",
            "day",
        )


# --- keys ---


def test_keys_that_differ_in_bytes_are_different_keys(maria: MariaDatabase) -> None:
    maria.execute(
        "create table t (k varchar(9) collate utf8mb4_general_ci, v int)",
        "insert into t values ('a', 1), ('A', 2), ('a ', 3), ('é', 4), ('e', 5), (null, 6), ('b', 7), ('b', 8)",
    )
    with source(maria, key=("k",)) as found:
        faults = found.find_key_faults(found.describe())

    assert (faults.duplicated_keys, faults.null_keys, faults.sample) == (1, 1, ("(b)",))


def test_filter_on_rows_compares_by_bytes_and_never_by_the_servers_collation(
    maria: MariaDatabase, spark: SparkSession
) -> None:
    maria.execute(
        "create table t (id int primary key, k varchar(9))", "insert into t values (1, 'a'), (2, 'A'), (3, 'a ')"
    )
    with source(maria, spark) as found:
        rows = frame(found.read_rows(found.describe(), RangeSegments("id", 0, 1, 1)))

        assert [row["c0"] for row in rows.filter("c1 = 'a'").collect()] == [1]


def test_catalog_names_the_primary_key_and_proves_a_unique_one(maria: MariaDatabase) -> None:
    maria.execute(
        "create table t (b int, a int, c varchar(9) not null, d int unique, primary key (b, a), unique (c(3)))"
    )
    with engine(maria) as found:
        primary = found.describe(TableRequest(name="t", table="t"))
        by_c = found.describe(TableRequest(name="t", table=f"{maria.name}.`t`", key=("c",)))
        by_d = found.describe(TableRequest(name="t", table="t", key=("d",)))

    assert (primary.table.key, primary.key_proven) == (("b", "a"), True)
    assert (by_c.key_proven, by_d.key_proven) == (True, False)
    assert primary.table.identity.startswith("mysql:")
    assert primary.table.identity.endswith(f"/{maria.name}/t")


# --- rows ---


@pytest.fixture
def many(maria: MariaDatabase) -> MariaDatabase:
    maria.execute(
        "create table t (id int primary key, name varchar(40) character set latin1, at timestamp(6) null)",
        "insert into t select seq, concat('n', seq), from_unixtime(seq) from seq_1_to_60000",
        "analyze table t",
    )
    return maria


@pytest.mark.parametrize(
    ("key", "segmentation"),
    [(("id",), RangeSegments("id", 0, 1000, 61)), (("name",), HashSegments(("name",), 8))],
    ids=["ranges", "shares"],
)
def test_parallel_parts_hold_every_row_once(
    many: MariaDatabase, spark: SparkSession, key: tuple[str, ...], segmentation: Segmentation
) -> None:
    with source(many, spark, key=key) as found:
        table = found.describe()
        rows = frame(found.read_rows(table, segmentation))
        ids = rows.groupBy("c0").count()

        assert rows.rdd.getNumPartitions() == 2
        assert (ids.count(), ids.filter("count > 1").count()) == (60_000, 0)


def test_many_ranges_are_read_through_the_key_and_each_row_once(many: MariaDatabase, spark: SparkSession) -> None:
    with source(many, spark) as found:
        table = found.describe()
        segments = SegmentSet.of(range(1, 60, 2))
        rows = frame(found.read_rows(table, RangeSegments("id", 0, 1000, 61), segments))
        sql = found.list_statements()[-1]
        counts = rows.select(F.count("*"), F.countDistinct("c0"), F.min("c0"), F.max("c0")).collect()[0]

    assert tuple(counts) == (30_000, 30_000, 1000, 59_999)
    assert ("PRIMARY", "Range checked for each record (index map: 0x1)") in [
        (line[4], line[9]) for line in many.query(f"explain {sql}")
    ]


def test_pull_window_is_in_utc_and_half_open(many: MariaDatabase, spark: SparkSession) -> None:
    with many.unfriendly(**UNFRIENDLY), source(many, spark, watermark=("at",)) as found:
        table = found.describe()
        cut = RangeSegments("id", 0, 1, 1)
        staged = found.stage_rows(table, cut, build_next_window(Order(("at",)), Mark(10 * SECOND), 20 * SECOND), None)
        whole = found.stage_rows(table, cut, build_full_window(Order(("at",))), None)

    assert (staged.rows, staged.greatest) == (9, Mark(19 * SECOND))
    assert (whole.rows, whole.greatest, whole.null_watermark_rows) == (60_000, Mark(60_000 * SECOND), 0)


# --- the moment ---


def test_open_transaction_holds_the_bound_below_its_start(many: MariaDatabase) -> None:
    with many.connect() as holder, holder.cursor() as cursor, source(many) as found:
        cursor.execute("update t set name = 'x' where id = 1")
        first, second = found.read_moment(), found.read_moment()

    assert "oldest open transaction" in first.bound_why
    assert 2 * SECOND <= first.clock_micros - first.bound_micros < 5 * SECOND
    assert second.bound_micros == first.bound_micros
    assert second.snapshot != first.snapshot  # an equal name would promise that no transaction ended between


def test_user_without_process_gets_a_fixed_delay(many: MariaDatabase) -> None:
    with user(many, f"select on {many.name}.*") as login, engine(many, **login) as found:
        moment, facts = found.moment(), found.server_facts()
        table = found.table_facts(TableRequest(name="t", table="t"))

    assert moment.clock_micros - moment.bound_micros == 5 * SECOND
    assert "GRANT PROCESS" in moment.bound_why
    assert (facts.product, facts.sees_all, facts.is_superuser) == ("MariaDB", False, False)
    assert facts.grant_to_see == f"GRANT PROCESS ON *.* TO '{login['user']}'@'127.0.0.1';"
    assert (table.can_read, table.can_write, table.indexed) == (True, False, frozenset({"id"}))


def test_user_with_process_sees_the_bound_and_a_writer_is_told(many: MariaDatabase) -> None:
    with user(many, "process on *.*", f"select, update on {many.name}.t") as login, engine(many, **login) as found:
        assert found.server_facts().sees_all
        assert found.table_facts(TableRequest(name="t", table="t")).can_write


def test_server_that_takes_no_writes_is_a_replica_whose_primary_cannot_be_seen(maria: MariaDatabase) -> None:
    with engine(maria) as found:
        assert found.moment().notes == ()
    with maria.unfriendly(read_only="ON"), engine(maria) as found:
        moment, facts = found.moment(), found.server_facts()

    assert facts.is_replica
    assert moment.clock_micros - moment.bound_micros == 5 * SECOND
    assert moment.bound_why.startswith("clock of a replica")
    assert moment.notes[0] == REPLICA
    assert "tells of no replication" in moment.notes[1]
    assert "tells of no replication" in facts.replica_says


def test_session_cannot_write(many: MariaDatabase) -> None:
    with engine(many) as found, pytest.raises(SourceError, match="1792"):
        found.rows("delete from t")

    assert many.query("select count(*) from t") == [(60_000,)]


def test_row_that_was_never_committed_is_not_read_where_the_server_would(maria: MariaDatabase) -> None:
    maria.execute("create table t (id int primary key)")
    with maria.unfriendly(tx_isolation="READ-UNCOMMITTED"), maria.connect() as writer:
        writer.begin()
        writer.cursor().execute("insert into t values (1)")
        with engine(maria) as found:
            assert list(found.rows("select count(*) as n from t")[0].values()) == [0]


# --- errors ---


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"password": "wrong-secret"}, "the server refused the password of user hr_admin"),
        ({"port": 1}, "cannot connect"),
        ({"database": "nowhere"}, "this database does not exist"),
    ],
)
def test_failed_login_is_named_without_the_password(
    maria: MariaDatabase, changes: dict[str, Any], message: str
) -> None:
    with engine(maria, **changes) as found, pytest.raises(SourceError, match=message) as raised:
        found.rows("select 1")

    assert "wrong-secret" not in raised.value.message


@pytest.mark.parametrize(("table", "message"), [("nothere", "does not exist"), ("a b", "is not a table name")])
def test_missing_table_is_named(maria: MariaDatabase, table: str, message: str) -> None:
    with engine(maria) as found, pytest.raises(UsageError, match=message):
        found.describe(TableRequest(name="t", table=table))


def test_table_that_differs_by_case_is_missing(maria: MariaDatabase) -> None:
    maria.execute("create table Orders (id int primary key)", "create table orders (id bigint primary key)")
    with engine(maria) as found:
        declared = [
            found.describe(TableRequest(name="t", table=name)).table.columns[0].bits for name in ("Orders", "orders")
        ]
        with pytest.raises(ReconcileError, match="ORDERS does not exist"):
            found.describe(TableRequest(name="t", table="ORDERS"))

    assert declared == [32, 64]


def test_statement_beyond_its_time_is_cancelled_by_the_server(maria: MariaDatabase) -> None:
    with engine(maria, statement_timeout_seconds=0.2) as found, pytest.raises(SourceError, match="cancelled"):
        found.rows("select sleep(5)")


def test_decimal_key_of_an_unsigned_column_is_read_in_full(maria: MariaDatabase, spark: SparkSession) -> None:
    maria.execute("create table t (id bigint unsigned primary key)", f"insert into t values ({2**64 - 1}), (1)")
    with source(maria, spark) as found:
        rows = frame(found.read_rows(found.describe(), HashSegments(("id",), 4))).collect()

    assert {row[0] for row in rows} == {Decimal(2**64 - 1), Decimal(1)}


def test_skewed_keys_are_read_in_even_parts_without_a_histogram(maria: MariaDatabase, spark: SparkSession) -> None:
    rows = 80_000  # InnoDB's own estimate may be a quarter off
    maria.execute(
        "create table t (k bigint primary key, v varchar(10))",
        f"insert into t select if(seq % 10 = 0, seq * 1000, 900000000 + seq), seq from seq_1_to_{rows}",
        "analyze table t",
    )
    with source(maria, spark) as found:
        table, window = found.describe(), build_full_window(Order(()))
        plan = found.plan_read(table, HashSegments(("k",), 1), window)
        staged = found.stage_rows(table, HashSegments(("k",), 1), window, None)

    assert (plan.how, len(plan.parts)) == ("range", 2), plan
    assert max(staged.parts) <= 1.5 * sum(staged.parts) / 2
    values = [row.c1 for row in frame(staged.frame).select("c1").collect()]
    assert sorted(values) == sorted(map(str, range(1, rows + 1)))


def test_rows_of_each_segment_are_counted_by_the_server_as_they_are_read(
    maria: MariaDatabase, spark: SparkSession
) -> None:
    keys = (0, 1, 7, 8, 15, 16, 2**60, 6 * 2**60 - 1, 2**63 - 1)
    maria.execute(
        "create table t (k bigint unsigned not null primary key)",
        f"insert into t values {', '.join(f'({key})' for key in keys)}",
    )
    with source(maria, spark) as found:
        table = found.describe()
        wide = RangeSegments("k", 0, 2**60, 8)
        for cut in (RangeSegments("k", 0, 8, 3), RangeSegments("k", 0, 8, 1), wide, HashSegments(("k",), 4, "md5")):
            read = {one: frame(found.read_rows(table, cut, SegmentSet.of([one]))).count() for one in range(cut.count)}
            assert found.count_segments(table, cut) == {one: held for one, held in read.items() if held}, cut
        assert found.count_segments(table, HashSegments(("k",), 4)) is None


def test_load_counts_threads_that_run_and_a_primary_does_not_tell_of_its_replicas(maria: MariaDatabase) -> None:
    with engine(maria) as ours, maria.connect() as busy, ThreadPoolExecutor(1) as threads:
        before = ours.server_load()
        held = threads.submit(busy.cursor().execute, "select sleep(30)")
        until = time.monotonic() + 20
        while (during := ours.server_load()).statements == before.statements:
            assert time.monotonic() < until
        maria.execute(f"kill query {busy.thread_id()}")
        with pytest.raises(pymysql.OperationalError, match="interrupted"):
            held.result()

    assert (before.statements, during.statements) == (0, 1)
    assert (during.lag_seconds, during.untold) == (
        None,
        "this server is no replica, and does not know how far its replicas are behind",
    )


def test_uuid_keys_are_read_in_shares_by_hash_and_each_row_once(maria: MariaDatabase, spark: SparkSession) -> None:
    """MariaDB sorts uuids by their last group, and takes an edge that is no uuid of a known version for NULL."""
    maria.execute(
        "create table t (id uuid primary key, n int)",
        "insert into t select insert(insert(md5(seq), 13, 1, '4'), 17, 1, '8'), seq from seq_1_to_60000",
    )
    with source(maria, spark) as found:
        table = found.describe()
        window = build_full_window(Order(()))
        cut = HashSegments(("id",), 4)
        plan, staged = found.plan_read(table, cut, window), found.stage_rows(table, cut, window, None)
        assert isinstance(staged.frame, DataFrame)
        numbers = sorted(row.c1 for row in staged.frame.select("c1").collect())

    assert (table.key_columns[0].kind, plan.how, len(plan.parts) > 1) == (Kind.UUID, "hash", True)
    assert numbers == list(range(1, 60_001))


def test_user_who_was_granted_some_columns_is_told_and_the_others_do_not_seem_gone(maria: MariaDatabase) -> None:
    maria.execute("create table t (id int primary key, email varchar(20), n int)")
    with user(maria, f"select (id, n) on {maria.name}.t") as login, engine(maria, **login) as found:
        with pytest.raises(
            SourceError, match=r"granted some columns of .* only, and the catalog hides the others"
        ) as caught:
            found.describe(TableRequest(name="t", table="t"))
        named = found.describe(TableRequest(name="t", table="t", columns=("n",)))

    assert f"GRANT SELECT ON `{maria.name}`.`t`" in caught.value.fix
    assert "tables[t].source.columns" in caught.value.fix
    assert [column.name for column in named.table.columns] == ["id", "n"]


def test_keys_of_a_merge_table_are_counted_since_nothing_keeps_them(maria: MariaDatabase) -> None:
    maria.execute(
        *(f"create table {name} (id int primary key, n int) engine=myisam" for name in "ab"),
        "insert into a values (1, 1), (2, 2)",
        "insert into b values (1, 3)",
        "create table t (id int primary key, n int) engine=mrg_myisam union=(a, b)",
    )
    with source(maria) as found:
        faults = found.find_key_faults(found.describe())

    assert (faults.duplicated_keys, faults.sample) == (1, ("(1)",))


def test_xa_transaction_that_outlived_its_session_holds_the_bound_far_below_its_start(maria: MariaDatabase) -> None:
    """After a restart the server dates it by the restart, and its rows are older."""
    maria.execute("create table t (id int primary key)")
    with maria.connect() as writer, writer.cursor() as cursor:
        for statement in ("xa start 'x'", "insert into t values (1)", "xa end 'x'", "xa prepare 'x'"):
            cursor.execute(statement)
    try:
        with engine(maria) as found:
            until = time.monotonic() + 20
            while (moment := found.moment()).clock_micros - moment.bound_micros < 15 * 60 * SECOND:
                assert time.monotonic() < until
                time.sleep(0.2)
    finally:
        maria.execute("xa rollback 'x'")

    assert "oldest open transaction" in moment.bound_why
