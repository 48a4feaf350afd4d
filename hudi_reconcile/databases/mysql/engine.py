"""MySQL 8 and MariaDB 10.6 or later as an engine: one control connection, the catalog, the safe bound, and Spark's reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from itertools import groupby
from typing import Any

from sqlalchemy import Engine, RowMapping
from sqlalchemy.exc import DBAPIError

from hudi_reconcile.core.errors import SourceError, UsageError
from hudi_reconcile.core.pull.cursor import watermark_text
from hudi_reconcile.core.source.connection import Connection
from hudi_reconcile.core.source.proposal import UniqueKey
from hudi_reconcile.core.source.server_load import ServerLoad
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.core.tables.values import PEERS, REPLICA, Moment, SourceTable, choose_replica_bound
from hudi_reconcile.databases import control
from hudi_reconcile.databases.base import (
    Catalogued,
    Described,
    Indexes,
    JdbcTarget,
    ServerFacts,
    ServerPosition,
    TableFacts,
    TableRequest,
    parse_mysql_catalog,
)
from hudi_reconcile.databases.catalog import describe_table
from hudi_reconcile.databases.control import ControlPlane, ServerEngine
from hudi_reconcile.databases.mysql import dialect, digests, session
from hudi_reconcile.databases.mysql.dialect import NONE, QUERIES, replication
from hudi_reconcile.databases.mysql.session import describe_query
from hudi_reconcile.sql.dialect import Dialect, Digests

READABLE = {"BASE TABLE", "VIEW", "SYSTEM VERSIONED"}
_UNKNOWN_ROWS = 1_000_000  # of a view whose plan this user may not see

_ME = "concat('''', substring_index(current_user(), '@', 1), '''@''', substring_index(current_user(), '@', -1), '''')"
_SERVER_QUERY = f"""
select version() as version, current_user() as role, {dialect.IS_REPLICA} as is_replica,
       (select count(*) from information_schema.user_privileges
         where privilege_type = 'SUPER' and grantee = {_ME}) as supers
"""
_WRITES_QUERY = f"""
select (select count(*) from information_schema.user_privileges where grantee = {_ME} and {{writes}})
     + (select count(*) from information_schema.schema_privileges
         where grantee = {_ME} and {{writes}} and :schema like table_schema)
     + (select count(*) from information_schema.table_privileges
         where grantee = {_ME} and {{writes}} and table_schema = :schema and table_name = :name) as grants
