"""docs/seeds.md: every row is there once, what it calls done names a test, and what it counts is what its tables hold."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import pytest

from tests.support.docs import ROOT, names_of_tests

SECTIONS = re.split(r"^## ", (ROOT / "docs" / "seeds.md").read_text("utf-8"), flags=re.MULTILINE)[1:]
DOCUMENTS = {"RFC-14": "RFC-14", "deep dive": "The deep dive", "card": "The card"}
STATES = ("done", "differently", "partial", "missing")
LAST_ROW = 111


@dataclass(frozen=True, slots=True)
class Row:
    """One sentence of a seed: its number, and what stands in the last three cells."""

    number: int
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    state: str


def cells_of(section: str) -> list[list[str]]:
    """The cells of each row of a section that begins with a number."""
    lines = re.findall(r"^\| (\d+ \|.*) \|$", section, re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")] for line in lines]


def rows_of(title: str) -> list[Row]:
    """The rows of a document's table."""
    (section,) = [one for one in SECTIONS if one.startswith(title)]
    found = []
    for cells in cells_of(section):
        number, _, _, modules, tests, state = cells
        found.append(Row(int(number), quoted(modules), quoted(tests), state))
    return found


def quoted(cell: str) -> tuple[str, ...]:
    """What stands in backquotes; everything in the cell does."""
    found = re.findall(r"`([^`]+)`", cell)
    assert cell == ", ".join(f"`{one}`" for one in found)
    return tuple(found)


ROWS = {name: rows_of(title) for name, title in DOCUMENTS.items()}
EVERY = [row for rows in ROWS.values() for row in rows]


def test_rows_of_the_seeds_are_numbered_without_a_gap_through_all_documents() -> None:
    assert [row.number for row in EVERY] == list(range(1, LAST_ROW + 1))


@pytest.mark.parametrize("row", EVERY, ids=lambda row: str(row.number))
def test_row_of_the_seeds_has_a_state_files_that_exist_and_tests_that_exist(row: Row) -> None:
    assert row.state in STATES
    assert [
        one for one in row.modules if not ((ROOT / "hudi_reconcile" / one).is_file() or (ROOT / one).is_file())
    ] == []
    for test in row.tests:
        path, _, name = test.partition("::")
        assert names_of_tests(path)
        assert not name or name in names_of_tests(path)
    assert row.state != "done" or row.tests


def test_counts_of_the_seeds_are_those_of_the_tables() -> None:
    (section,) = [one for one in SECTIONS if one.startswith("Counts")]
    said = {
        name.strip(): [int(number) for number in numbers.split(" | ")]
        for name, numbers in re.findall(r"^\| ([a-zA-Z][\w -]*) \| (\d[\d |]*\d) \|$", section, re.MULTILINE)
    }
    counted = {name: Counter(row.state for row in rows) for name, rows in {**ROWS, "all": EVERY}.items()}

    assert said == {name: [*(found[state] for state in STATES), found.total()] for name, found in counted.items()}


def test_every_row_of_the_seeds_that_is_not_done_has_its_reason_under_its_state() -> None:
    (section,) = [one for one in SECTIONS if one.startswith("Counts")]
    reasons = cells_of(section)

    assert [(int(number), state) for number, state, _ in reasons] == [
        (row.number, row.state) for row in EVERY if row.state != "done"
    ]
    assert [number for number, _, why in reasons if not why] == []
