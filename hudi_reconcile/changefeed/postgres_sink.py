"""A PostgreSQL table kept in step by net changes: one transaction a delivery, in which rows are copied in, deleted, upserted.

A delivery may come twice: the second finds what the first left and changes nothing. The password is libpq's business
(PGPASSWORD, ~/.pgpass, a service file); none is taken in the URL. Off this machine the server's certificate is checked.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo

from hudi_reconcile.core.changes.consumers import TargetMark
from hudi_reconcile.core.errors import UnverifiedError, UsageError
from hudi_reconcile.core.source.connection import NO_CLEAR_TEXT, Transport, is_loopback, read_transport
from hudi_reconcile.databases.postgres import dialect

Connection = psycopg.Connection[tuple[Any, ...]]
Cursor = psycopg.Cursor[tuple[Any, ...]]
Row = tuple[str, Sequence[str | None]]  # op, and the values as text
_COLUMNS = """
select a.attname, format_type(b.oid, -1), format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attnum::int,
       b.typname in ('bpchar', 'citext') or coalesce(not l.collisdeterministic, false)
  from pg_attribute a
  cross join lateral (
    with recursive hr_b(oid, typname, base) as (
      select t.oid, t.typname, t.typbasetype from pg_type t where t.oid = a.atttypid
      union all select t.oid, t.typname, t.typbasetype from hr_b join pg_type t on t.oid = hr_b.base)
    select hr_b.oid, hr_b.typname from hr_b where hr_b.base = 0) b
  left join pg_collation l on l.oid = a.attcollation
 where a.attrelid = %s and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum"""
_TABLE = """
select c.oid, n.nspname::text, c.relname::text, c.relpersistence::text
  from unnest(%s::text[]) with ordinality hr_n(name, place)
  join pg_class c on c.oid = to_regclass(hr_n.name)
  join pg_namespace n on n.oid = c.relnamespace order by hr_n.place limit 1"""
_MARK = """
select (select oid from pg_database where datname = current_database())::text || '/' || %s::text,
       txid_snapshot_xmax(txid_current_snapshot()), pg_is_in_recovery()"""
# The timeline that is written to: the control file has a promotion's only after the next checkpoint.
_LINEAGE = """
select s.system_identifier::text, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int
  from pg_control_system() s"""
# No such function, no right to it, or a service that does not have what it asks for.
_UNTOLD = ("42883", "42501", "0A000", "55000")
_LOCK_TIMEOUT = "select set_config('lock_timeout', %s, true) where current_setting('lock_timeout') = '0'"
_DURABLE = "select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off'"
_PASSWORDS = ("password", "sslpassword")
# Types of a target that take text of a lake's type without a word and keep less of it.
_DAYS_AND_TIMES = ("date", "time without time zone", "time with time zone")
_LOSING: Mapping[str, tuple[str, ...]] = {
    "timestamp": _DAYS_AND_TIMES,
    "timestamp_ntz": _DAYS_AND_TIMES,
    "double": ("real",),
    "int": ("real",),
    "string": ("date", "real", "double precision"),
    "bigint": ("real", "double precision"),
    "decimal": ("real", "double precision"),
}
_LOSING_ALWAYS = ("name", '"char"', "money")
# Two keys of text would be one row of these.
_NO_TEXT_KEYS = ("smallint", "integer", "bigint")


@dataclass(frozen=True, slots=True)
class TargetColumn:
    """A column's type as SQL: without length or precision, which a cast obeys by cutting, and in full; and its number.

    `folds_text`: it takes different texts for one, by its type (`char(n)`, `citext`) or by its collation.
    """

    type: str
    full_type: str
    is_not_null: bool = False
    number: int = 0
    folds_text: bool = False


class TargetError(UnverifiedError):
    """The target database did not answer as needed; nothing of the delivery was written."""


@dataclass(frozen=True, slots=True)
class PostgresTarget:
    """One table of one database. `url` is a SQLAlchemy URL without password, `table` a SQL name.

    `roots` is the file of certificates that this machine trusts; `insecure` lets a server off this machine go unverified.
    A lock that another session holds is waited for `lock_seconds`, or as long as the writer's own `lock_timeout` says.
    """

    url: str
    table: str
    insecure: bool = False
    roots: str | None = None
    lock_seconds: float = 300.0

    @property
    def place(self) -> str:
        """Which table of which database, without user and options, as a consumer's position keeps it."""
        address, _, query = self._uri().partition(":")[2].partition("?")
        given = dict(parse_qsl(query))
        host, slash, database = address.removeprefix("//").rpartition("@")[2].partition("/")
        host += ":5432" if host and ":" not in host.rpartition("]")[2] else ""
        more = "".join(
            f" {name} {given[name]}" for name in ("host", "hostaddr", "port", "dbname", "service") if name in given
        )
        return f"{host}{slash}{database}{more} table {self.table}"

    @property
    def transport(self) -> Transport:
        """How the server is verified. Raises UsageError where it would not be, and nobody said so."""
        return read_transport(
            *_read_address(self._uri()), insecure=self.insecure, roots=self.roots, place="--into", waiver="--insecure"
        )

    def apply(self, rows: Iterator[Row], columns: Mapping[str, str], key: Sequence[str]) -> int:
        """Delete and upsert by key, in one transaction; returns how many changes there were.

        `columns` are those of each row, with their types in the lake. The target's columns must be among them, and the key's
        among the target's.

        Raises UsageError where the table does not fit or would not hold a value as it is, TargetError where the database refuses.
        """
        with self._connect() as (connection, schemas):
            connection.execute(_LOCK_TIMEOUT, [f"{math.ceil(self.lock_seconds * 1000)}ms"])
            connection.execute("set local time zone 'UTC'")
            connection.execute("set local row_security = off")  # a policy that hides rows is an error then
            connection.execute(_DURABLE)  # the position moves on: what was committed must outlive a crash
            connection.execute("set constraints all deferred")  # rows may exchange unique values
            with connection.cursor() as cursor:
                _, name, target = self._describe_table(cursor, schemas)
                check_columns(self.table, target, columns, key)
                count = _copy_rows(cursor, rows, len(columns))
                self._check_held(cursor, target, list(columns))
                self._write(cursor, build_statements(name, target, list(columns), key), key)
                self._check_written(cursor, name, target, list(columns), key)
            connection.execute("set constraints all immediate")  # else the commit itself would fail
            return count

    def read_mark(self, columns: Collection[str]) -> TargetMark:
        """Which table it is now, how far its server has come, and which of the lake's columns it has. Raises as `apply` does."""
        with self._connect() as (connection, schemas), connection.cursor() as cursor:
            oid, _, target = self._describe_table(cursor, schemas)
            table, transaction, is_replica = cursor.execute(_MARK, [oid]).fetchone() or ("", 0, False)
            if is_replica:
                raise TargetError(
                    f"target {self.table}: the server is a read-only replica now",
                    fix="let --into name the primary, or add ?target_session_attrs=read-write, then run the same command again",
                )
            server, timeline = self._read_lineage(connection)
        numbers = {name: column.number for name, column in target.items()}
        left_out = tuple(name for name in columns if name not in target)
        return TargetMark(
            table=table, transaction=transaction, columns=numbers, left_out=left_out, server=server, timeline=timeline
        )

    def _read_lineage(self, connection: Connection) -> tuple[str, int]:
        """The server's identifier and timeline; "" and 0 where it does not tell them."""
        try:
            with connection.transaction():
                row = connection.execute(_LINEAGE).fetchone()
        except psycopg.DatabaseError as error:
            if error.sqlstate not in _UNTOLD:
                raise
            row = None
        return ("", 0) if row is None else (row[0], row[1])

    @contextmanager
    def _connect(self) -> Iterator[tuple[Connection, Sequence[str]]]:
        """A transaction there, with the schemas of its role. Raises TargetError for what the database refuses in it."""
        transport = self.transport
        guard = {"require_auth": NO_CLEAR_TEXT} if transport.is_exposed else {}
        try:
            conninfo = make_conninfo(self._uri(), **transport.parameters, **guard)
            with psycopg.connect(conninfo, application_name="hudi-reconcile", client_encoding="UTF8") as connection:
                yield connection, self._own_schemas(connection)
        except psycopg.Error as error:
            # The server's own text may hold values of rows.
            raise TargetError(
                f"target {self.table}: the database refused ({type(error).__name__}, SQLSTATE {error.sqlstate})",
                fix=f"{suggest_fix(error.sqlstate, is_verified=transport.is_verified)}, then run the same command again",
            ) from error

    def _write(self, cursor: Cursor, statements: Sequence[sql.Composed], key: Sequence[str]) -> None:
        try:
            for statement in statements:
                cursor.execute(statement)
        except psycopg.errors.InvalidColumnReference as error:
            raise UsageError(
                f"target {self.table} has no unique constraint on {', '.join(key)}, by which rows are replaced",
                fix=f"alter table {self.table} add primary key ({', '.join(key)})",
            ) from error

    def _uri(self) -> str:
        scheme, _, rest = self.url.partition(":")
        address, _, query = rest.partition("?")
        user, at, _ = address.removeprefix("//").rpartition("@")
        named = {name.lower() for name, _ in parse_qsl(query, keep_blank_values=True)}
        if (at and ":" in user) or named & {*_PASSWORDS}:
            raise UsageError("--into holds a password", fix="leave it out and set PGPASSWORD, or use ~/.pgpass")
        return f"{scheme.partition('+')[0]}:{rest}"

    def _own_schemas(self, connection: Connection) -> Sequence[str]:
        """Where the role finds names without a schema; from here on it finds none but PostgreSQL's own.

        A function or an operator that somebody planted on its path would run with its rights (CVE-2018-1058). What asks for the
        path names its function's schema, and uses no operator.
        """
        row = connection.execute("select pg_catalog.current_schemas(true)").fetchone() or ((),)
        connection.execute("set local search_path = pg_catalog, pg_temp")
        return tuple(map(str, row[0]))

    def _describe_table(
        self, cursor: Cursor, schemas: Sequence[str]
    ) -> tuple[int, sql.Identifier, Mapping[str, TargetColumn]]:
        """The table's number, its name, quoted by us, and its columns."""
        is_bare = dialect.is_bare(self.table)
        names = [f"{dialect.quote(schema)}.{self.table}" for schema in schemas] if is_bare else [self.table]
        table = cursor.execute(_TABLE, [names]).fetchone()
        if table is None:
            raise UsageError(
                f"--into-table {self.table}: there is no such table", fix="create it, with the lake's key as its key"
            )
        if table[3] == "u":
            raise UsageError(
                f"target {self.table} is UNLOGGED: a crash of its server empties it, and nothing would be delivered again",
                fix=f"alter table {self.table} set logged",
            )
        columns = {row[0]: TargetColumn(*row[1:]) for row in cursor.execute(_COLUMNS, [table[0]])}
        return table[0], sql.Identifier(table[1], table[2]), columns

    def _check_held(self, cursor: Cursor, target: Mapping[str, TargetColumn], columns: Sequence[str]) -> None:
        """Raises UsageError for values that the target's columns would cut or round."""
        narrow = {name: column for name, column in target.items() if column.full_type != column.type}
        if not narrow:
            return
        counts = cursor.execute(cut_values(narrow, columns)).fetchone() or ()
        cut = [
            f"{name} {column.full_type} in {count} rows"
            for (name, column), count in zip(narrow.items(), counts, strict=True)
            if count
        ]
        if cut:
            raise UsageError(
                f"target {self.table} would not hold values of the lake as they are: {', '.join(cut)}; nothing was written",
                fix=f"alter table {self.table} alter column ... type ..., as wide as the lake's",
            )

    def _check_written(
        self,
        cursor: Cursor,
        name: sql.Identifier,
        target: Mapping[str, TargetColumn],
        columns: Sequence[str],
        key: Sequence[str],
    ) -> None:
        """Raises TargetError where a trigger or a rule of the target kept a row from being written or deleted."""
        written = cursor.rowcount
        counts = cursor.execute(count_unwritten(name, target, columns, key)).fetchone() or (0, 0)
        has_values = len(target) > len(key)  # a row of nothing but its key is left as it is
        if counts[1] or (has_values and written != counts[0]):
            raise TargetError(
                f"target {self.table}: a trigger or rule of it kept {counts[1]} deletes and {counts[0] - written} upserts from "
                "being made; nothing was written",
                fix="remove it, or feed another table",
            )


