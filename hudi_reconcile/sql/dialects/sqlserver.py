"""SQL Server 2019 and later as SQL text: names, types, reads, literals, ranges, catalog queries. Sends nothing.

Written by Microsoft's documentation and rendered by tests; **not run against a server here**. Not yet behind a source URL.
"""

from __future__ import annotations

import json

from hudi_reconcile.core.kinds import CALENDAR_KINDS, Column, Kind
from hudi_reconcile.core.segments import KeyRange
from hudi_reconcile.core.window import watermark_text
from hudi_reconcile.sql import statements

NAME = "sqlserver"
JDBC_DRIVER = "com.microsoft.sqlserver.jdbc.SQLServerDriver"
MICRO_DIGITS = 6
_BIGINT_LOW, _BIGINT_HIGH = -(2**63), 2**63 - 1
_INTEGERS = {"tinyint": 32, "smallint": 32, "int": 32, "bigint": 64}  # Hudi keeps nothing smaller than an int
_MONEY = {"money": (19, 4), "smallmoney": (10, 4)}
_KINDS = {
    **dict.fromkeys(("varchar", "nvarchar", "text", "ntext", "sysname"), Kind.TEXT),
    **dict.fromkeys(("char", "nchar"), Kind.CHAR),
    **dict.fromkeys(("binary", "varbinary", "image", "timestamp", "rowversion"), Kind.BYTES),
    **dict.fromkeys(("datetime", "datetime2", "smalldatetime"), Kind.TIMESTAMP),
    **dict.fromkeys(("time", "xml", "json", "hierarchyid", "geometry", "geography"), Kind.OWN_TEXT),
    "bit": Kind.BOOLEAN, "date": Kind.DATE, "datetimeoffset": Kind.TIMESTAMPTZ, "uniqueidentifier": Kind.UUID,
    "real": Kind.REAL, "float": Kind.DOUBLE,
}  # fmt: skip
_FRACTION_DIGITS = {"datetime": 3, "smalldatetime": 0}
_READ = {
    "datetime": "cast({c} as datetime2(3))",
    "smalldatetime": "cast({c} as datetime2(0))",
    "datetimeoffset": "cast(switchoffset({c}, '+00:00') as datetime2(7))",
    "money": "cast({c} as decimal(19,4))",
    "smallmoney": "cast({c} as decimal(10,4))",
    "tinyint": "cast({c} as int)",
    "smallint": "cast({c} as int)",
    "uniqueidentifier": "lower(convert(char(36), {c}))",
    "text": "cast({c} as varchar(max))",
    "ntext": "cast({c} as nvarchar(max))",
    "image": "cast({c} as varbinary(max))",
}
# Style 126 is ISO; money without a style has two digits; binary style 2 is bare hex.
_OWN_TEXT = {
    "hierarchyid": "{c}.ToString()",
    "geometry": "{c}.ToString()",
    "geography": "{c}.ToString()",
    "money": "convert(varchar(41), cast({c} as decimal(19,4)))",
    "smallmoney": "convert(varchar(41), cast({c} as decimal(10,4)))",
    "datetime": "convert(varchar(33), cast({c} as datetime2(3)), 126)",
    "datetimeoffset": "convert(varchar(33), cast(switchoffset({c}, '+00:00') as datetime2(7)), 126) + 'Z'",
    **dict.fromkeys(("date", "datetime2", "smalldatetime", "time"), "convert(varchar(33), {c}, 126)"),
    **dict.fromkeys(("binary", "varbinary", "image", "timestamp"), "lower(convert(varchar(max), {c}, 2))"),
}


def quote(name: str) -> str:
    """An identifier, quoted. Raises ValueError for NUL."""
    if "\0" in name:
        raise ValueError("an identifier cannot hold NUL")
    return "[" + name.replace("]", "]]") + "]"


def column_of(name: str, type_name: str, digits: tuple[int, int], *, declared: str, nullable: bool) -> Column:
    """The column's kind. `type_name` is the system type's name, `digits` precision and scale, as sys.columns has them."""
    precision, scale = _MONEY.get(type_name, digits)
    if type_name in _INTEGERS:
        return Column(name, Kind.INTEGER, declared, nullable=nullable, bits=_INTEGERS[type_name], native=type_name)
    if type_name in ("decimal", "numeric", *_MONEY):
        return Column(
            name, Kind.DECIMAL, declared, nullable=nullable, precision=precision, scale=scale, native=type_name
        )
    kind = _KINDS.get(type_name, Kind.OTHER)
    why = f"type {declared} has no text that says what the value is" if kind is Kind.OTHER else ""
    fraction = _FRACTION_DIGITS.get(type_name, scale) if kind in CALENDAR_KINDS - {Kind.DATE} else None
    return Column(name, kind, declared, nullable=nullable, precision=fraction, why=why, native=type_name)


