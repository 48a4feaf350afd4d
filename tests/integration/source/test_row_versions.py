"""PostgreSQL's row versions by segment: every change shows, whatever the values; and what a later night may no longer rely on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hudi_reconcile.core.sweep.segments import RangeSegments
from hudi_reconcile.core.tables.agreement import Agreement, ComparedColumn
from hudi_reconcile.ports import RowVersions
from hudi_reconcile.source.table_source import TableSource
from tests.integration.source.support import source
from tests.support.postgres import Database

CUT = RangeSegments("id", 0, 10, 3)


@pytest.fixture
def table(pg: Database) -> Iterator[tuple[Database, TableSource]]:
    pg.execute(
        "create type mood as enum ('calm', 'wild')",
        "create table t (id bigint primary key, v numeric(12,2), w bigint, m mood, note text)",
        "insert into t select i, i, -1, 'calm', 'n' || i from generate_series(0, 29) i",
    )
    with source(pg, "t", where="id < 100") as found:
        yield pg, found


def versions_of(found: TableSource) -> RowVersions:
    described = found.describe()
    (key,) = described.key_columns
    item = ComparedColumn(described.columns.index(key), key, "bigint")
    return found.row_versions(described, Agreement((item,), (item,), (), ()))


def changed(found: TableSource, database: Database, *statements: str) -> list[int]:
    """The segments whose versions the statements change."""
    before = {one.segment: one for one in versions_of(found).begin(CUT)()}
    database.execute(*statements)
    after = {one.segment: one for one in versions_of(found).begin(CUT)()}
    return sorted(one for one in before.keys() | after.keys() if before.get(one) != after.get(one))


@pytest.mark.parametrize(
    ("statements", "segments"),
    [
        (("update t set v = -v where id = 11",), [1]),
        (("update t set w = 4294967295 where id = 11",), [1]),
        (("update t set v = v where id = 11",), [1]),
        (("update t set note = case id when 11 then 'n12' else 'n11' end where id in (11, 12)",), [1]),
        (("delete from t where id = 29",), [2]),
        (("insert into t values (-7, 1)", "insert into t values (77, 1)"), [0, 2]),
        (("delete from t where id = 5", "insert into t values (5, 5, -1, 'calm', 'n5')"), [0]),
        (("insert into t values (200, 1)",), []),  # the filter leaves it out
        (("begin; delete from t; rollback",), []),
        (("analyze t",), []),
    ],
)
def test_segments_whose_rows_were_written_and_no_others_have_other_versions(
    table: tuple[Database, TableSource], statements: tuple[str, ...], segments: list[int]
) -> None:
    database, found = table

    assert changed(found, database, *statements) == segments


@pytest.mark.parametrize(
    ("statement", "fact"),
    [
        ("alter type mood rename value 'calm' to 'quiet'", "catalog"),
        ("alter table t drop column note; alter table t add column note text default 'x'", "catalog"),
        (
            "alter table t rename to old; create table t (like old including all); insert into t select * from old",
            "table",
        ),
        ("alter table t drop constraint t_pkey; create table part (check (id > 0)) inherits (t)", "table"),
    ],
)
def test_change_without_a_write_to_its_rows_is_another_fact(
    table: tuple[Database, TableSource], statement: str, fact: str
) -> None:
    database, found = table
    before = versions_of(found).standing
    database.execute(*statement.split(";"))
    with source(database, "t", key=("id",)) as again:
        after = versions_of(again).standing

    assert before is not None
    assert after is not None
    assert before.facts[fact] != after.facts[fact]
    assert (before.facts["server"], before.facts["start"]) == (after.facts["server"], after.facts["start"])
    assert after.transactions > before.transactions


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("create view o as select * from t", "public.o keeps no versions"),
        (
            "create type pair as (a int, b int); create table o (id bigint primary key, p pair)",
            "type pair is written by",
        ),
        (
            "create type pair as (a int, b int); create domain pairs as pair[]; create table o (id bigint primary key, p pairs)",
            "type pair is written by",
        ),
        ("create materialized view o as select * from t", "public.o keeps no versions"),
    ],
)
def test_table_whose_rows_may_read_otherwise_without_a_write_has_no_versions_to_rely_on(
    table: tuple[Database, TableSource], statement: str, why: str
) -> None:
    database, _ = table
    database.execute(*statement.split("; "))
    with source(database, "o", key=("id",)) as other:
        found = versions_of(other)

    assert found.standing is None
    assert why in found.why


def test_type_of_people_in_an_array_a_domain_or_a_partition_is_followed(pg: Database) -> None:
    pg.execute(
        "create type mood as enum ('calm', 'wild')",
        "create domain moods as mood[]",
        "create table t (id bigint primary key, m moods) partition by range (id)",
        "create table t_1 partition of t for values from (0) to (100)",
        "insert into t values (1, '{calm}')",
    )
    with source(pg, "t") as found:
        before = versions_of(found).standing
        pg.execute("alter type mood add value 'mild' after 'calm'")
        after = versions_of(found).standing

    assert before is not None
    assert after is not None
    assert before.facts["catalog"] != after.facts["catalog"]
