"""A source on a test's database, as app makes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from hudi_reconcile.core.source.connection import Connection
from hudi_reconcile.databases.base import TableRequest
from hudi_reconcile.databases.postgres.engine import PostgresEngine
from hudi_reconcile.source.table_source import TableSource
from tests.support.postgres import Database


def connection(database: Database, **changes: Any) -> Connection:
    server = database.server
    settings: dict[str, Any] = {
        "dialect": "postgresql", "host": server.host, "port": server.port, "database": database.name,
        "user": server.user, "password": server.password,
    }  # fmt: skip
    return Connection(**{**settings, **changes})


@contextmanager
def engine(database: Database, **changes: Any) -> Iterator[PostgresEngine]:
    found = PostgresEngine(connection(database, **changes))
    try:
        yield found
    finally:
        found.close()


@contextmanager
def source(
    database: Database, table: str, spark: SparkSession | None = None, *, zone: str = "UTC", **request: Any
) -> Iterator[TableSource]:
    with engine(database) as found:
        yield TableSource(found, TableRequest(name="t", table=table, **request), spark, zone=zone)
