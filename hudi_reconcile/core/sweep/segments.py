"""Segments: disjoint parts of the key space that together hold every key, NULL included; their pace, and where they are digested.

Two ways to cut. Ranges of an integer first key column, open at both ends, so that a key beyond the extent that was seen
still has its place and the source's index can serve a segment. Hash buckets of the whole key otherwise: no collation, gap
or composite trouble, but a source must scan to serve one.

Where to digest is decided by the measured model of the prototypes (1,000,000 rows of 8 columns on 2 cores, PostgreSQL 15,
Spark 3.5): streaming costs the link and Spark, pushing down costs the source's processor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, get_args

HashBy = Literal["xxhash64", "md5"]
MAX_SEGMENTS = 16_384
ROWS_PER_SEGMENT = 64
MANY_SEGMENTS = 1_000  # to read fewer whole takes less than to find the rows that are asked for
_FINER = 32  # so many parts of a segment, of about two rows each
LEAST_KEY, GREATEST_KEY = -(2**63), 2**63 - 1  # of an integer column that ranges are cut from


@dataclass(frozen=True, slots=True)
class KeyExtent:
    """Smallest and greatest value of an integer first key column, None where the table is empty or the key is no integer."""

    low: int | None
    high: int | None
    rows_estimate: int


@dataclass(frozen=True, slots=True)
class RangeSegments:
    """Segments 0 to count-1 are `[start + i*width, start + (i+1)*width)`, the first and last open; `count` holds NULL.

    `start` is a multiple of `width`: then `floor(key/width) - start/width` never overflows 64 bits.
    """

    column: str
    start: int
    width: int
    count: int

    def find_segment(self, key: int | None) -> int:
        """The segment that holds this key."""
        if key is None:
            return self.count
        return min(max(key // self.width - self.start // self.width, 0), self.count - 1)

    def bounds(self, segment: int) -> tuple[int | None, int | None]:
        """Half-open `[low, high)` of a segment; None is an open end. The NULL segment has no bounds: ValueError."""
        if not 0 <= segment < self.count:
            raise ValueError(f"segment {segment} has no key bounds")
        low = None if segment == 0 else self.start + segment * self.width
        high = None if segment == self.count - 1 else self.start + (segment + 1) * self.width
        return low, high


@dataclass(frozen=True, slots=True)
class HashSegments:
    """`count` buckets of a hash over all key columns, NULLs marked.

    `by` xxhash64 is Spark's own; md5 is that of the key's canonical text, which a database can compute too.
    """

    columns: tuple[str, ...]
    count: int
    by: HashBy = "xxhash64"


Segmentation = RangeSegments | HashSegments


@dataclass(frozen=True, slots=True)
class SegmentSet:
    """Some segments, ascending and without repeats. `finer` is their segmentation where it is not the comparison's own."""

    ids: tuple[int, ...]
    finer: Segmentation | None = None

    @staticmethod
    def of(ids: Iterable[int], finer: Segmentation | None = None) -> SegmentSet:
        """The set of these ids."""
        return SegmentSet(tuple(sorted(set(ids))), finer)

    @property
    def is_many(self) -> bool:
        """True where it is worth a small job to find out which of their rows are asked for."""
        return len(self.ids) > MANY_SEGMENTS

    def divide(self, most: int) -> tuple[SegmentSet, ...]:
        """This set as at most `most` sets of neighbours of about equal size; an empty set stays one set.

        >>> [part.ids for part in SegmentSet((1, 2, 5, 7, 8)).divide(2)]
        [(1, 2), (5, 7, 8)]
        """
        edges = pairwise(_cut_evenly(len(self.ids), most))
        return tuple(replace(self, ids=self.ids[first:end]) for first, end in edges)


