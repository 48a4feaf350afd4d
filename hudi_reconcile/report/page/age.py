"""How old the comparison of a table's segments is. Pure; knows no markup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from hudi_reconcile.core.sweep.coverage import Coverage, measure_age
from hudi_reconcile.report.page.drift_profile import Bar, build_bars, write_span
from hudi_reconcile.report.words.verdict import count_text

_DAY = 86_400
# Upper ends; the last has none.
AGES_SECONDS: tuple[int, ...] = (3_600, _DAY, 7 * _DAY, 30 * _DAY)


@dataclass(frozen=True, slots=True)
class AgeView:
    """Segments by the age of their last comparison, the youngest first, those never compared last."""

    sentence: str
    spans: tuple[Bar, ...]


def view_ages(coverage: Coverage, run_id: str, ended_utc: str) -> AgeView:
    """The ages at the end of a run; what that run compared itself is told apart."""
    now_micros = _micros(ended_utc)
    age = measure_age(coverage)
    own = sum(stretch.high - stretch.low for stretch in coverage.stretches if stretch.run_id == run_id)
    counts = [0] * (len(AGES_SECONDS) + 1)
    for stretch in coverage.stretches:
        if stretch.run_id != run_id:
            behind = (now_micros - stretch.compared_micros) / 1_000_000
            counts[sum(behind >= end for end in AGES_SECONDS)] += stretch.high - stretch.low
    entries = [("compared by this run", own), *zip(_labels(), counts, strict=True), ("never compared", age.never)]
    if own == age.segments:
        return AgeView(f"All {count_text(age.segments, 'segment')} were compared by this run.", ())
    return AgeView(_sentence(coverage, now_micros), build_bars([entry for entry in entries if entry[1]]))


def _sentence(coverage: Coverage, now_micros: int) -> str:
    age = measure_age(coverage)
    never = f"{age.never:,} of {count_text(age.segments, 'segment')} were never compared" if age.never else ""
    if age.oldest_micros is None:
        return f"{never}."
    oldest = write_span(max(0, now_micros - age.oldest_micros) / 1_000_000)
    rest = f"the oldest comparison of the {'others' if never else f'{age.segments:,} segments'} is {oldest} old"
    return f"{never}; {rest}." if never else f"{rest[0].upper()}{rest[1:]}."


def _labels() -> Sequence[str]:
    ends = [write_span(end) for end in AGES_SECONDS]
    between = [f"{low} to {high} ago" for low, high in pairwise(ends)]
    return [f"less than {ends[0]} ago", *between, f"{ends[-1]} ago or more"]


def _micros(utc: str) -> int:
    moment = datetime.fromisoformat(utc)
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond
