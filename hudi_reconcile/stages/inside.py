"""Digests computed inside the source, held against the lake's: the first look of `pushdown`, and what it must explain."""

from __future__ import annotations

from hudi_reconcile.core.canon import SegmentSum
from hudi_reconcile.core.segments import SegmentSet
from hudi_reconcile.core.values import LakePin
from hudi_reconcile.ports import Look, SegmentDigest
from hudi_reconcile.stages.sides import Sides


def digests_of(sides: Sides, pin: LakePin) -> tuple[SegmentDigest, ...]:
    """Digest all rows of both sides at the same time, each where it is."""
    inside = sides.source.digests_inside(sides.table, sides.agreement, sides.cut)
    theirs = sides.comparer.text_digests(sides.lake.rows(pin))
    return met(inside(), theirs)


def met(source: tuple[SegmentSum, ...], lake: tuple[SegmentSum, ...]) -> tuple[SegmentDigest, ...]:
    """The sums of both sides, segment by segment; a segment that one side lacks has no rows there."""
    ours = {item.segment: item for item in source}
    theirs = {item.segment: item for item in lake}
    found = []
    for segment in sorted(ours.keys() | theirs.keys()):
        here = ours.get(segment, SegmentSum(segment, 0, 0, 0))
        there = theirs.get(segment, SegmentSum(segment, 0, 0, 0))
        found.append(SegmentDigest(segment, here.rows, there.rows, here == there))
    return tuple(found)


def unexplained(sides: Sides, pin: LakePin, quiet: SegmentSet) -> SegmentSet:
    """Of segments whose digests differed and whose rows did not: those where this is so again.

    Rows may have been equal by the time they were read, so both are looked at once more. What is left means that source
    and Spark write some value differently: the digests prove nothing there, and calling it clean would be a guess.
    """
    if not quiet.ids:
        return quiet
    wanted = set(quiet.ids)
    still = SegmentSet.of(one.segment for one in digests_of(sides, pin) if one.segment in wanted and not one.equal)
    if not still.ids:
        return still
    comparer = sides.comparer
    look = Look(sides.source.rows(sides.table, sides.cut, still), comparer.keep(sides.lake.rows(pin), still))
    explained = {int(segment) for segment in comparer.count(comparer.candidates(look, still), "segment")}
    return SegmentSet.of(set(still.ids) - explained)
