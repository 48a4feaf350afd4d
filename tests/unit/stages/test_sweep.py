from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hudi_reconcile.core.errors import LakeError, RefusedError, UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.pull.source_lineage import SourceLineage
from hudi_reconcile.core.sweep.drift_profile import Anatomy
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.masking import Masking
from hudi_reconcile.core.tables.values import REPLICA
from hudi_reconcile.ports import KeyFaults
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.sweep.guards import check_guards
from hudi_reconcile.stages.sweep.sweep import sweep
from hudi_reconcile.stages.sweep.two_looks import LookResult
from tests.fakes.rows import COLUMNS, SEQNO
from tests.fakes.world import World, applied, at_checkpoint, job, pulled, swept

ROWS = ((1, 10, 100), (2, 20, 200), (3, 30, 300))


def found(world: World, **settings: Any) -> dict[str, int]:
    """Kinds with a count."""
    result = swept(world, **settings).result
    return {kind: count for kind, count in {**result.findings, **result.not_drift}.items() if count}


def test_rows_that_are_all_two_hours_later_in_the_lake_name_a_writer_in_another_zone() -> None:
    hours = 2 * 3_600_000_000
    world = pulled(*((key, key, key) for key in range(1, 4)))
    for key in range(1, 4):
        world.source.put(key, key, key - hours)
    said = "3 of 3 rows differ in at by exactly +2 h in the lake: a writer in another time zone?"

    shifted = swept(world).result
    world.source.put(3, 31, 3)
    some = swept(world).result

    assert [note for note in shifted.notes if note.startswith(said)]
    assert not [note for note in some.notes if "time zone" in note]


def test_equal_sides_are_clean_after_one_look() -> None:
    world = pulled(*ROWS)

    result = swept(world).result

    assert result.outcome is Outcome.CLEAN
    assert result.source is not None
    assert result.lake is not None
    assert (result.source.rows, result.lake.rows) == (3, 3)
    assert world.journal.calls.count("source.read_rows") == 1


def test_sweep_writes_nothing() -> None:
    world = pulled(*ROWS)
    world.source.delete(1)
    before = list(world.lake.commits)

    swept(world)

    assert world.lake.commits == before
    assert not {"lake.upsert", "lake.correct", "lake.create"} & set(world.journal.calls)


def test_lake_is_pinned_before_the_source_is_read_at_both_looks() -> None:
    world = pulled(*ROWS)
    world.source.delete(1)

    swept(world)

    wanted = ("lake.pin", "source.read_moment", "source.read_rows", "clock.sleep", "source.count_rows")
    calls = [call for call in world.journal.calls if call in wanted]
    assert calls == [
        "lake.pin", "source.read_moment", "source.read_rows", "source.count_rows",
        "source.read_moment", "source.read_rows", "clock.sleep",
        "lake.pin", "source.read_moment", "source.read_rows", "source.read_moment",
    ]  # fmt: skip


def silent_update(world: World) -> None:
    world.source.put(1, 11, 100)


def late_insert(world: World) -> None:
    world.source.put(4, 40, 150)


def late_update(world: World) -> None:
    world.source.put(1, 11, 250)


def delete(world: World) -> None:
    world.source.delete(1)


def regress(world: World) -> None:
    world.source.put(1, 11, 99)


def insert_without_watermark(world: World) -> None:
    world.source.put(4, 40, None)


def lose_watermark(world: World) -> None:
    world.source.put(1, 11, None)


def new_row(world: World) -> None:
    world.source.put(4, 40, 301)


def duplicate(world: World) -> None:
    rows = world.lake.now
    world.lake.plant([*rows, {**rows[0], SEQNO: "zz"}])


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (silent_update, "updated_without_watermark"),
        (late_insert, "late_arriving"),
        (late_update, "late_arriving"),
        (delete, "deleted"),
        (regress, "regressed"),
        (insert_without_watermark, "late_arriving"),
        (lose_watermark, "updated_without_watermark"),
        (new_row, "pending"),
        (duplicate, "duplicate_key"),
    ],
)
def test_each_change_is_found_under_its_kind(change: Callable[[World], None], kind: str) -> None:
    world = pulled(*ROWS)
    change(world)

    result = swept(world).result

    assert {**result.findings, **result.not_drift} == {
        **dict.fromkeys((*result.findings, *result.not_drift), 0), kind: 1,
    }  # fmt: skip
    assert result.outcome is (Outcome.CLEAN if kind == "pending" else Outcome.DRIFT)


