"""Going through a table's segments in batches, those compared longest ago first, until a budget of time is spent."""

from __future__ import annotations

from dataclasses import dataclass

from hudi_reconcile.core.budget import Pace, next_batch
from hudi_reconcile.core.coverage import segments_of
from hudi_reconcile.core.segments import Segmentation, SegmentSet
from hudi_reconcile.core.values import LakePin
from hudi_reconcile.ports import Clock, SegmentDigest
from hudi_reconcile.stages.sides import Sides


@dataclass(frozen=True, slots=True)
class Walk:
    """All segments in their order, and until when a new batch may begin. `at_once`: a part costs as much as the whole."""

    clock: Clock
    order: tuple[int, ...]
    until_seconds: float
    at_once: bool = False


def in_part(walked: SegmentSet | None, cut: Segmentation) -> SegmentSet | None:
    """The segments of a walk; None where that is the table itself: then the source need not be told which."""
    return None if walked is None or len(walked.ids) == segments_of(cut) else walked


def walked(sides: Sides, pin: LakePin, walk: Walk) -> tuple[tuple[SegmentDigest, ...], SegmentSet]:
    """Digest both sides batch by batch, by segment, and which those were. At least one batch is compared."""
    clock, order = walk.clock, walk.order
    begun = clock.monotonic_seconds()
    digests: list[SegmentDigest] = []
    done = last = 0
    while done < len(order):
        now = clock.monotonic_seconds()
        unequal = sum(not one.equal for one in digests)
        pace = Pace(len(order), done, last, unequal, now - begun, walk.until_seconds - now)
        last = len(order) if walk.at_once else next_batch(pace)
        if not last:
            break
        chosen = in_part(SegmentSet.of(order[done : done + last]), sides.cut)
        digests += sides.comparer.digests(sides.first_look(pin, chosen), chosen)
        done += last
    return tuple(sorted(digests, key=lambda one: one.segment)), SegmentSet.of(order[:done])
