"""Every segment is in one span of age, and what no run compared is said first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.sweep.coverage import Coverage, Stretch
from hudi_reconcile.core.sweep.segments import HashSegments
from hudi_reconcile.report.page.age import view_ages

ENDED = "2026-11-21T13:26:31Z"
ENDED_MICROS = 1_795_267_591_000_000


def coverage_of(*stretches: tuple[int, int, int, str], count: int) -> Coverage:
    made = tuple(Stretch(low, high, ENDED_MICROS - behind * 1_000_000, run) for low, high, behind, run in stretches)
    return Coverage("s", HashSegments(("id",), count), None, made)


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 10**7), st.sampled_from(["own", "other"])), max_size=20),
    st.integers(0, 9),
)
def test_every_segment_is_in_one_span(parts: list[tuple[int, int, str]], never: int) -> None:
    low, stretches = 0, []
    for size, behind, run in parts:
        stretches.append((low, low + size, behind, run))
        low += size
    view = view_ages(coverage_of(*stretches, count=low + never + 1), "own", ENDED)

    assert sum(one.rows for one in view.spans) == low + never + 1
    assert all(one.rows for one in view.spans)


def test_table_compared_whole_by_this_run_needs_no_chart() -> None:
    view = view_ages(coverage_of((0, 9, 3, "own"), count=9), "own", ENDED)

    assert (view.sentence, view.spans) == ("All 9 segments were compared by this run.", ())


def test_ends_of_ages_belong_to_the_older_span() -> None:
    view = view_ages(coverage_of((0, 1, 3_599, "a"), (1, 3, 3_600, "b"), count=4), "own", ENDED)

    assert [(one.label, one.rows) for one in view.spans] == [
        ("less than 1h ago", 1),
        ("1h to 1d ago", 2),
        ("never compared", 1),
    ]
    assert view.sentence == "1 of 4 segments were never compared; the oldest comparison of the others is 1h old."


def test_table_of_which_nothing_was_compared_says_so() -> None:
    assert view_ages(coverage_of(count=4), "own", ENDED).sentence == "4 of 4 segments were never compared."
