"""Coverage and budget: whatever the pace, every segment gets its turn, the oldest first, and nothing is counted that was not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.sweep.coverage import (
    Coverage,
    build_coverage_document,
    count_all_segments,
    measure_age,
    order_by_age,
    parse,
    renew_coverage,
)
from hudi_reconcile.core.sweep.segments import (
    HashSegments,
    Pace,
    RangeSegments,
    Segmentation,
    choose_next_batch,
    share_seconds,
)

CUTS = st.one_of(
    st.builds(RangeSegments, st.just("id"), st.just(0), st.integers(1, 100), st.integers(1, 60)),
    st.builds(HashSegments, st.just(("a", "b")), st.integers(1, 60), st.just("md5")),
)
RUNS = st.lists(st.tuples(st.sets(st.integers(0, 60)), st.integers(0, 10**15)), max_size=6)


def empty(cut: Segmentation) -> Coverage:
    return Coverage("s", cut, None)


def after(cut: Segmentation, runs: list[tuple[set[int], int]]) -> tuple[Coverage, dict[int, tuple[int, str]]]:
    """The coverage after some runs, and what it must say of each segment."""
    coverage, told = empty(cut), {}
    for number, (segments, micros) in enumerate(runs):
        held = {one for one in segments if one < count_all_segments(cut)}
        coverage = renew_coverage(coverage, held, micros, f"run{number}")
        told.update(dict.fromkeys(held, (micros, f"run{number}")))
    return coverage, told


@given(CUTS, RUNS)
def test_coverage_tells_of_each_segment_the_last_run_that_compared_it(
    cut: Segmentation, runs: list[tuple[set[int], int]]
) -> None:
    coverage, told = after(cut, runs)

    found = {
        segment: (one.compared_micros, one.run_id) for one in coverage.stretches for segment in range(one.low, one.high)
    }
    assert found == told
    assert sum(one.high - one.low for one in coverage.stretches) == len(told)
    old = measure_age(coverage)
    assert (old.segments, old.never) == (count_all_segments(cut), count_all_segments(cut) - len(told))
    assert old.oldest_micros == min((micros for micros, _ in told.values()), default=None)
    assert parse(build_coverage_document("t", coverage)) == coverage


@given(CUTS, RUNS, st.integers(0, 60), st.integers(0, 61))
def test_coverage_after_a_range_is_that_after_its_segments(
    cut: Segmentation, runs: list[tuple[set[int], int]], low: int, high: int
) -> None:
    coverage, total = after(cut, runs)[0], count_all_segments(cut)

    for segments in (range(total), range(min(low, total), min(high, total))):
        assert renew_coverage(coverage, segments, 7, "last") == renew_coverage(coverage, [*segments], 7, "last")


@given(CUTS, RUNS)
def test_next_segments_are_those_never_compared_and_then_the_oldest(
    cut: Segmentation, runs: list[tuple[set[int], int]]
) -> None:
    coverage, told = after(cut, runs)

    order = order_by_age(coverage, count_all_segments(cut))

    assert sorted(order) == list(range(count_all_segments(cut)))
    ages = [told.get(segment, (-1, ""))[0] for segment in order]
    assert ages == sorted(ages)


@given(CUTS, st.integers(1, 10))
def test_sweeps_that_reach_a_few_segments_each_reach_all_in_turn(cut: Segmentation, reach: int) -> None:
    coverage, total = empty(cut), count_all_segments(cut)

    for number in range(-(-total // reach)):
        coverage = renew_coverage(coverage, order_by_age(coverage, total)[:reach], number, f"run{number}")

    assert measure_age(coverage).never == 0


@st.composite
def paces(draw: st.DrawFn) -> Pace:
    segments = draw(st.integers(1, 20_000))
    done = draw(st.integers(0, segments))
    last, unequal = draw(st.integers(1, 20_000)), draw(st.integers(0, done))
    return Pace(segments, done, last, unequal, draw(st.floats(0, 1e6)), draw(st.floats(-1e6, 1e6)))


@given(paces())
def test_batch_never_holds_more_than_is_left_and_a_spent_budget_begins_none(pace: Pace) -> None:
    found = choose_next_batch(pace)

    assert 0 <= found <= pace.segments - pace.done
    if not pace.done:
        assert found >= 1
    elif pace.left_seconds <= 0:
        assert found == 0
    else:
        assert found <= 2 * pace.last
        assert found * pace.spent_seconds / pace.done <= pace.left_seconds * 1.000001 + 1e-9


@given(st.integers(1, 20_000), st.floats(0, 1))
def test_table_is_done_in_few_batches_where_the_budget_is_ample(segments: int, each_seconds: float) -> None:
    done = last = batches = 0
    while done < segments:
        last = choose_next_batch(Pace(segments, done, last, 0, done * each_seconds, 1e9))
        assert last
        done, batches = done + last, batches + 1

    assert (done, batches <= 6) == (segments, True)


@given(st.floats(-10, 1e6), st.integers(1, 50))
def test_tables_share_what_is_left_evenly_and_never_less_than_nothing(left: float, tables: int) -> None:
    share = share_seconds(left, tables)

    assert 0 <= share <= max(left, 0)
    assert share_seconds(left, 1) == max(left, 0)
