"""Every planned row that an apply did not correct is listed with its reason; `applied` of the fakes holds the sums each time."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.errors import LakeError, RefusedError, SupersededError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.plan import Approval, Plan
from tests.fakes.rows import SEQNO, Killed
from tests.fakes.world import World, applied, left, pulled, swept

ROWS = tuple((key, key * 10, key * 100) for key in range(1, 8))


def drifted() -> tuple[World, Plan]:
    """Row 1 is deleted, 2, 3 and 4 silently changed, 9 is late."""
    world = pulled(*ROWS)
    world.source.delete(1)
    for key in (2, 3, 4):
        world.source.put(key, key * 10 + 1, key * 100)
    world.source.put(9, 90, 150)
    plan = swept(world).draft
    assert plan is not None
    return world, plan


def test_rows_that_others_changed_since_are_listed_beside_those_that_the_lake_swallowed() -> None:
    world, plan = drifted()
    world.silently_change_lake(2, 99)
    world.source.put(3, 33, 300)
    world.source.put(1, 10, 100)
    world.lake.dropped_writes = {4}

    result = applied(world, plan)

    assert left(world) == {1: "moved", 2: "superseded", 3: "moved", 4: "failed"}
    assert result.uncorrected is not None
    assert (result.uncorrected.path, result.uncorrected.why) == ("t/uncorrected", "")
    assert result.uncorrected.by_reason == {"moved": 2, "superseded": 1, "failed": 1}


def test_apply_that_corrected_everything_lists_nothing() -> None:
    world, plan = drifted()

    result = applied(world, plan)

    assert (result.outcome, left(world)) == (Outcome.CORRECTED, {})
    assert result.uncorrected is not None
    assert (result.uncorrected.rows, result.uncorrected.path) == (0, None)


def test_rows_whose_commit_another_writer_prevented_are_told_from_those_that_it_changed() -> None:
    world, plan = drifted()
    world.silently_change_lake(2, 99)

    def race() -> None:
        world.journal.before("lake.correct", race)
        raise SupersededError("another writer is in flight", fix="apply again")

    world.journal.before("lake.correct", race)

    result = applied(world, plan)

    assert result.corrections.superseded == 5
    assert left(world) == {2: "superseded", **dict.fromkeys((1, 3, 4, 9), "not_committed")}


def test_part_that_was_not_asked_for_is_listed_until_it_is_applied() -> None:
    world, plan = drifted()
    world.silently_change_lake(2, 99)

    applied(world, plan, Approval(only="upsert"))
    assert left(world) == {1: "not_asked", 2: "superseded"}
    applied(world, plan, Approval(only="upsert"), run_id="again")
    assert left(world) == {1: "not_asked", 2: "superseded"}
    applied(world, plan, run_id="rest")
    assert left(world) == {2: "superseded"}


@pytest.mark.parametrize("killed", [False, True])
def test_second_apply_lists_what_the_first_left_by_the_commit_alone(killed: bool) -> None:  # noqa: FBT001
    world, plan = drifted()
    world.silently_change_lake(2, 99)
    world.source.put(3, 33, 300)
    if killed:
        world.journal.before("lake.correct", lambda: world.journal.before("lake.pin", stop))
        with pytest.raises(Killed):
            applied(world, plan)
    else:
        applied(world, plan)

    result = applied(world, plan, run_id="run-2")

    assert (result.already_applied, left(world)) == (True, {2: "superseded", 3: "moved"})


def test_row_whose_reason_the_commit_does_not_tell_is_listed_as_unknown() -> None:
    world, plan = drifted()
    world.source.put(2, 22, 200)
    world.source.put(3, 33, 300)
    world.lake.dropped_writes = {4}
    applied(world, plan)
    assert left(world) == {2: "moved", 3: "moved", 4: "failed"}
    world.source.put(3, 31, 300)  # as planned again: how it stands no longer tells it from the failed one

    result = applied(world, plan, run_id="run-2")

    assert (result.corrections.moved, result.corrections.failed) == (2, 1)
    assert left(world) == {2: "moved", 3: "unknown", 4: "unknown"}


def test_rows_that_the_lake_can_no_longer_tell_are_counted_and_said_to_be_unlisted() -> None:
    world, plan = drifted()
    world.silently_change_lake(2, 99)
    applied(world, plan, Approval(only="upsert"))
    world.lake.cleaned = True

    result = applied(world, plan, Approval(only="upsert"), run_id="run-2")

    told = result.uncorrected
    assert told is not None
    assert (told.by_reason, told.listed_rows, left(world)) == ({"superseded": 1, "not_asked": 1}, 1, {1: "not_asked"})
    assert told.why.startswith("1 of 2 rows are listed: the lake no longer shows")


def test_plan_that_a_guard_refused_is_left_whole_with_the_guard_as_reason() -> None:
    world, plan = drifted()

    result = applied(world, plan, Approval(approve_deletes=7))

    told = result.uncorrected
    assert told is not None
    assert (result.outcome, told.by_reason, told.listed_rows) == (Outcome.REFUSED, {"refused": 5}, 0)
    assert (told.plan_run, told.why) == ("run-1", "guard approve_deletes: limit 1, found 7")


def test_refusal_after_an_earlier_commit_says_that_it_did_not_look_what_that_wrote() -> None:
    world, plan = drifted()
    applied(world, plan, Approval(only="upsert"))

    told = applied(world, plan, Approval(approve_deletes=7), run_id="run-2").uncorrected

    assert told is not None
    assert "an earlier apply of the plan already committed some rows" in told.why


def test_apply_that_an_error_ended_after_its_commit_counts_what_it_left_and_lists_it_when_run_again() -> None:
    world = pulled(*ROWS)
    world.lake.plant([*world.lake.now, {**world.lake.now[0], "v": 7, SEQNO: "zz1"}], world.lake.commits[-1].checkpoint)
    world.source.put(2, 21, 200)
    plan = swept(world).draft

    def fails() -> None:
        raise LakeError("the commit was not made", fix="run it again")

    world.journal.before("lake.replace", fails)

    told = applied(world, plan).uncorrected

    assert told is not None
    assert (told.by_reason, told.listed_rows, told.plan_run) == ({"failed": 1}, 0, "run-1")
    assert "run the same apply again" in told.why


def test_apply_of_a_part_that_an_error_ended_after_its_commit_counts_the_other_part_too() -> None:
    world = pulled(*ROWS)
    world.lake.plant([*world.lake.now, {**world.lake.now[0], "v": 7, SEQNO: "zz1"}], world.lake.commits[-1].checkpoint)
    world.source.put(2, 21, 200)
    world.source.delete(3)
    plan = swept(world).draft

    def fails() -> None:
        raise LakeError("the commit was not made", fix="run it again")

    world.journal.before("lake.replace", fails)

    told = applied(world, plan, Approval(only="upsert")).uncorrected

    assert told is not None
    assert (told.rows, told.by_reason) == (2, {"failed": 1, "not_asked": 1})


def test_second_commit_that_hudi_cannot_make_leaves_its_rows_in_the_list() -> None:
    world = pulled(*ROWS)
    world.lake.plant([*world.lake.now, {**world.lake.now[0], "v": 7, SEQNO: "zz1"}], world.lake.commits[-1].checkpoint)
    world.source.put(2, 21, 200)
    plan = swept(world).draft

    def refuses() -> None:
        raise RefusedError("the partition cannot be written anew", fix="do it by hand")

    world.journal.before("lake.replace", refuses)

    result = applied(world, plan)

    assert (result.corrections.applied, result.corrections.failed, left(world)) == (1, 1, {1: "failed"})


def stop() -> None:
    raise Killed
