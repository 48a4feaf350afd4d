"""Oracle 19c and later as SQL text: names, types, reads, literals, ranges, catalog queries. Sends nothing.

Written by Oracle's documentation and rendered by tests; **not run against a server here**. Not yet behind a source URL.
"""

from __future__ import annotations

import json
import re

from hudi_reconcile.core.kinds import CALENDAR_KINDS, Column, Kind
from hudi_reconcile.core.segments import KeyRange
from hudi_reconcile.core.window import watermark_text
from hudi_reconcile.sql import statements

NAME = "oracle"
JDBC_DRIVER = "oracle.jdbc.OracleDriver"
MOST_DIGITS = 38  # of a Spark and a Parquet decimal
MICRO_DIGITS = 6
POINT = "'nls_numeric_characters=''.,'''"  # a session's language may write 1,5
_LONG_BITS, _LONG_DIGITS = 64, 18
_LITERAL_RANGES = 80  # a text literal holds 4,000 bytes; two 64-bit numbers and their marks take 45
_BIGINT_LOW, _BIGINT_HIGH = -(2**63), 2**63 - 1
_SECOND_MICROS = 1_000_000
_KINDS = {
    **dict.fromkeys(("VARCHAR2", "NVARCHAR2", "CLOB", "NCLOB"), Kind.TEXT),
    **dict.fromkeys(("CHAR", "NCHAR"), Kind.CHAR),
    **dict.fromkeys(("RAW", "BLOB"), Kind.BYTES),
    **dict.fromkeys(("INTERVAL YEAR", "INTERVAL DAY", "XMLTYPE", "JSON", "ROWID", "UROWID"), Kind.OWN_TEXT),
    "DATE": Kind.TIMESTAMP, "TIMESTAMP": Kind.TIMESTAMP, "TIMESTAMP WITH TIME ZONE": Kind.TIMESTAMPTZ,
    "TIMESTAMP WITH LOCAL TIME ZONE": Kind.TIMESTAMPTZ, "BINARY_FLOAT": Kind.REAL, "BINARY_DOUBLE": Kind.DOUBLE,
    "FLOAT": Kind.NUMBER, "BOOLEAN": Kind.BOOLEAN,
}  # fmt: skip
_TEXT_FORMS = {
    "XMLTYPE": "xmlserialize(content {c} as clob)",
    "JSON": "json_serialize({c} returning clob)",
    "RAW": "lower(rawtohex({c}))",
    "DATE": "to_char({c}, 'SYYYY-MM-DD HH24:MI:SS')",
    "TIMESTAMP": "to_char({c}, 'SYYYY-MM-DD HH24:MI:SS.FF9')",
}


def quote(name: str) -> str:
    """An identifier, quoted. Raises ValueError for NUL and the double quote, which no Oracle name can hold."""
    if "\0" in name or '"' in name:
        raise ValueError("an Oracle identifier cannot hold NUL or a double quote")
    return f'"{name}"'


def column_of(
    name: str, data_type: str, digits: tuple[int | None, int | None], *, declared: str, nullable: bool
) -> Column:
    """The column's kind. `data_type` and `digits` (precision, scale) are those of ALL_TAB_COLUMNS.

    DATE has a time of day, so it is a TIMESTAMP of whole seconds. A NUMBER without precision holds any decimal.
    """
    bare = re.sub(r"\(\d+\)", "", data_type)
    if bare == "NUMBER":
        return _number(name, digits, declared=declared, nullable=nullable)
    bare = bare.replace(" TO MONTH", "").replace(" TO SECOND", "")
    kind = _KINDS.get(bare, Kind.OTHER)
    why = f"type {declared} has no text that says what the value is" if kind is Kind.OTHER else ""
    fraction = 0 if bare == "DATE" else digits[1]
    precision = fraction if kind in CALENDAR_KINDS else None
    return Column(name, kind, declared, nullable=nullable, precision=precision, why=why, native=bare)


def _number(name: str, digits: tuple[int | None, int | None], *, declared: str, nullable: bool) -> Column:
    precision, scale = digits
    if precision is None and scale == 0:  # INTEGER
        precision = MOST_DIGITS
    if precision is None or scale is None or not 0 <= scale <= precision:
        return Column(name, Kind.NUMBER, declared, nullable=nullable, native="NUMBER")
    if scale == 0 and precision <= _LONG_DIGITS:
        return Column(name, Kind.INTEGER, declared, nullable=nullable, bits=_LONG_BITS, native="NUMBER")
    return Column(name, Kind.DECIMAL, declared, nullable=nullable, precision=precision, scale=scale, native="NUMBER")


def read(column: Column) -> str:
    """The column as the JDBC driver is to read it. A zoned timestamp is read as UTC's wall clock: zones have no common text."""
    name = quote(column.name)
    if column.kind is Kind.TIMESTAMPTZ:
        return f"cast({name} at time zone 'UTC' as timestamp)"
    if column.kind is Kind.NUMBER or (column.kind is Kind.OWN_TEXT and column.native == "NUMBER"):
        return f"to_char({name}, 'TM9', {POINT})"
    return own_text(name, column.native) if column.kind is Kind.OWN_TEXT else name


