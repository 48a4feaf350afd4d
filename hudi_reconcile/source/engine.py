"""The control plane's connection: SQLAlchemy, read only, UTC, with limits. Turns driver errors into named ones.

Messages carry the SQLSTATE and the first line of the server's text, never a password and never a row's values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, NoSuchModuleError, SQLAlchemyError

from hudi_reconcile.core.connection import Connection
from hudi_reconcile.core.errors import SourceError, UsageError

CONNECT_SECONDS = 10
_TLS_PARAMETERS = frozenset({"sslmode", "sslrootcert", "sslcert", "sslkey"})


def connection_of(url: str, password: str, **settings: Any) -> Connection:
    """The connection that a SQLAlchemy URL means. Raises UsageError for other engines and unknown parameters."""
    try:
        parsed = sa.make_url(url)
    except (SQLAlchemyError, ValueError) as error:
        raise UsageError("source.url is not a URL", fix="write postgresql+psycopg://user@host:5432/database") from error
    if parsed.get_backend_name() != "postgresql":
        raise UsageError(
            f"source.url: {parsed.get_backend_name()} is not read in this version (legal: postgresql+psycopg)",
            fix="write postgresql+psycopg://user@host:5432/database",
        )
    unknown = sorted(set(parsed.query) - _TLS_PARAMETERS)
    if unknown:
        raise UsageError(
            f"source.url: parameter {', '.join(unknown)} is not allowed (legal: {', '.join(sorted(_TLS_PARAMETERS))})",
            fix=f"remove ?{unknown[0]}=… from source.url",
        )
    if not parsed.username or not parsed.database:
        raise UsageError(
            "source.url names no user or no database", fix="write postgresql+psycopg://user@host:5432/database"
        )
    return Connection(
        dialect="postgresql",
        host=parsed.host or "127.0.0.1",
        port=parsed.port or 5432,
        database=parsed.database,
        user=parsed.username,
        password=password,
        tls=tuple(sorted((name, str(value)) for name, value in parsed.query.items())),
        **settings,
    )


class ControlPlane:
    """Small queries on one engine; keeps the texts it sent. One session setting for all: read only, UTC, limits."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._sent: list[str] = []
        url = sa.URL.create(
            "postgresql+psycopg",
            username=connection.user,
            password=connection.password or None,
            host=connection.host,
            port=connection.port,
            database=connection.database,
            query=dict(connection.tls),
        )
        arguments = {
            "connect_timeout": CONNECT_SECONDS,
            "application_name": "hudi-reconcile",
            "options": session_options(connection.statement_timeout_seconds),
        }
        try:
            self._engine = sa.create_engine(
                url, connect_args=arguments, isolation_level="AUTOCOMMIT", pool_size=1, hide_parameters=True
            )
        except (NoSuchModuleError, ModuleNotFoundError) as error:
            raise UsageError("the psycopg driver is not installed", fix="pip install 'psycopg[binary]'") from error

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Sequence[sa.RowMapping]:
        """All rows of one statement. Raises SourceError with the server's reason."""
        self._sent.append(" ".join(sql.split()))
        with self._named_errors(), self._engine.connect() as connection:
            return connection.execute(sa.text(_escaped(sql)), dict(parameters or {})).mappings().all()

    def one(self, sql: str, parameters: Mapping[str, Any] | None = None) -> sa.RowMapping:
        """The first row of a statement that always gives one."""
        return self.rows(sql, parameters)[0]

    @property
    def sent(self) -> tuple[str, ...]:
        """The texts of all statements so far, in order."""
        return tuple(self._sent)

    def close(self) -> None:
        """Give the connection back to the server."""
        self._engine.dispose()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise _named(error, self.connection) from None
        except SQLAlchemyError as error:
            raise SourceError(
                f"{self.connection.place}: {type(error).__name__}", fix="run: hudi-reconcile doctor"
            ) from error


def session_options(statement_timeout_seconds: float) -> str:
    """PostgreSQL start-up options that make a session read only, in UTC and bounded."""
    return (
        "-c default_transaction_read_only=on -c TimeZone=UTC -c DateStyle=ISO -c IntervalStyle=iso_8601"
        " -c extra_float_digits=1 -c bytea_output=hex -c row_security=off -c lock_timeout=2000 -c client_encoding=UTF8"
        f" -c statement_timeout={int(statement_timeout_seconds * 1000)}"
    )


def _escaped(sql: str) -> str:
    # SQLAlchemy reads ":name" as a parameter; "::text" is safe, but a colon in a quoted name or literal is not.
    out, quote = [], ""
    for char in sql:
        if quote:
            quote = "" if char == quote else quote
            out.append("\\:" if char == ":" else char)
            continue
        if char in "'\"":
            quote = char
        out.append(char)
    return "".join(out)


def _named(error: DBAPIError, connection: Connection) -> SourceError | UsageError:
    state = getattr(error.orig, "sqlstate", None)
    lines = [line.strip() for line in str(error.orig).splitlines() if line.strip()]
    reason = lines[0] if lines else type(error.orig).__name__
    where = connection.place
    if state == "28P01" or "password authentication failed" in reason:
        return SourceError(
            f"{where}: the server refused the password of user {connection.user}",
            fix="check source.password (secrets file or variable), then: hudi-reconcile doctor",
        )
    if state is None or state.startswith("08"):
        return SourceError(
            f"{where}: cannot connect: {reason}",
            fix="check host, port and network of source.url, then: hudi-reconcile doctor",
        )
    if state == "3D000":
        return SourceError(f"{where}: this database does not exist", fix="correct the database name in source.url")
    if state == "42501":
        return SourceError(f"{where}: {reason}", fix=f"grant SELECT on the table to {connection.user}")
    if state == "57014":
        return SourceError(
            f"{where}: a statement was cancelled: {reason}", fix="raise source.statement_timeout, then run again"
        )
    return SourceError(f"{where}: {reason} (SQLSTATE {state})", fix="run: hudi-reconcile doctor")
