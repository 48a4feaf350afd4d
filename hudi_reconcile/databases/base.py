"""What one kind of database can tell of itself and its tables; each `databases/<name>/engine.py` implements it.

The facts that it hands on are values: `app/doctor/server` judges them, `core/pull/read_plan` decides by them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Protocol

from hudi_reconcile.core.source.server_load import ServerLoad
from hudi_reconcile.core.tables.kinds import Column
from hudi_reconcile.core.tables.values import Moment, PartitionField, SourceTable
from hudi_reconcile.sql.dialect import Buckets, Dialect, Digests, Ranks
from hudi_reconcile.sql.statement_text import hide_values

log = logging.getLogger("hudi_reconcile")


def log_statement(sql: str, name_quote: str) -> None:
    """Say on the log, for `-v`, that the source is sent this statement: without any value, and names quoted by `name_quote`."""
    if log.isEnabledFor(logging.DEBUG):
        log.debug("sql: %s", hide_values(sql, name_quote))


@dataclass(frozen=True, slots=True)
class ServerPosition:
    """The ids of a server's transactions so far, and when it was started, by its own clock."""

    ids: str
    started_micros: int | None


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

    def buckets(self, key: tuple[Column, ...]) -> Buckets | None:
        """What it takes to tell the md5 bucket of such a key inside the database; None where that is not known."""
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

    def position(self) -> ServerPosition | None:
        """The ids of the server's transactions so far, where it keeps such; None on a replica, and where it does not."""
        ...

    def server_load(self) -> ServerLoad:
        """How busy the server is with others than this run; one small statement, or two."""
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

    def close(self, *, at_once: bool = False) -> None:
        """Give all connections back; the next question opens others.

        `at_once`, from another thread than the one that asks, ends what the database works at for us: who waits for it gets
        SourceError, and closes.
        """
        ...


class EngineDefaults:
    """What an engine does not tell, unless it knows better."""

    def buckets(self, key: tuple[Column, ...]) -> Buckets | None:  # noqa: ARG002 - the signature is the engines'
        """Not known beyond the digests."""
        return None

    def timeline(self) -> str | None:
        """Not told."""
        return None

    def position(self) -> ServerPosition | None:
        """Not told."""
        return None

    def server_load(self) -> ServerLoad:
        """Not told."""
        return ServerLoad(None, None, "nothing is known of the load of such a database")


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The server, and the role that we are there.

    `grant_to_see` is the statement that would let the role see every open transaction (`sees_all`); empty where there is none.
    `link` is what protects the way to it, in words, and `is_link_safe` whether that is enough. `replica_says` is what a replica
    tells of its lag, where it is known to tell. `unproven`: why nothing proves that the session cannot write; empty where it is
    proven.
    """

    product: str
    version: str
    place: str
    role: str
    link: str
    is_link_safe: bool
    sees_all: bool
    grant_to_see: str
    blind_seconds: float
    is_superuser: bool
    is_replica: bool
    replica_says: str = ""
    unproven: str = ""


@dataclass(frozen=True, slots=True)
class Indexes:
    """Which columns lead a whole index, and how many ids a session takes at once where a column's sequence hands out more."""

    leading: frozenset[str]
    id_cache: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableFacts:
    """One source table. `indexed` are the columns that lead a whole index; `key_proven` is the catalog's word for it.

    `id_cache` is how many ids a session takes at once, where a column's ids come from a sequence that hands out more than one.
    `can_write` is by a grant: a superuser, who may do everything, is told of once (`ServerFacts.is_superuser`). `asks` is what
    a view calls that knows who reads it; `runs` what the planner may call as this role, though no statement of ours names it.
    `has_indexes` is false of what reads other tables, as views and queries do. `are_rows_counted`: their number is no estimate.
    """

    table: SourceTable
    key_proven: bool
    can_read: bool
    can_write: bool
    indexed: frozenset[str]
    id_cache: Mapping[str, int] = field(default_factory=dict)
    asks: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    has_indexes: bool = True
    are_rows_counted: bool = False


