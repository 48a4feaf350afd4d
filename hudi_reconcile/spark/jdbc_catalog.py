"""One JDBC connection in Spark's JVM: small queries and the driver's metadata as plain Python values.

The driver is the one that Spark's own reader uses, from the same class loader: embedded databases live in one process and one
loader. Only here does anything but Spark touch `java.sql`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from hudi_reconcile.core.errors import ReconcileError, SourceError, UsageError
from hudi_reconcile.core.safe_text import redact_message
from hudi_reconcile.core.source.jdbc import (
    Cell,
    DriverFacts,
    DriverIndex,
    JdbcLogin,
    Relation,
    Reported,
    redact_secrets,
)

MOST_ROWS = 100_000  # of one small statement; a count by segment has a row for each
_NUMBER_CODES = frozenset({-6, 5, 4, -5, 2, 3})
_BYTES_CODES = frozenset({-2, -3, -4})
_ZONED_CODE = 2014
_STATISTIC = "0"  # a row of getIndexInfo that is no index
_REASON_CHARS = 300

Row = dict[str, str | None]


class JvmDatabase:
    """An open connection. Every method raises SourceError with the driver's reason."""

    def __init__(self, connection: Any, login: JdbcLogin) -> None:
        self._connection = connection
        self._login = login
        self._running: dict[int, Any] = {}

    def facts(self) -> DriverFacts:
        """The database as its driver describes it."""
        with self._metadata() as meta:
            upper, lower = meta.storesUpperCaseIdentifiers(), meta.storesLowerCaseIdentifiers()
            return DriverFacts(
                product=str(meta.getDatabaseProductName()),
                version=str(meta.getDatabaseProductVersion()),
                user=str(meta.getUserName() or ""),
                folds="upper" if upper else "lower" if lower else "none",
                catalog=self._connection.getCatalog(),
                schema=_unless_refused(self._connection.getSchema),
            )

    def rows(self, sql: str) -> list[dict[str, Cell]]:
        """All rows of one small statement; labels in lower case, whole numbers as int, bytes as hex.

        Raises SourceError of more than MOST_ROWS: a part of them would be taken for all.
        """
        with self._result(sql) as result:
            meta = result.getMetaData()
            columns = [
                (index, str(meta.getColumnLabel(index)).lower(), int(meta.getColumnType(index)))
                for index in range(1, int(meta.getColumnCount()) + 1)
            ]
            rows: list[dict[str, Cell]] = []
            while result.next():
                rows.append({label: _cell(result, index, code) for index, label, code in columns})
            if len(rows) > MOST_ROWS:
                raise SourceError(
                    f"{self._login.place}: a small statement gave more than {MOST_ROWS:,} rows",
                    fix=f"where sweep.segments is set, let it be at most {MOST_ROWS:,}",
                )
            return rows

    def clock(self, sql: str) -> tuple[int, bool]:
        """The one time that a statement gives, in microseconds, read as UTC where it has no zone; and whether it has one."""
        with self._result(sql) as result:
            result.next()
            stamp = result.getTimestamp(1)
            is_zoned = int(result.getMetaData().getColumnType(1)) == _ZONED_CODE
            return int(stamp.getTime()) // 1000 * 1_000_000 + int(stamp.getNanos()) // 1000, is_zoned

    def relations(self, catalog: str | None, schema: str | None, name: str | None) -> list[Relation]:
        """Tables and views; None: of every catalog, schema or name."""
        wanted = ("TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE")
        with self._metadata() as meta:
            pattern = "%" if name is None else _escape_pattern(meta, name)
            rows = _list_rows(meta.getTables(catalog, _escape_pattern(meta, schema), pattern, None), wanted)
        return [Relation(r["TABLE_CAT"], r["TABLE_SCHEM"], str(r["TABLE_NAME"]), str(r["TABLE_TYPE"])) for r in rows]

    def columns(self, table: Relation) -> list[Reported]:
        """The table's columns in their order."""
        wanted = ("TABLE_NAME", "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "COLUMN_SIZE", "DECIMAL_DIGITS", "NULLABLE")
        with self._metadata() as meta:
            schema, name = _escape_pattern(meta, table.schema), _escape_pattern(meta, table.name)
            rows = _list_rows(meta.getColumns(table.catalog, schema, name, "%"), wanted, optional=("IS_AUTOINCREMENT",))
        return [_read_column(row) for row in rows if row["TABLE_NAME"] == table.name]

    def shape(self, sql: str) -> list[Reported]:
        """The columns that a statement gives."""
        with self._result(sql) as result:
            meta = result.getMetaData()
            return [
                Reported(
                    str(meta.getColumnLabel(at)),
                    int(meta.getColumnType(at)),
                    str(meta.getColumnTypeName(at)),
                    int(meta.getPrecision(at)),
                    int(meta.getScale(at)),
                )
                for at in range(1, int(meta.getColumnCount()) + 1)
            ]

    def primary_key(self, table: Relation) -> tuple[str, ...]:
        """The primary key's columns in key order; empty without one."""
        with self._metadata() as meta:
            rows = _list_rows(meta.getPrimaryKeys(table.catalog, table.schema, table.name), ("KEY_SEQ", "COLUMN_NAME"))
        return tuple(str(row["COLUMN_NAME"]) for row in sorted(rows, key=lambda row: int(row["KEY_SEQ"] or 0)))

    def indexes(self, table: Relation) -> list[DriverIndex]:
        """The table's indexes over plain columns; of drivers that tell none, none."""
        wanted = ("INDEX_NAME", "NON_UNIQUE", "ORDINAL_POSITION", "COLUMN_NAME", "TYPE", "FILTER_CONDITION")
        every, approximate = False, True
        with self._metadata() as meta:
            answer = meta.getIndexInfo(table.catalog, table.schema, table.name, every, approximate)
            rows = [row for row in _list_rows(answer, wanted) if row["TYPE"] != _STATISTIC]
        grouped: dict[str | None, list[Row]] = {}
        for row in rows:
            grouped.setdefault(row["INDEX_NAME"], []).append(row)
        return [_index(parts) for parts in grouped.values() if all(row["COLUMN_NAME"] for row in parts)]

    def cancel(self) -> None:
        """End the statements under way, from any thread. A driver that cannot leaves them to their time limit."""
        for statement in tuple(self._running.values()):
            _unless_refused(statement.cancel)

    def close(self) -> None:
        """Give the connection back; harmless where its JVM has ended."""
        from py4j.protocol import Py4JError

        try:
            self._connection.close()
        except (Py4JError, OSError):
            return

    @contextmanager
    def _result(self, sql: str) -> Iterator[Any]:
        with _translate_errors(self._login):
            statement = self._connection.createStatement()
            self._running[id(statement)] = statement
            try:
                statement.setMaxRows(MOST_ROWS + 1)
                _unless_refused(statement.setQueryTimeout, self._login.timeout_seconds)
                yield statement.executeQuery(sql)
            finally:
                del self._running[id(statement)]
                statement.close()

    @contextmanager
    def _metadata(self) -> Iterator[Any]:
        with _translate_errors(self._login):
            yield self._connection.getMetaData()


def open_database(jvm: Any, login: JdbcLogin) -> JvmDatabase:
    """Connect with the driver that Spark will use.

    Raises:
        UsageError: no jar holds the driver class, it does not take this URL, or Spark would misread the database's names.
        SourceError: the database refused, or cannot be reached.
    """
    connection = _connect(jvm, login)
    with _translate_errors(login):
        _unless_refused(connection.setReadOnly, True)  # noqa: FBT003 - Java's own
        meta = connection.getMetaData()
        product, mark = str(meta.getDatabaseProductName()), str(meta.getIdentifierQuoteString() or "").strip()
        spark = str(jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(login.url).quoteIdentifier("c"))
    if spark != f"{mark}c{mark}":
        # Hive's driver is the well-known case: every value of a column comes back as the column's name.
        connection.close()
        raise UsageError(
            f"{login.place}: {product} quotes names with {mark or 'nothing'}, Spark's JDBC reader with {spark[0]}: "
            "it would read names as values",
            fix="read this database another way: Spark 3.5's JDBC reader cannot",
        )
    return JvmDatabase(connection, login)


def _connect(jvm: Any, login: JdbcLogin) -> Any:
    from py4j.protocol import Py4JJavaError

    _silence_derby(jvm)
    registry = jvm.org.apache.spark.sql.execution.datasources.jdbc.DriverRegistry
    try:
        registry.register(login.driver)
    except Py4JJavaError as error:
        if not str(error.java_exception.getClass().getName()).endswith("ClassNotFoundException"):
            raise
        raise UsageError(
            f"no loaded jar holds the JDBC driver {login.driver}",
            fix="list the driver's jar under jars.paths and its class as source.driver (docs/jdbc.md)",
        ) from None
    properties = jvm.java.util.Properties()
    for key, value in login.properties.items():
        properties.setProperty(key, value)
    with _translate_errors(login, connecting=True):
        connection = registry.get(login.driver).connect(login.url, properties)
    if connection is None:
        raise UsageError(
            f"{login.place}: the driver {login.driver} does not take such a URL",
            fix="correct source.url or source.driver (docs/jdbc.md lists both for each product)",
        )
    return connection


def _silence_derby(jvm: Any) -> None:
    # Derby opens derby.log in the working folder as soon as its driver is loaded; what goes wrong comes as an SQLException.
    system, key = jvm.java.lang.System, "derby.stream.error.file"
    if system.getProperty(key) is None:
        system.setProperty(key, os.devnull)


@contextmanager
def _translate_errors(login: JdbcLogin, *, connecting: bool = False) -> Iterator[None]:
    from py4j.protocol import Py4JJavaError

    try:
        yield
    except Py4JJavaError as error:
        raise _build_refusal(login, error.java_exception, connecting=connecting) from None


def _build_refusal(login: JdbcLogin, cause: Any, *, connecting: bool) -> ReconcileError:
    kind = str(cause.getClass().getSimpleName())
    state = str(cause.getSQLState() or "") if "SQL" in kind.upper() else ""
    lines = str(cause.getMessage() or kind).strip().splitlines()
    reason = redact_secrets(lines[0] if lines else kind, login.url, login.properties.get("password", ""))
    reason = redact_message(reason, state=state, kind=kind, whole="\n".join(lines))[:_REASON_CHARS]
    if state.startswith("28") or (state.startswith("08") and "authenti" in reason.lower()):
        return SourceError(
            f"{login.place}: the database refused the login: {reason}",
            fix="check source.password and source.jdbc: {user: …}, then: hudi-reconcile doctor",
        )
    shown = f"{login.place}: {reason} (SQLSTATE {state or 'none'})"
    if connecting or state.startswith("08"):
        return SourceError(
            f"cannot connect to {shown}", fix="check source.url, that the database is there, and the network"
        )
    return SourceError(shown, fix="run: hudi-reconcile doctor")


def _unless_refused(call: Any, *arguments: Any) -> Any:
    # Parts of JDBC that are optional: some drivers refuse them, old ones do not have them.
    from py4j.protocol import Py4JError

    try:
        return call(*arguments)
    except Py4JError:
        return None


def _list_rows(result: Any, names: tuple[str, ...], *, optional: tuple[str, ...] = ()) -> list[Row]:
    """The rows of a catalog's answer. What is `optional` came with later versions of JDBC, and some drivers have it not."""
    rows: list[Row] = []
    try:
        if optional:
            meta = result.getMetaData()
            labels = {str(meta.getColumnLabel(at)).upper() for at in range(1, int(meta.getColumnCount()) + 1)}
            names = (*names, *(name for name in optional if name in labels))
        while result.next():
            rows.append({name: result.getString(name) for name in names})
    finally:
        result.close()
    return rows


def _read_column(row: Row) -> Reported:
    return Reported(
        str(row["COLUMN_NAME"]),
        int(row["DATA_TYPE"] or 0),
        str(row["TYPE_NAME"]),
        _whole(row["COLUMN_SIZE"]),
        _whole(row["DECIMAL_DIGITS"]),
        row["NULLABLE"] != "0",
        str(row.get("IS_AUTOINCREMENT")).upper() == "YES",
    )


def _index(parts: list[Row]) -> DriverIndex:
    ordered = sorted(parts, key=lambda row: int(row["ORDINAL_POSITION"] or 0))
    return DriverIndex(
        tuple(str(row["COLUMN_NAME"]) for row in ordered),
        is_unique=str(ordered[0]["NON_UNIQUE"]).lower() in {"false", "0", "f"},
        is_partial=any(row["FILTER_CONDITION"] for row in ordered),
    )


def _escape_pattern(meta: Any, name: str | None) -> str | None:
    mark = str(meta.getSearchStringEscape() or "")
    if name is None or not mark:
        return name
    return "".join(mark + char if char in {"_", "%", mark} else char for char in name)


def _cell(result: Any, index: int, code: int) -> Cell:
    if code in _BYTES_CODES:
        value = result.getBytes(index)
        return None if value is None else bytes(value).hex()
    text = result.getString(index)
    is_number = code in _NUMBER_CODES or str(result.getMetaData().getColumnTypeName(index)).upper().endswith("INT")
    if text is None or not is_number:
        return None if text is None else str(text)
    number = Decimal(str(text))
    return int(number) if number == number.to_integral_value() else number


def _whole(text: str | None) -> int | None:
    return None if text is None else int(text)
