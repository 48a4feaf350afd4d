"""`make writers`: apply beside a second writer in a process of its own, either of them held at each point of its write.

`make test` has one story of them, in tests/integration/test_second_writer.py. Here each is a table made, swept, corrected beside
the other, written to by a writer with Hudi's defaults, swept and corrected again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.lake import commit, correct, hudi_lake
from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.lake.options import split_lock_options
from hudi_reconcile.stages.apply import commits
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
from tests.support.second_writer import DEFAULT, OPTIMISTIC, Gate, Point, SecondWriter, held_when_requested

TYPES = ("copy_on_write", "merge_on_read")
pytestmark = pytest.mark.parametrize("kind", TYPES)

RECHECKED = (HudiLake, "correct")  # after the recheck, before our write
COMMITTED = (commits, "_read_back")  # after our commit, before we look at what it made


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project.of(tmp_path, pg, capsys)


@pytest.fixture
def beside(spark: SparkSession, project: Project, second_writer: SecondWriter, kind: str) -> Beside:
    return Beside(spark, project, second_writer).swept(kind)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    gate = Gate(tmp_path / "gate")
    yield gate
    gate.open()  # whoever still stands there would keep the other tests waiting


# --- the second writer is held, our apply runs through ---------------------------------------------------------------


def test_apply_before_a_writer_that_has_read_its_rows_and_not_begun_to_write_is_made_and_not_overwritten(
    beside: Beside, gate: Gate
) -> None:
    answer = beside.writes(SAME, OPTIMISTIC, (Point.BEFORE, gate))
    gate.wait()

    ran = beside.apply()

    assert (ran.code, statuses(ran)) == (0, {"applied": PLANNED}), ran
    gate.open()
    assert beside.second.ended(answer) == "committed"
    beside.shows(ours=True, read_earlier=True)  # a row that we deleted comes back; the next sweep finds it
    beside.ends_right()


@pytest.mark.parametrize("point", [Point.REQUESTED, Point.WRITTEN])
@pytest.mark.parametrize("keys", [SAME, OTHERS, NEW], ids=["same keys", "same file", "new file"])
def test_apply_beside_an_optimistic_writer_in_flight_is_superseded_whole_and_does_not_touch_it(
    beside: Beside, gate: Gate, point: Point, keys: tuple[int, ...]
) -> None:
    superseded_whole(beside, gate, point, keys)
    beside.ends_right()


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


@pytest.mark.parametrize("point", [Point.REQUESTED, Point.WRITTEN])
def test_pull_beside_a_writer_with_default_settings_in_flight_is_refused_and_does_not_touch_it(
    beside: Beside, gate: Gate, point: Point
) -> None:
    beside.project.database.execute("insert into orders values (900, 'a', 'pulled', '2025-02-01')")
    answer = beside.writes(SAME, DEFAULT, (point, gate))
    gate.wait()
    theirs = beside.in_flight()

    pulled, nightly = beside.project.json("pull"), beside.project.json("run")

    # A nightly run compares what the lake has, and says why nothing was pulled.
    for ran, is_whole, findings in ((pulled, False, 0), (nightly, True, PLANNED)):
        assert (ran.code, ran.document["outcome"], ran.table["outcome"]) == (5, "refused", "refused"), ran
        assert (ran.table["error"]["type"], ran.table["whole"]) == ("RefusedError", is_whole)
        assert sum(rows for kind, rows in ran.drift.items() if kind != "pending") == findings
        assert theirs[0] in ran.table["error"]["message"]
        assert beside.in_flight() == theirs

    page = (beside.project.folder / "reports" / nightly.document["run_id"] / "report.html").read_text()
    assert theirs[0] in page, "the report of the nightly run does not say why nothing was pulled"
    gate.open()
    assert beside.second.ended(answer) == "committed"
    beside.shows(ours=False)
    assert beside.project.run("pull").code == 0
    beside.theirs[900] = ("a", "pulled")
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
def test_keys_that_were_committed_after_the_recheck_supersede_their_corrections_alone(
    beside: Beside, options: Mapping[str, str]
) -> None:
    found = at_place(beside, *RECHECKED, partial(committed, beside, SAME, options))

    assert found == {"applied": PLANNED - len(SAME), "superseded": len(SAME)}  # compared again, and the rest is written
    beside.shows(ours=True)
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
    beside.ends_right()


@pytest.mark.parametrize(
    ("keys", "said"),
    [(SAME, (4, None, {"applied": 3, "superseded": 3})), (NEW, (3, "LakeError", {}))],
    ids=["same file", "new file"],
)
def test_writer_with_default_settings_that_starts_between_our_validators_and_our_commit_ends_our_apply_loudly(
    beside: Beside, gate: Gate, keys: tuple[int, ...], said: tuple[int, str | None, dict[str, int]]
) -> None:
    ran, answer, _ = beside.apply_held(gate, keys, DEFAULT)

    assert (ran.code, ran.table["error"] and ran.table["error"]["type"], statuses(ran)) == said, ran
    assert beside.second.ended(answer) == "committed"
    beside.shows(ours=said[0] == 4)  # what another writer took from us is tried again, where it is that
    beside.ends_right()


def test_writer_with_default_settings_that_rolls_our_instant_back_is_not_rolled_back_by_us(
    beside: Beside, gate: Gate, tmp_path: Path
) -> None:
    theirs = Gate(tmp_path / "theirs")
    ran, answer, _ = beside.apply_held(gate, OTHERS, DEFAULT, (Point.REQUESTED, theirs))

    assert ran.code in (3, 4), ran
    assert len(beside.in_flight()) == 1, "the other one, which is held"
    theirs.open()
    assert beside.second.ended(answer) == "committed"
    beside.shows(ours=False)
    beside.ends_right()


def commits_while_we_write(beside: Beside, gate: Gate) -> None:
    """A writer with Hudi's defaults begins after our last look at who is in flight, and commits before our validators look."""
    mine, answers = Gate(gate.folder / "mine"), []

    def held_commit(target: commit.Target, frame: DataFrame, *rest: Any) -> Any:
        return commit.commit_alone(target, held_when_requested(frame, mine), *rest)

    def begins() -> None:
        answers.append(beside.writes(OTHERS, DEFAULT, (Point.REQUESTED, gate)))
        gate.wait()

    def commits() -> None:
        try:
            mine.wait()
            gate.open()
            assert beside.second.ended(answers[0]) == "committed"
        finally:
            mine.open()

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as pool:
        patch.setattr(hudi_lake, "commit_alone", held_commit)
        done = pool.submit(commits)
        found = at_place(beside, *RECHECKED, begins)
        done.result()

    beside.shows(ours="applied" in found)
    assert found == {"superseded": PLANNED}


