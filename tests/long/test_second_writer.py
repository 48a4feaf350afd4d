"""`make writers`: apply beside a second writer in a process of its own, either of them held at each point of its write.

Not a part of `make test`, but for two: each is a table made, swept, corrected beside the other, written to by a writer with
Hudi's defaults, swept and corrected again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.lake import write
from hudi_reconcile.lake.hudi_lake import HudiLake
from tests.integration.beside import (
    NEW,
    OTHERS,
    PLANNED,
    SAME,
    Beside,
    statuses,
    superseded_whole,
    waits_for_our_commit,
    written_over,
)
from tests.integration.project import Project
from tests.support.postgres import Database
from tests.support.second_writer import DEFAULT, OPTIMISTIC, Gate, Point, SecondWriter

TYPES = ("copy_on_write", "merge_on_read")
pytestmark = pytest.mark.parametrize("kind", TYPES)

RECHECKED = (HudiLake, "correct")  # after the recheck, before our write
COMMITTED = (write, "_landed")  # after our commit, before anybody knows


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project.of(tmp_path, pg, capsys)


@pytest.fixture
def beside(spark: SparkSession, project: Project, second_writer: SecondWriter, kind: str) -> Beside:
    return Beside(spark, project, second_writer).swept(kind)


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path / "gate")


# --- the second writer is held, our apply runs through ---------------------------------------------------------------


def test_apply_before_a_writer_that_has_not_begun_is_made_and_not_lost(beside: Beside, gate: Gate) -> None:
    answer = beside.writes(SAME, OPTIMISTIC, (Point.BEFORE, gate))
    gate.wait()

    ran = beside.apply()

    assert (ran.code, statuses(ran)) == (0, {"applied": PLANNED}), ran
    gate.open()
    assert beside.second.ended(answer) == "committed"
    beside.shows(ours=True)
    beside.ends_right()


@pytest.mark.parametrize("point", [Point.REQUESTED, Point.WRITTEN])
@pytest.mark.parametrize("keys", [SAME, OTHERS, NEW], ids=["same keys", "same file", "new file"])
def test_apply_beside_an_optimistic_writer_in_flight_is_superseded_whole_and_does_not_touch_it(
    beside: Beside, gate: Gate, point: Point, keys: tuple[int, ...]
) -> None:
    superseded_whole(beside, gate, point, keys)


@pytest.mark.parametrize("point", [Point.REQUESTED, Point.WRITTEN])
def test_apply_beside_a_writer_with_default_settings_in_flight_is_refused(
    beside: Beside, gate: Gate, point: Point
) -> None:
    answer = beside.writes(SAME, DEFAULT, (point, gate))
    gate.wait()
    theirs = beside.in_flight()

    ran = beside.apply()

    assert (ran.code, ran.table["error"]["type"]) == (5, "RefusedError"), ran
    assert theirs[0] in ran.table["error"]["message"]
    assert beside.in_flight() == theirs
    gate.open()
    assert beside.second.ended(answer) == "committed"
    beside.shows(ours=False)
    beside.ends_right()


def test_apply_after_another_writers_commit_corrects_the_keys_that_it_did_not_touch(beside: Beside) -> None:
    assert beside.second.ended(beside.writes(SAME, OPTIMISTIC)) == "committed"

    ran = beside.apply()

    assert (ran.code, statuses(ran)) == (4, {"applied": PLANNED - len(SAME), "superseded": len(SAME)}), ran
    beside.shows(ours=True)
    beside.ends_right()


@pytest.mark.parametrize("point", Point)
def test_apply_beside_a_pull_of_ours_is_refused_wherever_the_pull_stands(
    beside: Beside, gate: Gate, point: Point
) -> None:
    beside.project.database.execute("insert into orders values (900, 'a', 'pulled', '2025-02-01')")
    answer = beside.second.pull(beside.project.write_config(), (point, gate))
    gate.wait()

    ran = beside.apply()

    assert (ran.code, ran.table["error"]["type"]) == (5, "RefusedError"), ran
    beside.shows(ours=False)
    gate.open()
    assert beside.second.ended(answer) == 0
    beside.theirs = {900: ("a", "pulled")}
    beside.shows(ours=False)
    ran = beside.apply()
    assert (ran.code, statuses(ran)) == (0, {"applied": PLANNED}), ran
    beside.shows(ours=True)
    beside.ends_right()


# --- our apply is held, the second writer runs through ---------------------------------------------------------------


def at_place(beside: Beside, owner: Any, function: str, other: Callable[[], object]) -> Mapping[str, int]:
    """Apply, and run the other just before our apply comes to the function for the first time."""
    original = getattr(owner, function)

    def after_the_other(*given: Any, **named: Any) -> Any:
        patch.undo()
        other()
        return original(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, function, after_the_other)
        ran = beside.apply()
        assert getattr(owner, function) is original, "the apply did not come there"
    return statuses(ran)


def committed(beside: Beside, keys: tuple[int, ...], options: Mapping[str, str]) -> None:
    assert beside.second.ended(beside.writes(keys, options)) == "committed"


@pytest.mark.parametrize("options", [OPTIMISTIC, DEFAULT], ids=["optimistic", "default"])
def test_keys_that_were_committed_after_the_recheck_supersede_the_correction(
    beside: Beside, options: Mapping[str, str]
) -> None:
    found = at_place(beside, *RECHECKED, partial(committed, beside, SAME, options))

    assert found == {"superseded": PLANNED}
    beside.shows(ours=False)
    beside.ends_right()


def test_other_keys_of_the_same_file_committed_after_the_recheck_do_not_hinder_the_correction(beside: Beside) -> None:
    found = at_place(beside, *RECHECKED, partial(committed, beside, OTHERS, OPTIMISTIC))

    assert found == {"applied": PLANNED}
    beside.shows(ours=True)
    beside.ends_right()


@pytest.mark.parametrize("options", [OPTIMISTIC, DEFAULT], ids=["optimistic", "default"])
def test_keys_written_again_after_our_commit_are_theirs_and_are_counted_as_such(
    beside: Beside, options: Mapping[str, str]
) -> None:
    found = at_place(beside, *COMMITTED, partial(committed, beside, SAME, options))

    assert found == written_over(SAME)
    beside.shows(ours=True)
    beside.ends_right()


@pytest.mark.parametrize("keys", [SAME, OTHERS, NEW], ids=["same keys", "same file", "new file"])
def test_optimistic_writer_that_starts_between_our_validators_and_our_commit_neither_loses_nor_doubles_a_row(
    beside: Beside, gate: Gate, keys: tuple[int, ...]
) -> None:
    waits_for_our_commit(beside, gate, keys)


def test_writer_with_default_settings_that_starts_between_our_validators_and_our_commit_ends_our_apply_loudly(
    beside: Beside, gate: Gate
) -> None:
    ran, answer, _ = beside.apply_held(gate, SAME, DEFAULT)

    assert (ran.code, ran.table["error"] and ran.table["error"]["type"]) == (3, "LakeError"), ran
    assert beside.second.ended(answer) == "committed"
    beside.shows(ours=False)
    beside.ends_right()


def test_pull_of_ours_that_starts_while_apply_is_under_way_is_refused(beside: Beside) -> None:
    def other() -> None:
        assert beside.second.ended(beside.second.pull(beside.project.write_config())) == 5

    assert at_place(beside, *RECHECKED, other) == {"applied": PLANNED}
    beside.shows(ours=True)
    beside.ends_right()
