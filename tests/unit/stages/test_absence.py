"""A row that the source holds is never deleted, whatever the reads of its rows lacked."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.plan import Plan
from tests.fakes.world import World, applied, pulled, swept

ROWS = ((1, 10, 100), (2, 20, 200), (3, 30, 300))


def lossy(mode: str = "stream") -> tuple[World, Plan]:
    """Row 1 is at the source, every read of rows leaves it out, and rows that come at each of them hide that from the counts.

    While it is swept, the source cannot be asked for its keys.
    """
    world = pulled(*ROWS)
    world.source.put(2, 21, 200)
    world.source.lost_in_reads = {1}
    others = [90, 91, 92, 93, 94]

    def meanwhile() -> None:
        if others:
            world.source.put(others.pop(), 90, 5000)
            world.journal.before("source.read_rows", meanwhile)

    world.journal.before("source.read_rows", meanwhile)
    world.source.unnameable = True
    draft = swept(world, mode=mode).draft
    world.source.unnameable = False
    others.clear()
    assert draft is not None
    assert draft.deletes == 1
    return world, draft


@pytest.mark.parametrize("mode", ["stream", "pushdown"])
def test_delete_of_a_row_that_every_read_lacked_is_not_made(mode: str) -> None:
    world, draft = lossy(mode)

    result = applied(world, draft, mode=mode)

    assert 1 in world.lake_holds()
    assert result.outcome is not Outcome.CORRECTED
    assert (result.corrections.applied, result.corrections.moved) == (1, 1)
    assert any("a read of the deletes' keys gave 0 rows, the source counts 1" in note for note in result.notes)


def test_delete_of_a_row_that_came_back_after_the_sweep_and_that_the_recheck_missed_has_moved() -> None:
    world = pulled(*ROWS)
    world.source.delete(1)
    draft = swept(world).draft
    world.source.put(1, 10, 100)
    world.source.lost_in_reads = {1}
    world.journal.before("source.find_named_rows", world.source.lost_in_reads.clear)

    result = applied(world, draft)

    assert 1 in world.lake_holds()
    assert (result.corrections.applied, result.corrections.moved) == (0, 1)


def test_delete_whose_key_the_source_does_not_hold_is_made_without_reading_more_rows() -> None:
    world = pulled(*ROWS)
    world.source.delete(1)
    draft = swept(world).draft
    before = world.journal.calls.count("source.find_named_rows")

    result = applied(world, draft)

    assert 1 not in world.lake_holds()
    assert result.outcome is Outcome.CORRECTED
    assert world.journal.calls.count("source.find_named_rows") == before + 1


def test_upserts_alone_ask_for_no_keys() -> None:
    world = pulled(*ROWS)
    world.source.put(2, 21, 200)

    applied(world, swept(world).draft)

    assert "source.find_named_rows" not in world.journal.calls


@pytest.mark.parametrize("is_busy", [False, True])
def test_delete_whose_key_cannot_be_asked_for_is_made_only_where_a_whole_read_agrees_with_the_counts_around_it(
    *, is_busy: bool
) -> None:
    world = pulled(*ROWS)
    world.source.delete(1)
    draft = swept(world).draft
    world.source.unnameable = True
    if is_busy:
        world.journal.before(
            "source.find_named_rows",
            lambda: world.journal.before("source.read_rows", lambda: world.source.put(9, 9, 9)),
        )

    result = applied(world, draft)

    assert (1 in world.lake_holds()) is is_busy
    assert (result.corrections.applied, result.corrections.moved) == ((0, 1) if is_busy else (1, 0))
    assert any("apply again at a quieter time" in note for note in result.notes) is is_busy


def test_delete_whose_key_cannot_be_asked_for_is_not_made_after_a_read_that_lacked_rows() -> None:
    world, draft = lossy()
    world.source.unnameable = True

    result = applied(world, draft)

    assert 1 in world.lake_holds()
    assert result.outcome is not Outcome.CORRECTED
