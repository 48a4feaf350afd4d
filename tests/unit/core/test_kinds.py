from __future__ import annotations

from hudi_reconcile.core.tables.kinds import KEY_KINDS, WATERMARK_KINDS, Column, Kind


def test_floats_and_unknown_types_cannot_name_a_row() -> None:
    assert set(Kind) - KEY_KINDS == {Kind.REAL, Kind.DOUBLE, Kind.OTHER}


def test_times_and_exact_numbers_can_be_a_watermark() -> None:
    assert {Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.INTEGER, Kind.DECIMAL} == WATERMARK_KINDS


def test_column_that_is_not_renamed_has_its_own_name_in_the_lake() -> None:
    assert Column("Order No", Kind.TEXT, "text").lake_name == "Order No"
    assert Column("Order No", Kind.TEXT, "text", lake_name="order_no").lake_name == "order_no"