@dataclass(frozen=True, slots=True)
class Catalogued:
    """The catalog's word on a key column, as text. `rows_known` are the rows that these statistics saw.

    `is_bytewise`: texts or uuids of this column are sorted by their bytes. `sampling` is the table's own sampling clause for a
    share in percent, with `{percent}` in it; empty where it has none. `why` names the statistics or says why there are none.
    `ranks`: there are none, and keys are cut by their rank in the database's own order.
    """

    why: str
    rows_known: int | None = None
    row_bytes: float | None = None
    bounds: tuple[str, ...] = ()
    common: tuple[tuple[str, float], ...] = ()
    null_share: float = 0.0
    is_bytewise: bool = False
    sampling: str = ""
    ranks: Ranks | None = None


def parse_postgres_catalog(rows: Sequence[Mapping[str, Any]]) -> Catalogued:
    """pg_stats, as `databases/postgres/catalog.py` gives it."""
    if not rows:
        return Catalogued("the catalog does not know this table")
    row = rows[0]
    sampling = " tablesample system ({percent})" if row["relkind"] in ("r", "m", "p") else ""
    is_bytewise = bool(row["is_bytewise"])
    known = int(row["rows_known"])
    width = None if row["row_bytes"] is None else float(row["row_bytes"])
    if known < 0 or width is None:
        why = "no statistics (never analysed, or not readable by this role)"
        return Catalogued(why, is_bytewise=is_bytewise, sampling=sampling)
    common = tuple(zip(row["common"] or (), map(float, row["shares"] or ()), strict=False))
    bounds = tuple(row["bounds"] or ())
    why = (
        f"histogram of pg_stats, {known:,} rows when analysed"
        if bounds
        else f"common values of pg_stats, {known:,} rows when analysed"
    )
    if not bounds and not common:
        why = "pg_stats without a histogram of the key"
    return Catalogued(why, known, width, bounds, common, float(row["null_share"] or 0.0), is_bytewise, sampling)


def parse_mysql_catalog(rows: Sequence[Mapping[str, Any]]) -> Catalogued:
    """information_schema.tables: rows and their average length; MySQL and MariaDB keep no histogram that would help."""
    if not rows or rows[0]["row_bytes"] is None:
        return Catalogued("information_schema knows no row length")
    return Catalogued("information_schema.tables", None, float(rows[0]["row_bytes"]))


@dataclass(frozen=True, slots=True)
class TableRequest:
    """One table to read. `table` is a SQL-quoted name, `where` a predicate for pull and sweep alike.

    With a `query` its answer is the table, and there is no other.
    `hidden` are masked columns: none of their values may stand in a statement. `by_version`: pulls go by the database's own
    number of each row's version.
    """

    name: str
    table: str
    key: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    where: str | None = None
    query: str | None = None
    watermark: tuple[str, ...] = ()
    incrementing: str | None = None
    is_text_watermark: bool = False
    by_version: bool = False
    partition_by: tuple[PartitionField, ...] = ()
    exclude: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        """What is read, for messages."""
        return self.table if self.query is None else "source.query"

    @property
    def query_id(self) -> str:
        """The query's part of the source's identity: another text is another source."""
        return f"query:{sha256((self.query or '').encode()).hexdigest()[:16]}"

    @property
    def predicates(self) -> tuple[str, ...]:
        """The configured predicate, if any."""
        return () if self.where is None else (self.where,)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The columns by which the lake is partitioned, or of which its partition columns are made."""
        return tuple(field.column for field in self.partition_by)

    @property
    def derived_columns(self) -> tuple[str, ...]:
        """The partition columns that only the lake has, such as `created_at_day`."""
        return tuple(field.lake_name for field in self.partition_by if field.transform != "identity")

    @property
    def moving(self) -> tuple[str, ...]:
        """The columns by which pulls go forward."""
        return self.watermark if self.incrementing is None else (*self.watermark, self.incrementing)

    def named_columns(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Every setting that names source columns, with what it names."""
        return (
            ("source.columns", self.columns or ()),
            ("pull.watermark", self.watermark),
            ("pull.incrementing", self.moving[len(self.watermark) :]),
            ("lake.partition_by", self.partition_columns),
            ("compare.rename", tuple(self.rename)),
        )

    def rename_column(self, column: Column) -> Column:
        """The column under the name that it has in the lake."""
        return replace(column, lake_name=self.rename.get(column.name, column.name))
