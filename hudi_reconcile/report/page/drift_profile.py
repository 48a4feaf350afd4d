"""Where drift lies and what would have prevented it, as the page shows it. Pure; knows no markup.

Results of earlier versions have no anatomy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hudi_reconcile.core.sweep.drift import DRIFT_KINDS, KINDS, FindingKind
from hudi_reconcile.core.sweep.drift_profile import LATENESS_SECONDS, DriftCell, HeatCount, count_days, count_heat
from hudi_reconcile.report.page.time_axis import TimeView, time_view
from hudi_reconcile.report.words.verdict import count_text

Document = Mapping[str, Any]

MOST_COLUMNS = 12
_UNIT_OF_CHARS = {10: "day", 7: "month", 4: "year"}
NO_DATE = "no date"
_SHADES = 5
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))
# Beyond this an overlap costs more than a sweep: every pull would read as far back.
_LONGEST_OVERLAP_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of a small chart. `share` is its part of the greatest, in percent."""

    label: str
    rows: int
    share: float


@dataclass(frozen=True, slots=True)
class HeatCell:
    """Drifted rows of a partition and day; `shade` from 0 (none) to 5."""

    rows: int
    shade: int


@dataclass(frozen=True, slots=True)
class HeatRow:
    """One partition over the days."""

    partition: str
    cells: tuple[HeatCell, ...]


@dataclass(frozen=True, slots=True)
class LateBar:
    """Late rows of one span, and which overlap brings these and all that are less late."""

    bar: Bar
    overlap: str


@dataclass(frozen=True, slots=True)
class KeyMapView:
    """The segments as a strip, in their order: the shade of each stretch, from 0 (no drift) to 5, and how many hold some."""

    sentence: str
    cells: tuple[HeatCell, ...]


@dataclass(frozen=True, slots=True)
class AnatomyView:
    """What the page says of a table's drift. Empty parts are not shown. `unit` is what a column of the heat map is."""

    why: tuple[tuple[str, str], ...]
    days: tuple[str, ...]
    unit: str
    heat: tuple[HeatRow, ...]
    lateness: tuple[LateBar, ...]
    columns: tuple[Bar, ...]
    left_out: str
    key_map: KeyMapView | None
    over_time: TimeView | None


def view_anatomy(table: Document) -> AnatomyView | None:
    """The view of a table; None where nothing drifted or the result does not say."""
    anatomy = table.get("anatomy")
    if not anatomy:
        return None
    cells = tuple(DriftCell(**cell) for cell in anatomy["cells"])
    counts = tuple(HeatCount(**count) for count in anatomy.get("heat") or ()) or count_heat(cells)
    times, heat = _heat(counts)
    hidden = sum(cell.rows for cell in cells) + anatomy["other_rows"] - sum(count.rows for count in counts)
    return AnatomyView(
        why=tuple(_why(table["findings"], anatomy)),
        days=times,
        unit=_UNIT_OF_CHARS.get(max((len(count.time) for count in counts if count.time), default=0), "day"),
        heat=heat,
        key_map=_key_map(table, anatomy.get("key_map")),
        over_time=time_view(table, anatomy.get("days") or count_days(cells), sum(table["findings"].values())),
        lateness=_lateness(anatomy["lateness"]),
        columns=build_bars(sorted(anatomy["columns"].items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_COLUMNS]),
        left_out=f"{count_text(hidden, 'row')} of other days or partitions not shown" if hidden else "",
    )


