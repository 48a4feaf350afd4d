"""Two looks at both sides, the second later than the first: only what differs twice, and did not move between, is drift.

The lake is pinned first, then the source is read: a row that the source changed in between can look older in the lake,
never newer, and is then `pending` or `moving`. Used by the sweep for all segments and by the verification for some.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hudi_reconcile.core.agreement import Agreement
from hudi_reconcile.core.classify import PendingRange
from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.core.segments import Segmentation, SegmentSet
from hudi_reconcile.core.values import CheckpointAt, LakePin, Moment, SourceTable
from hudi_reconcile.ports import Clock, Comparer, Frame, Lake, Look, SegmentDigest, Source
from hudi_reconcile.stages.inside import digests_of, unexplained
from hudi_reconcile.stages.watermarks import Watermark

_BEFORE_ALL = -(2**62)
NO_SEGMENTS = SegmentSet(())


@dataclass(frozen=True, slots=True)
class Sides:
    """What is compared, and where it is. `pushdown`: a look at all segments digests the source's rows inside the source."""

    table: SourceTable
    agreement: Agreement
    cut: Segmentation
    source: Source
    lake: Lake
    comparer: Comparer
    pushdown: bool = False

    @property
    def edges(self) -> tuple[Source, Lake, Comparer]:
        """The edges alone."""
        return self.source, self.lake, self.comparer


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What two looks found. `pin` and `moment` are those of the last look that was needed.

    `findings` is None where every segment was equal at once. `steady` is False where a lake writer that was in flight at
    a pin has completed since: then the pin did not name one snapshot. `missed_rows` is how many rows the first read
    lacked against the table's own count, None where the source changed meanwhile and the two cannot be compared.
    `unexplained` are segments whose digests differ while their rows are equal: digests that prove nothing.
    """

    digests: tuple[SegmentDigest, ...]
    unequal: SegmentSet
    findings: Frame | None
    kinds: Mapping[str, int]
    pin: LakePin
    moment: Moment
    checkpoint: CheckpointAt | None
    steady: bool
    missed_rows: int | None
    unexplained: SegmentSet = NO_SEGMENTS

    @property
    def source_rows(self) -> int:
        """Source rows seen at the first look."""
        return sum(digest.source_rows for digest in self.digests)

    @property
    def lake_rows(self) -> int:
        """Lake rows seen at the first look."""
        return sum(digest.lake_rows for digest in self.digests)


@dataclass(frozen=True, slots=True)
class Waiting:
    """When a difference is pending, and how long to wait between the looks."""

    clock: Clock
    settle_seconds: float
    overlap_micros: int
    watermark: Watermark


def look_twice(sides: Sides, waiting: Waiting, segments: SegmentSet | None) -> Confirmed:
    """Compare all segments, or some. Raises LakeError where the table has no completed commit."""
    pin, checkpoint = pinned(sides.lake)
    moment = sides.source.moment()
    digests = _digests(sides, pin, segments)
    missed = _missed_rows(sides, moment, digests) if segments is None else None
    unequal = SegmentSet.of(digest.segment for digest in digests if not digest.equal)
    if not unequal.ids:
        return Confirmed(digests, unequal, None, {}, pin, moment, checkpoint, sides.lake.still(pin), missed)
    kept = sides.comparer.keep(sides.lake.rows(pin), unequal)
    candidates = sides.comparer.candidates(Look(_source(sides, unequal), kept), unequal)
    waiting.clock.sleep(waiting.settle_seconds)
    later, checkpoint = pinned(sides.lake)
    moment = sides.source.moment()
    if later.instant != pin.instant:  # an instant shows one state, so the rows that were kept are those of now
        kept = sides.comparer.keep(sides.lake.rows(later), unequal)
    second = Look(_source(sides, unequal), kept)
    findings = sides.comparer.findings(
        candidates, second, unequal, pending_range(checkpoint, waiting, sides.source, moment)
    )
    kinds = sides.comparer.count(findings, "kind")
    unproven = _unexplained(sides, later, unequal, findings) if sides.pushdown and segments is None else NO_SEGMENTS
    steady = sides.lake.still(pin) and sides.lake.still(later)
    return Confirmed(digests, unequal, findings, kinds, later, moment, checkpoint, steady, missed, unproven)


def _digests(sides: Sides, pin: LakePin, segments: SegmentSet | None) -> tuple[SegmentDigest, ...]:
    if sides.pushdown and segments is None:
        return digests_of(sides.table, sides.agreement, sides.cut, pin, sides.edges)
    return sides.comparer.digests(Look(_source(sides, segments), sides.lake.rows(pin)), segments)


def _unexplained(sides: Sides, pin: LakePin, unequal: SegmentSet, findings: Frame) -> SegmentSet:
    told = {int(segment) for segment in sides.comparer.count(findings, "segment")}
    return unexplained(
        SegmentSet.of(set(unequal.ids) - told),
        table=sides.table,
        agreement=sides.agreement,
        cut=sides.cut,
        pin=pin,
        edges=sides.edges,
    )


def _missed_rows(sides: Sides, before: Moment, digests: tuple[SegmentDigest, ...]) -> int | None:
    """Hold the rows read against the table's own count, where nothing was committed in between.

    The same snapshot before and after means that no transaction began or ended: then the two must be equal.
    """
    counted = sides.source.rows_now(sides.table)
    if sides.source.moment().snapshot != before.snapshot:
        return None
    return counted - sum(digest.source_rows for digest in digests)


def pinned(lake: Lake) -> tuple[LakePin, CheckpointAt | None]:
    """The newest snapshot and the checkpoint of that same snapshot.

    A pull that commits between the two questions would give a checkpoint that the snapshot does not reach, and the rows
    it brought would look late: then both are asked again.
    """
    while True:
        pin = lake.pin()
        if pin is None:
            raise LakeError("the lake table has no completed commit yet", fix="pull it first: hudi-reconcile pull")
        checkpoint = lake.checkpoint()
        if checkpoint is None or checkpoint.instant.completed <= pin.instant.completed:
            return pin, checkpoint


def pending_range(
    checkpoint: CheckpointAt | None, waiting: Waiting, source: Source, moment: Moment
) -> PendingRange | None:
    """The watermarks that coming pulls will read; None where no checkpoint with these watermark columns exists."""
    mark = waiting.watermark
    if checkpoint is None or not mark.columns or checkpoint.checkpoint.watermark != mark.names:
        return None
    reached = checkpoint.checkpoint.watermark_micros
    # Nothing with a watermark was pulled so far: the next pull reads all that have one.
    after = _BEFORE_ALL if reached is None else reached - waiting.overlap_micros
    return PendingRange(after, mark.horizon(moment, source.zone_offset_micros))


def _source(sides: Sides, segments: SegmentSet | None) -> Frame:
    return sides.source.rows(sides.table, sides.cut, segments)