def _read_address(uri: str) -> tuple[str, dict[str, str]]:
    """The host that libpq would go to, of several one off this machine, and what it is asked of TLS: as libpq reads them."""
    try:
        given = {name: str(value) for name, value in conninfo_to_dict(uri).items()}
    except psycopg.ProgrammingError as error:
        raise UsageError(
            "--into is not a URL that libpq reads", fix="--into postgresql://user@host/database"
        ) from error
    known = {option.keyword.decode(): option.val.decode() for option in Conninfo.get_defaults() if option.val}
    named = ",".join(given.get(name, known.get(name, "")) for name in ("host", "hostaddr"))
    hosts = [host for host in named.split(",") if host[:1] not in "/@"]
    hosts += [f"service {given['service']}"] if given.get("service") else []  # its file may name any host
    own = os.environ.get("PGSSLROOTCERT") or Path.home() / ".postgresql" / "root.crt"
    root = {"sslrootcert": str(own)} if Path(own).is_file() else {}
    mode = {"sslmode": os.environ["PGSSLMODE"]} if os.environ.get("PGSSLMODE") else {}
    return next((host for host in hosts if not is_loopback(host)), "localhost"), {**root, **mode, **given}


def suggest_fix(sqlstate: str | None, *, is_verified: bool = False) -> str:
    """What to look at for a class of errors; without a state there was no connection. Pure."""
    states = {
        "23502": "let the column be NULL (alter column ... drop not null), as the lake does",
        "23514": "drop the check: the lake need not keep it",
        "42501": "grant the writer the right; where a row-level policy holds for it: alter role ... bypassrls",
        "55P03": "find the session that holds a lock on it (pg_stat_activity, pg_locks) and let it end",
        **dict.fromkeys(
            ("42P01", "42883", "42704"),
            "give its triggers' functions a path of their own (alter function ... set search_path): this session has none",
        ),
    }
    classes = {
        "22": "give its columns types that hold the lake's values",
        "23": "drop the constraint, or make it deferrable: rows may exchange values, and the lake need not keep it",
    }
    verify = (
        ", and sslrootcert=PATH in --into, by which its certificate is verified" if is_verified and not sqlstate else ""
    )
    return states.get(sqlstate or "") or classes.get(
        (sqlstate or "")[:2], f"check --into, PGPASSWORD and the rights of its user{verify}"
    )


