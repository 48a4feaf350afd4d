"""Statements that another thread ends: who waits for one gets an error by name, soon, and it is not sent again."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from hudi_reconcile.core.errors import SourceError
from hudi_reconcile.databases.base import Engine
from tests.integration.source import support, test_mysql
from tests.support.mariadb import MariaDatabase
from tests.support.postgres import Database

STATEMENT_SECONDS = 60


def ends_soon(engine: Engine, slow: str) -> None:
    """A slow statement is ended after a second, and the engine answers the next one."""
    assert engine.rows("select 1 as one") == [{"one": 1}]
    threading.Timer(1.0, engine.close, kwargs={"at_once": True}).start()
    begun = time.monotonic()

    with pytest.raises(SourceError, match="a statement was cancelled"):
        engine.rows(slow)

    assert time.monotonic() - begun < STATEMENT_SECONDS / 2
    assert engine.sent[-1] == slow
    engine.close(at_once=True)
    assert engine.rows("select 2 as two") == [{"two": 2}]


def test_statement_at_postgresql_is_ended_at_once(pg: Database) -> None:
    with support.engine(pg) as engine:
        ends_soon(engine, f"select pg_sleep({STATEMENT_SECONDS})")


def test_statement_at_mariadb_is_ended_at_once(maria: MariaDatabase) -> None:
    with test_mysql.engine(maria) as engine:
        every = "information_schema.columns"
        ends_soon(engine, f"select count(*) as n from {every} a, {every} b, {every} c, {every} d")


def test_cancellations_that_meet_at_postgresql_end_the_statement_and_not_each_other(pg: Database) -> None:
    with support.engine(pg) as engine, ThreadPoolExecutor(9) as threads:
        engine.rows("select 1")
        waiting = threads.submit(engine.rows, f"select pg_sleep({STATEMENT_SECONDS})")
        time.sleep(0.5)

        for ended in [threads.submit(engine.close, at_once=True) for _ in range(200)]:
            ended.result()
        engine.close()

        with pytest.raises(SourceError, match="a statement was cancelled"):
            waiting.result()


def test_sessions_of_another_engine_work_on(pg: Database) -> None:
    with support.engine(pg) as engine, support.engine(pg) as other:
        engine.rows("select 1")
        threading.Timer(0.5, engine.close, kwargs={"at_once": True}).start()

        assert other.rows("select 3 as three from pg_sleep(2)") == [{"three": 3}]