""".format(writes="privilege_type in ('INSERT', 'UPDATE', 'DELETE', 'DROP')")


class MysqlEngine(ServerEngine):
    """One MySQL or MariaDB database; implements `databases/base.py:Engine`. Nothing is ever written to it."""

    def __init__(self, connection: Connection) -> None:
        arguments = session.control_arguments(connection)
        how: Any = {"begin": dialect.begin(connection.statement_timeout_seconds), "connect": session.login}
        how |= {"named": _translate_error, "cancel": _cancel_statements}
        super().__init__(connection, ControlPlane(connection, "mysql+pymysql", arguments, **how))

    @property
    def dialect(self) -> Dialect:
        """The SQL of MySQL and MariaDB."""
        return dialect

    @property
    def digests(self) -> Digests:
        """MySQL and MariaDB digest their own rows."""
        return digests

    def one_snapshot(self) -> AbstractContextManager[str | None]:
        """Not to be had: connections that Spark opens one after the other cannot share a snapshot here."""
        return nullcontext()

    def rows(self, sql: str) -> Sequence[Mapping[str, Any]]:
        """All rows of one small statement."""
        return [{str(name).lower(): value for name, value in row.items()} for row in self._plane.rows(sql)]

    def describe(self, request: TableRequest) -> Described:
        """The table as the catalog has it now."""
        if request.query is not None:
            return describe_query(self._plane, request, server=self._identity())
        row = self._table(request.table)
        here = {"schema": row["schema_name"], "name": row["name"]}
        columns = tuple(
            dialect.classify_column(
                r["name"], r["data_type"].lower(), r["declared"], nullable=bool(r["nullable"]),
                precision=r["digits"], scale=r["scale"], fraction=r["fraction"], charset=r["charset"],
            )
            for r in self._plane.rows(dialect.COLUMNS_QUERY, here)
        )  # fmt: skip
        name = f"{dialect.quote(here['schema'])}.{dialect.quote(here['name'])}"
        if request.columns is None:
            self._refuse_hidden_columns(request, name)
        return describe_table(
            request,
            columns,
            unique_keys(self._plane.rows(dialect.INDEXES_QUERY, here), is_kept=row["engine"] in _KEEPING_ENGINES),
            name=name,
            identity=f"{self._identity()}/{here['schema']}/{here['name']}",
            rows_estimate=self._estimate(name, request.predicates),
            key_texts=dialect.KEY_TEXTS,
        )

    def moment(self) -> Moment:
        """The database's clock and the safe bound, in one statement of its own before any row is read."""
        row = self._open_work()
        seen = self._plane.one(dialect.CLOCK_QUERY) if row is None else row
        clock = int(seen["clock_micros"])
        is_replica = bool(seen["is_replica"])
        state = replication(clock, self._channels()) if is_replica else NONE
        oldest, running = (None, None) if row is None else (row["oldest_micros"], row["running_seconds"])
        bound, why = dialect.bound(
            clock,
            None if oldest is None else int(oldest),
            None if running is None else int(running),
            sees_all=row is not None,
            is_replica=is_replica,
        )
        if is_replica:
            bound, why = min((bound, why), choose_replica_bound(clock, state.replayed_micros))
        peers = PEERS if dialect.has_peers(self._peers()) else ""
        notes = tuple(note for note in (REPLICA if is_replica else "", state.untold, peers) if note)
        moment = Moment(clock, bound, why, _snapshot(clock), notes=notes, replayed_micros=state.replayed_micros)
        return replace(moment, stopped=state.stopped)

    def position(self) -> ServerPosition | None:
        """MySQL's `gtid_executed`, MariaDB's `gtid_current_pos`; a replica's says how far it lags, and is not told.

        It was started `Uptime` ago, in whole seconds.
        """
        now = self._plane.one(dialect.CLOCK_QUERY)
        sql = "show global variables where variable_name in ('gtid_executed', 'gtid_current_pos')"
        rows = () if now["is_replica"] else self._plane.rows(sql)
        ids = next(("".join(str(row["Value"]).split()) for row in rows if row["Value"]), None)
        if ids is None:
            return None
        up = next((int(row["Value"]) for row in self._plane.rows("show global status like 'Uptime'")), None)
        return ServerPosition(ids, None if up is None else int(now["clock_micros"]) - up * 1_000_000)

    def server_load(self) -> ServerLoad:
        """Threads that run, this run's other ones among them, and how far this replica is behind."""
        now, threads = self._plane.one(dialect.CLOCK_QUERY), self._plane.one(dialect.LOAD_QUERY)
        statements = max(0, int(threads["Value"]) - 1)
        if not now["is_replica"]:
            return ServerLoad(
                statements, None, "this server is no replica, and does not know how far its replicas are behind"
            )
        clock = int(now["clock_micros"])
        state = replication(clock, self._channels())
        if why := state.stopped or state.untold:
            return ServerLoad(statements, None, why)
        return ServerLoad(statements, (clock - (state.replayed_micros or clock)) / 1_000_000)

    def jdbc(self) -> JdbcTarget:
        """Driver and reader properties; the user's extra ones cannot undo ours."""
        return session.jdbc_target(self.connection)

    def server_facts(self) -> ServerFacts:
        """Connect and ask."""
        row = self._plane.one(_SERVER_QUERY)
        version = str(row["version"])
        user, _, host = str(row["role"]).rpartition("@")
        return ServerFacts(
            product="MariaDB" if "mariadb" in version.lower() else "MySQL",
            version=version.split("-", maxsplit=1)[0],
            place=self.place,
            role=str(row["role"]),
            link=self.connection.transport.state(is_encrypted=self._plane.is_encrypted(session.is_encrypted)),
            is_link_safe=self.connection.transport.is_safe,
            sees_all=self._open_work() is not None,
            grant_to_see=f"GRANT PROCESS ON *.* TO '{user}'@'{host}';",
            blind_seconds=dialect.BLIND_DELAY_MICROS / 1_000_000,
            is_superuser=bool(row["supers"]),
            is_replica=bool(row["is_replica"]),
            replica_says=self._lag_told() if row["is_replica"] else "",
        )

    def table_facts(self, request: TableRequest) -> TableFacts:
        """Ask the catalog for one table; reads no row. Raises as `describe`."""
        description, indexes = self.describe(request), self.indexes(request)
        known: dict[str, Any] = {
            "indexed": frozenset() if indexes is None else indexes.leading,
            "has_indexes": indexes is not None,
        }
        if request.query is not None:
            return TableFacts(description.table, description.key_proven, can_read=True, can_write=False, **known)
        row = self._table(request.table)
        here = {"schema": row["schema_name"], "name": row["name"]}
        grants = self._plane.one(_WRITES_QUERY, here)["grants"]
        can_write = bool(grants) and not self._plane.one(_SERVER_QUERY)["supers"]
        can_read = self._can_read(description.table.name)
        return TableFacts(description.table, description.key_proven, can_read=can_read, can_write=can_write, **known)

    def indexes(self, request: TableRequest) -> Indexes | None:
        """Indexes over whole columns."""
        row = None if request.query is not None else self._table(request.table)
        if row is None or row["type"] == "VIEW":
            return None
        rows = self._plane.rows(dialect.INDEXES_QUERY, {"schema": row["schema_name"], "name": row["name"]})
        return Indexes(frozenset(str(r["column_name"]) for r in rows if r["position"] == 1 and r["is_whole"]))

    def statistics(self, table: SourceTable) -> Catalogued:
        """information_schema's row length."""
        schema, name = dialect.split_name(table.name)
        rows = self._plane.rows(dialect.STATISTICS_QUERY, {"schema": schema, "name": name})
        return parse_mysql_catalog([dict(row) for row in rows])

    def estimate(self, name: str, predicates: tuple[str, ...]) -> int | None:
        """The planner's estimate."""
        return self._estimate(name, predicates)

    def _open_work(self) -> RowMapping | None:
        """Clock, oldest transaction, oldest statement; None where this user may not see them."""
        try:
            return self._plane.one(dialect.MOMENT_QUERY)
        except SourceError as error:
            if "(error 1227)" in error.message:
                return None
            raise

    def _channels(self) -> Sequence[Mapping[str, Any]] | None:
        """What the server says of the channels of its replication; None where this user may not ask."""
        for sql in QUERIES:
            try:
                return self.rows(sql)
            except SourceError as error:
                if "(error 1227)" in error.message:
                    return None
                if "(error 1064)" not in error.message:
                    raise
        return None

    def _peers(self) -> Mapping[str, str]:
        return {str(row["Variable_name"]).lower(): str(row["Value"]) for row in self._plane.rows(dialect.PEERS_QUERY)}

    def _lag_told(self) -> str:
        clock = int(self._plane.one(dialect.CLOCK_QUERY)["clock_micros"])
        state = replication(clock, self._channels())
        lag = (
            ""
            if state.replayed_micros is None
            else f"{(clock - state.replayed_micros) // 1_000_000} s behind its primary"
        )
        return state.stopped or state.untold or lag

    def _can_read(self, table: str) -> bool:
        try:
            self._plane.rows(f"select 1 from {table} limit 0")
        except SourceError as error:
            if "(error 1142)" in error.message:
                return False
            raise
        return True

    def _refuse_hidden_columns(self, request: TableRequest, name: str) -> None:
        """The catalog lists only the columns granted to this user, so that the others would look dropped."""
        try:
            self._plane.rows(f"select * from {name} limit 0")
        except SourceError as error:
            if not any(code in error.message for code in ("(error 1142)", "(error 1143)")):
                raise  # what was not told is not taken for granted
            if not self._can_read(name):
                return  # nothing was granted, which whoever reads is told
            raise SourceError(
                f"table {request.name}: this user was granted some columns of {name} only, and the catalog hides the others",
                fix=f"GRANT SELECT ON {name} to the user, or name the columns to copy: tables[{request.name}].source.columns",
            ) from error

    def _table(self, name: str) -> RowMapping:
        try:
            schema, table = dialect.split_name(name)
        except ValueError as error:
            raise UsageError(
                f"source.table {name} is not a table name", fix="quote odd names as SQL does: shop.`Order Items`"
            ) from error
        rows = self._plane.rows(dialect.TABLE_QUERY, {"schema": schema, "name": table})
        folds = bool(rows) and int(self._plane.one("select @@lower_case_table_names as folds")["folds"])
        rows = [row for row in rows if folds or row["name"] == table]
        if not rows:
            raise UsageError(
                f"table {name} does not exist in {self.place} (or the user may not see it)",
                fix="correct tables[].source.table in the config",
            )
        if rows[0]["type"] not in READABLE:
            raise UsageError(f"{name} is not a table or view", fix="correct tables[].source.table in the config")
        return rows[0]

    def _identity(self) -> str:
        sql = "show global variables where variable_name in ('server_uuid', 'server_uid')"
        ids = [str(row["Value"]) for row in self._plane.rows(sql) if row["Value"]]
        return f"mysql:{ids[0]}" if ids else f"mysql:{self.connection.host}:{self.connection.port}"

    def _estimate(self, name: str, predicates: tuple[str, ...]) -> int:
        try:
            lines = self._plane.rows(dialect.estimate_query(name, predicates))
        except SourceError as error:
            if "(error 1345)" in error.message:  # a view over tables that this user may not see
                return _UNKNOWN_ROWS
            raise
        return max((int(line["rows"] or 0) for line in lines), default=0)


