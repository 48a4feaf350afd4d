from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.result_parts import SchemaChange
from hudi_reconcile.core.tables.agreement import agree
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.schema_drift import (
    Columns,
    KnownColumns,
    compare_declared,
    compare_with_lake,
    list_changes,
)
from hudi_reconcile.core.tables.schema_evolution import encode_columns
from hudi_reconcile.core.tables.values import LakeColumn, LakeTable, PartitionField, SourceTable

ID = Column("id", Kind.INTEGER, "bigint", nullable=False, bits=64)
INT = Column("n", Kind.INTEGER, "integer", bits=32)
BIGINT = Column("n", Kind.INTEGER, "bigint", bits=64)
NOTE = Column("note", Kind.TEXT, "text")
NOTHING = KnownColumns()


def found(
    *columns: Column,
    lake: dict[str, str],
    known: KnownColumns = NOTHING,
    exclude: frozenset[str] = frozenset(),
    on_purpose: frozenset[str] = frozenset(),
    key: tuple[str, ...] = ("id",),
    owned: bool = True,
) -> tuple[SchemaChange, ...]:
    """The changes of a table of these columns beside `id`."""
    source = SourceTable("t", (ID, *columns), key, 0, "i")
    held = tuple(LakeColumn(name, kind) for name, kind in {"id": "bigint", "_hr_read_seq": "bigint", **lake}.items())
    ordering = ("_hr_read_seq",) if owned else ("ts",)
    table = LakeTable("/l", "t", "copy_on_write", 9, held, ("id",), (), ordering, "tool" if owned else "event_time")
    partition_by = (PartitionField("at", "day"),)
    met = agree(encode_columns(source, table), table, watermark=(), exclude=exclude, partition_by=partition_by)
    return list_changes(Columns(source, table, met, partition_by, exclude, on_purpose), known)


def said(items: tuple[SchemaChange, ...]) -> list[tuple[str, str, str, bool]]:
    return [(item.what, item.side, item.column, item.compared) for item in items]


def decimal(precision: int, scale: int, name: str = "n") -> Column:
    return Column(name, Kind.DECIMAL, f"numeric({precision},{scale})", precision=precision, scale=scale)


def test_sides_that_are_declared_as_a_pull_would_declare_them_have_not_changed() -> None:
    columns = (
        INT,
        NOTE,
        Column("s", Kind.INTEGER, "smallint", bits=16),
        decimal(12, 2, "d"),
        Column("at", Kind.TIMESTAMP, "timestamp", precision=3),
        Column("doc", Kind.OWN_TEXT, "jsonb"),
        Column("x", Kind.OTHER, "xid"),
    )
    lake = {"n": "int", "note": "string", "s": "int", "d": "decimal(12,2)", "at": "timestamp_ntz", "doc": "string"}

    assert found(*columns, lake={**lake, "x": "string", "at_day": "string"}) == ()


def test_column_that_only_the_source_has_was_added_there() -> None:
    (one,) = found(NOTE, lake={})

    assert said((one,)) == [("added", "source", "note", False)]
    assert (one.source_type, one.lake_type) == ("text", None)
    assert "exclude: [note]" in one.fix


def test_column_that_the_lake_once_had_was_dropped_there() -> None:
    assert said(found(NOTE, lake={}, known=KnownColumns(lake={"note": "string"}))) == [
        ("dropped", "lake", "note", False)
    ]
    assert said(found(NOTE, lake={}, known=KnownColumns(source={"note": "text"}))) == [
        ("dropped", "lake", "note", False)
    ]


@pytest.mark.parametrize(
    ("owned", "known", "what"),
    [
        (True, NOTHING, ("dropped", "source")),
        (False, NOTHING, ("added", "lake")),
        (False, KnownColumns(source={"old": "int"}), ("dropped", "source")),
        (True, KnownColumns(source={"id": "bigint"}), ("added", "lake")),
    ],
)
def test_column_that_only_the_lake_has_is_told_by_what_the_source_once_had(
    *, owned: bool, known: KnownColumns, what: tuple[str, str]
) -> None:
    (one,) = found(lake={"old": "int"}, known=known, owned=owned)

    assert (one.what, one.side, one.column, one.lake_type, one.compared) == (*what, "old", "int", False)


def test_one_column_gone_and_one_new_of_a_like_type_may_be_a_new_name() -> None:
    (one,) = found(NOTE, lake={"memo": "string"})

    assert said((one,)) == [("renamed", "source", "note", False)]
    assert (one.lake_column, "compare: {rename: {note: memo}}" in one.fix) == ("memo", True)


def test_odd_names_stand_in_quotes_in_the_rename() -> None:
    (one,) = found(replace(NOTE, name="Order: No", lake_name=""), lake={"memo": "string"})

    assert 'rename: {"Order: No": memo}' in one.fix


@pytest.mark.parametrize("lake", [{"old": "int"}, {"old": "string", "older": "string"}])
def test_new_name_is_not_guessed_where_types_do_not_meet_or_more_than_one_column_went(lake: dict[str, str]) -> None:
    assert {item.what for item in found(NOTE, lake=lake)} == {"added", "dropped"}


def test_excluded_column_is_nobodys_change() -> None:
    out = frozenset({"note", "old", "n"})

    assert found(NOTE, INT, lake={"old": "string", "n": "string"}, exclude=out) == ()


