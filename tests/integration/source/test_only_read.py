"""The source is only read, whoever owns its schemas and whatever the config's SQL says: real servers, attacks on each plane."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.core.errors import ReconcileError, UsageError
from hudi_reconcile.core.pull.source_lineage import digest_filter
from hudi_reconcile.core.sweep.segments import HashSegments
from hudi_reconcile.core.tables.agreement import ComparedColumn
from hudi_reconcile.databases.base import TableRequest
from hudi_reconcile.databases.postgres import digests
from hudi_reconcile.source import reads as frames
from hudi_reconcile.sql import reads as statements
from hudi_reconcile.sql.user_sql import predicate_fault
from tests.integration.project import Project
from tests.integration.source import support
from tests.integration.source.test_mysql import engine as maria_engine
from tests.integration.source.test_mysql import source as maria_source
from tests.support.mariadb import MariaDatabase
from tests.support.postgres import Database

ROWS = 40
PLANTED = """
create function public.quote_ident(name) returns text language plpgsql as $$ begin return case when $1::text = 'orders' then
  'orders where true; set default_transaction_read_only=off; commit; drop table public.victim; select 1 from public.orders'
  else pg_catalog.quote_ident($1::text) end; end $$;
create function public.pg_has_role(name, text, text) returns boolean language plpgsql as $$ begin return true; end $$;
create function public.md5(varchar) returns text language plpgsql as $$ begin return 'x'; end $$;
create function public.octet_length(varchar) returns int language plpgsql as $$ begin return 1; end $$;
create function public.same(varchar, varchar) returns boolean language plpgsql as $$ begin return true; end $$;
create operator public.= (leftarg = varchar, rightarg = varchar, function = public.same);
create schema evil;
create function evil.pg_is_in_recovery() returns boolean language plpgsql as $$ begin return false; end $$;
create function evil.current_schema() returns name language plpgsql as $$ begin return 'evil'; end $$;
create function evil.current_schemas(boolean) returns name[] language plpgsql as $$ begin return '{evil}'; end $$;
create function evil.version() returns text language plpgsql as $$ begin return 'PostgreSQL 16.1'; end $$;
create function evil.current_setting(text) returns text language plpgsql as $$ begin return 'on'; end $$;
create function evil.count(varchar) returns bigint language plpgsql as $$ begin return 0; end $$;
create function evil.to_regclass(text) returns regclass language plpgsql as $$ begin return 'public.victim'::regclass; end $$;
grant usage on schema evil to public;
"""
OUT_OF_WHERE = "true); set default_transaction_read_only = off; commit; drop table victim; select 1 where (true"
OUT_OF_QUERY = (
    "select id from t) x limit 0; set default_transaction_read_only = off; commit; drop table victim; "
    "select 1 from (select 1 as id"
)
UNLOCKED = "select id, set_config('default_transaction_read_only', 'off', false) as s from t"


@pytest.fixture
def reader(pg: Database) -> Iterator[dict[str, str]]:
    """A role that may only read, in a database where others planted what its statements call."""
    name = f"{pg.name}_reader"
    pg.execute(
        "create table orders (order_id bigint primary key, note varchar(20), updated_at timestamptz not null default now())",
        "insert into orders select n, 'note ' || n, '2024-01-01'::timestamptz + n * interval '1 hour'"
        f" from generate_series(1, {ROWS}) n",
        "create table victim (id int)",
        *(one + ";" for one in PLANTED.split(";\n") if one.strip()),
        f"alter database {pg.name} set track_functions = 'all'",
        f"create role {name} login password 'pw-1'",
        f"grant select on orders to {name}",
    )
    pg.execute(f"alter table victim owner to {name}")
    yield {"user": name, "password": "pw-1"}
    pg.execute(f"drop owned by {name}", f"drop role {name}")


def called(pg: Database) -> list[str]:
    return sorted(
        f"{schema}.{name}" for schema, name in pg.query("select schemaname, funcname from pg_stat_user_functions")
    )


def tables(pg: Database) -> list[str]:
    return [
        name
        for (name,) in pg.query(
            "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1"
        )
    ]


def held(frame: object) -> int:
    assert isinstance(frame, DataFrame)
    return len(frame.collect())


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("path", ["", "evil, public, pg_catalog"])
def test_nothing_that_others_planted_runs_in_doctor_pull_and_sweeps(
    path: str, pg: Database, reader: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if path:
        pg.execute(f"alter role {reader['user']} set search_path = {path}")
    project = Project.of(tmp_path, pg, capsys)
    project.source["url"] = project.source["url"].replace(f"{pg.server.user}@", f"{reader['user']}@")
    (tmp_path / "password").write_text(reader["password"])
    project.settings["source"] = {"table": "orders"}

    doctor = project.json("doctor").document
    checks = {check["name"]: (check["status"], check["detail"]) for check in doctor["checks"]}
    assert checks["safe bound"][0] == "warn", (
        checks
    )  # this role does not see others' transactions, whatever says it does
    assert checks["orders: source"] == (
        "ok",
        f"public.orders, 3 columns, about {checks['orders: source'][1].split()[-2]} rows",
    )
    if not path:  # the rest is slow, and the longer path holds all that is planted
        assert called(pg) == []
        return
    assert project.json("pull").code == 0
    pg.execute("update orders set note = 'changed' where order_id = 3")
    for mode in ("pushdown", "stream"):
        project.settings["sweep"] = {"mode": mode}
        assert project.json("sweep").drift == {"updated_without_watermark": 1}

    assert tables(pg) == ["orders", "victim"]
    assert called(pg) == []


def test_table_without_a_schema_is_the_one_that_the_roles_own_path_finds_and_is_told_with_it(
    pg: Database, reader: dict[str, str]
) -> None:
    pg.execute(
        "create table evil.shadow (id int primary key)", "create table public.shadow (id int primary key, other int)",
        f"grant select on evil.shadow, public.shadow to {reader['user']}",
        f"alter role {reader['user']} set search_path = evil, public",
    )  # fmt: skip
    query = "select s.id from shadow s join public.shadow t using (id)"
    with support.engine(pg, **reader) as engine:
        bare = engine.describe(TableRequest("t", "shadow")).table
        asked = engine.describe(TableRequest("t", "", key=("id",), query=query)).table
        hidden = "with shadow as (select id from shadow) select id from shadow"  # within its own body it is the table
        assert 'from "evil".shadow)' in engine.describe(TableRequest("t", "", key=("id",), query=hidden)).table.name
        with pytest.raises(UsageError, match="table Missing does not exist"):
            engine.describe(TableRequest("t", "Missing"))

    assert (bare.name, [one.name for one in bare.columns]) == ("evil.shadow", ["id"])
    assert 'from "evil".shadow s join public.shadow t' in asked.name
    assert called(pg) == []


def test_function_that_only_the_roles_path_would_find_is_refused_with_the_way_to_write_it(pg: Database) -> None:
    pg.execute(
        "create table t (id int primary key)",
        "create function public.big(int) returns boolean language sql as 'select $1 > 1'",
    )
    with support.engine(pg) as engine:
        for text in ("big(id)", "id in (select id from elsewhere)"):
            with pytest.raises(ReconcileError) as error:
                engine.describe(TableRequest("t", "t", where=text))
            assert "public.f(x)" in error.value.fix
        assert engine.describe(TableRequest("t", "t", where="public.big(id)")).table.name == "public.t"


def test_table_in_a_condition_is_the_one_of_the_roles_path_in_each_statement_and_the_filter_stays_the_same(
    pg: Database, spark: SparkSession
) -> None:
    pg.execute(
        "create table t (id int primary key)", "insert into t values (1), (2), (3)",
        "create table vip (id int)", "insert into vip values (2), (3)",
    )  # fmt: skip
    text = "id in (select v.id from vip v) -- those alone"
    with support.source(pg, "t", spark, where=text) as source:
        table = source.describe()
        counts = source.count_rows(table), held(source.read_rows(table, HashSegments(("id",), 2, "md5")))
        source.describe()
        assert source.read_lineage().where == digest_filter(text)

    assert counts == (2, 2)
    assert any('in (select v.id from "public".vip v) -- those alone\n' in sent for sent in source.list_statements())


def test_type_that_would_be_compared_as_another_is_refused_until_the_text_says_how(pg: Database) -> None:
    """As citext: text without its letter case, an extension's type with an implicit cast and an `=` of its own."""
    pg.execute(
        "create type public.ci",
        "create function public.ci_in(cstring) returns public.ci language internal immutable strict as 'textin'",
        "create function public.ci_out(public.ci) returns cstring language internal immutable strict as 'textout'",
        "create type public.ci (input = public.ci_in, output = public.ci_out, like = text)",
        "create cast (public.ci as text) without function as implicit",
        "create function public.ci_eq(public.ci, public.ci) returns boolean language sql immutable"
        " as 'select lower($1::text) = lower($2::text)'",
        "create operator public.= (leftarg = public.ci, rightarg = public.ci, function = public.ci_eq)",
        "create type public.mood as enum ('sad', 'ok')",
        "create domain public.ci1 as public.ci",
        "create domain public.ci2 as public.ci1",
        "create table t (id int primary key, email public.ci, mood public.mood, tags public.ci[], deep public.ci2)",
        "insert into t values (1, 'A@b.c', 'ok', '{x}'), (2, null, 'sad', null)",
    )
    with support.engine(pg) as engine:
        with pytest.raises(UsageError, match=r"compares or passes on public\.ci1, which is public\.ci"):
            engine.describe(TableRequest("t", "t", where="id::text::public.ci1 = '1'"))
        for text in (
            "email = 'a@b.c'",
            "id = 1 and 'x' = any (tags)",
            "coalesce(email, '') = 'a@b.c'",
            "deep = 'x'",
            "strpos(email, 'a') > 0",
            "id in (select id from (select id, email as e from t) z where e = 'a@b.c')",
            "(t).email = 'a'",
            "email::public.ci = 'x'",
            "id in (select a.id from t a join t b using (email))",
        ):
            for request in (
                TableRequest("t", "t", where=text),
                TableRequest("t", "", key=("id",), query=f"select id, email from t where {text}"),
            ):
                with pytest.raises(UsageError, match=r"which is public\.ci") as error:
                    engine.describe(request)
                assert "operator(public.=)" in error.value.fix
        text = (
            "email operator(public.=) 'a@b.c' and email::text = 'A@b.c' and mood > 'sad'::public.mood and email is not null"
            " and lower(email) = 'a@b.c' and 'x'::public.ci operator(public.=) 'X'"
        )
        found = engine.describe(TableRequest("t", "t", where=text)).table
        assert engine.rows(f"select count(*) as n from {found.name} where {text}")[0]["n"] == 1

    assert [one.declared for one in found.columns] == ["integer", "ci", "mood", "ci[]", "ci2"]


