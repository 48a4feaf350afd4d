"""Reads in parts of databases that tell no statistics, on real H2, Derby and DuckDB: even on skewed keys, every row once."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.core.errors import SourceError
from hudi_reconcile.core.pull.read_plan import Limits, ReadPlan
from hudi_reconcile.core.sweep.segments import HashSegments, RangeSegments, SegmentSet
from hudi_reconcile.core.tables.canonical_text import choose_bucket, render_canonical_text
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.databases.base import TableRequest
from hudi_reconcile.databases.jdbc.engine import JdbcEngine, JdbcSource
from hudi_reconcile.source.reads import JdbcRead, RowRequest, plan_read, read
from hudi_reconcile.source.table_source import TableSource
from hudi_reconcile.spark import jdbc_catalog
from hudi_reconcile.spark.jdbc_catalog import open_database
from tests.support.jdbc import JdbcDatabase, add_drivers

log = logging.getLogger("hudi_reconcile.tests")
ROWS, PARTS = 60_000, 4
PRODUCTS = ("h2", "derby", "duckdb")
# Derby casts no number to varchar, and only Derby and H2 know timestampadd.
_TEXT = "trim(cast(i as char(10)))"
_DAY = {"duckdb": "cast(date '1990-01-01' + cast({n} as integer) as date)", "h2": "dateadd('DAY', {n}, date '1990-01-01')",
        "derby": "date({{fn timestampadd(SQL_TSI_DAY, {n}, timestamp('1990-01-01 00:00:00'))}})"}  # fmt: skip
_AT = {"duckdb": "timestamp '1990-01-01' + to_seconds({n})", "h2": "dateadd('SECOND', {n}, timestamp '1990-01-01 00:00:00')",
       "derby": "{{fn timestampadd(SQL_TSI_SECOND, {n}, timestamp('1990-01-01 00:00:00'))}}"}  # fmt: skip


def columns(product: str) -> dict[str, tuple[str, str]]:
    """The columns of the table, each with its type and its value as an expression of `i`, 1 to ROWS."""
    day, at = _DAY[product], _AT[product]
    raw = {"h2": ("varbinary(20)", f"cast({_TEXT} as varbinary(20))"), "duckdb": ("blob", f"cast({_TEXT} as blob)")}
    url = "'https://shop.example/europe/west/customers/by-number/'"
    return {
        "num": ("bigint", "case when mod(i, 10) = 0 then i * 1000 else 20000000 + i end"),
        "txt": ("varchar(80)", f"case when mod(i, 10) = 0 then {_TEXT} else {url} || {_TEXT} end"),
        "amount": ("decimal(20,4)", "cast(i as decimal(10)) * i / 8"),
        "dt": ("date", day.format(n="i / 2")),
        "half": ("integer", "mod(i, 2)"),
        "tm": ("timestamp", at.format(n="case when mod(i, 10) = 0 then i * 10000 else 86400 + i end")),
        "tenant": ("varchar(10)", "case when mod(i, 10) = 0 then 'small' else 'big' end"),
        "raw": raw.get(product, ("char(10) for bit data", "x'00'")),
        "v": ("integer", "i"),
    }


KEYS = {
    "integer, 90 % of the rows in 1 % of the range": ("num",),
    "text, 90 % with one prefix of 53 letters": ("txt",),
    "decimal": ("amount",),
    "date, two rows a day, and integer": ("dt", "half"),
    "timestamp, 90 % in one day": ("tm",),
    "text of two values, 90 % of one, and integer": ("tenant", "v"),
    "bytes": ("raw",),
}


def fill(database: JdbcDatabase, made: dict[str, tuple[str, str]]) -> None:
    """ROWS rows, and one that is NULL but for `v`, 0."""
    number = "1 + a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n"
    source = f"(select {number} as i from digits a, digits b, digits c, digits d, digits e where e.n < 6) x"
    database.execute(
        "create table digits (n integer)",
        f"insert into digits values {', '.join(f'({n})' for n in range(10))}",
        f"create table t ({', '.join(f'{name} {kind}' for name, (kind, _) in made.items())})",
        f"insert into t select {', '.join(value for _, value in made.values())} from {source}",
        "insert into t (v) values (0)",
    )


@contextmanager
def planned(
    spark: SparkSession, database: JdbcDatabase, key: tuple[str, ...]
) -> Iterator[tuple[ReadPlan, list[int], bool]]:
    """The plan of a full read, how many rows each part brings, and whether these are all rows, each once."""
    jvm = spark._jvm
    engine = JdbcEngine(JdbcSource(url=database.url), lambda login: open_database(jvm, login))
    fold = str.lower if database.product == "duckdb" else str.upper
    named = tuple(fold(name) for name in key)
    try:
        request = TableRequest("t", "t", key=named, columns=tuple(dict.fromkeys((*named, fold("v")))))
        table = engine.describe(request).table
        plan = plan_read(engine, RowRequest(table, None, ()), Limits(PARTS, PARTS))
        frame = read(spark, engine.jdbc(), JdbcRead.of(plan), table.read_columns)
        at = [column.name.lower() for column in table.columns].index("v")
        v = F.col(f"c{at}").cast("long")
        counted = [F.count("*").alias("n"), F.sum(v).alias("sum"), F.sum(v * v).alias("squares")]
        found = frame.groupBy(F.spark_partition_id().alias("part")).agg(*counted).orderBy("part").collect()
        totals = [sum(row[name] for row in found) for name in ("n", "sum", "squares")]
        once = totals == [ROWS + 1, ROWS * (ROWS + 1) // 2, ROWS * (ROWS + 1) * (2 * ROWS + 1) // 6]
        yield plan, [row["n"] for row in found], once
    finally:
        engine.close()


@pytest.mark.parametrize("product", PRODUCTS)
def test_parts_of_skewed_keys_are_even_and_hold_every_row_once(
    spark: SparkSession, tmp_path: Path, product: str
) -> None:
    add_drivers(spark)
    database = JdbcDatabase(spark, product, tmp_path)
    fill(database, columns(product))
    for name, key in KEYS.items():
        if (product, key) == ("derby", ("raw",)):
            continue  # it has no text of bytes: refused as a key
        with planned(spark, database, key) as (plan, sizes, once):
            uneven = max(sizes) * len(sizes) / sum(sizes)
        shown = (product, name, plan.how, len(sizes), min(sizes), max(sizes), uneven)
        log.info("| %s | %s | %s | %d | %d to %d | %.2f |", *shown)  # of docs/parts.md: --log-cli-level=INFO shows it
        assert (plan.how, len(plan.parts)) == ("hash" if key == ("raw",) else "rank", PARTS), (name, plan)
        assert uneven <= 1.5, (name, sizes, plan)
        assert once, (name, sizes)


@pytest.mark.parametrize("product", PRODUCTS)
def test_text_that_the_database_sorts_by_a_language_comes_once_a_row(
    spark: SparkSession, tmp_path: Path, product: str
) -> None:
    """By bytes Z < a < Ä, by these collations a = A and ä stands beside a: edges are compared at the database alone."""
    add_drivers(spark)
    made_with = ";territory=de_DE;collation=TERRITORY_BASED:PRIMARY"
    database = JdbcDatabase(spark, product, tmp_path, made_with)
    if product == "h2":
        database.execute("set collation german strength primary")
    letter = (
        "case mod(i, 6) when 0 then 'a' when 1 then 'A' when 2 then 'ä' when 3 then 'Ä' when 4 then 'z' else 'Z' end"
    )
    kind = "varchar(20) collate nocase.noaccent" if product == "duckdb" else "varchar(20)"
    fill(database, {"k": (kind, f"{letter} || {_TEXT}"), "v": ("integer", "i")})
    (folded,) = database.query("select count(*) from t where k = 'A6' or k = 'a7'")[0]

    with planned(spark, database, ("k",)) as (plan, sizes, once):
        assert folded == "2"  # as the collation has it: there are a6 and A7
        assert (plan.how, len(plan.parts)) == ("rank", PARTS)
        assert max(sizes) * len(sizes) <= 1.5 * sum(sizes), sizes
        assert once


HOSTILE = ("", " ", "a ", "A", "a", "ä", "a\u0308", "~", "1:é", "😀", "\uffff", "x" * 300, "it's", "\\", "é" * 9)
UUIDS = (
    "018e2fb8-97c5-7000-8000-00805f9b34fb",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "0a0b0c0d-0000-4000-8000-0123456789ab",
)
MADE: dict[str, tuple[str, str, tuple[Any, ...]]] = {
    "txt": ("varchar(400)", "'{}'", HOSTILE),
    "num": ("bigint", "{}", (0, -7, 2**63 - 1, -(2**63), 10**12)),
    "amount": ("decimal(20,6)", "{}", tuple(map(Decimal, ("0", "-0.000001", "0.1", "12345678901234.5", "7")))),
    "dt": (
        "date",
        "date '{}'",
        tuple(map(date, (1, 1582, 1582, 1969, 9999), (1, 10, 10, 12, 12), (1, 10, 15, 31, 31))),
    ),
    "id": ("uuid", "'{}'", UUIDS),
    "raw": ("varbinary(20)", "'{}'", (b"", b"\x00", b"\xff\x80", bytes(range(20)))),
    "part": ("char(4)", "'{}'", ("", "a", "ab", " x")),
}
BUCKETS = 7


@pytest.mark.parametrize("product", ["h2", "duckdb"])
@pytest.mark.parametrize("name", MADE)
def test_hash_segment_that_a_product_tells_holds_the_keys_that_python_and_spark_put_there(
    spark: SparkSession, tmp_path: Path, product: str, name: str
) -> None:
    """Alone, and beside a number that is NULL in every other row."""
    add_drivers(spark)
    database = JdbcDatabase(spark, product, tmp_path)
    kind, form, values = MADE[name]
    kind = {"varbinary(20)": "blob"}.get(kind, kind) if product == "duckdb" else kind
    written = [_written(product, form, value) for value in values]
    numbers = [None if at % 2 else at for at in range(len(values))]
    rows = [f"({sql}, {'null' if numbers[at] is None else at}, {at})" for at, sql in enumerate(written)]
    database.execute(f'create table "t" ("k" {kind}, "n" integer, "at" integer)')
    database.execute(f'insert into "t" values {", ".join(rows)}')
    for key, parts in ((("k",), [(value,) for value in values]), (("n", "k"), list(zip(numbers, values, strict=True)))):
        kinds, scale, found = _rows_by_segment(spark, database, key)
        expected = [
            choose_bucket(
                [render_canonical_text(one, value, scale) for one, value in zip(kinds, row, strict=True)], BUCKETS
            )
            for row in parts
        ]
        assert found == dict(enumerate(expected)), (product, name, key)


@pytest.mark.parametrize("product", PRODUCTS)
def test_rows_of_each_key_range_are_counted_by_the_product_itself(
    spark: SparkSession, tmp_path: Path, product: str
) -> None:
    """Beyond both ends, below zero and at the ends of 64 bits too; NULL keys have their own segment."""
    add_drivers(spark)
    database = JdbcDatabase(spark, product, tmp_path)
    far = (-7 * 2**60 - 1, -7 * 2**60, -3 * 2**60 + 5, 6 * 2**60 - 1, 6 * 2**60)
    keys = (-(2**63) + 1, -9, -8, -1, 0, 1, 7, 8, 15, 16, 2**63 - 1, *far, None, None)
    rows = [f"({'null' if key is None else key}, {at})" for at, key in enumerate(keys)]
    database.execute('create table "t" ("k" bigint, "at" integer)')
    database.execute(*(f'insert into "t" values {one}' for one in rows))
    jvm = spark._jvm
    engine = JdbcEngine(JdbcSource(url=database.url), lambda login: open_database(jvm, login))
    try:
        source = TableSource(engine, TableRequest("t", '"t"', key=("k",)), spark, zone="UTC")
        wide = RangeSegments("k", -(2**63), 2**60, 16)
        for cut in (RangeSegments("k", -8, 8, 3), RangeSegments("k", -16, 8, 1), RangeSegments("k", 0, 4, 2), wide):
            assert source.count_segments(source.describe(), cut) == Counter(map(cut.find_segment, keys)), cut
    finally:
        engine.close()


def _rows_by_segment(
    spark: SparkSession, database: JdbcDatabase, key: tuple[str, ...]
) -> tuple[list[Kind], int, dict[int, int]]:
    """The key's kinds, its scale, and in which segments a read of that segment alone finds each row; every row once."""
    jvm = spark._jvm
    engine = JdbcEngine(JdbcSource(url=database.url), lambda login: open_database(jvm, login))
    found: list[tuple[int, int]] = []
    try:
        source = TableSource(engine, TableRequest("t", '"t"', key=key), spark, zone="UTC")
        table = source.describe()
        for segment in range(BUCKETS):
            frame = source.read_rows(table, HashSegments(key, BUCKETS, "md5"), SegmentSet.of([segment]))
            found += [(int(row["c2"]), segment) for row in cast("DataFrame", frame).select("c2").collect()]
    finally:
        engine.close()
    assert len(dict(found)) == len(found)
    return [column.kind for column in table.key_columns], table.key_columns[-1].scale or 0, dict(found)


def _written(product: str, form: str, value: Any) -> str:
    if isinstance(value, bytes):
        return f"X'{value.hex()}'" if product == "h2" else "'" + "".join(f"\\x{one:02x}" for one in value) + "'::blob"
    return form.format(str(value).replace("'", "''"))


def test_counts_of_more_segments_than_a_page_holds_lack_none(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_drivers(spark)
    database = JdbcDatabase(spark, "h2", tmp_path)
    database.execute('create table "t" ("k" bigint)', 'insert into "t" select x from system_range(0, 5999)')
    jvm = spark._jvm
    engine = JdbcEngine(JdbcSource(url=database.url), lambda login: open_database(jvm, login))
    try:
        source = TableSource(engine, TableRequest("t", '"t"', key=("k",)), spark, zone="UTC")
        table, cut = source.describe(), RangeSegments("k", 0, 4, 1_500)
        assert source.count_segments(table, cut) == dict.fromkeys(range(1_500), 4)
        monkeypatch.setattr(jdbc_catalog, "MOST_ROWS", 1_499)
        with pytest.raises(SourceError, match="more than 1,499 rows"):
            source.count_segments(table, cut)
    finally:
        engine.close()
