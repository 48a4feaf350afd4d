"""What one kind of database can tell of itself and its tables. One module per kind implements it; `table_source` uses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from hudi_reconcile.core.values import Moment, SourceTable
from hudi_reconcile.source.catalogued import Catalogued
from hudi_reconcile.source.facts import Indexes, ServerFacts, TableFacts
from hudi_reconcile.source.request import TableRequest
from hudi_reconcile.sql.dialect import Dialect, Digests


@dataclass(frozen=True, slots=True)
class Described:
    """A table as it is read; `key_proven` where the catalog itself rules out keys that are NULL or occur twice.

    `where` is the configured condition as it is sent.
    """

    table: SourceTable
    key_proven: bool
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Witness:
    """What every row of a read must say of the snapshot it was read in: `expression` gives `expected`."""

    expression: str
    expected: str


@dataclass(frozen=True, slots=True)
class JdbcTarget:
    """How Spark's JDBC reader reaches the database. `properties` may hold the password: never printed.

    `proof` is SQL that is true where the session has our settings and an error where not, once per statement; empty: none.
    """

    url: str
    properties: Mapping[str, str]
    witness: Witness | None = None
    proof: str = ""

    def __repr__(self) -> str:
        return "JdbcTarget(…)"


class Engine(Protocol):
    """One database. Every method raises SourceError where the database does not answer."""

    @property
    def dialect(self) -> Dialect:
        """Its SQL."""
        ...

    @property
    def digests(self) -> Digests | None:
        """What it takes to digest rows inside the database; None where rows must come to Spark."""
        ...

    @property
    def place(self) -> str:
        """Where it is, for messages: no user, no password."""
        ...

    @property
    def max_connections(self) -> int:
        """How many connections one read may open."""
        ...

    @property
    def sent(self) -> tuple[str, ...]:
        """The texts of all statements so far, in order."""
        ...

    def describe(self, request: TableRequest) -> Described:
        """Columns, key, identity. Raises UsageError for a missing table, column or key."""
        ...

    def moment(self) -> Moment:
        """The database's clock and its safe bound, in a statement of its own before any row is read."""
        ...

    def timeline(self) -> str | None:
        """The number of the server's history, which a promotion or a restore to a point in time changes; None: not told."""
        ...

    def position(self) -> str | None:
        """The ids of the server's transactions so far, where it keeps such; None on a replica, and where it does not."""
        ...

    def one_snapshot(self) -> AbstractContextManager[str | None]:
        """While open, every statement and every read sees one moment; yields its name, None where this cannot be had."""
        ...

    def rows(self, sql: str) -> Sequence[Mapping[str, Any]]:
        """All rows of one small statement, column names in lower case."""
        ...

    def jdbc(self) -> JdbcTarget:
        """How Spark reads rows."""
        ...

    def server_facts(self) -> ServerFacts:
        """The server and the role that we are there, for `doctor`."""
        ...

    def table_facts(self, request: TableRequest) -> TableFacts:
        """What `doctor` says of one table; reads no row."""
        ...

    def indexes(self, request: TableRequest) -> Indexes | None:
        """The table's indexes and sequences, by the catalog; None where that says nothing of a read (a view, a query)."""
        ...

    def statistics(self, table: SourceTable) -> Catalogued:
        """What the catalog knows of the first key column and of the rows' width; reads no row."""
        ...

    def estimate(self, name: str, predicates: tuple[str, ...]) -> int | None:
        """How many rows a read is expected to bring, None where only counting would tell. `name` is quoted."""
        ...

    def close(self) -> None:
        """Give all connections back."""
        ...
