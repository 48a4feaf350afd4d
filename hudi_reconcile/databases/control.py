"""The control plane's connection: SQLAlchemy, read only, UTC, with limits. Turns driver errors into named ones.

Messages carry the SQLSTATE and the first line of the server's text, never a password and never a row's values.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, NoSuchModuleError, SQLAlchemyError

from hudi_reconcile.core.errors import SourceError, UsageError
from hudi_reconcile.core.pull.retry import ROUNDS, Passing, classify_state, wait_seconds
from hudi_reconcile.core.source.connection import Connection
from hudi_reconcile.databases.base import EngineDefaults, log_statement

log = logging.getLogger("hudi_reconcile")
CONNECT_SECONDS = 10
SWALLOWED_SECONDS = 10  # how long after a statement's own limit its answer is still waited for
_UNREACHABLE = frozenset({2002, 2003})  # PyMySQL's numbers
Shape = TypeVar("Shape")
# What a driver's error means in our words: a kind of database knows its own error codes.
Named = Callable[[DBAPIError, Connection], SourceError | UsageError]
# Ends the statements of these connections of the driver, from another thread.
Cancel = Callable[[sa.Engine, Sequence[Any]], None]


class ControlPlane:
    """Small queries on one database, which outlive a broken connection; keeps the texts it sent.

    Each statement is sent alone, in a read-only transaction that is rolled back: neither a second statement in its text nor a
    setting that it changes can make a later one write. `driver` is SQLAlchemy's name of the driver; `arguments` are the driver's
    own and make the session read only, in UTC and bounded. `begin` opens such a transaction where the driver itself opens none;
    `connect` opens the driver's connection in its place (SQLAlchemy's `do_connect`). `cancel` ends what the server works at.
    """

    def __init__(
        self,
        connection: Connection,
        driver: str,
        arguments: Mapping[str, Any],
        *,
        named: Named,
        begin: Sequence[str] = (),
        query: Mapping[str, str] | None = None,
        connect: Callable[..., Any] | None = None,
        cancel: Cancel,
    ) -> None:
        self.connection = connection
        self._sent: list[str] = []
        self._named = named
        self._name_quote = "`" if driver.startswith("mysql") else '"'
        self._has_connected = False
        self._cancel, self._cancels_alone = cancel, Lock()
        self._busy: dict[object, Any] = {}
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
            self._engine = sa.create_engine(url, connect_args=dict(arguments), pool_size=1, hide_parameters=True)
        except (NoSuchModuleError, ModuleNotFoundError) as error:
            raise UsageError(f"the {driver} driver is not installed", fix="pip install hudi-reconcile") from error
        if connect is not None:
            sa.event.listen(self._engine, "do_connect", connect)
        _transact_read_only(self._engine, tuple(begin))
        sa.event.listen(self._engine, "checkout", lambda opened, record, _: self._busy.update({record: opened}))
        for over in ("checkin", "detach"):
            sa.event.listen(self._engine, over, lambda _, record: self._busy.pop(record, None))

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Sequence[sa.RowMapping]:
        """All rows of one statement, sent again where the connection broke. Raises SourceError with the server's reason."""

        def ask() -> Sequence[sa.RowMapping]:
            with self._engine.connect() as connection:
                self._has_connected = True
                self._record(sql)
                text = _escape_colons(sql) if parameters else sql.replace(":", "\\:")
                return connection.execute(sa.text(text), dict(parameters or {})).mappings().all()

        with self._translate_errors():
            return self._ask_with_retries(ask)

    def shape(self, sql: str, of: Callable[[Any], Shape]) -> Shape:
        """What the driver's cursor tells of the columns that a statement gives."""
        self._record(sql)
        with self._translate_errors(), self._engine.connect() as connection:
            return of(connection.execute(sa.text(sql.replace(":", "\\:"))).cursor)

    @contextmanager
    def transaction(self, isolation: str) -> Iterator[Callable[[str], Sequence[sa.RowMapping]]]:
        """A transaction of its own for the length of a block, rolled back at the end: it was for reading."""
        with (
            self._translate_errors(),
            self._engine.connect().execution_options(isolation_level=isolation) as connection,
        ):

            def rows(sql: str) -> Sequence[sa.RowMapping]:
                self._record(sql)
                result = connection.execute(sa.text(_escape_colons(sql)))
                return result.mappings().all() if result.returns_rows else ()

            yield rows

    def one(self, sql: str, parameters: Mapping[str, Any] | None = None) -> sa.RowMapping:
        """The first row of a statement that always gives one."""
        return self.rows(sql, parameters)[0]

    def is_encrypted(self, of: Callable[[Any], bool]) -> bool:
        """Whether the driver's own connection says that it speaks TLS; a server's word for it would prove nothing."""
        with self._translate_errors(), self._engine.connect() as connection:
            return of(connection.connection.driver_connection)

    @property
    def sent(self) -> tuple[str, ...]:
        """The texts of all statements so far, in order."""
        return tuple(self._sent)

    def cancel(self) -> None:
        """End what the server works at for us, from any thread: who waits for it gets SourceError."""
        with self._cancels_alone:  # one that meets another would end that one's statement
            self._cancel(self._engine, tuple(self._busy.values()))

    def close(self) -> None:
        """Give the connection back to the server."""
        self._engine.dispose()

    def _record(self, sql: str) -> None:
        self._sent.append(" ".join(sql.split()))
        log_statement(sql, self._name_quote)

    def _ask_with_retries(self, ask: Callable[[], Sequence[sa.RowMapping]]) -> Sequence[sa.RowMapping]:
        # A server that was never reached is not waited for: then the address is wrong, or the password.
        for attempt in range(1, ROUNDS):
            try:
                return ask()
            except DBAPIError as error:
                if not self._has_connected or not _is_broken(error):
                    raise
                wait = wait_seconds(attempt)
                log.warning("%s: the connection broke; asked again in %.1f s", self.connection.place, wait)
                time.sleep(wait)
        return ask()

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._named(error, self.connection) from None
        except SQLAlchemyError as error:
            raise SourceError(
                f"{self.connection.place}: {type(error).__name__}", fix="run: hudi-reconcile doctor"
            ) from error


