"""Two looks at both sides, the second later than the first: only what differs twice, and did not move between, is drift.

The lake is pinned first, then the source is read: a row that the source changed in between can look older in the lake,
never newer, and is then `pending` or `moving`. Used by the sweep for all segments and by the verification for some. The
first look goes through all segments at once, or in batches until a budget is spent, or holds digests made inside the source
against the lake's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from hudi_reconcile.core.errors import LakeError, UsageError
from hudi_reconcile.core.pull.cursor import build_next_window
from hudi_reconcile.core.sweep.drift import PendingRange
from hudi_reconcile.core.sweep.segments import (
    NO_SEGMENTS,
    SegmentSet,
)
from hudi_reconcile.core.tables.key_encoding import MOST_ASKED, Key
from hudi_reconcile.core.tables.values import CheckpointAt, LakePin, Moment
from hudi_reconcile.ports import Clock, Frame, KeysOf, Lake, Look, SegmentDigest, Survey
from hudi_reconcile.stages.comparison import Sides, TablePair, join_sums
from hudi_reconcile.stages.hoodiestreamer import find_furthest_mark
from hudi_reconcile.stages.job import Pause, TableJob
from hudi_reconcile.stages.sweep.content_proof import ProofKeeper
from hudi_reconcile.stages.sweep.scan import Scan, scan_segments, wait_for_source
from hudi_reconcile.stages.sweep.second_look import can_narrow, choose_second_look
from hudi_reconcile.stages.sweep.short_reads import (
    Loss,
    count_before,
    count_missed_in_scope,
    is_still,
    suspect_loss,
    weigh_counts,
)
from hudi_reconcile.stages.watermark import Watermark

# A busy table may come one short by chance, in a look out of three at worst; a read that loses rows does so each time.
_FIRST_LOOKS = 4


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What the first look saw. `next_segments` are what the second reads: the unequal segments, or parts of them.

    `walked` are the segments that a budget sufficed for, None where there was no budget; `altered` the columns of which a
    read alters values, None where nobody asked.
    """

    digests: tuple[SegmentDigest, ...]
    next_segments: SegmentSet = NO_SEGMENTS
    walked: SegmentSet | None = None
    altered: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class LookResult:
    """What two looks found. `pin` and `moment` are those of the last look that was needed.

    `findings` is None where every segment was equal at once. `steady` is False where a lake writer that was in flight at
    a pin has completed since, or the cleaner passed it: then the pin did not name one whole snapshot. `missed_rows` is how
    many rows the first read lacked against the table's own count, None where nobody can tell. `unexplained` are segments
    whose digests differ while their rows are equal: digests that prove nothing. `misread_rows` differed in one read and were
    equal in another, though neither side had changed: one of the reads was not whole.
    """

    first: FirstLook
    findings: Frame | None
    kinds: Mapping[str, int]
    pin: LakePin
    moment: Moment
    checkpoint: CheckpointAt | None
    steady: bool
    missed_rows: int | None
    unexplained: SegmentSet = NO_SEGMENTS
    misread_rows: int = 0

    @property
    def source_rows(self) -> int:
        """Source rows seen at the first look."""
        return sum(digest.source_rows for digest in self.first.digests)

    @property
    def lake_rows(self) -> int:
        """Lake rows seen at the first look."""
        return sum(digest.lake_rows for digest in self.first.digests)


def select_unequal(digests: tuple[SegmentDigest, ...]) -> SegmentSet:
    """The segments whose digests differ."""
    return SegmentSet.of(digest.segment for digest in digests if not digest.equal)


@dataclass(frozen=True, slots=True)
class LookTiming:
    """When a difference is pending, and how long to wait between the looks. `foreign`: another tool may pull too.

    `limit_seconds` may be spent on looking again at rows that moved between the looks. No look begins in a `pause`.
    """

    clock: Clock
    settle_seconds: float
    overlap_micros: int
    watermark: Watermark
    foreign: bool = False
    limit_seconds: float = 0.0
    pause: Pause | None = None


def choose_timing(
    job: TableJob, watermark: Watermark, pair: TablePair, clock: Clock, pause: Pause | None = None
) -> LookTiming:
    """As the table's settings say."""
    return LookTiming(
        clock,
        job.sweep.settle_seconds,
        job.pull.overlap_micros,
        watermark,
        foreign=not pair.lake_table.owned,
        limit_seconds=job.sweep.settle_limit_seconds,
        pause=pause,
    )