def test_plan_counts_what_was_found_and_is_bound_to_both_sides() -> None:
    world = pulled(*ROWS)
    for change in (delete, late_insert):
        change(world)
    world.source.put(2, 21, 200)

    draft = swept(world).draft

    assert draft is not None
    assert (draft.upserts, draft.deletes) == (2, 1)
    assert draft.by_kind == {"deleted": 1, "late_arriving": 1, "updated_without_watermark": 1}
    assert (draft.lake_path, draft.source_identity) == ("/lake/t", "server:1/table:1")
    assert draft.lake_instant == world.lake.commits[-1].instant.completed


def test_pending_alone_is_clean_and_needs_no_plan() -> None:
    world = pulled(*ROWS)
    new_row(world)

    done = swept(world)

    assert (done.result.outcome, done.draft) == (Outcome.CLEAN, None)


def between(world: World, action: Callable[[], None]) -> None:
    """Run something between the two looks."""
    world.journal.before("clock.sleep", action)


def test_row_that_vanishes_between_the_looks_is_moving_and_never_deleted() -> None:
    world = pulled(*ROWS)
    silent_update(world)
    between(world, lambda: world.source.delete(1))

    done = swept(world)

    assert done.result.not_drift["moving"] == 1
    assert done.result.findings["deleted"] == 0
    assert (done.result.outcome, done.draft) == (Outcome.UNVERIFIED, None)


def test_row_absent_at_the_first_look_and_back_at_the_second_is_settled() -> None:
    world = pulled(*ROWS)
    delete(world)
    between(world, lambda: world.source.put(1, 10, 100))

    assert found(world) == {"settled": 1}


def test_row_that_differed_and_that_the_second_read_of_the_same_state_lacked_is_unverified_and_not_clean() -> None:
    world = pulled(*ROWS)
    world.source.put(7, 70, 150)  # late: the lake has none, so a read without it shows both sides equal
    between(world, lambda: world.source.lost_in_reads.add(7))

    result = swept(world).result

    assert (result.outcome, result.not_drift["moving"]) == (Outcome.UNVERIFIED, 1)
    assert "one of the reads was not whole" in result.unverified[0].why


def test_row_that_drifts_only_at_the_second_look_is_not_swallowed() -> None:
    world = pulled(*ROWS)
    silent_update(world)

    def heal_one_and_break_another() -> None:
        world.source.put(1, 10, 100)
        world.source.delete(2)

    between(world, heal_one_and_break_another)

    result = swept(world).result

    assert (result.not_drift["settled"], result.not_drift["moving"]) == (1, 1)
    assert result.outcome is Outcome.UNVERIFIED


def test_row_that_the_pull_brings_between_the_looks_is_settled() -> None:
    world = pulled(*ROWS)
    new_row(world)
    between(world, lambda: assert_pulled(world))

    assert found(world) == {"settled": 1}


def assert_pulled(world: World) -> None:
    assert pull(job(), world.edges, full=False).outcome is Outcome.PULLED


def test_row_that_a_pull_brings_between_pin_and_checkpoint_is_no_drift() -> None:
    """Checkpoint and snapshot must be of one moment: a newer checkpoint would call the row late."""
    world = pulled(*ROWS)
    new_row(world)
    between(world, lambda: world.journal.before("lake.find_checkpoint", lambda: assert_pulled(world)))

    result = swept(world).result

    assert sum(result.findings.values()) == 0


def test_lake_row_that_another_writer_changes_between_the_looks_is_moving() -> None:
    world = pulled(*ROWS)
    silent_update(world)
    between(world, lambda: world.silently_change_lake(1, 12))

    assert found(world) == {"moving": 1}


def test_drift_beside_moving_rows_is_drift_that_names_them_and_plans_without_them() -> None:
    world = pulled(*ROWS)
    silent_update(world)
    world.source.delete(2)
    between(world, lambda: world.source.put(1, 12, 100))

    done = swept(world)

    assert done.result.outcome is Outcome.DRIFT
    (told,) = done.result.unverified
    assert told.why == "1 rows changed between all looks: they were not judged"
    assert "--kind moving" in told.fix
    assert done.draft is not None
    assert (done.draft.upserts, done.draft.deletes) == (0, 1)


