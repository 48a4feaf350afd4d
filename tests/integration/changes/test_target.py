"""A PostgreSQL table that is brought in step: values that it cannot hold, keys with NULL, rows that exchange unique values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from hudi_reconcile.changefeed.postgres_sink import PostgresTarget, Row, TargetError
from hudi_reconcile.core.errors import UsageError
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