@dataclass(frozen=True, slots=True)
class _FirstFrames:
    """A first look, and the frames that only the second needs; `candidates` is None where every segment was equal.

    `kept` are the lake's rows that are looked at again, None where they are yet to be read. `suspected`: rows are missing, or
    the source lost some and gained others while it was read; `loss` is how many.
    """

    look: FirstLook
    kept: Frame | None
    candidates: Frame | None
    missed: int | None
    suspected: bool
    loss: Loss


def look_twice(sides: Sides, timing: LookTiming, segments: SegmentSet | None, walk: Walk | None = None) -> LookResult:
    """Compare all segments, or some; with a walk as many as its budget lets.

    Raises LakeError where the table has no completed commit.
    """
    wait_for_source(timing.pause, timing.clock)
    pin, checkpoint, moment, first = _look_until_whole(sides, segments, walk)
    if first.candidates is None:
        return LookResult(first.look, None, {}, pin, moment, checkpoint, sides.lake.is_intact(pin), first.missed)
    begun = moment
    timing.clock.sleep(timing.settle_seconds)
    wait_for_source(timing.pause, timing.clock)
    later, checkpoint = pin_lake(sides.lake)
    moment = sides.source.read_moment()
    # An instant shows one state, so the rows that were kept are those of now.
    part, kept = first.look.next_segments, first.kept
    if kept is None or later.instant != pin.instant:
        kept = sides.comparer.keep(sides.lake_rows(later), part)
    pending = find_pending_range(later, checkpoint, timing, sides, moment)
    with hold_one_moment(sides):
        look = Look(sides.source_rows(part), kept)
        findings = sides.comparer.judge_candidates(
            first.candidates, look, part, pending, whole_lake=partial(sides.lake.read_rows, later)
        )
        findings, kinds, silent = _doubt_losses(sides, findings, begun, first)
    unproven = find_unexplained(sides, later, silent) if sides.pushdown and segments is None else NO_SEGMENTS
    steady = all(sides.lake.is_intact(lake_pin) for lake_pin in {pin, later})
    # What some partitions lack is deleted only where a read of them is known to be complete.
    missed = count_missed_in_scope(sides) if sides.scope is not None and kinds.get("deleted") else first.missed
    silent_segments = len(silent.ids) - len(unproven.ids)
    misread = _misread(sides, kinds, silent_segments, begun) if later.instant == pin.instant else 0
    return LookResult(first.look, findings, kinds, later, moment, checkpoint, steady, missed, unproven, misread)


def _doubt_losses(
    sides: Sides, findings: Frame, begun: Moment, first: _FirstFrames
) -> tuple[Frame, Mapping[str, int], SegmentSet]:
    """The findings, their number by kind, and the unequal segments in which none lies.

    Rows that the source still counts, though the reads lacked them, are `moving`.

    A read that lost a row which the lake lacks shows the same as a row that was deleted meanwhile; and reads that lose a row
    which the lake has, the same as a deleted one. So the source is asked for those keys once more, by its own count; of deleted
    rows only where the counts around the first read prove nothing, or that it came short.
    """
    unequal = select_unequal(first.look.digests)
    kinds, silent = _count_kinds(sides, findings, unequal)
    doubted: list[KeysOf] = ["absent"] if kinds.get("settled") else []
    if kinds.get("deleted") and (first.missed or not (sides.one_snapshot or is_still(sides, begun))):
        doubted.append("deleted")
    for which in doubted:
        held_rows = _count_named(sides, sides.comparer.named_keys(findings, which, MOST_ASKED))
        # What cannot be asked for is not settled; a delete of it is asked for by other means before it is made.
        if held_rows or (held_rows is None and which == "absent"):
            findings = sides.comparer.unsettle(findings, which)
            kinds, silent = _count_kinds(sides, findings, unequal)
    return findings, kinds, silent


def _count_kinds(sides: Sides, findings: Frame, unequal: SegmentSet) -> tuple[Mapping[str, int], SegmentSet]:
    kinds, segments = Counter[str](), set[int]()
    for place, rows in sides.comparer.count(findings, "segment", "kind").items():
        segment, kind = place.split(" ")
        kinds[kind] += rows
        segments.add(int(segment))
    return kinds, SegmentSet.of(set(unequal.ids) - segments)


def _count_named(sides: Sides, keys: Sequence[Key] | None) -> int | None:
    if not keys:
        return None if keys is None else 0
    named = sides.source.find_named_rows(sides.table, keys)
    return None if named is None else named.rows


