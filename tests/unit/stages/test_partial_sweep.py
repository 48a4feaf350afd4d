"""Sweeps of some partitions and within a budget, in memory.

The fake table is partitioned by `v`; its source leaves out all rows that it may.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from hudi_reconcile.core.errors import SourceError, UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.plan import PART
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.sweep.coverage import Coverage, measure_age
from hudi_reconcile.core.sweep.segments import Segmentation, SegmentSet
from hudi_reconcile.core.tables.partitions import Near
from hudi_reconcile.core.tables.values import PartitionField, SourceTable
from hudi_reconcile.ports import Frame
from hudi_reconcile.stages.job import PartialSweep, Pause
from tests.fakes.rows import SEQNO, rows_of
from tests.fakes.source import FakeSource
from tests.fakes.world import World, applied, pulled, swept_part

BY_V: dict[str, Any] = {"partition_by": (PartitionField("v"),)}
ROWS = tuple((key, key % 3, 100 + key) for key in range(12))  # v 0, 1, 2: four rows each
ZERO, ONE = PartialSweep(("0",)), PartialSweep(("1",))


def partitioned() -> World:
    return pulled(*ROWS, partitioned=True)


def kinds(result: TableResult) -> dict[str, int]:
    return {kind: rows for kind, rows in {**result.findings, **result.not_drift}.items() if rows}


def test_partition_that_is_equal_is_unverified_and_never_clean() -> None:
    world = partitioned()

    done = swept_part(world, ZERO, **BY_V)

    assert (done.result.outcome, done.result.whole, done.draft, done.coverage) == (
        Outcome.UNVERIFIED,
        False,
        None,
        None,
    )
    assert [(item.what, item.name) for item in done.result.unverified] == [("rows", "t")]
    assert done.result.source is not None
    assert done.result.source.rows == 4
    assert done.result.coverage is not None
    assert (done.result.coverage.lake_rows_left_out, done.result.coverage.source_rows_left_out) == (8, 8)
    assert [rows for _, rows in world.source.reads] == [4]  # the other partitions were not even read


def test_drift_of_other_partitions_in_the_same_segments_is_not_judged() -> None:
    world = partitioned()
    world.source.put(3, 0, 50)
    world.source.put(4, 1, 50)
    world.source.delete(5)
    world.source.put(101, 2, 50)

    done = swept_part(world, ZERO, **BY_V)

    assert kinds(done.result) == {"regressed": 1}
    assert done.draft is not None
    assert done.draft.find_requirement(PART) == "partitions 0"
    assert {row["key"] for row in world.disk["findings"]} == {(3,)}


@pytest.mark.parametrize(("was", "becomes", "asked"), [(0, 1, ZERO), (0, 1, ONE), (0, 2, PartialSweep(("0", "2")))])
def test_row_that_moved_partition_is_one_update_whichever_side_is_asked_for(
    was: int, becomes: int, asked: PartialSweep
) -> None:
    world = partitioned()
    assert world.source.table[3]["v"] == was
    world.source.put(3, becomes, 103)

    assert kinds(swept_part(world, asked, **BY_V).result) == {"updated_without_watermark": 1}


def test_row_that_moves_away_and_is_new_at_the_pull_is_pending() -> None:
    world = partitioned()
    world.source.put(3, 1, 999)

    done = swept_part(world, ZERO, **BY_V)

    assert (kinds(done.result), done.draft) == ({"pending": 1}, None)


def test_second_copy_in_another_partition_counts_where_a_segment_is_looked_at() -> None:
    world = partitioned()
    (copy,) = [row for row in world.lake.now if row["id"] == 3]
    world.lake.plant([*world.lake.now, {**copy, "v": 1, SEQNO: "zz"}])

    assert kinds(swept_part(world, ONE, **BY_V).result) == {"duplicate_key": 1}


def test_plan_of_a_partition_is_applied_and_the_rest_is_not_proven() -> None:
    world = partitioned()
    world.source.delete(3)
    world.source.delete(4)

    done = swept_part(world, ZERO, **BY_V)
    result = applied(world, done.draft, **BY_V)

    assert (result.outcome, result.corrections.applied, result.whole) == (Outcome.CORRECTED, 1, False)
    assert "only partitions 0 compared" in result.unverified[0].why
    assert set(world.lake_holds()) == set(range(12)) - {3}


def test_partition_that_is_empty_at_the_source_is_no_empty_source_but_keeps_the_other_guards() -> None:
    world = partitioned()
    for key in (0, 3, 6, 9):
        world.source.delete(key)

    done = swept_part(world, ZERO, **BY_V, max_delete_share=0.5)

    assert done.draft is not None
    guards = {guard.name: guard for guard in done.draft.guards}
    assert (guards["empty_source"].found, guards["empty_source"].ok) == (8, True)
    assert (guards["max_delete_share"].found, guards["max_delete_share"].ok) == (1.0, False)
    assert applied(world, done.draft, **BY_V, max_delete_share=0.5).outcome is Outcome.REFUSED


def test_empty_source_stays_one_for_a_partition() -> None:
    world = partitioned()
    world.source.table.clear()

    done = swept_part(world, ZERO, **BY_V)

    assert done.draft is not None
    assert [guard.ok for guard in done.draft.guards if guard.name == "empty_source"] == [False]


def test_shares_are_of_the_compared_rows() -> None:
    world = partitioned()
    world.source.delete(3)

    done = swept_part(world, ZERO, **BY_V)

    assert done.draft is not None
    assert [guard.found for guard in done.draft.guards if guard.name == "max_delete_share"] == [0.25]


def test_partition_that_the_lake_lacks_is_no_empty_table_that_may_be_filled_unasked() -> None:
    world = partitioned()
    for key in range(20, 30):
        world.source.put(key, 7, 50)

    done = swept_part(world, PartialSweep(("7",)), **BY_V, max_upsert_share=0.2)

    assert done.draft is not None
    assert [(one.found, one.ok) for one in done.draft.guards if one.name == "max_upsert_share"] == [(1.0, False)]
    assert applied(world, done.draft, **BY_V, max_upsert_share=0.2).outcome is Outcome.REFUSED


class LosesRowZero(FakeSource):
    """Its reads lack a row that it counts."""

    __slots__ = ()

    def read_rows(
        self,
        table: SourceTable,
        segmentation: Segmentation,
        segments: SegmentSet | None = None,
        *,
        near: Near | None = None,
    ) -> Frame:
        found = FakeSource.read_rows(self, table, segmentation, segments, near=near)
        return Frame([row for row in rows_of(found) if row["c0"] != 0])


def test_read_of_a_partition_that_lacks_rows_deletes_nothing() -> None:
    world = partitioned()
    world.source = LosesRowZero(world.journal, world.clock, table=world.source.table)

    done = swept_part(world, ZERO, **BY_V)

    assert (kinds(done.result), done.draft) == ({"deleted": 1}, None)
    assert any("lacked 1 rows" in item.why for item in done.result.unverified)


def test_partition_by_an_excluded_column_is_told_all_the_same() -> None:
    world = partitioned()
    world.source.put(3, 0, 50)

    done = swept_part(world, ZERO, **BY_V, exclude=frozenset({"v"}))

    assert kinds(done.result) == {"regressed": 1}


@pytest.mark.parametrize("mode", ["auto", "pushdown", "stream"])
def test_parts_are_digested_in_spark_whatever_the_mode(mode: str) -> None:
    world = partitioned()

    done = swept_part(world, ZERO, **BY_V, mode=mode)

    assert "source.digest_inside" not in world.journal.calls
    assert "in Spark" in done.result.provenance["digests"]


def test_unpartitioned_table_and_unknown_partition_are_refused_before_a_row_is_read() -> None:
    with pytest.raises(UsageError, match="has no partitions"):
        swept_part(pulled(*ROWS), ZERO)
    world = partitioned()
    with pytest.raises(UsageError, match="no row can lie in partition 'x'") as error:
        swept_part(world, PartialSweep(("x",)), **BY_V)

    assert "2, 1, 0" in error.value.fix
    assert "source.read_rows" not in world.journal.calls


# --- budgets: four segments of three keys, and one for NULL


def budget(seconds: float, earlier: Coverage | None = None, partitions: tuple[str, ...] = ()) -> PartialSweep:
    return PartialSweep(partitions, seconds, f"{seconds:g}s", () if earlier is None else (earlier,))


def test_spent_budget_compares_the_first_batch_and_says_what_was_not() -> None:
    world = pulled(*ROWS)

    done = swept_part(world, budget(0), segments=4)

    assert (done.result.outcome, done.result.whole) == (Outcome.UNVERIFIED, False)
    assert [item.what for item in done.result.unverified] == ["segment"]
    assert "4 of 5 segments were not compared" in done.result.unverified[0].why
    assert done.coverage is not None
    assert [(one.low, one.high, one.run_id) for one in done.coverage.stretches] == [(0, 1, "run-1")]
    assert [segments for segments, _ in world.source.reads] == [(0,)]


def test_sweeps_with_a_budget_go_round_and_find_what_drifted_where_they_come() -> None:
    world = pulled(*ROWS)
    world.source.put(8, 2, 50)
    coverage, found = None, []

    for number in range(6):
        world.clock.now_micros += 1_000_000
        done = swept_part(world, budget(0, coverage), segments=4, run_id=f"run-{number}")
        coverage = done.coverage
        found.append((world.source.reads[-1][0], kinds(done.result)))

    assert coverage is not None
    assert [segments for segments, _ in found] == [(0,), (1,), (2,), (3,), (4,), (0,)]
    assert [rows for _, rows in found] == [{}, {}, {"regressed": 1}, {}, {}, {}]
    assert measure_age(coverage).never == 0
    assert [one.run_id for one in coverage.stretches] == ["run-5", "run-1", "run-2", "run-3", "run-4"]


def test_budget_that_suffices_is_a_whole_sweep_with_its_verdict() -> None:
    world = pulled(*ROWS)
    clean = swept_part(world, budget(1000), segments=4)
    world.source.delete(8)
    drift = swept_part(world, budget(1000, clean.coverage), segments=4)

    assert (clean.result.outcome, clean.result.whole, clean.result.unverified) == (Outcome.CLEAN, True, ())
    assert (drift.result.outcome, drift.result.whole) == (Outcome.DRIFT, True)
    assert drift.draft is not None
    assert drift.draft.part is None
    assert clean.coverage is not None
    assert measure_age(clean.coverage).never == 0


def test_time_that_passes_ends_the_batches_and_each_is_at_most_twice_the_last() -> None:
    world = pulled(*((key, 1, key) for key in range(1, 400)))
    world.clock.step_micros = 1_000_000

    done = swept_part(world, budget(6), segments=100)

    sizes = [len(segments) for segments, _ in world.source.reads if segments is not None]
    assert len(sizes) > 1
    assert all(later <= 2 * size for size, later in pairwise(sizes))
    assert done.result.coverage is not None
    assert done.result.coverage.compared == sum(sizes) < done.result.coverage.segments


def test_segments_are_no_younger_than_the_lake_that_they_were_compared_with() -> None:
    world = pulled(*((key, 1, key) for key in range(1, 400)))
    world.clock.step_micros = 1_000_000
    begun = world.clock.now_micros

    done = swept_part(world, budget(6), segments=100)

    assert done.coverage is not None
    (one,) = done.coverage.stretches  # several batches, one pin
    assert one.compared_micros - begun < 2 * world.clock.step_micros


def test_segments_of_a_budget_that_lack_rows_prove_nothing() -> None:
    world = pulled(*ROWS)
    world.source = LosesRowZero(world.journal, world.clock, table=world.source.table)

    done = swept_part(world, budget(0), segments=4)

    assert (kinds(done.result), done.draft, done.coverage) == ({"moving": 1}, None, None)
    assert any("of these segments, counts 3" in item.why for item in done.result.unverified)


def test_empty_source_guard_counts_the_whole_table_where_a_budget_saw_a_part() -> None:
    world = pulled(*ROWS)
    for key in (0, 1):
        world.source.delete(key)

    done = swept_part(world, budget(0), segments=4)

    assert done.draft is not None
    assert [(one.found, one.ok) for one in done.draft.guards if one.name == "empty_source"] == [(10, True)]
    assert done.draft.part == "1 of 5 segments"


def test_whole_sweep_leaves_coverage_that_a_budget_goes_on_from() -> None:
    world = pulled(*ROWS)
    world.clock.now_micros = 5
    whole = swept_part(world, PartialSweep(), segments=4, run_id="whole")
    world.clock.now_micros = 9
    part = swept_part(world, budget(0, whole.coverage), segments=4)

    assert (whole.result.whole, whole.result.coverage and whole.result.coverage.never_compared) == (True, 0)
    assert part.coverage is not None
    assert [(one.low, one.high, one.run_id) for one in part.coverage.stretches] == [(0, 1, "run-1"), (1, 5, "whole")]
    assert part.result.coverage is not None
    assert part.result.coverage.oldest_utc == "1970-01-01T00:00:00.000005Z"


@pytest.mark.parametrize(
    "change",
    [{"exclude": frozenset({"v"})}, {"where": "id > 0"}, {"segments": 8}, {"path": "/lake/other"}],
)
def test_coverage_of_another_comparison_is_not_gone_on_from(change: dict[str, Any]) -> None:
    world = pulled(*ROWS)
    first = swept_part(world, budget(0), segments=4)

    second = swept_part(world, budget(0, first.coverage), **{"segments": 4, **change})

    assert world.source.reads[-1][0] == (0,)
    assert second.coverage is not None
    assert len(second.coverage.stretches) == 1


def test_keys_that_only_spark_can_hash_are_compared_at_once() -> None:
    world = pulled(*ROWS)
    world.source.no_digests = "this database cannot digest its own rows"
    world.source.has_extent = False

    done = swept_part(world, budget(0), segments=4)

    assert (done.result.outcome, done.result.whole) == (Outcome.CLEAN, True)
    assert any("all were compared at once" in note for note in done.result.notes)
    assert [segments for segments, _ in world.source.reads] == [None]


def test_partitions_within_a_budget_have_a_coverage_of_their_own() -> None:
    world = partitioned()
    alone = swept_part(world, budget(0), **BY_V, segments=4)

    both = swept_part(world, budget(0, alone.coverage, ("0",)), **BY_V, segments=4)

    assert world.source.reads[-1][0] == (0,)
    assert [item.what for item in both.result.unverified] == ["rows", "segment"]
    assert both.coverage is not None
    assert alone.coverage is not None
    assert both.coverage.subject != alone.coverage.subject


def test_sweep_that_proves_nothing_is_not_whole_and_leaves_no_coverage() -> None:
    world = pulled(*ROWS)
    world.lake.in_flight.add("writer")
    world.journal.before("source.read_rows", world.lake.in_flight.clear)
    unsteady = swept_part(world, PartialSweep(), segments=4)
    lossy = pulled(*ROWS)
    lossy.source.lost_in_reads.add(3)

    for done in (unsteady, swept_part(lossy, PartialSweep(), segments=4)):
        assert (done.result.outcome, done.result.whole, done.coverage) == (Outcome.UNVERIFIED, False, None)
        assert done.result.coverage is not None
        assert done.result.coverage.never_compared == 5


# --- duty: the source rests between the batches


def test_duty_below_all_reads_in_batches_and_rests_in_between_and_the_verdict_is_whole() -> None:
    world = pulled(*((key, 1, key) for key in range(1, 400)))
    world.source.put(8, 2, 50)
    world.clock.step_micros = 1_000_000

    done = swept_part(world, PartialSweep(max_duty=0.25), segments=100)

    first_looks = [segments for segments, _ in world.source.reads if segments is not None][:-2]
    assert (done.result.outcome, done.result.whole, kinds(done.result)) == (Outcome.DRIFT, True, {"late_arriving": 1})
    assert sum(len(segments) for segments in first_looks) == 101  # a hundred, and one for NULL
    assert max(len(segments) for segments in first_looks) <= 4
    assert world.clock.slept_seconds >= 3 * (len(first_looks) - 1)


def test_full_duty_never_rests() -> None:
    world = pulled(*ROWS)

    swept_part(world, PartialSweep(max_duty=1.0), segments=4)

    assert world.clock.slept_seconds == 0


# --- pause: while others need the source, no batch and no look begins


def pausing(*reasons: str, limit_seconds: float = 60.0) -> PartialSweep:
    """A sweep whose source is busy for these reasons, one a question, and free from then on."""
    left = list(reasons)
    return PartialSweep(pause=Pause(lambda: left.pop(0) if left else "", limit_seconds))


def test_source_that_others_need_is_read_later_and_the_verdict_is_whole() -> None:
    world = pulled(*((key, 1, key) for key in range(1, 400)))
    world.source.put(8, 2, 50)

    done = swept_part(world, pausing("", "busy", "busy"), segments=100)

    first_looks = [segments for segments, _ in world.source.reads if segments is not None][:-2]
    assert (done.result.outcome, done.result.whole, kinds(done.result)) == (Outcome.DRIFT, True, {"late_arriving": 1})
    assert max(len(segments) for segments in first_looks) <= 4, "in parts, between which the source can be let alone"
    assert world.clock.slept_seconds == 10


def test_source_that_stays_busy_is_not_read_and_ends_the_sweep_with_the_reason() -> None:
    world = pulled(*ROWS)
    read = len(world.source.reads)

    with pytest.raises(SourceError, match=r"for 60 s and ended: the file is there") as caught:
        swept_part(world, pausing(*["the file is there"] * 100), segments=4)

    assert "sweep.pause.limit" in caught.value.fix
    assert len(world.source.reads) == read


def test_pause_begins_between_two_batches_and_before_the_second_look() -> None:
    world = pulled(*((key, 1, key) for key in range(1, 400)))
    world.source.put(8, 2, 50)
    quiet = swept_part(world, pausing(), segments=100)
    reads_of_a_sweep = len(world.source.reads)
    asked = 0

    def count() -> str:
        nonlocal asked
        asked += 1
        return ""

    swept_part(world, PartialSweep(pause=Pause(count, 60.0)), segments=100)

    batches = reads_of_a_sweep - 2
    assert quiet.result.outcome is Outcome.DRIFT
    assert asked == 1 + batches + 1, "before the first look, each of its batches, and the second look"
