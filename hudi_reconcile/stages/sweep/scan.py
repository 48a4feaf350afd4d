"""A first look in batches of segments, oldest comparison first, until a budget is spent; between them the source may rest.

Where others need the source, a sweep waits (`wait_for_source`).
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass

from hudi_reconcile.core.errors import SourceError
from hudi_reconcile.core.sweep.coverage import restrict_walk
from hudi_reconcile.core.sweep.segments import Pace, SegmentSet, choose_first_batch, choose_next_batch
from hudi_reconcile.core.tables.values import LakePin
from hudi_reconcile.ports import Clock, SegmentDigest
from hudi_reconcile.stages.comparison import Sides
from hudi_reconcile.stages.job import Pause
from hudi_reconcile.stages.sweep.short_reads import count_before

log = logging.getLogger("hudi_reconcile.stages")
_PAUSE_STEP_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Scan:
    """All segments in their order, and until when a new batch may begin. `at_once`: a part costs as much as the whole.

    After each batch the source rests, so that batches take `duty` of the time; none begins in a `pause`.
    """

    clock: Clock
    order: tuple[int, ...]
    until_seconds: float
    at_once: bool = False
    duty: float = 1.0
    pause: Pause | None = None

    @property
    def is_endless(self) -> bool:
        """True where every segment's turn comes."""
        return math.isinf(self.until_seconds)


def scan_segments(
    sides: Sides, pin: LakePin, walk: Scan, *, counts: bool
) -> tuple[tuple[SegmentDigest, ...], SegmentSet, int | None]:
    """Digest both sides batch by batch, by segment, and which those were. At least one batch is compared.

    With `counts` also how many rows the source counted before each batch; None where it cannot count some of them.
    """
    clock, order = walk.clock, walk.order
    begun = clock.monotonic_seconds()
    digests: list[SegmentDigest] = []
    done, last, woke = 0, 0, begun
    rows: int | None = 0 if counts else None
    while done < len(order):
        wait_for_source(walk.pause, clock)
        now = clock.monotonic_seconds()
        unequal = sum(not digest.equal for digest in digests)
        pace = Pace(len(order), done, last, unequal, now - begun, walk.until_seconds - now)
        last = len(order) if walk.at_once else choose_next_batch(pace)
        if (walk.duty < 1 or walk.pause is not None) and not walk.at_once:
            last = min(last, choose_first_batch(len(order)))  # long batches would be long bursts
        if not last:
            break
        if done:
            clock.sleep((now - woke) * (1 / walk.duty - 1))
            woke = clock.monotonic_seconds()
        chosen = restrict_walk(SegmentSet.of(order[done : done + last]), sides.cut)
        batch_rows = None if rows is None else count_before(sides, chosen)
        rows = None if rows is None or batch_rows is None else rows + batch_rows
        digests += sides.comparer.compare_digests(sides.first_look(pin, chosen), chosen)
        done += last
    return tuple(sorted(digests, key=lambda digest: digest.segment)), SegmentSet.of(order[:done]), rows


def wait_for_source(pause: Pause | None, clock: Clock) -> None:
    """Let the source alone as long as there is a reason to. Raises SourceError where that takes longer than the limit."""
    if pause is None:
        return
    begun = clock.monotonic_seconds()
    reason = said = pause.find_reason()
    if reason:
        log.warning("the sweep lets the source alone: %s", reason)
    while reason:
        if clock.monotonic_seconds() - begun >= pause.limit_seconds:
            raise SourceError(
                f"the sweep let the source alone for {pause.limit_seconds:g} s and ended: {reason}",
                fix="sweep again when the source is less busy, or raise sweep.pause.limit",
            )
        clock.sleep(_PAUSE_STEP_SECONDS)
        reason = pause.find_reason()
    if said:
        log.info("the sweep goes on after a pause of %.0f s", clock.monotonic_seconds() - begun)
