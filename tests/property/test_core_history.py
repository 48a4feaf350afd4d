"""Random histories keep the invariants, and the same histories find each planted bug."""
# ruff: noqa: ARG002 - mutants have the signature of what they replace

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from hudi_reconcile.core.sweep import segments
from hudi_reconcile.core.sweep.drift import PendingRange
from hudi_reconcile.core.sweep.segments import Segmentation, SegmentSet
from hudi_reconcile.core.tables.key_encoding import Key
from hudi_reconcile.core.tables.partitions import Near
from hudi_reconcile.core.tables.values import READ_SEQ, Checkpoint, Instant, LakeTable, SourceTable
from hudi_reconcile.ports import Corrective, Frame, Look, SegmentDigest, TakenBack, WholeLake
from hudi_reconcile.stages import undo
from hudi_reconcile.stages.apply import apply, recovery
from hudi_reconcile.stages.comparison import Sides
from hudi_reconcile.stages.sweep import two_looks
from tests.fakes.comparer import FakeComparer
from tests.fakes.history import History
from tests.fakes.lake import FakeLake
from tests.fakes.played import FakePlayed
from tests.fakes.rows import SEQNO, rows_of
from tests.fakes.source import FakeSource
from tests.fakes.steps import SEEDS, STEPS_EACH, drawn
from tests.fakes.story import Story
from tests.fakes.world import World
from tests.support.edits import Edits, edited

DRIFT = ("late_arriving", "updated_without_watermark", "regressed", "deleted")


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


class BusyForAllItKnows(Story):
    """No read is known to be of one state: what both reads lost may be planned to be deleted, and the apply asks for it."""

    def _is_sound(self, findings: list[tuple[int, str]], first: Mapping[int, Any]) -> None:
        if not self.world.is_losing:
            Story._is_sound(self, findings, first)


class NamedByTheClock(History):
    """The source cannot tell whether it changed between two moments, as MySQL and other engines by JDBC."""

    story_of = BusyForAllItKnows

    @staticmethod
    def new_world() -> World:
        world = World.new()
        world.source.by_clock = True
        return world


def test_histories_keep_the_invariants_where_the_clock_names_the_moments() -> None:
    run(NamedByTheClock, examples=100)


class SeenAgain(Story):
    """A key that was equal at the first look may differ now: the second sees what differed."""

    sees_all_twice = False


class CandidatesAlone(History):
    story_of = SeenAgain


def test_histories_keep_the_invariants_where_the_second_look_reads_about_the_candidates_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(segments, "MANY_SEGMENTS", 0)

    run(CandidatesAlone, examples=300)


