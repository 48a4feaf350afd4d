"""Any database with a JDBC driver as an engine: catalog and small queries by the driver's metadata, rows by Spark.

It sees no other session's transactions: its safe bound is the database's clock minus a delay. Implements `databases/base.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from hudi_reconcile.core.errors import SourceError, UsageError, overlay_options
from hudi_reconcile.core.source.jdbc import (
    Cell,
    DriverFacts,
    DriverIndex,
    JdbcLogin,
    JdbcTls,
    Relation,
    Reported,
    read_jdbc_tls,
    read_product,
    strip_url,
)
from hudi_reconcile.core.source.proposal import UniqueKey
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.values import Moment, SourceTable
from hudi_reconcile.databases.base import (
    Catalogued,
    Described,
    EngineDefaults,
    Indexes,
    JdbcTarget,
    ServerFacts,
    TableFacts,
    TableRequest,
    log_statement,
)
from hudi_reconcile.databases.catalog import describe_table
from hudi_reconcile.databases.jdbc.buckets import KeyBuckets, find_buckets
from hudi_reconcile.databases.jdbc.dialect import GenericDialect
from hudi_reconcile.databases.jdbc.names import find, split_name
from hudi_reconcile.databases.jdbc.products import ANY_LIMIT, product
from hudi_reconcile.databases.jdbc.ranks import KeyRanks
from hudi_reconcile.databases.registry import refuse_own_by_jdbc
from hudi_reconcile.sql import reads
from hudi_reconcile.sql.connection_properties import DRIVERS, merge_properties

DELAY_MICROS = 5_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)


class Database(Protocol):
    """An open JDBC connection, wherever it lives. Every method raises SourceError with the driver's reason."""

    def facts(self) -> DriverFacts:
        """The database as its driver describes it."""
        ...

    def rows(self, sql: str) -> list[dict[str, Cell]]:
        """All rows of one small statement, labels in lower case."""
        ...

    def clock(self, sql: str) -> tuple[int, bool]:
        """The one time that a statement gives, read as UTC where it has no zone; and whether it has one."""
        ...

    def relations(self, catalog: str | None, schema: str | None, name: str | None) -> list[Relation]:
        """Tables and views; None: of every catalog, schema or name."""
        ...

    def columns(self, table: Relation) -> list[Reported]:
        """The table's columns in their order."""
        ...

    def shape(self, sql: str) -> list[Reported]:
        """The columns that a statement gives."""
        ...

    def primary_key(self, table: Relation) -> tuple[str, ...]:
        """The primary key's columns in key order; empty without one."""
        ...

    def indexes(self, table: Relation) -> list[DriverIndex]:
        """The table's indexes over plain columns."""
        ...

    def cancel(self) -> None:
        """End the statements under way, from any thread, where the driver can."""
        ...

    def close(self) -> None:
        """Give the connection back."""
        ...


Connect = Callable[[JdbcLogin], Database]


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcSource:
    """A `jdbc:` source as the config has it. `time_zone` is what a clock without zone is read in."""

    url: str = field(repr=False)
    password: str = field(repr=False, default="")
    driver: str | None = None
    options: Mapping[str, str] = field(repr=False, default_factory=dict)
    time_zone: str = "UTC"
    max_connections: int = 4
    statement_timeout_seconds: float = 300.0


