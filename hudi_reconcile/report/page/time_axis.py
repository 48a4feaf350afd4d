"""Drift over a true time axis, with the pull's checkpoints and bound drawn in. Pure; knows no markup."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from hudi_reconcile.report.words.verdict import count_text

Document = Mapping[str, Any]

MOST_BARS = 100
WIDTH = 1_000
_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class TimeBar:
    """Drifted rows of some days: where it begins and how wide it is on an axis of `WIDTH`, and its height in percent."""

    place: float
    width: float
    height: float
    title: str


@dataclass(frozen=True, slots=True)
class TimeMark:
    """A moment of the pulls on the same axis. `kind` is `before`, `reached` or `bound`."""

    place: float
    kind: str
    title: str


@dataclass(frozen=True, slots=True)
class TimeView:
    """The whole figure. `unplaced_rows` have no day, or are in none of the cells that were counted."""

    first: str
    last: str
    step: str
    bars: tuple[TimeBar, ...]
    marks: tuple[TimeMark, ...]
    unplaced_rows: int


def time_view(table: Document, by_day: Mapping[str, int], all_rows: int) -> TimeView | None:
    """The figure of a table's drift, `all_rows`, of which these have a day; None where none has."""
    rows = {date.fromisoformat(day): count for day, count in by_day.items()}
    if not rows:
        return None
    moments = [
        moment for moment in _moments(table) if abs((moment[2].date() - max(rows)).days) <= 10 * _span_days(rows)
    ]
    days = [*rows, *(at.date() for _, _, at in moments)]
    first, step = min(days), -(-((max(days) - min(days)).days + 1) // MOST_BARS)
    count = (max(days) - first).days // step + 1
    wide, by_bar = WIDTH / count, Counter[int]()
    for day, day_rows in rows.items():
        by_bar[(day - first).days // step] += day_rows
    most = max(by_bar.values())
    bars = tuple(
        TimeBar(
            bar * wide, wide, 100 * bar_rows / most, f"{_days(first, bar, step)}: {count_text(bar_rows, 'drifted row')}"
        )
        for bar, bar_rows in sorted(by_bar.items())
    )
    marks = tuple(
        TimeMark(_place(at, first) * wide / step, kind, f"{what} {at.isoformat(sep=' ', timespec='seconds')}")
        for kind, what, at in moments
    )
    return TimeView(
        first=first.isoformat(),
        last=_day(first, count * step - 1),
        step=count_text(step, "day"),
        bars=bars,
        marks=marks,
        unplaced_rows=all_rows - sum(rows.values()),
    )


# --- helpers ---


def _span_days(rows: Mapping[date, int]) -> int:
    """A mark that lies far outside would press all the drift into one bar."""
    return max(30, (max(rows) - min(rows)).days)


def _moments(table: Document) -> Iterator[tuple[str, str, datetime]]:
    """The checkpoint before the pull, the one that pulls have reached, and the pull's bound, as far as they are times."""
    pull = table.get("pull") or {}
    entries = (
        ("before", "checkpoint before the pull", pull.get("checkpoint_before")),
        ("reached", "checkpoint", table["checkpoint"]),
        ("bound", "bound of the pull", pull.get("bound")),
    )
    for kind, what, text in entries:
        at = _moment(text)
        if at is not None:
            yield kind, what, at


def _moment(text: object) -> datetime | None:
    """The time of a watermark's text, in its own clock; None for a number, a text or nothing."""
    shown = str(text or "").partition(",")[0].strip()
    if "-" not in shown[1:]:  # a whole number may be a date of another calendar to Python
        return None
    try:
        return datetime.fromisoformat(shown).replace(tzinfo=None)
    except ValueError:
        return None


def _place(at: datetime, first: date) -> float:
    """Days since the first."""
    return (at - datetime(first.year, first.month, first.day)).total_seconds() / _DAY_SECONDS  # noqa: DTZ001 - its own clock


def _days(first: date, bar: int, step: int) -> str:
    low, last = _day(first, bar * step), _day(first, (bar + 1) * step - 1)
    return low if step == 1 else f"{low} to {last}"


def _day(first: date, after: int) -> str:
    """The day that comes so many days after the first, or the calendar's last: the last bar may reach beyond it."""
    return date.fromordinal(min(first.toordinal() + after, date.max.toordinal())).isoformat()
