"""A table that HoodieStreamer pulls: where our pull begins, what is handed back, and what counts as pending."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.lake.ownership import Writers
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.databases.postgres import dialect
from hudi_reconcile.ports import Origin
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.sweep.sweep import sweep
from tests.fakes.world import World, applied, job, swept

KEY = "deltastreamer.checkpoint.key"
SECOND = 1_000_000


def streamed(checkpoint: str, *rows: tuple[int, int]) -> World:
    """A lake that HoodieStreamer brought to a checkpoint; the source holds these (id, at in seconds)."""
    world = World.new()
    world.clock.now_micros = 1_000 * SECOND
    for key, at in rows:
        world.source.put(key, key, at * SECOND)
    kept = [{"id": key, "v": key, "at": at * SECOND} for key, at in rows if at <= 10]
    instant = world.lake.plant([world.lake.stamped(row) for row in kept])
    world.lake.ordering = ("at",)
    world.lake.made_by = Origin("SimpleKeyGenerator", KEY, checkpoint, instant)
    return world


ROWS = ((1, 5), (2, 10), (3, 20), (4, 30))


def test_pull_begins_at_the_streamers_checkpoint_and_hands_its_own_back() -> None:
    world = streamed("1970-01-01 00:00:10", *ROWS)

    found = pull(job(adopt=True), world.edges, full=False)

    assert found.pull is not None
    assert (found.pull.mode, found.pull.rows) == ("incremental", 3)  # the row at the checkpoint once more
    assert world.lake.made_by.streamer_checkpoint == "1970-01-01 00:00:30"
    assert f"handed back to HoodieStreamer: {KEY}=1970-01-01 00:00:30" in found.notes
    assert {row["id"] for row in world.lake.now} == {1, 2, 3, 4}


def test_next_pull_goes_on_from_its_own_checkpoint() -> None:
    world = streamed("1970-01-01 00:00:10", *ROWS)
    pull(job(adopt=True), world.edges, full=False)

    again = pull(job(adopt=True), world.edges, full=False)

    assert again.pull is not None
    assert again.pull.rows == 0
    assert world.lake.made_by.streamer_checkpoint == "1970-01-01 00:00:30"


@pytest.mark.parametrize("checkpoint", ["orders,0:7,1:9", "1735689600000", ""])
def test_checkpoint_of_another_kind_of_source_is_never_read_nor_replaced(checkpoint: str) -> None:
    world = streamed(checkpoint, *ROWS)

    with pytest.raises(RefusedError, match="no commit on its timeline carries our checkpoint"):
        pull(job(adopt=True), world.edges, full=False)
    pull(job(adopt=True), world.edges, full=True)

    assert world.lake.made_by.streamer_checkpoint == checkpoint


def test_table_is_not_written_before_it_is_adopted() -> None:
    world = streamed("1970-01-01 00:00:10", *ROWS)
    commits = list(world.lake.commits)

    with pytest.raises(RefusedError) as caught:
        pull(job(), world.edges, full=False)

    assert "lake: {adopt: true}" in caught.value.fix
    assert world.lake.commits == commits


def test_rows_above_the_streamers_checkpoint_are_pending_and_those_below_are_late() -> None:
    world = streamed("1970-01-01 00:00:20", *ROWS)

    found = sweep(job(), world.edges).result

    assert (found.findings["late_arriving"], found.not_drift["pending"]) == (1, 1)


def test_streamer_that_went_further_than_our_pull_leaves_late_rows_behind() -> None:
    world = streamed("1970-01-01 00:00:10", *ROWS)
    pull(job(adopt=True), world.edges, full=False)
    world.source.put(9, 9, 35 * SECOND)
    world.lake.made_by = Origin("SimpleKeyGenerator", KEY, "1970-01-01 00:00:40", world.lake.plant(world.lake.now))

    found = sweep(job(), world.edges).result

    # Neither the next run of HoodieStreamer brings it, nor is it clean that our own pull would.
    assert (found.findings["late_arriving"], found.not_drift["pending"]) == (1, 0)


@pytest.mark.parametrize("adopted", [True, False])
def test_overlap_of_ours_brings_nothing_that_the_streamer_has_passed(*, adopted: bool) -> None:
    world = streamed("1970-01-01 00:00:10", *ROWS)
    if adopted:
        pull(job(adopt=True), world.edges, full=False)
    world.source.put(9, 9, 20 * SECOND)
    world.lake.made_by = Origin("SimpleKeyGenerator", KEY, "1970-01-01 00:00:40", world.lake.plant(world.lake.now))

    found = sweep(job(overlap_micros=30 * SECOND), world.edges).result

    assert (found.outcome, found.not_drift["pending"]) == (Outcome.DRIFT, 0)


def test_what_the_streamer_commits_after_the_pin_makes_no_row_late() -> None:
    world = streamed("1970-01-01 00:00:10", *ROWS)
    world.source.put(9, 9, 35 * SECOND)

    def commit() -> None:
        world.lake.made_before = world.lake.made_by
        rows = [*world.lake.now, world.lake.stamped({"id": 9, "v": 9, "at": 35 * SECOND})]
        world.lake.made_by = Origin("SimpleKeyGenerator", KEY, "1970-01-01 00:00:40", world.lake.plant(rows))

    world.journal.before("lake.read_origin", commit)
    result = sweep(job(), world.edges).result

    assert (result.findings.get("late_arriving", 0), result.not_drift["pending"]) == (0, 3)


def test_checkpoint_that_a_correction_carried_empty_makes_nothing_pending() -> None:
    world = streamed("orders,0:7", *ROWS)
    pull(job(adopt=True, strategy="timestamp"), world.edges, full=True)
    world.lake.made_by = Origin()
    found = world.lake.find_checkpoint()
    assert found is not None
    blank = replace(found.checkpoint, watermark_micros=None, text=None)
    world.lake.plant([row for row in world.lake.now if row["id"] != 4], blank)

    assert sweep(job(), world.edges).result.findings["late_arriving"] == 1


@pytest.mark.parametrize("reached", ["1970-01-01 00:00:30", "1970-01-01 00:00:40"])
def test_streamers_checkpoint_is_not_set_back_nor_written_again(reached: str) -> None:
    world = streamed(reached, *ROWS)

    pull(job(adopt=True), world.edges, full=True)

    assert world.lake.made_by.streamer_checkpoint == reached
    assert "lake.hand_back" not in world.journal.calls


def test_checkpoint_of_ours_that_belongs_to_another_source_makes_nothing_pending() -> None:
    world = streamed("1970-01-01 00:00:20", *ROWS)
    pull(job(adopt=True), world.edges, full=True)
    world.source.identity = "restored/t"
    world.source.put(9, 9, 35 * SECOND)
    by_streamer = sweep(job(), world.edges).result
    world.lake.made_by = Origin()
    by_none = sweep(job(), world.edges).result

    assert (by_streamer.findings["late_arriving"], by_streamer.not_drift["pending"]) == (0, 1)
    assert any("belongs to" in note and "pending by it" in note for note in by_streamer.notes)
    assert (by_none.findings["late_arriving"], by_none.not_drift["pending"]) == (1, 0)


def test_streamers_number_is_never_taken_for_a_rows_version() -> None:
    world = streamed("2", *ROWS)
    world.source.version = dialect.COLUMN
    by_version = {"strategy": "xmin", "watermark": ("xmin",)}

    with pytest.raises(RefusedError, match="no commit on its timeline carries our checkpoint"):
        pull(job(adopt=True, **by_version), world.edges, full=False)
    pull(job(adopt=True, **by_version), world.edges, full=True)
    world.source.put(2, 22, 3 * SECOND)
    pending = swept(world, **by_version).result
    second = pull(job(adopt=True, **by_version), world.edges, full=False)

    assert pending.not_drift["pending"] == 1
    assert second.pull is not None
    assert (second.pull.mode, second.pull.rows) == ("incremental", 1)
    assert any("rows whose at is older than the lake's stay" in note for note in second.notes)
    assert world.lake.made_by.streamer_checkpoint == "2"


def test_full_fetch_says_what_the_ordering_leaves_unless_it_replaces_the_table() -> None:
    notes = [
        pull(job(adopt=True, full_mode=mode), streamed("", *ROWS).edges, full=True).notes
        for mode in ("upsert", "overwrite")
    ]

    assert [any("older than the lake's stay" in note for note in found) for found in notes] == [True, False]


def test_columns_of_another_tools_table_stay_as_they_are() -> None:
    world = streamed("1970-01-01 00:00:10", *ROWS)
    world.lake.v_type = "int"
    before = world.lake.look()
    assert before is not None
    told = pull(job(adopt=True), world.edges, full=False)
    world.source.columns = (*world.source.columns, Column("qty", Kind.INTEGER, "bigint", bits=64))

    for full in (False, True):
        with pytest.raises(RefusedError, match="it has no column qty"):
            pull(job(adopt=True), world.edges, full=full)
    world.source.columns = tuple(one for one in world.source.columns if one.name not in ("qty", "v"))
    with pytest.raises(RefusedError, match="a pull would empty v"):
        pull(job(adopt=True), world.edges, full=False)

    now = world.lake.look()
    assert now is not None
    assert (now.columns, told.schema) == (before.columns, ())


def test_correction_carries_the_checkpoint_that_was_taken_over_with_the_sources_columns() -> None:
    world = streamed("1970-01-01 00:00:10", (1, 5), (2, 10), (3, 20))
    world.source.put(2, 99, 10 * SECOND)
    found = swept(world, adopt=True)

    applied(world, found.draft, adopt=True)

    carried = world.lake.find_checkpoint()
    assert carried is not None
    assert carried.checkpoint.columns == ("at", "id", "v")
    assert carried.checkpoint.text == "1970-01-01T00:00:09.999999"
    assert world.lake.made_by.streamer_checkpoint == "1970-01-01 00:00:10"


def test_checkpoint_is_handed_back_by_a_later_pull_where_the_streamer_began_meanwhile() -> None:
    world = streamed("1970-01-01 00:00:10", *ROWS)
    world.journal.before(
        "lake.upsert", lambda: setattr(world.lake, "others", Writers(without_heartbeat=("00000000000000000",)))
    )

    beside = pull(job(adopt=True), world.edges, full=False)

    assert any(note.startswith("not handed back to HoodieStreamer") for note in beside.notes)
    assert "lake.hand_back" not in world.journal.calls
    world.lake.others = Writers()
    world.source.put(5, 50, 40_000_000)
    pull(job(adopt=True), world.edges, full=False)
    assert world.lake.made_by.streamer_checkpoint == "1970-01-01 00:00:40"
