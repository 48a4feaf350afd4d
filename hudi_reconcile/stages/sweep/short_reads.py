"""Whether a read of the source came short of the rows that the source itself counts, though others write meanwhile.

While a source stands still, count and read are equal. On a busy one rows come and go between the two: so each segment is counted
again after the read, and one of which the source counts more rows is read once more; what that finds is judged as a candidate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hudi_reconcile.core.sweep.segments import HashSegments, SegmentSet
from hudi_reconcile.core.tables.values import IN_SCOPE, Moment
from hudi_reconcile.ports import Frame, SegmentDigest
from hudi_reconcile.stages.comparison import Sides


def count_before(sides: Sides, segments: SegmentSet | None) -> int | None:
    """The table's own count of what is about to be read; None where only Spark can tell which rows those are."""
    by_spark = isinstance(sides.cut, HashSegments) and sides.cut.by == "xxhash64"
    if sides.scope is not None or (segments is not None and by_spark):
        return None
    return sides.source.count_rows(sides.table, sides.cut, segments)


def is_still(sides: Sides, since: Moment) -> bool:
    """Whether the source certainly shows the same as then; an engine that names its moments by the clock cannot tell."""
    return sides.source.read_moment().snapshot == since.snapshot


def count_read(digests: tuple[SegmentDigest, ...]) -> int:
    """Source rows that a look read."""
    return sum(digest.source_rows for digest in digests)


@dataclass(frozen=True, slots=True)
class BusyRead:
    """What a look read of a source that others write to: rows counted `before`, digests, and which segments came short.

    The digests of segments that came short are unequal, whatever was read.
    """

    before_rows: int
    digests: tuple[SegmentDigest, ...]
    short: SegmentSet


def doubt_digests(sides: Sides, read: BusyRead) -> BusyRead:
    """The read, with the segments that came short, if the source can count by segment.

    No question is asked where every segment is equal and no row is missing: what the read holds is then what the lake holds,
    so that no row can have come during the read and stand for one that was lost.
    """
    if read.before_rows <= count_read(read.digests) and all(one.equal for one in read.digests):
        return read
    counted = sides.source.count_segments(sides.table, sides.cut)
    return read if counted is None else BusyRead(read.before_rows, *find_short(read.digests, counted))


def find_short(
    digests: tuple[SegmentDigest, ...], counted: Mapping[int, int]
) -> tuple[tuple[SegmentDigest, ...], SegmentSet]:
    """The digests, equal segments of which the source counts more rows now unequal; and which those are.

    An unequal segment is read again anyway.

    >>> find_short((SegmentDigest(0, 5, 5, True), SegmentDigest(1, 4, 5, False)), {0: 6, 1: 6, 2: 1})[1].ids
    (0, 2)
    """
    found = {one.segment: one for one in digests}
    seen = {segment: found.get(segment, SegmentDigest(segment, 0, 0, equal=True)) for segment in counted}
    short = SegmentSet.of(s for s, one in seen.items() if one.equal and counted[s] > one.source_rows)
    found |= {segment: replace(seen[segment], equal=False, gap=None) for segment in short.ids}
    return tuple(found[segment] for segment in sorted(found)), short


def suspect_loss(sides: Sides, read: BusyRead, candidates: Frame | None, segments: SegmentSet | None) -> int | None:
    """How many rows that the source counted were in no read and cannot have been deleted meanwhile; None for none.

    A row that was there before, is in no read, and is not in the lake either (else it is a candidate that only the lake has)
    was lost; or it came after the last pull and went during the read, which the next look does not see again. Counted
    before and now, since a row may also have come between.
    """
    missing = read.before_rows - count_read(read.digests)
    if missing <= 0 and not read.short.ids:
        return None
    sided = {} if candidates is None else sides.comparer.count_one_sided(candidates)
    missing -= sum(one.lake_rows for one in sided.values())
    missing -= sum(sided[one].source_rows for one in read.short.ids if one in sided)  # the second read found these
    lost = _count_still_short(sides, read.digests, SegmentSet.of(one for one in read.short.ids if one not in sided))
    if missing > lost:
        now = sides.source.count_rows(sides.table, sides.cut, segments)
        lost = max(lost, missing - max(0, read.before_rows - now))
    return lost or None


def _count_still_short(sides: Sides, digests: tuple[SegmentDigest, ...], silent: SegmentSet) -> int:
    """Rows that the source counts in segments of which a second read showed no more than the first."""
    if not silent.ids:
        return 0
    read = count_read(tuple(one for one in digests if one.segment in silent.ids))
    return max(0, sides.source.count_rows(sides.table, sides.cut, silent) - read)


def count_missed_by_walk(
    sides: Sides, before: Moment, digests: tuple[SegmentDigest, ...], part: SegmentSet | None, *, frozen: bool
) -> int | None:
    """Which segments the budget sufficed for is known afterwards: they are counted where nothing changed meanwhile."""
    counted = sides.source.count_rows(sides.table, sides.cut, part)
    if not frozen and not is_still(sides, before):
        return None
    return counted - count_read(digests)


def count_missed_in_scope(sides: Sides) -> int | None:
    """The same of the rows near some partitions, read once more: which of them are in scope, only Spark can tell."""
    if sides.scope is None:
        return None
    before = sides.source.read_moment()
    read = sum(sides.comparer.count(sides.source_in_scope(), IN_SCOPE).values())
    counted = sides.source.count_rows(sides.table, near=sides.scope.near)
    return counted - read if is_still(sides, before) else None
