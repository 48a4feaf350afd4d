"""What PostgreSQL and MariaDB are tried with: every type whose values travel, and how they are written as SQL."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
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
    padded,
    reals,
    signed,
    texts,
    times,
    uuids,
)
from tests.conformance.product import Product, amounts, common, finite, own, plain, quoted

_NUMBER_TEXTS = (("1.10", "1.11"), ("0", "0.00000000000000000000000000000000000000001"), ("-0.0", "-0.1"),
                 ("1" + "0" * 60, "1" + "0" * 59 + "1"), ("12.50", "-12.5"), ("100", "10"))  # fmt: skip


def _postgres_literal(field: Field, value: Any) -> str:
    return f"'\\x{value.hex()}'::bytea" if isinstance(value, bytes) else f"{quoted(value)}::{field.declared}"


POSTGRES = Product(
    "PostgreSQL",
    (
        Field("i2", "smallint", Kind.INTEGER, signed(16)),
        Field("i4", "integer", Kind.INTEGER, signed(32)),
        Field("i8", "bigint", Kind.INTEGER, signed(64)),
        *amounts(),
        Field("fine", "numeric(38,38)", Kind.DECIMAL, decimals(38, 38), 38),
        Field("free", "numeric", Kind.NUMBER, numbers((*_NUMBER_TEXTS, ("NaN", "Infinity"), ("Infinity", "-Infinity")))),
        Field("flag", "boolean", Kind.BOOLEAN, ((True, False), (False, True))),
        *common("text", "char(8)", "utf-8"),
        Field("day", "date", Kind.DATE, days()),
        Field("ts", "timestamp", Kind.TIMESTAMP, times()),
        Field("tz", "timestamptz", Kind.TIMESTAMPTZ, times(zoned=True)),
        Field("uid", "uuid", Kind.UUID, uuids()),
        Field("raw", "bytea", Kind.BYTES, binary()),
        Field("re", "real", Kind.REAL, reals()),
        Field("dbl", "double precision", Kind.DOUBLE, doubles()),
        own("odd", "date", ("'infinity'", "'-infinity'"), ("'0044-03-15 BC'", "'0044-03-16 BC'"), ("'12026-01-01'", "null")),
        own("js", "json", ("'{\"a\": 1}'", "'{\"a\":1}'"), ("'null'", "null"), ("'[1, 2]'", "'[2, 1]'")),
        own("jb", "jsonb", ("'{\"a\": 1}'", "'{\"a\": 1.0}'"), ("'null'", "null"), ("'[\"é\"]'", "'[\"e\"]'")),
        own("span", "interval", ("'1 month'", "'30 days'"), ("'1 day'", "'24 hours'"), ("'0.000001 s'", "'0.000002 s'")),
        own("clock", "time", ("'24:00'", "'00:00'"), ("'12:00:00.000001'", "'12:00:00.000002'")),
        own("zoned", "timetz", ("'12:00+02'", "'13:00+03'")),
        own("list", "text[]", ("array['a,b']", "array['a','b']"), ("array[null]::text[]", "array['NULL']"), ("'{}'", "null")),
        own("bits", "varbit", ("B'1'", "B'10'"), ("B''", "B'0'")),
        own("net", "inet", ("'10.0.0.1/8'", "'10.0.0.1/9'"), ("'::1'", "'::2'")),
        own("span8", "int8range", ("'[1,2)'", "'[1,3)'"), ("'empty'", "'(,)'")),
    ),
    _postgres_literal,
    text="text",
    modes=("stream", "pushdown"),
    nameless=("regclass", "regrole", "refcursor"),
)  # fmt: skip
# Before version 14 a numeric holds no infinity.
POSTGRES_13 = replace(
    POSTGRES,
    fields=tuple(
        replace(field, steps=numbers(_NUMBER_TEXTS)) if field.name == "free" else field for field in POSTGRES.fields
    ),
)
POSTGRES_LATIN1 = Product(
    "PostgreSQL, LATIN1",
    (
        *common("text", "char(8)", "latin-1"),
        Field("code", "varchar(400)", Kind.TEXT, texts(("ÿ", "naïve é", "«»", "ÀÉ"), holds="latin-1")),
        own("js", "json", ('\'{"a": "é"}\'', '\'{"a": "è"}\'')),
    ),
    _postgres_literal,
    text="text",
    latin="latin-1",
    modes=("stream", "pushdown"),
)


def _maria_literal(field: Field, value: Any) -> str:
    if isinstance(value, bool):
        return f"b'{int(value)}'"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if field.kind in (Kind.TEXT, Kind.CHAR):
        return f"convert(x'{value.encode().hex()}' using utf8mb4)"
    if isinstance(value, float):
        return repr(value) if "e" in repr(value) else f"{value!r}e0"
    return f"'{plain(value).removesuffix('+00:00')}'" if isinstance(value, (datetime, date, str)) else plain(value)


def _in_unix_time(value: datetime) -> bool:
    return datetime(1970, 1, 1, 0, 0, 1) <= value <= datetime(2038, 1, 19)  # noqa: DTZ001 - what MariaDB's timestamp holds


MARIADB = Product(
    "MariaDB",
    (
        Field("i1", "tinyint", Kind.INTEGER, signed(8)),
        Field("one", "tinyint(1)", Kind.INTEGER, ((0, 1), (1, 2), (2, -1))),
        Field("i3", "mediumint", Kind.INTEGER, signed(24)),
        Field("i4", "int", Kind.INTEGER, signed(32)),
        Field("i8", "bigint", Kind.INTEGER, signed(64)),
        Field("u4", "int unsigned", Kind.INTEGER, integers(0, 2**32 - 1)),
        Field("z4", "int(8) zerofill", Kind.INTEGER, integers(0, 2**32 - 1)),
        Field("u8", "bigint unsigned", Kind.DECIMAL, integers(0, 2**64 - 1)),
        Field("y", "year", Kind.INTEGER, ((1901, 1902), (2155, 2154), (0, 2000))),
        *amounts(),
        Field("fine", "decimal(38,38)", Kind.DECIMAL, decimals(38, 38), 38),
        Field("z12", "decimal(12,2) zerofill", Kind.DECIMAL, decimals(12, 2, unsigned=True), 2),
        Field("wide", "decimal(65,10)", Kind.NUMBER, (*decimals(65, 10), *decimals(12, 2))),
        Field("wide0", "decimal(65,0)", Kind.NUMBER, decimals(65, 0)),
        Field("wide30", "decimal(65,30)", Kind.NUMBER, decimals(65, 30)),
        Field("flag", "bit(1)", Kind.BOOLEAN, ((True, False), (False, True))),
        *common("varchar(400)", "char(8)", "utf-8"),
        Field("latin", "varchar(400) character set latin1", Kind.TEXT, texts(holds="latin-1")),
        Field("latin_ci", "text character set latin1 collate latin1_german2_ci", Kind.TEXT,
              texts(("ß", "SS", "ä", "ae"), holds="latin-1")),
        Field("utf16", "varchar(400) character set utf16", Kind.TEXT, texts()),
        Field("sjis", "varchar(400) character set sjis", Kind.TEXT, texts(("日本", "ｱ", "a", "", "~"), holds="shift_jis")),
        Field("ai", "varchar(400) collate utf8mb4_unicode_520_ci", Kind.TEXT, (*texts(), ("a\0b", "a"), ("\0", ""))),
        Field("lch", "char(8) character set latin1", Kind.CHAR, padded("latin-1")),
        Field("day", "date", Kind.DATE, days()),
        Field("ts", "datetime(6)", Kind.TIMESTAMP, times()),
        Field("secs", "datetime", Kind.TIMESTAMP, times(step=timedelta(seconds=1))),
        Field("tz", "timestamp(6) null", Kind.TIMESTAMPTZ, times(_in_unix_time, zoned=True)),
        Field("uid", "uuid", Kind.UUID, uuids()),
        Field("raw", "varbinary(400)", Kind.BYTES, binary()),
        Field("lob", "blob", Kind.BYTES, binary()),
        Field("re", "float", Kind.REAL, reals(finite)),
        Field("dbl", "double", Kind.DOUBLE, doubles(finite)),
        own("clock", "time(6)", ("'-838:59:59'", "'838:59:59'"), ("'-00:00:00.000001'", "'00:00:00.000001'"), ("'0'", "null")),
        own("mood", "enum('ok','Ök','a b') character set latin1", ("'ok'", "'Ök'"), ("'a b'", "null")),
        own("some", "set('a','b','a b')", ("'a,b'", "'a b'"), ("''", "null")),
        own("js", "json", ("'{\"a\": 1}'", "'{\"a\":1}'"), ("'null'", "null"), ("'[\"é\"]'", "'[\"e\"]'")),
        own("net", "inet6", ("'::1'", "'::2'")),
        own("bits", "bit(10)", ("b'0000000001'", "b'1000000001'"), ("b'0'", "null")),
        own("spot", "point", ("point(1,2)", "point(2,1)")),
    ),
    _maria_literal,
    quote="`",
    modes=("stream", "pushdown"),
)  # fmt: skip
