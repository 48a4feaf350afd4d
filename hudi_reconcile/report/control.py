"""Control totals: do the findings of a table explain the difference of its row counts? Pure arithmetic.

A late arrival or a pending row may be missing in the lake or only be older there, so counts alone explain a range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hudi_reconcile.report.wording import figure

_MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True, slots=True)
class ControlTotals:
    """Rows on both sides, and whether the findings explain the difference: None where that cannot be said."""

    source_rows: int
    lake_rows: int
    difference: int
    explained: bool | None
    sentence: str


def control_totals(table: Mapping[str, Any]) -> ControlTotals | None:
    """The totals of a table; None where a side was not counted."""
    if table["source"] is None or table["lake"] is None:
        return None
    source, lake = table["source"]["rows"], table["lake"]["rows"]
    difference = source - lake
    if (table.get("coverage") or {}).get("partitions"):
        sentence = "Rows of some partitions only: one that moved counts on one side, so not held against the findings."
        return ControlTotals(source, lake, difference, None, sentence)
    if table["corrections"]["applied"]:
        sentence = "Counted around a correction, so not held against the findings."
        return ControlTotals(source, lake, difference, None, sentence)
    low, high = _explainable(table)
    explained = difference <= high and (low is None or low <= difference)
    return ControlTotals(source, lake, difference, explained, _sentence(difference, low, high, explained=explained))


def _explainable(table: Mapping[str, Any]) -> tuple[int | None, int]:
    """Least and greatest difference that fits the findings; no least one where keys are held any number of times."""
    found, other = table["findings"], table["not_drift"]
    unsettled = other["settled"] + other["moving"]
    surely_lake_only = found["deleted"] + found["duplicate_key"]
    high = found["late_arriving"] + other["pending"] - surely_lake_only + unsettled
    return (None if found["duplicate_key"] else -surely_lake_only - unsettled), high


def _sentence(difference: int, low: int | None, high: int, *, explained: bool) -> str:
    if explained and low == high == 0:
        return "Row counts are equal, and no finding says otherwise."
    if low is None:
        span = f"a difference of {signed(high)} or less"
    elif low == high:
        span = f"a difference of {signed(low)}"
    else:
        span = f"a difference from {signed(low)} to {signed(high)}"
    if explained and low is not None and low < high:
        allowed = f"between {signed(low)} and {signed(high)}"
        return (
            f"The findings explain it: it must lie {allowed}, as a late row may be missing or only older in the lake."
        )
    if explained:
        return f"The findings explain it: {span}."
    return f"The findings explain {span}, but it is {signed(difference)}: rows are unaccounted for. Sweep again."


def signed(number: int) -> str:
    r"""A difference with its sign, as people write it.

    >>> ascii(signed(-1200)), signed(0), signed(3)
    ("'\\u22121,200'", '0', '+3')
    """
    return "0" if number == 0 else f"{'+' if number > 0 else _MINUS}{figure(abs(number))}"
