"""A PostgreSQL table kept in step by net changes: one transaction a delivery, in which rows are copied in, deleted, upserted.

A delivery may come twice: the second finds what the first left and changes nothing. The password is libpq's business
(PGPASSWORD, ~/.pgpass, a service file); none is taken in the URL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import psycopg
from psycopg import sql

from hudi_reconcile.core.errors import UnverifiedError, UsageError

Row = tuple[str, Sequence[str | None]]  # op, and the values as text
_COLUMNS = """
select a.attname, format_type(a.atttypid, a.atttypmod) from pg_attribute a
 where a.attrelid = %s::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum"""


class TargetError(UnverifiedError):
    """The target database did not answer as needed; nothing of the delivery was written."""


@dataclass(frozen=True, slots=True)
class PostgresTarget:
    """One table of one database. `url` is a SQLAlchemy URL without password, `table` a SQL name."""

    url: str
    table: str

    def apply(self, rows: Iterator[Row], columns: Sequence[str], key: Sequence[str]) -> int:
        """Delete and upsert by key, in one transaction; returns how many changes there were.

        `columns` are those of each row. The target's columns must be among them, and the key's among the target's.

        Raises UsageError where the table does not fit, TargetError where the database refuses.
        """
        try:
            with psycopg.connect(self._conninfo(), application_name="hudi-reconcile") as connection:
                connection.execute("set local time zone 'UTC'")
                with connection.cursor() as cursor:
                    name, types = self._described(cursor)
                    _check_columns(self.table, types, columns, key)
                    count = _copied(cursor, rows, len(columns))
                    for statement in statements(name, types, columns, key):
                        cursor.execute(statement)
                return count
        except psycopg.errors.InvalidColumnReference as error:
            raise UsageError(
                f"target {self.table} has no unique constraint on {', '.join(key)}, by which rows are replaced",
                fix=f"alter table {self.table} add primary key ({', '.join(key)})",
            ) from error
        except psycopg.Error as error:
            # The server's own text may hold values of rows.
            raise TargetError(
                f"target {self.table}: the database refused ({type(error).__name__}, SQLSTATE {error.sqlstate})",
                fix="check --into, PGPASSWORD and the rights of its user, then run the same command again",
            ) from error

    def _conninfo(self) -> str:
        scheme, _, rest = self.url.partition(":")
        if "@" in rest and ":" in rest.partition("@")[0].removeprefix("//"):
            raise UsageError("--into holds a password", fix="leave it out and set PGPASSWORD, or use ~/.pgpass")
        return f"{scheme.partition('+')[0]}:{rest}"

    def _described(self, cursor: psycopg.Cursor[tuple[str, ...]]) -> tuple[str, Mapping[str, str]]:
        """The table's name as SQL, and its columns with their types."""
        found = cursor.execute("select to_regclass(%s)::text", [self.table]).fetchone()
        if found is None or found[0] is None:
            raise UsageError(
                f"--into-table {self.table}: there is no such table", fix="create it, with the lake's key as its key"
            )
        return found[0], {row[0]: row[1] for row in cursor.execute(_COLUMNS, [found[0]])}


def statements(table: str, types: Mapping[str, str], columns: Sequence[str], key: Sequence[str]) -> list[sql.Composed]:
    """What brings the copied rows `_hr_changes` (`op`, `c0`, `c1`, …, all text) into the table. `table` is SQL. Pure."""
    place = {name: sql.Identifier("s", f"c{number}") for number, name in enumerate(columns)}
    value = {name: _typed(place[name], kind) for name, kind in types.items()}
    target = sql.SQL(table)  # as regclass writes it
    same = sql.SQL(" and ").join(
        sql.SQL("t.{} is not distinct from {}").format(sql.Identifier(name), value[name]) for name in key
    )
    delete = sql.SQL("delete from {} t using _hr_changes s where s.op = 'd' and {}").format(target, same)
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
    return [delete, insert]


def _copied(cursor: psycopg.Cursor[tuple[str, ...]], rows: Iterator[Row], width: int) -> int:
    fields = sql.SQL(", ").join(sql.SQL("{} text").format(sql.Identifier(f"c{number}")) for number in range(width))
    cursor.execute(sql.SQL("create temporary table _hr_changes (op text, {}) on commit drop").format(fields))
    count = 0
    with cursor.copy("copy _hr_changes from stdin") as copy:
        for op, values in rows:
            copy.write_row((op, *values))
            count += 1
    return count


def _typed(text: sql.Identifier, kind: str) -> sql.Composed:
    if kind == "bytea":
        return sql.SQL("decode({}, 'hex')").format(text)
    return sql.SQL("{}::{}").format(text, sql.SQL(kind))  # as the catalog writes it


def _names(names: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))


def _check_columns(table: str, types: Mapping[str, str], columns: Sequence[str], key: Sequence[str]) -> None:
    unknown = [name for name in types if name not in columns]
    lacking = [name for name in key if name not in types]
    if unknown or lacking:
        told = [f"{name} is not in the lake" for name in unknown] + [
            f"{name}, of the key, is missing" for name in lacking
        ]
        raise UsageError(
            f"target {table} does not fit: {'; '.join(told)}", fix=f"its columns may be: {', '.join(columns)}"
        )