def own_text(name: str, native: str) -> str:
    """The value as the database writes it, whatever the session's language."""
    if native.endswith("TIME ZONE"):
        return f"to_char(cast({name} at time zone 'UTC' as timestamp), 'SYYYY-MM-DD\"T\"HH24:MI:SS.FF9\"Z\"')"
    return _TEXT_FORMS.get(native, "to_char({c})").format(c=name)


def literal(column: Column, micros: int) -> str:
    """A watermark of that column's kind. A DATE is met by a DATE: a timestamp would turn the column and lose its index."""
    value = watermark_text(Kind.TIMESTAMP, micros).replace("T", " ")
    if column.native == "DATE" and micros % _SECOND_MICROS == 0:
        return f"to_date('{value[:19]}', 'YYYY-MM-DD HH24:MI:SS')"
    return f"timestamp '{value}{' UTC' if column.kind is Kind.TIMESTAMPTZ else ''}'"


def bytes_literal(hexed: str) -> str:
    """Bytes, of their hex digits."""
    return f"hextoraw('{hexed}')"


def says(column: Column, quoted: str) -> str:
    """By the column itself, which its index serves."""
    return f"{read(column) if column.kind is Kind.OWN_TEXT else quote(column.name)} = {quoted}"


def text(expression: str) -> str:
    """The expression as text."""
    return f"to_char({expression})"


def exact(name: str, column: Column) -> str:
    """Text by its bytes: a column or session may compare without regard to case. '' is NULL to Oracle, there is no telling."""
    return f"{name} collate binary" if column.kind in (Kind.TEXT, Kind.CHAR) else name


def limited(select: str, rows: int) -> str:
    """The select with at most that many rows."""
    return f"{select} fetch first {rows} rows only"


def ranges_query(select: str, table: str, key: str, ranges: tuple[KeyRange, ...], predicates: tuple[str, ...]) -> str:
    """SELECT of the rows whose integer key lies in any of many ranges, each once, served by the key's index.

    A join with the edges as JSON; several literals of it, because one holds 4,000 bytes.
    """
    name = quote(key)
    edges = [
        [_BIGINT_LOW if r.low is None else r.low, _BIGINT_HIGH if r.high is None else r.high - 1]
        for r in ranges
        if r.keys
    ]
    shape = "columns (hr_low number path '$[0]', hr_last number path '$[1]')"
    inside = statements.where((*predicates, f"{name} between hr_r.hr_low and hr_r.hr_last"))
    parts = [
        f"select {select} from json_table('{json.dumps(edges[start : start + _LITERAL_RANGES], separators=(',', ':'))}',"
        f" '$[*]' {shape}) hr_r, {table}{inside}"
        for start in range(0, len(edges), _LITERAL_RANGES)
    ]
    if any(r.nulls for r in ranges):
        parts.append(f"select {select} from {table}{statements.where((*predicates, f'{name} is null'))}")
    return " union all ".join(parts)


def hash_predicate(columns: tuple[tuple[str, Column], ...], part: int, parts: int) -> str:
    """One of `parts` disjoint shares of the rows by a hash of the key; the hash's second argument is its greatest value."""
    joined = " || chr(31) || ".join(f"to_char({name})" for name, _ in columns)
    return f"ora_hash({joined}, {parts - 1}) = {part}"


def uncarried(column: Column) -> str | None:
    """Days of the Julian calendar, which Oracle keeps and Spark counts otherwise; digits below microseconds."""
    if column.kind not in CALENDAR_KINDS:
        return None
    name = quote(column.name)
    tests = [f"{name} < {'date' if column.native == 'DATE' else 'timestamp'} '1582-10-15{_midnight(column)}'"]
    if (column.precision or 0) > MICRO_DIGITS:
        zone = " with time zone" if column.kind is Kind.TIMESTAMPTZ else ""
        tests.append(f"{name} <> cast({name} as timestamp({MICRO_DIGITS}){zone})")
    return " or ".join(tests)


def _midnight(column: Column) -> str:
    if column.native == "DATE":
        return ""
    return " 00:00:00 UTC" if column.kind is Kind.TIMESTAMPTZ else " 00:00:00"


CLOCK_QUERY = (
    "select sys_extract_utc(systimestamp) as clock_utc, dbms_flashback.get_system_change_number as snapshot from dual"
)

COLUMNS_QUERY = """
select column_name as name, data_type, data_precision, data_scale, nullable
  from all_tab_cols
 where owner = :owner and table_name = :name and hidden_column = 'NO'
 order by column_id
"""

# An index proves a key only where it is unique, usable and over plain columns.
UNIQUE_KEYS_QUERY = """
select i.index_name, c.column_name as name, t.nullable,
       (select max(k.constraint_type) from all_constraints k
         where k.owner = i.table_owner and k.index_name = i.index_name and k.constraint_type = 'P') as is_primary
  from all_indexes i
  join all_ind_columns c on c.index_owner = i.owner and c.index_name = i.index_name
  join all_tab_cols t on t.owner = i.table_owner and t.table_name = i.table_name and t.column_name = c.column_name
 where i.table_owner = :owner and i.table_name = :name and i.uniqueness = 'UNIQUE' and i.status <> 'UNUSABLE'
   and i.index_type = 'NORMAL'
 order by i.index_name, c.column_position
"""
