"""Incrementing columns, compound order, and pages: what each reads, where it stops, and what a kill costs."""

from __future__ import annotations

from typing import Any

import pytest

from hudi_reconcile.core.errors import RefusedError, SourceError, Terminated, UsageError
from hudi_reconcile.core.result_parts import Pulled
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.values import LakeColumn
from hudi_reconcile.stages.job import LandedError
from hudi_reconcile.stages.pull.pull import pull
from tests.fakes.rows import COLUMNS, Killed
from tests.fakes.world import World, job, pulled, swept

BY_ID: dict[str, Any] = {"strategy": "incrementing", "watermark": (), "incrementing": "id"}
BOTH: dict[str, Any] = {"strategy": "timestamp+incrementing", "incrementing": "id"}


def done(world: World, *, full: bool = False, **settings: Any) -> Pulled:
    found = pull(job(**settings), world.edges, full=full).pull
    assert found is not None
    return found


def notes(world: World, **settings: Any) -> str:
    return "; ".join(pull(job(**settings), world.edges, full=False).notes)


def filled(*rows: tuple[int, int | None]) -> World:
    """Rows (id, at), not yet pulled."""
    world = World.new()
    for key, at in rows:
        world.source.put(key, key, at)
    return world


def test_incrementing_pull_reads_ids_above_the_checkpoint_and_tells_what_it_cannot_see() -> None:
    world = filled((1, None), (7, None))
    assert done(world, **BY_ID).checkpoint_after == "7"
    world.source.put(8, 8, None)
    world.source.put(3, 3, None)
    world.source.put(1, 99, None)

    result = pull(job(**BY_ID), world.edges, full=False)

    assert result.pull is not None
    assert (result.pull.rows, result.pull.mode, result.pull.checkpoint_after) == (1, "incremental", "8")
    assert result.pull.bound is None
    assert "id has no clock: rows that commit late" in "; ".join(result.notes)
    found = swept(world, **BY_ID).result
    assert {kind: n for kind, n in found.findings.items() if n} == {"late_arriving": 1, "updated_without_watermark": 1}


def test_missing_row_above_the_incrementing_checkpoint_is_pending() -> None:
    world = filled((1, None))
    done(world, **BY_ID)
    world.source.put(2, 2, None)

    found = swept(world, **BY_ID).result

    assert (sum(found.findings.values()), found.not_drift["pending"]) == (0, 1)


def test_compound_checkpoint_holds_both_and_brings_a_later_id_at_the_same_time() -> None:
    world = filled((1, 100), (5, 100))
    assert done(world, **BOTH).checkpoint_after == "1970-01-01T00:00:00.000100, 5"
    world.source.put(6, 6, 100)
    world.source.put(4, 4, 100)

    pending = swept(world, **BOTH).result

    assert (pending.findings["late_arriving"], pending.not_drift["pending"]) == (1, 1)
    assert done(world, **BOTH).rows == 1
    assert world.lake_holds().keys() == {1, 5, 6}


@pytest.mark.parametrize("settings", [{}, BOTH])
def test_pages_end_where_the_watermark_changes_and_each_is_a_commit(settings: dict[str, Any]) -> None:
    world = filled((1, 10), (2, 20), (3, 20), (4, 30), (5, None), (6, 2_000))

    found = done(world, limit_rows=2, **settings)

    # NULL comes with the first page, and what lies above the bound with the last page of a whole read.
    assert (found.rows, found.pages, len(world.lake.commits)) == (6, 3, 3)
    marks = [commit.checkpoint.watermark_micros for commit in world.lake.commits if commit.checkpoint]
    assert marks == [10, 20, 30]
    assert world.lake_holds() == world.source_holds()
    assert done(world, limit_rows=2, **settings).pages == 0


def test_tie_group_above_the_limit_comes_whole_and_is_said_and_an_id_splits_it() -> None:
    ties = [(key, 50) for key in range(1, 6)]
    alone, both = filled(*ties, (9, 60)), filled(*ties, (9, 60))

    said = notes(alone, limit_rows=2)
    split = done(both, limit_rows=2, **BOTH)

    assert "5 rows share one at: they came as one page, above pull.limit 2" in said
    assert alone.source.largest_read == 5
    assert (split.pages, both.source.largest_read) == (3, 2)
    assert both.lake_holds() == both.source_holds()


