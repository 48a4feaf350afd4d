"""Control totals: rows, distinct keys and chosen columns of both sides; whether the findings explain them. Pure arithmetic.

Keys that occur twice at the source are refused, so its rows are its keys; the lake's are its rows less the copies that
the findings count. Sums, least and greatest values are those of `total` rules. What healed or moved between the looks
leaves a range.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hudi_reconcile.core.result import is_whole_comparison
from hudi_reconcile.core.rules.verdict import difference
from hudi_reconcile.core.sweep.drift import KINDS, FindingKind
from hudi_reconcile.report.words.verdict import write_figure

_MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True, slots=True)
class Counted:
    """One figure of both sides. `explained_low` to `explained_high` is the difference that the findings explain."""

    what: str
    source: int
    lake: int
    explained_low: int | None = None
    explained_high: int | None = None

    @property
    def difference(self) -> int:
        """Source less lake."""
        return self.source - self.lake

    @property
    def explained(self) -> str:
        """What the findings explain, as people read it; empty where that is not said."""
        if self.explained_high is None:
            return ""
        if self.explained_low is None:
            return f"{write_signed(self.explained_high)} or less"
        if self.explained_low == self.explained_high:
            return write_signed(self.explained_low)
        return f"{write_signed(self.explained_low)} to {write_signed(self.explained_high)}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a column, as people read it; an end of no value is empty."""

    what: str
    source: str
    lake: str
    difference: str


@dataclass(frozen=True, slots=True)
class Sum:
    """One `total` rule: the sums as it tells them; empty where the column is masked or the rule could not run.

    `figures` are sum, least and greatest value; none in results of earlier versions, which tell the sums only.
    """

    rule: str
    what: str
    status: str
    told: str
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True, slots=True)
class ControlTotals:
    """Rows and, where they are known, distinct keys; whether the findings explain the rows: None where that cannot be said."""

    rows: Counted
    keys: Counted | None
    explained: bool | None
    sentence: str
    sums: tuple[Sum, ...] = ()

    @property
    def difference(self) -> int:
        """Of the rows."""
        return self.rows.difference


def build_control_totals(table: Mapping[str, Any]) -> ControlTotals | None:
    """The totals of a table; None where a side was not counted."""
    if table["source"] is None or table["lake"] is None:
        return None
    source, lake = table["source"]["rows"], table["lake"]["rows"]
    sums = tuple(_sum(rule) for rule in table.get("rules", ()) if rule.get("check") == "total")
    if (table.get("coverage") or {}).get("partitions"):
        sentence = "Rows of some partitions only: one that moved counts on one side, so not held against the findings."
        return ControlTotals(Counted("Rows", source, lake), None, None, sentence, sums)
    if table.get("verified_at"):
        return ControlTotals(
            Counted("Rows", source, lake), None, None, _describe_after_correction(table, source - lake), sums
        )
    if table["corrections"]["applied"]:
        sentence = "Counted around a correction, so not held against the findings."
        return ControlTotals(Counted("Rows", source, lake), None, None, sentence, sums)
    low, high = _explainable(table)
    rows = Counted("Rows", source, lake, low, high)
    explained = rows.difference <= high and (low is None or low <= rows.difference)
    sentence = _sentence(rows.difference, low, high, explained=explained)
    return ControlTotals(rows, _keys(table, rows), explained, sentence, sums)


def _describe_after_correction(table: Mapping[str, Any], difference: int) -> str:
    """An apply counts both tables, whatever it wrote, and compares only the segments of its plan again."""
    if not difference:
        return "Row counts are equal after the correction."
    rest = "planned rows that were not corrected, " if (table.get("uncorrected") or {}).get("rows") else ""
    where = f"{rest}rows that wait for the next pull, or drift outside the segments that were compared again"
    return f"Counted after the correction: the difference may be {where}. A sweep tells."


def _keys(table: Mapping[str, Any], rows: Counted) -> Counted | None:
    extra = _extra_copies(table)
    if extra is None or rows.explained_low is None or rows.explained_high is None:
        return None
    explained = (rows.explained_low + extra, rows.explained_high + extra)
    return Counted("Distinct keys", rows.source, rows.lake - extra, *explained)


def _extra_copies(table: Mapping[str, Any]) -> int | None:
    """The lake's rows beyond the first of a key; None where nobody counted them, or rows were not judged that may be such."""
    other = table["not_drift"]
    if other["moving"] or other.get("odd_key"):
        return None
    if not any(table["findings"].values()):
        return 0 if is_whole_comparison(table) and not any(other.values()) else None
    return (table.get("anatomy") or {}).get("extra_copies")


def _explainable(table: Mapping[str, Any]) -> tuple[int | None, int]:
    """Least and greatest difference that fits the findings; no least one where keys are held any number of times."""
    counts = {**table["findings"], **table["not_drift"]}
    parts = table.get("anatomy") or {}
    extra, missing = parts.get("extra_copies"), parts.get("missing_rows")
    exact: dict[str, int] = {}
    if extra is not None and missing is not None:
        exact = {FindingKind.LATE_ARRIVING: missing, FindingKind.DUPLICATE_KEY: -extra}
    low, high, has_least = sum(exact.values()), sum(exact.values()), True
    for kind, rule in KINDS.items():
        if (count := counts.get(kind, 0)) and kind not in exact:
            least, most = rule.difference
            low, high, has_least = low + (least or 0) * count, high + most * count, has_least and least is not None
    return low if has_least else None, high


def _sum(rule: Mapping[str, Any]) -> Sum:
    reason = "" if rule["status"] == "error" else rule["why"]
    return Sum(rule["id"], rule["what"], rule["status"], reason, tuple(_figures(rule.get("totals") or {})))


def _figures(totals: Mapping[str, Any]) -> Iterator[Figure]:
    """What the rule tells of the column, in the order in which it tells it."""
    for name, what in (("sum", "Sum"), ("min", "Least"), ("max", "Greatest")) if totals else ():
        source, lake = _number(totals["source"][name]), _number(totals["lake"][name])
        apart = "" if source is None or lake is None else _write_signed_decimal(difference(source, lake))
        yield Figure(f"{what} of {totals['column']}", _plain(source), _plain(lake), apart)


def _number(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def _plain(number: Decimal | None) -> str:
    return "" if number is None else f"{number:,f}".replace("-", _MINUS)


def _write_signed_decimal(number: Decimal) -> str:
    return "0" if not number else f"{'+' if number > 0 else ''}{_plain(number)}"


def _sentence(difference: int, low: int | None, high: int, *, explained: bool) -> str:
    if explained and low == high == 0:
        return "Row counts are equal, and no finding says otherwise."
    if low is None:
        span = f"a difference of {write_signed(high)} or less"
    elif low == high:
        span = f"a difference of {write_signed(low)}"
    else:
        span = f"a difference from {write_signed(low)} to {write_signed(high)}"
    if explained and low is not None and low < high:
        allowed = f"between {write_signed(low)} and {write_signed(high)}"
        return f"The findings explain it: it must lie {allowed}, as some rows may be missing or only older in the lake."
    if explained:
        return f"The findings explain it: {span}."
    return f"The findings explain {span}, but it is {write_signed(difference)}: rows are unaccounted for. Sweep again."


def write_signed(number: int) -> str:
    r"""A difference with its sign, as people write it.

    >>> ascii(write_signed(-1200)), write_signed(0), write_signed(3)
    ("'\\u22121,200'", '0', '+3')
    """
    return "0" if number == 0 else f"{'+' if number > 0 else _MINUS}{write_figure(abs(number))}"
