"""The five figures at the top: none of them says more than the result proves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import CompareSettings, Corrections, Unverified
from hudi_reconcile.report.page.view import list_numbers
from tests.unit.report.stories import APART, ITEMS, run_of

WHOLE = replace(ITEMS, whole=True)


def tile_of(label: str, command: str, *tables: TableResult) -> tuple[str, str]:
    (found,) = [(one.value, one.detail) for one in list_numbers(run_of(command, *tables)) if one.label == label]
    return found


def left_out(command: str, *tables: TableResult) -> tuple[str, str]:
    return tile_of("Not compared", command, *tables)


def test_what_an_earlier_apply_of_the_plan_wrote_is_said_beside_what_this_one_did() -> None:
    done = Corrections(upserts=12, deletes=10, applied=2, applied_before=10)
    applied = TableResult("orders", Outcome.INCOMPLETE, corrections=done)

    assert tile_of("Corrections written", "apply", applied) == (
        "2",
        "of 22 planned: 12 upserts, 10 deletes; 10 more written before",
    )
    before = replace(applied, corrections=replace(done, applied_before=0))
    assert tile_of("Corrections written", "apply", before) == ("2", "of 22 planned: 12 upserts, 10 deletes")


def test_nothing_is_left_out_only_where_every_table_was_compared_whole() -> None:
    assert left_out("sweep", WHOLE) == ("0", "nothing left out")
    assert left_out("sweep", WHOLE, replace(ITEMS, name="orders")) == ("some", "named in the report, table by table")


@pytest.mark.parametrize(
    "changed",
    [
        {"compare": CompareSettings(exclude=("memo",))},
        {"compare": CompareSettings(tolerance={"price": 0.1})},
        {"precision": APART["precision"]},
    ],
)
def test_what_the_config_or_the_types_leave_out_is_not_nothing(changed: dict[str, object]) -> None:
    assert left_out("run", replace(WHOLE, **changed))[0] == "some"  # type: ignore[arg-type]


@pytest.mark.parametrize(("command", "value"), [("approve", "all"), ("apply", "the rest"), ("undo", "the rest")])
def test_command_that_compares_no_whole_table_never_says_that_nothing_was_left_out(command: str, value: str) -> None:
    assert left_out(command, TableResult("orders", Outcome.CORRECTED))[0] == value


def test_what_could_not_be_compared_is_counted() -> None:
    gap = Unverified("column", "tags", "no rule", "exclude it")

    assert left_out("sweep", replace(WHOLE, unverified=(gap,))) == ("1", "columns, segments or tables")
