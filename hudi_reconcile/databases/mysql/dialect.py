"""MySQL 8 and MariaDB 10.6 or later as SQL text: names, types, literals, the catalog, the safe bound. Sends nothing.

Type facts: `information_schema.columns`, and what MariaDB Connector/J and Spark 3.5 make of each type (docs/mysql.md).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hudi_reconcile.core.pull.cursor import watermark_text
from hudi_reconcile.core.sweep.segments import KeyRange
from hudi_reconcile.core.tables.kinds import CALENDAR_KINDS, Column, Kind
from hudi_reconcile.core.tables.values import choose_replica_bound
from hudi_reconcile.sql import reads

NAME = "mysql"
RANGES_AT_ONCE = 1_000
MODULO: str | None = "mod({a}, {b})"
MOST_DIGITS = 38  # of a Spark and a Parquet decimal
# What a role without PROCESS gets: other sessions' transactions are not shown to it.
BLIND_DELAY_MICROS = 5_000_000
PREPARED_AGE_MICROS = 15 * 60 * 1_000_000
SLACK_MICROS = 2_000_000
_UNSIGNED_DIGITS = 20
_BIGINT_LOW, _BIGINT_HIGH = -(2**63), 2**63 - 1
_LONG_BITS = 64
_INTEGERS = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint", "year"})
_GEOMETRIES = frozenset(
    {"geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
     "geometrycollection", "geomcollection"}
)  # fmt: skip
_BINARY = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"})
_PLAIN_KINDS = {
    **dict.fromkeys(_INTEGERS, Kind.INTEGER),
    **dict.fromkeys(("varchar", "tinytext", "text", "mediumtext", "longtext"), Kind.TEXT),
    **dict.fromkeys(_BINARY, Kind.BYTES),
    **dict.fromkeys(("time", "enum", "set", "json", "bit", "inet4", "inet6", "vector", *_GEOMETRIES), Kind.OWN_TEXT),
    "char": Kind.CHAR,
    "date": Kind.DATE,
    "datetime": Kind.TIMESTAMP,
    "timestamp": Kind.TIMESTAMPTZ,
    "uuid": Kind.UUID,
    "float": Kind.REAL,
    "double": Kind.DOUBLE,
}
# The server writes `?` for a character without a place in Unicode. latin1 is cp1252, each of whose 256 bytes has one.
_WHOLE_SETS = frozenset({"utf8mb4", "utf8mb3", "utf8", "utf16", "utf16le", "utf32", "ucs2", "latin1", "binary"})
_OWN_TEXT = {
    "datetime": "date_format({c}, '%Y-%m-%dT%H:%i:%s.%f')",
    "timestamp": "date_format({c}, '%Y-%m-%dT%H:%i:%s.%fZ')",
    **dict.fromkeys((*_BINARY, *_GEOMETRIES, "vector"), "lower(hex({c}))"),
    **dict.fromkeys(_INTEGERS, "cast({c} + 0 as char)"),  # without the zeros of zerofill
    "double": "cast({c} + 0e0 as char)",  # a key: -0 and 0, one value of a unique index, have one text
}
# A double's text names its value (docs/adr/0033-doubles-are-keys-by-their-text.md); a float's has six digits only.
KEY_TEXTS = frozenset({Kind.DOUBLE})


def quote(name: str) -> str:
    """An identifier in backticks, which mean the same in every sql_mode. Raises ValueError for NUL."""
    if "\0" in name:
        raise ValueError("an identifier cannot hold NUL")
    return "`" + name.replace("`", "``") + "`"


def split_name(text: str) -> tuple[str | None, str]:
    """Schema, if given, and table of a name as SQL writes it. Raises ValueError where it is none.

    >>> split_name("shop.`Order Items`")
    ('shop', 'Order Items')
    """
    parts, rest = [], text.strip()
    while True:
        if rest.startswith("`"):
            end = 1
            while (end := rest.index("`", end)) + 1 < len(rest) and rest[end + 1] == "`":
                end += 2
            part, rest = rest[1:end].replace("``", "`"), rest[end + 1 :].strip()
        else:
            part, dot, after = rest.partition(".")
            part, rest = part.strip(), dot + after
            if not part.replace("$", "_").replace("-", "_").isidentifier() and not part.isalnum():
                raise ValueError("not a name")
        parts.append(part)
        if not rest:
            break
        if not rest.startswith("."):
            raise ValueError("not a name")
        rest = rest[1:].strip()
    if len(parts) > 2 or not all(parts):  # noqa: PLR2004 - a schema and a table
        raise ValueError("not a name")
    return (parts[0] if len(parts) == 2 else None), parts[-1]  # noqa: PLR2004 - as above


def classify_column(
    name: str, data_type: str, declared: str, *, nullable: bool, precision: int | None = None,
    scale: int | None = None, fraction: int | None = None, charset: str | None = None,
) -> Column:  # fmt: skip
    """The column's kind by the row of `information_schema.columns`. bigint unsigned is a decimal of 20 digits.

    OTHER, with the reason, where nobody has measured how the type's values travel.
    """
    if data_type == "decimal" or (data_type == "bigint" and "unsigned" in declared):
        digits, places = (precision or 0, scale or 0) if data_type == "decimal" else (_UNSIGNED_DIGITS, 0)
        if digits > MOST_DIGITS:
            return Column(name, Kind.NUMBER, declared, nullable=nullable, native=data_type)
        return Column(name, Kind.DECIMAL, declared, nullable=nullable, precision=digits, scale=places, native=data_type)
    if data_type == "bit":
        kind = Kind.BOOLEAN if precision == 1 else Kind.OWN_TEXT
        return Column(name, kind, declared, nullable=nullable, precision=precision, native=data_type)
    kind = _PLAIN_KINDS.get(data_type, Kind.OTHER)
    if kind is Kind.OTHER:
        why = f"it is not known how values of type {declared} travel"
        return Column(name, Kind.OTHER, declared, nullable=nullable, why=why, native=data_type)
    is_long = data_type == "bigint" or (data_type == "int" and "unsigned" in declared)
    bits = (_LONG_BITS if is_long else 32) if kind is Kind.INTEGER else None
    digits_after = fraction or 0 if kind in CALENDAR_KINDS and kind is not Kind.DATE else None
    column = Column(name, kind, declared, nullable=nullable, precision=digits_after, bits=bits, native=data_type)
    return note_charset(column, charset)


def note_charset(column: Column, charset: str | None) -> Column:
    """The column, with its character set where Unicode does not hold all of it."""
    return replace(column, charset="" if charset is None or charset in _WHOLE_SETS else charset)


def charsets_query(relation: str, names: Sequence[str]) -> str:
    """The character sets of columns of a query, in one row that is there where the query has none."""
    charsets = ", ".join(f"charset(hr_q.{quote(name)}) as hr_{place}" for place, name in enumerate(names))
    return f"select {charsets} from (select 1 as hr_n) hr_n left join (select * from {relation} limit 0) hr_q on 1 = 1"


def read(column: Column) -> str:
    """The column as the JDBC driver is to read it.

    Calendar values come as ISO text, which Spark's reader cannot shift: the driver moves all days before 1582-10-15. A float
    as double, since its own text has six digits only.
    """
    name = quote(column.name)
    if column.kind in (Kind.TEXT, Kind.CHAR):
        return f"convert({name} using utf8mb4)"
    if column.kind is Kind.REAL:
        return f"{name} + 0e0"
    if column.kind is Kind.OWN_TEXT:
        return _own_text(name, column)
    if column.native == "year":
        return f"cast({name} as signed)"
    as_char = column.kind in CALENDAR_KINDS or column.kind in (Kind.NUMBER, Kind.UUID, Kind.OTHER)
    return f"cast({name} as char)" if as_char else name


def _own_text(name: str, column: Column) -> str:
    if column.native == "bit":
        if column.precision is None:  # the twin of a boolean
            return f"case when {name} then 'true' when not {name} then 'false' end"
        return f"lpad(bin({name} + 0), {column.precision}, '0')"
    return _OWN_TEXT.get(column.native, "cast({c} as char)").format(c=name)


def bytes_literal(hexed: str) -> str:
    """Bytes, of their hex digits."""
    return f"x'{hexed}'"


def says(column: Column, quoted: str) -> str:
    """By the column itself, which its index serves, whatever its collation holds for equal."""
    return f"{read(column) if column.kind is Kind.OWN_TEXT else quote(column.name)} = {quoted}"


def text(expression: str) -> str:
    """The expression as text."""
    return f"convert({expression} using utf8mb4)"


def exact(name: str, column: Column) -> str:
    """By bytes: under most collations 'A' = 'a', and 'a' = 'a ' even under the binary ones."""
    if column.kind in (Kind.TEXT, Kind.CHAR):
        return f"cast(convert({name} using utf8mb4) as binary)"
    if column.kind is Kind.BYTES:
        return f"lower(hex({name}))"
    if column.kind is not Kind.OWN_TEXT:
        return name
    text = _own_text(name, column) if column.native == "double" else f"cast({name} as char)"
    return f"cast({text} as binary)"


def limit_rows(select: str, rows: int) -> str:
    """The select with at most that many rows."""
    return f"{select} limit {rows}"


def ranges_query(select: str, table: str, key: str, ranges: tuple[KeyRange, ...], predicates: tuple[str, ...]) -> str:
    """SELECT of the rows whose integer key lies in any of many ranges, each once, served by the key's index.

    The edges are joined first (`straight_join`), so that each looks into the index: 0.07 s for 1,000 and 0.8 s for 10,000
    of 1,000,000 rows; OR-ed ranges use the index too, but test each row against all of them: 0.44 s and 42 s.
    """
    name = quote(key)
    keyed = [r for r in ranges if r.keys]
    edges = json.dumps(
        [
            [_BIGINT_LOW if r.low is None else r.low, _BIGINT_HIGH if r.high is None else r.high - 1]
            for r in keyed
        ],
        separators=(",", ":"),
    )  # fmt: skip
    columns = "columns (hr_low bigint path '$[0]', hr_last bigint path '$[1]')"
    inside = reads.where_clause((*predicates, f"{name} between hr_r.hr_low and hr_r.hr_last"))
    joined = f"select {select} from json_table('{edges}', '$[*]' {columns}) hr_r straight_join {table}{inside}"
    parts = [joined] if keyed else []
    if any(r.nulls for r in ranges):
        parts.append(f"select {select} from {table}{reads.where_clause((*predicates, f'{name} is null'))}")
    return " union all ".join(parts)


def hash_predicate(columns: tuple[tuple[str, Column], ...], part: int, parts: int) -> str:
    """One of `parts` disjoint shares of the rows by a hash of the key's bytes; NULL parts hash like the empty text."""
    shares = ", ".join(f"coalesce(length({name}), 0), coalesce(cast({name} as binary), '')" for name, _ in columns)
    return f"crc32(concat_ws(',', {shares})) % {parts} = {part}"


