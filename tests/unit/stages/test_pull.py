from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hudi_reconcile.core.errors import RefusedError, SourceError, UsageError
from hudi_reconcile.core.pull.source_lineage import SourceLineage
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.values import REPLICA
from hudi_reconcile.ports import KeyFaults, Signs
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.pull.start import note_signs
from hudi_reconcile.stages.watermark import Watermark, choose_watermark
from tests.fakes.rows import COLUMNS, Killed
from tests.fakes.world import World, at_checkpoint, job, pulled, swept

TEXT = Column("at", Kind.TEXT, "text")


def pull_again(world: World, *, full: bool = False, **settings: Any) -> TableResult:
    return pull(job(**settings), world.edges, full=full)


def numbers(result: TableResult) -> tuple[int, str]:
    assert result.pull is not None
    return result.pull.rows, result.pull.mode


def test_first_pull_creates_the_table_with_every_row_null_watermarks_too() -> None:
    world = World.new()
    for key, at in ((1, 100), (2, None)):
        world.source.put(key, key, at)

    result = pull_again(world)

    assert numbers(result) == (2, "full")
    assert result.pull is not None
    assert (result.pull.null_watermark_rows, result.pull.created) == (1, True)
    assert world.lake_holds() == world.source_holds()
    assert [commit.labels["kind"] for commit in world.lake.commits] == ["pull"]


def test_bound_is_taken_before_rows_are_read_and_rows_are_read_once() -> None:
    world = World.new()
    world.source.put(1, 1, 100)

    pull_again(world)

    calls = world.journal.calls
    assert calls.count("source.stage_rows") == 1
    assert "source.read_rows" not in calls
    assert calls.index("source.read_moment") < calls.index("source.stage_rows") < calls.index("lake.create")


def test_checkpoint_of_a_first_pull_stays_below_the_bound_though_newer_rows_came_along() -> None:
    world = World.new()
    world.source.put(1, 1, 100)
    world.source.put(2, 2, world.clock.now_micros)

    pull_again(world)

    found = world.lake.find_checkpoint()
    assert found is not None
    assert found.checkpoint.watermark_micros == 100
    assert world.lake_holds().keys() == {1, 2}


def test_second_pull_reads_what_is_above_the_checkpoint_and_below_the_bound() -> None:
    world = pulled((1, 1, 100))
    world.source.put(2, 2, 200)
    world.source.put(3, 3, 50)
    world.source.put(4, 4, world.clock.now_micros + 1)

    result = pull_again(world)

    assert numbers(result) == (1, "incremental")
    assert result.pull is not None
    assert not result.pull.created
    assert world.lake_holds().keys() == {1, 2}


def test_overlap_reads_behind_the_checkpoint() -> None:
    world = pulled((1, 1, 100))
    world.source.put(2, 2, 95)

    pull_again(world, overlap_micros=10)

    assert world.lake_holds().keys() == {1, 2}


def test_pull_of_a_row_that_is_already_there_replaces_it() -> None:
    world = pulled((1, 1, 100))
    world.source.put(1, 2, 200)

    pull_again(world)

    assert world.lake_holds() == {1: (2, 200)}


@pytest.mark.parametrize("lag", [900, 899, 5000])
def test_window_without_room_asks_for_no_row_and_writes_nothing(lag: int) -> None:
    world = pulled((1, 1, 100))
    world.source.bound_lag_micros = lag
    before = list(world.lake.commits)

    result = pull_again(world)

    assert numbers(result) == (0, "incremental")
    assert "source.stage_rows" not in world.journal.calls
    assert world.lake.commits == before


def test_window_without_rows_writes_nothing_and_keeps_the_checkpoint() -> None:
    world = pulled((1, 1, 100))
    before = list(world.lake.commits)

    result = pull_again(world)

    assert result.pull is not None
    assert (result.pull.rows, result.pull.instant) == (0, None)
    assert result.pull.checkpoint_after == result.pull.checkpoint_before
    assert world.lake.commits == before


def test_read_sequence_rises_though_the_sources_clock_stands_still() -> None:
    world = pulled((1, 1, 100))
    world.source.put(2, 2, 200)

    pull_again(world)

    sequences = [commit.checkpoint.read_seq for commit in world.lake.commits if commit.checkpoint]
    assert sequences == sorted(set(sequences))
    assert len(sequences) == 2


