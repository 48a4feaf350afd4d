"""H2, Derby and DuckDB through `jdbc:` URLs: every kind carried, each change found, repaired and proved; refusals by name."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.cli.main import run
from hudi_reconcile.databases.base import TableRequest
from hudi_reconcile.databases.jdbc.engine import JdbcEngine, JdbcSource
from hudi_reconcile.spark.jdbc_catalog import open_database
from tests.integration.project import Project
from tests.support.jdbc import JdbcDatabase, add_drivers

pytestmark = pytest.mark.usefixtures("spark")  # commands join the one session: a JVM of their own each costs 10 s


@dataclass(frozen=True, slots=True)
class Kept:
    """One column: its type, a value and another one, as SQL, and what the lake holds of the first."""

    name: str
    type: str
    value: str
    other: str
    lake: str


_NUMBERS = [
    Kept("small", "smallint", "-32768", "32767", "-32768"),
    Kept("big", "bigint", "-9223372036854775808", "9223372036854775807", "-9223372036854775808"),
    Kept("price", "decimal(10,2)", "1.10", "1.11", "1.10"),
    Kept("dbl", "double precision", "1.1", "1.1000000000000003", "1.1"),
    Kept("flag", "boolean", "true", "false", "true"),
    Kept("Größe m²", "varchar(20)", "'ab  '", "'ab'", "ab  "),
    Kept("code", "char(5)", "'ab'", "'ac'", "ab"),
]

KINDS = {
    "h2": [
        *_NUMBERS,
        Kept("tiny", "tinyint", "-128", "127", "-128"),
        Kept("wide", "numeric(38,10)", "1234567890123456789012345678.1234567891", "0.0000000001",
             "1234567890123456789012345678.1234567891"),
        Kept("wider", "numeric(40,2)", "12345678901234567890123456789012345678.12", "0.01",
             "12345678901234567890123456789012345678.12"),
        Kept("dec", "decfloat", "1.5", "1.6", "1.5"),
        Kept("rl", "real", "0.1", "0.10000001", "0.1"),
        Kept("long", "clob", "'é'", "'e'", "é"),
        Kept("day", "date", "date '9999-12-31'", "date '9999-12-30'", "9999-12-31"),
        Kept("old", "date", "date '0001-01-01'", "date '1582-10-10'", "0001-01-01"),
        Kept("bc", "date", "date '-0044-03-15'", "date '10000-01-01'", "-0044-03-15"),
        Kept("early", "timestamp", "timestamp '0001-01-01 00:00:00.000001'", "timestamp '1582-10-10 00:00:00.000001'",
             "0001-01-01 00:00:00.000001"),
        Kept("at", "timestamp", "timestamp '2024-01-01 00:00:00.123456'", "timestamp '2024-01-01 00:00:00.123457'",
             "2024-01-01 00:00:00.123456"),
        Kept("nano", "timestamp(9)", "timestamp '2024-01-01 00:00:00.123456789'",
             "timestamp '2024-01-01 00:00:00.123456788'", "2024-01-01 00:00:00.123456789"),
        Kept("fine", "timestamp(9)", "timestamp '2024-01-01 00:00:00.000001'", "timestamp '2024-01-01 00:00:00.000002'",
             "2024-01-01 00:00:00.000001"),
        Kept("zoned", "timestamp with time zone", "timestamp with time zone '2024-01-01 00:00:00.123456+05:30'",
             "timestamp with time zone '2024-01-01 00:00:00.123456+05:00'", "2023-12-31 18:30:00.123456"),
        Kept("tm", "time(9)", "time '23:59:59.123456789'", "time '23:59:59.123456788'", "23:59:59.123456789"),
        Kept("id", "uuid", "'018e2fb8-97c5-7000-8000-00805F9B34FB'", "'018e2fb8-97c5-7000-8000-00805F9B34FC'",
             "018e2fb8-97c5-7000-8000-00805f9b34fb"),
        Kept("raw", "varbinary(10)", "X'01FF00'", "X'01FF01'", "01FF00"),
        Kept("lob", "blob", "X'01FF00'", "X'01FF01'", "01FF00"),
        Kept("span", "interval day to second", "interval '1 02:03:04.5' day to second",
             "interval '1 02:03:04.6' day to second", "INTERVAL '1 02:03:04.5' DAY TO SECOND"),
        Kept("doc", "json", "json '{\"a\":[1,2]}'", "json '{\"a\":[2,1]}'", '{"a":[1,2]}'),
        Kept("list", "integer array", "array[1,null]", "array[1,2]", "[1, null]"),
        Kept("mood", "enum('ok','bad')", "'ok'", "'bad'", "ok"),
        Kept("pair", "row(a int, b int)", "row(1,2)", "row(2,1)", "ROW (1, 2)"),
    ],
    "derby": [
        *_NUMBERS,
        Kept("wide", "decimal(31,10)", "123456789012345678901.1234567891", "0.0000000001",
             "123456789012345678901.1234567891"),
        Kept("rl", "real", "0.1", "0.10000001", "0.1"),
        Kept("long", "clob", "'é'", "'e'", "é"),
        Kept("day", "date", "date('9999-12-31')", "date('9999-12-30')", "9999-12-31"),
        Kept("old", "date", "date('0001-01-01')", "date('0001-01-02')", "0001-01-01"),
        Kept("at", "timestamp", "timestamp('2024-01-01 00:00:00.123456')", "timestamp('2024-01-01 00:00:00.123457')",
             "2024-01-01 00:00:00.123456"),
        Kept("nano", "timestamp", "timestamp('2024-01-01 00:00:00.123456789')",
             "timestamp('2024-01-01 00:00:00.123456788')", "2024-01-01 00:00:00.123456789"),
        Kept("tm", "time", "time('23:59:59')", "time('23:59:58')", "23:59:59"),
        Kept("raw", "varchar(10) for bit data", "X'01FF00'", "X'01FF01'", "01FF00"),
        Kept("lob", "blob", "cast(X'01FF00' as blob)", "cast(X'01FF01' as blob)", "01FF00"),
        Kept("doc", "xml", "xmlparse(document '<a>1</a>' preserve whitespace)",
             "xmlparse(document '<a>2</a>' preserve whitespace)", "<a>1</a>"),
    ],
    "duckdb": [
        *[kept for kept in _NUMBERS if kept.name != "code"],
        Kept("tiny", "tinyint", "-128", "127", "-128"),
        Kept("u4", "uinteger", "4294967295", "0", "4294967295"),
        Kept("u8", "ubigint", "18446744073709551615", "0", "18446744073709551615"),
        Kept("huge", "hugeint", "-170141183460469231731687303715884105727", "0",
             "-170141183460469231731687303715884105727"),
        Kept("wide", "decimal(38,10)", "1234567890123456789012345678.1234567891", "0.0000000001",
             "1234567890123456789012345678.1234567891"),
        Kept("rl", "real", "0.1", "0.10000001", "0.1"),
        Kept("inf", "double", "'inf'", "'nan'", "Infinity"),
        Kept("day", "date", "date '9999-12-31'", "date '9999-12-30'", "9999-12-31"),
        Kept("old", "date", "date 'infinity'", "date '1582-10-10'", "infinity"),
        Kept("at", "timestamp", "timestamp '2024-01-01 00:00:00.123456'", "timestamp '2024-01-01 00:00:00.123457'",
             "2024-01-01 00:00:00.123456"),
        Kept("sentinel", "date", "date '0001-01-01'", "date '1582-10-10'", "0001-01-01"),
        Kept("early", "timestamp", "timestamp '1800-01-01 00:00:00.000001'", "timestamp '1800-01-01 00:00:01.000001'",
             "1800-01-01 00:00:00.000001"),
        Kept("nano", "timestamp_ns", "timestamp_ns '2024-01-01 00:00:00.123456789'",
             "timestamp_ns '2024-01-01 00:00:00.123456788'", "2024-01-01 00:00:00.123456789"),
        Kept("secs", "timestamp_s", "timestamp_s '2024-01-01 00:00:00'", "timestamp_s '2024-01-01 00:00:01'",
             "2024-01-01 00:00:00"),
        Kept("zoned", "timestamptz", "timestamptz '2024-01-01 00:00:00.123456+05:30'",
             "timestamptz '2024-01-01 00:00:00.123456+05:00'", "2023-12-31 18:30:00.123456"),
        Kept("tm", "time", "time '23:59:59.123456'", "time '23:59:59.123457'", "23:59:59.123456"),
        Kept("id", "uuid", "'018e2fb8-97c5-7000-8000-00805F9B34FB'", "'018e2fb8-97c5-7000-8000-00805F9B34FC'",
             "018e2fb8-97c5-7000-8000-00805f9b34fb"),
        Kept("raw", "blob", "'\\x01\\xFF\\x00'::blob", "'\\x01\\xFF\\x01'::blob", "01FF00"),
        Kept("span", "interval", "interval '1 year 2 days 3 seconds'", "interval '1 year 2 days 4 seconds'",
             "1 year 2 days 00:00:03"),
        Kept("doc", "json", "'{\"a\": [1,2]}'", "'{\"a\": [2,1]}'", '{"a": [1,2]}'),
        Kept("list", "integer[]", "[1,null]", "[1,2]", "[1, NULL]"),
        Kept("mood", "enum('ok','bad')", "'ok'", "'bad'", "ok"),
        Kept("pair", "struct(a int, b varchar)", "{'a':1,'b':'x'}", "{'a':1,'b':'y'}", "{'a': 1, 'b': x}"),
        Kept("keyed", "map(varchar,int)", "map{'k':1}", "map{'k':2}", "{k=1}"),
        Kept("bits", "bit", "'10101'::bit", "'10100'::bit", "10101"),
    ],
}  # fmt: skip
OLD = {"h2": "timestamp '2024-05-01 00:00:00'", "derby": "timestamp('2024-05-01 00:00:00')"}
RENAMED = {"Größe m²": "size"}


@pytest.fixture(scope="session")
def driven(spark: SparkSession) -> SparkSession:
    """The session, with the drivers of all three databases."""
    add_drivers(spark)
    return spark


@pytest.fixture(params=["h2", "derby", "duckdb"])
def database(request: pytest.FixtureRequest, driven: SparkSession, tmp_path: Path) -> JdbcDatabase:
    return JdbcDatabase(driven, request.param, tmp_path)


@pytest.fixture
def project(database: JdbcDatabase, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    made = Project(tmp_path, cast("Any", database), capsys)
    made.source = {"url": database.url}
    made.settings = {
        "name": "items",
        "source": {"table": '"Shop"."Order Items"'},
        "pull": {"strategy": "timestamp", "watermark": ["seen"]},
        "lake": {"path": "lake/items", "type": "copy_on_write"},
        "compare": {"rename": RENAMED},
        "policy": {"max_upsert_share": "100%", "max_delete_share": "100%"},
    }
    return made


def quoted(name: str) -> str:
    return f'"{name}"'


def fill(database: JdbcDatabase) -> int:
    """A row per column to change, three to delete and one whose every column is NULL; the number of rows."""
    kinds = KINDS[database.product]
    old = OLD.get(database.product, OLD["h2"])
    types = ", ".join(f"{quoted(kept.name)} {kept.type}" for kept in kinds)
    rows = len(kinds) + 3
    names = ", ".join(quoted(name) for name in ("order", "Region", "seen", *(kept.name for kept in kinds)))
    values = ", ".join(kept.value for kept in kinds)
    nulls = ", ".join("null" for _ in kinds)
    database.execute(
        'create schema "Shop"',
        f'create table "Shop"."Order Items" ("order" bigint not null, "Region" varchar(10) not null,'
        f' "seen" timestamp not null, {types}, primary key ("order", "Region"))',
        *(
            f'insert into "Shop"."Order Items" ({names}) values ({number}, \'r{number % 2}\', {old}, {values})'
            for number in range(rows)
        ),
        f'insert into "Shop"."Order Items" ({names}) values ({rows}, \'null\', {old}, {nulls})',
    )
    return rows + 1


def test_every_kind_is_carried_and_one_change_of_each_is_found_repaired_and_proved(
    driven: SparkSession, database: JdbcDatabase, project: Project
) -> None:
    kinds = KINDS[database.product]
    rows = fill(database)

    pulled = project.json("pull")
    assert pulled.code == 0, pulled
    assert pulled.table["pull"]["rows"] == rows
    names = [RENAMED.get(kept.name, kept.name) for kept in kinds]
    shown = [f"hex(`{n}`)" if n in ("raw", "lob") else f"rtrim(cast(`{n}` as string))" for n in names]
    frame = driven.read.format("hudi").load(str(project.lake)).where("`order` = 0")
    held = dict(zip(names, frame.selectExpr(*shown).collect()[0], strict=True))
    assert held == {RENAMED.get(kept.name, kept.name): kept.lake.rstrip() for kept in kinds}
    clean = project.json("sweep")
    assert (clean.table["unverified"], clean.document["outcome"]) == ([], "clean"), project.findings()

    late = OLD.get(database.product, OLD["h2"])
    database.execute(
        *(
            f'update "Shop"."Order Items" set {quoted(kept.name)} = {kept.other} where "order" = {number}'
            for number, kept in enumerate(kinds)
        ),
        f'delete from "Shop"."Order Items" where "order" in ({len(kinds)}, {len(kinds) + 1})',
        f'insert into "Shop"."Order Items" ("order", "Region", "seen") values (-5, \'"é\', {late})',
    )
    swept = project.json("sweep")

    assert swept.code == 1, swept
    found = {item["key"]["order"]: (item["kind"], tuple(item["columns"])) for item in project.findings()}
    assert found == {
        **{number: ("updated_without_watermark", (kept.name,)) for number, kept in enumerate(kinds)},
        len(kinds): ("deleted", ()),
        len(kinds) + 1: ("deleted", ()),
        -5: ("late_arriving", ()),
    }
    applied = project.json("apply", "latest", "--yes")
    assert (applied.code, applied.document["outcome"]) == (0, "corrected"), applied
    again = project.json("sweep")
    assert (again.code, again.document["outcome"]) == (0, "clean"), again


def test_query_is_described_as_its_table_and_its_rows_are_pulled(
    driven: SparkSession, database: JdbcDatabase, project: Project
) -> None:
    rows = fill(database)
    jvm: Any = driven._jvm
    engine = JdbcEngine(JdbcSource(url=database.url), lambda login: open_database(jvm, login))
    # Derby hands no XML value to anybody: a query has to serialize it.
    names = ["order", "Region", "seen", *(kept.name for kept in KINDS[database.product] if kept.type != "xml")]
    query = f'select {", ".join(map(quoted, names))} from "Shop"."Order Items" -- all of it\n;'
    try:
        columns = {
            one.name: one
            for one in engine.describe(TableRequest("t", '"Shop"."Order Items"', key=("order",))).table.columns
        }
        described = engine.describe(TableRequest("t", "", key=("order",), query=query)).table.columns
    finally:
        engine.close()
    assert {one.name: one.kind for one in described} == {name: columns[name].kind for name in names}

    project.settings["source"] = {"query": query, "key": ["order", "Region"]}
    project.settings["pull"] = {"strategy": "full"}
    project.settings["lake"]["path"] = "lake/query"
    assert project.json("pull").table["pull"]["rows"] == rows
    swept = project.json("sweep")
    assert (swept.code, swept.document["outcome"]) == (0, "clean"), swept


@pytest.mark.parametrize(
    ("product", "moment"), [("h2", "timestamp"), ("h2", "varchar(10)"), ("duckdb", "varchar"), ("derby", "varchar(10)")]
)
def test_budget_of_a_key_that_is_no_integer_is_spent_in_parts_where_the_product_tells_them_and_else_not(
    driven: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], product: str, moment: str
) -> None:
    database = JdbcDatabase(driven, product, tmp_path)
    project = Project(tmp_path, cast("Any", database), capsys)
    old = OLD.get(product, OLD["h2"])
    key = "'k' || trim(cast({n} as char(5)))" if moment != "timestamp" else "timestamp '2024-01-01 00:00:{n:02}'"
    rows = ", ".join(f"({key.format(n=n)}, {n}, {old})" for n in range(60))
    database.execute(
        f'create table "t" ("k" {moment} not null, "v" integer, "seen" timestamp)', f'insert into "t" values {rows}'
    )
    project.source = {"url": database.url}
    project.settings = {
        "name": "t",
        "source": {"table": '"t"', "key": ["k"]},
        "pull": {"strategy": "timestamp", "watermark": ["seen"]},
        "lake": {"path": "lake/t", "type": "copy_on_write"},
        "sweep": {"segments": 4},
    }
    assert project.json("pull").code == 0
    database.execute('update "t" set "v" = -1 where "v" = 7', 'delete from "t" where "v" in (20, 40)')

    swept = [project.json("sweep", "--budget", "1ms") for _ in range(4)]

    read = [ran.table["source"]["rows"] for ran in swept]
    notes = [any("all were compared at once" in note for note in ran.table["notes"]) for ran in swept]
    found = sum((Counter(ran.drift) for ran in swept), Counter())
    if product == "derby" or moment == "timestamp":
        assert (read, notes, {ran.code for ran in swept}) == ([58] * 4, [True] * 4, {1})
        return
    assert (sum(read), notes, {ran.code for ran in swept}) == (58, [False] * 4, {3}), read
    assert max(read) < 40
    assert found == {"updated_without_watermark": 1, "deleted": 2}
    assert swept[-1].table["coverage"]["never_compared"] == 0


ZONED = {"h2": "timestamp with time zone", "derby": "timestamp", "duckdb": "timestamptz"}


def test_rows_above_the_checkpoint_come_by_the_next_pull_and_doubled_keys_are_refused_with_a_sample(
    database: JdbcDatabase, project: Project
) -> None:
    """The watermark is a zoned one where the database has such, and rows come in pages."""
    zoned = ZONED[database.product]
    at = f"cast(case when 1 = 1 then {{}} end as {zoned})"
    if database.product == "duckdb":  # a cast would read the time in the zone of the machine
        at = "timezone('UTC', {})"
    old = OLD.get(database.product, OLD["h2"])
    newer = old.replace("2024-05", "2024-06")
    database.execute(
        f"create table orders (code varchar(10) not null, amount decimal(10,2), seen {zoned})",
        *(
            f"insert into orders values ('{code}', 1.10, {at.format(old.replace(':00:00', f':00:0{second}'))})"
            for second, code in enumerate("abc")
        ),
    )
    names = {"h2": ("CODE", "SEEN"), "derby": ("CODE", "SEEN"), "duckdb": ("code", "seen")}[database.product]
    project.settings["source"] = {"table": "orders", "key": [names[0]]}
    project.settings["pull"] |= {"watermark": [names[1]], "limit": 1}
    del project.settings["compare"]
    first = project.json("pull").table["pull"]
    assert (first["rows"], first["pages"]) == (3, 3)

    database.execute(
        f"insert into orders values ('d', 2.20, {at.format(newer)})",
        "update orders set amount = 9 where code = 'a'",
    )
    pulled = project.json("pull")
    assert pulled.code == 0, pulled.out
    assert (pulled.table["pull"]["rows"], pulled.table["pull"]["mode"]) == (1, "incremental")
    assert pulled.table["checkpoint"].startswith("2024-06-01T00:00:00")
    swept = project.json("sweep")
    assert (swept.code, swept.drift) == (1, {"updated_without_watermark": 1})
    assert project.findings()[0]["key"] == {names[0]: "a"}

    database.execute(f"insert into orders values ('b', 1.10, {at.format(old)})")
    refused = project.json("sweep")
    assert refused.code == 5
    assert "(b)" in refused.table["error"]["message"]


@pytest.fixture
def h2(driven: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """A table `orders` without a primary key, behind a password."""
    database = JdbcDatabase(driven, "h2", tmp_path)
    database.execute(
        'create table "orders" ("id" bigint not null)',
        "create user reader password 'geheim' admin",
        "create table nokey (id bigint)",
    )
    made = Project(tmp_path, cast("Any", database), capsys)
    (tmp_path / "password").write_text("geheim")
    made.source = {"url": database.url, "password": "${file:password}", "jdbc": {"user": "reader"}}
    made.settings = {
        "name": "orders",
        "source": {"table": '"orders"', "key": ["id"]},
        "pull": {"strategy": "full"},
        "lake": {"path": "lake/orders", "type": "copy_on_write"},
    }
    return made


@pytest.mark.parametrize(
    ("source", "table", "code", "said"),
    [
        ({}, {"table": "orders"}, 2, 'did you mean "orders", in quotes?'),
        ({}, {"table": "nokey", "key": None}, 2, "has no primary key"),
        ({}, {"key": ["Id"]}, 2, "source.key names column Id"),
        ({}, {"where": "no_such = 1"}, 3, "NO_SUCH"),
        ({"jdbc": {"user": "someone"}}, {}, 3, "the database refused the login"),
        ({"driver": "com.sap.db.jdbc.Driver"}, {}, 2, "no loaded jar holds the JDBC driver com.sap.db.jdbc.Driver"),
        ({"driver": "org.apache.derby.jdbc.EmbeddedDriver"}, {}, 2, "does not take such a URL"),
        ({"url": "jdbc:h2:tcp://127.0.0.1:1/shop"}, {}, 3, "cannot connect to jdbc:h2:tcp://127.0.0.1:1/shop"),
        ({"url": "jdbc:foo://host/shop"}, {}, 2, "no JDBC driver is known for jdbc:foo"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_remedy_and_without_a_secret(
    h2: Project, source: dict[str, Any], table: dict[str, Any], code: int, said: str
) -> None:
    h2.source.update(source)
    h2.settings["source"].update(table)

    ran = h2.run("pull")

    assert ran.code == code, ran
    assert said in ran.err + ran.out
    assert "geheim" not in ran.err + ran.out
    assert not h2.lake.exists()


def test_mistyped_path_of_an_embedded_database_makes_no_new_one(h2: Project) -> None:
    for url in (f"jdbc:h2:{h2.folder}/shpo", f"jdbc:duckdb:{h2.folder}/shpo", f"jdbc:derby:{h2.folder}/shpo"):
        h2.source = {"url": url}
        assert h2.run("pull").code == 3
    assert [path for path in h2.folder.iterdir() if path.name.startswith("shpo")] == []


def test_doctor_leaves_nothing_in_the_working_folder_and_no_attribute_makes_a_derby_database(tmp_path: Path) -> None:
    text = """\
