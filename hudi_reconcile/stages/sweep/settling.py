"""The rows that moved between the two looks: looked at again by key, those alone, until each is judged or time is up.

A row is judged by the same table as at the second look, and against the look just before: what differs the same way twice
is drift, what is equal now has settled, what the next pull brings is pending. What still moves then stays `moving`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from hudi_reconcile.core.sweep.segments import SegmentSet
from hudi_reconcile.core.tables.key_encoding import MOST_ASKED, Key
from hudi_reconcile.core.tables.values import CheckpointAt, LakePin
from hudi_reconcile.ports import Frame, Look
from hudi_reconcile.stages.comparison import Sides
from hudi_reconcile.stages.sweep.two_looks import (
    LookResult,
    LookTiming,
    Walk,
    find_pending_range,
    hold_one_moment,
    look_twice,
    pin_lake,
)

_FIRST_SECONDS = 0.25
_GROWTH = 2


@dataclass(frozen=True, slots=True)
class Settled:
    """What the looks found, pinned as at the second one. `checkpoint` is the newest that a later look saw.

    `silent_rows` were seen to change at the source while their watermark stayed. `rows_fetched`: by the later looks.
    """

    found: LookResult
    checkpoint: CheckpointAt | None
    silent_rows: int = 0
    rows_fetched: int = 0


@dataclass(frozen=True, slots=True)
class _LakeSide:
    """The lake's rows of the segments in which rows move, as of a pin; an instant shows one state and is read once."""

    pin: LakePin
    checkpoint: CheckpointAt | None
    segments: SegmentSet
    kept: Frame


def look_until_settled(
    sides: Sides, timing: LookTiming, segments: SegmentSet | None = None, walk: Walk | None = None
) -> Settled:
    """Look twice; then again at the rows that moved, until none does or `timing.limit_seconds` are spent.

    Raises LakeError where the table has no completed commit.
    """
    comparison, clock = look_twice(sides, timing, segments, walk), timing.clock
    begun, looks, fetched, lake = clock.monotonic_seconds(), 0, 0, None
    while comparison.findings is not None and comparison.kinds.get("moving"):
        pause = choose_pause(looks, clock.monotonic_seconds() - begun, timing.limit_seconds)
        keys = None if pause is None else sides.comparer.named_keys(comparison.findings, "moving", MOST_ASKED)
        if pause is None or keys is None:
            break
        clock.sleep(pause)
        lake, looks = _read_lake(sides, comparison, comparison.findings, lake), looks + 1
        source, rows = _read_source(sides, keys)
        fetched += rows
        if lake is not None and source is not None:
            comparison = _judge_again(sides, timing, comparison, source, lake)
    silent = (
        sides.comparer.count(comparison.findings, "silent").get("true", 0)
        if comparison.findings is not None and looks
        else 0
    )
    return Settled(comparison, comparison.checkpoint if lake is None else lake.checkpoint, silent, fetched)


def _judge_again(
    sides: Sides, timing: LookTiming, comparison: LookResult, source: Frame, lake: _LakeSide
) -> LookResult:
    if comparison.findings is None:
        return comparison
    pending = find_pending_range(lake.pin, lake.checkpoint, timing, sides, comparison.moment)
    look, whole_lake = Look(source, lake.kept), partial(sides.lake.read_rows, lake.pin)
    findings = sides.comparer.judge_again(comparison.findings, look, lake.segments, pending, whole_lake=whole_lake)
    return replace(comparison, findings=findings, kinds=sides.comparer.count(findings, "kind"))


def _read_lake(sides: Sides, comparison: LookResult, findings: Frame, before: _LakeSide | None) -> _LakeSide | None:
    """The lake's newest snapshot; None where there was no whole one so far.

    Beside a replica the lake stays as it was: a later pull of the primary's could hold what the replica has yet to replay.
    """
    if comparison.moment.is_replica:
        pin, checkpoint = comparison.pin, comparison.checkpoint
    else:
        pin, checkpoint = pin_lake(sides.lake)
    if before is not None and before.pin.instant == pin.instant:
        return before
    segments = sides.narrow_segments(findings) if before is None else before.segments
    kept = sides.comparer.keep(sides.lake_rows(pin), segments)
    return _LakeSide(pin, checkpoint, segments, kept) if sides.lake.is_intact(pin) else before


def _read_source(sides: Sides, keys: Sequence[Key]) -> tuple[Frame | None, int]:
    """The source's rows of these keys, and how many were read; no rows to judge by where fewer were than it counts."""
    with hold_one_moment(sides):
        named = sides.source.find_named_rows(sides.table, keys)
        if named is None:
            return None, 0
        rows, count = sides.comparer.stage_rows(named.read())
    return (rows if count >= named.rows else None), count


def choose_pause(looks: int, spent_seconds: float, limit_seconds: float) -> float | None:
    """Seconds to wait before the next look, each pause twice as long as the one before; None where the limit is reached.

    `looks` were made so far, in `spent_seconds` with their pauses. The last pause ends at the limit.

    >>> [choose_pause(looks, 2 * looks, 7) for looks in range(5)]
    [0.25, 0.5, 1.0, 1, None]
    """
    seconds_left = limit_seconds - spent_seconds
    return min(_FIRST_SECONDS * _GROWTH**looks, seconds_left) if seconds_left > 0 else None