def literal(column: Column, micros: int) -> str:
    """A watermark of that column's kind; our sessions are in UTC."""
    clock_text = watermark_text(column.kind, micros).replace("T", " ").removesuffix("Z")
    return f"{'date' if column.kind is Kind.DATE else 'timestamp'} '{clock_text}'"


def find_altered(column: Column) -> str | None:
    """Calendar values that are no day (0000-00-00, 2024-02-31, the year 0), and texts with characters that become `?`."""
    name = quote(column.name)
    if column.charset:
        return f"char_length(replace({text(name)}, '?', '')) <> char_length(replace({name}, '?', ''))"
    if column.kind not in CALENDAR_KINDS:
        return None
    return f"not ({name} + interval 0 day <=> {name}) or {name} < date '0001-01-01'"


# Every session of ours, whatever the server's defaults: read only, UTC, no mode that changes what SQL means. MariaDB runs
# what stands in /*M! */, MySQL what stands in /*!80000 */. A slow or busy reader is not cut off. Rows that were never
# committed are not read, even where the server's default would.
_MODE = "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION"
_SESSION = (
    f"set session time_zone = '+00:00', sql_mode = '{_MODE}', net_write_timeout = 3600,"
    " wait_timeout = 28800, lock_wait_timeout = 10, sql_select_limit = 18446744073709551615"
    " /*M!, tx_read_only = 1, tx_isolation = 'READ-COMMITTED' */"
    " /*!80000 , transaction_read_only = 1, transaction_isolation = 'READ-COMMITTED' */"
)