def test_cast_that_a_types_owner_planted_does_not_run_and_its_values_keep_their_text(pg: Database) -> None:
    """`::text` takes a cast from pg_cast whatever the path is, so such types are read by their output functions."""
    kinds = {"pair": "row(1, null)", "blank": "row(null, null)", "pairs": "array[row(1, 'x')::app.pair]", "mood": "'sad'",
             "moods": "'{sad}'", "span": "'[1,4)'", "wrapped": "row(2, 'y')", "small": "7", "address": "'10.0.0.1'",
             "bytea": "'sad'", "plain": "'10.0.0.1'"}  # fmt: skip
    types = {"blank": "app.pair", "pairs": "app.pair[]", "moods": "app.mood[]", "plain": "inet"}
    texts_of_one = [
        "(1,)",
        "(,)",
        '{"(1,x)"}',
        "sad",
        "{sad}",
        "[1,4)",
        "(2,y)",
        "7",
        "10.0.0.1/32",
        "sad",
        "10.0.0.1/32",
    ]
    columns = ", ".join(f"{name} {types.get(name, f'app.{name}')}" for name in kinds)
    pg.execute(
        f"alter database {pg.name} set track_functions = 'all'",
        "create schema app", "create type app.pair as (a int, b text)", "create type app.mood as enum ('sad', 'ok')",
        "create type app.span as range (subtype = int4)", "create domain app.wrapped as app.pair",
        "create domain app.small as int", "create domain app.address as inet", "create type app.bytea as enum ('sad')",
        f"create table t (id int primary key, {columns})",
        f"insert into t values (1, {', '.join(kinds.values())})", "insert into t values (2)",
    )  # fmt: skip
    for kind in ("pair", "mood", "span", "bytea", "pair[]", "mood[]"):
        name = kind.replace("[]", "s")
        pg.execute(
            f"create function app.{name}_text(app.{kind}) returns text language plpgsql as $$ begin return 'x'; end $$",
            f"create cast (app.{kind} as text) with function app.{name}_text(app.{kind})",
        )
    with support.engine(pg) as engine:
        found = engine.describe(TableRequest("t", "t", key=("mood", "pair"))).table
        queried = engine.describe(TableRequest("t", "", key=("id",), query="select * from t")).table
        for table in (found, queried):
            read = table.columns[1:]
            shown = ", ".join(f"{engine.dialect.read(c)} as {c.name}" for c in read)
            digested = ", ".join(f"{digests.canonical(ComparedColumn(0, c, 'string'))} as {c.name}" for c in read)
            for texts in (shown, digested):
                one, other = engine.rows(f"select {texts} from {table.name} order by id")
                assert [str(value) for value in one.values()] == texts_of_one
                assert set(other.values()) == {None}
        key = found.key_columns
        assert engine.rows(statements.key_faults_query(engine.dialect, found.name, key, ()))[0]["duplicated"] == 0
        share = engine.dialect.hash_predicate(tuple((c.name, c) for c in key), 0, 1) or ""
        assert len(engine.rows(f"select 1 as n from {found.name} where {share}")) == 2

    assert called(pg) == []


