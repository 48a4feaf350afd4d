"""Every key belongs to exactly one part, whatever the statistics say; SQL and Python agree on which."""

from __future__ import annotations

import sqlite3
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from hudi_reconcile.core.pull.read_plan import SERIAL_ROWS, Limits, Parts, Ranked, Statistics, plan, plan_by_rank
from hudi_reconcile.core.tables.key_encoding import KeyValue, parse_key, write_edge
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.databases.jdbc.dialect import GenericDialect
from hudi_reconcile.databases.jdbc.products import product
from hudi_reconcile.databases.jdbc.ranks import KeyRanks
from hudi_reconcile.databases.postgres import dialect
from hudi_reconcile.sql.reads import part_predicate

ID = Column("id", Kind.INTEGER, "bigint", bits=64)
LEAST, GREATEST = -(2**63), 2**63 - 1
numbers = st.one_of(st.integers(LEAST, GREATEST), st.integers(-20, 20), st.sampled_from([LEAST, GREATEST]))
texts = st.text("aäÄzZ'0 €", max_size=6).map(str.encode)
shares = st.floats(0.0, 1.0)


@st.composite
def statistics(draw: st.DrawFn, values: st.SearchStrategy[KeyValue]) -> Statistics:
    """Anything that a catalog might claim: unsorted, repeated, stale, shares that add up to more than everything."""
    return Statistics(
        rows=draw(st.integers(0, 10**9)),
        why="whatever",
        row_bytes=draw(st.one_of(st.none(), st.floats(0.0, 1e6))),
        rows_known=draw(st.one_of(st.none(), st.integers(-1, 10**9))),
        bounds=tuple(draw(st.lists(values, max_size=12))),
        common=tuple(draw(st.lists(st.tuples(values, shares), max_size=4))),
        null_share=draw(shares),
        low=draw(st.one_of(st.none(), values)),
        high=draw(st.one_of(st.none(), values)),
    )


limits = st.builds(Limits, st.integers(1, 20), st.integers(1, 20), st.booleans(), st.integers(1, 24))


def holders(found: Parts, key: KeyValue | None) -> list[int]:
    def holds(index: int) -> bool:
        part: Any = found.parts[index]
        if key is None:
            return bool(part.nulls)
        return (part.low is None or part.low <= key) and (part.high is None or key < part.high)

    return [index for index in range(len(found.parts)) if holds(index)]


@example(Statistics(10**6, "", bounds=(1, 1, 1, 5), common=((5, 1.0),), rows_known=0), Limits(4, 2), 5)
@given(statistics(numbers), limits, st.one_of(st.none(), numbers))
def test_every_number_belongs_to_exactly_one_part(found: Statistics, limits: Limits, key: int | None) -> None:
    parts = plan(found, limits, columns=8, can_hash=False)

    assert holders(parts, key) == [parts.find_part(key)]
    assert [part.nulls for part in parts.parts].count(True) == 1
    for part in parts.parts:
        for edge in (part.low, part.high):
            assert edge is None or holders(parts, edge) == [parts.find_part(edge)]


@example(Statistics(500_001, "", bounds=(b"",), common=((b"", 5e-324),)), Limits(1, 1), None)
@given(statistics(texts), limits, st.one_of(st.none(), texts))
def test_every_text_belongs_to_exactly_one_part(found: Statistics, limits: Limits, key: bytes | None) -> None:
    parts = plan(found, limits, columns=8, can_hash=False)

    assert holders(parts, key) == [parts.find_part(key)]


@given(found=statistics(numbers), limits=limits, can_hash=st.booleans(), can_range=st.booleans())
def test_plan_keeps_its_limits(found: Statistics, limits: Limits, *, can_hash: bool, can_range: bool) -> None:
    parts = plan(found, limits, columns=8, can_hash=can_hash, can_range=can_range)

    assert 1 <= len(parts.parts) <= limits.tasks
    assert 100 <= parts.fetch_rows <= 10_000
    assert all(part.rows >= 0 for part in parts.parts)
    if not limits.waits and limits.cores > limits.connections:
        assert len(parts.parts) <= limits.connections
    if parts.how == "hash":
        assert len(parts.parts) == limits.lanes


@given(statistics(numbers), limits, st.lists(st.one_of(st.none(), numbers), max_size=20))
def test_sql_of_the_parts_finds_every_row_once(found: Statistics, limits: Limits, keys: list[int | None]) -> None:
    parts = plan(found, Limits(limits.connections, limits.cores, tasks=8), columns=8, can_hash=False)
    with sqlite3.connect(":memory:") as database:
        database.execute("create table t (hr_k integer)")
        database.executemany("insert into t values (?)", [(key,) for key in keys])
        seen = [
            key
            for part in parts.parts
            for (key,) in database.execute(f"select hr_k from t where {part_predicate(dialect, ID, part)}")
        ]
    database.close()

    assert sorted(seen, key=str) == sorted(keys, key=str)


