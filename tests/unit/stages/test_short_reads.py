"""A read of a busy source that lost a row which the lake lacks too: inserts of the same moment do not hide it."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.ports import SegmentDigest
from hudi_reconcile.stages.sweep.short_reads import find_short
from tests.fakes.rows import Action
from tests.fakes.world import World, pulled, swept

ROWS = tuple((key, key, 100 + key) for key in range(1, 200))
LATE, GONE, NEW = 40, 800, 900


@pytest.fixture
def world() -> World:
    return make()


def make() -> World:
    """A row that came late is there; rows that are new come and go, so that the first read has as many as are counted."""
    made = pulled(*(row for row in ROWS if row[0] != LATE))
    made.source.put(LATE, 1, 50)
    made.source.put(GONE, 1, 5000)
    made.source.lost_in_reads = {LATE}
    made.journal.before("source.count_rows", lambda: made.source.delete(GONE))
    new = iter(range(NEW, NEW + 100))

    def meanwhile() -> None:
        made.source.put(next(new), 1, 5000)
        made.journal.before("source.read_rows", meanwhile)

    made.journal.before("source.read_rows", meanwhile)
    return made


def when_read_again(world: World, happens: Action) -> None:
    """At the second read of rows."""
    world.journal.before("source.read_rows", lambda: world.journal.before("source.read_rows", happens))


@pytest.mark.parametrize("segments", [1, 4, 150])
def test_row_that_the_first_read_lost_while_others_came_is_found(world: World, segments: int) -> None:
    when_read_again(world, world.source.lost_in_reads.clear)

    found = swept(world, segments=segments).result

    assert (found.outcome, found.findings.get("late_arriving")) == (Outcome.DRIFT, 1)


@pytest.mark.parametrize("segments", [4, 150])
def test_row_that_every_read_lost_while_others_came_is_not_clean(world: World, segments: int) -> None:
    assert swept(world, segments=segments).result.outcome is Outcome.UNVERIFIED


@pytest.mark.parametrize("limit", ["0s", "20s"])
def test_row_of_both_sides_that_every_read_lost_is_not_deleted_whatever_the_counts_say(limit: str) -> None:
    world = pulled(*ROWS)
    world.source.lost_in_reads = {LATE}
    world.journal.before("source.read_rows", lambda: world.source.put(NEW, 1, 5000))

    done = swept(world, settle_limit_seconds=int(limit[:-1]))

    assert (done.result.outcome, done.draft) == (Outcome.UNVERIFIED, None)
    assert done.result.findings["deleted"] == 0


def test_row_that_was_deleted_while_others_came_is_deleted() -> None:
    world = pulled(*ROWS)
    world.source.delete(LATE)
    world.journal.before("source.read_rows", lambda: world.source.put(NEW, 1, 5000))

    found = swept(world).result

    assert (found.outcome, found.findings["deleted"]) == (Outcome.DRIFT, 1)


def test_rows_that_come_during_a_read_are_no_loss(world: World) -> None:
    world.source.lost_in_reads.clear()
    world.source.delete(LATE)

    found = swept(world).result

    assert found.outcome is Outcome.CLEAN
    assert world.journal.calls.count("source.count_segments") == 1


def test_equal_segments_of_a_busy_source_are_not_counted_again() -> None:
    world = pulled(*ROWS)
    world.journal.before("source.read_rows", lambda: world.source.put(1, 1, 101))

    assert swept(world).result.outcome is Outcome.CLEAN
    assert "source.count_segments" not in world.journal.calls


def test_segment_of_which_the_source_counts_more_rows_is_unequal_even_where_the_read_saw_none() -> None:
    digests = (SegmentDigest(0, 3, 3, equal=True), SegmentDigest(1, 3, 3, equal=True))

    found, short = find_short(digests, {0: 3, 1: 4, 2: 1})

    assert short.ids == (1, 2)
    assert found == (digests[0], SegmentDigest(1, 3, 3, equal=False), SegmentDigest(2, 0, 0, equal=False))


def test_segment_that_is_unequal_or_of_which_rows_went_is_not_short() -> None:
    digests = (SegmentDigest(0, 3, 4, equal=False), SegmentDigest(1, 3, 3, equal=True))

    assert find_short(digests, {0: 9, 1: 2}) == (digests, find_short((), {})[1])