def test_function_that_the_planner_may_run_as_the_reader_is_told_unless_a_superuser_owns_it(pg: Database) -> None:
    owner = f"{pg.name}_owner"
    functions = ("f", "p", "k", "c", "trusted", "unused")
    pg.execute(
        f"create role {owner}", "create schema app",
        *(f"create function app.{n}(int) returns int language plpgsql immutable as 'begin return 1; end'" for n in functions),
        *(f"alter function app.{n}(int) owner to {owner}" for n in functions if n != "trusted"),
        "create table t (id int, check (id <> app.c(0))) partition by range (app.k(id))",
        "create table low partition of t for values from (0) to (9)",
        "create index on low ((id + app.f(2))) where id > app.trusted(0)",
        "create statistics app.s on (id + app.p(1)), (id % 2) from low",
        "create view v as select * from t", "create materialized view m as select * from t",
        "create table plain (id int primary key check (id > 0))",
    )  # fmt: skip
    try:
        with support.engine(pg) as engine:
            runs = {
                n: engine.table_facts(TableRequest("t", n, key=("id",))).runs for n in ("t", "low", "v", "m", "plain")
            }
    finally:
        pg.execute(f"reassign owned by {owner} to current_user", f"drop role {owner}")

    every = ("app.c()", "app.f()", "app.k()", "app.p()")
    assert runs == {"t": every, "v": every, "low": ("app.c()", "app.f()", "app.p()"), "m": (), "plain": ()}


