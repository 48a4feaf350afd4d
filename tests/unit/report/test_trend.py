"""The trend counts comparisons only, knows what was not compared, and never calls a part the whole."""

from __future__ import annotations

from typing import Any

import pytest

from hudi_reconcile.core.result import is_whole_comparison
from hudi_reconcile.report.page.trend import MOST_POINTS, NOTHING, build_history_line, build_trend
from tests.unit.report.stories import all_stories, earlier, past_run


def points_of(*past: Any) -> Any:
    trend = build_trend("orders", past)
    assert trend is not None
    return trend.points


def test_points_are_the_comparisons_the_oldest_first_each_with_what_was_written_after_it() -> None:
    _, past = earlier("orders")

    points = points_of(*past)

    assert [(one.drift, one.written) for one in points] == [(12, 12), (0, 0), (31, 31), (None, 0), (2, 0), (4, 0)]
    assert [round(one.share) for one in points] == [39, 0, 100, 0, 6, 13]


def test_rows_of_a_killed_apply_are_told_once_by_the_next_apply_of_the_plan() -> None:
    swept = past_run(1, "orders", "drift", 9)
    again = past_run(3, "orders", "corrected", 0, command="apply", applied_before=9)
    first = past_run(2, "orders", "incomplete", 0, command="apply", applied=9)
    other = past_run(2, "orders", "corrected", 0, command="apply", applied_before=4, plan="older")

    night = past_run(1, "orders", "drift", 9, command="run", applied=9)

    told = [
        points_of(*past)[-1].written for past in ([again, swept], [again, first, swept], [other, swept], [again, night])
    ]

    assert told == [9, 9, 0, 9]


def test_run_that_compared_nothing_is_no_zero() -> None:
    (point,) = points_of(past_run(18, "orders", "unverified", None))

    assert (point.drift, point.compared, point.is_whole) == (None, NOTHING, False)


def test_part_of_a_table_is_named_and_never_the_last_proof() -> None:
    part = {"segments": 9, "compared": 4, "never_compared": 0, "oldest_utc": "2026-11-01T00:00:00Z"}
    trend = build_trend("orders", [past_run(19, "orders", "clean", 0, whole=False, coverage=part)])

    assert trend is not None
    assert trend.points[0].compared == "4 of 9 segments compared, oldest comparison 2026-11-01T00:00:00Z"
    assert trend.last_whole == "Last compared whole: never in the runs that are kept."
    assert trend.last_right == "Last found right: never in the runs that are kept."


@pytest.mark.parametrize(
    ("past", "said"),
    [
        ([past_run(2, "orders", "clean", 0), past_run(1, "orders", "clean", 0)], "No drifted rows in the last 2 comparisons."),
        ([past_run(2, "orders", "drift", 7)], "7 drifted rows in the only comparison so far."),
        ([past_run(2, "orders", "unverified", None)], "Nothing was compared in the only comparison so far."),
        (
            [past_run(2, "orders", "unverified", None), past_run(1, "orders", "drift", 7)],
            "Drifted rows over the last 2 comparisons: 7 to 7, the newest compared nothing.",
        ),
        (
            [past_run(2, "orders", "unverified", None), past_run(1, "orders", "clean", 0)],
            "No drifted rows in the last 2 comparisons; the newest compared nothing.",
        ),
    ],
)  # fmt: skip
def test_trend_is_told_in_one_sentence(past: Any, said: str) -> None:
    trend = build_trend("orders", past)

    assert trend is not None
    assert trend.sentence == said


def test_last_proofs_name_their_runs() -> None:
    past = [past_run(3, "orders", "drift", 1), past_run(2, "orders", "clean", 0), past_run(1, "orders", "clean", 0)]
    trend = build_trend("orders", past)

    assert trend is not None
    assert "20261103T020000Z" in trend.last_whole
    assert "20261102T020000Z" in trend.last_right


def test_runs_that_are_not_to_be_believed_are_counted_beside_the_trend() -> None:
    past = [past_run(19, "orders", "drift", 9), {**past_run(18, "orders", "clean", 0), "tables": [], "why": "changed"}]

    trend = build_trend("orders", past)

    assert trend is not None
    assert len(trend.points) == 1
    assert trend.unread.startswith("1 earlier run is left out")


def test_only_the_newest_comparisons_are_shown_and_other_tables_are_not() -> None:
    past = [past_run(1 + number % 28, "orders", "drift", number) for number in range(MOST_POINTS + 5)]

    assert len(points_of(*past)) == MOST_POINTS
    assert build_trend("items", past) is None


def test_result_stands_in_its_own_trend_as_it_will_in_the_history() -> None:
    run = all_stories()["drift"].run

    (one,) = build_history_line(run)["tables"]

    assert (sum(one["findings"].values()), one["applied"], one["whole"]) == (
        9,
        0,
        is_whole_comparison(run["tables"][0]),
    )