class JdbcEngine(EngineDefaults):
    """One database. `connect` is called at the first question; nothing is ever written."""

    def __init__(self, source: JdbcSource, connect: Connect) -> None:
        self._source = source
        self._product = product(read_product(source.url))
        self._dialect = GenericDialect(self._product)
        self._connect = connect
        self._open: Database | None = None
        self._sent: list[str] = []
        self._has_learnt = False
        self._login = _login(source, self._product.driver, self._product.properties)

    @property
    def dialect(self) -> GenericDialect:
        """SQL-92 in the product's forms."""
        return self._dialect

    @property
    def digests(self) -> None:
        """Rows come to Spark: nothing is known of what this database computes."""
        return None

    def buckets(self, key: tuple[Column, ...]) -> KeyBuckets | None:
        """Of products with md5 that were run, and keys whose text they write as Spark does."""
        return find_buckets(self._dialect, self._product.keys.buckets, key)

    @property
    def place(self) -> str:
        """The URL without login and settings."""
        return strip_url(self._source.url)

    @property
    def max_connections(self) -> int:
        """How many connections one read may open."""
        return self._source.max_connections

    @property
    def sent(self) -> tuple[str, ...]:
        """The texts of all statements so far, in order; what the driver asks the catalog is not among them."""
        return tuple(self._sent)

    def one_snapshot(self) -> AbstractContextManager[str | None]:
        """Not to be had: connections that Spark opens one after the other cannot share a snapshot here."""
        return nullcontext()

    def rows(self, sql: str) -> Sequence[Mapping[str, Any]]:
        """All rows of one small statement."""
        self._record(sql)
        return self.database().rows(sql)

    def describe(self, request: TableRequest) -> Described:
        """The table as the driver's metadata has it now; its rows are counted, since JDBC knows no estimate."""
        return self._describe(request)[0]

    def moment(self) -> Moment:
        """The database's clock, and 5 seconds less as the bound: JDBC shows no other session's transactions."""
        micros, where = self._clock()
        why = (
            f"{where} minus {DELAY_MICROS // 1_000_000} s: over JDBC the open transactions of other sessions cannot be seen; "
            "pull.overlap longer than the longest transaction catches late commits"
        )
        return Moment(micros, micros - DELAY_MICROS, why, f"{self._product.name} {_EPOCH + micros * _MICRO}")

    def jdbc(self) -> JdbcTarget:
        """How Spark reads rows."""
        return JdbcTarget(self._login.url, overlay_options(self._login.properties, {"driver": self._login.driver}))

    def server_facts(self) -> ServerFacts:
        """The server as its driver describes it. TLS is the driver's own matter: known as far as the URL tells."""
        facts = self.database().facts()
        link = read_jdbc_tls(self._source.url, self._source.options)
        return ServerFacts(
            product=facts.product,
            version=facts.version,
            place=self.place,
            role=facts.user or "(no name)",
            link=link.value,
            is_link_safe=link in (JdbcTls.LOCAL, JdbcTls.VERIFIED),
            sees_all=False,
            grant_to_see="",
            blind_seconds=DELAY_MICROS / 1_000_000,
            is_superuser=False,
            is_replica=False,
            unproven="the driver was asked for a read-only connection, and nobody knows here whether the database keeps to it",
        )

    def table_facts(self, request: TableRequest) -> TableFacts:
        """What `doctor` says of one table. Its rows are counted."""
        description, indexes = self._describe(request)
        leading = frozenset(index.columns[0] for index in indexes if not index.is_partial)
        return TableFacts(
            description.table,
            description.key_proven,
            can_read=True,
            can_write=False,
            indexed=leading,
            are_rows_counted=True,
        )

    def indexes(self, request: TableRequest) -> Indexes | None:
        """What the driver's metadata tells of indexes; none at all says nothing, since some drivers tell of no index."""
        if request.query is not None:
            return None
        database = self.database()
        driver_indexes = database.indexes(find(database, database.facts(), request.table, self.place))
        return (
            Indexes(frozenset(index.columns[0] for index in driver_indexes if not index.is_partial))
            if driver_indexes
            else None
        )

    def statistics(self, table: SourceTable) -> Catalogued:  # noqa: ARG002 - no driver tells any
        """None: JDBC knows of no histogram and no row length. The database ranks its keys itself."""
        return Catalogued("JDBC tells no statistics", ranks=KeyRanks(self._dialect, self._dialect.product))

    def estimate(self, name: str, predicates: tuple[str, ...]) -> int | None:
        """The rows counted: no planner can be asked, and a large window that came in one part would cost far more."""
        return int(self.rows(reads.count_query(name, predicates))[0]["hr_rows"])

    def close(self, *, at_once: bool = False) -> None:
        """Give the connection back; the next question opens another. `at_once` only ends what the driver can end."""
        if self._open is None:
            return
        if at_once:
            self._open.cancel()
            return
        self._open.close()
        self._open = None

    def database(self) -> Database:
        """The open connection, for what only its driver's metadata tells."""
        if self._open is None:
            self._open = self._connect(self._login)
        return self._open

    def _describe(self, request: TableRequest) -> tuple[Described, list[DriverIndex]]:
        database = self.database()
        if request.query is not None:
            return self._describe_query(request, database), []
        table = find(database, database.facts(), request.table, self.place)
        is_full = len(split_name(request.table)) > 2 or table.schema is None  # noqa: PLR2004 - catalog, schema and name
        qualifiers = (table.catalog if is_full else None, table.schema, table.name)
        name = ".".join(self._dialect.quote(part) for part in qualifiers if part)
        columns = tuple(self._dialect.describe_column(driver_column) for driver_column in database.columns(table))
        indexes = database.indexes(table)
        count = self.rows(reads.count_query(name, request.predicates))[0]["hr_rows"]
        description = describe_table(
            request,
            columns,
            unique_keys(
                database.primary_key(table),
                indexes,
                {c.name for c in columns if c.nullable},
                proven=self._product.proven,
            ),
            name=name,
            identity=f"{self.place}/{name}",
            rows_estimate=int(count),
        )
        self._learn(description.table)
        for column in description.table.key_columns:
            if column.kind is Kind.BYTES and self._product.texts.hex is None:
                raise UsageError(
                    f"table {request.name}: key column {column.name} is {column.declared}, and {self._product.title} "
                    "has no text form of binary values",
                    fix="name another key: source.key",
                )
        return description, indexes

    def _describe_query(self, request: TableRequest, database: Database) -> Described:
        name = reads.wrap_query(request.query or "")
        columns = tuple(
            self._dialect.describe_column(driver_column)
            for driver_column in database.shape(f"select * from {name} where 1 = 0")
        )
        count = self.rows(reads.count_query(name, request.predicates))[0]["hr_rows"]
        identity = f"{self.place}/{request.query_id}"
        description = describe_table(request, columns, (), name=name, identity=identity, rows_estimate=int(count))
        self._learn(description.table)
        return description

    def _learn(self, table: SourceTable) -> None:
        """What no test has run: the first form of a row limit that the product takes, and whether it takes its hash.

        A table of one row shows no limit, so that none is relied on until a larger table has been asked.
        """
        if self._product.proven or self._has_learnt:
            return
        known, key = product(read_product(self._source.url)), self._dialect.quote(table.key[0])
        is_telling = table.rows_estimate > 1
        forms = (form for form in dict.fromkeys((known.limit, *ANY_LIMIT)) if form is not None and is_telling)
        learnt_product = replace(
            known, limit=next((form for form in forms if self._limits(form, table.name, key)), None)
        )
        share = GenericDialect(known).hash_predicate(((key, table.key_columns[0]),), 0, 2)
        if share is not None and not self._takes(reads.count_query(table.name, (share, "1 = 0"))):
            learnt_product = replace(learnt_product, keys=replace(learnt_product.keys, hash=None))
        self._product, self._dialect, self._has_learnt = learnt_product, GenericDialect(learnt_product), is_telling

    def _limits(self, form: str, table: str, key: str) -> bool:
        """Whether the product takes the form as a page of a pull has it, and gives no more rows than were asked for."""
        dialect = GenericDialect(replace(self._product, limit=form))
        at = dialect.quote("hr_at")
        some = dialect.limit_rows(f"select {key} as {at} from {table} order by {at}", 1)
        try:
            return int(self.rows(reads.count_query(f"({some}) hr_p", ()))[0]["hr_rows"]) <= 1
        except SourceError:
            return False

    def _takes(self, sql: str) -> bool:
        try:
            self.rows(sql)
        except SourceError:
            return False
        return True

    def _record(self, sql: str) -> None:
        self._sent.append(sql)
        log_statement(sql, self._product.quote)

    def _clock(self) -> tuple[int, str]:
        refused: SourceError | None = None
        for sql in self._product.clocks:
            try:
                self._record(sql)
                micros, is_zoned = self.database().clock(sql)
            except SourceError as error:
                refused = refused or error
                continue
            if is_zoned or self._product.utc_clock:
                return micros, "database clock"
            zone = ZoneInfo(self._source.time_zone)
            # The clock has no zone: it shows the wall clock that `source.time_zone` names.
            wall = (_EPOCH + micros * _MICRO).replace(tzinfo=zone)
            return (wall - _EPOCH) // _MICRO, f"database clock, which names no zone, read as {self._source.time_zone},"
        raise refused or SourceError(f"{self.place}: no clock is known", fix="use strategy: full")