def test_read_that_lost_rows_is_unverified_and_plans_nothing() -> None:
    world = pulled(*ROWS)
    world.source.lost_in_reads = {2}

    done = swept(world)

    assert "read returned 2 rows, the table counts 3" in done.result.unverified[0].why
    assert (done.result.outcome, done.result.findings["deleted"], done.draft) == (Outcome.UNVERIFIED, 0, None)


def test_read_that_lost_a_late_row_plans_nothing_of_what_else_drifted() -> None:
    world = pulled(*ROWS)
    world.source.put(9, 9, 50)
    world.source.put(2, 21, 200)
    world.source.lost_in_reads = {9}

    done = swept(world)

    assert (done.result.outcome, done.result.findings["updated_without_watermark"], done.draft) == (
        Outcome.UNVERIFIED, 1, None,
    )  # fmt: skip


def busily(world: World, *happens: Callable[[], object]) -> None:
    """Other transactions end while each read is under way; what `happens` does so once each, in order."""
    coming = list(happens)

    def meanwhile() -> None:
        world.source.transaction += 1
        world.journal.before("source.read_rows", meanwhile)
        if coming:
            coming.pop(0)()

    world.journal.before("source.read_rows", meanwhile)


def test_count_is_not_held_against_rows_that_came_or_went_meanwhile() -> None:
    world = pulled(*ROWS)
    world.source.put(8, 8, 888)
    busily(world, lambda: world.source.delete(8))
    assert swept(world).result.outcome is Outcome.CLEAN

    busily(world, lambda: world.source.put(9, 9, 999))
    assert swept(world).result.outcome is Outcome.CLEAN


def test_segment_that_gained_a_row_while_another_row_went_is_read_again() -> None:
    world = pulled(*ROWS)
    world.source.put(8, 8, 888)
    busily(world, lambda: world.source.delete(8))

    def gains_after_the_read() -> None:
        world.journal.before("source.count_rows", lambda: world.source.put(9, 9, 999))

    world.journal.before("source.read_rows", gains_after_the_read)

    assert swept(world).result.outcome is Outcome.CLEAN
    assert [segments for segments, _ in world.source.reads][:2] == [None, (1,)]


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("stream", "read returned 3 rows, the table counts 4"),
        ("pushdown", "1 segments differ by the source's own digest while their rows are equal"),
    ],
)
def test_row_that_the_lake_and_every_read_lack_is_not_clean_on_a_busy_source(mode: str, why: str) -> None:
    world = pulled(*ROWS)
    world.source.put(9, 90, 50)
    world.source.lost_in_reads = {9}
    busily(world)

    done = swept(world, mode=mode).result

    assert done.outcome is Outcome.UNVERIFIED
    assert why in done.unverified[0].why


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"columns": (*COLUMNS, Column("new", Kind.TEXT, "text"))}, "columns"),
        ({"columns": (*COLUMNS[:1], replace(COLUMNS[1], declared="integer", bits=32), COLUMNS[2])}, "columns"),
        ({"identity": "server:1/table:2"}, "server or table"),
        ({"key": ("id", "v")}, "key"),
    ],
)
def test_table_that_is_altered_or_swapped_during_the_sweep_is_unverified_and_plans_nothing(
    change: dict[str, Any], what: str
) -> None:
    world = pulled(*ROWS)
    world.source.delete(1)

    def alter() -> None:
        for name, value in change.items():
            setattr(world.source, name, value)

    world.journal.before("clock.sleep", alter)
    done = swept(world)

    assert (done.result.outcome, done.draft) == (Outcome.UNVERIFIED, None)
    assert [item.why for item in done.result.unverified] == [f"the source's {what} changed during the sweep"]


def test_plan_from_a_replica_has_a_guard_against_its_deletes() -> None:
    world = pulled(*ROWS)
    world.source.moment_notes = (REPLICA,)
    world.source.put(2, 21, 200)
    assert all(guard.ok for guard in swept(world).result.guards)

    world.source.delete(1)

    assert [guard.name for guard in swept(world).result.guards if not guard.ok] == ["replica_deletes"]


