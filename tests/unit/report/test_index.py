"""The index: no table stands better than its newest runs let it, the worst is first, and the page stays small."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hudi_reconcile.app.pages import sample_rows
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.report.page.html import render_index, render_report
from hudi_reconcile.report.page.sections import RunDocuments
from hudi_reconcile.report.page.trend import MOST_POINTS, NEVER, Index, build_index
from tests.unit.report.stories import FINDINGS, ORDERS, PLAN, earlier, past_run, run_of
from tests.unit.report.test_html import Elements

TABLES, FINDINGS_OF_ALL, MOST_BYTES = 50, 1_000_000, 2_000_000


def line(day: int, command: str, outcome: str, drift: int | None = 0, **said: Any) -> Any:
    return {**past_run(day, said.pop("table", "orders"), outcome, drift, command=command, **said), "why": ""}


def index_over(*past: Any) -> Index:
    return build_index(past, as_of="r")


def standing(*past: Any) -> str:
    (table,) = index_over(*past).tables
    return table.outcome


DRIFTED = line(1, "sweep", "drift", 9)
APPLIED = line(2, "apply", "corrected", applied=9)
CHECK_FAILED = line(3, "check", "drift", open_rules=1)
RULE_FAILED = line(1, "run", "drift", 9, open_rules=1)


@pytest.mark.parametrize(
    ("past", "expected"),
    [
        ([DRIFTED], "drift"),
        ([line(2, "pull", "pulled"), DRIFTED], "drift"),
        ([line(2, "check", "clean"), DRIFTED], "drift"),
        ([line(2, "apply", "corrected", applied=9), DRIFTED], "corrected"),
        ([line(3, "apply", "corrected", applied=0), line(2, "apply", "corrected", applied=9), DRIFTED], "corrected"),
        ([line(2, "apply", "corrected", applied=8), DRIFTED], "drift"),
        ([line(2, "apply", "corrected", applied=0, applied_before=9), DRIFTED], "corrected"),
        ([line(3, "apply", "corrected", applied=9, plan="old"), line(2, "sweep", "drift", 1), DRIFTED], "drift"),
        ([line(3, "apply", "corrected", applied=1), line(2, "apply", "corrected", applied=8, plan="old"), DRIFTED], "drift"),
        ([line(2, "apply", "corrected", applied=9, plan=None), line(1, "sweep", "drift", 9, plan=None)], "drift"),
        ([line(2, "apply", "corrected", applied=9), RULE_FAILED], "drift"),
        ([line(3, "check", "clean"), line(2, "apply", "corrected", applied=9), RULE_FAILED], "corrected"),
        ([line(3, "check", "drift"), line(2, "apply", "corrected", applied=9), RULE_FAILED], "drift"),
        ([line(4, "sweep", "clean"), CHECK_FAILED], "drift"),
        ([line(5, "check", "clean"), line(4, "sweep", "clean"), CHECK_FAILED], "clean"),
        ([line(4, "sweep", "clean"), line(3, "check", "clean"), RULE_FAILED], "clean"),
        ([line(4, "sweep", "clean"), RULE_FAILED], "drift"),
        ([line(5, "run", "clean"), line(4, "sweep", "clean"), RULE_FAILED], "clean"),
        ([line(2, "apply", "refused"), DRIFTED], "refused"),
        ([line(2, "apply", "corrected", applied=9), line(1, "run", "refused")], "refused"),
        ([line(2, "apply", "incomplete", applied=9), DRIFTED], "incomplete"),
        ([line(3, "undo", "corrected"), line(2, "apply", "corrected", applied=9), DRIFTED], "drift"),
        ([line(2, "apply", "corrected", applied=9), line(1, "sweep", "unverified", 9)], "unverified"),
        ([line(2, "pull", "unverified"), line(1, "sweep", "clean")], "unverified"),
        ([line(3, "pull", "pulled"), line(2, "pull", "unverified"), line(1, "sweep", "clean")], "clean"),
        ([line(2, "check", "drift"), line(1, "sweep", "clean")], "drift"),
        ([line(2, "sweep", "clean"), DRIFTED], "clean"),
        ([line(1, "pull", "pulled")], NEVER),
        ([line(1, "pull", "refused")], "refused"),
        ([line(1, "approve", "approved"), line(1, "check", "clean")], NEVER),
    ],
)  # fmt: skip
def test_table_stands_as_the_gravest_of_what_still_counts(past: Any, expected: str) -> None:
    assert standing(*past) == expected


def test_tables_come_worst_first_then_by_drift_then_the_longest_ago() -> None:
    found = index_over(
        line(9, "sweep", "clean", table="fresh"),
        line(8, "sweep", "clean", table="stale"),
        line(7, "pull", "pulled", table="never"),
        line(6, "sweep", "drift", 2, table="little"),
        line(5, "sweep", "drift", 900, table="much"),
        line(4, "sweep", "unverified", None, table="lost"),
    )

    assert [one.name for one in found.tables] == ["lost", "much", "little", "never", "stale", "fresh"]
    assert found.sentence == "4 of 6 tables need a look."
    assert found.tables[0].drift is None


@pytest.mark.parametrize(
    ("past", "why"),
    [
        ([line(1, "run", "drift", 9, applied=9, open_rules=1)], "1 rule failed; the drift was corrected"),
        ([line(1, "run", "incomplete", 9, applied=9, open_rules=1)], "1 rule failed or could not run"),
        ([line(2, "undo", "corrected"), line(1, "run", "drift", 9, applied=9, open_rules=1)], "1 rule failed"),
        ([line(4, "undo", "corrected", applied=9), CHECK_FAILED, APPLIED, DRIFTED], "1 rule failed"),
        (
            [line(5, "undo", "corrected"), line(4, "undo", "corrected", applied=9), CHECK_FAILED, APPLIED, DRIFTED],
            "1 rule failed",
        ),
        ([CHECK_FAILED, APPLIED, DRIFTED], "1 rule failed; the drift was corrected"),
        ([line(2, "check", "drift", open_rules=2), line(1, "sweep", "clean")], "2 rules failed"),
        ([RULE_FAILED], "1 rule failed"),
        ([line(1, "run", "unverified", 9, open_rules=1)], "1 rule failed or could not run"),
        ([line(3, "check", "clean"), line(2, "apply", "corrected", applied=9), RULE_FAILED], ""),
        ([DRIFTED], ""),
    ],
)
def test_rules_that_did_not_hold_are_said_beside_how_the_table_stands(past: Any, why: str) -> None:
    found = index_over(*past)

    assert found.tables[0].why == why
    assert f"<br>{why}</td>" in render_index(found, "") or not why


def test_link_leads_to_the_run_that_says_so_and_to_the_tables_place_in_it() -> None:
    both = {**DRIFTED, "tables": [*past_run(1, "items", "clean", 0)["tables"], *DRIFTED["tables"]]}
    page = render_index(index_over(line(2, "apply", "refused"), both), "../my reports/")

    targets = [value for tag, name, value in Elements(page).attributes if (tag, name) == ("a", "href")]
    assert targets[1:] == [
        "../my%20reports/20261102T020000Z-000002/report.html#table-1",
        "../my%20reports/20261101T020000Z-000001/report.html#table-1",
    ]


def test_run_that_cannot_be_read_is_named() -> None:
    lost = {**DRIFTED, "run_id": "x", "tables": [], "why": "result.json is no JSON document"}

    page = render_index(index_over(lost, line(1, "sweep", "clean")), "")

    assert "x: result.json is no JSON document" in page


def test_index_of_no_runs_says_so() -> None:
    assert "No run has touched a table yet." in render_index(index_over(), "")


def many_tables() -> Any:
    each = FINDINGS_OF_ALL // TABLES
    columns = {f"column_{number}": each for number in range(40)}
    return [
        replace(
            ORDERS,
            name=f"warehouse_table_{number:02}",
            findings={"deleted": each // 2, "updated_without_watermark": each - each // 2},
            anatomy=replace(ORDERS.anatomy, columns=columns) if ORDERS.anatomy else None,
            outcome=Outcome.DRIFT,
        )
        for number in range(TABLES)
    ]


def test_index_of_fifty_tables_with_a_million_findings_stays_small() -> None:
    tables = many_tables()
    past = [{**run_of("sweep", *tables), "why": ""}]
    lines = [
        {**past[0], "tables": [{**past_run(1, one.name, "drift", 20_000)["tables"][0]} for one in tables]}
        for _ in range(MOST_POINTS)
    ]

    page = render_index(build_index(lines, as_of="r"), "")

    assert len(page.encode()) < MOST_BYTES
    assert "20,000" in page


def test_report_of_fifty_tables_with_a_million_findings_stays_small() -> None:
    tables = many_tables()
    names = [one.name for one in tables]
    long = {**FINDINGS[4], "source": {**FINDINGS[4]["source"], "values": {"note": "y" * 4_000, "memo": "z" * 4_000}}}
    sample = [long] * sample_rows(TABLES)
    past = [one for name in names for _ in range(4) for one in earlier(name)[1]]
    kept = RunDocuments({name: {**PLAN, "table": name} for name in names}, dict.fromkeys(names, sample), {}, past)

    page = render_report(run_of("sweep", *tables), kept)

    assert len(page.encode()) < MOST_BYTES
    assert f"{FINDINGS_OF_ALL:,}" in page
    assert all(name in page for name in names)
