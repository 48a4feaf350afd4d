"""What an apply left on the timeline, told truly: to the next apply of its plan, and where an error came after the commit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest

from hudi_reconcile.core.errors import LakeError, RefusedError, SourceError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.plan import EXPIRES_AFTER_MICROS, Approval, Plan
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.tables.values import REPLICA
from hudi_reconcile.stages.job import LandedError
from hudi_reconcile.stages.undo import undo
from tests.fakes.rows import SEQNO, Killed
from tests.fakes.world import World, applied, job, left, pulled, swept

Part = Literal["upsert", "delete"]
ROWS = ((1, 10, 100), (2, 20, 200), (3, 30, 300))


def drifted(**settings: Any) -> tuple[World, Plan]:
    """One row deleted, one silently changed, one late."""
    world = pulled(*ROWS)
    world.source.delete(1)
    world.source.put(2, 21, 200)
    world.source.put(4, 40, 150)
    plan = swept(world, **settings).draft
    assert plan is not None
    return world, plan


def doubled() -> tuple[World, Plan]:
    """Row 2 is changed at the source, and the lake holds row 1 twice: two commits."""
    world = pulled(*ROWS)
    world.lake.plant([*world.lake.now, {**world.lake.now[0], "v": 7, SEQNO: "zz1"}], world.lake.commits[-1].checkpoint)
    world.source.put(2, 21, 200)
    plan = swept(world).draft
    assert plan is not None
    return world, plan


def told(result: TableResult) -> dict[str, int]:
    found = result.corrections
    named = {
        name: getattr(found, name) for name in ("applied", "applied_before", "superseded", "moved", "failed", "held")
    }
    assert sum(named.values()) == found.upserts + found.deletes, "the counts do not add up to the plan"
    return {name: rows for name, rows in named.items() if rows}


def stop() -> None:
    raise Killed


def killed_after_its_commit(world: World, plan: Plan) -> None:
    world.journal.before("lake.correct", lambda: world.journal.before("lake.pin", stop))
    with pytest.raises(Killed):
        applied(world, plan)


def test_incomplete_apply_is_incomplete_when_it_is_run_again() -> None:
    world, plan = drifted()
    world.silently_change_lake(2, 99)
    assert applied(world, plan).outcome is Outcome.INCOMPLETE
    before = list(world.lake.commits)

    again = applied(world, plan)

    assert (again.outcome, again.already_applied) == (Outcome.INCOMPLETE, True)
    assert told(again) == {"applied_before": 2, "superseded": 1}
    assert world.lake.commits == before
    assert dict(again.findings) == {"updated_without_watermark": 1}


def test_key_that_moved_before_a_killed_commit_is_told_by_the_next_apply() -> None:
    world, plan = drifted()
    world.source.put(2, 22, 200)
    killed_after_its_commit(world, plan)

    again = applied(world, plan, run_id="run-3")

    assert (again.outcome, again.already_applied) == (Outcome.INCOMPLETE, True)
    assert told(again) == {"applied_before": 2, "moved": 1}
    assert again.corrections.instants == (world.lake.commits[-1].instant.completed,)
    assert [note for note in again.notes if "of run run-1" in note]


def test_write_that_the_lake_swallowed_is_failed_although_its_apply_was_killed_before_it_read_back() -> None:
    world, plan = drifted()
    world.lake.dropped_writes = {2}
    killed_after_its_commit(world, plan)

    assert told(applied(world, plan)) == {"applied_before": 2, "failed": 1}


def test_drift_that_came_after_an_apply_is_found_when_it_is_run_again() -> None:
    world, plan = drifted()
    applied(world, plan)
    world.source.put(3, 31, 300)

    again = applied(world, plan)

    assert (again.outcome, told(again)) == (Outcome.INCOMPLETE, {"applied_before": 3})
    assert dict(again.findings) == {"updated_without_watermark": 1}


def test_rows_that_a_pull_wrote_since_leave_the_apply_corrected_when_it_is_run_again() -> None:
    world, plan = drifted()
    applied(world, plan)
    world.lake.plant([world.lake.stamped(row) for row in world.lake.now])

    again = applied(world, plan)

    assert (again.outcome, told(again)) == (Outcome.CORRECTED, {"applied_before": 3})


@pytest.mark.parametrize("labelled", [True, False])
def test_commit_whose_forerunner_may_be_cleaned_is_believed_only_by_what_it_tells(labelled: bool) -> None:  # noqa: FBT001
    world, plan = drifted()
    applied(world, plan)
    world.lake.cleaned = True
    if not labelled:
        last = world.lake.commits[-1]
        world.lake.commits[-1] = replace(last, labels={k: v for k, v in last.labels.items() if k != "counts"})

    again = applied(world, plan)

    assert again.outcome is (Outcome.CORRECTED if labelled else Outcome.INCOMPLETE)
    assert told(again) == ({"applied_before": 3} if labelled else {"superseded": 3})


def test_commit_of_an_earlier_version_is_read_back_in_the_lake() -> None:
    world, plan = drifted()
    applied(world, plan)
    last = world.lake.commits[-1]
    world.lake.commits[-1] = replace(last, labels={k: v for k, v in last.labels.items() if k != "counts"})

    again = applied(world, plan)

    assert (again.outcome, told(again)) == (Outcome.CORRECTED, {"applied_before": 3})


def test_expired_plan_that_was_applied_is_compared_again_and_written_no_more() -> None:
    world, plan = drifted()
    applied(world, plan)
    world.clock.now_micros = plan.created_micros + EXPIRES_AFTER_MICROS

    assert applied(world, plan).outcome is Outcome.CORRECTED


def test_replica_that_is_behind_is_not_asked_whether_an_applied_plan_holds() -> None:
    world, plan = drifted()
    applied(world, plan)
    world.source.moment_notes, world.source.stopped = (REPLICA,), "replication into this replica has stopped"

    with pytest.raises(RefusedError, match="stopped; nothing was written"):
        applied(world, plan)


def test_plan_that_was_undone_is_refused() -> None:
    world, plan = drifted()
    applied(world, plan)
    undo(job(run_id="run-2"), "run-1", world.edges)
    before = list(world.lake.commits)

    with pytest.raises(RefusedError, match="was undone") as caught:
        applied(world, plan, run_id="run-9")

    assert "sweep" in caught.value.fix
    assert world.lake.commits == before


def test_rest_of_a_plan_whose_other_part_was_undone_is_refused() -> None:
    world, plan = drifted()
    applied(world, plan, Approval(only="upsert"))
    undo(job(run_id="run-2"), "run-1", world.edges)

    with pytest.raises(RefusedError, match="was undone"):
        applied(world, plan, run_id="run-9")


def test_rest_of_a_plan_is_incomplete_where_its_other_part_was() -> None:
    world = pulled(*((key, key * 10, key) for key in range(1, 41)))
    world.source.delete(1)
    world.source.put(40, 999, 40)
    world.source.put(20, 777, 20)
    plan = swept(world, segments=8).draft
    assert plan is not None
    world.silently_change_lake(40, 99)
    applied(world, plan, Approval(only="upsert"), segments=8)

    rest = applied(world, plan, run_id="run-2", segments=8)

    assert (rest.outcome, told(rest)) == (Outcome.INCOMPLETE, {"applied": 1, "applied_before": 1, "superseded": 1})
    assert dict(rest.findings) == {"updated_without_watermark": 1}, "the other part's segments are compared too"
    again = applied(world, plan, run_id="run-3", segments=8)
    assert (again.outcome, told(again)) == (Outcome.INCOMPLETE, {"applied_before": 2, "superseded": 1})


@pytest.mark.parametrize("point", ["source.read_rows", "lake.read_rows"])
def test_error_after_the_commit_is_in_a_result_that_names_it_and_undo_finds_it(point: str) -> None:
    world, plan = drifted()

    def gone() -> None:
        raise SourceError("the source went away", fix="try again")

    world.journal.before("lake.correct", lambda: world.journal.before(point, gone))

    result = applied(world, plan)

    assert (result.outcome, told(result)) == (Outcome.UNVERIFIED, {"applied": 3})
    assert result.corrections.instants == (world.lake.commits[-1].instant.completed,)
    assert result.error is not None
    assert result.error.message == "the source went away"
    assert [item.what for item in result.unverified] == ["rows"]
    assert undo(job(run_id="u"), "run-1", world.edges, instants=result.corrections.instants).corrections.applied == 3


def test_bug_after_the_commit_carries_the_result_that_names_it() -> None:
    world, plan = drifted()

    def bug() -> None:
        raise ZeroDivisionError

    world.journal.before("lake.correct", lambda: world.journal.before("source.read_rows", bug))

    with pytest.raises(LandedError) as caught:
        applied(world, plan)

    assert isinstance(caught.value.error, ZeroDivisionError)
    assert caught.value.result.corrections.instants == (world.lake.commits[-1].instant.completed,)


def test_second_commit_that_fails_leaves_a_result_with_the_first_and_undo_takes_that_back() -> None:
    world, plan = doubled()

    def fails() -> None:
        raise LakeError("the commit was not made", fix="run it again")

    world.journal.before("lake.replace", fails)

    result = applied(world, plan)

    assert (result.outcome, told(result)) == (Outcome.UNVERIFIED, {"applied": 1, "failed": 1})
    assert result.corrections.instants == (world.lake.commits[-1].instant.completed,)
    assert undo(job(run_id="u"), "run-1", world.edges).corrections.applied == 1
    with pytest.raises(RefusedError, match="was undone"):
        applied(world, plan, run_id="run-3")


def test_second_apply_keeps_the_savepoint_from_before_the_killed_first() -> None:
    world, plan = doubled()
    before = world.lake.commits[-1].instant.requested
    world.journal.before("lake.replace", stop)
    with pytest.raises(Killed):
        applied(world, plan, savepoint="always")

    result = applied(world, plan, savepoint="always", run_id="run-2")

    assert (result.outcome, result.corrections.savepoint) == (Outcome.CORRECTED, before)
    assert world.lake.savepoints == [before]


def test_second_apply_whose_killed_first_ones_savepoint_is_gone_makes_its_own_and_keeps_that() -> None:
    world, plan = doubled()
    killed_between_its_commits(world, plan, savepoint="always")
    (gone,) = world.lake.savepoints
    world.lake.savepoints.remove(gone)
    before = world.lake.commits[-1].instant.requested

    result = applied(world, plan, savepoint="always", run_id="run-2")

    assert (result.outcome, result.corrections.savepoint) == (Outcome.CORRECTED, before)
    assert world.lake.savepoints == [before]
    assert [note for note in result.notes if gone in note and "gone" in note]


def test_error_before_any_commit_names_the_savepoint_that_it_leaves() -> None:
    world, plan = drifted()

    def fails() -> None:
        raise LakeError("the commit was not made", fix="run it again")

    world.journal.before("lake.correct", fails)
    with pytest.raises(LakeError) as caught:
        applied(world, plan, savepoint="always")

    assert world.lake.savepoints[0] in caught.value.message


@pytest.mark.parametrize("what", ["moving", "not steady"])
def test_verification_that_could_not_judge_says_why(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world, plan = drifted()
    if what == "not steady":
        monkeypatch.setattr(type(world.lake), "is_intact", lambda *_: False)
    else:
        world.source.put(3, 31, 300)
        world.journal.before("clock.sleep", lambda: world.source.put(3, 32, 300))

    result = applied(world, plan)

    assert (result.outcome, told(result)) == (Outcome.INCOMPLETE, {"applied": 3})
    assert [note for note in result.notes if note.startswith(what)]
    assert result.findings_left is None


def killed_between_its_commits(world: World, plan: Plan, only: Part | None = None, **settings: Any) -> None:
    world.journal.before("lake.replace", stop)
    with pytest.raises(Killed):
        applied(world, plan, Approval(only=only), **settings)
    world.lake.held_by = None


@pytest.mark.parametrize(("first", "second"), [(None, "upsert"), ("upsert", None)])
def test_plan_that_a_part_finished_after_a_kill_between_two_commits_is_corrected_when_it_is_run_again(
    first: Part | None, second: Part | None
) -> None:
    world, plan = doubled()
    killed_between_its_commits(world, plan, first)
    assert applied(world, plan, Approval(only=second), run_id="b").outcome is Outcome.CORRECTED

    again = applied(world, plan, run_id="c")

    assert (again.outcome, told(again)) == (Outcome.CORRECTED, {"applied_before": 2})
    assert len(again.corrections.instants) == 2


def test_rows_of_the_other_part_in_a_killed_first_commit_are_not_counted_for_the_part_that_is_done() -> None:
    world, _ = doubled()
    world.source.delete(3)
    plan = swept(world).draft
    assert plan is not None
    killed_between_its_commits(world, plan)
    world.lake.dropped_writes = {1}
    assert applied(world, plan, Approval(only="upsert"), run_id="b").corrections.failed == 1

    again = applied(world, plan, Approval(only="upsert"), run_id="c")

    assert told(again) == {"applied_before": 2, "failed": 1}, "the other part's row, which the first commit deleted"


def test_plan_that_was_killed_twice_between_its_commits_is_corrected_by_the_third_apply() -> None:
    world, _ = doubled()
    world.source.put(4, 40, 150)
    plan = swept(world).draft
    assert plan is not None
    world.source.put(4, 41, 150)
    killed_between_its_commits(world, plan)
    world.source.put(4, 40, 150)
    killed_between_its_commits(world, plan, run_id="b")

    result = applied(world, plan, run_id="c")

    assert (result.outcome, told(result)) == (Outcome.CORRECTED, {"applied": 3})
    assert len(result.corrections.instants) == 3
    again = applied(world, plan, run_id="d")
    assert (again.outcome, told(again)) == (Outcome.CORRECTED, {"applied_before": 3})


def test_counts_of_an_apply_that_an_error_ended_hold_what_the_other_part_left() -> None:
    world, plan = drifted()
    world.silently_change_lake(2, 99)
    applied(world, plan, Approval(only="upsert"))

    def gone() -> None:
        raise SourceError("the source went away", fix="try again")

    world.journal.before("lake.correct", lambda: world.journal.before("source.read_rows", gone))

    result = applied(world, plan, run_id="b")

    assert (result.outcome, told(result)) == (Outcome.UNVERIFIED, {"applied": 1, "applied_before": 1, "superseded": 1})
    assert [note for note in result.notes if "of run run-1" in note]


def test_error_where_only_a_killed_applys_rows_were_left_to_compare_tells_how_many_its_commit_holds() -> None:
    world, plan = doubled()
    killed_between_its_commits(world, plan)
    world.source.put(1, 11, 100)

    def gone() -> None:
        raise SourceError("the source went away", fix="try again")

    world.journal.before(
        "source.read_moment",
        lambda: world.journal.before("source.read_rows", lambda: world.journal.before("source.read_rows", gone)),
    )

    result = applied(world, plan, run_id="b")

    assert (result.outcome, told(result)) == (Outcome.UNVERIFIED, {"applied": 1, "moved": 1})
    assert result.corrections.instants == (world.lake.commits[-1].instant.completed,)
    assert result.unverified[0].why.endswith("rows in it, not read back: 1")


def test_second_commit_that_lost_its_only_key_to_another_writer_is_told_so_beside_the_killed_first() -> None:
    world, plan = doubled()
    killed_between_its_commits(world, plan)
    world.journal.before("lake.replace", lambda: world.silently_change_lake(1, 99))

    result = applied(world, plan, run_id="b")

    assert told(result) == {"applied": 1, "superseded": 1}
    assert len(result.corrections.instants) == 1
    assert not [note for note in result.notes if "as compared" in note]


def doubled_on_both_sides() -> tuple[World, Plan]:
    """Row 2 is changed at the source; the lake holds twice row 1, and row 3 that the source deleted: two commits a part."""
    world, _ = doubled()
    world.source.delete(3)
    copy = {**next(row for row in world.lake.now if row["id"] == 3), SEQNO: "zz3"}
    world.lake.plant([*world.lake.now, copy], world.lake.commits[-1].checkpoint)
    plan = swept(world).draft
    assert plan is not None
    assert (plan.upserts, plan.deletes) == (2, 1)
    return world, plan


@pytest.mark.parametrize("parts", [("upsert", "delete"), ("delete", "upsert")])
def test_rows_that_a_part_only_carried_into_new_files_are_not_taken_for_another_writers(
    parts: tuple[Part, Part],
) -> None:
    world, plan = doubled_on_both_sides()
    applied(world, plan, Approval(only=parts[0]))

    rest = applied(world, plan, Approval(only=parts[1]), run_id="b")

    assert (rest.outcome, told(rest).get("superseded")) == (Outcome.CORRECTED, None)
    assert world.lake_holds() == world.source_holds()
    again = applied(world, plan, run_id="c")
    assert (again.outcome, told(again)) == (Outcome.CORRECTED, {"applied_before": 3})


@pytest.mark.parametrize("parts", [("upsert", "delete"), ("delete", "upsert")])
def test_parts_that_follow_a_killed_apply_know_its_rows_for_their_own(parts: tuple[Part, Part]) -> None:
    world, plan = doubled_on_both_sides()
    killed_between_its_commits(world, plan)
    applied(world, plan, Approval(only=parts[0]), run_id="b")

    rest = applied(world, plan, Approval(only=parts[1]), run_id="c")

    assert (rest.outcome, sum(told(rest).values())) == (Outcome.CORRECTED, 3)
    assert set(told(rest)) <= {"applied", "applied_before"}
    assert world.lake_holds() == world.source_holds()
    assert told(applied(world, plan, run_id="d")) == {"applied_before": 3}


def test_row_that_another_writer_changed_between_two_parts_is_still_superseded() -> None:
    world, plan = doubled_on_both_sides()
    applied(world, plan, Approval(only="delete"))
    world.silently_change_lake(2, 99)

    rest = applied(world, plan, Approval(only="upsert"), run_id="b")

    assert (rest.outcome, told(rest)) == (Outcome.INCOMPLETE, {"applied": 1, "applied_before": 1, "superseded": 1})
    assert world.lake_holds()[2][0] == 99


def test_part_after_which_all_of_a_killed_apply_is_written_is_corrected() -> None:
    world, _ = doubled()
    world.source.delete(3)
    plan = swept(world).draft
    assert plan is not None
    killed_between_its_commits(world, plan)

    result = applied(world, plan, Approval(only="upsert"), run_id="b")

    assert (result.outcome, told(result)) == (Outcome.CORRECTED, {"applied": 2, "applied_before": 1})
    assert [note for note in result.notes if "of run run-1" in note]
    assert world.lake_holds() == world.source_holds()


def test_rows_of_the_part_not_asked_for_are_left_out_but_those_that_a_killed_apply_wrote() -> None:
    world, _ = doubled_on_both_sides()
    world.source.put(8, 80, 150)
    world.source.delete(2)
    plan = swept(world).draft
    assert plan is not None
    killed_between_its_commits(world, plan)

    result = applied(world, plan, Approval(only="upsert"), run_id="b")

    assert (result.outcome, left(world)) == (Outcome.INCOMPLETE, {3: "not_asked"})
    assert (result.corrections.applied, result.corrections.applied_before) == (2, 1)
