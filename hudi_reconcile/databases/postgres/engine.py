"""PostgreSQL 13 and later as an engine: the catalog, the safe bound, strategy `xmin`, and how Spark reads its rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from secrets import token_hex
from typing import Any

import psycopg

from hudi_reconcile.core.errors import SourceError, UsageError
from hudi_reconcile.core.source.connection import Connection
from hudi_reconcile.core.source.proposal import UniqueKey
from hudi_reconcile.core.source.server_load import ServerLoad
from hudi_reconcile.core.tables.values import REPLICA, SUBSCRIBER, Moment, SourceTable, choose_replica_bound
from hudi_reconcile.databases import control as plane
from hudi_reconcile.databases.base import (
    Catalogued,
    Described,
    Indexes,
    JdbcTarget,
    ServerFacts,
    TableFacts,
    TableRequest,
    Witness,
    parse_postgres_catalog,
)
from hudi_reconcile.databases.catalog import describe_table
from hudi_reconcile.databases.control import CONNECT_SECONDS, ControlPlane, ServerEngine
from hudi_reconcile.databases.postgres import catalog, dialect, digests, session
from hudi_reconcile.databases.postgres.names import PostgresNames, quote_table_name
from hudi_reconcile.databases.postgres.session import (
    OneStatement,
    cancel_statements,
    describe_query,
    error_of_sqlalchemy,
    error_of_sqlstate,
    own_schemas,
    refuse_pooler,
    session_options,
    session_proof,
)
from hudi_reconcile.databases.registry import known_drivers
from hudi_reconcile.sql.connection_properties import merge_properties
from hudi_reconcile.sql.dialect import Dialect, Digests

JDBC_DRIVER = "org.postgresql.Driver"
_SNAPSHOT = "pg_current_snapshot()::text"

_SERVER_QUERY = """
select current_setting('server_version') as version, current_user::text as role,
       pg_has_role(current_user, 'pg_read_all_stats', 'usage') as sees_all,
       (select rolsuper from pg_roles where rolname = current_user) as is_superuser,
       pg_is_in_recovery() as is_replica