def test_writer_with_default_settings_that_began_before_our_instant_and_commits_while_we_write_loses_no_row(
    beside: Beside, gate: Gate
) -> None:
    commits_while_we_write(beside, gate)
    beside.ends_right()


def test_pull_of_ours_that_starts_while_apply_is_under_way_is_refused(beside: Beside) -> None:
    def other() -> None:
        assert beside.second.ended(beside.second.pull(beside.project.write_config())) == 5

    assert at_place(beside, *RECHECKED, other) == {"applied": PLANNED}
    beside.shows(ours=True)
    beside.ends_right()


# --- a rule is taken away, and a history above must notice -----------------------------------------------------------


def no_lock(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(hudi_lake, "commit_alone", commit.commit)


def no_validators(patch: pytest.MonkeyPatch) -> None:
    options = correct.build_correction_options

    def without(*given: Any) -> dict[str, str]:
        return {key: value for key, value in options(*given).items() if ".precommit." not in key}

    patch.setattr(correct, "build_correction_options", without)


def no_check_of_files(patch: pytest.MonkeyPatch) -> None:
    def unchecked(options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        inside, lock = split_lock_options(options)
        return {**inside, "hoodie.write.concurrency.mode": "SINGLE_WRITER"}, lock

    patch.setattr(commit, "split_lock_options", unchecked)


def left_behind(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(commit, "_clear", lambda *_: ())


@dataclass(frozen=True, slots=True)
class Mutant:
    """A rule that is taken away, the history that it is kept for, and what that history then says."""

    rule: str
    take_away: Callable[[pytest.MonkeyPatch], None]
    history: Callable[[Beside, Gate], None]
    noticed: str


BESIDE_WRITTEN = partial(superseded_whole, point=Point.WRITTEN, keys=SAME)
MUTANTS = (
    Mutant("no lock", no_lock, partial(waits_for_our_commit, keys=NEW), "a key is there twice"),
    Mutant("no pre-commit validators", no_validators, BESIDE_WRITTEN, '"applied": 6'),
    Mutant("no check of files", no_check_of_files, commits_while_we_write, "'applied': 6|'theirs'"),
    Mutant("refused instant left behind", left_behind, BESIDE_WRITTEN, "an instant of ours is left in flight"),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.rule)
def test_rule_that_is_taken_away_is_noticed(
    beside: Beside, gate: Gate, monkeypatch: pytest.MonkeyPatch, mutant: Mutant
) -> None:
    mutant.take_away(monkeypatch)

    with pytest.raises(AssertionError, match=mutant.noticed):
        mutant.history(beside, gate)
