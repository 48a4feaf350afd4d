from __future__ import annotations

from decimal import Decimal

import pytest

from hudi_reconcile.core.tables.agreement import Agreement, agree, drop_columns, list_lake_only
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.values import LakeColumn, LakeTable, PartitionField, SourceTable

LEGAL = {
    Kind.INTEGER: {"tinyint", "smallint", "int", "bigint"},
    Kind.BOOLEAN: {"boolean"},
    Kind.TEXT: {"string"},
    Kind.CHAR: {"string"},
    Kind.UUID: {"string"},
    Kind.BYTES: {"binary"},
    Kind.DATE: {"date"},
    Kind.TIMESTAMP: {"timestamp", "timestamp_ntz"},
    Kind.TIMESTAMPTZ: {"timestamp"},
    Kind.REAL: {"float", "double"},
    Kind.DOUBLE: {"double", "float"},
    Kind.DECIMAL: {"decimal(10,2)"},
    Kind.NUMBER: {"string"},
    Kind.OWN_TEXT: {"string"},
}
LAKE_TYPES = sorted(set().union(*LEGAL.values()) | {"array<int>", "map<string,int>", "struct<a:int>", "void"})
ID = Column("id", Kind.INTEGER, "bigint", nullable=False)


def table_of(*columns: LakeColumn) -> LakeTable:
    return LakeTable("/l", "t", "copy_on_write", 9, columns, ("id",), (), ("_hr_read_seq",), "tool")


def met(
    *columns: Column,
    lake: dict[str, str],
    exclude: frozenset[str] = frozenset(),
    watermark: tuple[str, ...] = (),
    partition_by: tuple[PartitionField, ...] = (),
) -> Agreement:
    source = SourceTable("public.t", (ID, *columns), ("id",), 0, "i")
    table = table_of(*(LakeColumn(name, kind) for name, kind in {"id": "bigint", **lake}.items()))
    return agree(source, table, watermark=watermark, exclude=exclude, partition_by=partition_by)


def names(found: Agreement) -> tuple[str, ...]:
    return tuple(item.column.name for item in found.columns)


def one(kind: Kind) -> Column:
    digits = (10, 2) if kind is Kind.DECIMAL else (None, None)
    return Column("c", kind, f"declared {kind}", precision=digits[0], scale=digits[1], why="not compared yet")


@pytest.mark.parametrize("lake_type", LAKE_TYPES)
@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.OTHER])
def test_types_meet_only_where_the_pair_is_known_and_are_else_unverified_by_name(kind: Kind, lake_type: str) -> None:
    found = met(one(kind), lake={"c": lake_type})

    if lake_type in LEGAL[kind]:
        assert (names(found), found.unverified) == (("id", "c"), ())
    else:
        assert names(found) == ("id",)
        (item,) = found.unverified
        assert (item.what, item.name) == ("column", "c")
        assert lake_type in item.why
        assert "exclude: [c]" in item.fix


@pytest.mark.parametrize("lake_type", ["string", "bigint", "decimal(10,2)"])
def test_unsupported_source_type_is_unverified_whatever_the_lake_holds(lake_type: str) -> None:
    found = met(one(Kind.OTHER), lake={"c": lake_type})

    assert [(item.name, item.why) for item in found.unverified] == [("c", "not compared yet")]


@pytest.mark.parametrize(
    ("own", "lake_type", "agreed"),
    [
        ((10, 2), "decimal(10,2)", (10, 2)),
        ((10, 2), "decimal(12,1)", (13, 2)),
        ((38, 0), "decimal(38,0)", (38, 0)),
        ((5, 5), "decimal(3,0)", (8, 5)),
        ((38, 18), "decimal(38,18)", (38, 18)),
    ],
)
def test_decimals_meet_on_digits_that_hold_both(own: tuple[int, int], lake_type: str, agreed: tuple[int, int]) -> None:
    column = Column("c", Kind.DECIMAL, "numeric", precision=own[0], scale=own[1])

    found = met(column, lake={"c": lake_type})

    assert found.columns[1].digits == agreed