def test_pages_of_numbers_end_at_the_greatest_that_was_there_at_the_start() -> None:
    world = filled((1, None), (2, None))
    done(world, **BY_ID)
    for key in (3, 4, 5, 6):
        world.source.put(key, key, None)

    def newer() -> None:
        world.source.put(max(k or 0 for k in world.source.table) + 1, 0, None)
        world.journal.before("source.stage_rows", newer)

    world.journal.before("source.stage_rows", newer)
    found = done(world, limit_rows=1, **BY_ID)

    assert (found.rows, found.pages, found.checkpoint_after) == (4, 4, "6")


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("settings", "pages"),
    [({"most": 2}, 2), ({"stop_after_seconds": 0.007}, 2), ({"stop_after_seconds": 1e9}, 3)],
)
def test_pull_ends_at_a_page_and_the_next_one_goes_on_to_the_same_rows(
    settings: dict[str, Any], pages: int, *, first: bool
) -> None:
    """The clock takes 1.5 ms each time that it is asked for a duration, and a page asks three times."""
    world = filled((0, None), (1, 10))
    if not first:
        done(world)
    for key in range(2, 8):
        world.source.put(key, key, key * 10)
    world.clock.now_micros, world.clock.step_micros = 1_000_000, 1_500

    found = done(world, limit_rows=2 if not first else 3, **settings)
    assert (found.pages, found.reached_bound, found.created) == (pages, pages == 3, first)
    assert (world.lake_holds() == world.source_holds()) is found.reached_bound
    while not found.reached_bound:
        found = done(world, limit_rows=2, **settings)
        assert found.mode == "incremental"
    assert world.lake_holds() == world.source_holds()


def test_full_fetch_over_a_table_is_never_left_in_the_middle() -> None:
    world = filled(*((key, key * 10) for key in range(1, 7)))
    done(world)

    found = done(world, full=True, limit_rows=2, most=1)

    assert (found.pages, found.reached_bound) == (3, True)


def test_kill_between_pages_costs_one_page() -> None:
    world = filled(*((key, key * 10) for key in range(1, 7)))

    def die() -> None:
        raise Killed

    world.journal.before("lake.upsert", lambda: world.journal.before("lake.upsert", die))
    with pytest.raises(Killed):
        pull(job(limit_rows=2), world.edges, full=False)
    assert world.lake_holds().keys() == {1, 2, 3, 4}
    assert (again := done(world, limit_rows=2)).rows == 2
    assert again.mode == "incremental"
    assert world.lake_holds() == world.source_holds()


@pytest.mark.parametrize(
    "error", [ZeroDivisionError(), SourceError("the connection was lost", fix="x"), Terminated()], ids=str
)
def test_pages_that_are_in_the_lake_are_told_whatever_ends_the_pull(error: BaseException) -> None:
    world = filled(*((key, key * 10) for key in range(1, 7)))

    def fail() -> None:
        raise error

    world.journal.before("lake.upsert", lambda: world.journal.before("source.stage_rows", fail))
    with pytest.raises(LandedError) as raised:
        pull(job(limit_rows=2), world.edges, full=False)

    told = raised.value.result.pull
    assert told is not None
    assert (told.rows, told.pages, raised.value.error) == (4, 2, error)


def test_compound_pull_goes_on_from_a_timestamp_checkpoint_but_not_the_other_way_round() -> None:
    world = pulled((1, 1, 100))
    world.source.put(2, 2, 200)

    assert done(world, **BOTH).checkpoint_after == "1970-01-01T00:00:00.000200, 2"
    with pytest.raises(RefusedError, match="made with watermark at, id, the config says at"):
        done(world)
    assert done(world, full=True).mode == "full"


def test_numbers_beside_the_window_are_told() -> None:
    world = pulled((1, 1, 100), (2, 2, None), (3, 3, 5_000))
    world.source.delete(1)
    world.source.put(4, 4, 90)

    said = notes(world)

    assert "1 row has no at (NULL)" in said
    assert "1 row has at ahead of the database's clock" in said
    world.source.delete(3)
    assert "the greatest at at the source is 90, below the checkpoint 1970-01-01T00:00:00.000100" in notes(world)


HOUR = 3_600_000_000


def off(world: World) -> list[str]:
    return [note for note in pull(job(), world.edges, full=False).notes if "source.time_zone" in note]


MINUTE = HOUR // 60


def passed(world: World, micros: int) -> int:
    world.clock.now_micros += micros
    return world.clock.now_micros


@pytest.mark.parametrize(
    ("since", "old", "said"),
    [
        (5, 0, "5 h"),
        (5, 4, "5 h"),
        (40, 28, "5 h"),
        (40, 29, "5 to 5.5 h"),
        (40, 31, "5 to 5.5 h"),
        (50, 31, "5 to 5.5 h"),
    ],
)
def test_writer_behind_is_told_from_the_second_pull_on_with_hours_that_the_rows_age_explains(
    since: int, old: int, said: str
) -> None:
    world = World.new()
    world.clock.now_micros = 100 * HOUR
    world.source.put(1, 1, 95 * HOUR)
    assert off(world) == []
    now = passed(world, since * MINUTE)
    world.source.put(2, 2, now - 5 * HOUR - old * MINUTE)

    (note,) = off(world)

    assert f"the newest at is {said} behind the database's clock" in note
    assert "a commit that is late may be passed over" in note


def test_writer_ahead_is_told_at_once_whatever_is_dated_beyond_every_zone() -> None:
    world = World.new()
    world.clock.now_micros = 100 * HOUR
    world.source.put(1, 1, 105 * HOUR - 10 * MINUTE)
    world.source.put(2, 2, 1_000 * HOUR)

    (note,) = off(world)

    assert "the newest at is 5 h or more ahead of the database's clock" in note


