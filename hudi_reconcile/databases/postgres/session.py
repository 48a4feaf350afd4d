"""PostgreSQL sessions of ours: their settings, the proof that they are in force, and what the server's errors mean.

A pooler between us and the server may drop settings or hand every transaction another session: then times, numbers and
snapshots would not be what we take them for, so it is refused and never worked around.

Names are looked up in pg_catalog and nowhere else: a function, operator or type that somebody planted in another schema of
the role's path would run with the reader's rights (CVE-2018-1058). A table is therefore named with its schema.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg.pq import Format
from sqlalchemy.exc import DBAPIError

from hudi_reconcile.core.errors import SourceError, UsageError
from hudi_reconcile.core.safe_text import redact_message
from hudi_reconcile.core.source.connection import NO_CLEAR_TEXT, Connection
from hudi_reconcile.core.tables.kinds import Column
from hudi_reconcile.databases import control
from hudi_reconcile.databases.base import Described, TableRequest
from hudi_reconcile.databases.catalog import describe_table
from hudi_reconcile.databases.control import ControlPlane
from hudi_reconcile.databases.postgres import dialect
from hudi_reconcile.databases.postgres.catalog import TYPE_NAME
from hudi_reconcile.sql import reads

_PATH = "search_path"
_SETTINGS: Mapping[str, str] = {
    "default_transaction_read_only": "on",
    _PATH: "pg_catalog",
    "standard_conforming_strings": "on",  # a backslash in '…' is a letter, as the check of source.where takes it
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "lc_monetary": "C",
    "IntervalStyle": "iso_8601",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "row_security": "off",
    "client_encoding": "UTF8",
    "jit": "off",  # a server that compiles a long statement answers no timeout meanwhile
}
# libpq's variables of settings (PostgreSQL documentation 32.15).
_VARIABLES: Mapping[str, str] = {"TimeZone": "PGTZ", "DateStyle": "PGDATESTYLE", "client_encoding": "PGCLIENTENCODING"}
_CLIENT_PARAMETERS = ("sslcert", "sslkey")
_CANCEL = """
select pg_cancel_backend(pid) from pg_stat_activity
 where application_name = :application and usename = current_user and state = 'active' and pid <> pg_backend_pid()
"""
_PID_QUERY = "select pg_backend_pid() as pid"
_SETTINGS_QUERY = "select pg_backend_pid() as pid, {settings}".format(
    settings=", ".join(f"current_setting('{name}') as \"{name}\"" for name in _SETTINGS)
)
LOST = "settings of this session are not in force"
_DRIVERS_OWN = frozenset({"client_encoding", "extra_float_digits"})  # pgjdbc keeps UTF8, and at least as many digits
# What pgbouncer says to a session that comes with settings.
_REFUSAL = "unsupported startup parameter"
_FIX = "point source.url at the server itself, past the pooler: its port is 5432 where nobody chose another"


class OneStatement(psycopg.Cursor[Any]):
    """A cursor that asks for binary answers: libpq then takes one statement, and refuses a text that holds several."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.format = Format.BINARY


def cancel_statements(application: str, engine: sa.Engine, _busy: object) -> None:
    """End what the server works at for the sessions of this application name, Spark's among them, by one more session.

    Spark forgets a job that is cancelled, but its task, and a core, wait for the server's answer.
    """
    with engine.connect() as own:
        own.detach()  # a pool that is closed meanwhile would forget this connection open
        own.execute(sa.text(_CANCEL), {"application": application})


def session_options(statement_timeout_seconds: float, *, without: str = "") -> str:
    """PostgreSQL start-up options that make a session read only, in UTC, bounded, and deaf to names outside pg_catalog."""
    settings = {
        **_SETTINGS,
        "lock_timeout": "2000",
        "statement_timeout": str(int(statement_timeout_seconds * 1000)),
    }
    return " ".join(f"-c {name}={value}" for name, value in settings.items() if name != without)