def _snapshot(clock_micros: int) -> str:
    # No name tells whether a transaction has ended since, so that no two moments may share one.
    return f"clock {watermark_text(Kind.TIMESTAMPTZ, clock_micros)}"


# MERGE shows the rows of several tables, FEDERATED, CONNECT and SPIDER those of other servers: nothing holds their keys.
_KEEPING_ENGINES = frozenset({"InnoDB", "MyISAM", "Aria", "ROCKSDB", "MEMORY", "ndbcluster"})


def unique_keys(rows: Sequence[Mapping[str, Any] | RowMapping], *, is_kept: bool = True) -> list[UniqueKey]:
    """The unique indexes among the rows of one table's indexes, ordered by index and place; proof where its engine keeps them."""
    keys = []
    for name, group in groupby(rows, key=lambda row: row["name"]):
        parts = list(group)
        if parts[0]["is_unique"] and all(part["column_name"] for part in parts):
            is_proof = is_kept and not any(part["nullable"] for part in parts)
            keys.append(UniqueKey(tuple(part["column_name"] for part in parts), name == "PRIMARY", is_proof))
    return keys


_REFUSED, _UNREACHABLE = (
    {1045, 1698, 1251},
    {session.NO_TLS, session.NOT_TOLD, 2002, 2003, 2005, 2006, 2013, 1040, 1129, 1130},
)
_TIMED_OUT, _NOT_GRANTED = {1969, 3024, 1317, 1205}, {1044, 1142, 1143}
# Messages about names and grammar; others may hold values of rows.
_TELLING = {1054, 1064, 1146, 1227, 1345, 1356, 1305, 1193, 1235}


def _cancel_statements(engine: Engine, busy: Sequence[Any]) -> None:
    """End what these connections wait for, by one more. What Spark's connections wait for is left to its time limit."""
    if busy:
        with closing(engine.raw_connection()) as own:
            own.detach()  # as PostgreSQL's does
            for opened in busy:
                own.cursor().execute(f"kill query {opened.thread_id():d}")


def _translate_error(error: DBAPIError, connection: Connection) -> SourceError | UsageError:
    code, reason = (*getattr(error.orig, "args", ()), None, None)[:2]
    if code in _REFUSED:
        return control.build_password_error(connection)
    if code in _UNREACHABLE or not isinstance(code, int):
        return control.build_unreachable_error(connection, str(reason or type(error.orig).__name__))
    if code == 1049:  # noqa: PLR2004 - the server's number
        return control.build_missing_database_error(connection)
    if code in _NOT_GRANTED:
        return control.build_grant_error(connection, f"{reason} (error {code})")
    if code in _TIMED_OUT:
        return control.build_cancelled_error(connection, f" (error {code})")
    shown = f"{reason} " if code in _TELLING else ""
    return SourceError(f"{connection.place}: {shown}(error {code})", fix="run: hudi-reconcile doctor")
