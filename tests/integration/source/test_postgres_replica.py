"""How far a PostgreSQL replica may be believed: asked of a real one, whose log comes late."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any

import psycopg

from hudi_reconcile.core.source.connection import Connection
from hudi_reconcile.core.source.server_load import ServerLoad
from hudi_reconcile.core.tables.values import Moment
from hudi_reconcile.databases.postgres.engine import PostgresEngine
from hudi_reconcile.demo.postgres import PostgresServer
from tests.support.postgres_replica import replicated_postgres

SECOND = 1_000_000
HELD_SECONDS = 3


def run(server: PostgresServer, statement: str) -> list[tuple[Any, ...]]:
    login = f"host={server.host} port={server.port} user={server.user} password={server.password} dbname=postgres"
    with psycopg.connect(login, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def asked(server: PostgresServer) -> Moment:
    where: dict[str, Any] = {"host": server.host, "port": server.port, "user": server.user, "password": server.password}
    with closing(PostgresEngine(Connection(dialect="postgresql", database="postgres", **where))) as engine:
        return engine.moment()


def load(server: PostgresServer) -> ServerLoad:
    where: dict[str, Any] = {"host": server.host, "port": server.port, "user": server.user, "password": server.password}
    with closing(PostgresEngine(Connection(dialect="postgresql", database="postgres", **where))) as engine:
        return engine.server_load()


def clock(server: PostgresServer) -> int:
    return int(run(server, "select (extract(epoch from clock_timestamp()) * 1000000)::bigint")[0][0])


def test_replica_that_is_sent_the_log_late_is_believed_as_far_as_it_was_sent_and_no_further() -> None:
    with replicated_postgres() as (primary, replica, wire):
        run(primary, "create table t (id int)")
        deadline = time.monotonic() + 60
        while not run(replica, "select to_regclass('t')::text")[0][0]:
            assert time.monotonic() < deadline
            time.sleep(0.1)

        wire.hold()
        held = clock(primary)
        run(primary, "insert into t values (1)")
        time.sleep(HELD_SECONDS)
        late, rows = asked(replica), run(replica, "select id from t")
        wire.release()
        while not run(replica, "select id from t"):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        caught_up = asked(replica)

    assert (late.is_replica, rows) == (True, [])
    assert late.bound_micros <= held - 5 * SECOND
    assert (late.replayed_micros or late.clock_micros) <= held
    assert (caught_up.replayed_micros or caught_up.clock_micros) > held


def test_replica_of_a_primary_at_rest_is_believed_up_to_its_last_word() -> None:
    """The primary says that there is no more at least each half of `wal_receiver_timeout`, 30 s as it comes."""
    with replicated_postgres() as (_, replica, _wire):
        run(replica, "alter system set wal_receiver_timeout = '2s'")
        run(replica, "select pg_reload_conf()")
        begun, deadline = clock(replica), time.monotonic() + 60
        while (seen := asked(replica).replayed_micros or 0) < begun + 2 * SECOND:
            assert time.monotonic() < deadline, seen - begun
            time.sleep(0.3)


def test_lag_is_told_by_the_replica_that_replays_late_and_by_its_primary() -> None:
    with replicated_postgres() as (primary, replica, _):
        run(primary, "create table t (id int)")
        until = time.monotonic() + 60
        while at_rest := load(replica).lag_seconds:
            assert time.monotonic() < until
            time.sleep(0.2)
        run(replica, "select pg_wal_replay_pause()")
        run(primary, "insert into t values (1)")
        while not ((behind := load(replica).lag_seconds or 0) and (load(primary).lag_seconds or 0) > 1):
            assert time.monotonic() < until
            time.sleep(0.2)
        run(replica, "select pg_wal_replay_resume()")
        while load(replica).lag_seconds:
            assert time.monotonic() < until
            time.sleep(0.2)

    assert at_rest == 0
    assert behind < 60


def test_moment_of_a_replica_changes_with_every_commit_that_it_replays() -> None:
    """Its snapshot names no running transactions, so that commits in another order than they began leave it as it was."""
    with replicated_postgres() as (primary, replica, _):
        run(primary, "create table t (id int)")
        login = (
            f"host={primary.host} port={primary.port} user={primary.user} password={primary.password} dbname=postgres"
        )
        with psycopg.connect(login) as oldest, psycopg.connect(login) as middle:
            oldest.execute("insert into t values (1)")
            middle.execute("insert into t values (2)")
            run(primary, "insert into t values (3)")
            until = time.monotonic() + 60
            while not run(replica, "select to_regclass('t')::text")[0][0]:
                assert time.monotonic() < until
                time.sleep(0.1)
            while run(replica, "select count(*) from t")[0][0] != 1:
                assert time.monotonic() < until
                time.sleep(0.1)
            before = asked(replica).snapshot
            middle.commit()
            while run(replica, "select count(*) from t")[0][0] != 2:
                assert time.monotonic() < until
                time.sleep(0.1)
            after = asked(replica).snapshot

    assert before.split(" ")[0] == after.split(" ")[0], "the snapshot alone does not tell"
    assert before != after