def test_decimals_that_need_more_than_38_digits_together_are_unverified() -> None:
    column = Column("c", Kind.DECIMAL, "numeric(38,0)", precision=38, scale=0)

    assert [item.name for item in met(column, lake={"c": "decimal(38,2)"}).unverified] == ["c"]


def test_excluded_column_is_neither_compared_nor_unverified_on_either_side() -> None:
    exclude = frozenset({"c", "gone", "extra"})
    columns = (one(Kind.OTHER), Column("gone", Kind.TEXT, "text"))

    found = met(*columns, lake={"c": "string", "extra": "string"}, exclude=exclude)

    assert (names(found), found.unverified) == (("id",), ())


def test_key_is_compared_even_where_it_is_excluded() -> None:
    found = met(one(Kind.TEXT), lake={"c": "string"}, exclude=frozenset({"id", "c"}))

    assert names(found) == ("id",)


def test_column_that_only_the_source_has_is_unverified() -> None:
    (item,) = met(one(Kind.TEXT), lake={}).unverified

    assert (item.name, item.why) == ("c", "the lake table has no column c")


def test_column_that_only_the_lake_has_is_unverified() -> None:
    (item,) = met(lake={"extra": "string"}).unverified

    assert (item.name, item.why) == ("extra", "the lake has this column, the source does not")


def test_columns_of_hudi_and_of_the_tool_are_nobodys_business() -> None:
    lake = {"_hoodie_commit_time": "string", "_hr_read_seq": "bigint", "at_month": "string", "at": "timestamp_ntz"}
    at = Column("at", Kind.TIMESTAMP, "timestamp")

    found = met(at, lake=lake, partition_by=(PartitionField("at", "month"),))

    assert (names(found), found.unverified) == (("id", "at"), ())


def test_derived_looking_column_that_the_config_does_not_derive_is_unverified() -> None:
    assert [item.name for item in met(lake={"at_month": "string"}).unverified] == ["at_month"]


def test_renamed_column_meets_its_lake_name_and_keeps_its_source_name() -> None:
    column = Column("Order No", Kind.TEXT, "text", lake_name="order_no")

    found = met(column, lake={"order_no": "string"})

    assert (names(found), found.unverified) == (("id", "Order No"), ())


def test_index_is_the_place_in_the_source_read() -> None:
    columns = (Column("a", Kind.OTHER, "xml"), Column("b", Kind.TEXT, "text"))

    found = met(*columns, lake={"a": "string", "b": "string"})

    assert [(item.column.name, item.index) for item in found.columns] == [("id", 0), ("b", 2)]


def test_excluded_watermark_still_tells_why_a_row_drifted() -> None:
    at = Column("at", Kind.TIMESTAMP, "timestamp")

    found = met(at, lake={"at": "timestamp"}, exclude=frozenset({"at"}), watermark=("at",))

    assert (names(found), [item.column.name for item in found.watermark]) == (("id",), ["at"])


def test_excluded_columns_are_not_even_read_but_for_the_key() -> None:
    source = SourceTable("t", (ID, one(Kind.TEXT)), ("id",), 0, "i")

    assert drop_columns(source, frozenset({"id", "c"})).columns == (ID,)


@pytest.mark.parametrize(
    ("own", "lake_type", "kept"),
    [
        ((12, 4), "decimal(12,2)", 2),
        ((5, 1), "decimal(10,0)", 0),
        ((12, 2), "decimal(12,2)", None),
        ((12, 2), "decimal(14,2)", None),
        ((12, 2), "decimal(12,4)", None),
        ((14, 2), "decimal(10,2)", None),
    ],
)
def test_decimals_are_cut_only_where_the_lake_has_fewer_digits_after_the_point(
    own: tuple[int, int], lake_type: str, kept: int | None
) -> None:
    column = Column("c", Kind.DECIMAL, "numeric", precision=own[0], scale=own[1])

    found = met(column, lake={"c": lake_type})

    assert found.columns[1].fraction_digits == kept
    assert [item.column.name for item in found.cut] == (["c"] if kept is not None else [])
    assert found.unverified == ()


