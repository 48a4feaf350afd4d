from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hudi_reconcile.core.changes.queries import UNDONE_PLANS
from hudi_reconcile.core.errors import LakeError, RefusedError, UnknownRunError
from hudi_reconcile.core.lake.ownership import Writers
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.plan import Approval, Plan
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.stages.job import LandedError
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.undo import undo
from tests.fakes.rows import SEQNO, FakeClock, Killed
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
    before, carried = len(world.lake.commits), world.lake.find_checkpoint()

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


def test_undo_repeated_after_a_partial_one_is_as_incomplete_as_that_was() -> None:
    world = corrected()
    world.silently_change_lake(2, 99)
    undone(world)

    again = undone(world)

    assert (again.outcome, again.already_applied) == (Outcome.INCOMPLETE, True)
    assert counts(again) == {"upserts": 2, "deletes": 1, "applied": 0, "superseded": 1, "failed": 0}
    assert again.corrections.applied_before == 2


def test_undo_repeated_after_a_row_was_swallowed_says_failed_again() -> None:
    world = corrected()
    world.lake.dropped_writes = {2}
    undone(world)

    again = undone(world)

    assert (again.outcome, again.corrections.failed, again.corrections.applied_before) == (Outcome.INCOMPLETE, 1, 2)


def test_undo_repeated_where_the_rows_from_before_are_cleaned_tells_the_counts_of_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = corrected()
    undone(world)

    def cleaned(*_: object) -> None:
        raise RefusedError("the rows from before may be cleaned", fix="sweep")

    monkeypatch.setattr(type(world.lake), "prepare_undo", cleaned)
    again = undone(world)

    assert (again.outcome, again.already_applied, again.corrections.applied_before) == (Outcome.CORRECTED, True, 3)
    assert any("cleaned" in note for note in again.notes)


def test_undo_of_an_earlier_version_that_does_not_tell_its_rows_is_not_called_corrected() -> None:
    world = corrected()
    world.lake.plant(world.lake.now, world.lake.commits[-1].checkpoint, kind="undo", undo="run-1")

    again = undone(world)

    assert (again.outcome, again.already_applied) == (Outcome.INCOMPLETE, True)
    assert any("does not tell" in note for note in again.notes)


def killed_after_its_commit() -> tuple[World, Plan]:
    """Run `run-1` was killed after its commit deleted row 1, changed row 2 and inserted row 4."""
    world = pulled(*ROWS)
    world.source.delete(1)
    world.source.put(2, 21, 200)
    world.source.put(4, 40, 150)
    plan = swept(world).draft
    assert plan is not None

    def die() -> None:
        raise Killed

    world.journal.before("lake.correct", lambda: world.journal.before("lake.pin", die))
    with pytest.raises(Killed):
        applied(world, plan)
    return world, plan


def test_what_a_killed_run_wrote_is_taken_back_by_its_run_id_alone() -> None:
    world, _ = killed_after_its_commit()

    assert undone(world).outcome is Outcome.CORRECTED
    assert world.lake_holds() == {key: (value, at) for key, value, at in ROWS}


def test_run_that_found_the_plan_applied_can_be_undone_and_then_so_is_the_killed_one() -> None:
    world, plan = killed_after_its_commit()
    found = applied(world, plan, run_id="run-3")
    assert found.already_applied

    result = undo(job(run_id="run-4"), "run-3", world.edges, instants=found.corrections.instants)

    assert (result.outcome, result.corrections.applied) == (Outcome.CORRECTED, 3)
    assert world.lake_holds() == {key: (value, at) for key, value, at in ROWS}
    assert undone(world).already_applied


def test_undo_of_one_part_leaves_the_other_and_of_the_run_that_found_both_takes_both_back() -> None:
    world = pulled(*ROWS)
    world.source.delete(1)
    world.source.put(2, 21, 200)
    plan = swept(world).draft
    assert plan is not None
    first = applied(world, plan, Approval(only="upsert"))
    applied(world, plan, Approval(only="delete"), run_id="run-b")
    found = applied(world, plan, run_id="run-c")

    undo(job(run_id="u"), "run-1", world.edges, instants=first.corrections.instants)
    assert world.lake_holds() == {2: (20, 200), 3: (30, 300)}
    rest = undo(job(run_id="v"), "run-c", world.edges, instants=found.corrections.instants)

    assert world.lake_holds() == {key: (value, at) for key, value, at in ROWS}
    assert (rest.outcome, rest.corrections.applied, rest.corrections.applied_before) == (Outcome.CORRECTED, 1, 1)


def test_undo_that_lost_a_race_at_one_commit_of_two_takes_that_one_back_when_it_is_run_again() -> None:
    world = pulled(*ROWS)
    world.source.delete(1)
    world.source.put(2, 21, 200)
    world.source.put(3, 31, 300)
    plan = swept(world).draft
    assert plan is not None
    first = applied(world, plan, Approval(only="delete"))
    second = applied(world, plan, Approval(only="upsert"), run_id="run-c")
    both = (*first.corrections.instants, *second.corrections.instants)
    world.journal.before("lake.correct", lambda: world.silently_change_lake(3, 99))

    once = undo(job(run_id="u"), "run-c", world.edges, instants=both)
    again = undo(job(run_id="v"), "run-c", world.edges, instants=both)

    assert (once.corrections.applied, once.corrections.superseded) == (1, 2)
    assert (again.corrections.applied, again.corrections.superseded, again.corrections.applied_before) == (1, 1, 1)
    assert world.lake_holds() == {1: (10, 100), 2: (20, 200), 3: (99, 300)}


