"""A PostgreSQL table that is brought in step: values that it cannot hold, keys with NULL, rows that exchange unique values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.changefeed.postgres_sink import PostgresTarget, Row, TargetError
from hudi_reconcile.cli.main import run
from hudi_reconcile.core.errors import UsageError
from tests.integration.changes.copies import Copy
from tests.support.postgres import Database

LAKE = {"a": "int", "b": "string", "note": "string", "amount": "decimal(12,4)", "raw": "binary"}
TABLE = """create table copy (a int not null, b text, note varchar(3), amount numeric(8,2), raw bytes, code char(4),
                              unique (a, b), unique (note) deferrable)"""


@pytest.fixture
def target(pg: Database, monkeypatch: pytest.MonkeyPatch) -> PostgresTarget:
    monkeypatch.setenv("PGPASSWORD", pg.server.password)
    pg.execute("create domain bytes as bytea", TABLE)
    server = pg.server
    return PostgresTarget(f"postgresql+psycopg://{server.user}@{server.host}:{server.port}/{pg.name}", "copy")


def bring(target: PostgresTarget, *rows: Row) -> int:
    def each() -> Iterator[Row]:
        yield from rows

    return target.apply(each(), {**LAKE, "code": "string"}, ["a", "b"])


def test_values_that_the_target_would_cut_or_round_are_refused_by_column_and_nothing_is_written(
    pg: Database, target: PostgresTarget
) -> None:
    for column, note, amount, code in (
        ("note", "abcdef", "1.0000", "x"),
        ("note", "ab  ", "1.0000", "x"),
        ("amount", "abc", "1.2345", "x"),
        ("code", "abc", "1.2000", "abcde"),
    ):
        with pytest.raises(UsageError, match=rf"are: {column} \S.* in 1 rows; nothing") as refused:
            bring(target, ("i", ["1", "k", note, amount, None, code]))
        assert "abcde" not in str(refused.value)
    assert pg.query("select count(*) from copy") == [(0,)]
    assert bring(
        target, ("i", ["1", "k", "abc", "1.2000", "00ff", "x"]), ("d", ["9", "k", "too long", None, None, None])
    )
    assert [
        (note, str(amount), bytes(raw)) for note, amount, raw in pg.query("select note, amount, raw from copy")
    ] == [("abc", "1.20", b"\x00\xff")]


@pytest.mark.parametrize("key", ["char(10)", "padded", "text collate blind", "caseless", "citext"])
def test_text_key_whose_column_takes_two_texts_for_one_is_refused(
    pg: Database, target: PostgresTarget, key: str
) -> None:
    """'a' and 'a ', or 'a' and 'A', would be one row there: the delete of the one would take the other's."""
    pg.execute(
        "create collation blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "create domain fixed as char(10)",
        "create domain padded as fixed",
        "create domain caseless as text collate blind",
        # Of the extension citext, which is not installed everywhere, only the type's name counts.
        "create type citext as enum ('a')" if key == "citext" else "select 1",
        f"drop table copy; create table copy (a int, b {key} not null, unique (a, b))",
    )

    with pytest.raises(UsageError, match=r"b, of the key, is text in the lake, and .* takes different texts for one"):
        target.apply(iter([("i", ["1", "k"])]), {"a": "int", "b": "string"}, ["a", "b"])

    assert pg.query("select count(*) from copy") == [(0,)]


def test_key_with_a_null_part_stays_one_row_when_its_delivery_comes_again(pg: Database, target: PostgresTarget) -> None:
    for note in ("x", "x", "y"):
        bring(target, ("i", ["1", None, note, None, None, None]), ("i", ["1", "k", "z", None, None, None]))
        assert pg.query("select a, b, note from copy order by b") == [(1, "k", "z"), (1, None, note)]
    bring(target, ("d", ["1", None, None, None, None, None]))
    assert pg.query("select a, b from copy") == [(1, "k")]


