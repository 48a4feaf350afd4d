from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hudi_reconcile.core.errors import RefusedError, UnknownRunError
from hudi_reconcile.core.lake.ownership import Writers
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.plan import EXPIRES_AFTER_MICROS, Approval, Plan
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.values import READ_SEQ, REPLICA
from hudi_reconcile.stages.undo import undo
from tests.fakes.rows import COLUMNS, SEQNO, Killed
from tests.fakes.world import World, applied, job, pulled, swept

ROWS = ((1, 10, 100), (2, 20, 200), (3, 30, 300))


def drifted(**settings: Any) -> tuple[World, Plan]:
    """One row deleted, one silently changed, one late."""
    world = pulled(*ROWS)
    world.source.delete(1)
    world.source.put(2, 21, 200)
    world.source.put(4, 40, 150)
    plan = swept(world, **settings).draft
    assert plan is not None
    world.journal.calls.clear()
    return world, plan


def counts(result: TableResult) -> dict[str, int]:
    found = result.corrections
    return {
        "applied": found.applied, "superseded": found.superseded, "moved": found.moved, "failed": found.failed,
    }  # fmt: skip


def test_plan_is_carried_out_in_one_commit_and_proved() -> None:
    world, plan = drifted()
    before = len(world.lake.commits)

    result = applied(world, plan)

    assert result.outcome is Outcome.CORRECTED
    assert counts(result) == {"applied": 3, "superseded": 0, "moved": 0, "failed": 0}
    assert len(world.lake.commits) == before + 1
    assert world.lake_holds() == world.source_holds()
    assert result.corrections.instants == (world.lake.commits[-1].instant.completed,)
    assert swept(world).result.outcome is Outcome.CLEAN


def test_apply_that_left_a_column_uncompared_is_unverified_and_never_corrected() -> None:
    world = pulled(*ROWS)
    world.source.columns = (*COLUMNS, Column("doc", Kind.OTHER, "xml", why="not compared yet"))
    world.source.put(2, 21, 200)
    plan = swept(world).draft
    assert plan is not None

    result = applied(world, plan)

    assert counts(result)["applied"] == 1
    assert result.outcome is Outcome.UNVERIFIED
    assert [(item.what, item.name) for item in result.unverified] == [("column", "doc")]


def test_commit_carries_the_pulls_checkpoint_on_and_raises_the_read_sequence() -> None:
    world, plan = drifted()
    before = world.lake.find_checkpoint()

    applied(world, plan)

    after = world.lake.commits[-1].checkpoint
    assert before is not None
    assert after == replace(before.checkpoint, read_seq=after.read_seq if after else 0)
    assert after is not None
    assert after.read_seq > before.checkpoint.read_seq


def written_ahead(read_seq: int) -> World:
    """Another writer changed row 2 in the lake, with a read sequence of its own."""
    world = pulled(*ROWS)
    rows = [{**row, "v": 99, READ_SEQ: read_seq} if row["id"] == 2 else row for row in world.lake.now]
    world.lake.plant([world.lake.stamped(row) if row["v"] == 99 else row for row in rows])
    return world


def test_row_that_another_writer_put_ahead_is_written_with_a_greater_sequence_which_later_commits_exceed() -> None:
    world = written_ahead(9 * 10**18)

    result = applied(world, swept(world).draft)

    written = next(row for row in world.lake.now if row["id"] == 2)
    assert (counts(result)["applied"], written["v"], written[READ_SEQ]) == (1, 20, 9 * 10**18 + 1)
    after = world.lake.commits[-1].checkpoint
    assert after is not None
    assert after.read_seq == 9 * 10**18 + 1


def test_row_with_the_greatest_sequence_that_there_is_is_refused_with_nothing_written() -> None:
    world = written_ahead(2**63 - 1)
    before = len(world.lake.commits)

    with pytest.raises(RefusedError, match="no write of ours can replace them"):
        applied(world, swept(world).draft)

    assert len(world.lake.commits) == before


def test_keys_are_read_again_lake_first_before_anything_is_written() -> None:
    world, plan = drifted()

    applied(world, plan)

    calls = world.journal.calls
    assert calls.index("lake.pin") < calls.index("source.read_rows") < calls.index("lake.correct")


