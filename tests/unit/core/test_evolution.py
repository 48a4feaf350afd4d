from __future__ import annotations

import pytest

from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.schema_evolution import (
    NOTHING_PULLED,
    Evolution,
    PullRecord,
    describe_change,
    encode_columns,
    evolve,
)
from hudi_reconcile.core.tables.values import LakeColumn, LakeTable, PartitionField, SourceTable

ID = Column("id", Kind.INTEGER, "bigint", nullable=False, bits=64)
AT = Column("at", Kind.TIMESTAMP, "timestamp", precision=6)
NOTE = Column("note", Kind.TEXT, "text")
INT, BIGINT = Column("n", Kind.INTEGER, "integer", bits=32), Column("n", Kind.INTEGER, "bigint", bits=64)


def decimal(precision: int, scale: int) -> Column:
    return Column("n", Kind.DECIMAL, f"numeric({precision},{scale})", precision=precision, scale=scale)


def found(
    *columns: Column,
    lake: dict[str, str],
    past: PullRecord = NOTHING_PULLED,
    exclude: frozenset[str] = frozenset(),
    partitions: tuple[str, ...] = (),
    owned: bool = True,
) -> Evolution:
    source = SourceTable("t", (ID, *columns), ("id",), 0, "i")
    held = tuple(LakeColumn(name, kind) for name, kind in {"id": "bigint", "_hr_read_seq": "bigint", **lake}.items())
    ordering = ("_hr_read_seq",) if owned else ("ts",)
    table = LakeTable(
        "/l", "t", "copy_on_write", 9, held, ("id",), partitions, ordering, "tool" if owned else "event_time"
    )
    by = (PartitionField("at", "day"),)
    return evolve(encode_columns(source, table), table, past, partition_by=by, exclude=exclude)


def lake_types(evolution: Evolution) -> dict[str, str]:
    return {one.name: one.type for one in evolution.columns if one.name not in ("id", "_hr_read_seq")}


def said(evolution: Evolution) -> list[tuple[str, str, bool]]:
    return [(one.what, one.column, one.compared) for one in evolution.changes]


def test_columns_that_are_alike_change_nothing_in_any_order() -> None:
    same = found(NOTE, INT, lake={"n": "int", "note": "string", "at_day": "string"})

    assert (same.changes, same.refused, same.dropped) == ((), (), ())


def test_new_column_is_added_at_the_end_nullable_or_not_and_what_no_lake_type_holds_as_text() -> None:
    columns = (Column("q", Kind.INTEGER, "smallint", nullable=False, bits=16), Column("doc", Kind.OWN_TEXT, "jsonb"))

    new = found(*columns, NOTE, lake={"note": "string"})

    assert lake_types(new) == {"note": "string", "q": "int", "doc": "string"}
    assert said(new) == [("added", "q", True), ("added", "doc", True)]
    assert new.changes[0].source_type == "smallint"
    assert "hold NULL there" in describe_change(new.changes[0], None)


@pytest.mark.parametrize(
    ("column", "was", "becomes"),
    [
        (BIGINT, "int", "bigint"),
        (decimal(12, 2), "decimal(10,2)", "decimal(12,2)"),
        (decimal(12, 2), "decimal(12,4)", "decimal(14,4)"),
        (Column("n", Kind.TEXT, "text"), "string", "string"),
        (INT, "bigint", "bigint"),
        (decimal(10, 2), "decimal(12,2)", "decimal(12,2)"),
        (Column("n", Kind.REAL, "real"), "double", "double"),
        (INT, "string", "string"),
        (Column("n", Kind.DATE, "date"), "string", "string"),
    ],
)
def test_lake_column_gets_wider_or_stays_as_wide_as_it_is(column: Column, was: str, becomes: str) -> None:
    followed = found(column, lake={"n": was})

    assert (lake_types(followed), followed.refused) == ({"n": becomes}, ())
    assert [one[0] for one in said(followed)] == ([] if was == becomes else ["widened"])
    if was != becomes:
        assert describe_change(followed.changes[0], was).endswith(f"the lake's type is now {becomes}, it was {was}")


