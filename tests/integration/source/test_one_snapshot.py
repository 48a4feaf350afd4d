"""`sweep.snapshot: shared` on a real PostgreSQL: every connection sees one moment, or the read fails; it is never torn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.core.errors import SourceError
from hudi_reconcile.core.sweep.segments import HashSegments
from hudi_reconcile.source import reads
from hudi_reconcile.source.table_source import TableSource
from tests.integration.source.support import engine, source
from tests.support.postgres import Database

ROWS = 60_000  # above what one part reads alone
CUT = HashSegments(("id",), 4)


@pytest.fixture
def found(pg: Database, spark: SparkSession) -> Iterator[TableSource]:
    pg.execute(
        "create table t (id int primary key, v int)", f"insert into t select i, 0 from generate_series(1, {ROWS}) i",
        "analyze t",
    )  # fmt: skip
    with source(pg, "t", spark) as made:
        yield made


def sums(frame: object) -> tuple[int, int]:
    assert isinstance(frame, DataFrame)
    (row,) = frame.selectExpr("count(*)", "sum(c1)").collect()
    return row[0], row[1]


def test_parts_and_counts_of_one_look_see_one_moment_whatever_is_committed_meanwhile(
    pg: Database, found: TableSource
) -> None:
    table = found.describe()
    with found.freeze():
        frame = found.read_rows(table, CUT)
        assert isinstance(frame, DataFrame)
        assert frame.rdd.getNumPartitions() == 2
        pg.execute("update t set v = 1", "delete from t where id % 2 = 0")
        assert sums(frame) == (ROWS, 0)
        assert found.count_rows(table) == ROWS

    assert sums(found.read_rows(table, CUT)) == (ROWS // 2, ROWS // 2)


def test_snapshot_whose_owner_died_fails_every_read_and_is_never_another_moment(
    pg: Database, found: TableSource
) -> None:
    table = found.describe()
    kill = (
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()"
        " and state = 'idle in transaction'"
    )
    failures: list[Exception] = []

    def read_without_the_owner() -> None:
        with found.freeze():
            assert pg.query(kill) == [(True,)]
            for read in (lambda: sums(found.read_rows(table, CUT)), lambda: found.count_rows(table)):
                try:
                    read()
                except (PySparkException, Py4JJavaError, SourceError) as error:
                    failures.append(error)

    with pytest.raises(SourceError):  # the end of the block finds the connection gone
        read_without_the_owner()

    assert len(failures) == 2
    assert all("snapshot" in str(error) for error in failures)


def test_part_that_is_read_without_a_transaction_is_torn_and_known_by_its_witness(
    pg: Database, spark: SparkSession, found: TableSource
) -> None:
    table = found.describe()
    with engine(pg) as other, other.one_snapshot():
        pg.execute("update t set v = 1 where id = 1")
        plan = reads.JdbcRead("select id as c0, v as c1 from public.t", ("1 = 1",))
        assert sums(reads.read(spark, other.jdbc(), plan, table.columns)) == (ROWS, 0)
        # Spark opens a transaction only where rows are fetched in portions; without one the snapshot has no effect.
        whole = replace(plan, fetch_rows=0)
        with pytest.raises((PySparkException, Py4JJavaError)) as torn:
            sums(reads.read(spark, other.jdbc(), whole, table.columns))

    assert "outside the shared snapshot" in str(torn.value)
