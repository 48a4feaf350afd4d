"""When each segment of a table was last compared, over many sweeps: which come next, what is left over. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import NoneType
from typing import Any

from hudi_reconcile.core.notes import Note, Stake
from hudi_reconcile.core.result_parts import Unverified
from hudi_reconcile.core.sweep.segments import RangeSegments, Segmentation, SegmentSet, build_segmentation_document
from hudi_reconcile.core.sweep.segments import parse as parse_cut
from hudi_reconcile.core.tables.partitions import PartitionRows

VERSION = 1
_GROWTH = 2


@dataclass(frozen=True, slots=True)
class Stretch:
    """Segments `[low, high)`, last compared by one run at one time (microseconds since 1970, UTC)."""

    low: int
    high: int
    compared_micros: int
    run_id: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was compared when. `subject` names it: source, lake, columns and partitions; `wanted` is the configured number.

    `stretches` ascend and do not overlap; a segment in none of them was never compared.
    """

    subject: str
    cut: Segmentation
    wanted: int | None
    stretches: tuple[Stretch, ...] = ()


@dataclass(frozen=True, slots=True)
class Age:
    """How old a coverage is: of `segments`, `never` were not compared yet; `oldest_micros` is of the others."""

    segments: int
    never: int
    oldest_micros: int | None


def count_all_segments(cut: Segmentation) -> int:
    """How many segments there are, the one of NULL keys included."""
    return cut.count + 1 if isinstance(cut, RangeSegments) else cut.count


def continue_coverage(
    earlier: Iterable[Coverage], subject: str, fresh: Segmentation, wanted: int | None
) -> tuple[Segmentation, Coverage | None]:
    """The newest earlier coverage that can go on, with its cut; else a fresh cut of which nothing was compared.

    It goes on where it is of the same subject and the table has not outgrown its cut.
    """
    for coverage in earlier:
        if coverage.subject == subject and coverage.wanted == wanted and _is_alike(coverage.cut, fresh):
            return coverage.cut, coverage
    return fresh, None


def restrict_walk(walked: SegmentSet | None, cut: Segmentation) -> SegmentSet | None:
    """The scanned segments, or None where all were scanned, so that the source gets no segment filter."""
    return None if walked is None or len(walked.ids) == count_all_segments(cut) else walked


def order_by_age(coverage: Coverage | None, segments: int) -> tuple[int, ...]:
    """All segments: those never compared, then by the age of their last comparison, neighbours together."""
    compared = dict(_list_by_segment(coverage))
    return tuple(
        sorted(range(segments), key=lambda segment: (segment in compared, compared.get(segment, (0, ""))[0], segment))
    )


def renew_coverage(coverage: Coverage, segments: Collection[int], micros: int, run_id: str) -> Coverage:
    """The coverage after a run compared some segments."""
    if isinstance(segments, range) and segments and all(_holds(segments, stretch) for stretch in coverage.stretches):
        whole = Stretch(segments.start, segments.stop, micros, run_id)
        return Coverage(coverage.subject, coverage.cut, coverage.wanted, (whole,))
    comparisons = {**dict(_list_by_segment(coverage)), **dict.fromkeys(segments, (micros, run_id))}
    return Coverage(coverage.subject, coverage.cut, coverage.wanted, _stretches(comparisons))


def measure_age(coverage: Coverage) -> Age:
    """How old it is."""
    segments = count_all_segments(coverage.cut)
    known = sum(stretch.high - stretch.low for stretch in coverage.stretches)
    return Age(
        segments, segments - known, min((stretch.compared_micros for stretch in coverage.stretches), default=None)
    )


def build_coverage_document(table: str, coverage: Coverage) -> dict[str, Any]:
    """`coverage.json`."""
    return {
        "version": VERSION,
        "table": table,
        "subject": coverage.subject,
        "segmentation": build_segmentation_document(coverage.cut),
        "wanted": coverage.wanted,
        "stretches": [
            {
                "low": stretch.low,
                "high": stretch.high,
                "compared_micros": stretch.compared_micros,
                "run_id": stretch.run_id,
            }
            for stretch in coverage.stretches
        ],
    }


def parse(document: Mapping[str, Any]) -> Coverage:
    """The coverage of a `coverage.json`. Raises ValueError where it is none, or overlaps, or of an unknown version."""
    try:
        if document["version"] != VERSION:
            raise ValueError(f"coverage.json is version {document['version']!r}, this tool reads {VERSION}")
        cut = parse_cut(document["segmentation"])
        stretches = tuple(
            Stretch(entry["low"], entry["high"], entry["compared_micros"], entry["run_id"])
            for entry in document["stretches"]
        )
        coverage = Coverage(document["subject"], cut, document["wanted"], stretches)
    except (KeyError, TypeError) as error:
        raise ValueError("coverage.json lacks a field, or one is odd") from error
    if not (
        type(coverage.subject) is str and type(coverage.wanted) in (int, NoneType) and all(map(_is_one, stretches))
    ):
        raise ValueError("a field of coverage.json is odd")
    edges = [edge for stretch in stretches for edge in (stretch.low, stretch.high)]
    if edges != sorted(edges) or any(not 0 <= edge <= count_all_segments(cut) for edge in edges):
        raise ValueError("coverage.json lists a segment twice, or one that does not exist")
    return coverage


def _is_one(stretch: Stretch) -> bool:
    """Whether what a file has for a stretch has its types; a text or a true for a number would be compared with others."""
    numbers = (stretch.low, stretch.high, stretch.compared_micros)
    return all(type(number) is int for number in numbers) and type(stretch.run_id) is str