def own_schemas(connection: Connection, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The schemas in which this role finds names without one, in order: by a session of its own, whose path is the role's.

    It sends one function call with the function's schema and no operator, so that nothing planted on that path can run.
    """
    settings = {
        **arguments,
        **tls_parameters(connection, no_clear_text="require_auth"),
        "options": session_options(connection.statement_timeout_seconds, without=_PATH),
    }
    with psycopg.connect(
        host=connection.host,
        port=connection.port,
        dbname=connection.database,
        user=connection.user,
        password=connection.password or None,
        **settings,
    ) as opened:
        row = opened.execute("select pg_catalog.current_schemas(true)").fetchone()
    return () if row is None else tuple(map(str, row[0]))


def session_proof() -> str:
    """True where a session of Spark's has the settings that reads rely on; an error that names the others where it has not.

    It holds no column of a row, so the server decides it once per statement. Whatever the session's path is, what it calls is
    pg_catalog's. The time zone is the JVM's, which may spell UTC in another way.
    """
    wanted: dict[str, tuple[str, ...]] = {n: (value,) for n, value in _SETTINGS.items() if n not in _DRIVERS_OWN}
    wanted |= {"TimeZone": ("UTC", "Etc/UTC", "GMT"), "transaction_read_only": ("on",)}
    lost = ", ".join(
        f"case when pg_catalog.split_part(pg_catalog.current_setting('{name}'), ',', 1) operator(pg_catalog.=) any"
        f" ('{{{','.join(values)}}}'::pg_catalog.text[]) then null else '{name}' end"
        for name, values in wanted.items()
    )
    return (
        f"(select case when hr_lost operator(pg_catalog.=) '' then true else pg_catalog.current_setting("
        f"pg_catalog.concat('{LOST}: ', hr_lost)) is not null end"
        f" from (select pg_catalog.concat_ws(', ', {lost}) as hr_lost offset 0) hr_p)"
    )


def tls_parameters(connection: Connection, *, no_clear_text: str) -> dict[str, str]:
    """What libpq and pgjdbc are told of TLS; whoever may pose as the server is never sent the password itself."""
    transport = connection.transport
    client = {name: value for name, value in connection.tls if name in _CLIENT_PARAMETERS}
    guard = {no_clear_text: NO_CLEAR_TEXT} if transport.is_exposed else {}
    return {**transport.parameters, **client, **guard}


def is_encrypted(opened: Any) -> bool:
    """Whether libpq's own end of the connection speaks TLS."""
    return bool(opened.pgconn.ssl_in_use)


def refuse_pooler(plane: ControlPlane, environ: Mapping[str, str] = os.environ) -> None:
    """Raises where the session's settings are not in force, or two statements meet two sessions.

    UsageError where a variable of the environment is why, else SourceError.
    """
    first, second = dict(plane.one(_SETTINGS_QUERY)), plane.one(_PID_QUERY)
    if overruling := overruled_settings(first, environ):
        names = ", ".join(overruling)
        raise UsageError(
            f"{plane.connection.place}: {names} in the environment overrules the settings of our session, and values would be "
            "read wrong",
            fix=f"unset {' '.join(overruling)}",
        )
    why = pooler_signs({str(name): value for name, value in first.items()}, second["pid"])
    if why:
        raise SourceError(f"{plane.connection.place}: {why}", fix=_FIX)


def overruled_settings(first: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[str, ...]:
    """The variables of libpq's that took a setting from us: it sends them so that they beat what we ask for.

    >>> first = {"TimeZone": "Europe/Berlin", "DateStyle": "ISO, MDY", "client_encoding": "UTF8"}
    >>> overruled_settings(first, {"PGTZ": "Europe/Berlin"})
    ('PGTZ',)
    """
    return tuple(name for setting, name in _VARIABLES.items() if environ.get(name) and not _is_kept(first, setting))


def _is_kept(first: Mapping[str, Any], setting: str) -> bool:
    # DateStyle comes with the order of days and months, which ISO does not need.
    return str(first[setting]).split(",", maxsplit=1)[0] == _SETTINGS[setting]


def pooler_signs(first: Mapping[str, Any], next_pid: int) -> str:
    """What two statements in a row give away of a pooler; empty where all is as it was asked for."""
    lost = [name for name in _SETTINGS if not _is_kept(first, name)]
    if lost:
        return (
            f"settings of our session are not in force ({', '.join(lost)}): a connection pooler such as pgbouncer drops them, "
            "and values would be read wrong"
        )
    if first["pid"] != next_pid:
        return (
            "two statements in a row met two server sessions: a connection pooler in transaction mode is in between, and "
            "neither settings nor snapshots outlive a transaction there"
        )
    return ""


def is_poolers_refusal(reason: str) -> bool:
    """True where the words are those with which a pooler turns our session away."""
    return _REFUSAL in reason


def pooler_error(place: str, reason: str) -> SourceError:
    """A pooler did not let our session in."""
    return SourceError(f"{place}: a connection pooler turned our session away: {reason}", fix=_FIX)


_DATABASE = "select oid from pg_database where datname = current_database()"
_GRANT_STATE = "42501"


def describe_query(plane: ControlPlane, request: TableRequest, asked: TableRequest, *, server: str) -> Described:
    """The query's answer as a table without any key of its own. `asked`: with the schemas of the tables that it names.

    Raises UsageError for a query that PostgreSQL does not understand.
    """
    name = reads.wrap_query(asked.query or "")
    try:
        fields = plane.shape(f"select * from {name} limit 0", _fields)
        plan = plane.one(dialect.estimate_query(name, asked.predicates))["QUERY PLAN"]
    except SourceError as error:
        if "SQLSTATE 42" in error.message and _GRANT_STATE not in error.message:
            raise UsageError(
                f"table {request.name}: source.query is refused: {error.message}",
                fix=f"correct tables[{request.name}].source.query: one SELECT; {error.fix}",
            ) from error
        raise
    estimate = int(plan[0]["Plan"]["Plan Rows"])
    identity = f"{server}/{plane.one(_DATABASE)['oid']}/{request.query_id}"
    columns = _columns(plane, fields)
    return describe_table(
        request,
        columns,
        (),
        name=name,
        identity=identity,
        rows_estimate=estimate,
        where=asked.where,
        key_texts=dialect.KEY_TEXTS,
    )


def _fields(cursor: Any) -> list[tuple[str, int, int]]:
    """Name, type oid and type modifier of each column."""
    return [
        (column.name, int(column.type_code), int(cursor.pgresult.fmod(place)))
        for place, column in enumerate(cursor.description)
    ]


def _columns(plane: ControlPlane, fields: list[tuple[str, int, int]]) -> tuple[Column, ...]:
    oids = ",".join(str(oid) for _, oid, _ in fields)
    mods = ",".join(str(mod) for _, _, mod in fields)
    types = plane.rows(
        f"select {TYPE_NAME} as type_name, t.typtype::text as type_type, format_type(u.oid, u.mod) as declared"
        f" from unnest('{{{oids}}}'::oid[], '{{{mods}}}'::int[]) with ordinality u(oid, mod, place)"
        " join pg_type t on t.oid = u.oid order by u.place"
    )
    return tuple(
        dialect.classify_column(
            name, row["type_name"], mod, declared=row["declared"], nullable=True, type_type=row["type_type"]
        )
        for (name, _, mod), row in zip(fields, types, strict=True)
    )


_UNKNOWN_NAME_STATES = frozenset({"42883", "42P01", "42704"})  # function or operator, table, type
_SCHEMA_FIX = (
    "in source.where and source.query, what is not PostgreSQL's own has its schema: public.orders, public.f(x), x::public.t, "
    "a operator(public.=) b; a function of yours that names such things needs: alter function ... set search_path; then: "
    "hudi-reconcile doctor"
)


def error_of_sqlalchemy(error: DBAPIError, connection: Connection) -> SourceError | UsageError:
    """A driver's error by way of SQLAlchemy."""
    return error_of_sqlstate(error.orig, connection)


def error_of_sqlstate(error: BaseException | None, connection: Connection) -> SourceError | UsageError:
    """What the server said, by its SQLSTATE; without values of rows."""
    state = getattr(error, "sqlstate", None)
    reason = next(filter(None, map(str.strip, str(error).splitlines())), type(error).__name__)
    if state == "28P01" or "password authentication failed" in reason:
        return control.build_password_error(connection)
    if is_poolers_refusal(reason):
        return pooler_error(connection.place, reason)
    # psycopg has no SQLSTATE of a connection that did not come about.
    if state == "3D000" or f'database "{connection.database}" does not exist' in reason:
        return control.build_missing_database_error(connection)
    if state is None or state.startswith("08"):
        return control.build_unreachable_error(connection, reason)
    if state == "42501":
        hides = "row-level security" in reason
        return (control.build_hidden_rows_error if hides else control.build_grant_error)(connection, reason)
    if state == "57014":
        return control.build_cancelled_error(connection, f": {reason}")
    what = f"{redact_message(reason, state=state)} (SQLSTATE {state})"
    fix = _SCHEMA_FIX if state in _UNKNOWN_NAME_STATES else "run: hudi-reconcile doctor"
    return SourceError(f"{connection.place}: {what}", fix=fix)
