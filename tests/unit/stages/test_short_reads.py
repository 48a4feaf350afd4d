"""A read of a busy source that lost a row which the lake lacks too: inserts of the same moment do not hide it."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.ports import SegmentDigest
from hudi_reconcile.stages.job import PartialSweep
from hudi_reconcile.stages.sweep.short_reads import find_short
from hudi_reconcile.stages.sweep.sweep import sweep
from tests.fakes.rows import Action
from tests.fakes.world import World, job, pulled, swept

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


def test_late_row_that_only_the_digests_saw_is_not_clean() -> None:
    world = pulled(*(row for row in ROWS if row[0] != LATE))
    world.source.put(LATE, 1, 50)
    when_read_again(world, lambda: world.source.lost_in_reads.add(LATE))

    done = swept(world, segments=4)

    assert (done.result.outcome, done.result.whole, done.draft) == (Outcome.UNVERIFIED, False, None)


@pytest.mark.parametrize("segments", [1, 4])
def test_row_that_went_long_ago_does_not_stand_for_one_that_every_read_lost(segments: int) -> None:
    world = pulled(*(row for row in ROWS if row[0] != LATE))
    world.source.by_clock = True
    world.source.put(LATE, 1, 50)
    world.source.delete(LATE + 1)
    world.source.lost_in_reads = {LATE}

    done = swept(world, segments=segments)

    assert (done.result.outcome, done.draft) == (Outcome.UNVERIFIED, None)


def test_late_row_that_the_reads_of_a_budget_lost_is_not_clean_where_moments_have_no_names() -> None:
    lose_late_row(spend_budget(has_groups=True))


def test_late_row_that_the_reads_of_a_budget_lost_is_not_clean_where_nobody_counts_by_segment() -> None:
    lose_late_row(spend_budget(has_groups=False))


def spend_budget(*, has_groups: bool) -> World:
    """A source whose moments have no names, that gives more rows than the lake has."""
    world = pulled(*(row for row in ROWS if row[0] != LATE))
    world.source.by_clock, world.source.counts_no_groups = True, not has_groups
    world.source.put(LATE, 1, 50)
    return world


def lose_late_row(world: World) -> None:
    world.source.lost_in_reads = {LATE}

    part = PartialSweep(budget_seconds=3600.0, budget_text="1h")
    done = sweep(job(segments=4), world.edges, part).result

    assert (done.outcome, done.whole) == (Outcome.UNVERIFIED, False)


def test_rows_that_come_while_a_budget_is_spent_are_no_loss_where_nobody_counts_by_segment() -> None:
    world = pulled(*ROWS)
    world.source.by_clock, world.source.counts_no_groups = True, True
    new = iter(range(NEW, NEW + 100))

    def come() -> None:
        world.source.put(next(new), 1, 5000)
        world.journal.before("source.count_rows", come)

    world.journal.before("source.count_rows", come)
    part = PartialSweep(budget_seconds=3600.0, budget_text="1h")
    done = sweep(job(segments=4), world.edges, part).result

    assert (done.outcome, done.whole) == (Outcome.CLEAN, True)
    assert len(world.source.table) > len(ROWS) + 1


def test_late_row_that_the_reads_lost_is_not_clean_where_a_budget_has_all_compared_at_once_by_sparks_own_hash() -> None:
    world = pulled(*(row for row in ROWS if row[0] != LATE))
    world.source.by_clock, world.source.has_extent, world.source.no_digests = True, False, "no md5"
    world.source.put(LATE, 1, 50)
    world.source.lost_in_reads = {LATE}

    part = PartialSweep(budget_seconds=3600.0, budget_text="1h")
    done = sweep(job(segments=4), world.edges, part).result

    assert any("at once" in note for note in done.notes)
    assert (done.outcome, done.whole) == (Outcome.UNVERIFIED, False)


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