@pytest.mark.parametrize("rests", [HOUR, 2 * HOUR, HOUR // 3])
def test_table_that_rests_for_whole_hours_is_told_of_no_zone(rests: int) -> None:
    world = World.new()
    world.clock.now_micros = 100 * HOUR
    world.source.put(1, 1, world.clock.now_micros - rests)
    assert off(world) == []

    passed(world, rests)

    assert off(world) == []


def test_clock_that_went_back_behind_the_checkpoint_is_refused_with_the_seconds() -> None:
    world = pulled((1, 1, 100))
    world.clock.now_micros = 100 - 3 * 3_600_000_000

    with pytest.raises(RefusedError, match=r"lies 10,800 s ahead of the database's clock"):
        done(world)


@pytest.mark.parametrize(
    ("settings", "column", "named"),
    [
        ({**BY_ID, "incrementing": "at"}, None, "incrementing column at is timestamp"),
        ({**BY_ID, "overlap_micros": 5}, None, "pull.overlap is a time, and id holds none"),
        ({"watermark": ("at", "v")}, None, "times and numbers"),
        ({}, Column("at", Kind.NUMBER, "numeric"), "watermark at is numeric"),
        ({}, Column("at", Kind.TEXT, "text"), "watermark at is text"),
    ],
)
def test_column_that_cannot_order_a_pull_is_refused_by_name(
    settings: dict[str, Any], column: Column | None, named: str
) -> None:
    world = filled((1, 100))
    world.source.columns = (*COLUMNS[:2], column or COLUMNS[2])

    with pytest.raises(UsageError, match=named):
        done(world, **settings)


def test_number_as_watermark_has_no_bound_and_is_told_as_it_is() -> None:
    world = filled((1, 100))
    world.source.columns = (*COLUMNS[:2], Column("at", Kind.INTEGER, "bigint", bits=64))
    world.lake.at_type = "bigint"
    assert done(world).checkpoint_after == "100"
    world.source.put(2, 2, 5_000)
    world.source.put(3, 3, 50)

    assert done(world).checkpoint_after == "5000"
    found = swept(world).result
    assert (found.checkpoint, found.findings["late_arriving"]) == ("5000", 1)


def test_text_watermark_is_read_where_it_is_iso_of_one_form_and_refused_else() -> None:
    world = World.new()
    world.source.columns = (*COLUMNS[:2], Column("at", Kind.TEXT, "text"))
    world.lake.at_type = "string"
    world.source.table = {1: {"id": 1, "v": 1, "at": "2026-03-01T10:00:00Z"}}
    assert done(world, is_text_watermark=True).checkpoint_after == "2026-03-01T10:00:00Z"
    world.source.table[2] = {"id": 2, "v": 2, "at": "2026-03-01T10:00:01Z"}
    assert done(world, is_text_watermark=True, limit_rows=1).rows == 2  # those of the last second are read again

    world.source.table[3] = {"id": 3, "v": 3, "at": "2026-03-01T10:00:02.5Z"}
    with pytest.raises(RefusedError, match=r"0000-00-00T00:00:00\.0Z, 0000-00-00T00:00:00Z"):
        done(world, is_text_watermark=True)
    assert world.lake_holds().keys() == {1, 2}


@pytest.mark.parametrize("day", ["2026-03-01", "2026-03-01T10:00Z", "2026-03-01 10:00:00.123"])
@pytest.mark.parametrize(
    "settings", [{}, {"incrementing": "id", "strategy": "timestamp+incrementing"}], ids=["alone", "id"]
)
def test_row_that_comes_with_the_very_text_of_the_checkpoint_is_pulled(day: str, settings: dict[str, Any]) -> None:
    """A text has no bound that waits until its day, or its second, is over; nor need an update raise the id."""
    world = World.new()
    world.source.columns = (*COLUMNS[:2], Column("at", Kind.TEXT, "text"))
    world.lake.at_type = "string"
    world.source.table = {2: {"id": 2, "v": 1, "at": day}}
    done(world, is_text_watermark=True, **settings)
    world.source.table |= {1: {"id": 1, "v": 3, "at": day}, 2: {"id": 2, "v": 2, "at": day}}

    before = swept(world, is_text_watermark=True, **settings).result
    done(world, is_text_watermark=True, **settings)

    assert (before.not_drift["pending"], sum(before.findings.values())) == (2, 0), "the next pull brings both"
    assert world.lake_holds() == world.source_holds()


def test_incrementing_column_need_not_be_the_key() -> None:
    world = World.new()
    world.source.columns = (*COLUMNS, Column("no", Kind.DECIMAL, "numeric(30,2)", precision=30, scale=2))
    world.lake.more_columns = (LakeColumn("no", "decimal(30,2)"),)
    settings = {**BY_ID, "incrementing": "no"}
    world.source.put(1, 1, None, no=7)
    world.source.put(2, 2, None, no=None)
    done(world, **settings)
    world.source.put(3, 3, None, no=None)
    world.source.put(4, 4, None, no=8)

    assert "2 rows have no no (NULL)" in notes(world, **settings)
    assert world.lake_holds().keys() == {1, 2, 4}