def _login(source: JdbcSource, driver: str | None, fixed: Mapping[str, str]) -> JdbcLogin:
    refuse_own_by_jdbc(source.url)
    known = DRIVERS.get(read_product(source.url))
    chosen = source.driver or driver or (known.classes[0] if known else None)
    if chosen is None:
        raise UsageError(
            f"{strip_url(source.url)}: no JDBC driver is known for jdbc:{read_product(source.url)}",
            fix="name the driver's class as source.driver and its jar under jars.paths",
        )
    ours = {**fixed, "password": source.password} if source.password else dict(fixed)
    return JdbcLogin(
        url=source.url,
        driver=chosen,
        properties=merge_properties(known, {}, source.options.items(), ours),
        timeout_seconds=int(source.statement_timeout_seconds),
    )


def unique_keys(
    primary: tuple[str, ...], indexes: list[DriverIndex], nullable: set[str], *, proven: bool
) -> list[UniqueKey]:
    """The primary key, and the whole unique indexes.

    A primary key may be declared and not enforced (Db2, Snowflake, Redshift, Vertica) or disabled (Oracle): of a product that
    was never run it is proof only where a unique index stands behind it.
    """
    whole = [index for index in indexes if index.is_unique and not index.is_partial]
    is_kept = proven or any(set(index.columns) <= set(primary) for index in whole)
    keys = [UniqueKey(primary, is_primary=True, is_proof=is_kept)] if primary else []
    keys += [UniqueKey(index.columns, is_primary=False, is_proof=not nullable & set(index.columns)) for index in whole]
    return keys
