"""From a URL to the engine that reads it. Raises UsageError for what no engine here reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from hudi_reconcile.core.connection import Connection
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.jdbc_url import is_jdbc, product_of
from hudi_reconcile.source import mysql_session, postgres
from hudi_reconcile.source.engine import Engine
from hudi_reconcile.source.mysql import MysqlEngine
from hudi_reconcile.source.postgres import PostgresEngine

_EXAMPLE = "write postgresql+psycopg://user@host:5432/database, or mysql+pymysql://user@host:3306/database"


@dataclass(frozen=True, slots=True)
class _Legal:
    """What a URL of one kind of database may say."""

    dialect: str
    port: int
    parameters: frozenset[str]


_MYSQL = _Legal("mysql", 3306, mysql_session.TLS_PARAMETERS)
_LEGAL = {
    "postgresql": _Legal("postgresql", 5432, postgres.TLS_PARAMETERS),
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
}


def open_engine(connection: Connection) -> Engine:
    """The engine that reaches this database. No query is sent yet."""
    return MysqlEngine(connection) if connection.dialect == _MYSQL.dialect else PostgresEngine(connection)


def refuse_mysql_by_jdbc(url: str) -> None:
    """Raises UsageError for `jdbc:mariadb:` and `jdbc:mysql:` URLs, whose quoted names come back as values.

    Spark, or a dialect that quotes as SQL-92 does, writes "name", which these servers read as the text 'name'.
    """
    product = product_of(url)
    if is_jdbc(url) and product in ("mysql", "mariadb"):
        raise UsageError(
            f"source.url: jdbc:{product}: is not read: names quoted for it come back as values, row after row, without an error",
            fix="write mysql+pymysql://user@host:3306/database; Spark then reads with the driver of jars.lock",
        )


def own_jars_of(url: str) -> str:
    """The kind of source whose own jars (`spark/jars.lock`) this URL needs; empty where every session has them."""
    legal = _LEGAL.get(url.partition(":")[0].partition("+")[0].lower())
    return _MYSQL.dialect if legal is _MYSQL else ""


def connection_of(url: str, password: str, **settings: Any) -> Connection:
    """The connection that a SQLAlchemy URL means. Raises UsageError for other engines and unknown parameters."""
    try:
        parsed = sa.make_url(url)
    except (SQLAlchemyError, ValueError) as error:
        raise UsageError("source.url is not a URL", fix=_EXAMPLE) from error
    legal = _LEGAL.get(parsed.get_backend_name())
    if legal is None:
        raise UsageError(
            f"source.url: {parsed.get_backend_name()} is not read in this version"
            f" (legal: {', '.join(_LEGAL)}, or a jdbc: URL)",
            fix=_EXAMPLE,
        )
    unknown = sorted(set(parsed.query) - legal.parameters)
    if unknown:
        raise UsageError(
            f"source.url: parameter {', '.join(unknown)} is not allowed (legal: {', '.join(sorted(legal.parameters))})",
            fix=f"remove ?{unknown[0]}=… from source.url",
        )
    if not parsed.username or not parsed.database:
        raise UsageError("source.url names no user or no database", fix=_EXAMPLE)
    return Connection(
        dialect=legal.dialect,
        host=parsed.host or "127.0.0.1",
        port=parsed.port or legal.port,
        database=parsed.database,
        user=parsed.username,
        password=password,
        tls=tuple(sorted((name, str(value)) for name, value in parsed.query.items())),
        **settings,
    )
