"""What the log says while a table is worked on: its stages by name, with seconds, and how it ended."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.steps import StepName
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import Corrections, Cost, Failure, Guard, Pulled
from hudi_reconcile.core.result_queries import describe_result
from hudi_reconcile.stages.stage_log import Laps, TableLog, step_log
from tests.fakes.world import World, applied, job, pulled, swept

ROWS = ((1, 10, 100), (2, 20, 200), (3, 30, 300))


@pytest.fixture(autouse=True)
def _log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.INFO, "hudi_reconcile.stages"):
        yield


def stages(caplog: pytest.LogCaptureFixture) -> list[tuple[str, bool]]:
    """The stages in the order of their lines; True where a line ends one, with its seconds."""
    lines = [one for one in caplog.records if hasattr(one, "stage")]
    assert {vars(one)["table"] for one in lines} <= {job().name}
    return [(vars(one)["stage"], hasattr(one, "seconds")) for one in lines]


def ends(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [stage for stage, is_over in stages(caplog) if is_over]


def drifted() -> World:
    world = pulled(*ROWS)
    world.source.delete(1)
    world.source.put(2, 21, 200)
    return world


def test_sweep_says_each_phase_of_its_cost_as_it_begins_and_ends(caplog: pytest.LogCaptureFixture) -> None:
    world = drifted()
    caplog.clear()
    cost = swept(world).result.cost

    assert stages(caplog) == [("compare", False), ("compare", True), ("judge", False), ("judge", True)]
    assert ends(caplog) == list(cost.phases_seconds)


def test_pull_says_when_it_writes(caplog: pytest.LogCaptureFixture) -> None:
    pulled(*ROWS)

    assert stages(caplog) == [("write", False), ("write", True)]


def test_apply_says_each_step_that_it_took_as_it_begins_and_ends(caplog: pytest.LogCaptureFixture) -> None:
    world = drifted()
    plan = swept(world).draft
    caplog.clear()

    steps = applied(world, plan).corrections.steps

    assert ends(caplog) == [str(step) for step in steps]
    assert StepName.COMMIT in steps
    assert stages(caplog) == [(str(step), is_over) for step in steps for is_over in (False, True)]


def test_lines_hold_no_value_of_a_row(caplog: pytest.LogCaptureFixture) -> None:
    world = pulled((1, 987_654, 100), (2, 20, 200))
    world.source.put(1, 456_789, 100)

    applied(world, swept(world).draft)

    assert not any(value in caplog.text for value in ("987654", "456789"))


def test_step_that_an_error_ends_has_no_last_line(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> None:
        with step_log("t", World.new().edges.clock) as say:
            say("recheck")
            say("commit")
            raise ValueError("lost")

    with pytest.raises(ValueError, match="lost"):
        broken()

    assert [one.getMessage().partition(" took")[0] for one in caplog.records] == [
        "t: recheck begins", "t: recheck", "t: commit begins"
    ]  # fmt: skip


def test_work_without_a_table_is_timed_and_not_said(caplog: pytest.LogCaptureFixture) -> None:
    laps = Laps(World.new().edges.clock)
    laps.end("write")

    assert (list(laps.seconds), caplog.records) == (["write"], [])


def test_tables_are_counted_as_they_end(caplog: pytest.LogCaptureFixture) -> None:
    told = TableLog(50, done=15)
    told.begin("a")
    told.end(TableResult("a", Outcome.CLEAN, cost=Cost(seconds=1.26)))
    told.end(TableResult("b", Outcome.USAGE, error=Failure("UsageError", "no\nkey", "x")))

    assert [one.getMessage() for one in caplog.records] == [
        "a: begins", "a: clean, 1.3 s (16 of 50)", "b: usage, UsageError: no key, 0.0 s (17 of 50)"
    ]  # fmt: skip


def test_only_table_of_a_run_has_no_count(caplog: pytest.LogCaptureFixture) -> None:
    TableLog(1).end(TableResult("a", Outcome.CLEAN))

    assert caplog.messages == ["a: clean, 0.0 s"]


def test_result_in_one_line_counts_what_happened_to_rows() -> None:
    guard = Guard("max_deletes", 1, 2, ok=False)
    result = TableResult(
        "a",
        Outcome.INCOMPLETE,
        pull=Pulled(rows=1234, mode="incremental", checkpoint_before=None, checkpoint_after=None, instant=None),
        findings={"deleted": 3, "late_arriving": 2},
        corrections=Corrections(upserts=2, deletes=3, applied=3, moved=1, superseded=1),
        guards=(guard,),
        cost=Cost(seconds=61.04),
    )

    assert describe_result(result) == "incomplete, 1,234 rows pulled, 5 findings, 3 corrected, 2 not corrected, 61.0 s"
    assert describe_result(
        replace(result, outcome=Outcome.CLEAN, findings={}, corrections=Corrections(), pull=None)
    ) == ("clean, 61.0 s")
