"""A lake's columns follow the source's: never narrower, never fewer, whatever the columns' order, and once is enough."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.tables.agreement import agree
from hudi_reconcile.core.tables.kinds import Column, Kind, choose_stored_type, holds, widen_type
from hudi_reconcile.core.tables.schema_evolution import Evolution, PullRecord, encode_columns, evolve
from hudi_reconcile.core.tables.values import READ_SEQ, LakeColumn, LakeTable, SourceTable

ID = Column("id", Kind.INTEGER, "bigint", nullable=False, bits=64)
NAMES = ("a", "b", "c", "d", "A", "e f")


@st.composite
def typed(draw: st.DrawFn, name: str) -> Column:
    kind = draw(st.sampled_from([one for one in Kind if one is not Kind.DECIMAL] + [Kind.DECIMAL] * 4))
    scale = draw(st.integers(0, 6))
    return Column(
        name,
        kind,
        kind.value,
        nullable=draw(st.booleans()),
        bits=draw(st.sampled_from([16, 32, 64])) if kind is Kind.INTEGER else None,
        precision=scale + draw(st.integers(1, 34)) if kind is Kind.DECIMAL else None,
        scale=scale if kind is Kind.DECIMAL else None,
    )


@st.composite
def sources(draw: st.DrawFn) -> SourceTable:
    names = draw(st.lists(st.sampled_from(NAMES), unique=True))
    return SourceTable("t", (ID, *(draw(typed(name)) for name in names)), ("id",), 0, "i")


@st.composite
def lakes(draw: st.DrawFn) -> LakeTable:
    """A table that a pull made of some source, and what that pull left on record."""
    columns = [column for column in draw(sources()).columns if " " not in column.name]
    held = (*(LakeColumn(one.name, choose_stored_type(one)) for one in columns), LakeColumn(READ_SEQ, "bigint"))
    return LakeTable("/l", "t", "copy_on_write", 9, held, ("id",), (), (READ_SEQ,), "tool")


def made(source: SourceTable, lake: LakeTable, past: PullRecord) -> Evolution:
    return evolve(encode_columns(source, lake), lake, past)


def types(columns: tuple[LakeColumn, ...]) -> dict[str, str]:
    return {column.name: column.type for column in columns}


@given(sources(), lakes(), st.frozensets(st.sampled_from(NAMES)))
def test_no_column_gets_narrower_or_is_lost_and_every_source_value_fits_or_its_column_is_refused(
    source: SourceTable, lake: LakeTable, dropped: frozenset[str]
) -> None:
    found = made(source, lake, PullRecord(frozenset(types(lake.columns)), dropped))

    became, was = types(found.columns), types(lake.columns)
    assert len(became) == len(found.columns)
    assert [one.name for one in found.columns][: len(was)] == list(was)
    assert all(holds(became[name], was[name]) for name in was)
    refused = {one.column for one in found.refused}
    for column in encode_columns(source, lake).columns:
        assert column.name in refused or holds(became[column.name], choose_stored_type(column))


@given(sources(), lakes(), st.randoms(use_true_random=False))
def test_order_of_the_sources_columns_decides_nothing(source: SourceTable, lake: LakeTable, chance: object) -> None:
    columns = list(source.columns)
    chance.shuffle(columns)  # type: ignore[attr-defined]
    past = PullRecord(frozenset(types(lake.columns)))

    one, other = made(source, lake, past), made(replace(source, columns=tuple(columns)), lake, past)

    assert types(one.columns) == types(other.columns)
    assert (one.dropped, set(one.changes)) == (other.dropped, set(other.changes))
    assert {item.column for item in one.refused} == {item.column for item in other.refused}


@given(sources(), lakes())
def test_what_was_taken_over_is_taken_over_once(source: SourceTable, lake: LakeTable) -> None:
    first = made(source, lake, PullRecord(frozenset(types(lake.columns))))
    if first.refused:
        return
    after = replace(lake, columns=first.columns)
    record = PullRecord(
        frozenset(one.lake_name for one in source.columns), frozenset(one.name for one in first.dropped)
    )

    again = made(source, after, record)

    assert (again.columns, again.dropped, again.changes, again.refused) == (first.columns, first.dropped, (), ())


@given(sources(), lakes())
def test_correction_names_each_key_in_a_type_that_holds_the_sources_value(source: SourceTable, lake: LakeTable) -> None:
    found = made(source, lake, PullRecord(frozenset(types(lake.columns))))
    met = agree(encode_columns(source, lake), lake, watermark=(), exclude=frozenset(), partition_by=())

    refused = {one.column for one in found.refused}
    for item in met.columns:
        if item.column.name not in refused:
            assert item.written_type == types(found.columns)[item.column.lake_name]
            assert holds(item.written_type, choose_stored_type(item.column))


stored = st.sampled_from(
    ["int", "bigint", "float", "double", "string", "date", "timestamp", "timestamp_ntz", "binary", "boolean"]
) | st.builds(lambda whole, scale: f"decimal({whole + scale},{scale})", st.integers(1, 32), st.integers(0, 6))


@given(stored, stored)
def test_a_widened_type_holds_both_and_stays(lake: str, wanted: str) -> None:
    found = widen_type(lake, wanted)

    if found is not None:
        assert holds(found, lake)
        assert holds(found, wanted)
        assert (widen_type(found, wanted), widen_type(found, lake)) == (found, found)


@given(stored, stored, stored)
def test_holding_is_an_order(one: str, two: str, three: str) -> None:
    assert holds(one, one)
    assert one == two or not (holds(one, two) and holds(two, one))
    assert holds(one, three) or not (holds(one, two) and holds(two, three))
