"""A query that gives other rows when it is asked twice is never called clean, and nothing is planned by it."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.outcome import Outcome
from tests.fakes.world import pulled, swept

QUERY = {"is_query": True, "strategy": "full"}


@pytest.mark.parametrize("can_freeze", [True, False])
def test_query_with_other_rows_at_each_read_is_unverified_and_makes_no_plan(*, can_freeze: bool) -> None:
    world = pulled((1, 1, 100), (2, 2, 200), (3, 3, 300))
    world.source.can_freeze = can_freeze
    world.source.lost_in_reads = {1}
    reads = iter(range(100))

    def other() -> None:
        # Both looks lack row 1; of the two reads that hold the query against itself, only one does.
        world.source.lost_in_reads = {1} if next(reads) != 4 else set()
        world.journal.before("source.read_rows", other)

    world.journal.before("source.read_rows", other)
    found = swept(world, **QUERY)

    assert found.result.outcome is Outcome.UNVERIFIED
    assert found.draft is None
    (told,) = [one for one in found.result.unverified if one.why.startswith("moving rows")]
    assert ("in one snapshot" in told.why) is can_freeze


def test_query_that_holds_is_compared_like_a_table() -> None:
    world = pulled((1, 1, 100), (2, 2, 200))
    assert swept(world, **QUERY).result.outcome is Outcome.CLEAN
    world.source.delete(1)

    found = swept(world, **QUERY)

    assert found.result.outcome is Outcome.DRIFT
    assert found.draft is not None


def test_table_is_not_read_for_it() -> None:
    world = pulled((1, 1, 100))

    swept(world)
    reads = world.journal.calls.count("source.read_rows")
    world.journal.calls.clear()
    swept(world, **QUERY)

    assert world.journal.calls.count("source.read_rows") == reads + 2
