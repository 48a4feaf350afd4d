"""A table whose work ended in what may pass is begun again within the run; what was written is never written untold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hudi_reconcile.app.table_work import TableRun
from hudi_reconcile.app.time_limit import TimeLimit
from hudi_reconcile.core.errors import SourceError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.pull import retry
from hudi_reconcile.core.result import RunResult, TableResult
from hudi_reconcile.core.result_parts import Corrections, Failure, Pulled, Unverified
from tests.unit.app.test_time_limit import Spark, performed

BROKE = SourceError("the source does not answer: connection refused", fix="run it again")
PULLED = Pulled(7, "incremental", "1", "8", "20260101000000000", pages=1)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "_TABLE_WAITS_SECONDS", (0.0, 0.0))


def tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: Callable[[TableRun], TableResult], failures: int = 1
) -> tuple[RunResult, int]:
    """A run whose table `b` ends as `first` says for so many attempts, then clean; and how often it was tried."""
    attempts = 0

    def act(one: TableRun, _: Spark) -> TableResult:
        nonlocal attempts
        if one.table.name == "b":
            attempts += 1
            if attempts <= failures:
                return first(one)
            leave(one, f"attempt {attempts}")
        return TableResult(one.table.name, Outcome.CLEAN, pull=replace(PULLED, rows=2, checkpoint_before="8"))

    return performed(tmp_path, monkeypatch, "", act)[0], attempts


def leave(one: TableRun, text: str) -> None:
    """What Spark would write: into a folder that is not there yet."""
    folder = one.folder.findings_dir(one.table.name)
    folder.mkdir()
    (folder / "_attempt").write_text(text)


def broken(one: TableRun) -> TableResult:
    """The connection broke when something was on disk already."""
    leave(one, "attempt 1")
    raise BROKE


def test_table_whose_connection_broke_is_begun_again_from_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, attempts = tried(tmp_path, monkeypatch, broken)

    assert ([table.outcome for table in run.tables], attempts) == ([Outcome.CLEAN] * 3, 2)
    assert run.tables[1].notes == (f"begun again: {BROKE.message}",)
    assert (tmp_path / "reports" / run.run_id / "b" / "findings" / "_attempt").read_text() == "attempt 2"


def test_connection_that_stays_broken_is_told_after_two_more_attempts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(_: TableRun) -> TableResult:
        raise BROKE

    run, attempts = tried(tmp_path, monkeypatch, ended, failures=9)

    assert attempts == 3
    assert run.tables[1].error == Failure("SourceError", BROKE.message, BROKE.fix)
    assert [table.outcome for table in run.tables] == [Outcome.CLEAN, Outcome.UNVERIFIED, Outcome.CLEAN]


def test_rows_that_the_first_attempt_pulled_are_told_with_those_of_the_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = Failure("SourceError", BROKE.message, BROKE.fix)

    run, _ = tried(
        tmp_path, monkeypatch, lambda one: TableResult(one.table.name, Outcome.UNVERIFIED, error=error, pull=PULLED)
    )

    found = run.tables[1].pull
    assert found is not None
    assert (found.rows, found.pages, found.checkpoint_before) == (9, 2, "1")


def test_rows_that_the_first_attempt_held_back_leave_the_second_unverified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its checkpoint has passed them: no later attempt reads them again."""
    error, held = (
        Failure("SourceError", BROKE.message, BROKE.fix),
        Unverified("rows", "b", "1 row was not handed over", "x"),
    )
    first = TableResult(
        "b",
        Outcome.UNVERIFIED,
        error=error,
        unverified=(held,),
        pull=replace(PULLED, odd_rows=1, null_watermark_rows=2),
    )

    run, _ = tried(tmp_path, monkeypatch, lambda _: first)

    found = run.tables[1]
    assert (found.outcome, found.unverified, found.error) == (Outcome.UNVERIFIED, (held,), None)
    assert found.pull is not None
    assert (found.pull.odd_rows, found.pull.null_watermark_rows) == (1, 2)


def test_table_that_wrote_corrections_is_not_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = Failure("SourceError", BROKE.message, BROKE.fix)
    done = Corrections(upserts=1, applied=1, instants=("20260101000000000",))

    run, attempts = tried(
        tmp_path,
        monkeypatch,
        lambda one: TableResult(one.table.name, Outcome.UNVERIFIED, error=error, corrections=done),
    )

    assert attempts == 1
    assert run.tables[1].corrections.instants == ("20260101000000000",)


def test_stop_while_a_table_waits_for_its_next_attempt_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(TimeLimit, "wait", stop)

    run, attempts = tried(tmp_path, monkeypatch, broken)

    assert attempts == 1
    assert run.exit_code == 130
    assert run.tables[2].outcome is Outcome.UNVERIFIED