"""

_TIMELINE_QUERY = """
select case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) end as timeline
"""
_OWN_ROWS = {"r", "p", "m"}  # of a view and of a foreign table the indexes are elsewhere


class PostgresEngine(ServerEngine):
    """One PostgreSQL database; implements `databases/base.py:Engine`. Nothing is ever written to it."""

    def __init__(self, connection: Connection) -> None:
        self._held: tuple[str, Witness] | None = None
        self._has_own_session = False
        self._application = f"hudi-reconcile {token_hex(4)}"  # of this engine's sessions alone: they are ended by it
        arguments = {
            "connect_timeout": CONNECT_SECONDS,
            "application_name": self._application,
            "hostaddr": "",  # else PGHOSTADDR would send the password to another server than source.url names
            "options": session_options(connection.statement_timeout_seconds),
            # A server that vanished is known after a minute, an answer that it does not confirm after the statement's time.
            "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3,
            "tcp_user_timeout": math.ceil(connection.statement_timeout_seconds + plane.SWALLOWED_SECONDS) * 1000,
        }  # fmt: skip
        tls = session.tls_parameters(connection, no_clear_text="require_auth")
        settings = {**arguments, "cursor_factory": OneStatement}
        how: Any = {"named": error_of_sqlalchemy, "cancel": partial(cancel_statements, self._application)}
        control = ControlPlane(connection, "postgresql+psycopg", settings, query=tls, **how)
        super().__init__(connection, control)
        self._names = PostgresNames(control, partial(_own_schemas, connection, arguments))

    @property
    def dialect(self) -> Dialect:
        """PostgreSQL's SQL."""
        return dialect

    @property
    def digests(self) -> Digests | None:
        """PostgreSQL digests its own rows."""
        return digests

    @contextmanager
    def one_snapshot(self) -> Iterator[str | None]:
        """One exported snapshot for the control plane and for all partitions of Spark's reads.

        The exporting transaction stays open for the length of the block; if it is lost, later reads fail by name.
        """
        with self._plane.transaction("REPEATABLE READ") as rows:
            rows("set local idle_in_transaction_session_timeout = 0")
            row = rows(f"select pg_export_snapshot() as id, {_SNAPSHOT} as name")[0]
            self._held = (str(row["id"]), Witness(_SNAPSHOT, str(row["name"])))
            try:
                yield str(row["name"])
            finally:
                self._held = None

    def rows(self, sql: str) -> Sequence[Mapping[str, Any]]:
        """All rows of one small statement."""
        if self._held is None:
            return [dict(row) for row in self._plane.rows(sql)]
        with self._plane.transaction("REPEATABLE READ") as rows:
            rows(f"set transaction snapshot '{self._held[0]}'")
            return [dict(row) for row in rows(sql)]

    def describe(self, request: TableRequest) -> Described:
        """The table as the catalog has it now."""
        self._refuse_pooler()
        if request.query is not None:
            return describe_query(self._plane, request, self._names.qualify(request), server=self._identity())
        row = self._names.table(request.table)
        name = quote_table_name(row)
        asked = self._names.qualify(request, name)
        columns = tuple(
            dialect.classify_column(
                r["name"], r["type_name"], r["type_mod"], declared=r["declared"], nullable=r["nullable"],
                type_type=r["type_type"],
            )
            for r in self._plane.rows(catalog.COLUMNS_QUERY, {"oid": row["oid"]})
        )  # fmt: skip
        unique = [
            UniqueKey(tuple(r["names"]), r["is_primary"], r["is_proof"])
            for r in self._plane.rows(catalog.UNIQUE_KEYS_QUERY, {"oid": row["oid"]})
        ]
        server = version_lineage(self._plane, request, row["oid"]) if request.by_version else self._identity()
        return describe_table(
            request,
            columns,
            unique,
            name=name,
            identity=f"{server}/{row['database_oid']}/{name}",
            rows_estimate=self._estimate(name, asked.predicates),
            version=dialect.COLUMN if request.by_version else None,
            where=asked.where,
            key_texts=dialect.KEY_TEXTS,
        )

    def moment(self) -> Moment:
        """The database's clock and the safe bound, in one statement of its own before any row is read."""
        row = self._plane.one(dialect.MOMENT_QUERY)
        clock, version_bound = row["clock_micros"], dialect.version_bound(row["snapshot"])
        if row["is_replica"]:
            bound, why = choose_replica_bound(clock, row["replayed_micros"])
            # A replica's snapshot names no running transactions: commits in another order than they began leave it as it was.
            seen = f"{row['snapshot']} {row['replayed_lsn']}"
            return Moment(clock, bound, why, seen, version_bound, (REPLICA,), row["replayed_micros"])
        bound, why = dialect.bound(
            clock,
            row["oldest_micros"],
            row["prepared_micros"],
            sees_all=row["sees_all"],
            silent_sessions=row["silent_sessions"],
        )
        return Moment(clock, bound, why, row["snapshot"], version_bound, (SUBSCRIBER,) if row["is_subscriber"] else ())

    def timeline(self) -> str | None:
        """The timeline of the write-ahead log; None on a replica, and on a server that only speaks like PostgreSQL."""
        try:
            timeline = self._plane.one(_TIMELINE_QUERY)["timeline"]
        except SourceError:
            return None
        return None if timeline is None else str(int(timeline, 16))

    def server_load(self) -> ServerLoad:
        """Statements that other sessions run in any database, and the lag of the slowest replica; on a replica its own lag."""
        row = self._plane.one(dialect.LOAD_QUERY)
        if not row["sees_all"]:
            return ServerLoad(None, None, "GRANT pg_read_all_stats to this role")
        return ServerLoad(int(row["statements"]), float(row["lag_seconds"]))

    def jdbc(self) -> JdbcTarget:
        """Driver and reader properties; the user's extra ones, in whatever spelling, cannot undo ours.

        fetchsize above 0 makes pgjdbc use a cursor instead of loading all rows; timestamps without zone stay without one.
        """
        connection = self.connection
        # The server ends a statement in time; a network that swallows its answer must not be waited for longer.
        wait = str(math.ceil(connection.statement_timeout_seconds) + plane.SWALLOWED_SECONDS)
        connect = {"connectTimeout": str(CONNECT_SECONDS), "socketTimeout": wait, "tcpKeepAlive": "true"}
        defaults = {"ApplicationName": self._application, **connect}
        properties = {
            **session.tls_parameters(connection, no_clear_text="requireAuth"),
            "driver": JDBC_DRIVER,
            "user": connection.user,
            "prepareThreshold": "-1",  # binary values from the first row on: half the time of parsing text, same values
            "options": session_options(connection.statement_timeout_seconds),
            "readOnly": "true",  # each transaction of its own says so, too
        }
        if connection.password:
            properties["password"] = connection.password
        if (
            self._held is not None
        ):  # with fetchsize 0 the pair would live in a transaction of its own, and reads be torn
            properties["sessionInitStatement"] = (
                "set transaction isolation level repeatable read, read only; "
                f"set transaction snapshot '{self._held[0]}'"
            )
        witness = None if self._held is None else self._held[1]
        target = merge_properties(known_drivers()[dialect.NAME], defaults, connection.jdbc_options, properties)
        return JdbcTarget(plane.pgjdbc_url(connection), target, witness, session_proof())

    def server_facts(self) -> ServerFacts:
        """Connect and ask."""
        self._refuse_pooler()
        row = self._plane.one(_SERVER_QUERY)
        return ServerFacts(
            product="PostgreSQL",
            version=row["version"],
            place=self.place,
            role=row["role"],
            link=self.connection.transport.state(is_encrypted=self._plane.is_encrypted(session.is_encrypted)),
            is_link_safe=self.connection.transport.is_safe,
            sees_all=row["sees_all"],
            grant_to_see=f'GRANT pg_read_all_stats TO "{row["role"]}";',
            blind_seconds=dialect.BLIND_DELAY_MICROS / 1_000_000,
            is_superuser=bool(row["is_superuser"]),
            is_replica=row["is_replica"],
        )

    def table_facts(self, request: TableRequest) -> TableFacts:
        """Ask the catalog for one table; reads no row. Raises as `describe`."""
        description = self.describe(request)
        if request.query is not None:
            return TableFacts(
                description.table,
                description.key_proven,
                can_read=True,
                can_write=False,
                indexed=frozenset(),
                has_indexes=False,
            )
        row = self._plane.one(catalog.RIGHTS_QUERY, {"oid": self._names.table(request.table)["oid"]})
        own = self.indexes(request)
        indexes = own or Indexes(frozenset())
        rights = {"can_read": row["can_read"], "can_write": row["can_write"], "asks": tuple(row["asks"])}
        rights |= {"runs": tuple(row["runs"]), "has_indexes": own is not None}
        return TableFacts(
            description.table, description.key_proven, indexed=indexes.leading, id_cache=indexes.id_cache, **rights
        )

    def indexes(self, request: TableRequest) -> Indexes | None:
        """Whole, valid indexes, and the sequences behind defaults and identities."""
        if request.query is not None:
            return None
        row = self._plane.one(catalog.INDEXES_QUERY, {"oid": self._names.table(request.table)["oid"]})
        return Indexes(frozenset(row["indexed"]), row["id_cache"] or {}) if row["relkind"] in _OWN_ROWS else None

    def statistics(self, table: SourceTable) -> Catalogued:
        """pg_class and pg_stats, as far as this role may see them."""
        names = {"name": table.name, "key": table.key[0], "columns": [column.name for column in table.columns]}
        return parse_postgres_catalog([dict(row) for row in self._plane.rows(catalog.STATISTICS_QUERY, names)])

    def estimate(self, name: str, predicates: tuple[str, ...]) -> int | None:
        """The planner's estimate."""
        return self._estimate(name, predicates)

    def _refuse_pooler(self) -> None:
        if not self._has_own_session:
            refuse_pooler(self._plane)
            self._has_own_session = True

    def _identity(self) -> str:
        try:
            row = self._plane.one("select system_identifier::text as id from pg_control_system()")
        except SourceError:
            # Managed services may revoke the function; the address then stands for the server.
            return f"postgresql:{self.connection.host}:{self.connection.port}"
        return f"postgresql:{row['id']}"

    def _estimate(self, name: str, predicates: tuple[str, ...]) -> int:
        plan = self._plane.one(dialect.estimate_query(name, predicates))["QUERY PLAN"]
        return int(plan[0]["Plan"]["Plan Rows"])


