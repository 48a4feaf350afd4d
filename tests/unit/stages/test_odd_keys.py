"""Rows whose keys the lake's record key does not tell apart: the empty text, in a table whose key is one text."""

from __future__ import annotations

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.stages.pull.pull import pull
from tests.fakes.rows import COLUMNS
from tests.fakes.world import World, applied, job, swept


def texts() -> World:
    """A source and a lake of the keys a and b; the lake has no spelling of keys, as none was odd when it was made."""
    world = World.new()
    world.source.columns = (Column("id", Kind.TEXT, "text"), *COLUMNS[1:])
    world.source.has_extent = False
    world.lake.key_type = "string"
    for number, key in enumerate(("a", "b"), 1):
        world.source.put(key, number, 100 * number)
    pull(job(), world.edges, full=False)
    return world


def test_odd_row_that_the_lake_lacks_is_unverified_and_nothing_is_planned() -> None:
    world = texts()
    world.source.put("", 3, 50)

    found = swept(world)

    result = found.result
    assert (result.outcome, found.draft) == (Outcome.UNVERIFIED, None)
    assert not any(result.findings.values())
    assert result.not_drift["odd_key"] == 1
    (gap,) = result.unverified
    assert (gap.what, gap.name) == ("rows", "t")
    assert "--kind odd_key" in gap.fix
    assert [row["key"] for row in world.disk["findings"] if row["kind"] == "odd_key"] == [("",)]
    assert result.source is not None
    assert result.lake is not None
    assert (result.source.rows, result.lake.rows) == (3, 2), "each side's count has what it holds"


def test_odd_row_in_the_next_pulls_window_is_not_pending_since_no_pull_brings_it() -> None:
    world = texts()
    world.source.put("", 3, 900)
    world.source.put("c", 3, 900)

    result = swept(world).result

    assert result.outcome is Outcome.UNVERIFIED
    assert (result.not_drift["pending"], result.not_drift["odd_key"]) == (1, 1)


def test_odd_row_beside_drift_is_held_back_and_the_rest_is_corrected_but_not_called_so() -> None:
    world = texts()
    world.source.put("", 3, 50)
    world.source.put("a", 7, 100)

    found = swept(world)
    result = applied(world, found.draft)

    assert (found.result.outcome, result.outcome) == (Outcome.DRIFT, Outcome.UNVERIFIED)
    assert [one.what for one in result.unverified] == ["rows"]
    assert (result.corrections.upserts, result.corrections.applied) == (1, 1)
    assert world.lake_holds() == {"a": (7, 100), "b": (2, 200)}


def test_odd_row_of_the_lake_alone_is_not_deleted() -> None:
    world = texts()
    world.lake.plant([*world.lake.now, world.lake.stamped({**world.lake.now[0], "id": ""})])

    found = swept(world)

    assert (found.result.outcome, found.draft) == (Outcome.UNVERIFIED, None)
    assert (found.result.findings["deleted"], found.result.not_drift["odd_key"]) == (0, 1)


def test_odd_row_that_is_equal_on_both_sides_is_proven_and_clean() -> None:
    world = texts()
    world.source.put("", 1, 100)
    world.lake.plant([*world.lake.now, world.lake.stamped({**world.lake.now[0], "id": ""})])

    assert swept(world).result.outcome is Outcome.CLEAN


def test_odd_row_that_came_between_the_looks_is_moving_until_it_rests() -> None:
    world = texts()
    world.source.put("a", 7, 100)
    world.journal.before("clock.sleep", lambda: world.source.put("", 3, 50))

    assert swept(world).result.not_drift["moving"] == 1


def test_table_that_spells_its_keys_takes_odd_rows_like_any_other() -> None:
    world = texts()
    world.lake.commits.clear()
    world.source.put("", 3, 50)
    pull(job(), world.edges, full=False)
    world.source.put("", 4, 50)

    found = swept(world)
    result = applied(world, found.draft)

    assert found.result.findings["updated_without_watermark"] == 1
    assert (result.outcome, world.lake_holds()[""]) == (Outcome.CORRECTED, (4, 50))


def test_pull_holds_odd_rows_back_goes_on_past_them_and_is_unverified() -> None:
    world = texts()
    world.source.put("c", 3, 300)
    world.source.put("", 4, 400)

    result = pull(job(), world.edges, full=False)
    after = pull(job(), world.edges, full=False)

    assert result.pull is not None
    assert after.pull is not None
    assert result.source is not None
    assert (result.outcome, result.pull.rows, result.pull.odd_rows) == (Outcome.UNVERIFIED, 1, 1)
    assert (result.source.rows, result.cost.source_rows_fetched) == (2, 2), "what was read, held back or not"
    (gap,) = result.unverified
    assert "1 row of an odd key" in gap.why
    assert '[""]' in gap.why
    assert set(world.lake_holds()) == {"a", "b", "c"}
    assert after.pull.checkpoint_before == result.pull.checkpoint_after, "it is not read again and again"
    assert swept(world).result.outcome is Outcome.UNVERIFIED


def test_odd_rows_of_several_pages_are_added_up() -> None:
    world = texts()
    for number, key in enumerate(("c", "", "d"), 3):
        world.source.put(key, number, 100 * number)

    result = pull(job(limit_rows=1), world.edges, full=False)

    assert result.pull is not None
    assert (result.outcome, result.pull.rows, result.pull.odd_rows) == (Outcome.UNVERIFIED, 2, 1)
    assert result.pull.pages == 3