def test_full_pull_reads_every_row_and_never_lowers_the_checkpoint() -> None:
    world = pulled((1, 1, 100), (2, 2, 200))
    world.source.delete(2)
    world.source.put(1, 5, 100)

    result = pull_again(world, full=True)

    found = world.lake.find_checkpoint()
    assert numbers(result) == (1, "full")
    assert found is not None
    assert found.checkpoint.watermark_micros == 200
    assert world.lake_holds() == {1: (5, 100), 2: (2, 200)}


def refuse(world: World, match: str, **settings: Any) -> None:
    before = list(world.lake.commits)
    with pytest.raises(RefusedError, match=match):
        pull_again(world, **settings)
    assert world.lake.commits == before
    assert world.lake.held_by is None


def test_table_under_another_lease_is_refused_before_anything_is_read() -> None:
    world = pulled((1, 1, 100))
    world.lake.held_by = "another run"
    with pytest.raises(RefusedError, match="another run"):
        pull_again(world)
    assert world.journal.calls == []


def test_lost_checkpoint_is_refused_and_full_heals_it() -> None:
    world = pulled((1, 1, 100))
    world.lake.commits[:] = []
    world.lake.plant([{"id": 1, "v": 1, "at": 100, "_hoodie_commit_seqno": "x"}])

    refuse(world, "no commit on its timeline carries our checkpoint")
    pull_again(world, full=True)

    assert world.lake.find_checkpoint() is not None


def test_foreign_table_is_refused_even_in_full() -> None:
    world = pulled((1, 1, 100))
    world.lake.ordering = ("at",)

    refuse(world, "made by another writer", full=True)


def test_checkpoint_of_other_watermark_columns_is_refused() -> None:
    world = pulled((1, 1, 100))
    at_checkpoint(world, watermark=("at", "seen"))

    refuse(world, "watermark at, seen, the config says at")


def test_checkpoint_of_another_source_is_refused() -> None:
    world = pulled((1, 1, 100))
    world.source.identity = "server:2/table:1"

    refuse(world, "belongs to server:1/table:1, the source is server:2/table:1")


def test_table_of_another_type_is_refused() -> None:
    refuse(pulled((1, 1, 100)), "merge_on_read", type="merge_on_read")


def test_table_of_another_record_key_is_refused() -> None:
    world = pulled((1, 1, 100))
    world.lake.key = ("id", "v")

    refuse(world, "record key is id, v")


def test_source_keys_that_occur_twice_are_refused_with_count_and_sample() -> None:
    world = pulled((1, 1, 100))
    world.source.faults = KeyFaults(2, 0, ("(7)", "(8)"))

    refuse(world, r"2 keys occur twice at the source, such as \(7\), \(8\)")


def test_watermark_with_values_that_no_lake_type_holds_is_refused() -> None:
    world = World.new()
    world.source.put(1, 1, 100)
    world.source.altered = ("at",)

    refuse(world, "at hold values")


def test_values_that_an_existing_column_cannot_hold_are_refused() -> None:
    world = pulled((1, 1, 100))
    world.source.put(1, 2, 200)
    world.source.altered = ("v",)

    refuse(world, "v hold values")


def test_values_that_no_lake_type_holds_make_a_new_table_hold_text_and_the_result_says_so() -> None:
    world = World.new()
    world.source.put(1, 1, 100)
    world.source.altered = ("v",)

    result = pull_again(world)

    assert result.notes == ("held as text, since no lake type is exact for their values: v",)


def test_text_column_cannot_be_a_watermark() -> None:
    world = World.new()
    world.source.columns = (*COLUMNS[:2], TEXT)

    with pytest.raises(UsageError, match="watermark at is text"):
        pull_again(world)


def test_mixed_clocks_cannot_be_one_watermark() -> None:
    world = World.new()
    world.source.columns = (*COLUMNS, Column("seen", Kind.TIMESTAMPTZ, "timestamptz", precision=6))

    with pytest.raises(UsageError, match="mix columns with and without time zone"):
        pull_again(world, watermark=("at", "seen"))


def test_kill_before_the_commit_leaves_checkpoint_and_rows_as_they_were() -> None:
    world = pulled((1, 1, 100))
    world.source.put(2, 2, 200)

    def die() -> None:
        raise Killed

    world.journal.before("lake.upsert", die)
    with pytest.raises(Killed):
        pull_again(world)
    assert world.lake_holds() == {1: (1, 100)}
    assert numbers(pull_again(world)) == (1, "incremental")
    assert world.lake_holds() == world.source_holds()