def cut_values(narrow: Mapping[str, TargetColumn], columns: Sequence[str]) -> sql.Composed:
    """How many copied rows have values that each of these columns would cut or round. Pure."""
    value = _values(narrow, columns)
    counts = [
        sql.SQL("count(*) filter (where {0} is distinct from ({0})::{1})").format(
            value[name], sql.SQL(column.full_type)
        )
        for name, column in narrow.items()
    ]
    return sql.SQL("select {} from _hr_changes s where s.op <> 'd'").format(sql.SQL(", ").join(counts))


def build_statements(
    target: sql.Identifier, types: Mapping[str, TargetColumn], columns: Sequence[str], key: Sequence[str]
) -> list[sql.Composed]:
    """What brings the copied rows `_hr_changes` (`op`, `c0`, `c1`, …, all text) into the target. Pure."""
    value = _values(types, columns)
    same = _equal(key, value, sql.SQL("t.{} = {}"))
    deletes = [sql.SQL("delete from {} t using _hr_changes s where s.op = 'd' and {}").format(target, same)]
    nullable = [value[name] for name in key if not types[name].is_not_null]
    if nullable:
        # No index serves these, and no unique constraint sees that two NULLs are one key: such rows are written anew.
        null = sql.SQL(" or ").join(sql.SQL("{} is null").format(column) for column in nullable)
        same = _equal(key, value, sql.SQL("t.{} is not distinct from {}"))
        deletes.append(sql.SQL("delete from {} t using _hr_changes s where ({}) and {}").format(target, null, same))
    others = [name for name in types if name not in key]
    update = sql.SQL(", ").join(sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in others)
    insert = sql.SQL(
        "insert into {} ({}) select {} from _hr_changes s where s.op <> 'd' on conflict ({}) do {}"
    ).format(
        target,
        _names(list(types)),
        sql.SQL(", ").join(value.values()),
        _names(key),
        sql.SQL("update set {}").format(update) if others else sql.SQL("nothing"),
    )
    return [*deletes, insert]