def session(statement_timeout_seconds: float | None = None) -> str:
    """The first statement of every session. A limit counts for each statement, the sending of its rows included."""
    if statement_timeout_seconds is None:
        return _SESSION
    millis = max(int(statement_timeout_seconds * 1000), 1)
    return f"{_SESSION} /*M!, max_statement_time = {millis / 1000:.3f} */ /*!80000 , max_execution_time = {millis} */"


# True where a session has what `session` set, an error where not. A function that a view calls may set other values for a
# session, which no rollback takes back.
PROOF = (
    f"(select case when @@session.time_zone = '+00:00' and @@session.sql_mode = '{_MODE}'"
    " /*M! and @@session.tx_read_only */ /*!80000 and @@session.transaction_read_only */"
    " then 1 else (select 1 union all select 2) end) = 1"
)


def begin(statement_timeout_seconds: float) -> tuple[str, ...]:
    """What opens each transaction: the session's settings once more, and that it only reads, which nothing inside can undo."""
    return session(statement_timeout_seconds), "start transaction read only"


_CLOCK = "timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))"
# A server that takes no writes but the replication's own; MariaDB 12 spells more than on and off.
IS_REPLICA = "(cast(@@global.read_only as char) not in ('0', 'OFF') or @@global.innodb_read_only)"
CLOCK_QUERY = f"select {_CLOCK} as clock_micros, {IS_REPLICA} as is_replica"
# With PROCESS only. `trx_started` is in the server machine's zone and in whole seconds; in the hour that a zone has twice,
# the earlier reading is taken. A prepared XA transaction that outlived a restart belongs to no session and is dated by the
# restart. A statement that still waits for a lock has read its clock and has no transaction yet; those are asked for first, so
# that none can go from the second list to the first unseen.
MOMENT_QUERY = f"""
select {_CLOCK} as clock_micros, {IS_REPLICA} as is_replica,
       (select max(time) from information_schema.processlist
         where id <> connection_id() and command in ('Query', 'Execute', 'Bulk_execute', 'Long Data')) as running_seconds,
       (select min(timestampdiff(microsecond, '1970-01-01', if(convert_tz(u - interval 1 hour, '+00:00', 'SYSTEM') = x,
                                                              u - interval 1 hour, u)) - if(is_left, {PREPARED_AGE_MICROS}, 0))
          from (select trx_started as x, convert_tz(trx_started, 'SYSTEM', '+00:00') as u, trx_mysql_thread_id = 0 as is_left
                  from information_schema.innodb_trx where trx_mysql_thread_id <> connection_id()) hr_t) as oldest_micros
"""

