"""Durations and shares: what is written reads back as the same value, and nothing else is taken."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.config.fields import format_duration, format_share, parse_duration, parse_share
from hudi_reconcile.config.table_rules import format_partition, parse_partition
from hudi_reconcile.core.tables.values import PartitionField

UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


@given(st.integers(min_value=0, max_value=36_500), st.sampled_from(sorted(UNITS)))
def test_duration_text_means_count_times_unit(count: int, unit: str) -> None:
    assert parse_duration(f"{count}{unit}") == timedelta(milliseconds=count * UNITS[unit])


@given(st.integers(min_value=0, max_value=999_999_999))
def test_duration_written_reads_back_as_the_same(milliseconds: int) -> None:
    duration = timedelta(milliseconds=milliseconds)

    assert parse_duration(format_duration(duration)) == duration


@given(st.decimals(min_value=0, max_value=100, places=9))
def test_share_written_reads_back_as_the_same(percent: Decimal) -> None:
    fraction = percent / 100

    assert parse_share(format_share(fraction)) == fraction


@given(st.text())
def test_any_text_is_a_duration_or_refused_without_being_repeated(text: str) -> None:
    try:
        assert parse_duration(text) >= timedelta(0)
    except ValueError as error:
        message = str(error)
    else:
        message = ""

    assert message in ("", "not a duration; write a whole number and a unit: 500ms 30s 10m 2h 7d", "longer than 36500d")


@pytest.mark.parametrize("text", ["", "5", "1.5h", "-1s", "1 s", "1S", "٣s", "1s\n", "36501d", "1h30m", "1w"])
def test_text_that_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a duration|longer than"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("value", "fraction"), [("5%", "0.05"), ("0.1%", "0.001"), ("100%", "1"), (0, "0"), (0.05, "0.05")]
)
def test_share_is_a_percentage_or_a_fraction_below_one(value: str | float, fraction: str) -> None:
    assert parse_share(value) == Decimal(fraction)


@pytest.mark.parametrize("value", ["", "5", "100.1%", "-1%", "5 %", ".5%", "٣%", 1, 5, 1.0, -0.1])
def test_share_that_is_out_of_range_or_ambiguous_is_refused(value: str | float) -> None:
    with pytest.raises(ValueError, match=r"not a share|more than 100%"):
        parse_share(value)


COLUMNS = (
    st.text(st.characters(exclude_characters="()", exclude_categories=["Cs"]), min_size=1).map(str.strip).filter(bool)
)


@given(COLUMNS, st.sampled_from(["identity", "day", "month", "year"]))
def test_partition_written_reads_back_as_the_same(column: str, transform: str) -> None:
    field = PartitionField(column, transform)  # type: ignore[arg-type]

    assert parse_partition(format_partition(field)) == field


@pytest.mark.parametrize("text", ["", " ", "day()", "week(a)", "(a)", "day(a", "a)", "identity(a)", "day(month(a))"])
def test_partition_that_names_no_column_or_no_known_transform_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="legal: column, day"):
        parse_partition(text)
