"""Every key has exactly one segment, whatever is read is read once, and SQL and Python agree on it."""

from __future__ import annotations

import re
import sqlite3

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hudi_reconcile.core.sweep.segments import (
    MAX_SEGMENTS,
    HashSegments,
    KeyExtent,
    KeyRange,
    RangeSegments,
    SegmentSet,
    build_segmentation_document,
    choose,
    merge_ranges,
    parse,
    spread,
)
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.values import SourceTable
from hudi_reconcile.databases.jdbc.dialect import GenericDialect
from hudi_reconcile.databases.jdbc.products import product
from hudi_reconcile.databases.mysql import dialect as mysql
from hudi_reconcile.databases.postgres import dialect as postgres
from hudi_reconcile.source.reads import build_range_reads
from hudi_reconcile.sql import reads
from hudi_reconcile.sql.dialect import Dialect

GENERIC = GenericDialect(product("foo"))

LEAST, GREATEST = -(2**63), 2**63 - 1
bigints = st.one_of(st.integers(LEAST, GREATEST), st.integers(-50, 50), st.sampled_from([LEAST, GREATEST, -1, 0, 1]))
keys = st.one_of(st.none(), bigints)
names = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1)


@st.composite
def cuts(draw: st.DrawFn) -> RangeSegments:
    low, high = sorted((draw(bigints), draw(bigints)))
    cut = choose(("id",), KeyExtent(low, high, 100), integer_key=True, wanted=draw(st.integers(1, 40)))
    assert isinstance(cut, RangeSegments)
    return cut


def inside(key: int | None, part: KeyRange) -> bool:
    if key is None:
        return part.nulls
    return part.keys and (part.low is None or key >= part.low) and (part.high is None or key < part.high)


@given(cuts(), keys)
@example(RangeSegments("id", LEAST, 2**64, 1), LEAST)
def test_key_lies_in_one_segment_and_inside_its_bounds(cut: RangeSegments, key: int | None) -> None:
    segment = cut.find_segment(key)

    assert 0 <= segment <= cut.count
    if key is None:
        assert segment == cut.count
    else:
        holders = [i for i in range(cut.count) if inside(key, KeyRange(*cut.bounds(i)))]
        assert holders == [segment]


@given(cuts())
def test_edges_of_segments_are_bigints_and_starts_are_multiples_of_the_width(cut: RangeSegments) -> None:
    edges = [edge for i in range(cut.count) for edge in cut.bounds(i) if edge is not None]

    assert all(LEAST <= edge <= GREATEST for edge in edges)
    assert cut.start % cut.width == 0


@given(cuts(), st.sets(st.integers(0, 40)), keys)
def test_reading_some_segments_reads_their_rows_once_and_no_others(
    cut: RangeSegments, wanted: set[int], key: int | None
) -> None:
    chosen = SegmentSet.of(i for i in wanted if i <= cut.count)

    found = [part for part in merge_ranges(cut, chosen) if inside(key, part)]

    assert len(found) == int(cut.find_segment(key) in chosen.ids)


@given(cuts(), st.integers(-1, 50), keys)
def test_parallel_parts_read_every_row_once(cut: RangeSegments, parts: int, key: int | None) -> None:
    found = spread(cut, parts)

    assert len([part for part in found if inside(key, part)]) == 1
    assert len(found) <= max(1, parts)


def read_by_sql(predicates: list[str], found: list[int | None]) -> list[int | None]:
    """What a database reads with these predicates, one after the other."""
    with sqlite3.connect(":memory:") as database:
        database.execute("create table t (c0 integer)")
        database.executemany("insert into t values (?)", [(key,) for key in found])
        read = [key for predicate in predicates for (key,) in database.execute(f"select c0 from t where {predicate}")]
    database.close()
    return sorted(read, key=repr)


@given(cuts(), st.integers(1, 9), st.lists(keys, max_size=8))
def test_sql_of_parallel_parts_reads_every_row_once(cut: RangeSegments, parts: int, found: list[int | None]) -> None:
    predicates = [reads.range_predicate("c0", part) for part in spread(cut, parts)]

    assert read_by_sql(predicates, found) == sorted(found, key=repr)


