"""A process that stood still until its lease expired: another of ours wrote meanwhile, and it must not write any more."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.errors import UnverifiedError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.stages.pull.pull import pull
from tests.fakes.world import World, applied, job, pulled, swept


def overtaken(world: World) -> None:
    """Another process takes the expired lease, pulls key 9, and gives the lease back."""
    world.source.put(9, 90, 600)
    world.clock.now_micros += 50_000
    world.lake.held_by = None
    pull(job(run_id="other"), world.edges, full=False)


def reached(world: World) -> int | None:
    found = world.lake.find_checkpoint()
    assert found is not None
    return found.checkpoint.watermark_micros


def test_apply_that_lost_its_lease_writes_nothing_and_the_checkpoint_does_not_fall() -> None:
    world = pulled((1, 10, 100), (2, 20, 300))
    world.source.put(1, 11, 100)
    plan = swept(world).draft
    world.journal.before("lake.correct", lambda: overtaken(world))

    result = applied(world, plan)

    assert (result.outcome, result.corrections.applied, result.corrections.superseded) == (Outcome.INCOMPLETE, 0, 1)
    assert reached(world) == 600
    assert world.lake_holds() == {1: (10, 100), 2: (20, 300), 9: (90, 600)}


def test_pull_that_lost_its_lease_brings_no_row_back_that_was_deleted_meanwhile() -> None:
    world = pulled((1, 10, 100))
    world.source.put(2, 20, 500)
    world.clock.now_micros += 50_000

    def deleted_meanwhile() -> None:
        overtaken(world)
        world.source.delete(2)
        world.lake.held_by = None
        applied(world, swept(world).draft, run_id="other")

    world.journal.before("lake.upsert", deleted_meanwhile)
    with pytest.raises(UnverifiedError, match="the lease was lost") as caught:
        pull(job(run_id="paused"), world.edges, full=False)

    assert caught.value.outcome.exit_code == 3, "4 is an apply's that wrote less than planned"
    assert 2 not in world.lake_holds()
    assert reached(world) == 600
