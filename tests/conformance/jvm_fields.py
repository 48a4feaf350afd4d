"""What H2, Derby and DuckDB are tried with: every type whose values travel, and how they are written as SQL."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from hudi_reconcile.core.tables.kinds import Kind
from tests.conformance.cells import (
    Field,
    binary,
    days,
    decimals,
    doubles,
    integers,
    numbers,
    reals,
    signed,
    texts,
    times,
    uuids,
)
from tests.conformance.product import Product, amounts, common, finite, own, plain, quoted


def _h2_literal(field: Field, value: Any) -> str:
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, str) and field.kind is not Kind.NUMBER:
        return quoted(value)
    return f"cast({quoted(value)} as {field.declared})"


H2 = Product(
    "H2",
    (
        Field("i1", "tinyint", Kind.INTEGER, signed(8)),
        Field("i2", "smallint", Kind.INTEGER, signed(16)),
        Field("i4", "integer", Kind.INTEGER, signed(32)),
        Field("i8", "bigint", Kind.INTEGER, signed(64)),
        *amounts(),
        Field("wider", "numeric(60,10)", Kind.NUMBER, decimals(60, 10)),
        Field("dec", "decfloat", Kind.NUMBER, numbers((("1.5", "1.6"), ("0", "-1"), ("100", "10")))),
        Field("flag", "boolean", Kind.BOOLEAN, ((True, False), (False, True))),
        *common("varchar(400)", "char(8)", "utf-8"),
        Field("long", "clob", Kind.TEXT, texts()),
        Field("day", "date", Kind.DATE, days()),
        Field("ts", "timestamp(6)", Kind.TIMESTAMP, times()),
        Field("tz", "timestamp(6) with time zone", Kind.TIMESTAMPTZ, times(zoned=True)),
        Field("uid", "uuid", Kind.UUID, uuids()),
        Field("raw", "varbinary(400)", Kind.BYTES, binary()),
        Field("lob", "blob", Kind.BYTES, binary()),
        Field("re", "real", Kind.REAL, reals()),
        Field("dbl", "double precision", Kind.DOUBLE, doubles()),
        own("nano", "timestamp(9)", ("timestamp '2024-01-01 00:00:00.123456789'", "timestamp '2024-01-01 00:00:00.123456788'")),
        own("clock", "time(9)", ("time '23:59:59.999999999'", "time '23:59:59.999999998'")),
        own("js", "json", ("json '{\"a\":1}'", "json '{\"a\":2}'"), ("json 'null'", "null")),
        own("list", "int array", ("array[1,2]", "array[12]"), ("array[null]", "array[0]")),
        own("mood", "enum('ok','bad')", ("'ok'", "'bad'")),
    ),
    _h2_literal,
)  # fmt: skip


def _derby_literal(field: Field, value: Any) -> str:
    if isinstance(value, bytes):
        return f"X'{value.hex()}'" if "lob" not in field.declared else f"cast(X'{value.hex()}' as blob)"
    if isinstance(value, datetime):
        return f"timestamp({quoted(value)})"
    if isinstance(value, float):
        return f"double('{value!r}')" if field.kind is Kind.DOUBLE else f"cast(double('{value!r}') as real)"
    if isinstance(value, date):
        return f"date({quoted(value)})"
    return quoted(value) if isinstance(value, str) else plain(value)


def _derby_day(value: date) -> bool:
    return not date(1582, 10, 4) < value < date(1582, 10, 15)


DERBY = Product(
    "Derby",
    (
        Field("i2", "smallint", Kind.INTEGER, signed(16)),
        Field("i4", "integer", Kind.INTEGER, signed(32)),
        Field("i8", "bigint", Kind.INTEGER, signed(64)),
        Field("money", "decimal(12,2)", Kind.DECIMAL, decimals(12, 2), 2),
        Field("wide", "decimal(31,10)", Kind.DECIMAL, decimals(31, 10), 10),
        Field("whole", "decimal(31,0)", Kind.DECIMAL, decimals(31, 0)),
        Field("flag", "boolean", Kind.BOOLEAN, ((True, False), (False, True))),
        *common("varchar(400)", "char(8)", "utf-8"),
        Field("day", "date", Kind.DATE, days(_derby_day)),
        Field("ts", "timestamp", Kind.TIMESTAMP, times(lambda value: _derby_day(value.date()))),
        Field("raw", "varchar(400) for bit data", Kind.BYTES, binary()),
        Field("lob", "blob", Kind.BYTES, binary()),
        Field("re", "real", Kind.REAL, reals(lambda value: finite(value) and (value == 0 or abs(value) >= 2.0**-126))),
        Field("dbl", "double", Kind.DOUBLE, doubles(lambda value: finite(value) and (value == 0 or abs(value) >= 2.0**-1022))),
        own("clock", "time", ("time('23:59:59')", "time('23:59:58')")),
    ),
    _derby_literal,
)  # fmt: skip


def _duck_literal(field: Field, value: Any) -> str:
    if isinstance(value, bytes):
        return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::blob"
    return quoted(value) if field.kind is Kind.TEXT else f"{quoted(value)}::{field.declared}"


DUCKDB = Product(
    "DuckDB",
    (
        Field("i1", "tinyint", Kind.INTEGER, signed(8)),
        Field("i4", "integer", Kind.INTEGER, signed(32)),
        Field("i8", "bigint", Kind.INTEGER, signed(64)),
        Field("u4", "uinteger", Kind.INTEGER, integers(0, 2**32 - 1)),
        Field("u8", "ubigint", Kind.NUMBER, integers(0, 2**64 - 1)),
        Field("huge", "hugeint", Kind.NUMBER, integers(-(2**127) + 1, 2**127 - 1)),
        *amounts(),
        Field("flag", "boolean", Kind.BOOLEAN, ((True, False), (False, True))),
        Field("txt", "varchar", Kind.TEXT, texts()),
        Field("day", "date", Kind.DATE, days()),
        Field("ts", "timestamp", Kind.TIMESTAMP, times()),
        Field("tz", "timestamptz", Kind.TIMESTAMPTZ, times(zoned=True)),
        Field("uid", "uuid", Kind.UUID, uuids()),
        Field("raw", "blob", Kind.BYTES, binary()),
        Field("re", "real", Kind.REAL, reals()),
        Field("dbl", "double", Kind.DOUBLE, doubles()),
        own("nano", "timestamp_ns", ("'2024-01-01 00:00:00.123456789'", "'2024-01-01 00:00:00.123456788'")),
        own("clock", "time", ("'23:59:59.999999'", "'23:59:59.999998'")),
        own("span", "interval", ("'1 month'", "'30 days'"), ("'1 day'", "'24 hours'")),
        own("list", "varchar[]", ("['a,b']", "['a','b']"), ("[null]", "['NULL']")),
        own("bits", "bit", ("'1'::bit", "'10'::bit")),
    ),
    _duck_literal,
)  # fmt: skip
