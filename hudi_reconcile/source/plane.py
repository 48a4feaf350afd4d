"""The control plane's connection: SQLAlchemy, read only, UTC, with limits. Turns driver errors into named ones.

Messages carry the SQLSTATE and the first line of the server's text, never a password and never a row's values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, NoSuchModuleError, SQLAlchemyError

from hudi_reconcile.core.connection import Connection
from hudi_reconcile.core.errors import SourceError, UsageError

CONNECT_SECONDS = 10
# What a driver's error means in our words: a kind of database knows its own error codes.
Named = Callable[[DBAPIError, Connection], SourceError | UsageError]


class ControlPlane:
    """Small queries on one database; keeps the texts it sent.

    `driver` is SQLAlchemy's name of the driver; `arguments` are the driver's own and make the session read only, in UTC and
    bounded.
    """

    def __init__(
        self,
        connection: Connection,
        driver: str,
        arguments: Mapping[str, Any],
        *,
        named: Named,
        query: Mapping[str, str] | None = None,
    ) -> None:
        self.connection = connection
        self._sent: list[str] = []
        self._named = named
        url = sa.URL.create(
            driver,
            username=connection.user,
            password=connection.password or None,
            host=connection.host,
            port=connection.port,
            database=connection.database,
            query=dict(query or {}),
        )
        try:
            self._engine = sa.create_engine(
                url, connect_args=dict(arguments), isolation_level="AUTOCOMMIT", pool_size=1, hide_parameters=True
            )
        except (NoSuchModuleError, ModuleNotFoundError) as error:
            raise UsageError(f"the {driver} driver is not installed", fix="pip install hudi-reconcile") from error

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Sequence[sa.RowMapping]:
        """All rows of one statement. Raises SourceError with the server's reason."""
        self._sent.append(" ".join(sql.split()))
        with self._named_errors(), self._engine.connect() as connection:
            return connection.execute(sa.text(_escaped(sql)), dict(parameters or {})).mappings().all()

    @contextmanager
    def transaction(self, isolation: str) -> Iterator[Callable[[str], Sequence[sa.RowMapping]]]:
        """A transaction of its own for the length of a block, rolled back at the end: it was for reading."""
        with self._named_errors(), self._engine.connect().execution_options(isolation_level=isolation) as connection:

            def rows(sql: str) -> Sequence[sa.RowMapping]:
                self._sent.append(" ".join(sql.split()))
                result = connection.execute(sa.text(_escaped(sql)))
                return result.mappings().all() if result.returns_rows else ()

            yield rows

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
            raise self._named(error, self.connection) from None
        except SQLAlchemyError as error:
            raise SourceError(
                f"{self.connection.place}: {type(error).__name__}", fix="run: hudi-reconcile doctor"
            ) from error


def _escaped(sql: str) -> str:
    # SQLAlchemy reads ":name" as a parameter; "::text" is safe, but a colon in a quoted name or literal is not.
    out, quote = [], ""
    for char in sql:
        if quote:
            quote = "" if char == quote else quote
            out.append("\\:" if char == ":" else char)
            continue
        if char in "'\"`":
            quote = char
        out.append(char)
    return "".join(out)
