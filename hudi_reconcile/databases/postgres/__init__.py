"""PostgreSQL, as `databases/registry.py` knows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hudi_reconcile.core.source.connection import Connection
from hudi_reconcile.databases.registry import KnownDatabase
from hudi_reconcile.sql.connection_properties import COUNT, FLAG, LABEL, TLS_KEYS, Driver

if TYPE_CHECKING:
    from hudi_reconcile.core.source.proposal import CatalogTable
    from hudi_reconcile.databases.base import Engine


def _open(connection: Connection) -> Engine:
    from hudi_reconcile.databases.postgres.engine import PostgresEngine  # noqa: PLC0415 - its drivers

    return PostgresEngine(connection)


def _survey(engine: Engine, schemas: tuple[str, ...]) -> Iterable[CatalogTable]:
    from hudi_reconcile.databases.postgres.survey import survey_postgres  # noqa: PLC0415

    return survey_postgres(engine, schemas)


_DRIVER = Driver(
    title="PostgreSQL",
    classes=("org.postgresql.Driver",),
    keys={"ApplicationName": LABEL, "connectTimeout": COUNT, "loginTimeout": COUNT, "socketTimeout": COUNT,
          "tcpKeepAlive": FLAG},
    own=frozenset({"user", "options", "preparethreshold", "currentschema", "readonly", "requireauth"}) | TLS_KEYS,
)  # fmt: skip
DATABASE = KnownDatabase(
    dialect="postgresql",
    schemes=("postgresql",),
    example="postgresql+psycopg://user@host:5432/database",
    port=5432,
    parameters=frozenset({"sslmode", "sslrootcert", "sslcert", "sslkey"}),
    driver=_DRIVER,
    open_engine=_open,
    why_not_jdbc="PostgreSQL is read with its own engine, which sees open transactions and knows its types",
    sql="postgresql",
    namespace="postgres",
    own_root=".postgresql/root.crt",  # libpq and pgjdbc both look there
    survey=_survey,
)