def test_second_apply_writes_nothing_and_says_already_applied() -> None:
    world, plan = drifted()
    applied(world, plan)
    before = list(world.lake.commits)

    result = applied(world, plan)

    assert (result.outcome, result.already_applied, result.corrections.applied) == (Outcome.CORRECTED, True, 0)
    assert world.lake.commits == before


def test_kill_after_the_commit_is_seen_by_the_next_apply() -> None:
    world, plan = drifted()

    def die() -> None:
        world.journal.before("lake.pin", stop)

    def stop() -> None:
        raise Killed

    world.journal.before("lake.correct", die)
    with pytest.raises(Killed):
        applied(world, plan)
    assert world.lake.held_by is None

    result = applied(world, plan)

    assert (result.outcome, result.already_applied) == (Outcome.CORRECTED, True)
    assert world.lake_holds() == world.source_holds()


def refuse(world: World, plan: Plan, match: str, approval: Approval | None = None, **settings: Any) -> None:
    before = list(world.lake.commits)
    with pytest.raises(RefusedError, match=match):
        applied(world, plan, approval or Approval(), **settings)
    assert world.lake.commits == before
    assert world.lake.held_by is None


def test_plan_older_than_a_day_is_refused() -> None:
    world, plan = drifted()
    world.clock.now_micros = plan.created_micros + EXPIRES_AFTER_MICROS

    refuse(world, plan, r"24 h old \(limit 24 h: policy.max_plan_age\)")
    assert applied(world, plan, Approval(accept=frozenset({"expired_plan"}))).outcome is Outcome.CORRECTED


@pytest.mark.parametrize("action", ["upsert", "delete"])
@pytest.mark.parametrize("times", [0, 2])
def test_findings_that_hold_other_corrections_than_the_plan_counts_are_refused(action: str, times: int) -> None:
    world, plan = drifted()
    found = world.disk["findings"]
    one = next(row for row in found if row["action"] == action)
    world.disk["findings"] = [row for row in found if row is not one] + [one] * times

    refuse(world, plan, "is of 2 upserts and 1 deletes, its findings hold")


def test_age_that_the_policy_allows_is_the_plans_own() -> None:
    world, plan = drifted(max_plan_age_micros=3_600_000_000)
    world.clock.now_micros = plan.created_micros + 3_600_000_000

    refuse(world, plan, r"1 h old \(limit 1 h")


def test_schema_that_changed_since_the_plan_is_refused_with_both_and_may_be_accepted() -> None:
    world, plan = drifted()
    world.source.columns = (COLUMNS[0], replace(COLUMNS[1], declared="integer", bits=32), COLUMNS[2])

    refuse(world, plan, "planned v bigint = v bigint, found v integer = v bigint")
    assert applied(world, plan, Approval(accept=frozenset({"changed_schema"}))).corrections.applied == 3


def test_source_that_shrank_since_the_sweep_is_refused_before_it_deletes_on() -> None:
    world = pulled(*((key, key, 100) for key in range(40)))
    for key in range(5):
        world.source.delete(key)
    plan = swept(world, max_delete_share=0.2).draft
    assert plan is not None
    for key in range(5, 16):
        world.source.delete(key)

    result = applied(world, plan, max_delete_share=0.2)

    assert result.outcome is Outcome.REFUSED
    assert [(g.limit, g.found) for g in result.guards if g.name == "shrunken_source"] == [
        ("at least 25 source rows (35 at the sweep)", 24)
    ]
    accepted = applied(world, plan, Approval(accept=frozenset({"shrunken_source"})), max_delete_share=0.2)
    assert accepted.corrections.applied == 5


def test_keys_that_hardly_meet_are_refused_as_a_wrong_mapping() -> None:
    world = pulled(*((key, key, 100) for key in range(10)))
    for key in range(6):
        world.source.delete(key)
        world.source.put(key + 100, key, 90)
    plan = swept(world).draft
    assert plan is not None

    result = applied(world, plan)

    assert result.outcome is Outcome.REFUSED
    assert result.error is not None
    assert "guard key_overlap: limit 0.5, found 0.4" in result.error.message
    assert "--accept key_overlap" in result.error.fix
    assert applied(world, plan, Approval(accept=frozenset({"key_overlap"}))).outcome is Outcome.CORRECTED