def _holds(segments: range, stretch: Stretch) -> bool:
    return segments.start <= stretch.low and stretch.high <= segments.stop


def _list_by_segment(coverage: Coverage | None) -> Iterator[tuple[int, tuple[int, str]]]:
    for stretch in () if coverage is None else coverage.stretches:
        for segment in range(stretch.low, stretch.high):
            yield segment, (stretch.compared_micros, stretch.run_id)


def _stretches(comparisons: Mapping[int, tuple[int, str]]) -> tuple[Stretch, ...]:
    # Neighbours with one time and run have one difference between their number and their place.
    placed = enumerate(sorted(comparisons.items()))
    runs = groupby(placed, key=lambda item: (item[1][0] - item[0], item[1][1]))
    made = []
    for (_, (micros, run_id)), members in runs:
        numbers = [segment for _, (segment, _) in members]
        made.append(Stretch(numbers[0], numbers[-1] + 1, micros, run_id))
    return tuple(made)


def _is_alike(old: Segmentation, fresh: Segmentation) -> bool:
    """True where the table is still much as large as when it was cut: segments are open, so every key has its place."""
    if not (old.count <= _GROWTH * fresh.count and fresh.count <= _GROWTH * old.count):
        return False
    if isinstance(old, RangeSegments):
        if not isinstance(fresh, RangeSegments) or fresh.column != old.column:
            return False
        span = old.width * old.count
        beyond = (fresh.start + fresh.width * fresh.count) - (old.start + span)
        return max(beyond, old.start - fresh.start) <= span // _GROWTH + fresh.width
    return not isinstance(fresh, RangeSegments) and (old.columns, old.by) == (fresh.columns, fresh.by)


_SHOWN = 5
_ALL_PARTITIONS = "sweep without --where-partition: "  # of a command that the run gives its --config


@dataclass(frozen=True, slots=True)
class SweepReach:
    """How far a sweep of a part came.

    `asked` are the partitions, none where all were meant, and `lake` those that the lake has. Of `segments` it compared
    `compared` within `budget`, the text of the option. `source_rows_left_out` is the table's own count less what was read.
    """

    table: str
    segments: int
    compared: int
    asked: tuple[str, ...] = ()
    lake: tuple[PartitionRows, ...] = ()
    budget: str = ""
    source_rows_left_out: int = 0

    @property
    def is_whole(self) -> bool:
        """True where nothing was left out."""
        return not self.asked and self.compared == self.segments

    @property
    def others(self) -> tuple[PartitionRows, ...]:
        """The lake's partitions that were not asked for."""
        return tuple(partition for partition in self.lake if self.asked and partition.path not in self.asked)

    @property
    def absent(self) -> tuple[str, ...]:
        """Partitions that were asked for and that the lake does not have."""
        there = {partition.path for partition in self.lake}
        return tuple(path for path in self.asked if path not in there)


def list_left_out(reached: SweepReach) -> tuple[Unverified, ...]:
    """What was left out; nothing where all was compared."""
    table, entries = shlex.quote(reached.table), []
    if reached.asked:
        entries.append(
            Unverified("rows", reached.table, _partitions(reached), f"{_ALL_PARTITIONS}hudi-reconcile sweep -t {table}")
        )
    rest = reached.segments - reached.compared
    if rest:
        why = f"the budget of {reached.budget} was spent: {rest} of {reached.segments} segments were not compared"
        again = "".join(f" --where-partition {shlex.quote(path)}" for path in reached.asked)
        fix = (
            "run the same command again, it begins with what was compared longest ago: "
            f"hudi-reconcile sweep -t {table}{again} --budget {reached.budget}"
        )
        entries.append(Unverified("segment", reached.table, why, fix))
    return tuple(entries)


def are_outside(entry: Unverified) -> bool:
    """True where `entry` says which partitions a sweep was not asked for: its plan cannot touch their rows."""
    return entry.fix.startswith(_ALL_PARTITIONS)


def describe_part(reached: SweepReach) -> str | None:
    """What was compared, in words; None where it was the whole table."""
    said = [f"partitions {', '.join(reached.asked)}"] if reached.asked else []
    if reached.compared < reached.segments:
        said.append(f"{reached.compared} of {reached.segments} segments")
    return ", ".join(said) or None


def note_part(reached: SweepReach) -> tuple[str, ...]:
    """What a reader of the numbers must know."""
    part = describe_part(reached)
    if part is None:
        return ()
    notes = [Note(Stake.PROOF, f"only {part} compared: rows, totals and shares are of those")]
    if reached.absent:
        notes.append(Note(Stake.PROOF, f"not in the lake: {', '.join(reached.absent)}"))
    return tuple(notes)


def _partitions(reached: SweepReach) -> str:
    others = reached.others
    rows = sum(partition.rows for partition in others)
    source = f"and {reached.source_rows_left_out} source rows lie outside {', '.join(reached.asked)}"
    if not others:
        return f"only some partitions were compared: 0 other partitions of the lake {source}"
    return (
        f"{len(others)} of {len(reached.lake)} partitions of the lake were not compared ({_name_partitions(others)}): "
        f"{rows} lake rows {source}"
    )


def _name_partitions(partitions: Sequence[PartitionRows]) -> str:
    shown = ", ".join(partition.path for partition in partitions[:_SHOWN])
    return f"{shown}, …" if len(partitions) > _SHOWN else shown
