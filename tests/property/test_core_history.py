"""Random histories keep the invariants, and the same histories find each planted bug."""
# ruff: noqa: ARG002 - mutants have the signature of what they replace

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from hudi_reconcile.core.classify import PendingRange
from hudi_reconcile.core.keys import Key
from hudi_reconcile.core.partitions import Near
from hudi_reconcile.core.segments import Segmentation, SegmentSet
from hudi_reconcile.core.values import Checkpoint, Instant, LakeTable, SourceTable
from hudi_reconcile.ports import Corrective, Frame, Look
from hudi_reconcile.stages import confirm
from hudi_reconcile.stages.sides import Sides
from tests.fakes.history import History
from tests.fakes.world import FakeComparer, FakeLake, FakeSource, World, rows_of


def run(machine: type[History], *, examples: int, find_only: bool = False) -> None:
    phases = (Phase.generate,) if find_only else (Phase.generate, Phase.shrink)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples, stateful_step_count=20, deadline=None, phases=phases, derandomize=True,
            suppress_health_check=list(HealthCheck), database=None, report_multiple_bugs=False,
        ),
    )  # fmt: skip


def test_histories_keep_the_invariants() -> None:
    run(History, examples=100)


class NoCompareAndSet(History):
    @staticmethod
    def new_world() -> World:
        world = World.new()
        world.lake.checks_versions = False
        return world


class NoConflictCheck(History):
    @staticmethod
    def new_world() -> World:
        world = World.new()
        world.lake.checks_conflicts = False
        return world


class OneReadForBothLooks(FakeSource):
    """Hands the first look's rows to the second."""

    __slots__ = ("kept",)

    def rows(
        self,
        table: SourceTable,
        segmentation: Segmentation,
        segments: SegmentSet | None = None,
        *,
        near: Near | None = None,
    ) -> Frame:
        kept: Frame | None = getattr(self, "kept", None)
        after_the_first = "clock.sleep" in self.journal.calls[self._last_pin_before_sleep() :]
        if kept is not None and segments is not None and after_the_first:
            self.journal.reached("source.rows")
            return kept
        self.kept = FakeSource.rows(self, table, segmentation, segments, near=near)
        return self.kept

    def _last_pin_before_sleep(self) -> int:
        calls = self.journal.calls
        pins = [place for place, call in enumerate(calls) if call == "lake.pin"]
        return pins[-2] if len(pins) > 1 else 0


class ConfirmsWithTheFirstRead(History):
    @staticmethod
    def new_world() -> World:
        world = World.new()
        world.source = OneReadForBothLooks(world.journal, world.clock)
        return world


class OnlyCandidates(FakeComparer):
    """Forgets what differs at the second look only."""

    __slots__ = ()

    def findings(self, candidates: Frame, look: Look, segments: SegmentSet, pending: PendingRange | None) -> Frame:
        found = FakeComparer.findings(self, candidates, look, segments, pending)
        known = {fact["key"] for fact in rows_of(candidates)}
        return Frame([row for row in rows_of(found) if row["key"] in known])


class DoubleDuty(FakeComparer):
    """Calls what vanished at the second look gone for good: `unchanged` is not asked."""

    __slots__ = ()

    def findings(self, candidates: Frame, look: Look, segments: SegmentSet, pending: PendingRange | None) -> Frame:
        now = rows_of(self.candidates(look, segments))
        return FakeComparer.findings(self, Frame(now), look, segments, pending)


class ForgetsTheRecheck(FakeComparer):
    """Writes every planned row as the source has it, whatever became of the lake's, and asks for no key of a delete."""

    __slots__ = ()

    def recheck(self, plan: Frame, look: Look, segments: SegmentSet) -> Frame:
        rows = rows_of(FakeComparer.recheck(self, plan, look, segments))
        writable = {"upsert": "source_row", "delete": "lake_row"}
        return Frame([{**row, "status": "ready"} if row[writable[row["action"]]] else row for row in rows])

    def to_delete(self, rechecked: Frame, most: int) -> tuple[Key, ...]:
        return ()


class LosesReads(FakeSource):
    """A part of each whole read gets lost, as long as its rows are there."""

    __slots__ = ()

    def rows(
        self,
        table: SourceTable,
        segmentation: Segmentation,
        segments: SegmentSet | None = None,
        *,
        near: Near | None = None,
    ) -> Frame:
        found = FakeSource.rows(self, table, segmentation, segments, near=near)
        return Frame([row for row in rows_of(found) if row["c0"] != 1])


class DropsTheCheckpoint(FakeLake):
    """Corrective commits start the checkpoint anew."""

    __slots__ = ()

    def correct(
        self, batch: Corrective, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]
    ) -> Instant:
        return FakeLake.correct(self, batch, table, replace(checkpoint, watermark_micros=None), labels)


def with_comparer(comparer: type[FakeComparer]) -> type[History]:
    class Mutant(History):
        @staticmethod
        def new_world() -> World:
            world = World.new()
            world.comparer = comparer
            return world

    return Mutant


class ForgetsCheckpoints(History):
    @staticmethod
    def new_world() -> World:
        world = World.new()
        world.lake = DropsTheCheckpoint(world.journal)
        return world


def _no_count(sides: Sides, segments: object) -> None:
    """Nobody asks the source how many rows there are."""


class DeletesAfterAnIncompleteRead(History):
    @staticmethod
    def new_world() -> World:
        world = World.new()
        world.source = LosesReads(world.journal, world.clock)
        return world


MUTANTS: dict[str, tuple[type[History], str]] = {
    "no compare-and-set": (NoCompareAndSet, "I1"),
    "no conflict check": (NoConflictCheck, "I1"),
    "confirms with the first read": (ConfirmsWithTheFirstRead, "planned|I7"),
    "clean because candidates vanished": (with_comparer(OnlyCandidates), "I7"),
    "one look": (with_comparer(DoubleDuty), "planned though it moved between the looks"),
    "no recheck": (with_comparer(ForgetsTheRecheck), "I1"),
    "forgets the checkpoint": (ForgetsCheckpoints, "I6"),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_histories_find_a_planted_bug(mutant: str) -> None:
    machine, message = MUTANTS[mutant]

    with pytest.raises(AssertionError, match=message):
        run(machine, examples=3_000, find_only=True)  # ends with the first; other Hypothesis versions meet it later


def test_histories_find_deletes_after_an_incomplete_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confirm, "_counted_before", _no_count)

    with pytest.raises(AssertionError, match="planned"):
        run(DeletesAfterAnIncompleteRead, examples=3_000, find_only=True)
