"""Strategy `xmin`: pulls and sweeps that go by the database's own number of each row's version, over a source in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from hudi_reconcile.core.errors import RefusedError, UsageError
from hudi_reconcile.core.result_parts import Pulled
from hudi_reconcile.core.tables.values import READ_SEQ
from hudi_reconcile.databases.postgres import dialect
from hudi_reconcile.stages.pull.dry_run import dry_run
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.state import set_state
from hudi_reconcile.stages.sweep.sweep import Swept
from tests.fakes.world import World, applied, job, swept

BY_VERSION: dict[str, Any] = {"strategy": "xmin", "watermark": ("xmin",)}


def world_of(*keys: int) -> World:
    """A source whose rows are transactions 1, 2, … and whose lake is empty. No row has a watermark of its own."""
    world = World.new()
    world.source.version = dialect.COLUMN
    for key in keys:
        world.source.put(key, key, None)
    return world


def done(world: World, *, full: bool = False, **settings: Any) -> Pulled:
    found = pull(job(**BY_VERSION, **settings), world.edges, full=full).pull
    assert found is not None
    return found


def found(swept_: Swept) -> Mapping[str, int]:
    kinds = {**swept_.result.findings, **swept_.result.not_drift}
    return {kind: count for kind, count in kinds.items() if count}


def sweep(world: World, **settings: Any) -> Swept:
    return swept(world, **BY_VERSION, **settings)


def test_pull_brings_what_changed_whatever_columns_say_and_writes_no_version_into_the_lake() -> None:
    world = world_of(1, 2, 3)
    first = done(world)
    world.source.put(2, 20, None)
    world.source.put(4, 4, None)

    second = done(world)

    assert (first.rows, first.checkpoint_after, first.bound) == (3, "3", "4")
    assert (second.rows, second.mode, second.checkpoint_after) == (2, "incremental", "5")
    assert world.lake_holds() == world.source_holds()
    assert set(world.lake.now[0]) == {"id", "v", "at", READ_SEQ, "_hoodie_commit_seqno"}
    assert found(sweep(world)) == {}


def test_rows_of_a_transaction_that_is_open_wait_until_every_number_below_has_ended() -> None:
    world = world_of(1)
    done(world)
    world.source.put(2, 2, None)  # committed as 2 while 2 is the oldest that may still write
    world.source.open_since = 2

    held = done(world)
    world.source.open_since = None

    assert (held.rows, held.checkpoint_after, held.bound) == (0, "1", "2")
    assert held.bound_why == "every transaction below this number has ended"
    assert done(world).rows == 1


def test_checkpoint_of_a_whole_read_stays_below_the_oldest_open_transaction() -> None:
    world = world_of(1, 2, 3)
    world.source.open_since = 2

    whole = done(world)
    world.source.open_since = None

    assert (whole.rows, whole.checkpoint_after) == (3, "1")
    assert done(world).rows == 2  # once more: harmless


@pytest.mark.parametrize(("limit", "pages"), [(1, 3), (2, 2), (3, 1)])
def test_pages_go_by_version(limit: int, pages: int) -> None:
    world = world_of(1, 2, 3)

    assert done(world, limit_rows=limit).pages == pages
    assert world.lake_holds() == world.source_holds()


def test_sweep_calls_pending_what_a_coming_pull_brings_and_late_what_it_never_will() -> None:
    world = world_of(1, 2, 3, 4)
    done(world)
    world.lake.plant([row for row in world.lake.now if row["id"] != 1])  # the lake lost what it had pulled
    world.silently_change_lake(2, 99)
    world.source.delete(3)
    world.source.put(4, 44, None)
    world.source.put(5, 5, None)

    first = sweep(world)

    # 2: its version is not above the checkpoint and the lake does not hold it; the lake cannot tell what it holds instead.
    assert found(first) == {"late_arriving": 2, "deleted": 1, "pending": 2}
    applied(world, first.draft, **BY_VERSION)
    assert done(world).rows == 2
    assert world.lake_holds() == world.source_holds()
    assert found(sweep(world)) == {}


def test_restored_server_stops_pulls_and_nothing_waits_for_a_pull_that_will_not_come() -> None:
    world = world_of(1, 2)
    done(world)
    world.source.put(3, 3, None)
    world.source.identity = "server:1, another timeline/table:1"

    swept_ = sweep(world)

    assert found(swept_) == {"late_arriving": 1}
    assert any("belongs to server:1/table:1" in note for note in swept_.result.notes)
    with pytest.raises(RefusedError, match="belongs to"):
        done(world)
    assert done(world, full=True).rows == 3


def test_counter_that_went_back_behind_the_checkpoint_is_refused() -> None:
    world = world_of(1, 2, 3)
    done(world)
    world.source.transaction = 1

    with pytest.raises(RefusedError, match="checkpoint is transaction 3, and the server has only come to 2"):
        done(world)


def test_checkpoint_by_hand_is_a_number_below_the_bound() -> None:
    world = world_of(1, 2, 3)
    done(world)

    for value, error in (("4", RefusedError), ("2026-01-01", UsageError)):
        with pytest.raises(error):
            set_state(job(**BY_VERSION), world.edges, value, by="me@here")
    set_state(job(**BY_VERSION), world.edges, "1", by="me@here")

    assert done(world).rows == 2


def test_another_strategy_does_not_go_on_from_a_version() -> None:
    world = world_of(1)
    done(world)

    with pytest.raises(RefusedError, match="made with watermark xmin, the config says at"):
        pull(job(), world.edges, full=False)


def test_dry_run_names_bound_and_why() -> None:
    world = world_of(1, 2)
    done(world)

    plan = dry_run(job(**BY_VERSION), world.edges, full=False)

    assert (plan.after, plan.before, plan.bound_why) == ("2", "3", "every transaction below this number has ended")
