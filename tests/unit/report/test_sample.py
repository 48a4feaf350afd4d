"""A finding in the report shows what differs, and says so where the eye would not see it."""

from __future__ import annotations

from typing import Any

import pytest

from hudi_reconcile.report.page.sample import MAX_COLUMNS, ValueCell, show_finding
from tests.unit.report.stories import finding, in_lake, side


def one_column(source: Any, lake: Any) -> Any:
    found = finding("updated_without_watermark", {"id": 1}, ["note"], side(note=source), in_lake(note=lake))
    return show_finding(found).columns[0]


@pytest.mark.parametrize(
    ("source", "lake", "note"),
    [
        ("a", "b", ""),
        ("Straße", "STRASSE", "differ in letter case only"),
        ("\u00e9", "e\u0301", "differ in Unicode form only"),
        ("x" * 300 + "a", "x" * 300 + "b", "differ beyond what is shown"),
        ("same", "same", "differ, though written alike"),
        (None, "", ""),
    ],
)
def test_difference_that_cannot_be_seen_is_named(source: Any, lake: Any, note: str) -> None:
    assert one_column(source, lake).note == note


def test_null_empty_and_text_are_told_apart() -> None:
    cells = [one_column(value, "x").source for value in (None, "", "NULL", 0, False)]

    assert [(cell.kind, cell.text) for cell in cells] == [
        ("null", "NULL"),
        ("empty", "empty text"),
        ("value", "NULL"),
        ("value", "0"),
        ("value", "false"),
    ]


def test_differing_characters_are_marked_on_both_sides() -> None:
    column = one_column("Zürich 8001", "Zürich 8002")

    assert column.source.parts == (("Zürich 800", False), ("1", True))
    assert column.lake.parts == (("Zürich 800", False), ("2", True))
    assert one_column(None, "x").lake.parts == ()


def test_masked_column_has_a_place_and_no_value() -> None:
    found = finding("updated_without_watermark", {"id": 1}, ["email"], side(), in_lake())

    assert show_finding(found).columns[0].source == ValueCell("masked", "not shown")


def test_masked_side_without_any_value_is_shown_as_masked() -> None:
    found = finding("updated_without_watermark", {"id": 1}, ["email"], {**side(), "values": None}, in_lake())

    assert show_finding(found).columns[0].source == ValueCell("masked", "not shown")


def test_row_of_one_side_shows_its_columns_but_not_its_key_twice() -> None:
    found = finding("deleted", {"customer_id": 4711}, [], None, in_lake())

    columns = show_finding(found).columns
    assert [column.name for column in columns] == ["amount", "status", "Watermark"]
    assert {column.source for column in columns} == {None}


def test_wide_difference_is_cut_and_counted() -> None:
    names = [f"c{number}" for number in range(MAX_COLUMNS + 3)]
    values = dict.fromkeys(names, "x")
    found = finding("updated_without_watermark", {"id": 1}, names, side(**values), in_lake(**values))

    assert show_finding(found).hidden_columns == 3