def test_environment_leads_no_connection_to_another_server_than_the_url_names(
    pg: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    pg.execute("create table t (id int primary key)")
    with socket.create_server(("127.0.0.2", pg.server.port)) as other:
        other.settimeout(0.2)
        monkeypatch.setenv("PGHOSTADDR", "127.0.0.2")
        with support.engine(pg) as engine:
            assert (
                engine.describe(TableRequest("t", "t")).table.name == "public.t"
            )  # by a session that asks for the path, too
        with pytest.raises(TimeoutError):
            other.accept()


@pytest.mark.parametrize(
    ("name", "value"), [("PGTZ", "Europe/Berlin"), ("PGDATESTYLE", "German"), ("PGCLIENTENCODING", "LATIN1")]
)
def test_variable_that_overrules_a_setting_of_the_session_is_named_and_no_pooler_blamed(
    name: str, value: str, pg: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    pg.execute("create table t (id int primary key)")
    monkeypatch.setenv(name, value)
    with support.engine(pg) as engine, pytest.raises(UsageError, match=f"{name} in the environment overrules") as error:
        engine.describe(TableRequest("t", "t"))
    assert error.value.fix == f"unset {name}"


def test_view_whose_rows_hang_on_who_asks_is_told_by_what_it_calls(pg: Database) -> None:
    pg.execute(
        "create table t (id int primary key, owner name)",
        "create function public.mine() returns setof t language sql security definer as 'select * from t where id > 1'",
        "create view plain as select * from t",
        "create view filtered as select * from plain where owner = current_user",
        "create view below as select f.id from filtered f join mine() m using (id)",
    )
    with support.engine(pg) as engine:
        asks = {
            name: engine.table_facts(TableRequest("t", name, key=("id",))).asks
            for name in ("t", "plain", "filtered", "below")
        }

    assert asks == {"t": (), "plain": (), "filtered": ("current_user",), "below": ("current_user", "public.mine()")}


@pytest.mark.parametrize(
    "request_", [TableRequest("t", "t", where=OUT_OF_WHERE), TableRequest("t", "", key=("id",), query=OUT_OF_QUERY)]
)
def test_text_that_holds_several_statements_is_refused_by_the_plane_itself(
    pg: Database, request_: TableRequest
) -> None:
    """The config's check is not asked here."""
    pg.execute("create table t (id int primary key)", "create table victim (id int)")
    with support.engine(pg) as engine:
        with pytest.raises(ReconcileError):
            engine.describe(request_)
        with pytest.raises(ReconcileError, match="cannot insert multiple commands"):
            engine.rows("select 1; set default_transaction_read_only = off; commit; drop table victim")
        with engine.one_snapshot(), pytest.raises(ReconcileError, match="cannot insert multiple commands"):
            engine.rows("select 1; commit; drop table victim")

    assert tables(pg) == ["t", "victim"]


def test_setting_that_a_statement_changes_is_gone_with_it_and_nothing_later_writes(pg: Database) -> None:
    pg.execute("create table t (id int primary key)", "insert into t values (1)", "create table victim (id int)",
               "create function public.write() returns int language sql as 'delete from public.t returning 1'")  # fmt: skip
    changed = (
        "default_transaction_read_only|off TimeZone|Asia/Tokyo search_path|public row_security|on statement_timeout|0"
    )
    with support.engine(pg) as engine:
        before = engine.rows("select current_setting('statement_timeout') as t")[0]["t"]
        for pair in changed.split():
            name, value = pair.split("|")
            engine.rows(f"select set_config('{name}', '{value}', false)")
            with pytest.raises(ReconcileError, match="read-only transaction"):
                engine.rows("select public.write()")
        names = [pair.split("|")[0] for pair in changed.split()]
        shown = ", ".join(f"current_setting('{name}') as \"{name}\"" for name in names)
        found = engine.rows(f"select {shown}")[0]

    assert list(found.values()) == ["on", "UTC", "pg_catalog", "off", before]
    assert pg.query("select count(*) from t") == [(1,)]


def test_setting_that_a_text_changes_for_its_session_does_not_reach_what_spark_reads(
    pg: Database, spark: SparkSession
) -> None:
    """The config's check is not asked here: the query itself takes read-only away, on each connection that reads it."""
    pg.execute("create table t (id int primary key)", "insert into t values (1), (2)", "create table victim (id int)")
    with support.source(pg, "", spark, key=("id",), query=UNLOCKED) as source:
        rows = source.read_rows(source.describe(), HashSegments(("id",), 2, "md5"))

    assert held(rows) == 2
    assert tables(pg) == ["t", "victim"]


# Where sqlglot and PostgreSQL disagree on what is quoted: the second sees a second statement.
DISAGREED = [
    "a = E'x'\n'\\'' ) ; select 1 where ('' = ''",
    "a$$ = 1) ; select 1 where ('$$' = ''",
    "a = '' ||/* ' */ '' ) ; select 1 where ('' = ''",
    "a = '' /*+ ' */) ; select 1 where ('' = ''",
    "true -- x\r) ; select 1 where (true",
]
PIECES = [
    "'", "''", "\\", "\\'", "$$", "$a$", "E'", "e'x'", "U&'", '"', '"c"', "--", "-- ", "/*", "*/", "/*+", "/*!", "\n", "\r", " ",
    "||", "||/", "@", "@-", "#", "`", "{#", "\u00a0", "a", "1", "n$", "'a'", "$$b$$", "::", "=", " and ", "(", ")", ";",
    ") ; select 1 where ('' = ''",
]  # fmt: skip


def test_text_that_is_taken_is_one_statement_to_the_server_too(pg: Database) -> None:
    with pg.connect(autocommit=True) as connection:

        def statements(text: str) -> str:
            try:
                connection.execute(f"select 1 from (select 'x' as a, 1 as a$$) t where ({text}\n)", binary=True)
            except psycopg.Error as error:
                return "several" if "multiple commands" in str(error) else "wrong"
            return "one"

        assert [statements(text) for text in DISAGREED] == ["several"] * len(DISAGREED)
        assert [text for text in DISAGREED if not predicate_fault(text, "postgresql")] == []

        @settings(max_examples=600, deadline=None, derandomize=True, database=None)
        @given(st.lists(st.sampled_from(PIECES), max_size=10).map("".join))
        def agree(text: str) -> None:
            if not predicate_fault(text, "postgresql"):
                assert statements(text) != "several"

        agree()


LOST = [
    ("row_security=off", "row_security=on", "row_security"),
    ("search_path=pg_catalog", "search_path=evil", "search_path"),
    ("default_transaction_read_only=on", "default_transaction_read_only=off", "default_transaction_read_only"),
    ("bytea_output=hex", "bytea_output=escape", "bytea_output"),
    ("jit=off", "jit=on", "jit"),
]


def test_connection_of_sparks_whose_settings_are_not_in_force_reads_nothing(pg: Database, spark: SparkSession) -> None:
    pg.execute("create table t (id int primary key)", "insert into t values (1), (2)", "create schema evil",
               "create function evil.current_setting(text) returns text language sql as $$ select 'on' $$")  # fmt: skip
    with support.engine(pg) as engine:
        table, target = engine.describe(TableRequest("t", "t")).table, engine.jdbc()
    plan = frames.JdbcRead("select id as c0 from public.t where id > 0", ("1 = 1", "c0 > 1"))

    assert frames.read(spark, target, plan, table.columns).count() == 3
    for ours, other, name in LOST:
        assert ours in target.properties["options"]
        options = target.properties["options"].replace(ours, other)
        broken = replace(target, properties={**target.properties, "options": options})
        with pytest.raises(
            (PySparkException, Py4JJavaError), match=f"settings of this session are not in force: {name}"
        ):
            frames.read(spark, broken, plan, table.columns).count()
    planned = pg.query(f"explain (format json) select * from (select * from t where {target.proof}) x")[0][0]
    assert "InitPlan" in json.dumps(planned), "decided once per statement, not once per row"


def test_mariadb_runs_one_statement_that_writes_nothing_and_leaves_no_setting_behind(
    maria: MariaDatabase, spark: SparkSession
) -> None:
    maria.execute(
        "create table t (id int primary key)", "insert into t values (1)", "create table victim (id int)",
        "create function wipe() returns int begin delete from t; return 1; end",
        "create function unlock_it() returns int begin set session tx_read_only = 0; set session time_zone = '-07:00';"
        " set session sql_mode = 'ANSI_QUOTES'; return 1; end",
    )  # fmt: skip
    with maria_engine(maria) as engine:
        for text in (
            "1) ; drop table victim; select (1",
            "1 = 1 --1) or wipe()",
            "wipe() = 1",
            "1 into outfile '/tmp/hr_pwned'",
        ):
            with pytest.raises(ReconcileError):
                engine.rows(f"select 1 from t where ({text}\n)")
        engine.rows("select unlock_it()")
        with pytest.raises(ReconcileError, match="1792"):
            engine.rows("select wipe()")
        found = engine.rows("select @@tx_read_only as r, @@time_zone as z, @@sql_mode as m")[0]
    assert (found["r"], found["z"], "ANSI_QUOTES" in found["m"]) == (1, "+00:00", False)

    maria.execute("create view v as select id, unlock_it() as u from t")
    with maria_source(maria, spark, table="v", key=("id",)) as source:
        rows = source.read_rows(source.describe(), HashSegments(("id",), 1, "md5"))
    assert held(rows) == 1
    assert maria.query("select count(*) from t") == [(1,)]
    with maria_engine(maria) as engine:
        table, target = engine.describe(TableRequest("t", "t")).table, engine.jdbc()
    plan = frames.JdbcRead("select id as c0 from t", ("1 = 1",))
    assert frames.read(spark, target, plan, table.columns).count() == 1
    for setting in ("time_zone = '-07:00'", "sql_mode = 'ANSI_QUOTES'", "tx_read_only = 0"):
        broken = replace(target, properties={**target.properties, "initSql": f"set session {setting}"})
        with pytest.raises((PySparkException, Py4JJavaError), match="more than 1 row"):
            frames.read(spark, broken, plan, table.columns).count()