NO_SEGMENTS = SegmentSet(())


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Half-open range of integer keys, None is an open end; `nulls` adds the rows whose key column is NULL.

    `keys` False: only those. `KeyRange(None, None, nulls=True)` is every row.
    """

    low: int | None
    high: int | None
    nulls: bool = False
    keys: bool = True


def choose(
    key: tuple[str, ...], extent: KeyExtent, *, integer_key: bool, wanted: int | None, by: HashBy = "xxhash64"
) -> Segmentation:
    """Cut the key space for this table. `wanted` is the configured number, None for auto (about 64 rows each)."""
    count = wanted if wanted is not None else max(1, extent.rows_estimate // ROWS_PER_SEGMENT)
    count = max(1, min(count, MAX_SEGMENTS))
    if not integer_key or extent.low is None or extent.high is None:
        return HashSegments(key, count, by)
    width = max(1, -(-(extent.high - extent.low + 1) // count))
    start = extent.low // width * width
    return RangeSegments(key[0], start, width, (extent.high - start) // width + 1)


def merge_ranges(segmentation: RangeSegments, segments: SegmentSet) -> tuple[KeyRange, ...]:
    """The key ranges of some segments, neighbours merged, ascending; the NULL segment comes last."""
    merged: list[KeyRange] = []
    nulls = False
    for segment in segments.ids:
        if segment == segmentation.count:
            nulls = True
            continue
        low, high = segmentation.bounds(segment)
        if merged and low is not None and merged[-1].high == low:
            merged[-1] = KeyRange(merged[-1].low, high)
        else:
            merged.append(KeyRange(low, high))
    if nulls:
        merged.append(KeyRange(None, None, nulls=True, keys=False))
    return tuple(merged)


def refine(cut: Segmentation) -> Segmentation:
    """The same key space in segments of about two rows where those of `cut` have 64."""
    if isinstance(cut, HashSegments):
        return replace(cut, count=cut.count * _FINER)
    width = max(1, cut.width // _FINER)
    # Within 64 bits, as the edges of segments are written as such numbers; keys beyond lie in the first and last, which are open.
    first, last = max(cut.start, LEAST_KEY), min(cut.start + cut.width * cut.count - 1, GREATEST_KEY)
    start = first // width * width
    return RangeSegments(cut.column, start, width, (last - start) // width + 1)


def refine_segment(cut: Segmentation, finer: Segmentation, segment: int) -> range:
    """The finer segments that cover a segment of `cut`: they hold all its keys, and perhaps some of its neighbours'."""
    if isinstance(cut, RangeSegments) and isinstance(finer, RangeSegments):
        if segment == cut.count:
            return range(finer.count, finer.count + 1)
        low, high = cut.bounds(segment)
        first = 0 if low is None else finer.find_segment(low)
        return range(first, finer.count if high is None else finer.find_segment(high - 1) + 1)
    return range(segment, finer.count, cut.count)


def choose_part(cut: Segmentation, segments: SegmentSet) -> tuple[Segmentation, SegmentSet | None]:
    """What a source is asked for: these segments, and of which segmentation; None for all rows.

    A statement of more finer segments than a table may have segments would be megabytes long.
    """
    if segments.finer is None:
        return cut, segments
    return segments.finer, segments if len(segments.ids) <= MAX_SEGMENTS else None


def spread(segmentation: RangeSegments, parts: int) -> tuple[KeyRange, ...]:
    """All segments as at most `parts` ranges of about equal width, for a parallel read; NULL keys go with the first."""
    ranges = []
    for first, end in pairwise(_cut_evenly(segmentation.count, parts)):
        low = segmentation.bounds(first)[0]
        high = segmentation.bounds(end - 1)[1]
        ranges.append(KeyRange(low, high, nulls=first == 0))
    return tuple(ranges)


