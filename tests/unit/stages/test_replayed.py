"""A replica that has not replayed what the lake has already: its gaps are no deletes."""

from __future__ import annotations

from typing import Any

import pytest

from hudi_reconcile.core.errors import SourceError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.tables.values import REPLICA, choose_replica_bound
from hudi_reconcile.stages.pull.pull import pull
from tests.fakes.world import World, applied, at_checkpoint, job, swept

SECOND = 1_000_000


def lagging(replayed_seconds: int | None) -> World:
    """A lake that pulled up to second 90 from the primary, and a source that shows no more than the first minute of it."""
    world = World.new()
    world.clock.now_micros = 100 * SECOND
    for key in range(1, 10):
        world.source.put(key, key, key * 10 * SECOND)
    pull(job(), world.edges, full=False)
    for key in (7, 8, 9):
        world.source.delete(key)
    world.source.put(6, 5, 60 * SECOND)
    world.source.replayed_micros = None if replayed_seconds is None else replayed_seconds * SECOND
    return world


@pytest.mark.parametrize("replayed_seconds", [60, 90, 94])
def test_replica_behind_the_checkpoint_deletes_nothing_and_says_why(replayed_seconds: int) -> None:
    found = swept(lagging(replayed_seconds))

    assert (found.result.outcome, found.result.whole, found.draft, found.coverage) == (
        Outcome.UNVERIFIED,
        False,
        None,
        None,
    )
    assert found.result.findings["deleted"] == 3
    (said,) = found.result.unverified
    assert (said.what, "looks deleted" in said.why, "caught up" in said.fix) == ("table", True, True)
    assert "up to 1970-01-01T00:01:30.000000" in said.why


@pytest.mark.parametrize("replayed_seconds", [None, 96])
def test_replica_that_has_come_as_far_as_the_lake_is_a_source_like_any_other(replayed_seconds: int | None) -> None:
    found = swept(lagging(replayed_seconds))

    assert (found.result.outcome, found.result.whole) == (Outcome.DRIFT, True)
    assert found.draft is not None
    assert found.draft.deletes == 3


def test_equal_sides_are_clean_however_far_the_replica_is() -> None:
    world = lagging(60)
    world.lake.plant([row for row in world.lake.now if row["id"] < 6])
    world.source.delete(6)

    assert swept(world).result.outcome is Outcome.CLEAN


def test_what_was_pulled_from_a_replica_is_never_ahead_of_it() -> None:
    world = lagging(90)
    world.source.bound_lag_micros = 100 * SECOND - choose_replica_bound(100 * SECOND, 90 * SECOND)[0]
    fresh = World(world.journal, world.clock, world.source, type(world.lake)(world.journal))
    world.source.put(8, 8, 85 * SECOND - 1)
    pull(job(), fresh.edges, full=False)
    world.source.delete(1)

    assert swept(fresh).result.outcome is Outcome.DRIFT


CLOCKLESS: list[dict[str, Any]] = [
    {"strategy": "incrementing", "watermark": (), "incrementing": "id"},
    {"strategy": "full", "watermark": ()},
]


def clockless(settings: dict[str, Any], replayed_seconds: int | None) -> World:
    """A lake brought up to date from the primary at second 100, and a replica of it that lacks a row."""
    world = World.new()
    world.clock.now_micros = 100 * SECOND
    for key in range(1, 10):
        world.source.put(key, key, key)
    pull(job(**settings), world.edges, full=False)
    world.source.delete(9)
    world.source.moment_notes = (REPLICA,)
    world.source.replayed_micros = None if replayed_seconds is None else replayed_seconds * SECOND
    return world


@pytest.mark.parametrize("settings", CLOCKLESS)
def test_replica_that_shows_an_older_state_than_the_lake_was_brought_to_deletes_nothing(
    settings: dict[str, Any],
) -> None:
    found = swept(clockless(settings, 60), **settings)

    assert (found.result.outcome, found.draft) == (Outcome.UNVERIFIED, None)
    assert "what the source had at 1970-01-01T00:01:40.000000Z" in found.result.unverified[0].why


@pytest.mark.parametrize("settings", CLOCKLESS)
def test_whole_fetch_from_a_replica_that_shows_an_older_state_is_refused(settings: dict[str, Any]) -> None:
    world = clockless(settings, 60)
    before = world.lake_holds()

    with pytest.raises(SourceError, match="nothing was written"):
        pull(job(**settings), world.edges, full=True)

    assert world.lake_holds() == before


