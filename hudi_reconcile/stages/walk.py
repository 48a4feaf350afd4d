"""Going through a table's segments in batches, those compared longest ago first, until a budget of time is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hudi_reconcile.core.budget import Pace, next_batch
from hudi_reconcile.core.coverage import segments_of
from hudi_reconcile.core.segments import Segmentation, SegmentSet
from hudi_reconcile.core.values import LakePin
from hudi_reconcile.ports import Clock, SegmentDigest
from hudi_reconcile.stages.sides import Sides


@dataclass(frozen=True, slots=True)
class Batch:
    """Segments that were compared together, and when their comparison began."""

    segments: SegmentSet
    begun_micros: int


@dataclass(frozen=True, slots=True)
class Walk:
    """All segments in their order, and until when a new batch may begin. `at_once`: a part costs as much as the whole."""

    clock: Clock
    order: tuple[int, ...]
    until_seconds: float
    at_once: bool = False


def compared_in(batches: Sequence[Batch] | None, cut: Segmentation) -> SegmentSet | None:
    """The segments of all batches; None where that is the table itself: then the source need not be told which."""
    found = SegmentSet.of(segment for one in batches or () for segment in one.segments.ids)
    return None if batches is None or len(found.ids) == segments_of(cut) else found


def walked(sides: Sides, pin: LakePin, walk: Walk) -> tuple[tuple[SegmentDigest, ...], tuple[Batch, ...]]:
    """Digest both sides batch by batch; ordered by segment. At least one batch is compared, however small the budget."""
    clock, order = walk.clock, walk.order
    begun = clock.monotonic_seconds()
    digests: list[SegmentDigest] = []
    batches: list[Batch] = []
    done = last = 0
    while done < len(order):
        now = clock.monotonic_seconds()
        unequal = sum(not one.equal for one in digests)
        pace = Pace(len(order), done, last, unequal, now - begun, walk.until_seconds - now)
        last = len(order) if walk.at_once else next_batch(pace)
        if not last:
            break
        batch = Batch(SegmentSet.of(order[done : done + last]), clock.utc_micros())
        # All of them is the table itself: then the source need not be told which.
        chosen = None if last == len(order) else batch.segments
        digests += sides.comparer.digests(sides.first_look(pin, chosen), chosen)
        batches.append(batch)
        done += last
    return tuple(sorted(digests, key=lambda one: one.segment)), tuple(batches)