def test_one_column_that_differs_in_too_many_rows_is_refused_by_its_name() -> None:
    world = pulled(*((key, key, 100) for key in range(100)))
    for key in range(21):
        world.source.put(key, key + 1, 100)
    plan = swept(world).draft
    assert plan is not None

    result = applied(world, plan)

    assert result.outcome is Outcome.REFUSED
    assert result.error is not None
    assert "guard same_column_share: limit 0.2, found 0.21" in result.error.message
    assert "21 rows differ in column v" in result.error.fix
    assert (
        applied(world, plan, Approval(only="upsert", accept=frozenset({"same_column_share"}))).corrections.applied == 21
    )


def test_plan_of_just_under_a_day_is_carried_out() -> None:
    world, plan = drifted()
    world.clock.now_micros = plan.created_micros + EXPIRES_AFTER_MICROS - 1

    assert applied(world, plan).outcome is Outcome.CORRECTED


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"lake_path": "/lake/staging"}, "for lake path /lake/staging"),
        ({"source_identity": "server:9/table:1"}, "for source server:9"),
        ({"key": ("id", "v")}, "for key id, v"),
    ],
)
def test_plan_of_another_place_is_refused(change: dict[str, Any], match: str) -> None:
    world, plan = drifted()

    refuse(world, replace(plan, **change), match)


def test_apply_to_a_foreign_table_is_refused() -> None:
    world, plan = drifted()
    world.lake.ordering = ("at",)

    refuse(world, plan, "made by another writer")


def test_apply_under_another_lease_is_refused() -> None:
    world, plan = drifted()
    world.lake.held_by = "a pull"
    before = list(world.lake.commits)

    with pytest.raises(RefusedError, match="a pull"):
        applied(world, plan)
    assert world.lake.commits == before


@pytest.mark.parametrize(
    ("settings", "approval", "guard"),
    [
        ({"max_deletes": 0}, Approval(), "max_deletes"),
        ({"max_delete_share": 0.1}, Approval(), "max_delete_share"),
        ({"max_upsert_share": 0.1}, Approval(), "max_upsert_share"),
        ({}, Approval(approve_deletes=2), "approve_deletes"),
        ({}, Approval(approve_deletes=0), "approve_deletes"),
        ({"max_deletes": 0}, Approval(approve_deletes=3), "approve_deletes"),
    ],
)
def test_guard_that_says_no_writes_nothing(settings: dict[str, Any], approval: Approval, guard: str) -> None:
    world, plan = drifted(**settings)
    before = list(world.lake.commits)

    result = applied(world, plan, approval)

    assert result.outcome is Outcome.REFUSED
    assert result.error is not None
    assert f"guard {guard}" in result.error.message
    assert not {item.name: item.ok for item in result.guards}[guard]
    assert world.lake.commits == before
    assert "lake.pin" not in world.journal.calls


@pytest.mark.parametrize(
    ("settings", "guard"),
    [
        ({"max_deletes": 0}, "max_deletes"),
        ({"max_delete_share": 0.1}, "max_delete_share"),
        ({"max_upsert_share": 0.1}, "max_upsert_share"),
    ],
)
def test_policy_that_became_stricter_since_the_sweep_counts_and_a_looser_one_does_not(
    settings: dict[str, Any], guard: str
) -> None:
    for at_sweep, at_apply in ((settings, {}), ({}, settings)):
        world, plan = drifted(**at_sweep)

        result = applied(world, plan, **at_apply)

        assert result.outcome is Outcome.REFUSED
        assert [one.name for one in result.guards if not one.ok] == [guard]
        assert 1 in world.lake_holds()


def test_deletes_beyond_a_limit_that_became_stricter_are_carried_out_with_the_plans_number() -> None:
    world, plan = drifted()

    assert applied(world, plan, Approval(approve_deletes=1), max_deletes=0).outcome is Outcome.CORRECTED


def test_age_that_the_config_allows_now_counts_where_it_is_less_than_the_plans() -> None:
    world, plan = drifted()
    world.clock.now_micros = plan.created_micros + 3_600_000_000

    refuse(world, plan, r"1 h old \(limit 1 h", max_plan_age_micros=3_600_000_000)
    assert applied(world, plan, max_plan_age_micros=48 * 3_600_000_000).outcome is Outcome.CORRECTED