def _cut_evenly(count: int, most: int) -> list[int]:
    """The edges of at most so many parts of `count` things; of nothing, those of one empty part."""
    parts = max(1, min(most, count))
    return [count * at // parts for at in range(parts + 1)]


def build_segmentation_document(segmentation: Segmentation) -> dict[str, Any]:
    """A segmentation as it stands in a plan."""
    if isinstance(segmentation, RangeSegments):
        return {
            "kind": "range",
            "column": segmentation.column,
            "start": segmentation.start,
            "width": segmentation.width,
            "count": segmentation.count,
        }
    return {
        "kind": "hash",
        "columns": list(segmentation.columns),
        "count": segmentation.count,
        "by": segmentation.by,
    }


def parse(document: Mapping[str, Any]) -> Segmentation:
    """The segmentation of a plan. Raises ValueError for a kind that is not known, and for numbers that are none."""
    if any(name in document and type(document[name]) is not int for name in ("start", "width", "count")):
        raise ValueError("the segmentation's start, width and count are no whole numbers")
    if document["kind"] == "range":
        return RangeSegments(document["column"], document["start"], document["width"], document["count"])
    if document["kind"] == "hash":
        by = document.get("by", "xxhash64")  # plans of version 0.1 do not say it
        if by not in get_args(HashBy):
            raise ValueError(f"hash {by!r} is not known (legal: {', '.join(get_args(HashBy))})")
        return HashSegments(tuple(document["columns"]), document["count"], by)
    raise ValueError(f"segmentation kind {document['kind']!r} is not known (legal: range, hash)")


_FIRST_SHARE = 32  # of the segments, to learn the pace from
_LOOKS_AGAIN = 2  # how often the rows of an unequal segment are read after its digest


@dataclass(frozen=True, slots=True)
class Pace:
    """How far a table is: of `segments`, `done` took `spent_seconds`, the last batch held `last`, `unequal` differ.

    `left_seconds` is what is left of the budget.
    """

    segments: int
    done: int
    last: int
    unequal: int
    spent_seconds: float
    left_seconds: float


def choose_first_batch(segments: int) -> int:
    """How many segments the first batch holds."""
    return -(-segments // _FIRST_SHARE)


def choose_next_batch(pace: Pace) -> int:
    """How many segments come next; 0 where the table is done or the budget is.

    The first batch is always compared. Each later one is at most twice the last, and no more than the time left allows at
    the pace so far, when what the unequal segments still need is taken off.
    """
    rest = pace.segments - pace.done
    if not pace.done:
        return choose_first_batch(pace.segments)
    each = pace.spent_seconds / pace.done
    free = pace.left_seconds - _LOOKS_AGAIN * each * pace.unequal
    if free <= 0:
        return 0
    fits = int(free / each) if each > 0 and free / each < rest else rest
    return min(rest, 2 * pace.last, fits)


def share_seconds(left_seconds: float, tables_left: int) -> float:
    """What one of several tables may take of what is left: an even share, so that what one leaves falls to the next ones."""
    return max(0.0, left_seconds) / max(1, tables_left)


# Seconds of one core per row of 8 columns, read and hashed in Spark, and for the lake's md5 text digest.
_STREAM_ROW_SECONDS = 2.2e-6
_LAKE_TEXT_ROW_SECONDS = 4.4e-6
_STREAM_START_SECONDS = 0.6
SMALL_ROWS = 200_000  # below this many rows either way takes about a second, and a probe would cost as much


@dataclass(frozen=True, slots=True)
class Probe:
    """What a sample told: bytes of a row's text, seconds per byte over the link, seconds per row of a digest inside."""

    row_bytes: float
    link_byte_seconds: float
    digest_row_seconds: float


@dataclass(frozen=True, slots=True)
class Choice:
    """Where the source's rows are digested, and why, in words."""

    pushdown: bool
    why: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one look at so many rows takes, by a sample: bytes over the link, seconds inside the source, seconds either way."""

    rows: int
    link_bytes: int
    digest_seconds: float
    streamed_seconds: float
    pushed_seconds: float


def estimate_look(probe: Probe, rows: int, *, cores: int) -> Estimate:
    """Both ways of the look.

    The probe is held to be what the source gives: how many processors it has free for statements side by side is not known.
    """
    link_bytes, digest = rows * probe.row_bytes, rows * probe.digest_row_seconds
    return Estimate(
        rows,
        link_bytes=round(link_bytes),
        digest_seconds=digest,
        streamed_seconds=_STREAM_START_SECONDS
        + max(link_bytes * probe.link_byte_seconds, rows * _STREAM_ROW_SECONDS / cores),
        pushed_seconds=max(digest, rows * _LAKE_TEXT_ROW_SECONDS / cores),
    )


def choose_cheaper(probe: Probe, rows: int, *, cores: int) -> Choice:
    """The way that ends sooner. Equal times stream: that is easier on the source."""
    took = estimate_look(probe, rows, cores=cores)
    megabytes = 1 / probe.link_byte_seconds / 1e6 if probe.link_byte_seconds else None
    speed = "too fast to measure" if megabytes is None else f"{megabytes:,.0f} MB/s"
    return Choice(
        took.pushed_seconds < took.streamed_seconds,
        f"{rows:,} rows of {probe.row_bytes:,.0f} bytes, link {speed}, digest inside "
        f"{probe.digest_row_seconds * 1e6:.1f} µs a row: "
        f"stream about {took.streamed_seconds:.1f} s, pushdown about {took.pushed_seconds:.1f} s",
    )