version: 1
source: {url: "jdbc:derby:%s"}
tables:
  - {name: orders, source: {table: orders, key: [id]}, lake: {path: lake}}
"""
    ended = {}
    # The second one is let through to the driver, which boots: it finds no database.
    for url in (f"{tmp_path}/newdb;create=true", f"{tmp_path}/newdb"):
        (tmp_path / "reconcile.yaml").write_text(text % url, encoding="utf-8")
        call = [sys.executable, "-m", "hudi_reconcile", "doctor"]
        ended[url] = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)

    made, missing = ended.values()
    assert "reconcile.yaml:2: source.url: attribute create: expected false" in made.stdout, made
    assert "cannot connect to jdbc:derby" in missing.stdout, missing
    assert (made.returncode, missing.returncode) == (2, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["reconcile.yaml"]


def test_doctor_asks_the_driver_and_names_what_it_cannot_see(h2: Project) -> None:
    ran = h2.run("doctor")

    assert "H2 2." in ran.out
    assert "open transactions" in ran.out
    assert "pull.overlap" in ran.out
    assert "1 columns, 0 rows counted" in ran.out


NUMBERED = {
    "h2": "bigint generated always as identity",
    "derby": "bigint generated always as identity",
    "duckdb": "bigint not null",
}


def test_config_that_is_proposed_of_a_drivers_metadata_is_accepted_by_validate_and_doctor(
    database: JdbcDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    database.execute(
        f"create table orders (id {NUMBERED[database.product]} primary key, updated_at timestamp not null)",
        "create table heap (note varchar(9))",
        "create view recent as select * from orders",
        'create schema "Shop"',
        'create table "Shop"."Order Items" (a int not null primary key)',
    )
    monkeypatch.chdir(tmp_path)

    assert run(["init", "--from-database", "--no-input", "--url", database.url, "--format", "json"]) == 0

    document = json.loads(capsys.readouterr().out)
    (orders,) = document["tables"]
    number = "id" if database.product != "duckdb" else None
    assert orders["source_table"].lower() == "orders"
    assert orders["key"] == {"value": [orders["key"]["value"][0]], "reason": "the primary key"}
    assert orders["strategy"]["value"] == ("timestamp+incrementing" if number else "timestamp")
    assert [name.lower() for name in orders["watermark"]["value"]] == ["updated_at"]
    assert {one["source_table"].lower() for one in document["left_out"]} == {"heap", "recent"}
    assert run(["config", "validate"]) == 0
    assert run(["doctor"]) == 0, capsys.readouterr()
    if database.product == "h2":
        database.execute(f"insert into orders (updated_at) values ({OLD['h2']})")
        assert (run(["pull"]), run(["sweep"])) == (0, 0), capsys.readouterr()
    ask = ["init", "other", "--from-database", "--schema", "Shop", "--format", "json"]
    capsys.readouterr()
    assert run(ask) == 0
    (items,) = json.loads(capsys.readouterr().out)["tables"]
    assert (items["name"], items["source_table"]) == (
        "Shop.Order_Items",
        'Shop."Order Items"' if database.product == "duckdb" else '"Shop"."Order Items"',
    )
    assert run(["-c", "other/reconcile.yaml", "doctor"]) == 0, capsys.readouterr()
