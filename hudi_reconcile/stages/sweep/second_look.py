"""Where the second look reads: about the candidates alone, in segments in which these are all that differed.

What equal keys add to a segment's gap is nothing. So where the gaps of a segment's candidates sum up to the gap that its
digests had, no other key of it differed when they were made: the digests are the proof, and only the candidates are to be
seen again. A segment whose sums are others moved between the digests and the candidates, or lost a row to a read: all of
it is read again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from hudi_reconcile.core.sweep.segments import Segmentation, SegmentSet, refine, refine_segment
from hudi_reconcile.core.tables.key_encoding import MOST_ASKED
from hudi_reconcile.ports import Frame, KeyPlace, SegmentDigest
from hudi_reconcile.stages.comparison import Sides


def choose_second_look(
    sides: Sides, digests: tuple[SegmentDigest, ...], unequal: SegmentSet, candidates: Frame
) -> SegmentSet:
    """The part of the unequal segments that is read again; all of them where that is not much, or nothing is proven."""
    if not unequal.is_many or sides.pushdown or sides.agreement.is_tolerant:
        return unequal
    finer = refine(sides.cut)
    places = sides.comparer.locate(candidates, finer, MOST_ASKED)
    return unequal if places is None else select_again(sides.cut, finer, (d for d in digests if not d.equal), places)


def select_again(
    cut: Segmentation, finer: Segmentation, unequal: Iterable[SegmentDigest], places: Iterable[KeyPlace]
) -> SegmentSet:
    """The finer segments of the candidates where these explain their segment, and all those of the other segments."""
    by_segment: defaultdict[int, list[KeyPlace]] = defaultdict(list)
    for place in places:
        by_segment[place.segment].append(place)
    chosen: set[int] = set()
    for digest in unequal:
        held = by_segment[digest.segment]
        if is_explained(digest, held):
            chosen.update(place.finer for place in held)
        else:
            chosen.update(refine_segment(cut, finer, digest.segment))
    return SegmentSet.of(chosen, finer)


def count_rows_again(cut: Segmentation, unequal: tuple[SegmentDigest, ...], again: SegmentSet) -> int:
    """About how many source rows the second look reads: of a segment that is read in part, by the part."""
    rows, finer = sum(one.source_rows for one in unequal), again.finer
    if finer is None:
        return rows
    whole = sum(len(refine_segment(cut, finer, one.segment)) for one in unequal)
    return -(-rows * len(again.ids) // whole)


def is_explained(digest: SegmentDigest, held: Iterable[KeyPlace]) -> bool:
    """Whether the segment's candidates are all that differed when it was digested."""
    rows, high, low = 0, 0, 0
    for place in held:
        rows, high, low = rows + place.rows_more, high + place.gap[0], low + place.gap[1]
    return (rows, (high, low)) == (digest.source_rows - digest.lake_rows, digest.gap)
