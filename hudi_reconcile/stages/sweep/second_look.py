"""Where the second look reads: about the candidates alone, in segments in which these are all that differed.

Equal keys add nothing to a segment's gap. Where the gaps of a segment's candidates add up to the gap of its digests, no other
key of it differed when it was digested: the digests prove that, and only the candidates are read again. A segment that does
not add up changed between digest and candidates, or a read lost one of its rows: all of it is read again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from hudi_reconcile.core.sweep.segments import Segmentation, SegmentSet, choose_part, refine, refine_segment
from hudi_reconcile.core.tables.key_encoding import MOST_ASKED
from hudi_reconcile.ports import Frame, KeyPlace, SegmentDigest
from hudi_reconcile.stages.comparison import Sides


def can_narrow(sides: Sides, unequal: SegmentSet) -> bool:
    """Whether the second look may read less than these segments whole: many of them, by digests that say what each row adds."""
    return unequal.is_many and not sides.pushdown and not sides.agreement.is_tolerant


def choose_second_look(
    sides: Sides, digests: tuple[SegmentDigest, ...], unequal: SegmentSet, candidates: Frame
) -> SegmentSet:
    """What of the unequal segments is read again; all of them where the candidates lie in too many places."""
    finer = refine(sides.cut)
    places = sides.comparer.locate(candidates, finer, MOST_ASKED)
    return unequal if places is None else choose_finer(sides.cut, finer, digests, places)


def choose_finer(
    cut: Segmentation, finer: Segmentation, digests: Iterable[SegmentDigest], places: Iterable[KeyPlace]
) -> SegmentSet:
    """The finer segments of the candidates in segments that these explain, and all finer ones of the other unequal segments."""
    by_segment: defaultdict[int, list[KeyPlace]] = defaultdict(list)
    for place in places:
        by_segment[place.segment].append(place)
    chosen: set[int] = set()
    for digest in digests:
        if digest.equal:
            continue
        key_places = by_segment[digest.segment]
        if is_explained(digest, key_places):
            chosen.update(place.finer for place in key_places)
        else:
            chosen.update(refine_segment(cut, finer, digest.segment))
    return SegmentSet.of(chosen, finer)


def estimate_rows(cut: Segmentation, digests: tuple[SegmentDigest, ...], segments: SegmentSet) -> int:
    """About how many source rows the second look reads for these segments: of a part of a segment, its share."""
    _, asked = choose_part(cut, segments)
    if asked is None:
        return sum(digest.source_rows for digest in digests)
    unequal = [digest for digest in digests if not digest.equal]
    rows = sum(digest.source_rows for digest in unequal)
    if asked.finer is None:
        return rows
    whole = sum(len(refine_segment(cut, asked.finer, digest.segment)) for digest in unequal)
    return -(-rows * len(asked.ids) // whole)


def is_explained(digest: SegmentDigest, places: Iterable[KeyPlace]) -> bool:
    """Whether the segment's candidates are all that differed when it was digested."""
    rows, high, low = 0, 0, 0
    for place in places:
        rows, high, low = rows + place.rows_more, high + place.gap[0], low + place.gap[1]
    return (rows, (high, low)) == (digest.source_rows - digest.lake_rows, digest.gap)
