"""A source on PostgreSQL keeps the contract of `tests/contracts/source.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.ports import Frame
from hudi_reconcile.source.table_source import TableSource
from tests.contracts.source import ROWS, Held, SourceContract
from tests.integration.source.support import source
from tests.support.postgres import Database


@dataclass(frozen=True, slots=True)
class PostgresGround:
    port: TableSource
    database: Database

    def read(self, frame: Frame) -> list[Held]:
        assert isinstance(frame, DataFrame)
        rows = frame.selectExpr("c0", "c1", "unix_micros(cast(c2 as timestamp))").collect()
        return [(row[0], row[1], row[2]) for row in rows]

    def write(self, key: int, value: int) -> None:
        self.database.execute(f"update t set v = {value} where id = {key}")

    def remove(self, key: int | None) -> None:
        self.database.execute(f"delete from t where id is not distinct from {'null' if key is None else key}")


@pytest.fixture
def ground(pg: Database, spark: SparkSession) -> Iterator[PostgresGround]:
    rows = ", ".join(str(tuple("null" if one is None else one for one in row)).replace("'", "") for row in ROWS)
    pg.execute(
        "create table t (id bigint, v bigint, at timestamp(6))",
        "insert into t select id, v, timestamp '1970-01-01' + at * interval '1 microsecond'"
        f" from (values {rows}) as given (id, v, at)",
    )
    with source(pg, "t", spark, key=("id",)) as port:
        yield PostgresGround(port, pg)


class TestPostgresSource(SourceContract):
    pass
