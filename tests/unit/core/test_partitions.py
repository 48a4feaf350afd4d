from __future__ import annotations

from dataclasses import replace

import pytest

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.partitions import (
    CalendarRange,
    Equals,
    IsEmpty,
    PartitionRows,
    build_near,
    derive_path_rule,
    scope_of_paths,
    select_derived,
)
from hudi_reconcile.core.tables.values import LakeColumn, LakeTable, PartitionField, PathForm, SourceTable
from hudi_reconcile.databases.postgres import dialect
from hudi_reconcile.sql.reads import partition_predicate

PLACED, REGION, SHOP = (
    Column("placed_on", Kind.DATE, "date"),
    Column("region", Kind.TEXT, "text"),
    Column("shop", Kind.INTEGER, "integer", bits=32),
)
SOURCE = SourceTable("orders", (PLACED, REGION, SHOP), ("shop",), 0, "id")
MONTH = (PartitionField("placed_on", "month"),)
MARCH = 1_772_323_200_000_000  # 2026-03-01 in microseconds
DAY = 86_400_000_000


def lake(*fields: str, hive_style: bool = True) -> LakeTable:
    names = ("placed_on", "region", "shop", "placed_on_month", "elsewhere")
    columns = tuple(LakeColumn(name, "string") for name in names)
    return LakeTable(
        "/l",
        "t",
        "copy_on_write",
        9,
        columns,
        ("shop",),
        fields,
        ("_hr_read_seq",),
        "tool",
        PathForm(hive_style, hive_style),
    )


def test_conditions_are_a_half_open_range_an_equality_or_null() -> None:
    rule = derive_path_rule("t", SOURCE, lake("placed_on_month", "region", "shop"), MONTH)

    found = build_near(
        rule,
        [
            "placed_on_month=2026-03/region=eu/shop=7",
            "placed_on_month=2026-12/region=__HIVE_DEFAULT_PARTITION__/shop=-1",
        ],
    )

    assert found == (
        (CalendarRange(PLACED, MARCH, MARCH + 31 * DAY), Equals(REGION, "eu"), Equals(SHOP, 7)),
        (CalendarRange(PLACED, MARCH + 275 * DAY, MARCH + 306 * DAY), IsEmpty(REGION), Equals(SHOP, -1)),
    )
    assert partition_predicate(dialect, found) == (
        '("placed_on" >= date \'2026-03-01\' and "placed_on" < date \'2026-04-01\' and "region" = \'eu\' and "shop" = 7)'
        " or (\"placed_on\" >= date '2026-12-01' and \"placed_on\" < date '2027-01-01'"
        ' and ("region" is null or "region" = \'\') and "shop" = -1)'
    )


@pytest.mark.parametrize("value", ["o'brien", "a\\b", "eu ", "é", "%27"])
def test_text_that_a_database_may_read_otherwise_is_not_asked_for(value: str) -> None:
    rule = derive_path_rule("t", SOURCE, lake("region", hive_style=False), ())

    assert build_near(rule, [value]) is None


@pytest.mark.parametrize("year", ["0044", "1582", "9999", "+10000"])
def test_years_on_which_calendars_and_drivers_differ_are_legal_but_not_asked_for(year: str) -> None:
    rule = derive_path_rule("t", SOURCE, lake("placed_on_month", hive_style=False), MONTH)

    assert scope_of_paths("t", rule, [f"{year}-03"], ()).near is None


def test_path_that_is_not_of_this_style_is_another_value() -> None:
    rule = derive_path_rule("t", SOURCE, lake("region", hive_style=False), ())

    assert build_near(rule, ["region=eu"]) is None  # the value itself is `region=eu`: nothing safe to ask


@pytest.mark.parametrize(
    "path",
    [
        "2026-03",
        "placed_on_month=2026-13",
        "placed_on_month=2026-3",
        "placed_on_month=",
        "placed_on_month=2026-03/x=1",
        "x=2026-03",
    ],
)
def test_path_that_no_row_can_have_is_refused_with_those_that_there_are(path: str) -> None:
    rule = derive_path_rule("t", SOURCE, lake("placed_on_month"), MONTH)
    there = [PartitionRows(f"placed_on_month=2026-0{month}", 5) for month in range(1, 8)]

    with pytest.raises(UsageError, match="no row can lie in partition") as error:
        scope_of_paths("t", rule, [path], there)

    assert "placed_on_month=2026-07, placed_on_month=2026-06" in error.value.fix
    assert "and 2 more" in error.value.fix


def test_path_that_the_lake_lacks_but_a_row_may_have_is_taken_once() -> None:
    rule = derive_path_rule("t", SOURCE, lake("placed_on_month"), MONTH)

    assert scope_of_paths("t", rule, ["placed_on_month=2026-03"] * 2, ()).paths == ("placed_on_month=2026-03",)


def test_lake_whose_rows_lie_elsewhere_is_refused() -> None:
    rule = derive_path_rule("t", SOURCE, lake("region"), ())

    with pytest.raises(UsageError, match=r"3 lake rows lie in other partitions .* such as in region=eu"):
        scope_of_paths("t", rule, ["region=eu"], [PartitionRows("region=eu", 5, unlike=3)])


def test_table_without_partitions_refuses_the_option_by_name() -> None:
    with pytest.raises(UsageError, match="has no partitions: --where-partition"):
        derive_path_rule("t", SOURCE, lake(), ())


@pytest.mark.parametrize("fields", [("elsewhere",), ("region", "elsewhere"), ("placed_on_month",)])
def test_partition_that_no_source_column_tells_is_refused(fields: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=f"no source column tells a row's {fields[-1]}"):
        derive_path_rule("t", SOURCE, lake(*fields), ())


def test_partition_of_a_float_is_refused_and_so_is_one_of_a_masked_column() -> None:
    real = replace(SOURCE, columns=(PLACED, replace(REGION, kind=Kind.REAL), SHOP))

    with pytest.raises(UsageError, match="no source column tells"):
        derive_path_rule("t", real, lake("region"), ())
    with pytest.raises(UsageError, match="values of region, which is masked"):
        derive_path_rule("t", SOURCE, lake("region"), (), masked={"region"})


def test_renamed_column_is_found_by_its_name_in_the_lake() -> None:
    renamed = replace(SOURCE, columns=(PLACED, replace(REGION, name="area", lake_name="region"), SHOP))

    (field,) = derive_path_rule("t", renamed, lake("region"), ()).fields

    assert (field.column.name, field.index) == ("area", 1)


def test_derived_column_follows_from_a_calendar_column_that_the_lake_holds_as_text() -> None:
    """As a zoned timestamp is held that is part of the key."""
    at = Column("placed_on", Kind.OWN_TEXT, "timestamp with time zone")
    source = replace(SOURCE, columns=(at, REGION, SHOP))

    rule = select_derived(source, lake("placed_on_month"), MONTH, ())

    assert rule is not None
    assert [(field.lake_name, field.column, field.transform) for field in rule.fields] == [
        ("placed_on_month", at, "month")
    ]
    assert select_derived(source, lake("placed_on_month"), MONTH, ("placed_on",)) == rule, (
        "the lake's rows tell it alone"
    )
    assert select_derived(source, lake("placed_on_month"), MONTH, ("placed_on_month",)) is None
    numbers = (LakeColumn("placed_on", "bigint"), LakeColumn("placed_on_month", "string"))
    assert select_derived(source, replace(lake("placed_on_month"), columns=numbers), MONTH, ()) is None