def test_what_is_left_of_a_value_is_said_in_words() -> None:
    one_digit = met(Column("c", Kind.DECIMAL, "numeric", precision=5, scale=3), lake={"c": "decimal(4,1)"})
    double = met(Column("c", Kind.DOUBLE, "double precision"), lake={"c": "float"})

    assert [item.cut_to for item in (*one_digit.cut, *double.cut)] == ["1 digit after the point", "a 4-byte float"]


@pytest.mark.parametrize(("kind", "lake_type"), [(Kind.REAL, "double"), (Kind.REAL, "float"), (Kind.DOUBLE, "double")])
def test_floats_that_the_lake_holds_exactly_are_not_cut(kind: Kind, lake_type: str) -> None:
    assert met(Column("c", kind, "x"), lake={"c": lake_type}).cut == ()


@pytest.mark.parametrize(
    ("own", "held", "kept"), [(6, 3, 3), (None, 3, 3), (3, 3, None), (0, 3, None), (6, None, None)]
)
@pytest.mark.parametrize("kind", [Kind.TIMESTAMP, Kind.TIMESTAMPTZ])
def test_timestamps_are_cut_where_the_lake_is_known_to_hold_fewer_digits(
    kind: Kind, own: int | None, held: int | None, kept: int | None
) -> None:
    source = SourceTable("t", (ID, Column("c", kind, "timestamp", precision=own)), ("id",), 0, "i")
    lake = table_of(LakeColumn("id", "bigint"), LakeColumn("c", "timestamp", fraction_digits=held))

    found = agree(source, lake, watermark=(), exclude=frozenset(), partition_by=())

    assert found.columns[1].fraction_digits == kept


@pytest.mark.parametrize(
    ("column", "lake_type"),
    [
        (Column("c", Kind.DECIMAL, "numeric(12,4)", precision=12, scale=4), "decimal(12,2)"),
        (Column("c", Kind.DOUBLE, "double precision"), "float"),
    ],
)
def test_column_with_tolerance_is_compared_on_all_its_digits(column: Column, lake_type: str) -> None:
    source = SourceTable("t", (ID, column), ("id",), 0, "i")
    lake = table_of(LakeColumn("id", "bigint"), LakeColumn("c", lake_type))

    found = agree(
        source, lake, watermark=(), exclude=frozenset(), partition_by=(), tolerance={"c": Decimal("0.01")}
    )  # fmt: skip

    assert (found.cut, found.columns[1].tolerance, found.columns[0].tolerance) == ((), Decimal("0.01"), None)


def test_key_is_never_cut_since_two_keys_would_become_one() -> None:
    key = Column("k", Kind.DECIMAL, "numeric(8,4)", nullable=False, precision=8, scale=4)
    source = SourceTable("t", (key,), ("k",), 0, "i")

    found = agree(
        source, table_of(LakeColumn("k", "decimal(8,2)")), watermark=(), exclude=frozenset(), partition_by=()
    )  # fmt: skip

    assert (found.key[0].fraction_digits, found.key[0].digits) == (None, (10, 4))


def test_columns_that_only_the_lake_has_are_those_that_nobody_put_there_on_purpose() -> None:
    lake = table_of(*(LakeColumn(name, "string") for name in ("id", "_hr_read_seq", "_hoodie_file_name", "x", "y")))

    found = list_lake_only(SourceTable("t", (ID,), ("id",), 0, "i"), lake, exclude=frozenset({"y"}), partition_by=())

    assert [column.name for column in found] == ["x"]