def _look_until_whole(
    sides: Sides, segments: SegmentSet | None, walk: Walk | None
) -> tuple[LakePin, CheckpointAt | None, Moment, _FirstFrames]:
    """The first look, again where it seems that rows are missing from it."""
    known = Loss()
    for looks_left in reversed(range(_FIRST_LOOKS)):
        pin, checkpoint = pin_lake(sides.lake)
        moment = sides.source.read_moment()
        # A later look counts before it reads. A content proof does so in each, and searches what it compares alone.
        asks_beside = segments is None and (looks_left == _FIRST_LOOKS - 1 or isinstance(walk, ProofKeeper))
        looked = sides if asks_beside else replace(sides, survey=None)
        first = _first_look(looked, pin, moment, segments, walk, known=known)
        if not first.suspected or not looks_left:
            return pin, checkpoint, moment, first
        known = first.loss
    raise AssertionError(_FIRST_LOOKS)


def _first_look(
    sides: Sides, pin: LakePin, moment: Moment, segments: SegmentSet | None, walk: Walk | None = None, *, known: Loss
) -> _FirstFrames:
    with hold_one_moment(sides) as frozen:
        counted = _counted_digests(sides, pin, segments, walk)
        digests, done, before = counted.digests, counted.walked, counted.before_rows
        missed, busy = weigh_counts(
            sides, moment, digests, before, done, by_batch=counted.by_batch_rows, segments=segments, frozen=frozen
        )
        loss = Loss()
        digests = digests if busy is None else busy.digests
        part = unequal = select_unequal(digests)
        kept = candidates = None
        if unequal.ids:
            lake, is_narrow = sides.lake_rows(pin), can_narrow(sides, unequal)
            # Where few of these rows will be read again, all of them are not worth keeping.
            if not is_narrow:
                lake = kept = sides.comparer.keep(lake, unequal)
            candidates = sides.comparer.find_candidates(Look(sides.source_rows(unequal), lake), unequal)
            if is_narrow:
                part = choose_second_look(sides, digests, unequal, candidates)
        if busy is not None:
            loss = suspect_loss(sides, busy, candidates, segments, known)
            missed = loss.rows or None
        is_suspected = (loss.rows > 0 or loss.is_excused) and before is not None
        return _FirstFrames(
            FirstLook(digests, part, done, counted.altered), kept, candidates, missed, is_suspected, loss
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    """Digests, and what the source counted of the same rows: before all of them, or before each batch of a walk.

    `walked` are the segments that a budget sufficed for, and `altered` the columns that a read alters.
    """

    digests: tuple[SegmentDigest, ...]
    walked: SegmentSet | None = None
    before_rows: int | None = None
    by_batch_rows: int | None = None
    altered: tuple[str, ...] | None = None


def _counted_digests(sides: Sides, pin: LakePin, segments: SegmentSet | None, walk: Walk | None) -> _Counted:
    if isinstance(walk, ProofKeeper):
        kept, rows, altered = walk.look(sides, pin)
        return _Counted(digests=kept, before_rows=rows, altered=altered)
    if walk is None and sides.survey and not sides.scope:
        surveyed, rows_beside, altered = _digest_beside_survey(sides, pin, sides.survey)
        return _Counted(digests=surveyed, before_rows=rows_beside, altered=altered)
    # Which segments a budget suffices for is known after the read, but where all are read at once.
    before = count_before(sides, segments) if walk is None or walk.is_endless or walk.at_once else None
    if walk is None:
        return _Counted(digests=_digests(sides, pin, segments), before_rows=before)
    digests, done, rows_by_batch = scan_segments(sides, pin, walk, counts=before is None)
    return _Counted(digests=digests, walked=done, before_rows=before, by_batch_rows=rows_by_batch)


@contextmanager
def hold_one_moment(sides: Sides) -> Iterator[bool]:
    """One moment of the source for a whole look, where that was asked for."""
    if not sides.one_snapshot:
        yield False
        return
    with sides.source.freeze() as name:
        if name is None:
            raise UsageError(
                "sweep.snapshot: shared is not possible: this database cannot share one snapshot between connections",
                fix="set sweep.snapshot: none; the second look tells what changed meanwhile",
            )
        yield True


def _digests(sides: Sides, pin: LakePin, segments: SegmentSet | None) -> tuple[SegmentDigest, ...]:
    if sides.pushdown and segments is None:
        return digest_both(sides, pin)
    return sides.comparer.compare_digests(sides.first_look(pin, segments), segments)


def _digest_beside_survey(
    sides: Sides, pin: LakePin, begin: Callable[[SegmentSet | None], Callable[[], Survey]]
) -> tuple[tuple[SegmentDigest, ...], int | None, tuple[str, ...]]:
    """The digests, the source's count beside their read, which may be a moment younger, and the columns that a read alters.

    Where it finds more rows than were read, the next look counts before it reads.
    """
    look, answer = sides.first_look(pin), begin(None)
    digests, survey = sides.comparer.compare_digests(look, None), answer()
    return digests, survey.rows, survey.altered


def _misread(sides: Sides, kinds: Mapping[str, int], silent_segments: int, since: Moment) -> int:
    """Rows, at least, of which two reads of one state differ: those that changed, and one of each silent segment.

    Not where a row within a tolerance, or outside the partitions asked for, may be why digests differ.
    """
    silent_rows = 0 if sides.agreement.is_tolerant or sides.scope is not None else silent_segments
    changed = kinds.get("settled", 0) + kinds.get("moving", 0) + silent_rows
    return changed if changed and is_still(sides, since) else 0


def pin_lake(lake: Lake) -> tuple[LakePin, CheckpointAt | None]:
    """The newest snapshot and the checkpoint of that same snapshot.

    A pull that commits between the two questions would give a checkpoint that the snapshot does not reach, and the rows
    it brought would look late: then both are asked again.
    """
    while True:
        pin = lake.pin()
        if pin is None:
            raise LakeError("the lake table has no completed commit yet", fix="pull it first: hudi-reconcile pull")
        checkpoint = lake.find_checkpoint()
        if checkpoint is None or checkpoint.instant.completed <= pin.instant.completed:
            return pin, checkpoint


def find_pending_range(
    pin: LakePin, checkpoint: CheckpointAt | None, timing: LookTiming, sides: Sides, moment: Moment
) -> PendingRange | None:
    """The rows that coming pulls will read; None where no checkpoint with these columns, of this source, exists.

    What HoodieStreamer commits after the pin counts for nothing: the pinned lake lacks the rows that it brought. A pull refuses
    to go on from another source's checkpoint, so nothing may wait for it.
    """
    mark, ours = timing.watermark, None if checkpoint is None else checkpoint.checkpoint
    if not mark.moving:
        return None
    if ours is not None and ours.source_identity != sides.table.identity:
        ours = None
    with_ties = False
    if timing.foreign:
        after = find_furthest_mark(
            mark, ours, sides.lake.read_origin(pin.instant), overlap_micros=timing.overlap_micros
        )
        known = after is not None  # that a correction carried an empty checkpoint says nothing of its own puller
    else:
        reached = mark.find_reached_mark(ours)
        window = build_next_window(mark.order, reached, None, overlap_micros=timing.overlap_micros)
        after, with_ties = (None, False) if window.lower is None else (window.lower.mark, window.lower.inclusive)
        known = ours is not None and mark.continues(ours)
    if not known:
        return None
    until = mark.horizon(moment, sides.source.zone_offset_micros)
    return PendingRange(after, until, by_id=not mark.columns, with_ties=with_ties)


Walk = Scan | ProofKeeper


def digest_both(sides: Sides, pin: LakePin) -> tuple[SegmentDigest, ...]:
    """Digest all rows of both sides at the same time, each where it is."""
    inside = sides.source.digest_inside(sides.table, sides.agreement, sides.cut)
    theirs = sides.comparer.digest_texts(sides.lake.read_rows(pin))
    return join_sums(inside(), theirs)


def find_unexplained(sides: Sides, pin: LakePin, quiet: SegmentSet) -> SegmentSet:
    """Of segments whose digests differed and whose rows did not: those where this is so again.

    Rows may have been equal by the time they were read, so both are looked at once more. What is left means that source
    and Spark write some value differently: the digests prove nothing there, and calling it clean would be a guess.
    """
    if not quiet.ids:
        return quiet
    wanted = set(quiet.ids)
    still = SegmentSet.of(
        digest.segment for digest in digest_both(sides, pin) if digest.segment in wanted and not digest.equal
    )
    if not still.ids:
        return still
    comparer = sides.comparer
    look = Look(sides.source.read_rows(sides.table, sides.cut, still), comparer.keep(sides.lake.read_rows(pin), still))
    explained = {int(segment) for segment in comparer.count(comparer.find_candidates(look, still), "segment")}
    return SegmentSet.of(set(still.ids) - explained)
