"""How far a MariaDB replica lags: asked of a real one that waits an hour with what it was sent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hudi_reconcile.core.pull.source_lineage import is_rewound
from hudi_reconcile.core.source.connection import Connection
from hudi_reconcile.core.tables.values import Moment
from hudi_reconcile.databases.base import ServerFacts
from hudi_reconcile.databases.mysql.engine import MysqlEngine
from tests.support.mariadb import MariaServer, replicated_maria

pytestmark = pytest.mark.mariadb
SECOND = 1_000_000


def run(server: MariaServer, *statements: str) -> list[tuple[Any, ...]]:
    with server.connect() as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return list(cursor.fetchall())


@contextmanager
def engine(server: MariaServer, **login: str) -> Iterator[MysqlEngine]:
    settings: dict[str, Any] = {"user": server.user, "password": server.password, **login}
    found = MysqlEngine(Connection(dialect="mysql", host=server.host, port=server.port, database="shop", **settings))
    try:
        yield found
    finally:
        found.close()


def asked(server: MariaServer, **login: str) -> tuple[Moment, ServerFacts]:
    with engine(server, **login) as found:
        return found.moment(), found.server_facts()


def position(server: MariaServer) -> str | None:
    with engine(server) as found:
        told = found.position()
        return None if told is None else told.ids


def test_replica_says_how_far_it_is_behind_that_it_has_stopped_and_to_whom_it_does_not_tell() -> None:
    with replicated_maria() as (primary, replica):
        run(primary, "create database shop", "create table shop.t (id int primary key)")
        run(primary, "create user guest@'127.0.0.1' identified by 'pw'", "grant select on shop.* to guest@'127.0.0.1'")
        deadline = time.monotonic() + 60
        while not run(replica, "select 1 from mysql.user where user = 'guest'"):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        caught_up, _ = asked(replica)
        assert position(replica) is None
        pulled = position(primary)
        guest, _ = asked(replica, user="guest", password="pw")

        run(replica, "stop slave", "change master to master_delay = 3600", "start slave")
        run(primary, "insert into shop.t values (1)")
        while not (lagging := asked(replica)[0]).replayed_micros:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        facts = asked(replica)[1]
        with engine(replica) as found:
            lag_seconds = found.server_load().lag_seconds
        run(replica, "stop slave sql_thread")
        stopped, _ = asked(replica)
        later = position(primary)
        run(replica, "stop slave")
        run(primary, "reset master", "insert into shop.t values (2)")
        set_back = position(primary)
        with engine(primary) as found:
            last, clock = found.position(), found.moment().clock_micros

    assert lag_seconds is not None
    assert 1 <= lag_seconds < 60
    assert last is not None
    assert last.started_micros is not None
    assert clock - 300 * SECOND < last.started_micros < clock
    assert pulled is not None
    assert later is not None
    assert set_back is not None
    assert (is_rewound(pulled, later), is_rewound(later, pulled), is_rewound(pulled, set_back)) == (False, True, True)
    assert (caught_up.is_replica, caught_up.replayed_micros, caught_up.stopped, len(caught_up.notes)) == (
        True,
        None,
        "",
        1,
    )
    assert "GRANT REPLICATION CLIENT" in guest.notes[1]
    assert lagging.replayed_micros is not None
    assert lagging.clock_micros - 60 * SECOND < lagging.replayed_micros < lagging.clock_micros
    assert lagging.bound_micros == lagging.replayed_micros - 5 * SECOND
    assert "s behind its primary" in facts.replica_says
    assert "applies: No" in stopped.stopped