@pytest.mark.parametrize(
    ("column", "lake_type", "what", "compared"),
    [
        (BIGINT, "int", "widened", True),
        (INT, "bigint", "narrowed", True),
        (Column("n", Kind.INTEGER, "smallint", bits=16), "bigint", "narrowed", True),
        (decimal(12, 2), "decimal(10,2)", "widened", True),
        (decimal(12, 4), "decimal(12,2)", "retyped", True),
        (decimal(14, 4), "decimal(12,2)", "widened", True),
        (decimal(10, 2), "decimal(12,2)", "narrowed", True),
        (Column("n", Kind.NUMBER, "numeric"), "decimal(12,2)", "widened", False),
        (Column("n", Kind.DOUBLE, "double precision"), "float", "widened", True),
        (Column("n", Kind.REAL, "real"), "double", "narrowed", True),
        (Column("n", Kind.TEXT, "text"), "int", "retyped", False),
        (Column("n", Kind.TIMESTAMPTZ, "timestamptz"), "timestamp_ntz", "retyped", False),
        (INT, "string", "retyped", True),
        (decimal(12, 2), "string", "retyped", True),
        (INT, "decimal(10,0)", "retyped", False),
    ],
)
def test_types_that_came_apart_are_named_and_compared_where_they_can_be(
    *, column: Column, lake_type: str, what: str, compared: bool
) -> None:
    (one,) = found(column, lake={"n": lake_type})

    assert said((one,)) == [(what, "source", "n", compared)]
    assert (one.source_type, one.lake_type) == (column.declared, lake_type)


def test_change_of_the_lakes_type_alone_is_the_lakes() -> None:
    known = KnownColumns(source={"n": "integer"}, lake={"n": "int"})

    assert said(found(INT, lake={"n": "bigint"}, known=known)) == [("widened", "lake", "n", True)]


def test_source_type_that_the_lake_cannot_tell_apart_is_known_from_the_last_pull() -> None:
    known = KnownColumns(source={"id": "bigint", "note": "character varying(20)"})

    (one,) = found(NOTE, lake={"note": "string"}, known=known)

    assert said((one,)) == [("widened", "source", "note", True)]


def test_text_that_was_chosen_because_no_lake_type_is_exact_is_no_change() -> None:
    stamp = Column("n", Kind.TIMESTAMP, "timestamp")
    zoned = Column("z", Kind.TIMESTAMPTZ, "timestamptz", nullable=False)

    assert found(stamp, lake={"n": "string"}, on_purpose=frozenset({"n"})) == ()
    assert found(zoned, lake={"z": "string"}, key=("id", "z")) == ()


def test_text_that_the_last_pull_already_brought_stays_no_change_and_a_change_stays_one() -> None:
    stamp = Column("n", Kind.TIMESTAMP, "timestamp")
    pulled = KnownColumns(source={"n": "timestamp"}, lake={"n": "string"})

    assert found(stamp, lake={"n": "string"}, known=pulled) == ()
    (changed,) = found(stamp, lake={"n": "string"}, known=KnownColumns(source={"n": "text"}))
    assert said((changed,)) == [("retyped", "source", "n", True)]
    assert said(found(stamp, lake={"n": "string"}, known=replace(pulled, changes=(changed,)))) == said((changed,))
    by_lake = replace(pulled, lake={"n": "timestamp_ntz"})
    assert said(found(stamp, lake={"n": "string"}, known=by_lake)) == [("retyped", "lake", "n", True)]


def test_what_an_earlier_run_said_of_the_same_types_stands_with_its_time() -> None:
    (first,) = found(NOTE, lake={})
    past = replace(first, since_utc="2026-01-01T00:00:00Z")

    (again,) = found(NOTE, lake={}, known=KnownColumns(source={"note": "text"}, changes=(past,)))
    (other,) = found(replace(NOTE, declared="varchar(3)"), lake={}, known=KnownColumns(changes=(past,)))

    assert again == past
    assert other.since_utc is None


@pytest.mark.parametrize(
    ("was", "now", "what"),
    [
        ("integer", "integer", None),
        ("integer", "bigint", "widened"),
        ("int8", "int2", "narrowed"),
        ("varchar(20)", "varchar(40)", "widened"),
        ("varchar(20)", "character varying(10)", "narrowed"),
        ("varchar(20)", "text", "widened"),
        ("text", "varchar(20)", "narrowed"),
        ("longtext", "text", None),
        ("timestamp(3) without time zone", "timestamp without time zone", "widened"),
        ("timestamp(3) without time zone", "timestamp(3) with time zone", "retyped"),
        ("numeric(12,2)", "numeric(14,2)", "retyped"),
        ("json", "jsonb", "retyped"),
    ],
)
def test_declared_types_tell_wider_from_narrower_and_from_other(was: str, now: str, what: str | None) -> None:
    assert compare_declared(was, now) == (what or ("retyped" if was != now else None))


@given(st.integers(1, 38), st.integers(0, 38), st.integers(1, 38), st.integers(0, 38))
def test_decimals_that_swap_sides_swap_wider_and_narrower(own: int, scale: int, held: int, held_scale: int) -> None:
    scale, held_scale = min(own, scale), min(held, held_scale)
    opposite = {"widened": "narrowed", "narrowed": "widened", "retyped": "retyped", None: None}

    there = compare_with_lake(decimal(own, scale), f"decimal({held},{held_scale})")
    back = compare_with_lake(decimal(held, held_scale), f"decimal({own},{scale})")

    assert back == opposite[there]
    assert (there is None) == ((own, scale) == (held, held_scale))
