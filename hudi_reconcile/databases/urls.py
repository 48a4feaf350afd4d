"""From a URL to the engine that reads it. Raises UsageError for what no engine here reads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.source.connection import Connection
from hudi_reconcile.databases.base import Engine
from hudi_reconcile.databases.registry import KnownDatabase, find_database, list_databases

# SQLAlchemy 2.1 decodes %3A in a database's name; 2.0 leaves it as it stands, and another database would be asked for.
_IS_DATABASE_DECODED = sa.make_url("x://u@h/%25").database == "%"
# A comma would name a second host, and a bracket or a question mark end the host in a driver's own grammar.
_HOST = re.compile(r"[\w.-]*|[0-9A-Fa-f:.]+(%[\w.-]+)?")


def open_engine(connection: Connection) -> Engine:
    """The engine that reaches this database. No query is sent yet."""
    (database,) = (database for database in list_databases().values() if database.dialect == connection.dialect)
    return database.open_engine(connection)


def build_connection(url: str, password: str, **settings: Any) -> Connection:
    """The connection that a SQLAlchemy URL means.

    Raises UsageError for other engines, unknown parameters, and a server off this machine that would not be verified.
    """
    try:
        parsed = sa.make_url(url)
    except (SQLAlchemyError, ValueError) as error:
        raise UsageError("source.url is not a URL", fix=_example()) from error
    legal = find_database(parsed.drivername)
    if legal is None:
        raise UsageError(
            f"source.url: {parsed.get_backend_name()} is not read in this version"
            f" (legal: {', '.join(scheme for entry in list_databases().values() for scheme in entry.schemes)}, or a jdbc: URL)",
            fix=_example(),
        )
    unknown = sorted(set(parsed.query) - legal.parameters)
    if unknown:
        raise UsageError(
            f"source.url: parameter {', '.join(unknown)} is not allowed (legal: {', '.join(sorted(legal.parameters))})",
            fix=f"remove ?{unknown[0]}=… from source.url",
        )
    if _HOST.fullmatch(parsed.host or "") is None:
        raise UsageError("source.url names no one host: letters, digits, . - and _, or an address", fix=_example())
    if not parsed.username or not parsed.database:
        raise UsageError("source.url names no user or no database", fix=_example())
    connection = Connection(
        dialect=legal.dialect,
        host=parsed.host or "127.0.0.1",
        port=parsed.port or legal.port,
        database=parsed.database if _IS_DATABASE_DECODED else unquote(parsed.database),
        user=parsed.username,
        password=password,
        tls=_tls(legal, {name: str(value) for name, value in parsed.query.items()}),
        **settings,
    )
    _ = connection.transport  # raises where the server would be left unverified
    return connection


def _tls(legal: KnownDatabase, given: dict[str, str]) -> tuple[tuple[str, str], ...]:
    root = Path.home() / legal.own_root
    if legal.own_root and "sslrootcert" not in given and root.is_file():
        given["sslrootcert"] = str(root)
    return tuple(sorted(given.items()))


def _example() -> str:
    return f"write {', or '.join(database.example for database in list_databases().values())}"