# Of a server whose rows other servers commit too, beside it: nodes of Galera, and primaries of a group that has several.
PEERS_QUERY = "show global variables where variable_name in ('wsrep_on', 'group_replication_single_primary_mode')"
LOAD_QUERY = "show global status like 'Threads_running'"


def has_peers(variables: Mapping[str, str]) -> bool:
    """Whether other servers commit rows of their own here, by `PEERS_QUERY`.

    >>> has_peers({"wsrep_on": "ON"}), has_peers({"group_replication_single_primary_mode": "ON", "wsrep_on": "OFF"})
    (True, False)
    """
    return variables.get("wsrep_on") == "ON" or variables.get("group_replication_single_primary_mode") == "OFF"


def bound(
    clock: int, oldest: int | None, running_seconds: int | None, *, sees_all: bool, is_replica: bool = False
) -> tuple[int, str]:
    """The safe upper bound in UTC microseconds, and in words how it was found.

    What a replica is still applying, or a privileged user writes there, is open work like any other. Statements are not asked
    of it: the thread that waits for the primary looks like one.
    """
    if is_replica:
        return min(choose_replica_bound(clock, None), bound(clock, oldest, None, sees_all=sees_all))
    if not sees_all:
        return clock - BLIND_DELAY_MICROS, (
            "database clock minus 5 s: this user cannot see other sessions' transactions; "
            "GRANT PROCESS to it for an exact bound"
        )
    limits = [(clock - SLACK_MICROS, "database clock minus 2 s")]
    if running_seconds is not None:
        begun = clock - (running_seconds + 1) * 1_000_000  # the server counts whole seconds
        limits.append((begun - SLACK_MICROS, "start of the oldest running statement minus 2 s"))
    if oldest is not None:
        limits.append((oldest - SLACK_MICROS, "start of the oldest open transaction minus 2 s"))
    return min(limits)


def estimate_query(table: str, predicates: tuple[str, ...]) -> str:
    """The planner's own estimate; the greatest `rows` of its lines counts."""
    return f"explain select 1 from {table}{reads.where_clause(predicates)}"


# The catalog finds names in any case, by its index; two tables that differ by case are told apart by bytes.
TABLE_QUERY = """
select table_schema as schema_name, table_name as name, table_type as type, engine as engine
  from information_schema.tables
 where table_schema = coalesce(:schema, database()) and table_name = :name
 order by binary table_name = :name desc
"""

COLUMNS_QUERY = """
select column_name as name, data_type as data_type, column_type as declared, is_nullable = 'YES' as nullable,
       numeric_precision as digits, numeric_scale as scale, datetime_precision as fraction, character_set_name as charset
  from information_schema.columns
 where table_schema = :schema and table_name = :name and binary table_schema = :schema and binary table_name = :name
 order by ordinal_position
"""

