"""A source on a test's database, as app makes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from hudi_reconcile.core.connection import Connection
from hudi_reconcile.source.engine import ControlPlane
from hudi_reconcile.source.postgres_source import PostgresSource
from hudi_reconcile.source.request import TableRequest
from tests.support.postgres import Database


def connection(database: Database, **changes: Any) -> Connection:
    server = database.server
    settings: dict[str, Any] = {
        "dialect": "postgresql", "host": server.host, "port": server.port, "database": database.name,
        "user": server.user, "password": server.password,
    }  # fmt: skip
    return Connection(**{**settings, **changes})


@contextmanager
def plane(database: Database, **changes: Any) -> Iterator[ControlPlane]:
    found = ControlPlane(connection(database, **changes))
    try:
        yield found
    finally:
        found.close()


@contextmanager
def source(
    database: Database, table: str, spark: SparkSession | None = None, *, zone: str = "UTC", **request: Any
) -> Iterator[PostgresSource]:
    with plane(database) as found:
        yield PostgresSource(found, TableRequest(name="t", table=table, **request), spark, zone=zone)