def test_rows_one_microsecond_apart_are_each_pulled_once() -> None:
    world = pulled((1, 10, 989))
    read = []
    for turn in (1, 2, 3):
        world.source.put(1 + turn, turn, 990 + turn)
        world.clock.now_micros = 1_001 + turn  # the bound follows by one microsecond a time
        result = pull(job(), world.edges, full=False)
        assert result.pull is not None
        read.append(result.pull.rows)

    assert read == [1, 1, 1]
    assert world.lake_holds() == world.source_holds()


def test_notes_tell_of_a_replica_of_a_cached_sequence_and_of_a_scan_that_an_index_would_save() -> None:
    world = World.new()
    world.source.put(1, 10, 100)
    world.source.moment_notes = ("the server is a replica",)

    assert "the server is a replica" in pull(job(), world.edges, full=False).notes
    assert "the server is a replica" in swept(world).result.notes
    ids = choose_watermark(job(watermark=(), incrementing="id"), world.source.describe())
    (cached,) = note_signs(ids, Signs(is_indexed=True, id_cache=50), table_rows=10**9)
    assert "id comes from a sequence with CACHE 50" in cached
    assert "needs sweep" in cached
    (scanned,) = note_signs(ids, Signs(is_indexed=False), table_rows=1_200_000)
    assert scanned == "id leads no index: every pull scans the whole table, about 1,200,000 rows"
    assert note_signs(ids, Signs(is_indexed=False), table_rows=99_999) == ()
    assert note_signs(ids, Signs(is_indexed=None), table_rows=10**9) == ()


def test_full_pull_of_another_source_goes_on_from_its_own_rows_though_it_was_stopped_after_a_page() -> None:
    world = pulled((1, 1, 500))
    world.source.identity = "server:2/table:1"
    for key in range(2, 6):
        world.source.put(key, key, key * 10)
    world.source.delete(1)
    world.journal.before("lake.upsert", lambda: world.journal.before("lake.upsert", kill))

    with pytest.raises(Killed):
        pull_again(world, full=True, limit_rows=2)
    pull_again(world)

    assert {key: row for key, row in world.lake_holds().items() if key != 1} == world.source_holds()


def kill() -> None:
    raise Killed


def test_bound_of_a_local_watermark_stays_before_wall_times_that_come_twice() -> None:
    hour, moment = 3_600_000_000, World.new().source.read_moment()
    change = 100 * hour
    local = Watermark((replace(COLUMNS[2], kind=Kind.TIMESTAMP, declared="timestamp"),))

    def bound(at: int) -> int | None:
        return local.bound(replace(moment, bound_micros=at), lambda utc: 2 * hour if utc < change else hour)

    halves = [bound(change + half * hour // 2) for half in range(-5, 5)]

    assert [(each or 0) / hour - 100 for each in halves] == [-0.5, 0, 0.5, 1, 1, 1, 1.5, 2, 2.5, 3]


@pytest.mark.parametrize(("back", "is_said"), [(2_000_000, False), (30_000_000, True)])
def test_clock_that_went_back_a_little_is_told_once(back: int, *, is_said: bool) -> None:
    world = pulled((1, 1, 100))
    world.clock.now_micros += 100_000_000
    world.source.put(2, 2, 200)
    pull_again(world)
    world.clock.now_micros -= back
    world.source.put(3, 3, 300)

    notes = [[note for note in pull_again(world).notes if "behind what it was at the last pull" in note] for _ in "12"]

    assert [bool(found) for found in notes] == [is_said, False]


def test_server_that_is_promoted_while_its_rows_are_read_is_not_pulled_from() -> None:
    world = pulled((1, 1, 100))
    world.source.put(2, 2, 200)

    def promote() -> None:
        world.source.stands = SourceLineage("none", "2")

    world.journal.before("source.stage_rows", promote)

    with pytest.raises(SourceError, match="timeline was 1 and is 2"):
        pull_again(world)
    assert world.lake_holds() == {1: (1, 100)}


def test_replica_that_is_promoted_while_its_rows_are_read_is_not_pulled_from() -> None:
    world = pulled((1, 1, 100))
    world.source.put(2, 2, 200)
    world.source.stands, world.source.moment_notes = SourceLineage("none"), (REPLICA,)

    def promote() -> None:
        world.source.stands = SourceLineage("none", "2")

    world.journal.before("source.stage_rows", promote)

    with pytest.raises(SourceError, match="was a replica and is none now"):
        pull_again(world)