def read(column: Column) -> str:
    """The column as the JDBC driver is to read it.

    A datetime counts thirds of 10 ms and shows .003 for them; as datetime2(7) it would be .0033333. Ids are upper case.
    """
    name = quote(column.name)
    if column.kind in (Kind.OWN_TEXT, Kind.NUMBER):
        return _OWN_TEXT.get(column.native, "cast({c} as nvarchar(max))").format(c=name)
    return _READ.get(column.native, "{c}").format(c=name)


def literal(column: Column, micros: int) -> str:
    """A watermark of that column's kind: against any other type the column would be turned, and .003 be less than itself."""
    value = watermark_text(column.kind, micros)
    if column.kind is Kind.TIMESTAMPTZ:
        return f"cast('{value}' as datetimeoffset({MICRO_DIGITS}))"
    if column.native in _FRACTION_DIGITS:
        return f"cast('{value[:23]}' as datetime)"
    return f"cast('{value}' as {'date' if column.kind is Kind.DATE else f'datetime2({MICRO_DIGITS})'})"


def bytes_literal(hexed: str) -> str:
    """Bytes, of their hex digits."""
    return f"0x{hexed}"


def says(column: Column, quoted: str) -> str:
    """By the column itself, which its index serves; without N the text would lose letters to a code page."""
    return f"{read(column) if column.kind is Kind.OWN_TEXT else quote(column.name)} = N{quoted}"


def text(expression: str) -> str:
    """The expression as text; the bytes of `exact` become their text again."""
    return f"convert(nvarchar(4000), {expression})"


def exact(name: str, column: Column) -> str:
    """Text by its bytes: every collation, binary ones too, holds 'a' and 'a ' for equal."""
    if column.kind not in (Kind.TEXT, Kind.CHAR, Kind.OWN_TEXT):
        return name
    value = f"rtrim({name})" if column.kind is Kind.CHAR else name
    return f"convert(varbinary(8000), convert(nvarchar(4000), {value}))"


def limited(select: str, rows: int) -> str:
    """The select with at most that many rows."""
    return f"select top ({rows}) * from ({select}) hr_l"


def ranges_query(select: str, table: str, key: str, ranges: tuple[KeyRange, ...], predicates: tuple[str, ...]) -> str:
    """SELECT of the rows whose integer key lies in any of many ranges, each once, served by the key's index."""
    name = quote(key)
    keyed = [r for r in ranges if r.keys]
    edges = json.dumps(
        [[_BIGINT_LOW if r.low is None else r.low, _BIGINT_HIGH if r.high is None else r.high - 1] for r in keyed],
        separators=(",", ":"),
    )
    shape = "with (hr_low bigint '$[0]', hr_last bigint '$[1]')"
    inside = statements.where((*predicates, f"{name} between hr_r.hr_low and hr_r.hr_last"))
    parts = [f"select {select} from openjson('{edges}') {shape} hr_r, {table}{inside}"] if keyed else []
    if any(r.nulls for r in ranges):
        parts.append(f"select {select} from {table}{statements.where((*predicates, f'{name} is null'))}")
    return " union all ".join(parts)


def hash_predicate(columns: tuple[tuple[str, Column], ...], part: int, parts: int) -> str:
    """One of `parts` disjoint shares of the rows by a checksum of the key; as bigint, for abs() of the least int fails."""
    return f"abs(cast(checksum({', '.join(name for name, _ in columns)}) as bigint)) % {parts} = {part}"


def uncarried(column: Column) -> str | None:
    """Days before 1582-10-15, which Java's calendar moves; the seventh digit of a second."""
    if column.kind not in CALENDAR_KINDS or column.native in _FRACTION_DIGITS:
        return None  # a datetime begins at 1753
    name = quote(column.name)
    tests = [f"{name} < '1582-10-15'"]
    if column.kind is not Kind.DATE and (column.precision or 0) > MICRO_DIGITS:
        tests.append(f"{name} <> cast({name} as {column.native}({MICRO_DIGITS}))")
    return " or ".join(tests)


CLOCK_QUERY = "select sysutcdatetime() as clock_utc, cast(min_active_rowversion() as bigint) as snapshot"

# A type of the user's is told by the system type it is made of.
COLUMNS_QUERY = """
select c.name, coalesce(b.name, t.name) as type_name, c.precision, c.scale, c.is_nullable
  from sys.columns c
  join sys.types t on t.user_type_id = c.user_type_id
  left join sys.types b on b.user_type_id = t.system_type_id and t.is_user_defined = 1
 where c.object_id = object_id(:name)
 order by c.column_id
"""

# A filtered, disabled or hypothetical index proves no key.
UNIQUE_KEYS_QUERY = """
select i.index_id, i.is_primary_key, c.name, c.is_nullable
  from sys.indexes i
  join sys.index_columns k on k.object_id = i.object_id and k.index_id = i.index_id and k.is_included_column = 0
  join sys.columns c on c.object_id = k.object_id and c.column_id = k.column_id
 where i.object_id = object_id(:name) and i.is_unique = 1 and i.has_filter = 0 and i.is_disabled = 0
   and i.is_hypothetical = 0
 order by i.is_primary_key desc, i.index_id, k.key_ordinal
"""