def _transact_read_only(engine: sa.Engine, begin: tuple[str, ...]) -> None:
    # SQLAlchemy rolls back whatever a block leaves open, so that settings made within it go too.
    def say(connection: sa.Connection) -> None:
        for statement in begin:
            connection.exec_driver_sql(statement)

    def forbid_writing(opened: Any, _: object) -> None:
        opened.read_only = True  # psycopg then begins every transaction with READ ONLY

    if begin:
        sa.event.listen(engine, "begin", say)
    else:
        sa.event.listen(engine, "connect", forbid_writing)


def _is_broken(error: DBAPIError) -> bool:
    cause = error.orig
    code = next(iter(getattr(cause, "args", ())), None)
    state = getattr(cause, "sqlstate", None)
    refused = (
        type(cause).__name__ == "OperationalError" and state is None and not isinstance(code, int)
    )  # psycopg: connecting
    known = classify_state(state, code if isinstance(code, int) else None)
    return error.connection_invalidated or refused or known is Passing.BROKEN or code in _UNREACHABLE


class ServerEngine(EngineDefaults):
    """What every engine has that reaches its database through a control plane (`databases/base.py:Engine`)."""

    def __init__(self, connection: Connection, plane: ControlPlane) -> None:
        self.connection = connection
        self._plane = plane

    @property
    def place(self) -> str:
        """Host, port and database."""
        return self.connection.place

    @property
    def max_connections(self) -> int:
        """How many connections one read may open."""
        return self.connection.max_connections

    @property
    def sent(self) -> tuple[str, ...]:
        """The texts of all statements so far, in order."""
        return self._plane.sent

    def close(self, *, at_once: bool = False) -> None:
        """Give the connection back to the server; `at_once` ends what it works at for us, and who waited for it closes."""
        if at_once:
            self._plane.cancel()
        else:  # a pool that is closed under a statement would forget its connection
            self._plane.close()


def pgjdbc_url(connection: Connection) -> str:
    """How pgjdbc is called. The name is encoded as it decodes it: one that holds `?` begins no parameter; TLS is a property."""
    host = f"[{connection.host}]" if ":" in connection.host else connection.host
    return f"jdbc:postgresql://{host}:{connection.port}/{quote(connection.database, safe='')}"


def build_password_error(connection: Connection) -> SourceError:
    """The server does not take this user's password."""
    return SourceError(
        f"{connection.place}: the server refused the password of user {connection.user}",
        fix="check source.password (secrets file or variable), then: hudi-reconcile doctor",
    )


def build_unreachable_error(connection: Connection, reason: str) -> SourceError:
    """No connection came about, or it broke."""
    return SourceError(
        f"{connection.place}: cannot connect: {reason}",
        fix=connection.transport.advise(reason)
        or "check host, port and network of source.url, then: hudi-reconcile doctor",
    )


def build_missing_database_error(connection: Connection) -> SourceError:
    """The server has no database of this name."""
    return SourceError(
        f"{connection.place}: this database does not exist", fix="correct the database name in source.url"
    )


def build_grant_error(connection: Connection, reason: str) -> SourceError:
    """The user may not read this."""
    return SourceError(f"{connection.place}: {reason}", fix=f"grant SELECT on the table to {connection.user}")


def build_hidden_rows_error(connection: Connection, reason: str) -> SourceError:
    """Row-level security would leave rows out: what is not shown would look deleted."""
    return SourceError(
        f"{connection.place}: {reason}; SELECT alone does not lift it",
        fix=f"let {connection.user} see every row: a role with BYPASSRLS, or a view of the table's owner without a policy",
    )


def build_cancelled_error(connection: Connection, detail: str) -> SourceError:
    """A statement was cut off by its time limit, or by somebody. `detail` begins with its own punctuation."""
    return SourceError(
        f"{connection.place}: a statement was cancelled{detail}", fix="raise source.statement_timeout, then run again"
    )


def _escape_colons(sql: str) -> str:
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