@pytest.mark.parametrize("settings", CLOCKLESS)
@pytest.mark.parametrize("replayed_seconds", [None, 98, 101])
def test_replica_that_shows_as_much_as_the_lake_has_is_believed(
    settings: dict[str, Any], replayed_seconds: int | None
) -> None:
    assert swept(clockless(settings, replayed_seconds), **settings).result.outcome is Outcome.DRIFT


@pytest.mark.parametrize("settings", CLOCKLESS)
def test_what_was_pulled_from_a_replica_is_as_old_as_that_replica(settings: dict[str, Any]) -> None:
    world = clockless(settings, 60)
    fresh = World(world.journal, world.clock, world.source, type(world.lake)(world.journal))
    pull(job(**settings), fresh.edges, full=False)
    world.clock.now_micros += 1_000 * SECOND
    world.source.delete(8)

    assert swept(fresh, **settings).result.outcome is Outcome.DRIFT


def test_replica_that_was_asked_when_it_had_caught_up_does_not_make_the_lake_younger_than_it_is_known_to_be() -> None:
    world = clockless(CLOCKLESS[0], None)
    world.clock.now_micros += 1_000 * SECOND
    world.source.put(10, 10, 10)
    pull(job(**CLOCKLESS[0]), world.edges, full=False)
    world.source.replayed_micros = 200 * SECOND  # the last transaction; since then none

    assert swept(world, **CLOCKLESS[0]).result.outcome is Outcome.DRIFT
    at = world.lake.find_checkpoint()
    assert at is not None
    assert at.checkpoint.as_of_micros == 100 * SECOND


def test_correction_from_the_primary_brings_the_lake_up_to_its_time() -> None:
    world = clockless(CLOCKLESS[0], None)
    world.source.moment_notes = ()
    world.clock.now_micros += 1_000 * SECOND
    applied(world, swept(world, **CLOCKLESS[0]).draft, **CLOCKLESS[0])
    world.source.put(9, 9, 9)
    world.source.replayed_micros = 200 * SECOND

    assert swept(world, **CLOCKLESS[0]).result.outcome is Outcome.UNVERIFIED


def test_checkpoint_that_kept_no_time_is_held_against_nothing() -> None:
    world = clockless(CLOCKLESS[0], 60)
    at_checkpoint(world, as_of_micros=None)

    assert swept(world, **CLOCKLESS[0]).result.outcome is Outcome.DRIFT


@pytest.mark.parametrize("settings", [{}, *CLOCKLESS])
def test_replica_that_has_stopped_is_neither_pulled_from_nor_believed(settings: dict[str, Any]) -> None:
    world = clockless(settings, None)
    world.source.stopped = "replication into this replica has stopped"

    found = swept(world, **settings)
    assert (found.result.outcome, found.draft) == (Outcome.UNVERIFIED, None)
    assert "has stopped" in found.result.unverified[0].why
    with pytest.raises(SourceError, match="has stopped; nothing was written"):
        pull(job(**settings), world.edges, full=True)

    world.source.put(9, 9, 9)
    assert swept(world, **settings).result.outcome is Outcome.CLEAN


@pytest.mark.parametrize(
    ("full", "settings"), [(True, {}), (True, {"full_mode": "overwrite"}), (False, {"overlap_micros": 60 * SECOND})]
)
def test_pull_from_a_replica_behind_the_lake_writes_no_older_rows_over_newer_ones(
    full: bool, settings: dict[str, Any]  # noqa: FBT001
) -> None:  # fmt: skip
    world = lagging(60)
    world.source.bound_lag_micros = 100 * SECOND - choose_replica_bound(100 * SECOND, 60 * SECOND)[0]
    before = world.lake_holds()

    with pytest.raises(SourceError, match=r"replayed transactions up to .*; nothing was written") as caught:
        pull(job(**settings), world.edges, full=full)

    assert ("caught up" in caught.value.fix, world.lake_holds()) == (True, before)


def test_pull_that_has_nothing_to_read_yet_waits_for_the_replica_without_an_error() -> None:
    world = lagging(60)
    world.source.bound_lag_micros = 100 * SECOND - choose_replica_bound(100 * SECOND, 60 * SECOND)[0]

    done = pull(job(), world.edges, full=False).pull

    assert done is not None
    assert (done.rows, done.checkpoint_after) == (0, done.checkpoint_before)