def test_row_that_a_stale_writer_brings_back_after_its_delete_is_found_again() -> None:
    world = pulled(*ROWS)
    stale = dict(world.lake.now[0])
    world.source.delete(1)
    assert applied(world, swept(world).draft).outcome is Outcome.CORRECTED
    world.lake.plant([*world.lake.now, world.lake.stamped(stale)], world.lake.commits[-1].checkpoint)

    assert found(world) == {"deleted": 1}


def test_writer_in_flight_that_completes_makes_the_snapshot_unverified_and_plans_nothing() -> None:
    world = pulled(*ROWS)
    delete(world)
    world.lake.in_flight = {"17"}
    between(world, world.lake.in_flight.clear)

    done = swept(world)

    assert [item.why for item in done.result.unverified] == [
        "a writer that was in flight when the snapshot was pinned has completed since, or the cleaner passed it"
    ]
    assert (done.result.outcome, done.draft) == (Outcome.UNVERIFIED, None)


def test_writer_that_stays_in_flight_harms_nothing() -> None:
    world = pulled(*ROWS)
    world.lake.in_flight = {"17"}

    assert swept(world).result.outcome is Outcome.CLEAN


def test_column_that_cannot_be_compared_is_unverified_even_beside_drift() -> None:
    world = pulled(*ROWS)
    world.source.columns = (*COLUMNS, Column("doc", Kind.OTHER, "xml", why="not compared yet"))
    delete(world)

    result = swept(world).result

    assert result.findings["deleted"] == 1
    assert [(item.what, item.name) for item in result.unverified] == [("column", "doc")]
    assert result.outcome is Outcome.UNVERIFIED


def test_excluded_column_leaves_the_verdict_clean_and_a_note() -> None:
    world = pulled(*ROWS)
    world.source.columns = (*COLUMNS, Column("doc", Kind.OTHER, "xml", why="not compared yet"))

    result = swept(world, exclude=frozenset({"doc"})).result

    assert result.outcome is Outcome.CLEAN
    assert any("doc" in note for note in result.notes)


def test_change_of_an_excluded_column_is_no_drift() -> None:
    world = pulled(*ROWS)
    silent_update(world)

    assert found(world, exclude=frozenset({"v"})) == {}


def test_column_with_dates_that_the_driver_alters_is_unverified() -> None:
    world = pulled(*ROWS)
    world.source.altered = ("at",)

    result = swept(world).result

    assert [(item.what, item.name) for item in result.unverified] == [("column", "at")]
    assert result.outcome is Outcome.UNVERIFIED


def test_with_a_checkpoint_of_other_columns_nothing_is_pending() -> None:
    world = pulled(*ROWS)
    new_row(world)
    at_checkpoint(world, watermark=("seen",))

    assert found(world) == {"late_arriving": 1}


def test_row_of_a_table_that_was_pulled_empty_is_pending() -> None:
    # The next pull reads every row that has a watermark: no alarm for a table that just got its first rows.
    world = pulled(*ROWS)
    new_row(world)
    at_checkpoint(world, watermark_micros=None)

    assert found(world) == {"pending": 1}


def test_row_dated_decades_ahead_is_drift_and_not_pending() -> None:
    # No pull reads it before its date, so waiting for it would call the table clean for decades.
    world = pulled(*ROWS)
    world.source.put(9, 900, world.clock.utc_micros() + 75 * 365 * 86_400_000_000)

    assert found(world) == {"late_arriving": 1}


def test_lake_without_any_checkpoint_is_compared_and_says_so() -> None:
    world = pulled(*ROWS)
    rows = world.lake.now
    world.lake.commits.clear()
    world.lake.plant(rows)
    new_row(world)

    result = swept(world).result

    assert result.findings["late_arriving"] == 1
    assert result.checkpoint is None
    assert any("no checkpoint of ours" in note for note in result.notes)


def test_overlap_makes_rows_behind_the_checkpoint_pending() -> None:
    world = pulled(*ROWS)
    world.source.put(4, 40, 295)

    assert found(world, overlap_micros=10) == {"pending": 1}


def test_empty_source_is_drift_with_its_guard_not_ok() -> None:
    world = pulled(*ROWS)
    for key in (1, 2, 3):
        world.source.delete(key)

    result = swept(world).result

    assert (result.outcome, result.findings["deleted"]) == (Outcome.DRIFT, 3)
    assert {guard.name: guard.ok for guard in result.guards}["empty_source"] is False


