from __future__ import annotations

from typing import Any

import pytest

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.stages.undo import undo
from tests.fakes.world import World, applied, job, pulled, swept

ROWS = ((1, 10, 100), (2, 20, 200), (3, 30, 300))


def corrected() -> World:
    """Row 1 deleted, row 2 changed, row 4 inserted by an apply of run `run-1`."""
    world = pulled(*ROWS)
    world.source.delete(1)
    world.source.put(2, 21, 200)
    world.source.put(4, 40, 150)
    assert applied(world, swept(world).draft).outcome is Outcome.CORRECTED
    world.journal.calls.clear()
    return world


def undone(world: World) -> TableResult:
    return undo(job(run_id="run-2"), "run-1", world.edges)


def counts(result: TableResult) -> dict[str, Any]:
    found = result.corrections
    return {name: getattr(found, name) for name in ("upserts", "deletes", "applied", "superseded", "failed")}


def test_undo_restores_what_the_apply_changed_in_one_commit() -> None:
    world = corrected()
    before, carried = len(world.lake.commits), world.lake.checkpoint()

    result = undone(world)

    assert world.lake_holds() == {key: (value, at) for key, value, at in ROWS}
    assert result.outcome is Outcome.CORRECTED
    assert counts(result) == {"upserts": 2, "deletes": 1, "applied": 3, "superseded": 0, "failed": 0}
    assert len(world.lake.commits) == before + 1
    after = world.lake.commits[-1].checkpoint
    assert carried is not None
    assert after is not None
    assert after.watermark_micros == carried.checkpoint.watermark_micros
    assert after.read_seq > carried.checkpoint.read_seq


def test_undo_twice_writes_once_and_says_so() -> None:
    world = corrected()
    undone(world)
    before = list(world.lake.commits)

    again = undone(world)

    assert (again.outcome, again.already_applied, again.corrections.applied) == (Outcome.CORRECTED, True, 0)
    assert world.lake.commits == before


def test_rows_that_others_touched_since_are_superseded_and_left() -> None:
    world = corrected()
    world.silently_change_lake(2, 99)

    result = undone(world)

    assert world.lake_holds() == {1: (10, 100), 2: (99, 200), 3: (30, 300)}
    assert result.outcome is Outcome.INCOMPLETE
    assert counts(result) == {"upserts": 2, "deletes": 1, "applied": 2, "superseded": 1, "failed": 0}


def test_writer_that_wins_the_race_supersedes_the_whole_undo() -> None:
    world = corrected()
    world.journal.before("lake.correct", lambda: world.silently_change_lake(2, 99))

    result = undone(world)

    assert counts(result) == {"upserts": 2, "deletes": 1, "applied": 0, "superseded": 3, "failed": 0}
    assert (result.outcome, result.corrections.instants) == (Outcome.INCOMPLETE, ())


def test_restored_row_that_the_lake_swallowed_is_failed() -> None:
    world = corrected()
    world.lake.dropped_writes = {2}

    assert counts(undone(world)) == {"upserts": 2, "deletes": 1, "applied": 2, "superseded": 0, "failed": 1}


def test_run_that_made_no_commit_is_refused() -> None:
    world = pulled(*ROWS)

    with pytest.raises(RefusedError, match="run run-1 made no commit"):
        undone(world)
    assert world.lake.held_by is None