def test_empty_lake_wants_all_its_rows_under_any_policy() -> None:
    world = pulled(*ROWS)
    world.lake.plant([], world.lake.commits[-1].checkpoint)
    plan = swept(world, max_upsert_share=0.2).draft

    assert applied(world, plan, max_upsert_share=0.1).corrections.applied == 3


def test_source_that_shrank_since_the_sweep_does_not_hold_up_what_deletes_nothing() -> None:
    world = pulled(*((key, key, 100) for key in range(40)))
    world.source.delete(0)
    world.source.put(39, 99, 100)
    plan = swept(world).draft
    for key in range(1, 30):
        world.source.delete(key)

    assert applied(world, plan, max_delete_share=0.2).outcome is Outcome.REFUSED
    assert applied(world, plan, Approval(only="upsert"), max_delete_share=0.2).corrections.applied == 1


STOPPED = {"stopped": "replication into this replica has stopped"}
LAGGING = {"replayed_micros": 0}


@pytest.mark.parametrize("state", [STOPPED, LAGGING])
def test_plan_of_the_primary_is_refused_where_the_address_leads_to_a_replica_that_is_behind(
    state: dict[str, Any],
) -> None:
    world, plan = drifted()
    world.source.moment_notes = (REPLICA,)
    for name, value in state.items():
        setattr(world.source, name, value)

    accepted = Approval(accept=frozenset({"replica_deletes"}))
    refuse(world, plan, "nothing was written", accepted)
    refuse(world, plan, "nothing was written", Approval(only="upsert"))
    assert 1 in world.lake_holds()


def test_deletes_planned_on_the_primary_are_refused_on_any_replica_and_allowed_by_the_word() -> None:
    world, plan = drifted()
    world.source.moment_notes = (REPLICA,)

    refuse(world, plan, "guard replica_deletes")
    assert applied(world, plan, Approval(only="upsert")).corrections.applied == 2
    assert applied(world, plan, Approval(accept=frozenset({"replica_deletes"}))).outcome is Outcome.CORRECTED


def test_approved_deletes_beyond_the_limit_are_carried_out() -> None:
    world, plan = drifted(max_deletes=0)

    assert applied(world, plan, Approval(approve_deletes=1)).outcome is Outcome.CORRECTED
    assert world.lake_holds() == world.source_holds()


def test_empty_source_is_refused_with_the_right_count_and_allowed_by_its_own_word() -> None:
    world = pulled(*ROWS)
    for key in (1, 2, 3):
        world.source.delete(key)
    plan = swept(world).draft

    assert applied(world, plan, Approval(approve_deletes=3)).outcome is Outcome.REFUSED
    assert len(world.lake.now) == 3
    approval = Approval(approve_deletes=3, allow_empty_source=True)
    assert applied(world, plan, approval).outcome is Outcome.CORRECTED
    assert world.lake.now == []


def test_row_that_the_source_changed_since_the_sweep_is_moved_and_left_alone() -> None:
    world, plan = drifted()
    world.source.put(2, 22, 200)

    result = applied(world, plan)

    assert counts(result) == {"applied": 2, "superseded": 0, "moved": 1, "failed": 0}
    assert result.outcome is Outcome.INCOMPLETE
    assert world.lake_holds()[2] == (20, 200)


def test_row_that_healed_by_itself_since_the_sweep_is_moved_and_leaves_the_apply_incomplete() -> None:
    world, plan = drifted()
    world.source.put(2, 20, 200)

    result = applied(world, plan)

    assert counts(result) == {"applied": 2, "superseded": 0, "moved": 1, "failed": 0}
    assert result.outcome is Outcome.INCOMPLETE


def test_row_to_be_deleted_that_is_there_again_is_moved_and_kept() -> None:
    world, plan = drifted()
    world.source.put(1, 10, 100)

    result = applied(world, plan)

    assert counts(result)["moved"] == 1
    assert world.lake_holds()[1] == (10, 100)