def test_histories_find_a_second_read_that_loses_what_the_lake_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubt_nothing(sides: Any, findings: Any, _: Any, first: Any) -> Any:
        unequal = two_looks.select_unequal(first.look.digests)
        return findings, *two_looks._count_kinds(sides, findings, unequal)

    monkeypatch.setattr(two_looks, "_doubt_losses", doubt_nothing)

    with pytest.raises(AssertionError, match="I7:"):
        run(NamedByTheClock, examples=3_000, find_only=True)


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

    def read_rows(
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
            self.journal.reached("source.read_rows")
            return kept
        self.kept = FakeSource.read_rows(self, table, segmentation, segments, near=near)
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

    def judge_candidates(
        self,
        candidates: Frame,
        look: Look,
        segments: SegmentSet,
        pending: PendingRange | None,
        *,
        whole_lake: WholeLake,
    ) -> Frame:
        found = FakeComparer.judge_candidates(self, candidates, look, segments, pending, whole_lake=whole_lake)
        known = {fact["key"] for fact in rows_of(candidates)}
        return Frame([row for row in rows_of(found) if row["key"] in known])


class DoubleDuty(FakeComparer):
    """Calls what vanished at the second look gone for good: `unchanged` is not asked."""

    __slots__ = ()

    def judge_candidates(
        self,
        candidates: Frame,
        look: Look,
        segments: SegmentSet,
        pending: PendingRange | None,
        *,
        whole_lake: WholeLake,
    ) -> Frame:
        now = rows_of(self.find_candidates(look, segments))
        return FakeComparer.judge_candidates(self, Frame(now), look, segments, pending, whole_lake=whole_lake)


class ForgetsTheRecheck(FakeComparer):
    """Writes every planned row as the source has it, whatever became of the lake's, and asks for no key of a delete."""

    __slots__ = ()

    def recheck(self, plan: Frame, look: Look, segments: SegmentSet, *, rows: int | None = None) -> Frame:
        found = rows_of(FakeComparer.recheck(self, plan, look, segments, rows=rows))
        writable = {"upsert": "source_row", "delete": "lake_row"}
        return Frame([{**row, "status": "ready"} if row[writable[row["action"]]] else row for row in found])

    def list_deletes(self, rechecked: Frame, most: int) -> tuple[Key, ...]:
        return ()


class LosesReads(FakeSource):
    """A part of each whole read gets lost, as long as its rows are there."""

    __slots__ = ()

    def read_rows(
        self,
        table: SourceTable,
        segmentation: Segmentation,
        segments: SegmentSet | None = None,
        *,
        near: Near | None = None,
    ) -> Frame:
        found = FakeSource.read_rows(self, table, segmentation, segments, near=near)
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


def with_lake(lake: type[FakeLake]) -> type[History]:
    class Mutant(History):
        @staticmethod
        def new_world() -> World:
            world = World.new()
            world.lake = lake(world.journal)
            return world

    return Mutant


class TakesBackWhatOthersTouched(FakeLake):
    """Every row of the apply is set back to what it was, whoever changed it since."""

    __slots__ = ()

    def prepare_undo(self, commit: Instant, table: LakeTable, read_seq: int) -> TakenBack:
        found = FakeLake.prepare_undo(self, commit, table, read_seq)
        place = next(number for number, one in enumerate(self.commits) if one.instant == commit)
        before, at = ({row["id"]: row for row in self.commits[number].rows} for number in (place - 1, place))
        now = {row["id"]: row for row in self.now}
        upserts = [{**row, READ_SEQ: read_seq} for key, row in before.items() if row != at.get(key)]
        expected = [{"id": key, "_hr_seqno": now[key][SEQNO] if key in now else None} for key in before | at]
        counts = {("upsert", "ready"): len(upserts)} if upserts else found.counts
        return TakenBack(counts, Corrective(Frame(upserts), found.batch.deletes, Frame(expected)))


class TakesBackNothing(FakeLake):
    """Rows are written as they are now."""

    __slots__ = ()

    def prepare_undo(self, commit: Instant, table: LakeTable, read_seq: int) -> TakenBack:
        found = FakeLake.prepare_undo(self, commit, table, read_seq)
        now = {row["id"]: row for row in self.now}
        same = [now.get(row["id"], row) for row in rows_of(found.batch.upserts)]
        return TakenBack(found.counts, Corrective(Frame(same), found.batch.deletes, found.batch.expected))


class WritesTheNeighbour(FakeLake):
    """A correction gives every row of the file a new version."""

    __slots__ = ()

    def correct(
        self, batch: Corrective, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]
    ) -> Instant:
        instant = FakeLake.correct(self, batch, table, checkpoint, labels)
        self.commits[-1] = replace(self.commits[-1], rows=tuple(self.stamped(row) for row in self.now))
        return instant


class OverlooksARow(FakeComparer):
    """Digests leave out what is alone in the lake."""

    __slots__ = ()

    def compare_digests(self, look: Look, segments: SegmentSet | None) -> tuple[SegmentDigest, ...]:
        there = {row["c0"] for row in rows_of(look.source)}
        left = Frame([row for row in rows_of(look.lake) if row["id"] in there])
        return FakeComparer.compare_digests(self, Look(look.source, left), segments)


class CountsOneTooFew(FakeComparer):
    __slots__ = ()

    def compare_digests(self, look: Look, segments: SegmentSet | None) -> tuple[SegmentDigest, ...]:
        return tuple(
            replace(one, lake_rows=one.lake_rows - 1) for one in FakeComparer.compare_digests(self, look, segments)
        )


class CallsAllOfThemLate(FakeComparer):
    __slots__ = ()

    def judge_candidates(
        self,
        candidates: Frame,
        look: Look,
        segments: SegmentSet,
        pending: PendingRange | None,
        *,
        whole_lake: WholeLake,
    ) -> Frame:
        found = rows_of(FakeComparer.judge_candidates(self, candidates, look, segments, pending, whole_lake=whole_lake))
        return Frame([{**row, "kind": "late_arriving"} if row["action"] == "upsert" else row for row in found])


def _no_count(sides: Sides, segments: object) -> None:
    """Nobody asks the source how many rows there are."""


class DeletesAfterAnIncompleteRead(History):
    @staticmethod
    def new_world() -> World:
        world = World.new()
        world.source = LosesReads(world.journal, world.clock)
        return world