def test_error_after_the_commit_of_an_undo_is_in_a_result_that_names_it() -> None:
    world = corrected()

    def gone() -> None:
        raise LakeError("the storage does not answer", fix="try again")

    world.journal.before("lake.correct", lambda: world.journal.before("lake.count_shown", gone))

    result = undone(world)

    assert (result.outcome, result.corrections.applied) == (Outcome.UNVERIFIED, 3)
    assert result.corrections.instants == (world.lake.commits[-1].instant.completed,)
    assert result.error is not None


def test_bug_after_the_commit_of_an_undo_comes_with_a_result_that_names_it() -> None:
    world = corrected()

    def gone() -> None:
        raise ZeroDivisionError

    world.journal.before("lake.correct", lambda: world.journal.before("lake.count_shown", gone))

    with pytest.raises(LandedError) as raised:
        undone(world)

    assert raised.value.result.corrections.instants == (world.lake.commits[-1].instant.completed,)


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
    assert any("run the same undo again" in note for note in result.notes)
    assert not any("touched these rows" in note for note in result.notes)
    again = undone(world)
    assert (again.outcome, again.corrections.applied) == (Outcome.INCOMPLETE, 2)


def test_undo_beside_a_writer_without_a_heartbeat_is_refused() -> None:
    world = corrected()
    world.lake.others = Writers(without_heartbeat=("20260101000000000",))
    before = list(world.lake.commits)

    with pytest.raises(RefusedError, match="no heartbeat"):
        undone(world)
    assert world.lake.commits == before


def test_deleted_row_that_came_back_and_was_deleted_again_stays_deleted() -> None:
    world = pulled(*ROWS)
    world.source.delete(1)
    applied(world, swept(world).draft)
    world.source.put(1, 11, 5_000)
    world.clock.now_micros += 10_000
    pull(job(run_id="pull"), world.edges, full=False)
    assert 1 in world.lake_holds()
    world.source.delete(1)
    applied(world, swept(world).draft, run_id="run-b")

    result = undone(world)

    assert 1 not in world.lake_holds()
    assert (result.outcome, result.corrections.applied, result.corrections.superseded) == (Outcome.INCOMPLETE, 0, 1)


def test_undo_on_a_host_whose_clock_is_ahead_hands_out_the_sources_time() -> None:
    world = corrected()
    ahead = replace(world.edges, clock=FakeClock(world.journal, now_micros=10**15))

    undo(job(run_id="run-2"), "run-1", ahead)

    after = world.lake.find_checkpoint()
    assert after is not None
    assert after.checkpoint.read_seq < 10**15, "what later pulls bring would order below the restored rows"


def test_restored_row_that_the_lake_swallowed_is_failed() -> None:
    world = corrected()
    world.lake.dropped_writes = {2}

    assert counts(undone(world)) == {"upserts": 2, "deletes": 1, "applied": 2, "superseded": 0, "failed": 1}


def test_run_that_made_no_commit_is_refused() -> None:
    world = pulled(*ROWS)

    with pytest.raises(RefusedError, match="run run-1 made no commit"):
        undone(world)
    assert world.lake.held_by is None


def test_run_that_nothing_in_the_lake_names_is_a_wrong_call() -> None:
    for world in (pulled(*ROWS), World.new()):
        with pytest.raises(UnknownRunError, match="no commit in /lake/t is of run 20261121T132616Z-400a1c"):
            undo(job(run_id="u"), "20261121T132616Z-400a1c", world.edges)
        assert world.lake.held_by is None


def test_run_whose_result_names_a_commit_that_cannot_be_taken_back_is_refused() -> None:
    world = pulled(*ROWS)

    with pytest.raises(RefusedError, match="can be taken back"):
        undo(job(run_id="u"), "run-9", world.edges, instants=(world.lake.commits[-1].instant.completed,))


@pytest.mark.parametrize("changed", [False, True])
def test_undo_says_that_doubled_keys_stay_one_and_whose_commit_may_have_touched_the_others(changed: bool) -> None:  # noqa: FBT001
    world = pulled(*ROWS)
    world.lake.plant([*world.lake.now, {**world.lake.now[0], "v": 7, SEQNO: "zz1"}], world.lake.commits[-1].checkpoint)
    world.source.delete(3)
    if changed:  # the commit that makes the doubled key one gives every row of its partition a new version
        world.source.put(2, 21, 200)
    done = applied(world, swept(world).draft)
    doubled_by = done.corrections.instants[-1]

    result = undone(world)

    assert [note for note in result.notes if f"commit {doubled_by}" in note and "stay one" in note]
    assert 3 in world.lake_holds()
    left = [note for note in result.notes if note.startswith("superseded")]
    assert (result.corrections.superseded, len(left)) == ((1, 1) if changed else (0, 0))
    assert all("own commit" in note for note in left)
    assert [note for note in undone(world).notes if "stay one" in note]


def test_undo_of_an_apply_without_doubled_keys_says_nothing_of_them() -> None:
    assert not [note for note in undone(corrected()).notes if "doubled" in note]


def test_undo_names_the_plan_whose_commit_it_took_back_and_says_so_again() -> None:
    world = pulled(*ROWS)
    world.source.delete(1)
    plan = swept(world).draft
    assert plan is not None
    applied(world, plan)

    assert undone(world).provenance[UNDONE_PLANS] == plan.plan_id
    assert undone(world).provenance[UNDONE_PLANS] == plan.plan_id


def test_undo_that_took_nothing_back_names_no_plan() -> None:
    world = corrected()
    world.lake.plant([world.lake.stamped(row) for row in world.lake.now if row["id"] == 3])
    world.lake.plant([*world.lake.now, *({**world.lake.stamped(world.lake.now[0]), "id": key} for key in (1, 2, 4))])

    result = undone(world)

    assert (result.corrections.applied, result.corrections.superseded) == (0, 3)
    assert UNDONE_PLANS not in result.provenance