def test_row_that_another_writer_changed_since_the_sweep_is_superseded_and_left_alone() -> None:
    world, plan = drifted()
    world.silently_change_lake(2, 99)

    result = applied(world, plan)

    assert counts(result) == {"applied": 2, "superseded": 1, "moved": 0, "failed": 0}
    assert result.outcome is Outcome.INCOMPLETE
    assert world.lake_holds()[2] == (99, 200)


def test_key_that_another_writer_wins_for_itself_is_superseded_and_the_rest_is_written_in_a_second_attempt() -> None:
    world, plan = drifted()
    world.journal.before("lake.correct", lambda: world.silently_change_lake(2, 99))

    result = applied(world, plan)

    assert counts(result) == {"applied": 2, "superseded": 1, "moved": 0, "failed": 0}
    assert result.outcome is Outcome.INCOMPLETE
    assert world.journal.calls.count("lake.correct") == 2
    assert world.lake_holds() == {2: (99, 200), 3: (30, 300), 4: (40, 150)}


def test_writer_that_wins_every_key_leaves_no_word_of_rows_as_compared_and_sends_to_a_sweep() -> None:
    world = pulled(*ROWS)
    world.source.put(2, 21, 200)
    plan = swept(world).draft
    world.journal.before("lake.correct", lambda: world.silently_change_lake(2, 99))

    result = applied(world, plan, savepoint="always")

    assert counts(result) == {"applied": 0, "superseded": 1, "moved": 0, "failed": 0}
    assert [note for note in result.notes if "changed these rows" in note and "sweep again" in note]
    assert not [note for note in result.notes if "as compared" in note]
    assert [note for note in result.notes if note.startswith(f"savepoint {world.lake.savepoints[0]} was made")]


def test_writer_in_flight_supersedes_all_and_the_reason_says_that_the_same_apply_may_be_run_again() -> None:
    world, plan = drifted()
    world.journal.before("lake.correct", lambda: world.lake.in_flight.add("x"))

    result = applied(world, plan)

    assert counts(result) == {"applied": 0, "superseded": 3, "moved": 0, "failed": 0}
    assert (result.outcome, result.corrections.instants) == (Outcome.INCOMPLETE, ())
    assert world.journal.calls.count("lake.correct") == 1
    assert world.lake_holds() == {1: (10, 100), 2: (20, 200), 3: (30, 300)}
    assert [note for note in result.notes if "another writer is in flight" in note and "same apply again" in note]
    assert not [note for note in result.notes if "changed these rows" in note]
    world.lake.in_flight.clear()
    assert applied(world, plan).outcome is Outcome.CORRECTED


def test_writer_that_wins_twice_supersedes_all_in_the_end() -> None:
    world, plan = drifted(savepoint="always")

    def again() -> None:
        world.silently_change_lake(2, 99)
        world.journal.before("lake.correct", lambda: world.silently_change_lake(1, 9))

    world.journal.before("lake.correct", again)

    result = applied(world, plan, savepoint="always")

    assert counts(result) == {"applied": 0, "superseded": 3, "moved": 0, "failed": 0}
    named = {result.corrections.savepoint, *(note.split()[1] for note in result.notes if note.startswith("savepoint"))}
    assert set(world.lake.savepoints) <= named


def test_superseded_plan_heals_with_the_next_sweep() -> None:
    world, plan = drifted()
    world.journal.before("lake.correct", lambda: world.silently_change_lake(2, 99))
    applied(world, plan)

    assert applied(world, swept(world).draft).outcome is Outcome.CORRECTED
    assert world.lake_holds() == world.source_holds()


def test_write_that_the_lake_swallowed_is_failed_and_never_corrected() -> None:
    world, plan = drifted()
    world.lake.dropped_writes = {2}

    result = applied(world, plan)

    assert counts(result) == {"applied": 2, "superseded": 0, "moved": 0, "failed": 1}
    assert result.outcome is Outcome.INCOMPLETE


@pytest.mark.parametrize("key", [1, 2, 4])
def test_counts_of_what_became_of_the_plan_add_up(key: int) -> None:
    world, plan = drifted()
    world.source.put(2, 22, 200)
    world.lake.dropped_writes = {key}

    result = applied(world, plan)

    assert sum(counts(result).values()) == plan.upserts + plan.deletes