@given(cuts(), st.sets(st.integers(0, 40), min_size=1), keys)
def test_sql_of_some_segments_reads_exactly_their_rows(cut: RangeSegments, wanted: set[int], key: int | None) -> None:
    chosen = SegmentSet.of(i % (cut.count + 1) for i in wanted)

    sql = postgres.ranges_query('"id" as c0', "t", "id", merge_ranges(cut, chosen), ())

    lists = [[int(edge) for edge in text.split(",")] for text in re.findall(r"'{(.*?)}'::bigint", sql)]
    lows, lasts = lists or ([], [])
    assert all(LEAST <= edge <= GREATEST for edge in (*lows, *lasts))
    times = sum(low <= key <= last for low, last in zip(lows, lasts, strict=True)) if key is not None else 0
    if key is None:
        times = sql.count('"id" is null')
    assert times == int(cut.find_segment(key) in chosen.ids)


@given(cuts(), st.sets(st.integers(0, 40), min_size=1), st.integers(1, 9), st.lists(keys, max_size=8, unique=True))
def test_statements_side_by_side_read_each_row_of_some_segments_once_and_no_row_twice(
    cut: RangeSegments, wanted: set[int], lanes: int, found: list[int | None]
) -> None:
    chosen = SegmentSet.of(i % (cut.count + 1) for i in wanted)
    table = SourceTable("t", (Column("id", Kind.INTEGER, "bigint"),), ("id",), 100_000_000, "server/t")

    parts = build_range_reads(GENERIC, table, cut, chosen, (), lanes=lanes)

    assert len(parts) == min(lanes, len(chosen.ids))
    with sqlite3.connect(":memory:") as database:
        database.execute('create table t ("id" integer)')
        database.executemany("insert into t values (?)", [(key,) for key in found])
        read = [key for part in parts for (key,) in database.execute(part.query)]
    database.close()
    assert len(read) == len(set(read))
    assert set(read) >= {key for key in found if cut.find_segment(key) in chosen.ids}


@given(st.one_of(cuts(), st.builds(HashSegments, st.tuples(names, names), st.integers(1, 9))))
def test_segmentation_of_a_plan_reads_back_as_it_was(cut: RangeSegments | HashSegments) -> None:
    assert parse(build_segmentation_document(cut)) == cut


@given(cuts(), st.sets(st.integers(0, 40)), st.lists(keys, max_size=8))
def test_rows_of_some_segments_are_counted_once_each(
    cut: RangeSegments, wanted: set[int], found: list[int | None]
) -> None:
    chosen = SegmentSet.of(i % (cut.count + 1) for i in wanted)

    statements = reads.segment_counts(GENERIC, '"t"', cut, chosen, ())

    with sqlite3.connect(":memory:") as database:
        database.execute(f'create table "t" ("{cut.column}" integer)')
        database.executemany('insert into "t" values (?)', [(key,) for key in found])
        counts = [database.execute(sql).fetchone()[0] for sql in statements]
    database.close()
    assert sum(counts) == sum(cut.find_segment(key) in chosen.ids for key in found)


LONGEST_CHARACTERS = 100_000


@pytest.mark.parametrize("dialect", [postgres, mysql, GENERIC], ids=["postgresql", "mysql", "jdbc"])
@given(st.integers(1, MAX_SEGMENTS), st.integers(1, 5), st.integers(LEAST, GREATEST - MAX_SEGMENTS * 64))
@example(MAX_SEGMENTS, 2, LEAST)  # every other segment: no two ranges are neighbours
def test_no_count_of_segments_names_more_ranges_than_the_index_serves_at_once(
    dialect: Dialect, count: int, step: int, start: int
) -> None:
    cut = RangeSegments("id", start // 64 * 64, 64, count)
    chosen = SegmentSet.of(range(0, count + 1, step))

    statements = reads.segment_counts(dialect, '"t"', cut, chosen, ("x > 1",))

    assert max(map(len, statements)) < LONGEST_CHARACTERS
    assert len(statements) == -(-len(merge_ranges(cut, chosen)) // dialect.RANGES_AT_ONCE)
    assert max(sql.count(" or ") for sql in statements) < (GENERIC.RANGES_AT_ONCE if dialect is GENERIC else 1)


@pytest.mark.parametrize("dialect", [postgres, mysql, GENERIC], ids=["postgresql", "mysql", "jdbc"])
def test_read_of_the_most_segments_that_there_are_has_a_bounded_length_and_no_long_chain_of_ors(
    dialect: Dialect,
) -> None:
    cut = RangeSegments("id", LEAST, 64, MAX_SEGMENTS)
    every_other = SegmentSet.of(range(0, MAX_SEGMENTS + 1, 2))

    sql = dialect.ranges_query('"id" as c0', '"t"', "id", merge_ranges(cut, every_other), ())

    assert len(sql) < 4 * LONGEST_CHARACTERS
    assert sql.count(" or ") < (GENERIC.RANGES_AT_ONCE if dialect is GENERIC else 1)