# A unique prefix of a column makes the column unique too; an index over an expression (no column name) proves nothing.
INDEXES_QUERY = """
select index_name as name, non_unique = 0 as is_unique, column_name as column_name, nullable = 'YES' as nullable,
       seq_in_index as position, sub_part is null as is_whole
  from information_schema.statistics
 where table_schema = :schema and table_name = :name and binary table_schema = :schema and binary table_name = :name
 order by index_name = 'PRIMARY' desc, index_name, seq_in_index
"""

STATISTICS_QUERY = """
select avg_row_length as row_bytes from information_schema.tables
 where table_schema = :schema and table_name = :name and binary table_schema = :schema and binary table_name = :name
"""


# Of all channels: the first is MariaDB's, the second MySQL's, the third that of MySQL before 8.0.22.
QUERIES = ("show all slaves status", "show replica status", "show slave status")
_UNTOLD = "how far this replica lags is not known: "


@dataclass(frozen=True, slots=True)
class Replication:
    """`replayed_micros`: when it was last as its primary (UTC), None where it has caught up or does not tell.

    `stopped` says why it gets nothing any more, `untold` why nothing is known; both empty else.
    """

    replayed_micros: int | None = None
    stopped: str = ""
    untold: str = ""


NONE = Replication()


def replication(clock_micros: int, channels: Sequence[Mapping[str, Any]] | None) -> Replication:
    """The slowest channel counts, and one that has stopped most. `channels` is None where the user may not ask.

    >>> replication(9_000_000, [{"Seconds_Behind_Master": 2}, {"Seconds_Behind_Source": 0}]).replayed_micros
    6000000
    """
    if channels is None:
        return Replication(untold=f"{_UNTOLD}GRANT REPLICATION CLIENT (MariaDB: SLAVE MONITOR) ON *.* to the user")
    if not channels:
        return Replication(untold=f"{_UNTOLD}it tells of no replication")
    slowest = 0
    for channel in channels:
        status = {str(name).lower(): value for name, value in channel.items()}
        lag = status.get("seconds_behind_source", status.get("seconds_behind_master"))
        if lag is None:
            running = [
                status.get(f"replica_{thread}_running", status.get(f"slave_{thread}_running"))
                for thread in ("io", "sql")
            ]
            return Replication(
                stopped=f"replication into this replica has stopped (receives: {running[0]}, applies: {running[1]}): what it "
                "lacks is not known"
            )
        slowest = max(slowest, int(lag))
    # Whole seconds are told.
    return Replication(clock_micros - (slowest + 1) * 1_000_000) if slowest else NONE


# All tables of some schemas at once, for a proposal. `privileges` are what this user may do with a column, by whatever grant.
_SURVEYS = {
    "tables": """
select t.table_schema as schema_name, t.table_name as name, t.table_type as type, t.table_rows as row_count,
       t.table_schema = database() as is_own,
       (select max(p.partition_expression) from information_schema.partitions p
         where p.table_schema = t.table_schema and p.table_name = t.table_name
           and p.partition_method in ('RANGE', 'RANGE COLUMNS') and p.subpartition_method is null) as ranged
  from information_schema.tables t where {schemas} order by t.table_schema, t.table_name
""",
    "columns": """
select table_schema as schema_name, table_name as table_name, column_name as name, data_type as data_type,
       column_type as declared, is_nullable = 'YES' as nullable, numeric_precision as digits, numeric_scale as scale,
       datetime_precision as fraction, lower(extra) as extra, lower(column_default) as fallback, privileges as privileges
  from information_schema.columns t where {schemas} order by table_schema, table_name, ordinal_position
""",
    "indexes": """
select table_schema as schema_name, table_name as table_name, index_name as name, non_unique = 0 as is_unique,
       column_name as column_name, nullable = 'YES' as nullable, seq_in_index as position, sub_part is null as is_whole
  from information_schema.statistics t where {schemas}
 order by table_schema, table_name, index_name = 'PRIMARY' desc, index_name, seq_in_index
""",
}


def survey_query(what: str, schemas: tuple[str, ...]) -> str:
    """What the catalog tells of every table of some schemas, of the connection's own where none is named.

    `what` is one of `tables`, `columns`, `indexes`.
    """
    named = ", ".join(f"convert(x'{name.encode().hex()}' using utf8mb4)" for name in schemas)
    return _SURVEYS[what].format(schemas=f"t.table_schema in ({named})" if schemas else "t.table_schema = database()")
