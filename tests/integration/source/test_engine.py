"""What goes wrong with the database is named, and nothing is ever written to it."""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg import sql

from hudi_reconcile.core.errors import SourceError, UsageError
from hudi_reconcile.core.pull.source_lineage import SourceLineage, digest_filter
from hudi_reconcile.databases.urls import build_connection
from tests.integration.source.support import engine, source
from tests.support.postgres import Database

PASSWORD = "wrong secret"
SLEEP = "select 1 from pg_sleep(60)"
SLEEPERS = f"select pid from pg_stat_activity where query = '{SLEEP}'"


def fails(on: Database, statement: str = "select 1", **changes: Any) -> SourceError:
    with engine(on, **changes) as found, pytest.raises(SourceError) as caught:
        found.rows(statement)
    assert "\n" not in caught.value.message
    assert PASSWORD not in caught.value.message + caught.value.fix
    return caught.value


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def role(database: Database, name: str, *grants: str) -> dict[str, str]:
    """A role of its own for the test; its login."""
    found = f"{name}_{database.name}"
    database.execute(f"create role {found} login password '{PASSWORD}'", *(grant.format(found) for grant in grants))
    return {"user": found, "password": PASSWORD}


def drop_role(database: Database, login: dict[str, str]) -> None:
    with database.connect() as connection:
        connection.execute(sql.SQL("drop owned by {0}; drop role {0}").format(sql.Identifier(login["user"])))


def test_wrong_password_names_user_and_place(pg: Database) -> None:
    error = fails(pg, user=pg.server.user, password=PASSWORD)

    assert f"refused the password of user {pg.server.user}" in error.message
    assert "source.password" in error.fix


def test_unreachable_port_names_the_place(pg: Database) -> None:
    port = free_port()

    error = fails(pg, port=port)

    assert f"127.0.0.1:{port}" in error.message
    assert "cannot connect" in error.message


def test_missing_database_is_named(pg: Database) -> None:
    error = fails(Database(pg.server, "nowhere"))

    assert "this database does not exist" in error.message
    assert "database name in source.url" in error.fix


def test_missing_privilege_tells_whom_to_grant(pg: Database) -> None:
    pg.execute("create table t (id int primary key)")
    login = role(pg, "blind")
    try:
        error = fails(pg, "select * from public.t", **login)
    finally:
        drop_role(pg, login)

    assert f"grant SELECT on the table to {login['user']}" in error.fix


def test_rows_that_a_policy_would_hide_from_the_role_are_an_error_and_never_left_out(pg: Database) -> None:
    pg.execute(
        "create table t (id int primary key, mine boolean)",
        "insert into t values (1, true), (2, false)",
        "alter table t enable row level security",
        "create policy own on t using (mine)",
    )
    login = role(pg, "filtered", "grant select on t to {}")
    try:
        error = fails(pg, "select count(*) from public.t", **login)
    finally:
        drop_role(pg, login)

    assert "row-level security" in error.message
    assert "BYPASSRLS" in error.fix
    assert "grant SELECT" not in error.fix


def test_statement_beyond_its_time_is_cancelled_and_named(pg: Database) -> None:
    error = fails(pg, "select pg_sleep(20)", statement_timeout_seconds=0.2)

    assert "statement was cancelled" in error.message
    assert "statement_timeout" in error.fix


def test_servers_timeline_and_the_filters_digest_are_told(pg: Database) -> None:
    pg.execute("create table t (id int primary key)")
    with source(pg, "t") as whole, source(pg, "t", where="id > 1") as part:
        assert whole.read_lineage() == SourceLineage("none", "1")
        assert part.read_lineage() == SourceLineage(digest_filter("id > 1"), "1")


def test_session_refuses_to_write_and_speaks_utc(pg: Database) -> None:
    pg.execute("create table t (id int primary key)")

    assert "read-only" in fails(pg, "insert into public.t values (1)").message
    assert "read-only" in fails(pg, "create table u (id int)").message
    assert pg.query("select count(*) from t") == [(0,)]
    with engine(pg) as found:
        assert found.rows("select current_setting('TimeZone') as zone")[0]["zone"] == "UTC"


def test_password_shows_nowhere(pg: Database) -> None:
    with engine(pg) as found:
        assert pg.server.password not in repr(found.connection)
        assert pg.server.password not in found.connection.place


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("oracle+oracledb://u@h/d", "oracle is not read in this version"),
        ("postgresql+psycopg://u@h/d?options=-cfoo", "parameter options is not allowed"),
        ("postgresql+psycopg://u@h/d?sslmode=require&target_session_attrs=any", "target_session_attrs is not allowed"),
        ("postgresql+psycopg://h/d", "no user or no database"),
        ("postgresql+psycopg://u@h", "no user or no database"),
        ("not a url", "not a URL"),
    ],
)
def test_url_that_is_not_read_is_refused_without_repeating_it(url: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        build_connection(url, "")
    assert url not in caught.value.message


def test_load_counts_statements_of_others_that_run_and_none_that_wait_or_are_ours(pg: Database) -> None:
    with engine(pg) as ours, engine(pg) as ours_too, pg.connect() as idle, pg.connect(autocommit=True) as busy:
        idle.execute("select 1")
        with ThreadPoolExecutor(2) as threads:
            held = [threads.submit(run) for run in (lambda: busy.execute(SLEEP), lambda: ours_too.rows(SLEEP))]
            until = time.monotonic() + 30
            while len(ours.rows(SLEEPERS)) < len(held):
                assert time.monotonic() < until
            during = ours.server_load()
            pg.execute(f"select pg_cancel_backend(pid) from ({SLEEPERS}) s")
            for statement in held:
                with pytest.raises((SourceError, psycopg.OperationalError)):
                    statement.result()
        after = ours.server_load()

    assert (during.statements, after.statements) == (1, 0)
    assert (during.lag_seconds, after.lag_seconds) == (0.0, 0.0)


def test_load_is_not_told_to_a_role_that_sees_its_own_sessions_alone(pg: Database) -> None:
    login = role(pg, "blind")
    try:
        with engine(pg, **login) as found:
            load = found.server_load()
    finally:
        drop_role(pg, login)

    assert (load.statements, load.lag_seconds) == (None, None)
    assert load.untold == "GRANT pg_read_all_stats to this role"
