"""A full fetch that replaces the table, and one that stands in for a window that cannot be trusted."""

from __future__ import annotations

from typing import Any

import pytest

from hudi_reconcile.core.errors import RefusedError, SourceError
from hudi_reconcile.core.plan.plan import Approval
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.stages.pull.pull import pull
from tests.fakes.world import World, at_checkpoint, job, pulled

ROWS = ((1, 1, 100), (2, 2, 200), (3, 3, 300), (4, 4, 400))


def pull_full(world: World, approval: Approval = Approval(), *, full: bool = False, **settings: Any) -> TableResult:  # noqa: B008
    return pull(job(**{"strategy": "full", **settings}), world.edges, full=full, approval=approval)


def held() -> World:
    """A world of four rows that a strategy `full` has pulled; two are gone since, one is new."""
    world = World.new()
    for row in ROWS:
        world.source.put(*row)
    pull_full(world)
    world.source.delete(1)
    world.source.delete(2)
    world.source.put(5, 5, 50)
    world.journal.calls.clear()
    return world


def refuse(world: World, error: type[Exception], match: str, approval: Approval = Approval(), **settings: Any) -> Any:  # noqa: B008
    before = list(world.lake.commits)
    with pytest.raises(error, match=match) as caught:
        pull_full(world, approval, **settings)
    assert world.lake.commits == before
    assert world.lake.held_by is None
    return caught.value


def test_strategy_full_makes_rows_disappear_that_are_gone_at_the_source() -> None:
    world = held()

    result = pull_full(world)

    assert world.lake_holds() == world.source_holds() == {3: (3, 300), 4: (4, 400), 5: (5, 50)}
    assert result.notes == ("the whole table was replaced; 2 of its rows were gone at the source",)
    assert [call for call in world.journal.calls if call in ("lake.overwrite", "lake.upsert")] == ["lake.overwrite"]
    found = world.lake.find_checkpoint()
    assert found is not None
    assert found.checkpoint.watermark_micros == 400


@pytest.mark.parametrize(
    ("settings", "deletes"),
    [
        ({"strategy": "full", "full_mode": "upsert"}, False),
        ({"strategy": "timestamp"}, False),
        ({"strategy": "timestamp", "full_mode": "overwrite"}, True),
    ],
)
def test_full_fetch_deletes_only_where_the_strategy_or_the_config_says_so(
    settings: dict[str, Any], *, deletes: bool
) -> None:
    world = held()

    pull_full(world, full=True, **settings)

    assert (1 not in world.lake_holds()) is deletes


@pytest.mark.parametrize("limits", [{"max_deletes": 1}, {"max_delete_share": 0.4}])
def test_replacement_beyond_the_policy_is_refused_with_its_numbers_until_exactly_they_are_approved(
    limits: dict[str, Any],
) -> None:
    world = held()

    error = refuse(world, RefusedError, "the source has 3 rows, the lake 4; replacing it would delete 2", **limits)
    assert error.fix == "if the source really lost these rows: pull with --approve-deletes 2"
    assert {guard.name for guard in error.guards} == {"empty_source", "max_deletes", "max_delete_share"}
    refuse(world, RefusedError, "would delete 2", Approval(None, 3), **limits)
    pull_full(world, Approval(None, 2), **limits)

    assert world.lake_holds() == world.source_holds()


def test_empty_source_is_refused_whatever_number_is_approved() -> None:
    world = held()
    world.source.table.clear()

    refuse(world, RefusedError, "guard empty_source")
    refuse(world, RefusedError, "guard empty_source", Approval(None, 4))
    pull_full(world, Approval(None, 4, allow_empty_source=True))

    assert world.lake_holds() == {}


def test_read_that_lacks_rows_which_the_source_counts_replaces_nothing() -> None:
    world = held()
    world.source.lost_in_reads = {3}

    refuse(world, SourceError, "the read returned 2 rows, the source counted 3 before and 3 after")


def test_lost_checkpoint_falls_back_to_a_full_fetch_where_the_config_says_so() -> None:
    world = pulled(*ROWS)
    rows = world.lake.now
    world.lake.commits[:] = []
    world.lake.plant(rows)
    world.source.delete(1)
    world.source.put(2, 7, 200)

    refuse(world, RefusedError, "carries our checkpoint", strategy="timestamp")
    result = pull(job(on_error="full"), world.edges, full=False)

    assert result.pull is not None
    assert result.pull.mode == "full"
    assert "every row was fetched (pull.on_error: full): table t: " in result.notes[0]
    assert world.lake_holds() == {**world.source_holds(), 1: (1, 100)}


def test_changed_watermark_columns_fall_back_and_the_old_columns_mark_is_not_carried_on() -> None:
    world = pulled(*ROWS)
    at_checkpoint(world, watermark=("seen",), watermark_micros=999)

    pull(job(on_error="full"), world.edges, full=False)

    found = world.lake.find_checkpoint()
    assert found is not None
    assert (found.checkpoint.watermark, found.checkpoint.watermark_micros) == (("at",), 400)


def test_checkpoint_of_another_source_is_refused_all_the_same() -> None:
    world = pulled(*ROWS)
    world.source.identity = "server:2/table:1"

    refuse(world, RefusedError, "belongs to server:1/table:1", strategy="timestamp", on_error="full")