def _own_schemas(connection: Connection, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    try:
        return own_schemas(connection, arguments)
    except psycopg.Error as error:
        raise error_of_sqlstate(error, connection) from None


_INSTEAD = "use strategy timestamp, or full: pull.strategy of this table in the config"


def version_lineage(plane: ControlPlane, request: TableRequest, oid: int) -> str:
    """What the numbers of a table's row versions are bound to: system id, timeline, table.

    Raises UsageError for a view, a foreign table, storage that keeps no xmin, a replica, and a server that hides its system
    id: there a number would mean something else after a restore, and nobody would notice.
    """
    row = plane.one(dialect.STANDING_QUERY, {"oid": oid})
    if row["others"]:
        raise UsageError(
            f"table {request.name}: strategy xmin needs ordinary tables; {', '.join(row['others'])} keeps no xmin of its rows "
            "(a view, a foreign table, or other storage)",
            fix=_INSTEAD,
        )
    if row["is_replica"]:
        raise UsageError(
            f"table {request.name}: strategy xmin reads the primary; this server is a replica, which may be promoted "
            "and give the same numbers to other transactions",
            fix=f"name the primary in source.url, or {_INSTEAD}",
        )
    try:
        system = plane.one("select system_identifier::text as id from pg_control_system()")["id"]
    except SourceError as error:
        raise UsageError(
            f"table {request.name}: strategy xmin is bound to the server's system id, which this role may not read: "
            f"{error.message}",
            fix=f"GRANT EXECUTE ON FUNCTION pg_control_system() TO the role, or {_INSTEAD}",
        ) from error
    return f"postgresql:{system}:timeline {int(row['timeline'], 16)}:oid {oid}"