def count_unwritten(
    target: sql.Identifier, types: Mapping[str, TargetColumn], columns: Sequence[str], key: Sequence[str]
) -> sql.Composed:
    """How many rows were to be written, and how many of those to be deleted are still there. Pure."""
    same = _equal(key, _values(types, columns), sql.SQL("t.{} = {}"))
    return sql.SQL(
        "select (select count(*) from _hr_changes where op <> 'd'),"
        " (select count(*) from {} t, _hr_changes s where s.op = 'd' and {})"
    ).format(target, same)


def check_columns(
    table: str, target: Mapping[str, TargetColumn], columns: Mapping[str, str], key: Sequence[str]
) -> None:
    """Raises UsageError for a target without a column of the key, with one that the lake lacks, or of a type that keeps less."""
    faults = [f"{name} is not in the lake" for name in target if name not in columns]
    faults += [f"{name}, of the key, is missing" for name in key if name not in target]
    faults += [
        f"{name}, of the key, is text in the lake, and {target[name].full_type} takes different texts for one"
        for name in key
        if name in target and columns.get(name) == "string" and _folds(target[name])
    ]
    faults += [
        f"{name} is {columns[name]} in the lake, and {column.full_type} does not keep all of it"
        for name, column in target.items()
        if name in columns and _loses(columns[name], column.type)
    ]
    if faults:
        raise UsageError(
            f"target {table} does not fit: {'; '.join(faults)}", fix=f"its columns may be: {', '.join(columns)}"
        )


