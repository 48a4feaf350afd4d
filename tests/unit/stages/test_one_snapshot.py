"""One moment of the source for each look, where the database can give it."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.outcome import Outcome
from tests.fakes.world import pulled, swept


def test_change_in_the_middle_of_a_look_is_not_seen_by_that_look() -> None:
    world = pulled((1, 1, 100), (2, 2, 200))
    world.journal.before("source.read_rows", lambda: world.source.put(3, 3, 50))

    found = swept(world, one_snapshot=True)

    assert (found.result.outcome, found.result.source) == (Outcome.CLEAN, found.result.source)
    assert found.result.source is not None
    assert found.result.source.rows == 2


def test_row_that_a_read_loses_is_unverified_even_while_others_write() -> None:
    world = pulled((1, 1, 100), (2, 2, 200))
    world.source.lost_in_reads = {2}
    world.lake.now[:] = [row for row in world.lake.now if row["id"] != 2]
    world.journal.before("source.count_rows", lambda: world.source.put(9, 9, 900))

    assert swept(world, one_snapshot=True).result.outcome is Outcome.UNVERIFIED


def test_database_that_cannot_share_a_snapshot_is_named() -> None:
    world = pulled((1, 1, 100))
    world.source.can_freeze = False

    with pytest.raises(UsageError, match="cannot share one snapshot"):
        swept(world, one_snapshot=True)


def test_each_look_has_its_own_moment() -> None:
    world = pulled((1, 1, 100))
    world.source.table[1]["v"] = 5

    swept(world, one_snapshot=True)

    assert world.journal.calls.count("source.freeze") == 2
