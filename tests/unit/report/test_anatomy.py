"""What the page says of why rows drifted: the chart leaves out no row uncounted, and no cure is promised that is not known."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import TableResult, build_table_document
from hudi_reconcile.core.sweep.drift import DRIFT_KINDS
from hudi_reconcile.core.sweep.drift_profile import (
    LATENESS_SECONDS,
    MOST_CELLS,
    MOST_DAYS,
    MOST_PARTITIONS,
    MOST_STRETCHES,
    MOST_TIMES,
    Anatomy,
    DriftCell,
    Lateness,
    count_days,
    count_heat,
    find_span,
    map_keys,
    measure_lateness,
    select_fullest_cells,
)
from hudi_reconcile.report.page.drift_profile import view_anatomy, write_overlap, write_span
from hudi_reconcile.report.page.time_axis import MOST_BARS, time_view

YEARS = ("2018", "2023")  # the fullest partitions have no others

CELLS = st.lists(
    st.builds(
        DriftCell,
        st.sampled_from(DRIFT_KINDS),
        st.none() | st.sampled_from(["", *(f"region={n}" for n in range(30))]),
        st.none() | st.dates().map(lambda day: day.isoformat()),
        st.integers(1, 10_000),
    ),
    max_size=60,
    unique_by=lambda one: (one.kind, one.partition, one.day),
)


def table_of(anatomy: Anatomy | None, **findings: int) -> dict[str, Any]:
    return build_table_document(TableResult("orders", Outcome.DRIFT, findings=findings, anatomy=anatomy))


def why_of(anatomy: Anatomy, **findings: int) -> str:
    view = view_anatomy(table_of(anatomy, **findings))
    assert view is not None
    return " ".join(cure for _, cure in view.why)


@given(CELLS, st.integers(0, 100))
def test_every_drifted_row_is_in_a_cell_or_counted_beside(cells: list[DriftCell], beyond: int) -> None:
    rows = sum(cell.rows for cell in cells) + beyond
    kept, others = select_fullest_cells(cells, rows)
    view = view_anatomy(table_of(Anatomy(kept, others), deleted=rows))

    assert view is not None
    shown = sum(cell.rows for row in view.heat for cell in row.cells)
    counted = int(view.left_out.split()[0].replace(",", "")) if view.left_out else 0
    assert shown + counted == rows
    assert all((cell.rows > 0) == (cell.shade > 0) and cell.shade <= 5 for row in view.heat for cell in row.cells)
    assert all(len(row.cells) == len(view.days) for row in view.heat)


def test_cells_beyond_the_most_are_counted() -> None:
    cells = [DriftCell("deleted", f"p={n}", None, n + 1) for n in range(MOST_CELLS + 2)]

    kept, others = select_fullest_cells(cells, sum(cell.rows for cell in cells))

    assert (len(kept), others) == (MOST_CELLS, 1 + 2)


@given(st.integers(0, 10**15))
def test_lateness_lies_in_the_span_that_holds_it(micros: int) -> None:
    place = find_span(micros)

    assert place == 0 or micros >= LATENESS_SECONDS[place - 1] * 1_000_000
    assert place == len(LATENESS_SECONDS) or micros < LATENESS_SECONDS[place] * 1_000_000


@given(st.floats(0, 10**7))
def test_overlap_that_is_named_reaches_the_latest_row(seconds: float) -> None:
    units = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
    text = write_overlap(seconds)

    assert int(text[:-1]) * units[text[-1]] >= seconds
    assert text[:-1].isdigit()


@given(st.integers(1, 10**7))
def test_span_is_told_to_the_second(seconds: int) -> None:
    units = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
    total, number = 0, ""
    for letter in write_span(seconds):
        if letter.isdigit():
            number += letter
        else:
            total, number = total + int(number) * units[letter], ""

    assert total == seconds


def test_late_rows_name_the_overlap_that_would_have_brought_them() -> None:
    late = Lateness((0, 0, 1, 2, 0, 0, 0, 0), 432.5)

    assert "pull.overlap: 8m would have brought them" in why_of(Anatomy(lateness=late), late_arriving=3)
    assert "up to 7m13s below" in why_of(Anatomy(lateness=late), late_arriving=3)


@pytest.mark.parametrize(
    ("late", "said"),
    [
        (None, "how late they were is not known"),
        (Lateness((0,) * 8, 0.0, 2), "2 rows have no watermark"),
        (Lateness((0,) * 8, 0.0, 0, 2), "2 rows lie ahead of the clock"),
        (Lateness((0,) * 7 + (1,), 900_000.0), "more than an overlap should bridge"),
        (Lateness((1,) + (0,) * 7, 0.5, 1), "1 row has no watermark: no incremental pull brings it, a sweep finds it"),
    ],
    ids=["no checkpoint", "no watermark", "dated ahead", "too late", "some without"],
)
def test_no_overlap_is_promised_that_would_not_do(late: Lateness | None, said: str) -> None:
    assert said in why_of(Anatomy(lateness=late), late_arriving=2)
    if not late or not late.rows[0]:
        assert "would have brought" not in why_of(Anatomy(lateness=late), late_arriving=2)


def test_rows_that_no_pull_has_passed_are_not_told_as_late_commits() -> None:
    view = view_anatomy(table_of(Anatomy(lateness=Lateness((0,) * 8, 0.0, 1, 1)), late_arriving=2))

    assert view is not None
    ((what, cure),) = view.why
    assert what == "late_arriving: 2 rows. No pull has passed their watermark: none lies below the checkpoint."
    assert "1 row lies ahead of the clock: a pull brings it once that time has come." in cure
    assert "1 row has no watermark: no incremental pull brings it" in cure
    assert view.lateness == ()


def test_rows_below_the_checkpoint_are_told_from_those_ahead_of_it() -> None:
    view = view_anatomy(table_of(Anatomy(lateness=Lateness((0, 2, *(0,) * 6), 9.0, 0, 1)), late_arriving=3))

    assert view is not None
    ((what, cure),) = view.why
    assert "2 of them were committed, or became visible, after a pull had passed their watermark." in what
    assert cure.startswith("These lie up to 9s below the checkpoint: pull.overlap: 9s would have brought them")
    assert "1 row lies ahead of the clock" in cure
    assert [(one.bar.label, one.bar.rows, one.overlap) for one in view.lateness] == [("1s to 10s", 2, "9s brings 2")]


def test_each_span_of_lateness_names_the_overlap_that_brings_all_up_to_it() -> None:
    late = Lateness((1, 0, 2, 0, 0, 0, 4, 0), 200_000.0)
    view = view_anatomy(table_of(Anatomy(lateness=late), late_arriving=7))

    assert view is not None
    assert [(one.bar.rows, one.overlap) for one in view.lateness] == [
        (1, "1s brings 1"),
        (0, "10s brings 1"),
        (2, "1m brings 3"),
        (0, "10m brings 3"),
        (0, "1h brings 3"),
        (0, "1d brings 3"),
        (4, "more than an overlap should bridge"),
    ]


@pytest.mark.parametrize(
    ("days", "unit", "columns"),
    [
        (["2026-03-01", "2026-03-02"], "day", ("2026-03-01", "2026-03-02")),
        ([f"2026-03-{n:02}" for n in range(1, 12)], "month", ("2026-03",)),
        ([(date(2018, 1, 1) + timedelta(n)).isoformat() for n in range(3_000)], "year", YEARS),
    ],
)
@pytest.mark.parametrize("is_old", [False, True], ids=["this version", "a result of before all cells were counted"])
def test_heat_map_of_any_number_of_days_has_room_for_all_of_them(
    days: list[str], unit: str, columns: tuple[str, ...], *, is_old: bool
) -> None:
    cells = tuple(DriftCell("deleted", f"p={n % 2_000}", day, 1) for n, day in enumerate(days))
    counted = Anatomy(cells) if is_old else anatomy_of(cells)
    view = view_anatomy(table_of(counted, deleted=len(cells)))

    assert view is not None
    assert (view.unit, view.days) == (unit, columns)
    assert sum(cell.rows for row in view.heat for cell in row.cells) + _left_out(view.left_out) == len(cells)
    assert view.over_time is not None
    assert len(view.over_time.bars) <= MOST_BARS
    assert sum(int(bar.title.split(": ")[1].split()[0]) for bar in view.over_time.bars) == len(cells)


def anatomy_of(cells: tuple[DriftCell, ...]) -> Anatomy:
    """As a sweep keeps it of all cells."""
    kept, others = select_fullest_cells(cells, sum(cell.rows for cell in cells))
    return Anatomy(kept, others, days=count_days(cells), heat=count_heat(cells))


def test_heat_map_of_two_thousand_partitions_shows_the_fullest_whole_and_no_day_is_left_out() -> None:
    days = [f"2026-03-{day:02}" for day in range(1, 11)]
    cells = tuple(
        DriftCell("deleted", f"p={place}", day, 1_000 - (place + at) % 1_000 + 1_000 * (place < 12))
        for place in range(2_000)
        for at, day in enumerate(days)
    )
    view = view_anatomy(table_of(anatomy_of(cells), deleted=sum(cell.rows for cell in cells)))

    assert view is not None
    assert {row.partition for row in view.heat} == {f"p={place}" for place in range(MOST_PARTITIONS)}
    told = {
        (row.partition, day): cell.rows for row in view.heat for day, cell in zip(view.days, row.cells, strict=True)
    }
    assert told == {(c.partition, c.day): c.rows for c in cells if (c.partition, c.day) in told}
    assert view.over_time is not None
    assert (view.over_time.unplaced_rows, len(view.over_time.bars)) == (0, 10)


@given(
    st.lists(
        st.builds(
            DriftCell,
            st.sampled_from(["deleted", "late_arriving"]),
            st.sampled_from([None, "", *(f"p={n}" for n in range(15))]),
            st.none() | st.dates().map(date.isoformat),
            st.integers(1, 9),
        ),
        max_size=60,
    )
)
def test_heat_and_days_are_sums_of_all_cells(cells: list[DriftCell]) -> None:
    heat, days = count_heat(cells), count_days(cells)

    assert sum(days.values()) == sum(cell.rows for cell in cells if cell.day)
    assert len({one.time for one in heat}) <= MOST_TIMES
    for one in heat:
        part = [c for c in cells if c.partition == one.partition and (c.day or "").startswith(one.time or "")]
        assert one.rows == sum(cell.rows for cell in part if (cell.day is None) == (one.time is None))


def test_days_of_many_years_are_counted_by_the_month() -> None:
    cells = [DriftCell("deleted", None, (date(2000, 1, 1) + timedelta(n)).isoformat(), 1) for n in range(MOST_DAYS + 1)]

    assert list(count_days(cells).items())[:2] == [("2000-01-01", 31), ("2000-02-01", 29)]


def _left_out(text: str) -> int:
    return int(text.split(maxsplit=1)[0].replace(",", "")) if text else 0


def test_drift_lies_on_an_axis_of_time_with_the_moments_of_the_pulls() -> None:
    cells = (DriftCell("deleted", "", "2026-03-01", 4), DriftCell("deleted", "", "2026-03-03", 2))
    table = {
        **table_of(Anatomy((*cells, DriftCell("deleted", "", None, 1))), deleted=7),
        "checkpoint": "2026-03-04T12:00:00Z, 17",
        "pull": {"checkpoint_before": "2026-03-02T00:00:00", "bound": "2026-03-04T18:00:00+00:00"},
    }
    view = time_view(table, count_days(cells), 10)

    assert view is not None
    assert (view.first, view.last, view.step, view.unplaced_rows) == ("2026-03-01", "2026-03-04", "1 day", 10 - 6)
    assert [(bar.place, bar.width, bar.height) for bar in view.bars] == [(0, 250, 100), (500, 250, 50)]
    assert [(mark.kind, mark.place) for mark in view.marks] == [("before", 250), ("reached", 875), ("bound", 937.5)]


@pytest.mark.parametrize(
    "checkpoint", [None, "4711", "-5", "20260301", "9999-12-31T00:00:00", "odd-text", "0001-01-01"]
)
def test_checkpoint_that_is_no_time_near_the_drift_moves_no_bar(checkpoint: str | None) -> None:
    cells = (DriftCell("deleted", "", "2026-03-01", 4), DriftCell("deleted", "", "2026-03-03", 2))
    table = {**table_of(Anatomy(cells), deleted=6), "checkpoint": checkpoint}
    view = time_view(table, count_days(cells), 6)

    assert view is not None
    assert (view.first, view.last, view.marks) == ("2026-03-01", "2026-03-03", ())


@given(st.sets(st.dates(), min_size=1, max_size=30))
@example({date.min, date.max})
@example({date(1, 1, 2), date.max})
def test_axis_of_any_days_ends_within_the_calendar_and_draws_every_row(days: set[date]) -> None:
    view = time_view(table_of(Anatomy(()), deleted=len(days)), {day.isoformat(): 1 for day in days}, len(days))

    assert view is not None
    assert (view.first, view.unplaced_rows) == (min(days).isoformat(), 0)
    assert view.last >= max(days).isoformat()
    assert len(view.bars) <= MOST_BARS
    assert all(bar.place + bar.width <= 1_000 + 1e-6 for bar in view.bars)


@given(st.integers(1, 5_000).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1), max_size=60))))
def test_map_of_the_keys_counts_every_segment_that_differed_in_the_order_of_the_segments(
    case: tuple[int, set[int]],
) -> None:
    segments, unequal = case
    found = map_keys(unequal, segments)

    assert (found.segments, sum(found.unequal)) == (segments, len(unequal))
    assert len(found.unequal) == min(segments, MOST_STRETCHES)
    if unequal:
        first = next(place for place, rows in enumerate(found.unequal) if rows)
        assert first == min(unequal) * len(found.unequal) // segments


def test_map_of_the_keys_says_what_its_order_is() -> None:
    found = {**table_of(Anatomy(key_map=map_keys([0, 5], 64)), deleted=2), "provenance": {"segments": "ranges of id"}}
    view = view_anatomy(found)

    assert view is not None
    assert view.key_map is not None
    assert view.key_map.sentence == "2 of 64 segments hold drift (ranges of id, the least keys at the left)."
    assert [cell.shade for cell in view.key_map.cells[:6]] == [5, 0, 0, 0, 0, 5]


def test_result_of_before_rows_ahead_were_counted_is_read() -> None:
    table = table_of(Anatomy(lateness=Lateness((1, *(0,) * 7), 0.5)), late_arriving=1)
    del table["anatomy"]["lateness"]["ahead_rows"]

    assert view_anatomy(table) is not None


@given(st.lists(st.none() | st.integers(-(10**14), 10**14), min_size=1, max_size=30))
def test_lateness_counts_each_row_once_and_only_rows_below_the_checkpoint_as_late(behind: list[int | None]) -> None:
    marked = [one for one in behind if one is not None]
    beyond = [sum(one >= end * 1_000_000 for one in marked) for end in LATENESS_SECONDS]

    late = measure_lateness(
        len(behind), len(marked), (sum(one >= 0 for one in marked), *beyond), max(marked, default=None)
    )

    assert late is not None
    assert sum(late.rows) + late.ahead_rows + late.unmarked_rows == len(behind)
    assert sum(late.rows) == sum(one >= 0 for one in marked)
    assert late.rows == tuple(sum(one >= 0 and find_span(one) == n for one in marked) for n in range(len(late.rows)))
    assert late.greatest_seconds == max(0, *marked, 0) / 1_000_000


def test_only_kinds_that_drifted_are_told_with_the_columns_that_changed_most() -> None:
    view = view_anatomy(table_of(Anatomy(columns={"b": 1, "a": 7}), updated_without_watermark=7, deleted=1))

    assert view is not None
    assert [what.split(":")[0] for what, _ in view.why] == ["updated_without_watermark", "deleted"]
    assert "in a, b" in view.why[0][0]
    assert [(bar.label, bar.rows) for bar in view.columns] == [("a", 7), ("b", 1)]


def test_table_without_drift_or_of_an_earlier_version_has_no_anatomy() -> None:
    assert view_anatomy(table_of(None)) is None
