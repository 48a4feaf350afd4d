"""Whether a read of the source came short of the rows that the source itself counts, though others write meanwhile.

While a source stands still, count and read are equal. On a busy one rows come and go between the two: so each segment is counted
again after the read, and one of which the source counts more rows is read once more; what that finds is judged as a candidate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hudi_reconcile.core.sweep.coverage import restrict_walk
from hudi_reconcile.core.sweep.segments import NO_SEGMENTS, HashSegments, SegmentSet
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

    No question is asked where every segment is equal and no row is missing: what the read holds is then what the lake holds, and
    no row that the lake lacks can have come during the read and stand for one that was lost.
    """
    if read.before_rows <= count_read(read.digests) and all(digest.equal for digest in read.digests):
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
    digests_by_segment = {digest.segment: digest for digest in digests}
    seen = {segment: digests_by_segment.get(segment, SegmentDigest(segment, 0, 0, equal=True)) for segment in counted}
    short = SegmentSet.of(s for s, digest in seen.items() if digest.equal and counted[s] > digest.source_rows)
    digests_by_segment |= {segment: replace(seen[segment], equal=False, gap=None) for segment in short.ids}
    return tuple(digests_by_segment[segment] for segment in sorted(digests_by_segment)), short


@dataclass(frozen=True, slots=True)
class Loss:
    """How many rows a look lost, and how many only the lake has: None where nothing was missing, so that none was counted.

    `is_excused`: rows were missing, but as many may have been deleted meanwhile. The first such look is made again.
    """

    rows: int = 0
    gone_rows: int | None = None
    is_excused: bool = False


def suspect_loss(
    sides: Sides, read: BusyRead, candidates: Frame | None, segments: SegmentSet | None, known: Loss
) -> Loss:
    """How many rows that the source counted were in no read, though they cannot have been deleted meanwhile.

    A row that was there before, is in no read, and is not in the lake either (else it is a candidate that only the lake has)
    was lost; or it came after the last pull and went during the read, which the next look does not see again. Counted
    before and now, since a row may also have come between. `known` is of the look before: what only the lake had then was
    gone before this look's count.
    """
    missing = read.before_rows - count_read(read.digests)
    if missing <= 0 and not read.short.ids:
        return Loss()
    sided = {} if candidates is None else sides.comparer.count_one_sided(candidates)
    gone = sum(counts.lake_rows for counts in sided.values())
    went = gone if known.gone_rows is None else max(0, gone - known.gone_rows)
    missing -= sum(
        sided[segment].source_rows for segment in read.short.ids if segment in sided
    )  # the second read found these
    lost = _count_still_short(
        sides, read.digests, SegmentSet.of(segment for segment in read.short.ids if segment not in sided)
    )
    if missing - went > lost:
        now = sides.source.count_rows(sides.table, sides.cut, segments)
        lost = max(lost, missing - max(went, read.before_rows - now))
    return Loss(lost, gone, is_excused=missing > lost and known.gone_rows is None)


def _count_still_short(sides: Sides, digests: tuple[SegmentDigest, ...], silent: SegmentSet) -> int:
    """Rows that the source counts in segments of which a second read showed no more than the first."""
    if not silent.ids:
        return 0
    read = count_read(tuple(digest for digest in digests if digest.segment in silent.ids))
    return max(0, sides.source.count_rows(sides.table, sides.cut, silent) - read)


def doubt_walk(sides: Sides, digests: tuple[SegmentDigest, ...], walked: SegmentSet) -> BusyRead | None:
    """Which of the segments that a budget sufficed for came short: the source now counts more rows than were read of them.

    None where the source cannot count by segment.
    """
    read, counted = count_read(digests), sides.source.count_segments(sides.table, sides.cut)
    if counted is None:
        return None
    asked = set(walked.ids)
    return BusyRead(
        read, *find_short(digests, {segment: rows for segment, rows in counted.items() if segment in asked})
    )


def count_missed_in_scope(sides: Sides) -> int | None:
    """How many rows near some partitions a read lacks, by one more read: which of them are in scope, only Spark can tell."""
    if sides.scope is None:
        return None
    before = sides.source.read_moment()
    read = sum(sides.comparer.count(sides.source_in_scope(), IN_SCOPE).values())
    counted = sides.source.count_rows(sides.table, near=sides.scope.near)
    return counted - read if is_still(sides, before) else None


def weigh_counts(
    sides: Sides,
    moment: Moment,
    digests: tuple[SegmentDigest, ...],
    before: int | None,
    done: SegmentSet | None,
    *,
    by_batch: int | None,
    segments: SegmentSet | None,
    frozen: bool,
) -> tuple[int | None, BusyRead | None]:
    """How many rows the source counted and the look lacks; where others may have written meanwhile, what to doubt instead.

    `by_batch` is what it counted before each batch of a walk. Rows of which it counted more before and after were lost, unless
    as many went as came.
    """
    walked = done if before is None and sides.scope is None else None
    counted = before if walked is None else _count_walked(sides, walked)
    if counted is None:
        return None, None
    missing = counted - count_read(digests)
    if frozen or is_still(sides, moment):
        return missing, None
    if walked is not None:
        missing = missing if by_batch is None else min(missing, by_batch - count_read(digests))
        busy = doubt_walk(sides, digests, walked) if missing > 0 else None
        return (missing if missing > 0 and busy is None else None), busy
    read = BusyRead(counted, digests, NO_SEGMENTS)
    return None, doubt_digests(sides, read) if segments is None else read


def _count_walked(sides: Sides, walked: SegmentSet) -> int:
    return sides.source.count_rows(sides.table, sides.cut, restrict_walk(walked, sides.cut))