def test_drift_that_came_after_the_sweep_leaves_the_apply_incomplete() -> None:
    world, plan = drifted()
    world.source.put(3, 31, 300)

    result = applied(world, plan)

    assert counts(result)["applied"] == 3
    assert result.outcome is Outcome.INCOMPLETE
    assert dict(result.findings) == {"updated_without_watermark": 1}


def test_pending_rows_at_the_verification_leave_the_apply_corrected() -> None:
    world, plan = drifted()
    world.source.put(5, 50, 500)

    result = applied(world, plan)

    assert (result.outcome, result.not_drift["pending"]) == (Outcome.CORRECTED, 1)


def doubled(*, singles: bool) -> tuple[World, Plan]:
    """Row 1 twice in the lake, row 3 twice there and gone at the source; with `singles` 2 is changed and 4 gone too."""
    world = pulled(*ROWS, *(((4, 40, 150),) if singles else ()))
    rows = world.lake.now
    copies = [{**row, "v": 7, SEQNO: f"zz{row['id']}"} for row in rows if row["id"] in (1, 3)]
    world.lake.plant([*rows, *copies], world.lake.commits[-1].checkpoint)
    world.source.delete(3)
    if singles:
        world.source.put(2, 21, 200)
        world.source.delete(4)
    plan = swept(world).draft
    assert plan is not None
    world.journal.calls.clear()
    return world, plan


def test_keys_that_the_lake_holds_twice_become_one_row_or_none_in_one_commit() -> None:
    world, plan = doubled(singles=False)
    before = len(world.lake.commits)

    result = applied(world, plan)

    assert (result.outcome, counts(result)["applied"]) == (Outcome.CORRECTED, 2)
    assert world.lake_holds() == world.source_holds()
    assert len(world.lake.commits) == before + 1
    assert applied(world, plan).already_applied


def test_doubled_keys_come_after_the_other_corrections_whose_versions_they_would_move() -> None:
    world, plan = doubled(singles=True)

    result = applied(world, plan)

    assert (result.outcome, counts(result)["applied"]) == (Outcome.CORRECTED, 4)
    assert [call for call in world.journal.calls if call in ("lake.correct", "lake.replace")] == [
        "lake.correct",
        "lake.replace",
    ]
    assert result.corrections.instants == tuple(commit.instant.completed for commit in world.lake.commits[-2:])
    assert applied(world, plan).already_applied


def killed_between_the_commits() -> tuple[World, Plan]:
    """Row 2 is updated and row 4 deleted by the first commit; the doubled rows 1 and 3 still wait for the second."""
    world, plan = doubled(singles=True)

    def die() -> None:
        raise Killed

    world.journal.before("lake.replace", die)
    with pytest.raises(Killed):
        applied(world, plan)
    return world, plan


def test_apply_killed_between_its_two_commits_is_finished_by_the_next_which_knows_the_first() -> None:
    world, plan = killed_between_the_commits()
    first = world.lake.commits[-1].instant

    result = applied(world, plan)

    assert counts(result) == {"applied": 4, "superseded": 0, "moved": 0, "failed": 0}
    assert result.outcome is Outcome.CORRECTED
    assert result.corrections.instants == (first.completed, world.lake.commits[-1].instant.completed)
    assert any("killed" in note and "2" in note for note in result.notes)
    assert world.lake_holds() == world.source_holds()
    assert len([commit for commit in world.lake.commits if "plan" in commit.labels]) == 2
    assert applied(world, plan).already_applied


def test_undo_of_the_apply_that_finished_a_killed_one_takes_back_the_first_commit() -> None:
    world, plan = killed_between_the_commits()
    done = applied(world, plan)
    assert done.outcome is Outcome.CORRECTED
    assert 4 not in {row["id"] for row in world.lake.now}

    with pytest.raises(UnknownRunError):
        undo(job(run_id="run-3"), "finished", world.edges)
    undone = undo(job(run_id="run-3"), "finished", world.edges, instants=done.corrections.instants)

    # Row 2 was written anew by the second commit, with all that shares its partition; row 4 was deleted by the first.
    assert (undone.corrections.applied, undone.corrections.superseded) == (1, 1)
    assert 4 in {row["id"] for row in world.lake.now}