# --- by rank: cut by a database whose order nobody here knows ---

plain = st.text("aAäÄzZ'0 €", min_size=1, max_size=3)
COLLATIONS = ("binary", "nocase", "rtrim", "backwards")
cells = st.tuples(st.one_of(st.none(), plain), st.one_of(st.none(), st.integers(-3, 3)))
KEY = (Column("a", Kind.TEXT, "varchar"), Column("b", Kind.INTEGER, "bigint", bits=64))


def ranks(name: str = "foo") -> KeyRanks:
    dialect = GenericDialect(product(name))
    return KeyRanks(dialect, dialect.product)


def rows_by_part(collation: str, rows: list[tuple[Any, Any]], predicates: list[str]) -> list[list[tuple[Any, Any]]]:
    with sqlite3.connect(":memory:") as database:
        database.create_collation("backwards", lambda left, right: (left < right) - (left > right))
        database.execute(f"create table t (hr_k text collate {collation}, hr_k1 integer)")
        database.executemany("insert into t values (?, ?)", rows)
        found = [database.execute(f"select hr_k, hr_k1 from t where {one}").fetchall() for one in predicates]
    database.close()
    return found


@given(
    collation=st.sampled_from(COLLATIONS),
    rows=st.lists(cells, max_size=20),
    # Not in any order: a database may compare by other rules than it sorts by.
    edges=st.lists(st.tuples(plain, st.integers(-3, 3)), max_size=6),
    width=st.sampled_from([1, 2]),
)
def test_parts_by_rank_hold_every_row_once_whatever_the_collation_and_the_order_of_the_edges(
    collation: str, rows: list[tuple[Any, Any]], edges: list[tuple[str, int]], width: int
) -> None:
    found, key = ranks(), KEY[:width]
    cut = tuple(e for text, number in edges if (e := found.edge(key, {"hr_0": text, "hr_1": number})) is not None)
    seen = rows_by_part(collation, rows, [found.predicate(key, cut, part) for part in range(len(cut) + 1)])

    assert sorted((row for part in seen for row in part), key=str) == sorted(rows, key=str)


@given(
    keys=st.lists(st.one_of(st.none(), st.tuples(plain)), max_size=40),
    limits=limits,
    rows=st.integers(0, 10**9),
    each=st.integers(1, 10**6),
    can_hash=st.booleans(),
)
def test_plan_by_rank_keeps_its_limits_and_cuts_at_different_keys(
    keys: list[tuple[str] | None], limits: Limits, rows: int, *, each: int, can_hash: bool
) -> None:
    parts = plan_by_rank(Ranked(rows, "ranked", tuple(keys), each), limits, columns=8, can_hash=can_hash)

    assert 1 <= len(parts.parts) <= limits.tasks
    assert all(part.rows >= 0 for part in parts.parts)
    assert len(set(parts.edges)) == len(parts.edges)
    assert len(parts.edges) == (len(parts.parts) - 1 if parts.how == "rank" else 0)
    assert rows >= SERIAL_ROWS or parts.how == "whole"


@given(st.integers(2, 60), st.integers(60_000, 10**9))
def test_different_keys_at_even_ranks_give_even_parts(count: int, rows: int) -> None:
    keys = tuple((f"'{number:04}'",) for number in range(900))
    parts = plan_by_rank(Ranked(rows, "", keys, -(-rows // 900)), Limits(count, count), columns=8, can_hash=False)

    assert max(part.rows for part in parts.parts) <= 1.5 * rows / len(parts.parts)


@given(st.decimals(-(10**30), 10**30, places=6, allow_nan=False))
def test_decimal_edge_reads_back_as_it_was(number: Any) -> None:
    column = Column("n", Kind.DECIMAL, "numeric(38,6)", precision=38, scale=6)
    value = parse_key(column, f"{number:f}")

    assert value is not None
    assert parse_key(column, write_edge(column, value)) == value


@given(st.uuids(), st.uuids())
def test_uuids_are_in_the_order_of_their_text(left: Any, right: Any) -> None:
    column = Column("u", Kind.UUID, "uuid")
    values = [parse_key(column, str(one)) for one in (left, right)]

    assert [write_edge(column, value) for value in values if value is not None] == [str(left), str(right)]
    assert (values[0] < values[1]) == (str(left) < str(right))  # type: ignore[operator]