def write_span(seconds: float) -> str:
    """A length of time as the config takes one, rounded up to two units.

    >>> write_span(0.2), write_span(61), write_span(3_600), write_span(93_784)
    ('1s', '1m1s', '1h', '1d2h3m4s')
    """
    seconds_left = max(1, -int(-seconds // 1))
    parts = []
    for size, unit in _UNITS:
        count, seconds_left = divmod(seconds_left, size)
        parts += [f"{count}{unit}"] if count else []
    return "".join(parts)


def write_overlap(seconds: float) -> str:
    """The overlap to set for this lateness: the next whole minute, hour or day, one unit as the config takes it.

    >>> write_overlap(0.2), write_overlap(59), write_overlap(61), write_overlap(7_000), write_overlap(90_000)
    ('1s', '59s', '2m', '2h', '2d')
    """
    for size, unit in _UNITS:
        if seconds > size:
            return f"{-int(-seconds // size)}{unit}"
    return "1s"


def _why(findings: Mapping[str, int], anatomy: Document) -> list[tuple[str, str]]:
    """Each kind that drifted: what happened, and what would have prevented it."""
    words = {kind: (KINDS[kind].happened, KINDS[kind].cure) for kind in DRIFT_KINDS}
    late, silent = FindingKind.LATE_ARRIVING, FindingKind.UPDATED_WITHOUT_WATERMARK
    words[late] = _late(anatomy["lateness"], *words[late])
    happened, cure = words[silent]
    words[silent] = (f"{happened.removesuffix('.')}{_describe_changed_columns(anatomy)}.", cure)
    return [
        (f"{kind}: {count_text(findings[kind], 'row')}. {what}", cure)
        for kind, (what, cure) in words.items()
        if findings[kind]
    ]


def _late(late: Document | None, happened: str, cure: str) -> tuple[str, str]:
    """What happened to late rows, and what would have brought them: an overlap only those at or below the checkpoint."""
    if not late:
        return happened, cure
    others = _others(late)
    if not (below := sum(late["rows"])):
        return "No pull has passed their watermark: none lies below the checkpoint.", " ".join(others)
    these, who = ("These", f"{below:,} of them") if others else ("They", "They")
    return f"{who}{happened.removeprefix('They')}", " ".join(
        (f"{these} {_describe_lateness(late['greatest_seconds'])}", *others)
    )


def _describe_lateness(greatest_seconds: float) -> str:
    below = f"lie up to {write_span(greatest_seconds)} below the checkpoint:"
    if greatest_seconds > _LONGEST_OVERLAP_SECONDS:
        return f"{below} more than an overlap should bridge. Sweep regularly."
    overlap = write_overlap(greatest_seconds)
    return f"{below} pull.overlap: {overlap} would have brought them, reading that much again in every pull."


def _others(late: Document) -> list[str]:
    """What is true of rows that are not below the checkpoint. Results of earlier versions do not tell those ahead of it."""
    ahead, unmarked = late.get("ahead_rows", 0), late["unmarked_rows"]
    said = []
    if ahead:
        lies, them = ("lies", "it") if ahead == 1 else ("lie", "them")
        said.append(
            f"{count_text(ahead, 'row')} {lies} ahead of the clock: a pull brings {them} once that time has come."
        )
    if unmarked:
        has, them = ("has", "it") if unmarked == 1 else ("have", "them")
        cause = f"{count_text(unmarked, 'row')} {has} no watermark"
        said.append(f"{cause}: no incremental pull brings {them}, a sweep finds {them}.")
    return said


def _describe_changed_columns(anatomy: Document) -> str:
    names = sorted(anatomy["columns"], key=lambda name: (-anatomy["columns"][name], name))[:3]
    return f", in {', '.join(names)}" if names else ""


def _key_map(table: Document, key_map: Document | None) -> KeyMapView | None:
    """The strip; None where the result does not say, or there is one stretch."""
    if not key_map or len(key_map["unequal"]) < 2:  # noqa: PLR2004 - one stretch is no map
        return None
    most, cut = max(key_map["unequal"]), table["provenance"].get("segments", "segments of the key")
    order = ", the least keys at the left" if str(cut).startswith("ranges") else ""
    sentence = f"{sum(key_map['unequal']):,} of {count_text(key_map['segments'], 'segment')} hold drift ({cut}{order})."
    return KeyMapView(sentence, tuple(_cell(count, most) for count in key_map["unequal"]))


def _lateness(late: Document | None) -> tuple[LateBar, ...]:
    if not late or not sum(late["rows"]):
        return ()
    ends = [write_span(end) for end in LATENESS_SECONDS]
    labels = [
        f"less than {ends[0]}",
        *(f"{low} to {high}" for low, high in pairwise(ends)),
        f"{ends[-1]} or more",
    ]
    filled = [place for place, rows in enumerate(late["rows"]) if rows]
    shown = slice(filled[0], filled[-1] + 1)
    bars = build_bars(list(zip(labels[shown], late["rows"][shown], strict=True)))
    overlaps = [_caught(place, late) for place in range(len(labels))[shown]]
    return tuple(LateBar(bar, overlap) for bar, overlap in zip(bars, overlaps, strict=True))


def _caught(place: int, late: Document) -> str:
    """The overlap that brings the rows up to the end of a span, and how many that are."""
    greatest, rows = late["greatest_seconds"], sum(late["rows"][: place + 1])
    is_all = rows == sum(late["rows"])
    if (greatest if is_all else LATENESS_SECONDS[place]) > _LONGEST_OVERLAP_SECONDS:
        return "more than an overlap should bridge"
    overlap = write_overlap(greatest) if is_all else write_span(LATENESS_SECONDS[place])
    return f"{overlap} brings {rows:,}"


def build_bars(pairs: Sequence[tuple[str, int]]) -> tuple[Bar, ...]:
    """A small chart: one bar a pair, in their order."""
    most = max((rows for _, rows in pairs), default=0) or 1
    return tuple(Bar(label, rows, 100 * rows / most) for label, rows in pairs)


def _heat(counts: Sequence[HeatCount]) -> tuple[tuple[str, ...], tuple[HeatRow, ...]]:
    """Times as columns, the latest last, and partitions as rows, in the order of the counts."""
    sums = {(_place(count.partition), count.time or NO_DATE): count.rows for count in counts}
    times = tuple(sorted({time for _, time in sums}))
    most = max(sums.values(), default=0)
    places = dict.fromkeys(place for place, _ in sums)
    return times, tuple(
        HeatRow(place, tuple(_cell(sums.get((place, time), 0), most) for time in times)) for place in places
    )


def _place(partition: str | None) -> str:
    return "not in the lake" if partition is None else partition or "(not partitioned)"


def _cell(rows: int, most: int) -> HeatCell:
    return HeatCell(rows, -(-rows * _SHADES // most) if rows else 0)