def test_missing_table_is_an_error_with_the_command_to_pull() -> None:
    with pytest.raises(LakeError, match="no Hudi table") as caught:
        sweep(job(), World.new().edges)
    assert "hudi-reconcile pull -t t" in caught.value.fix


@pytest.mark.parametrize(
    ("faults", "message"),
    [(KeyFaults(1, 0, ("(7)",)), "occur twice"), (KeyFaults(0, 4, ()), "4 source rows have a NULL")],
)
def test_keys_that_name_no_row_are_refused(faults: KeyFaults, message: str) -> None:
    world = pulled(*ROWS)
    world.source.faults = faults

    with pytest.raises(RefusedError, match=message):
        sweep(job(), world.edges)


def test_key_that_the_lake_lacks_ends_the_sweep() -> None:
    world = pulled(*ROWS)
    world.source.columns = (Column("id", Kind.INTEGER, "bigint", lake_name="order_id"), *COLUMNS[1:])

    done = swept(world)

    assert (done.result.outcome, done.findings, done.draft) == (Outcome.UNVERIFIED, None, None)
    assert done.result.error is not None
    assert (done.result.error.type, "the key cannot be compared" in done.result.error.message) == (
        "UnverifiedError",
        True,
    )
    assert [(one.what, one.column, one.lake_column) for one in done.result.schema] == [("renamed", "id", "id")]
    assert "source.read_rows" not in world.journal.calls


def test_text_key_is_cut_by_hash_and_found_all_the_same() -> None:
    world = pulled(*ROWS)
    world.source.columns = (Column("id", Kind.TEXT, "text"), *COLUMNS[1:])
    world.lake.key_type = "string"
    delete(world)

    done = swept(world, segments=7)

    assert done.result.findings["deleted"] == 1
    assert done.result.provenance["segments"] == "hash buckets of the key"
    assert done.rows_fetched == 2 * 3  # a hash segment alone cannot be read


def test_many_segments_look_twice_only_where_something_differs() -> None:
    world = pulled(*[(key, key, 100) for key in range(100)])
    world.source.delete(50)

    done = swept(world, segments=10)

    assert done.result.segments == {"compared": 10, "unequal": 1}
    assert done.rows_fetched == 99 + 2 * 9


def test_mask_on_the_key_that_the_database_names_is_refused_since_findings_show_it() -> None:
    world = pulled(*ROWS)
    masked = {"masking": Masking.of({"ID": "hmac"}, "redact")}

    with pytest.raises(UsageError, match="mask names id, part of the key"):
        swept(world, **masked)
    with pytest.raises(UsageError, match="mask names id, part of the key"):
        pull(job(**masked), world.edges, full=False)


def test_mask_on_a_column_by_which_the_lake_says_it_is_partitioned_is_refused_since_findings_show_paths() -> None:
    with pytest.raises(UsageError, match="mask names v, by which the lake is partitioned"):
        swept(pulled(*ROWS, partitioned=True), masking=Masking.of({"V": "redact"}, "redact"))


def test_mask_that_names_no_column_of_either_side_is_refused_since_what_was_meant_would_be_shown() -> None:
    world = pulled(*ROWS)
    masked = {"masking": Masking.of({"v": "hmac", "w": "redact"}, "redact")}

    with pytest.raises(UsageError, match="mask names w, which neither the source nor the lake has"):
        swept(world, **masked)
    with pytest.raises(UsageError, match="mask names w, which neither"):
        pull(job(**masked), world.edges, full=False)
    swept(world, masking=Masking.of({"V": "hmac"}, "redact"))


@pytest.mark.parametrize("copies", [1, 30])
def test_shares_are_of_keys_so_that_a_lake_of_many_copies_loosens_no_limit(copies: int) -> None:
    """Of 1,000 keys 90 are gone at the source: 9 %, whatever each key's rows in the lake are."""
    found = cast(
        "LookResult",
        SimpleNamespace(
            kinds={"deleted": 90}, source_rows=910, lake_rows=1_000 * copies, checkpoint=None,
            moment=SimpleNamespace(is_replica=False),
        ),
    )  # fmt: skip

    guards = check_guards(
        job(max_delete_share=0.05),
        found,
        Anatomy(extra_copies=1_000 * (copies - 1)),
        table_rows=None,
        lineage=SourceLineage(),
    )

    assert {guard.name: guard.ok for guard in guards}["max_delete_share"] is False
