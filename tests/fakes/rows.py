"""What the fakes have in common: rows as dicts, a journal of what was called, and a clock that stands still.

A journal point is a name such as `lake.pin`; a test may hang an action on a point, which then runs once, before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, cast
from zlib import crc32

from hudi_reconcile.core.sweep.segments import RangeSegments, Segmentation, SegmentSet
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.ports import (
    Frame,
)

Row = dict[str, Any]
Action = Callable[[], None]
SEQNO = "_hoodie_commit_seqno"

COLUMNS = (
    Column("id", Kind.INTEGER, "bigint", nullable=False, bits=64),
    Column("v", Kind.INTEGER, "bigint", bits=64),
    Column("at", Kind.TIMESTAMP, "timestamp", precision=6),
)


def rows_of(frame: Frame) -> list[Row]:
    return cast("list[Row]", frame)


@dataclass(slots=True)
class Journal:
    """What was called, in order, and what a test lets happen just before."""

    calls: list[str] = field(default_factory=list)
    planned: list[tuple[str, Action]] = field(default_factory=list)

    def before(self, point: str, action: Action) -> None:
        self.planned.append((point, action))

    def reached(self, point: str) -> None:
        due = [item for item in self.planned if item[0] == point]
        self.planned[:] = [item for item in self.planned if item[0] != point]
        for _, action in due:
            action()
        self.calls.append(point)


class Killed(BaseException):
    """SIGKILL: nothing of the product runs after it."""


@dataclass(slots=True)
class FakeClock:
    """Time stands still but for `sleep` and what a test adds; with a step, each question for a duration takes that long."""

    journal: Journal
    now_micros: int = 1_000
    step_micros: int = 0
    slept_seconds: float = 0.0

    def utc_micros(self) -> int:
        return self.now_micros

    def monotonic_seconds(self) -> float:
        self.now_micros += self.step_micros
        return self.now_micros / 1_000_000

    def sleep(self, seconds: float) -> None:
        self.journal.reached("clock.sleep")
        self.now_micros += int(seconds * 1_000_000)
        self.slept_seconds += seconds


def spread_bits(text: str) -> int:
    """63 bits: sums of CRCs of texts that are alike are often equal."""
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big") >> 1


def segment_of(cut: Segmentation, key: tuple[Any, ...]) -> int:
    """The segment that a key falls into: a hash of the fakes' own, whatever the cut calls it."""
    return cut.find_segment(key[0]) if isinstance(cut, RangeSegments) else crc32(repr(key).encode()) % cut.count


def lies_in(cut: Segmentation, segments: SegmentSet, key: tuple[Any, ...]) -> bool:
    """Whether a key falls into one of these segments."""
    return segment_of(segments.finer or cut, key) in segments.ids
