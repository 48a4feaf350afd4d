"""What was not compared is listed, and `nothing` is said only where the result proves it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import CompareSettings, CoverageSummary, Unverified
from hudi_reconcile.report.words.scope import NOTHING_LEFT_OUT, list_not_compared
from tests.unit.report.stories import APART, ITEMS, run_of

WHOLE = replace(ITEMS, whole=True)


def lines(table: TableResult, command: str = "sweep") -> tuple[str, ...]:
    run = run_of(command, table)
    return list_not_compared(run, run["tables"][0])


def test_nothing_was_left_out_of_a_whole_comparison_of_all_columns() -> None:
    assert lines(WHOLE) == (NOTHING_LEFT_OUT,)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"compare": CompareSettings(exclude=("note",))}, "column note: left out by compare.exclude"),
        ({"compare": CompareSettings(tolerance={"fx": 0.01})}, "column fx: differences up to 0.01"),
        ({"unverified": (Unverified("column", "tags", "no tested rule", "exclude it"),)}, "column tags: no tested rule"),
        (APART, "1,200 source rows not compared"),
        ({"whole": False}, "Not every row"),
        (
            {"whole": False, "coverage": CoverageSummary(9, 4, 1, "2026-11-01T00:00:00Z", source_rows_left_out=12)},
            "4 of 9 segments compared, 1 never yet",
        ),
        (
            {"whole": False, "coverage": CoverageSummary(9, 4, 1, "2026-11-01T00:00:00Z", source_rows_left_out=12)},
            "12 rows of the source",
        ),
    ],
)  # fmt: skip
def test_what_was_left_out_is_named(changes: dict[str, Any], said: str) -> None:
    found = lines(replace(WHOLE, **changes))

    assert NOTHING_LEFT_OUT not in found
    assert [line for line in found if said in line]


@pytest.mark.parametrize("command", ["pull", "check", "apply", "approve", "undo"])
def test_command_that_does_not_compare_the_table_never_says_nothing_was_left_out(command: str) -> None:
    found = lines(replace(WHOLE, outcome=Outcome.CORRECTED), command)

    assert NOTHING_LEFT_OUT not in found
    assert found[0].startswith(("Everything", "All but"))