def test_row_of_the_first_commit_that_others_touched_before_the_second_apply_is_superseded() -> None:
    world, plan = killed_between_the_commits()
    world.silently_change_lake(2, 99)

    assert counts(applied(world, plan)) == {"applied": 3, "superseded": 1, "moved": 0, "failed": 0}


def test_row_that_another_writer_corrected_before_the_first_commit_is_not_counted_as_ours() -> None:
    world, plan = doubled(singles=True)
    world.lake.plant([row for row in world.lake.now if row["id"] != 4])  # deleted by somebody else

    def die() -> None:
        raise Killed

    world.journal.before("lake.replace", die)
    with pytest.raises(Killed):
        applied(world, plan)

    assert counts(applied(world, plan)) == {"applied": 3, "superseded": 1, "moved": 0, "failed": 0}


def test_row_of_the_first_commit_that_the_source_changed_since_is_counted_and_the_apply_incomplete() -> None:
    world, plan = killed_between_the_commits()
    world.source.put(2, 22, 200)

    result = applied(world, plan)

    assert counts(result) == {"applied": 4, "superseded": 0, "moved": 0, "failed": 0}
    assert result.outcome is Outcome.INCOMPLETE


def test_first_commit_whose_forerunner_may_be_cleaned_leaves_its_rows_superseded() -> None:
    world, plan = killed_between_the_commits()
    world.lake.cleaned = True

    result = applied(world, plan)

    assert counts(result) == {"applied": 2, "superseded": 2, "moved": 0, "failed": 0}
    assert result.outcome is Outcome.INCOMPLETE


def test_writer_between_the_two_commits_supersedes_the_doubled_keys_alone() -> None:
    world, plan = doubled(singles=True)
    world.journal.before("lake.replace", lambda: world.silently_change_lake(1, 99))

    result = applied(world, plan)

    assert counts(result) == {"applied": 2, "superseded": 2, "moved": 0, "failed": 0}
    assert result.outcome is Outcome.INCOMPLETE


def test_doubled_keys_that_cannot_be_one_commit_are_refused_and_counted_failed_beside_others() -> None:
    world, plan = doubled(singles=False)
    world.lake.cannot_replace = "a partition has a comma"
    refuse(world, plan, "comma")

    world, plan = doubled(singles=True)
    world.lake.cannot_replace = "a partition has a comma"
    result = applied(world, plan)

    assert counts(result) == {"applied": 2, "superseded": 0, "moved": 0, "failed": 2}
    assert result.outcome is Outcome.INCOMPLETE
    assert any("comma" in note for note in result.notes)


def test_part_of_a_plan_is_incomplete_and_the_rest_finishes_it() -> None:
    world, plan = drifted()

    first = applied(world, plan, Approval(only="upsert"))
    assert (first.outcome, first.corrections.applied) == (Outcome.INCOMPLETE, 2)
    assert world.lake_holds() == {1: (10, 100), 2: (21, 200), 3: (30, 300), 4: (40, 150)}
    second = applied(world, plan)

    assert (second.outcome, second.corrections.applied) == (Outcome.CORRECTED, 1)
    assert world.lake_holds() == world.source_holds()
    assert applied(world, plan).already_applied


@pytest.mark.parametrize("order", [("upsert", "delete"), ("delete", "upsert")])
def test_both_parts_one_after_the_other_correct_the_whole(order: tuple[Any, Any]) -> None:
    world, plan = drifted()

    outcomes = [applied(world, plan, Approval(only=part)).outcome for part in order]

    assert outcomes == [Outcome.INCOMPLETE, Outcome.CORRECTED]
    assert world.lake_holds() == world.source_holds()


def test_same_part_again_is_no_second_commit_and_not_yet_corrected() -> None:
    world, plan = drifted()
    applied(world, plan, Approval(only="upsert"))
    before = list(world.lake.commits)

    again = applied(world, plan, Approval(only="upsert"))

    assert world.lake.commits == before
    assert again.already_applied
    assert again.outcome is Outcome.INCOMPLETE


def test_only_upserts_of_a_plan_without_deletes_is_the_whole_plan() -> None:
    world = pulled(*ROWS)
    world.source.put(2, 21, 200)

    assert applied(world, swept(world).draft, Approval(only="upsert")).outcome is Outcome.CORRECTED


