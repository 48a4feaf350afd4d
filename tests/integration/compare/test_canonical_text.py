"""PostgreSQL and Spark write every value as the reference does, byte for byte, and digest rows to the same numbers."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

import pytest
from psycopg import sql as psql
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from hudi_reconcile.compare.canonical_text import add_texts, collect_digests, digest_texts
from hudi_reconcile.compare.columns import ComparisonShape, name_columns
from hudi_reconcile.core.sweep.segments import HashSegments, RangeSegments, Segmentation, SegmentSet
from hudi_reconcile.core.tables import canonical_text
from hudi_reconcile.core.tables.agreement import Agreement, ComparedColumn
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.databases.postgres import digests
from hudi_reconcile.sql.digests import Digested, bucket_predicate, digest_query, parse_sums
from tests.support.postgres import Database

LEAST, GREATEST = -(2**63), 2**63 - 1
RANDOM = random.Random(20261)  # noqa: S311 - test data
EXACT = Context(prec=60)
ANSI = "spark.sql.ansi.enabled"


@dataclass(frozen=True)
class Tried:
    """A column of the test's table: its kind, its type at the source and in the lake, the agreed scale, its values."""

    name: str
    kind: Kind
    declared: str
    lake: T.DataType
    values: tuple[Any, ...]
    digits: tuple[int, int] | None = None
    scale: int | None = None
    native: str = ""

    @property
    def column(self) -> Column:
        precision = self.digits[0] if self.digits else None
        return Column(self.name, self.kind, self.declared, precision=precision, scale=self.scale, native=self.native)

    def item(self, index: int) -> ComparedColumn:
        return ComparedColumn(index, self.column, self.lake.simpleString(), self.digits)

    def text(self, value: Any) -> str | None:
        return canonical_text.render_canonical_text(self.kind, value, self.digits[1] if self.digits else 0)


def golden(kind: Kind, *more: Any) -> tuple[Any, ...]:
    return (*(one.value for one in canonical_text.FORMS[kind].golden), *more)


def decimals(precision: int, scale: int) -> tuple[Decimal, ...]:
    most = 10**precision - 1
    whole = [0, 1, -1, 7, most, -most, min(10**scale, most), *(RANDOM.randint(-most, most) for _ in range(20))]
    return tuple(Decimal(number).scaleb(-scale, EXACT) for number in whole)


def doubles() -> tuple[float, ...]:
    powers = [math.ldexp(1.0, e) for e in (*range(-1074, -1015), *range(-3, 60, 5), *range(1015, 1024))]
    beside = [near for p in powers for near in (math.nextafter(p, 0), -p, math.nextafter(p, math.inf))]
    bits = [struct.unpack(">d", struct.pack(">Q", RANDOM.getrandbits(64)))[0] for _ in range(200)]
    return (*powers, *(n for n in beside if n), *bits)


def reals() -> tuple[float, ...]:
    bits = [struct.unpack(">f", struct.pack(">I", RANDOM.getrandbits(32)))[0] for _ in range(100)]
    return (*bits, 2.0**-126, 3.4028234663852886e38, float.fromhex("0x1.99999ap-4"))


