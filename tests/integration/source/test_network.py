"""A source behind a network that is slow, breaks off or goes silent: the same rows, or a named error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.core.errors import SourceError
from hudi_reconcile.core.pull.cursor import Order, build_full_window
from hudi_reconcile.core.sweep.segments import HashSegments
from hudi_reconcile.databases import control
from hudi_reconcile.databases.base import TableRequest
from hudi_reconcile.databases.postgres.engine import PostgresEngine
from hudi_reconcile.source import pull_reads, reads
from hudi_reconcile.source.table_source import TableSource
from tests.integration.source.support import connection
from tests.support.postgres import Database
from tests.support.proxy import Network, network

ROWS = 2_000


@pytest.fixture
def table(pg: Database) -> Database:
    pg.execute(
        "create table t (id int primary key, note text)",
        f"insert into t select i, repeat('x', 400) || i from generate_series(1, {ROWS}) i",
        "analyze t",
    )
    return pg


@contextmanager
def source_behind(
    database: Database, spark: SparkSession, *, limit_seconds: float = 300.0
) -> Iterator[tuple[TableSource, Network]]:
    with network(database.server.host, database.server.port) as between:
        there = replace(
            connection(database), host="127.0.0.1", port=between.port, statement_timeout_seconds=limit_seconds
        )
        engine = PostgresEngine(there)
        try:
            yield TableSource(engine, TableRequest(name="t", table="t"), spark, zone="UTC"), between
        finally:
            engine.close()


def rows_of(source: TableSource) -> list[tuple[int, int]]:
    """Ids and lengths of notes, read as a pull reads them."""
    table = source.describe()
    frame = source.stage_rows(table, HashSegments(("id",), 1), build_full_window(Order(())), None).frame
    assert isinstance(frame, DataFrame)
    return sorted((row[0], len(row[1])) for row in frame.collect())


EXPECTED = [(number, 400 + len(str(number))) for number in range(1, ROWS + 1)]


def test_slow_answers_change_nothing(table: Database, spark: SparkSession) -> None:
    with source_behind(table, spark) as (source, between):
        between.delay_seconds = (0.02, 0.08)
        assert rows_of(source) == EXPECTED


def test_connection_that_is_reset_in_the_middle_of_the_rows_is_read_again_and_no_row_twice(
    table: Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_reads, "wait_seconds", lambda _: 0.05)
    with source_behind(table, spark) as (source, between):
        source.describe()
        between.cut_after_bytes, between.cuts = 200_000, 2
        assert rows_of(source) == EXPECTED
        assert between.cuts == 0

        between.cuts = 1_000
        with pytest.raises(SourceError, match="nothing was written"):
            rows_of(source)


def test_answers_that_never_come_end_in_an_error_after_the_statements_own_time(
    table: Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "SWALLOWED_SECONDS", 1)
    with source_behind(table, spark, limit_seconds=0.9) as (source, between):
        columns = source.describe().columns
        between.swallowed_after_bytes = 100_000
        read = reads.JdbcRead("select id as c0, note as c1 from public.t", ("1 = 1",))
        with pytest.raises(Py4JJavaError, match=r"I/O error|timed out"):
            reads.read(spark, source._engine.jdbc(), read, columns).collect()