@pytest.mark.parametrize(
    ("column", "lake"),
    [
        (Column("n", Kind.TEXT, "text"), "int"),
        (INT, "date"),
        (Column("n", Kind.TIMESTAMP, "timestamp", precision=6), "date"),
        (Column("n", Kind.TIMESTAMP, "timestamp", precision=6), "timestamp"),
        (Column("n", Kind.NUMBER, "numeric"), "decimal(10,2)"),
        (decimal(38, 0), "decimal(10,2)"),
        (Column("n", Kind.DOUBLE, "double precision"), "string"),
        (Column("n", Kind.DOUBLE, "double precision"), "float"),
        (Column("n", Kind.BOOLEAN, "boolean"), "int"),
    ],
)
def test_retyped_column_is_refused_with_both_types_and_a_way_out(column: Column, lake: str) -> None:
    (refused,) = found(column, lake={"n": lake}).refused

    assert refused.column == "n"
    assert column.declared in refused.why
    assert lake in refused.why
    assert "new lake.path" in refused.fix
    assert "source.columns" in refused.fix


def test_partition_column_is_not_widened() -> None:
    (refused,) = found(BIGINT, lake={"n": "int"}, partitions=("n",)).refused

    assert "partitioned by it" in refused.why


@pytest.mark.parametrize(
    "past", [NOTHING_PULLED, PullRecord(frozenset({"id", "note", "n"})), PullRecord(dropped=frozenset({"n"}))]
)
@pytest.mark.parametrize("exclude", [frozenset[str](), frozenset({"n"})])
def test_column_that_places_the_lakes_rows_is_never_taken_for_dropped(
    past: PullRecord, exclude: frozenset[str]
) -> None:
    gone = found(NOTE, lake={"note": "string", "n": "string"}, past=past, exclude=exclude, partitions=("n",))

    (refused,) = gone.refused
    assert (refused.column, "partitioned by it" in refused.why, "lake.partition_by" in refused.fix) == ("n", True, True)


def test_dropped_column_is_kept_and_said_once() -> None:
    lake = {"note": "string", "old": "int"}

    first = found(NOTE, lake=lake, past=PullRecord(frozenset({"id", "note", "old"})))

    assert (lake_types(first), said(first)) == (lake, [("dropped", "old", False)])
    assert first.dropped == (LakeColumn("old", "int"),)
    assert "NULL in every row written from now on" in describe_change(first.changes[0], "int")
    later = found(NOTE, lake=lake, past=PullRecord(frozenset({"id", "note"}), frozenset({"old"})))
    assert (later.dropped, later.changes, later.refused) == (first.dropped, (), ())
    back = found(
        NOTE, Column("old", Kind.INTEGER, "integer", bits=32), lake=lake, past=PullRecord(dropped=frozenset({"old"}))
    )
    assert (back.dropped, back.changes) == ((), ())


def test_column_that_only_the_lake_ever_had_is_refused() -> None:
    lake = {"note": "string", "theirs": "int"}

    (refused,) = found(NOTE, lake=lake, past=PullRecord(frozenset({"id", "note"}))).refused
    assert (refused.column, "the source never had" in refused.why) == ("theirs", True)
    assert (
        found(NOTE, lake=lake).refused == ()
    )  # a table of ours without a record: all its columns came from the source
    (foreign,) = found(NOTE, lake=lake, owned=False).refused
    assert foreign.column == "theirs"


def test_drop_and_addition_that_look_like_a_renaming_wait_for_a_word() -> None:
    lake, past = {"memo": "string"}, PullRecord(frozenset({"id", "memo"}))

    (refused,) = found(NOTE, lake=lake, past=past).refused

    assert (refused.column, "note came in" in refused.why) == ("memo", True)
    assert "compare: {rename: {note: memo}}" in refused.fix
    assert "compare: {exclude: [memo]}" in refused.fix
    settled = found(NOTE, lake=lake, past=past, exclude=frozenset({"memo"}))
    assert (settled.refused, lake_types(settled)) == ((), {"memo": "string", "note": "string"})
    assert found(INT, lake=lake, past=past).refused == ()  # text does not become a number by a renaming
    assert found(NOTE, lake=lake, past=PullRecord(frozenset({"id"}), frozenset({"memo"}))).refused == ()


@pytest.mark.parametrize(
    ("name", "why", "rename"),
    [
        ("Note", "differs by case only", "{rename: {Note: note}}"),
        ("a-b", "cannot hold", '{rename: {"a-b": a_b_2}}'),
        ("at_day", "the tool itself", "{rename: {at_day: at_day_2}}"),
    ],
)
def test_new_column_whose_name_the_lake_cannot_hold_is_refused_with_the_line_to_add(
    name: str, why: str, rename: str
) -> None:
    lake = {"note": "string", "at_day": "string"}

    (refused,) = found(NOTE, Column(name, Kind.TEXT, "text"), lake=lake).refused

    assert (refused.column, why in refused.why) == (name, True)
    assert rename in refused.fix