TEXTS = ("", " ", "a ", "~", "1:a", "é", "e\u0301", "中文", "😀", "\x01\t\r\n\x7f", "'\"\\`", "x" * 300, "NULL", "İ")
DAYS = (date(1582, 10, 4), date(1582, 10, 10), date(1900, 2, 28), date(2000, 2, 29), date(2026, 1, 1))
TIMES = tuple(
    datetime(year, month, 1, 23, 59, 59, micros)  # noqa: DTZ001 - wall clock
    for year, month in ((1, 1), (1500, 3), (1582, 10), (1883, 11), (1969, 12), (2024, 3), (9999, 12))
    for micros in (0, 1, 499_999, 999_999)
)
STRING = T.StringType()
TRIED = (
    Tried("small", Kind.INTEGER, "int2", T.IntegerType(), (0, 1, -1, -(2**15), 2**15 - 1)),
    Tried("big", Kind.INTEGER, "int8", T.LongType(), golden(Kind.INTEGER)),
    Tried("money", Kind.DECIMAL, "numeric(12,2)", T.DecimalType(12, 2), decimals(12, 2), (12, 2), 2),
    Tried("wider", Kind.DECIMAL, "numeric(10,1)", T.DecimalType(10, 1), decimals(10, 1), (13, 4), 1),
    Tried("tiny", Kind.DECIMAL, "numeric(38,18)", T.DecimalType(38, 18), decimals(38, 18), (38, 18), 18),
    Tried("fine", Kind.DECIMAL, "numeric(38,38)", T.DecimalType(38, 38), decimals(38, 38), (38, 38), 38),
    Tried("seven", Kind.DECIMAL, "numeric(9,7)", T.DecimalType(9, 7), decimals(9, 7), (9, 7), 7),
    Tried("whole", Kind.DECIMAL, "numeric(38,0)", T.DecimalType(38, 0), decimals(38, 0), (38, 0), 0),
    Tried("free", Kind.NUMBER, "numeric", STRING, golden(Kind.NUMBER, "0.10", "1" + "0" * 60), native="numeric"),
    Tried("flag", Kind.BOOLEAN, "bool", T.BooleanType(), (True, False)),
    Tried('odd "name`', Kind.TEXT, "text", STRING, TEXTS),
    Tried("ch", Kind.CHAR, "char(8)", STRING, ("", "ab", "ab  ", "é", "\t ")),
    Tried("day", Kind.DATE, "date", T.DateType(), golden(Kind.DATE, *DAYS)),
    Tried("ts", Kind.TIMESTAMP, "timestamp", T.TimestampNTZType(), golden(Kind.TIMESTAMP, *TIMES)),
    Tried("ltz", Kind.TIMESTAMP, "timestamp", T.TimestampNTZType(), TIMES),
    Tried("tz", Kind.TIMESTAMPTZ, "timestamptz", T.TimestampType(), tuple(t.replace(tzinfo=UTC) for t in TIMES)),
    Tried("uid", Kind.UUID, "uuid", STRING, golden(Kind.UUID)),
    Tried("raw", Kind.BYTES, "bytea", T.BinaryType(), golden(Kind.BYTES, bytes(range(256)))),
    Tried("re", Kind.REAL, "float4", T.FloatType(), golden(Kind.REAL, *reals())),
    Tried("dbl", Kind.DOUBLE, "float8", T.DoubleType(), golden(Kind.DOUBLE, *doubles())),
    Tried("own", Kind.OWN_TEXT, "jsonb", STRING, ('{"a": "é"}', "null", "[1, 2]"), native="jsonb"),
)
ITEMS = tuple(tried.item(index) for index, tried in enumerate(TRIED))
ROWS = max(len(tried.values) for tried in TRIED) + 1