def _folds(column: TargetColumn) -> bool:
    return column.folds_text or column.type in _NO_TEXT_KEYS


def _loses(lake: str, target: str) -> bool:
    if (lake == "binary") != (target == "bytea"):
        return True
    return target in _LOSING_ALWAYS or target in _LOSING.get(lake.partition("(")[0], ())


def _values(types: Mapping[str, TargetColumn], columns: Sequence[str]) -> Mapping[str, sql.Composed]:
    place = {name: sql.Identifier("s", f"c{number}") for number, name in enumerate(columns)}
    return {name: _cast_text(place[name], column.type) for name, column in types.items()}


def _equal(key: Sequence[str], value: Mapping[str, sql.Composed], form: sql.SQL) -> sql.Composed:
    return sql.SQL(" and ").join(form.format(sql.Identifier(name), value[name]) for name in key)


def _copy_rows(cursor: Cursor, rows: Iterator[Row], width: int) -> int:
    fields = sql.SQL(", ").join(sql.SQL("{} text").format(sql.Identifier(f"c{number}")) for number in range(width))
    cursor.execute(sql.SQL("create temporary table _hr_changes (op text, {}) on commit drop").format(fields))
    count = 0
    with cursor.copy("copy _hr_changes from stdin") as copy:
        for op, values in rows:
            copy.write_row((op, *values))
            count += 1
    return count


def _cast_text(text: sql.Identifier, kind: str) -> sql.Composed:
    if kind == "bytea":
        return sql.SQL("decode({}, 'hex')").format(text)
    return sql.SQL("{}::{}").format(text, sql.SQL(kind))  # as the catalog writes it


def _names(names: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))
