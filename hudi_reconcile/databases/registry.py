"""From a URL to the engine that reads it. Raises UsageError for what no engine here reads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.source.connection import Connection
from hudi_reconcile.core.source.jdbc import is_jdbc, read_product
from hudi_reconcile.databases.base import Engine
from hudi_reconcile.databases.mysql import session as mysql_session
from hudi_reconcile.databases.mysql.engine import MysqlEngine
from hudi_reconcile.databases.postgres import session as postgres_session
from hudi_reconcile.databases.postgres.engine import PostgresEngine

_EXAMPLE = "write postgresql+psycopg://user@host:5432/database, or mysql+pymysql://user@host:3306/database"
# SQLAlchemy 2.1 decodes %3A in a database's name; 2.0 leaves it as it stands, and another database would be asked for.
_IS_DATABASE_DECODED = sa.make_url("x://u@h/%25").database == "%"
# A comma would name a second host, and a bracket or a question mark end the host in a driver's own grammar.
_HOST = re.compile(r"[\w.-]*|[0-9A-Fa-f:.]+(%[\w.-]+)?")


@dataclass(frozen=True, slots=True)
class _Legal:
    """What a URL of one kind of database may say."""

    dialect: str
    port: int
    parameters: frozenset[str]


_POSTGRES_ROOT = Path(".postgresql", "root.crt")  # below the home folder; libpq and pgjdbc both look there
_MYSQL = _Legal("mysql", 3306, mysql_session.TLS_PARAMETERS)
_LEGAL = {
    "postgresql": _Legal("postgresql", 5432, postgres_session.TLS_PARAMETERS),
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
    product = read_product(url)
    if is_jdbc(url) and product in ("mysql", "mariadb"):
        raise UsageError(
            f"source.url: jdbc:{product}: is not read: names quoted for it come back as values, row after row, without an error",
            fix="write mysql+pymysql://user@host:3306/database; Spark then reads with the driver of jars.lock",
        )


def find_own_jars(url: str) -> str:
    """The kind of source whose own jars (`spark/jars.lock`) this URL needs; empty where every session has them."""
    legal = _LEGAL.get(url.partition(":")[0].partition("+")[0].lower())
    return _MYSQL.dialect if legal is _MYSQL else ""


def build_connection(url: str, password: str, **settings: Any) -> Connection:
    """The connection that a SQLAlchemy URL means.

    Raises UsageError for other engines, unknown parameters, and a server off this machine that would not be verified.
    """
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
    if _HOST.fullmatch(parsed.host or "") is None:
        raise UsageError("source.url names no one host: letters, digits, . - and _, or an address", fix=_EXAMPLE)
    if not parsed.username or not parsed.database:
        raise UsageError("source.url names no user or no database", fix=_EXAMPLE)
    found = Connection(
        dialect=legal.dialect,
        host=parsed.host or "127.0.0.1",
        port=parsed.port or legal.port,
        database=parsed.database if _IS_DATABASE_DECODED else unquote(parsed.database),
        user=parsed.username,
        password=password,
        tls=_tls(legal, {name: str(value) for name, value in parsed.query.items()}),
        **settings,
    )
    _ = found.transport  # raises where the server would be left unverified
    return found


def _tls(legal: _Legal, given: dict[str, str]) -> tuple[tuple[str, str], ...]:
    root = Path.home() / _POSTGRES_ROOT
    if legal.dialect == "postgresql" and "sslrootcert" not in given and root.is_file():
        given["sslrootcert"] = str(root)
    return tuple(sorted(given.items()))