def rows() -> list[tuple[Any, ...]]:
    """Every value of every column at least once, and NULLs in all but the key."""
    found = []
    for number in range(ROWS):
        row = [tried.values[number % len(tried.values)] for tried in TRIED]
        if number % 7 == 3:
            row[2 + number % (len(row) - 2)] = None
        found.append((number - ROWS // 2, *row))
    return [*found, (ROWS, *(None for _ in TRIED))]


ID = Tried("id", Kind.INTEGER, "int8", T.LongType(), ())
ID_ITEM = ID.item(len(TRIED))
DATA = rows()
TEXT_ROWS = [[tried.text(value) for tried, value in zip(TRIED, row[1:], strict=True)] for row in DATA]


@pytest.fixture
def filled(pg: Database) -> Database:
    columns = ", ".join(f"{digests.DIALECT.quote(tried.name)} {tried.declared}" for tried in TRIED)
    pg.execute(f"create table t (id int8, {columns})")
    with pg.connect() as connection, connection.cursor() as cursor:
        cursor.executemany(
            psql.SQL("insert into t values (%s, {})").format(
                psql.SQL(", ").join(
                    psql.SQL("%s::" + tried.declared.split("(")[0].replace("char", "text")) for tried in TRIED
                )
            ),
            DATA,
        )
    return pg


@contextmanager
def ansi(spark: SparkSession, on: str) -> Iterator[None]:
    was = spark.conf.get(ANSI)
    spark.conf.set(ANSI, on)
    try:
        yield
    finally:
        spark.conf.set(ANSI, was or "false")


def lake(spark: SparkSession) -> Any:
    schema = T.StructType(
        [T.StructField("id", T.LongType()), *(T.StructField(tried.name, tried.lake) for tried in TRIED)]
    )
    return spark.createDataFrame(
        [tuple(bytearray(v) if isinstance(v, bytes) else v for v in row) for row in DATA], schema
    )


def differing(found: list[list[str | None]]) -> dict[str, tuple[Any, str | None, str | None]]:
    """The first difference of each column: value, text found, text expected."""
    wrong: dict[str, tuple[Any, str | None, str | None]] = {}
    for row, texts, expected in zip(DATA, found, TEXT_ROWS, strict=True):
        for tried, value, text, right in zip(TRIED, row[1:], texts, expected, strict=True):
            if text != right:
                wrong.setdefault(tried.name, (value, text, right))
    return wrong


def test_postgres_writes_every_value_as_the_reference_does(filled: Database) -> None:
    columns = ", ".join(digests.canonical(item) for item in ITEMS)

    found = filled.query(f"select {columns} from t order by id")

    assert differing([list(row) for row in found]) == {}


@pytest.mark.parametrize("on", ["true", "false"])
def test_spark_writes_every_value_as_the_reference_does(spark: SparkSession, on: str) -> None:
    with ansi(spark, on):
        texts = add_texts(lake(spark), ITEMS, name_columns("lake", ITEMS), "id")
        found = sorted(texts.collect(), key=lambda row: int(row["id"]))

    assert differing([list(row)[1:] for row in found]) == {}


def expected(cut: Segmentation) -> tuple[canonical_text.SegmentSum, ...]:
    segments = [
        cut.find_segment(row[0])
        if isinstance(cut, RangeSegments)
        else canonical_text.choose_bucket([str(row[0])], cut.count)
        for row in DATA
    ]
    return canonical_text.sum_digests(
        (s, canonical_text.row_digest([str(row[0]), *t])) for s, row, t in zip(segments, DATA, TEXT_ROWS, strict=True)
    )


RANGES = RangeSegments("id", -300 // 37 * 37, 37, 17)
BUCKETS = HashSegments(("id",), 13)


@pytest.mark.parametrize("cut", [RANGES, BUCKETS], ids=["ranges", "buckets"])
def test_both_sides_digest_to_the_numbers_of_the_reference(
    filled: Database, spark: SparkSession, cut: Segmentation
) -> None:
    items = (ID_ITEM, *ITEMS)
    what = Digested(items, (ID_ITEM,), cut)
    shape = ComparisonShape(Agreement(items, (ID_ITEM,), (), ()), cut)

    ours = collect_digests(digest_texts(lake(spark), "lake", shape))

    assert ask(filled, what) == expected(cut)
    assert ours == expected(cut)
    assert sum(one.rows for one in ours) == len(DATA)


def ask(
    database: Database, what: Digested, segments: SegmentSet | None = None
) -> tuple[canonical_text.SegmentSum, ...]:
    sql = digest_query(digests, "t", what, segments=segments)
    names = ("hr_segment", "hr_rows", "hr_high", "hr_low")
    return parse_sums((dict(zip(names, row, strict=True)) for row in database.query(sql)), segments)


@pytest.mark.parametrize("cut", [RANGES, BUCKETS], ids=["ranges", "buckets"])
def test_some_segments_are_digested_alone_to_the_same_numbers(filled: Database, cut: Segmentation) -> None:
    some = SegmentSet.of([1, 2, 5, 11])

    found = ask(filled, Digested((ID_ITEM, *ITEMS), (ID_ITEM,), cut), some)

    assert found == tuple(one for one in expected(cut) if one.segment in some.ids)
    assert ask(filled, Digested((ID_ITEM,), (ID_ITEM,), cut), SegmentSet.of([])) == ()


def test_rows_of_some_buckets_are_found_by_predicate(filled: Database) -> None:
    some = SegmentSet.of([0, 7])

    found = filled.query(f"select id from t where {bucket_predicate(digests, (ID_ITEM,), BUCKETS.count, some)}")

    assert sorted(i for (i,) in found) == [
        r[0] for r in DATA if canonical_text.choose_bucket([str(r[0])], BUCKETS.count) in some.ids
    ]


KEYS = (LEAST, LEAST + 1, -(10**18) - 1, -38, -37, -36, -1, 0, 1, 36, 37, 38, 10**18, GREATEST - 1, GREATEST, None)
CUTS = (
    RangeSegments("id", LEAST // 10**18 * 10**18, 10**18, 20),
    RangeSegments("id", LEAST, 2**63, 2),
    RangeSegments("id", LEAST, 2**64, 1),
    RangeSegments("id", -74, 37, 4),
    RangeSegments("id", -2, 1, 4),
)


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: f"{cut.count} of {cut.width}")
def test_database_puts_far_negative_and_null_keys_into_their_segments(pg: Database, cut: RangeSegments) -> None:
    pg.execute("create table t (id int8)")
    with pg.connect() as connection:
        connection.cursor().executemany("insert into t values (%s)", [(key,) for key in KEYS])

    found = ask(pg, Digested((ID_ITEM,), (ID_ITEM,), cut))

    texts = [(cut.find_segment(key), canonical_text.row_digest([None if key is None else str(key)])) for key in KEYS]
    assert found == canonical_text.sum_digests(texts)


def test_composite_key_with_null_parts_has_the_same_buckets_on_both_sides(pg: Database, spark: SparkSession) -> None:
    key = tuple(Column(name, Kind.TEXT, "text") for name in ("a", "b"))
    items = tuple(ComparedColumn(index, column, "string") for index, column in enumerate(key))
    cut = HashSegments(("a", "b"), 64)
    data = [("x", None), (None, "x"), ("", "x"), ("x", ""), (None, None), ("a:b", "c"), ("a", "b:c"), ("é", "~")]
    pg.execute("create table t (a text, b text)")
    with pg.connect() as connection:
        connection.cursor().executemany("insert into t values (%s, %s)", data)
    frame = spark.createDataFrame(data, "a string, b string")

    ours = collect_digests(digest_texts(frame, "lake", ComparisonShape(Agreement(items, items, (), ()), cut)))

    assert ours == ask(pg, Digested(items, items, cut))
    assert ours == canonical_text.sum_digests(
        (canonical_text.choose_bucket(row, 64), canonical_text.row_digest(row)) for row in data
    )


def test_server_with_another_encoding_digests_utf8(pg: Database) -> None:
    name = f"{pg.name}_latin"
    with pg.connect(autocommit=True) as admin:
        admin.execute(f"create database {name} template template0 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'")
        try:
            latin = Database(pg.server, name)
            latin.execute("create table t (id int8, x text)", "insert into t values (1, 'naïve é'), (2, 'ÿ')")
            item = ComparedColumn(1, Column("x", Kind.TEXT, "text"), "string")

            found = ask(latin, Digested((ID_ITEM, item), (ID_ITEM,), HashSegments(("id",), 1)))
        finally:
            admin.execute(f"drop database {name} with (force)")

    assert found == canonical_text.sum_digests(
        (0, canonical_text.row_digest(row)) for row in (["1", "naïve é"], ["2", "ÿ"])
    )


def test_infinite_time_equals_nothing_that_the_lake_can_hold(pg: Database) -> None:
    pg.execute(
        "create table t (d date, ts timestamp, tz timestamptz)",
        "insert into t values ('infinity', '-infinity', 'infinity')",
    )
    kinds = {"d": Kind.DATE, "ts": Kind.TIMESTAMP, "tz": Kind.TIMESTAMPTZ}

    texts = ", ".join(digests.canonical(ComparedColumn(0, Column(name, kind, ""), "")) for name, kind in kinds.items())

    assert pg.query(f"select {texts} from t") == [("infinity", "-infinity", "infinity")]


def test_digest_reads_only_rows_that_the_table_is_limited_to(filled: Database) -> None:
    what = Digested((ID_ITEM,), (ID_ITEM,), RangeSegments("id", 0, 1, 1))

    rows_of = filled.query(digest_query(digests, "t", what, predicates=("id > 3 or id < -3", "id < 10")))

    assert sum(row[1] for row in rows_of) == sum(1 for row in DATA if abs(row[0]) > 3 and row[0] < 10)


def test_timestamp_that_the_lake_holds_with_zone_has_the_same_text(spark: SparkSession) -> None:
    item = ComparedColumn(0, Column("ts", Kind.TIMESTAMP, "timestamp"), "timestamp")
    moments = [(datetime(1969, 12, 31, tzinfo=UTC) + timedelta(microseconds=n),) for n in (0, 1, 86_399_999_999)]
    frame = spark.createDataFrame(moments, T.StructType([T.StructField("ts", T.TimestampType())]))

    texts = add_texts(frame, (item,), name_columns("lake", (item,))).collect()

    assert [row[0] for row in texts] == [
        canonical_text.render_canonical_text(Kind.TIMESTAMPTZ, moment) for (moment,) in moments
    ]


CUT = datetime(1969, 12, 31, 23, 59, 59, 123_987)  # noqa: DTZ001 - wall clock
NARROW = (1.1, -1e300, 1e-300, -7.1e-46, 7.0064923216240854e-46, 3.4028235677973362e38, 3.4028235677973366e38, -0.0)


def test_both_sides_cut_to_the_digits_on_which_they_meet(pg: Database, spark: SparkSession) -> None:
    items = (
        ComparedColumn(0, Column("n", Kind.DECIMAL, "", precision=9, scale=3), "decimal(9,1)", (9, 3), 1),
        ComparedColumn(1, Column("t", Kind.TIMESTAMP, ""), "timestamp", None, 3),
        ComparedColumn(2, Column("d", Kind.DOUBLE, ""), "float"),
    )
    data = [(Decimal("-1.299"), CUT, NARROW[0]), *((None, None, value) for value in (*NARROW, math.nan, math.inf))]
    pg.execute("create table t (n numeric(9,3), t timestamp, d float8, i serial)")
    with pg.connect() as connection:
        connection.cursor().executemany("insert into t values (%s, %s, %s)", data)
    frame = spark.createDataFrame(data, "c0 decimal(9,3), c1 timestamp_ntz, c2 double")

    ours = [tuple(row) for row in add_texts(frame, items, name_columns("source", items)).collect()]

    assert pg.query(f"select {', '.join(digests.canonical(item) for item in items)} from t order by i") == ours
    narrow = canonical_text.render_canonical_text(Kind.REAL, struct.unpack(">f", struct.pack(">f", 1.1))[0])
    assert ours[0] == ("-1.200", "-877000", narrow)