def test_apply_without_any_checkpoint_makes_one_that_pull_will_not_mistake_for_progress() -> None:
    world = pulled(*ROWS)
    rows = world.lake.now
    world.lake.commits.clear()
    world.lake.plant(rows)
    world.source.put(2, 21, 200)

    applied(world, swept(world).draft)

    found = world.lake.find_checkpoint()
    assert found is not None
    assert found.checkpoint.watermark_micros is None


@pytest.mark.parametrize(
    ("policy", "only", "made"),
    [("deletes", None, 1), ("deletes", "upsert", 0), ("always", "upsert", 1), ("never", None, 0)],
)
def test_savepoint_is_made_before_the_commit_where_the_policy_wants_one(policy: str, only: Any, made: int) -> None:
    world, plan = drifted(savepoint=policy)
    before = world.lake.commits[-1].instant.requested

    result = applied(world, plan, Approval(only=only), savepoint=policy)

    assert world.lake.savepoints == [before] * made
    assert result.corrections.savepoint == (before if made else None)
    if made:
        calls = world.journal.calls
        assert calls.index("lake.savepoint") < calls.index("lake.correct") < calls.index("lake.drop_savepoints")


def test_only_the_newest_savepoint_is_kept_and_only_an_apply_that_wrote_removes_older_ones() -> None:
    world, plan = drifted(savepoint="deletes")
    world.lake.savepoints.append("000")
    world.journal.before("lake.correct", lambda: world.lake.in_flight.add("x"))

    lost = applied(world, plan, savepoint="deletes")

    assert lost.corrections.applied == 0
    assert lost.corrections.savepoint is not None
    assert world.lake.savepoints == ["000", lost.corrections.savepoint]
    world.lake.in_flight.clear()
    anew = swept(world).draft
    before = world.lake.commits[-1].instant.requested
    assert applied(world, anew, savepoint="deletes").corrections.savepoint == before
    assert world.lake.savepoints == [before]


def test_apply_that_has_nothing_left_to_write_makes_no_savepoint() -> None:
    world = pulled(*ROWS)
    world.source.delete(1)
    plan = swept(world, savepoint="always").draft
    world.source.put(1, 10, 100)

    applied(world, plan, savepoint="always")

    assert world.lake.savepoints == []


def test_deletes_of_a_replica_are_refused_and_allowed_by_their_own_word_and_upserts_go_through() -> None:
    world = pulled(*ROWS)
    world.source.moment_notes = (REPLICA,)
    world.source.delete(3)
    world.source.put(1, 11, 100)
    plan = swept(world).draft

    refused = applied(world, plan)
    assert refused.outcome is Outcome.REFUSED
    assert refused.error is not None
    assert "guard replica_deletes" in refused.error.message
    assert applied(world, plan, Approval(only="upsert")).corrections.applied == 1
    assert applied(world, plan, Approval(accept=frozenset({"replica_deletes"}))).outcome is Outcome.CORRECTED
    assert world.lake_holds() == world.source_holds()


def test_apply_beside_a_writer_with_default_settings_in_flight_is_refused_and_beside_others_commits_says_so() -> None:
    world, plan = drifted()
    before = len(world.lake.commits)
    world.lake.others = Writers(commits=20, foreign=3, without_heartbeat=("20260101000000000",))

    with pytest.raises(RefusedError, match="20260101000000000: no heartbeat") as refused:
        applied(world, plan)

    assert len(world.lake.commits) == before
    assert "hoodie.clean.failed.writes.policy=LAZY" in refused.value.fix

    world.lake.others = Writers(commits=20, foreign=3)
    result = applied(world, plan)

    assert result.outcome is Outcome.CORRECTED
    assert [note for note in result.notes if note.startswith("3 of the newest 20 commits are another writer's")]


def test_verification_whose_read_lacks_a_row_that_the_source_counts_proves_nothing() -> None:
    world = pulled(*ROWS)
    world.source.put(2, 21, 200)
    plan = swept(world).draft
    world.source.put(0, 5, 50)  # of the same segment, from before the checkpoint
    world.source.lost_in_reads = {0}

    done = applied(world, plan)

    assert (done.outcome, done.corrections.applied) == (Outcome.UNVERIFIED, 1)
    assert "read returned 2 rows, the table counts 3" in done.unverified[0].why
