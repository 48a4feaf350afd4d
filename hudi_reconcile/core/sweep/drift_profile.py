"""Where the drift of a table lies, and how late its late rows were: counts for people, no row's value. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import pairwise
from typing import TypeVar

from hudi_reconcile.core.notes import Note, Stake

MOST_CELLS = 400
# What is counted at most, so that sums over days and partitions are of all rows: some megabytes of counts.
MOST_COUNTED = 50_000
MOST_DAYS = 4_000
MOST_TIMES, MOST_PARTITIONS = 10, 12
# How much of an ISO date names a day, a month, a year.
_DAY_CHARS, _MONTH_CHARS, _YEAR_CHARS = 10, 7, 4
MOST_STRETCHES = 100
_Place = TypeVar("_Place")
_EPOCH = date(1970, 1, 1)
_SECOND = 1_000_000
_HOUR_MICROS = 3_600_000_000
_FURTHEST_HOURS, _FEWEST_SHIFTED = 26, 2  # two zones differ by 26 hours at most; one row alone shows no rule
ZONE_STEP_MICROS = 900_000_000
# How far below the checkpoint, by upper end; the last has none.
LATENESS_SECONDS: tuple[int, ...] = (1, 10, 60, 600, 3_600, 86_400, 604_800)


@dataclass(frozen=True, slots=True)
class DriftCell:
    """Drifted rows of one kind, lake partition and day of the watermark.

    `partition` is None for rows that the lake does not hold, `day` where the watermark is NULL or no time.
    """

    kind: str
    partition: str | None
    day: str | None
    rows: int


@dataclass(frozen=True, slots=True)
class HeatCount:
    """Drifted rows of a lake partition and a day, month or year of the watermark, whichever `time` is; None as in `DriftCell`."""

    partition: str | None
    time: str | None
    rows: int


@dataclass(frozen=True, slots=True)
class Lateness:
    """Late rows by how far their watermark lies below the checkpoint: what an overlap would have had to be at most.

    `rows` are those at or below it, of each span of `LATENESS_SECONDS` and beyond the last; `unmarked_rows` have no watermark,
    `ahead_rows` one above it, too far ahead of the clock for the next pull: no overlap brings either.
    """

    rows: tuple[int, ...]
    greatest_seconds: float
    unmarked_rows: int = 0
    ahead_rows: int = 0


@dataclass(frozen=True, slots=True)
class WatermarkShift:
    """Drifted rows whose watermark the lake has otherwise by whole quarters of an hour, as zones differ: by least and by most."""

    rows: int
    least_micros: int
    most_micros: int


@dataclass(frozen=True, slots=True)
class KeyMap:
    """The segments of a table in their order, as at most `MOST_STRETCHES` stretches: how many of each hold drift."""

    segments: int
    unequal: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Anatomy:
    """Cells, the fullest first, with the rows of those that are left out; rows by differing column; lateness if known.

    `days` are the rows of each day, and `heat` those of the fullest partitions over time: of all cells, not of these alone.
    `missing_rows` are late rows that the lake does not hold at all, `extra_copies` its rows beyond the first of a key, over
    all findings of drift; None where they were not counted.
    """

    cells: tuple[DriftCell, ...] = ()
    other_rows: int = 0
    columns: Mapping[str, int] = field(default_factory=dict)
    lateness: Lateness | None = None
    missing_rows: int | None = None
    extra_copies: int | None = None
    key_map: KeyMap | None = None
    shift: WatermarkShift | None = None
    days: Mapping[str, int] = field(default_factory=dict)
    heat: tuple[HeatCount, ...] = ()


def find_shift_note(shift: WatermarkShift | None, drift_rows: int, columns: Sequence[str]) -> Note | None:
    """A name for the cause where every drifted row is shifted alike, in summer by an hour more or less; None else.

    >>> print(find_shift_note(WatermarkShift(9, 7_200_000_000, 7_200_000_000), 9, ["updated_at"]))  # doctest: +ELLIPSIS
    9 of 9 rows differ in updated_at by exactly +2 h in the lake: a writer in another time zone? ...
    >>> find_shift_note(WatermarkShift(8, 7_200_000_000, 7_200_000_000), 9, ["updated_at"]) is None
    True
    """
    if shift is None or shift.rows != drift_rows or drift_rows < _FEWEST_SHIFTED:
        return None
    ends = (shift.least_micros, shift.most_micros)
    if ends[1] - ends[0] > _HOUR_MICROS or max(map(abs, ends)) > _FURTHEST_HOURS * _HOUR_MICROS:
        return None
    said = " to ".join(dict.fromkeys(_hours_text(end) for end in ends))
    exactly = "exactly " if ends[0] == ends[1] else ""
    return Note(
        Stake.ROWS,
        f"{drift_rows} of {drift_rows} rows differ in {', '.join(columns)} by {exactly}{said} in the lake: a writer in another "
        "time zone? docs/foreign-tables.md has the view that makes both equal",
    )


def _hours_text(micros: int) -> str:
    hours, minutes = divmod(abs(micros) // 60_000_000, 60)
    parts = [f"{hours} h"] * (hours > 0 or not minutes) + [f"{minutes} min"] * (minutes > 0)
    return f"{'-' if micros < 0 else '+'}{' '.join(parts)}"


def write_day(days: int | None) -> str | None:
    """The ISO date of days since 1970; None for none, and outside of the years 1 to 9999.

    >>> write_day(20_000), write_day(-1), write_day(None), write_day(10**9)
    ('2024-10-04', '1969-12-31', None, None)
    """
    if days is None:
        return None
    try:
        return (_EPOCH + timedelta(days=days)).isoformat()
    except OverflowError:
        return None


def map_keys(drifted: Iterable[int], segments: int) -> KeyMap:
    """Where in the order of the segments those lie that hold drift. `segments` are all.

    >>> map_keys([0, 1, 399], 400).unequal[:2], map_keys([0, 1, 399], 400).unequal[-1], map_keys([2], 3)
    ((2, 0), 1, KeyMap(segments=3, unequal=(0, 0, 1)))
    """
    stretches = min(segments, MOST_STRETCHES)
    counts = [0] * stretches
    for segment in drifted:
        counts[min(segment * stretches // segments, stretches - 1)] += 1
    return KeyMap(segments, tuple(counts))


def find_span(behind_micros: int) -> int:
    """The place in `Lateness.rows` of a row this far below the checkpoint; an end belongs to the longer span.

    >>> find_span(0), find_span(999_999), find_span(1_000_000), find_span(10**15)
    (0, 0, 1, 7)
    """
    return sum(behind_micros >= end * _SECOND for end in LATENESS_SECONDS)


def measure_lateness(
    all_rows: int, marked_rows: int, behind_rows: Sequence[int], greatest_micros: int | None
) -> Lateness | None:
    """How late `all_rows` late rows are, `marked_rows` of them with a watermark; None where there are none.

    `behind_rows` lie at or below the checkpoint, then at least each of `LATENESS_SECONDS` below.

    >>> measure_lateness(4, 3, (2, 1, 0, 0, 0, 0, 0, 0), 5_000_000)
    Lateness(rows=(1, 1, 0, 0, 0, 0, 0, 0), greatest_seconds=5.0, unmarked_rows=1, ahead_rows=1)
    """
    if not all_rows:
        return None
    rows = tuple(more - less for more, less in pairwise((*behind_rows, 0)))
    greatest_seconds = max(0, greatest_micros or 0) / 1_000_000
    return Lateness(rows, greatest_seconds, all_rows - marked_rows, marked_rows - behind_rows[0])


def select_fullest_cells(cells: Iterable[DriftCell], all_rows: int) -> tuple[tuple[DriftCell, ...], int]:
    """At most `MOST_CELLS` cells, the fullest first, and the rows that none of them holds."""
    ordered = sorted(cells, key=lambda cell: (-cell.rows, cell.kind, cell.partition or "", cell.day or ""))[:MOST_CELLS]
    return tuple(ordered), all_rows - sum(cell.rows for cell in ordered)


def count_days(cells: Iterable[DriftCell]) -> dict[str, int]:
    """Rows by day, in order; of more than `MOST_DAYS` days by the first day of their month.

    >>> count_days([DriftCell("deleted", "a", "2026-03-01", 1), DriftCell("deleted", "b", "2026-03-01", 2)])
    {'2026-03-01': 3}
    """
    days = _sum_rows((cell.day, cell.rows) for cell in cells if cell.day)
    if len(days) > MOST_DAYS:
        days = _sum_rows((f"{day[:_MONTH_CHARS]}-01", rows) for day, rows in days.items())
    return dict(sorted(days.items()))


def count_heat(cells: Sequence[DriftCell]) -> tuple[HeatCount, ...]:
    """The fullest partitions over days, months or years, whichever have room: the latest `MOST_TIMES` of these.

    >>> count_heat([DriftCell("deleted", "a", f"2026-03-{day:02}", 1) for day in range(1, 12)])
    (HeatCount(partition='a', time='2026-03', rows=11),)
    """
    times: set[str | None] = set()
    for chars in (_DAY_CHARS, _MONTH_CHARS, _YEAR_CHARS):
        times = {cell.day and cell.day[:chars] for cell in cells}
        if len(times) <= MOST_TIMES:
            break
    latest = set(sorted(times, key=lambda time: (time is None, time or ""))[-MOST_TIMES:])
    sums = _sum_rows(((cell.partition, cell.day and cell.day[:chars]), cell.rows) for cell in cells)
    shown = {place: rows for place, rows in sums.items() if place[1] in latest}
    by_partition = _sum_rows((partition, rows) for (partition, _), rows in shown.items())
    fullest = sorted(by_partition, key=lambda partition: (-by_partition[partition], partition or ""))[:MOST_PARTITIONS]
    counts = (HeatCount(partition, time, rows) for (partition, time), rows in shown.items() if partition in fullest)
    return tuple(
        sorted(counts, key=lambda count: (fullest.index(count.partition), count.time is None, count.time or ""))
    )


def _sum_rows(counted: Iterable[tuple[_Place, int]]) -> dict[_Place, int]:
    sums: dict[_Place, int] = {}
    for place, rows in counted:
        sums[place] = sums.get(place, 0) + rows
    return sums