def test_rows_exchange_values_of_a_deferrable_constraint_and_what_breaks_it_at_the_end_is_not_kept(
    pg: Database, target: PostgresTarget
) -> None:
    bring(target, ("i", ["1", "k", "x", None, None, None]), ("i", ["2", "k", "y", None, None, None]))
    bring(target, ("u", ["1", "k", "y", None, None, None]), ("u", ["2", "k", "x", None, None, None]))
    assert pg.query("select a, note from copy order by a") == [(1, "y"), (2, "x")]
    with pytest.raises(TargetError, match="23505"):
        bring(target, ("u", ["1", "k", "x", None, None, None]))
    assert pg.query("select a, note from copy order by a") == [(1, "y"), (2, "x")]


def test_row_that_another_session_keeps_locked_ends_the_delivery_by_name(
    pg: Database, target: PostgresTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(target, ("i", ["1", "k", "x", None, None, None]))
    with pg.connect() as other:
        other.execute("select 1 from copy for update")
        with pytest.raises(TargetError, match="55P03") as ended:
            bring(replace(target, lock_seconds=0.5), ("u", ["1", "k", "y", None, None, None]))
        monkeypatch.setenv("PGOPTIONS", "-c lock_timeout=500")
        with pytest.raises(TargetError, match="55P03"):  # a limit of the writer's own stays
            bring(target, ("u", ["1", "k", "y", None, None, None]))

    assert "pg_stat_activity" in ended.value.fix
    assert pg.query("select note from copy") == [("x",)]


def test_nothing_that_others_planted_on_the_writers_path_runs_when_rows_are_brought(
    pg: Database, target: PostgresTarget
) -> None:
    pg.execute(
        "drop table copy",
        "create table copy (id bigint primary key, note text, raw bytea)",
        "create schema evil",
        *(
            f"create function evil.{name} returns {kind} language plpgsql as $$ begin return {value}; end $$"
            for name, kind, value in (
                ("current_schemas(boolean)", "name[]", "'{evil}'"),
                ("to_regclass(text)", "regclass", "'pg_catalog.pg_class'::regclass"),
                ("format_type(oid, int)", "text", "'text'"),
                ("decode(text, text)", "bytea", "'x'"),
                ("same(bigint, bigint)", "boolean", "true"),
            )
        ),
        "create operator evil.= (leftarg = bigint, rightarg = bigint, function = evil.same)",
        f"alter database {pg.name} set track_functions = 'all'",
    )
    path = replace(target, url=f"{target.url}?options=-csearch_path%3Devil,public,pg_catalog")

    columns = {"id": "bigint", "note": "string", "raw": "binary"}
    path.apply(iter([("u", ("1", "a", "00ff")), ("u", ("2", "b", None))]), columns, ["id"])
    path.apply(iter([("d", ("1", None, None))]), columns, ["id"])

    assert pg.query("select id, note, raw from copy") == [(2, "b", None)]
    assert pg.query("select funcname from pg_stat_user_functions") == []


@pytest.mark.parametrize("event", ["insert or update", "delete"])
def test_row_that_a_trigger_of_the_target_swallows_ends_the_delivery(
    pg: Database, target: PostgresTarget, event: str
) -> None:
    bring(target, ("i", ["1", "k", "x", None, None, None]))
    pg.execute(
        "create function swallow() returns trigger language plpgsql as 'begin return null; end'",
        f"create trigger swallow before {event} on copy for each row execute function swallow()",
    )

    with pytest.raises(TargetError, match=r"kept .* from being made; nothing was written"):
        bring(target, ("d", ["1", "k", None, None, None, None]), ("i", ["2", "k", "y", None, None, None]))

    assert pg.query("select a, note from copy") == [(1, "x")]


def test_target_that_a_crash_empties_is_refused(pg: Database, target: PostgresTarget) -> None:
    pg.execute("alter table copy set unlogged")

    with pytest.raises(UsageError, match="is UNLOGGED"):
        bring(target, ("i", ["1", "k", "x", None, None, None]))


def test_policy_that_hides_rows_of_the_target_ends_the_delivery(
    pg: Database, target: PostgresTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    pg.execute("alter table copy enable row level security", "alter table copy force row level security",
               "create policy great on copy using (a > 1)",
               "create role feeder login password 'feeder'", "grant all on copy to feeder")  # fmt: skip
    server = pg.server
    feeder = replace(target, url=f"postgresql://feeder@{server.host}:{server.port}/{pg.name}")
    monkeypatch.setenv("PGPASSWORD", "feeder")
    try:
        with pytest.raises(TargetError, match="42501"):
            bring(feeder, ("d", ["1", "k", None, None, None, None]))
    finally:
        pg.execute("drop owned by feeder", "drop role feeder")


def test_mark_of_a_target_changes_when_it_is_made_anew_or_gets_a_column_and_grows_otherwise(
    pg: Database, target: PostgresTarget
) -> None:
    before = target.read_mark([*LAKE, "more"])
    bring(target, ("i", ["1", "k", "x", None, None, None]))
    after = target.read_mark([*LAKE, "more"])
    pg.execute("alter table copy add column more text")
    wider = target.read_mark([*LAKE, "more"])
    pg.execute("drop table copy", TABLE)
    anew = target.read_mark(LAKE)

    assert before.columns == {"a": 1, "b": 2, "note": 3, "amount": 4, "raw": 5, "code": 6}
    assert [(before.server, before.timeline)] == pg.query(
        "select s.system_identifier::text, c.timeline_id from pg_control_system() s, pg_control_checkpoint() c"
    )
    assert (after.transaction > before.transaction, after.explain_change(before)) == (True, None)
    assert before.explain_change(after) == "its server was restored to an earlier state"
    assert wider.explain_change(after) == "it has new columns: more"
    assert anew.explain_change(after) == "it was made anew"


def test_mark_of_a_target_whose_server_hides_its_control_file_is_told_all_the_same(
    pg: Database, target: PostgresTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = target.read_mark(LAKE)
    functions = "pg_control_system(), pg_control_checkpoint()"
    pg.execute(f"revoke execute on function {functions} from public", "create role feeder login password 'feeder'")
    server = pg.server
    feeder = replace(target, url=f"postgresql://feeder@{server.host}:{server.port}/{pg.name}")
    monkeypatch.setenv("PGPASSWORD", "feeder")
    try:
        mark = feeder.read_mark(LAKE)
    finally:
        pg.execute(f"grant execute on function {functions} to public", "drop role feeder")

    assert (mark.server, mark.timeline, mark.table) == ("", 0, full.table)
    assert mark.explain_change(full) is None


def test_consumer_whose_table_was_made_anew_is_refused_and_goes_on_where_it_is_told_to(
    spark: SparkSession,
    pg: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    copy = Copy.of(spark, tmp_path, pg, "copy_on_write", None)
    copy.write()
    assert copy.bring(monkeypatch) == 0
    pg.execute("create table kept (like copy including all)", "insert into kept select * from copy",
               "drop table copy", "alter table kept rename to copy")  # fmt: skip
    copy.write()
    capsys.readouterr()

    assert copy.bring(monkeypatch) == 2
    message = capsys.readouterr().err
    assert "it was made anew" in message
    (start,) = set(re.findall(r"--from (\d{17})", message))
    assert run([*copy.arguments, "--from", start]) == 0
    assert copy.rows() == copy.states()[-1]
    copy.write()
    assert copy.bring(monkeypatch) == 0
    assert copy.rows() == copy.states()[-1]


def test_place_of_a_target_names_no_user_and_no_option(target: PostgresTarget) -> None:
    given = replace(target, url="postgresql://ann@db.example:5433/shop?sslmode=require&host=/run/pg", table="a.b")

    assert given.place == "db.example:5433/shop host /run/pg table a.b"