MUTANTS: dict[str, tuple[type[History], str]] = {
    "no compare-and-set": (NoCompareAndSet, "I1:|I13:"),
    "no conflict check": (NoConflictCheck, "I1:"),
    "confirms with the first read": (ConfirmsWithTheFirstRead, "planned|I7:"),
    "clean because candidates vanished": (with_comparer(OnlyCandidates), "I7:"),
    "one look": (
        with_comparer(DoubleDuty),
        "planned though it moved between the looks|planned against what the source holds now",
    ),
    "no recheck": (with_comparer(ForgetsTheRecheck), "I1:|I4:|I5:"),
    "forgets the checkpoint": (with_lake(DropsTheCheckpoint), "I6:"),
    "overlooks a row": (with_comparer(OverlooksARow), "I7:|I9:"),
    "counts a row too few": (with_comparer(CountsOneTooFew), "I9:"),
    "calls every change late": (with_comparer(CallsAllOfThemLate), "I10:"),
    "undo overwrites what others touched": (with_lake(TakesBackWhatOthersTouched), "I13:"),
    "undo writes rows as they are": (with_lake(TakesBackNothing), "I13:"),
    "writes the neighbour too": (with_lake(WritesTheNeighbour), "I14:"),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_histories_find_a_planted_bug(mutant: str) -> None:
    machine, message = MUTANTS[mutant]

    with pytest.raises(AssertionError, match=message):
        run(machine, examples=3_000, find_only=True)  # ends with the first; other Hypothesis versions meet it later


# Rules that are taken out of the code of the stages: the function, its edits, and what the histories say then.
EDITS: dict[str, tuple[Callable[..., Any], Edits, str]] = {
    "delete of a row that every read of the apply lacked": (
        apply._recheck_plan, (("recheck_deletes(sides, rechecked, work.touched)", "(rechecked, ())"),), "I4:",
    ),
    "plan written twice": (recovery.find_done_parts, (("if commit.last", "if False"),), "I3:|I5:"),
    "plan applied again that was undone": (recovery.refuse_undone, (("commit.undone is not None", "False"),), "I13:"),
    "commit taken back twice": (undo.undo, (("if commit.undone is None]", "]"),), "I13:"),
    "undo that is not known by its label": (
        undo._take_back, (("UNDID: commit.instant.requested", ""),), "I1:|I13:|though the plan was not undone"
    ),
    "limits not asked": (apply.apply, (("if no := _refusals(", "if no := (lambda *_: ())("),), "I11:"),
    "counts of a killed apply not read": (recovery.count_earlier, (("if status != WRITTEN", "if False"),), "I5:"),
}  # fmt: skip


@pytest.mark.parametrize("rule", EDITS)
def test_histories_find_a_rule_that_is_taken_out(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, edits, message = EDITS[rule]
    monkeypatch.setattr(function, "__code__", edited(function, edits))

    with pytest.raises(AssertionError, match=message):
        run(History, examples=3_000, find_only=True)


def test_histories_find_deletes_after_an_incomplete_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_looks, "count_before", _no_count)
    monkeypatch.setattr(
        two_looks, "_digest_beside_survey", lambda sides, pin, _: (two_looks._digests(sides, pin, None), None, ())
    )

    with pytest.raises(AssertionError, match="planned"):
        run(DeletesAfterAnIncompleteRead, examples=3_000, find_only=True)


def test_histories_of_the_real_world_end_every_command_in_every_way_and_are_killed_and_raced() -> None:
    told = []
    for seed in SEEDS:
        story = Story(FakePlayed(World.new()))
        drawn(story, seed, STEPS_EACH)
        told += story.told

    assert len(told) < 60  # each takes seconds there
    assert {one[:2] for one in told} >= {
        ("killed",), ("refused",), ("pull", "pulled"),
        ("sweep", "clean"), ("sweep", "drift"), ("sweep", "unverified"),
        ("apply", "corrected"), ("apply", "incomplete"), ("undo", "corrected"), ("undo", "incomplete"),
    }  # fmt: skip
    counts = {(one[0], name) for one in told if len(one) > 1 for name in one[2]}
    assert counts >= {
        *(("sweep", kind) for kind in (*DRIFT, "pending", "settled", "moving")),
        *(("apply", name) for name in ("applied", "before", "superseded", "moved")),
        *(("undo", name) for name in ("applied", "superseded")),
    }
    both = {(one[0], *sorted(one[2])) for one in told if len(one) > 1}
    assert {("apply", "applied", "superseded"), ("undo", "applied", "superseded")} <= both, "a part of a plan"
