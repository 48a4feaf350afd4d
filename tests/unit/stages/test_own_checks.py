"""drift, total and freshness: exact at the edge, and a problem, never 0, where there is nothing to look at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.errors import UnverifiedError
from hudi_reconcile.core.rules.rules import Drift, Freshness, Total
from hudi_reconcile.core.rules.verdict import Totals
from hudi_reconcile.core.sweep.drift import DRIFT_KINDS
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.masking import AS_NAMED, Masking
from hudi_reconcile.core.tables.values import Checkpoint, CheckpointAt, Instant
from hudi_reconcile.ports import Frame
from hudi_reconcile.stages.check import NewestComparison, Summed, measure_drift, measure_freshness, measure_total
from tests.fakes.rows import COLUMNS
from tests.fakes.source import FakeSource
from tests.fakes.world import World

HOUR = 3_600_000_000
INSTANT = Instant("20260101000000000", "20260101000001000")


@dataclass
class FakeEngine:
    """Sums what it is told."""

    sums: dict[str, Decimal]

    def sum_column(self, rows: Frame, column: str) -> Totals:  # noqa: ARG002 - the port's signature
        return Totals(self.sums[column], Decimal(-7), Decimal(7))

    def measure(self, *_: Any) -> Any:
        raise NotImplementedError

    def save_keys(self, *_: Any) -> Any:
        raise NotImplementedError


def source(*values: int | None, columns: tuple[Column, ...] = COLUMNS) -> FakeSource:
    found = World.new().source
    found.columns = columns
    for key, value in enumerate(values):
        found.put(key, value, 0)
    return found


def sides(found: FakeSource, lake_sum: str, *, masking: Masking = AS_NAMED, column: str = "v") -> Summed:
    return Summed(found, FakeEngine({column: Decimal(lake_sum)}), Frame(None), masking)


counts = st.dictionaries(st.sampled_from(DRIFT_KINDS), st.integers(0, 10**9))
kinds = st.lists(st.sampled_from(DRIFT_KINDS), min_size=1, unique=True).map(tuple)


@given(counts, kinds)
def test_drift_counts_the_findings_of_its_kinds_and_no_others(found: dict[str, int], wanted: tuple[str, ...]) -> None:
    measured = measure_drift(Drift(wanted), NewestComparison("run-1", found, 10), 0, table="t")

    assert measured.failed_rows == sum(rows for kind, rows in found.items() if kind in wanted)
    assert not measured.problem


def test_drift_without_a_comparison_is_a_problem_with_the_command_to_type() -> None:
    measured = measure_drift(Drift(DRIFT_KINDS), None, 0, table="t")

    assert (measured.problem, measured.fix) == (
        "there is no sweep of this table to look at",
        "compare first: hudi-reconcile sweep -t t",
    )


@given(counts)
def test_drift_of_a_comparison_that_left_something_out_is_a_problem_whatever_it_found(found: dict[str, int]) -> None:
    assert (
        "column note"
        in measure_drift(Drift(DRIFT_KINDS), NewestComparison("run-1", found, 10, "column note"), 0, table="t").problem
    )


@given(st.lists(st.none() | st.integers(-(10**18), 10**18)), st.integers(-(10**6), 10**6), st.integers(0, 10**6))
def test_totals_hold_exactly_up_to_the_tolerance(values: list[int | None], off: int, tolerance: int) -> None:
    lake_sum = sum(value for value in values if value is not None) + off

    measured = measure_total(Total("v", Decimal(tolerance)), sides(source(*values), str(lake_sum)))

    assert measured.failed_rows == int(abs(off) > tolerance)


def test_total_tells_sums_and_ends_of_both_sides_in_full() -> None:
    measured = measure_total(Total("v"), sides(source(2, None, -(10**30), 5), "3"))

    assert measured.totals is not None
    assert measured.totals.document == {
        "column": "v",
        "source": {"sum": str(7 - 10**30), "min": str(-(10**30)), "max": "5"},
        "lake": {"sum": "3", "min": "-7", "max": "7"},
    }


def test_total_of_nothing_is_0_and_has_no_ends() -> None:
    measured = measure_total(Total("v"), sides(source(None), "0"))

    assert measured.failed_rows == 0
    assert measured.totals is not None
    assert measured.totals.document["source"] == {"sum": "0", "min": None, "max": None}


def test_total_is_asked_of_the_source_by_its_own_name_of_a_renamed_column() -> None:
    renamed = (COLUMNS[0], replace(COLUMNS[1], lake_name="w"), COLUMNS[2])

    for name in ("w", "v"):
        assert measure_total(Total(name), sides(source(1, 2, columns=renamed), "3", column="w")).failed_rows == 0


@pytest.mark.parametrize(
    ("max_age", "problem"), [(None, ""), (timedelta(hours=26), ""), (timedelta(hours=25), "26 h 0 min ago")]
)
def test_comparison_older_than_the_rule_allows_is_a_problem(max_age: timedelta | None, problem: str) -> None:
    compared = NewestComparison("run-1", {}, 10, compared_utc="1970-01-01T00:00:00Z")

    found = measure_drift(Drift(("deleted",), max_age), compared, 26 * 3600 * 1_000_000, table="t")

    assert bool(found.problem) is bool(problem)
    assert problem in found.problem
    assert problem or found.detail == "run run-1, 26 h 0 min ago, found none of them"


@pytest.mark.parametrize(("ahead", "is_problem"), [(timedelta(minutes=5), False), (timedelta(minutes=6), True)])
def test_comparison_of_a_host_whose_clock_is_ahead_has_no_age(ahead: timedelta, *, is_problem: bool) -> None:
    compared = NewestComparison("run-1", {}, 10, compared_utc="1970-01-02T00:00:00Z")

    found = measure_drift(Drift(("deleted",)), compared, 24 * HOUR - ahead // timedelta(microseconds=1), table="t")

    assert ("ahead of this host's clock" in found.problem) == is_problem


def test_drift_that_an_apply_left_of_what_was_found_names_both_runs() -> None:
    compared = NewestComparison("run-1", {"deleted": 1}, 10, compared_utc="1970-01-01T00:00:00Z", corrected_by="run-2")

    found = measure_drift(Drift(("deleted",)), compared, 0, table="t")

    assert found.failed_rows == 1
    assert found.detail == "run run-1, 0 h 0 min ago, and the apply of its plan, run run-2, left deleted 1"


@pytest.mark.parametrize("name", ["v", "V"])
def test_total_of_a_masked_column_shows_no_sum(name: str) -> None:
    measured = measure_total(Total("v"), sides(source(1), "3", masking=Masking.of({name: "hmac"}, "show")))

    assert (measured.failed_rows, measured.detail, measured.totals) == (1, "", None)


@pytest.mark.parametrize(("column", "why"), [("w", "no column 'w'"), ("at", "only numbers have a sum")])
def test_total_of_what_has_no_sum_cannot_run(column: str, why: str) -> None:
    with pytest.raises(UnverifiedError, match=why):
        measure_total(Total(column), sides(source(1), "1", column=column))


def checkpoint(**values: Any) -> CheckpointAt:
    known: dict[str, Any] = {"strategy": "timestamp", "watermark": ("at",), "watermark_micros": None, "text": None}
    return CheckpointAt(Checkpoint(**{**known, "read_seq": 1, "source_identity": "s", **values}), INSTANT)


@dataclass
class Ahead:
    """A source whose zone is two hours ahead of UTC."""

    def zone_offset_micros(self, utc_micros: int) -> int:  # noqa: ARG002 - the port's signature
        return 2 * HOUR


@pytest.mark.parametrize(("text", "age_hours"), [("1970-01-01T10:00:00Z", 1), ("1970-01-01T10:00:00", 3)])
def test_age_is_that_of_the_watermark_in_its_own_zone(text: str, age_hours: int) -> None:
    found = checkpoint(watermark_micros=10 * HOUR, text=text)

    def failed(limit: timedelta) -> int:
        return measure_freshness(Freshness(limit), found, 11 * HOUR, source=Ahead(), table="t").failed_rows  # type: ignore[arg-type]

    assert failed(timedelta(hours=age_hours)) == 0
    assert failed(timedelta(hours=age_hours) - timedelta(microseconds=1)) == 1


def test_text_watermark_that_is_a_time_has_an_age() -> None:
    found = checkpoint(watermark_value="1970-01-01T12:00:00+02:00", text="1970-01-01T12:00:00+02:00")

    assert (
        measure_freshness(Freshness(timedelta(hours=1)), found, 11 * HOUR, source=source(), table="t").failed_rows == 0
    )


AHEAD = {"watermark_value": "2099-01-01T00:00:00.000Z", "text": "2099-01-01T00:00:00.000Z"}
DIGITS = {"watermark_value": "20270101", "text": "20270101"}  # Python reads a date


@pytest.mark.parametrize(
    "found", [None, checkpoint(), checkpoint(watermark_value="17", text="17"), checkpoint(**DIGITS)]
)
def test_freshness_without_a_time_cannot_run(found: CheckpointAt | None) -> None:
    with pytest.raises(UnverifiedError):
        measure_freshness(Freshness(timedelta(hours=1)), found, 0, source=source(), table="t")


@dataclass
class Autumn:
    """A source whose clocks went back from two hours ahead of UTC to one, at two o'clock UTC."""

    def zone_offset_micros(self, utc_micros: int) -> int:
        return 2 * HOUR if utc_micros < 2 * HOUR else HOUR


def test_watermark_without_zone_is_not_in_the_future_where_clocks_went_back() -> None:
    found = checkpoint(watermark_micros=3 * HOUR, text="1970-01-01T03:00:00")

    done = measure_freshness(Freshness(timedelta(hours=3)), found, 2 * HOUR, source=Autumn(), table="t")  # type: ignore[arg-type]

    assert (done.failed_rows, "0 h" in done.detail or "1 h" in done.detail) == (0, True)


def test_freshness_of_a_watermark_in_the_future_cannot_run() -> None:
    with pytest.raises(UnverifiedError, match="ahead of this host's clock"):
        measure_freshness(Freshness(timedelta(hours=26)), checkpoint(**AHEAD), HOUR, source=source(), table="t")


def test_kinds_with_a_sum_are_numbers() -> None:
    text = (COLUMNS[0], Column("v", Kind.TEXT, "text"), COLUMNS[2])

    with pytest.raises(UnverifiedError):
        measure_total(Total("v"), sides(source(columns=text), "0"))
