"""Sweeps that stand on earlier ones, in memory: whatever happens between two nights, they say what a full sweep says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result_parts import CoverageSummary
from hudi_reconcile.core.sweep.proof import ContentProof, build_proof_document, parse
from hudi_reconcile.core.tables.values import PartitionField
from hudi_reconcile.stages.job import PartialSweep, ProofRequest
from hudi_reconcile.stages.sweep.sweep import Swept, sweep
from tests.fakes.world import World, applied, job, pulled

DAY = 86_400_000_000
SEGMENTS = 6
ROWS = tuple((key, key % 3, 100 + key) for key in range(60))
FEW = (7, 8, 9, 23, 24, 41)  # with neighbours, so that changes meet in one segment


def request(earlier: ContentProof | None, rotation: int = 100, least_rows: int = 0) -> PartialSweep:
    return PartialSweep(proof=ProofRequest(rotation, least_rows, "tool 1", lambda: (earlier, "")))


def night(world: World, earlier: ContentProof | None = None, rotation: int = 100, **changes: Any) -> Swept:
    """A sweep of ranges of ten keys; its findings are on the fake disk."""
    found = sweep(job(segments=SEGMENTS, **changes), world.edges, request(earlier, rotation))
    found.save("findings")
    return found


def proof_of(swept: Swept) -> ContentProof:
    assert swept.proof is not None
    return parse(build_proof_document("t", swept.proof))


def covered(swept: Swept) -> CoverageSummary:
    assert swept.result.coverage is not None
    return swept.result.coverage


def why(swept: Swept) -> str:
    return swept.result.provenance["content_proof"]


def proven_world() -> tuple[World, ContentProof]:
    world = pulled(*ROWS)
    return world, proof_of(night(world))


def segments_read(world: World) -> list[tuple[int, ...] | None]:
    """Which segments each read asked the source for since the last question; None: all."""
    found = [segments for segments, _ in world.source.reads]
    world.source.reads.clear()
    return found


def test_night_of_which_nothing_changed_reads_its_share_alone_and_is_whole_and_clean() -> None:
    world, proof = proven_world()
    segments_read(world)

    second = night(world, proof)

    assert (second.result.outcome, second.result.whole) == (Outcome.CLEAN, True)
    assert segments_read(world) == [(0,)]  # the share of the rotation
    assert second.result.source is not None
    assert second.result.lake is not None
    assert (second.result.source.rows, second.result.lake.rows) == (60, 60)
    told = covered(second)
    assert (told.segments, told.compared, told.proven, told.proven_rows) == (7, 1, 6, 50)
    assert told.proven_since_utc is not None
    assert second.result.segments == {"compared": 1, "unequal": 0}
    assert second.rows_fetched == 10


Change = Callable[[World], None]
PLANTED: dict[str, tuple[Change, ...]] = {
    "a silent update at the source": (lambda world: world.source.put(23, 9, 123),),
    "values of two rows swapped at the source": (
        lambda world: world.source.put(23, 0, 123),
        lambda world: world.source.put(24, 2, 124),
    ),
    "a row deleted at the source": (lambda world: world.source.delete(23),),
    "a row inserted late at the source": (lambda world: world.source.put(1000, 1, 50),),
    "a row deleted and another inserted in its segment": (
        lambda world: world.source.delete(3),
        lambda world: world.source.put(-5, 1, 50),
    ),
    "a foreign writer in the lake": (lambda world: world.silently_change_lake(23, 9),),
    "a row gone from the lake": (lambda world: replant(world, [one for one in world.lake.now if one["id"] != 23]),),
    "a row twice in the lake": (
        lambda world: replant(
            world,
            [*world.lake.now, *(world.lake.stamped(dict(one)) for one in world.lake.now if one["id"] == 23)],
        ),
    ),
}


def replant(world: World, rows: list[dict[str, Any]]) -> None:
    world.lake.plant(rows)


@pytest.mark.parametrize("what", PLANTED)
def test_planted_change_is_found_the_next_night_and_again_until_it_is_mended(what: str) -> None:
    world, proof = proven_world()
    for change in PLANTED[what]:
        change(world)

    second = night(world, proof)
    third = night(world, proof_of(second), run_id="run-3")

    full = sweep(job(segments=SEGMENTS), world.edges)
    assert second.result.outcome is third.result.outcome is Outcome.DRIFT
    assert second.result.findings == third.result.findings == full.result.findings


def test_value_that_a_read_alters_is_unverified_each_night_though_its_row_is_carried_until_it_is_gone() -> None:
    world, proof = proven_world()
    world.source.altered, world.source.altered_key = ("v",), 23
    assert (
        night(world, proof).result.outcome is Outcome.CLEAN
    )  # no version says that its row changed: there is no such row

    world.source.put(23, 23 % 3, 123)
    nights = [night(world, proof)]
    nights.append(night(world, proof_of(nights[0]), run_id="run-3"))
    assert [(one.result.outcome, [item.name for item in one.result.unverified]) for one in nights] == [
        (Outcome.UNVERIFIED, ["v"])
    ] * 2
    assert 23 // 10 not in {segment for read in segments_read(world)[-1:] for segment in read or ()}

    world.source.altered = ()
    assert night(world, proof_of(nights[1]), run_id="run-4").result.outcome is Outcome.CLEAN


def test_segments_that_an_apply_mended_are_compared_again_the_next_night() -> None:
    world, proof = proven_world()
    world.source.put(23, 9, 123)
    found = night(world, proof)
    assert applied(world, replace(found.draft, files={}) if found.draft else None).outcome is Outcome.CORRECTED

    after = night(world, proof_of(found))

    assert after.result.outcome is Outcome.CLEAN
    assert "1 were not proven" in why(after)


def test_row_that_waits_for_the_next_pull_is_pending_every_night() -> None:
    world, proof = proven_world()
    world.source.put(23, 9, 999)

    second = night(world, proof)
    third = night(world, proof_of(second), run_id="run-3")

    assert [one.result.not_drift["pending"] for one in (second, third)] == [1, 1]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"server": "another"}, "another server"),
        ({"start": "later"}, "started again"),
        ({"catalog": "x"}, "definition changed"),
        ({"table": "9"}, "another one"),
    ],
)
def test_source_that_is_another_ends_the_proof_and_the_result_says_so(changes: dict[str, str], words: str) -> None:
    world, proof = proven_world()
    world.source.version_facts = changes

    second = night(world, proof)

    assert (covered(second).compared, covered(second).proven) == (7, 0)
    assert any(words in note and "every segment was compared" in note for note in second.result.notes)


def test_count_of_transactions_that_went_back_ends_the_proof() -> None:
    world, proof = proven_world()

    ahead = replace(proof, standing=replace(proof.standing, transactions=world.source.transaction + 1))

    assert "went back" in " ".join(night(world, ahead).result.notes)


@pytest.mark.parametrize(
    "changes", [{"exclude": frozenset({"v"})}, {"where": "v > 0"}, {"path": "/lake/other"}, {"segments": 3}]
)
def test_other_settings_end_the_proof(changes: dict[str, Any]) -> None:
    world, proof = proven_world()

    again = sweep(job(**{"segments": SEGMENTS, **changes}), world.edges, request(proof))

    assert covered(again).proven == 0


def test_cut_that_was_asked_for_anew_ends_the_proof_and_the_result_says_so() -> None:
    world, proof = proven_world()

    assert "sweep.segments was changed" in why(sweep(job(segments=3), world.edges, request(proof)))


def test_tool_of_another_version_ends_the_proof() -> None:
    world, proof = proven_world()
    asked = ProofRequest(100, 0, "tool 2", lambda: (proof, ""))

    again = sweep(job(segments=SEGMENTS), world.edges, PartialSweep(proof=asked))

    assert covered(again).proven == 0


@pytest.mark.parametrize("part", [PartialSweep(("0",)), PartialSweep(budget_seconds=0.0, budget_text="0s")])
def test_sweep_of_a_part_proves_nothing_and_uses_no_proof(part: PartialSweep) -> None:
    world = pulled(*ROWS, partitioned=True)
    proof = proof_of(night(world))
    world.source.put(23, 9, 123)

    done = sweep(
        job(segments=SEGMENTS, partition_by=(PartitionField("v"),)),
        world.edges,
        replace(part, proof=request(proof).proof),
    )

    assert done.proof is None
    assert covered(done).proven == 0


def test_filter_that_asks_more_than_the_row_gives_no_proof_and_the_result_says_so() -> None:
    world, proof = proven_world()

    swept = night(world, proof, is_decided_by_row=False)

    assert why(swept).startswith("none: source.where asks a function, a clock or another table")


def test_sweep_that_is_not_sound_proves_nothing() -> None:
    world = pulled(*ROWS)
    world.source.lost_in_reads = {23}

    found = night(world)

    assert found.result.outcome is not Outcome.CLEAN
    assert found.proof is None or 23 // 10 in found.proof.open_segments.ids


def test_change_between_the_count_of_versions_and_the_read_is_not_proven() -> None:
    world = pulled(*ROWS)
    # Deleted and put back with the lake's own values while the sweep runs: equal, but not by the versions that were counted.
    world.journal.before("source.read_rows", lambda: world.source.put(23, 23 % 3, 123))
    first = night(world)
    assert first.result.outcome is Outcome.CLEAN
    world.journal.calls.clear()

    assert "1 segments changed at the source" in why(night(world, proof_of(first)))


def test_row_that_came_after_the_count_of_versions_and_went_again_is_found_the_next_night() -> None:
    world = pulled(*ROWS)
    world.source.delete(23)
    world.journal.before("source.read_rows", lambda: world.source.put(23, 23 % 3, 123))
    first = night(world)
    assert first.result.outcome is Outcome.CLEAN
    world.source.delete(23)

    assert night(world, proof_of(first)).result.findings["deleted"] == 1


@pytest.mark.parametrize(
    ("settings_", "asked", "words"),
    [
        ({}, {"rotation": 1}, "rotation"),
        ({}, {"least_rows": 61}, "under 61 rows"),
        ({"mode": "pushdown"}, {}, "pushdown"),
        ({"is_query": True}, {}, "query"),
    ],
)
def test_result_says_why_there_is_no_proof(settings_: dict[str, Any], asked: dict[str, int], words: str) -> None:
    world = pulled(*ROWS)

    done = sweep(job(segments=SEGMENTS, **settings_), world.edges, request(None, **asked))

    assert done.proof is None
    assert words in why(done)


def test_source_without_row_versions_is_compared_as_a_whole_and_says_why() -> None:
    world, proof = proven_world()
    world.source.no_versions = "mysql shows no versions of these rows"

    done = night(world, proof)

    assert (covered(done).compared, done.proof, why(done)) == (7, None, f"none: {world.source.no_versions}")


def test_source_whose_versions_cannot_be_read_after_all_is_compared_as_a_whole_and_proves_nothing() -> None:
    world, proof = proven_world()
    world.source.hides_versions = True
    world.source.put(23, 9, 123)

    done = night(world, proof)

    assert (done.result.outcome, covered(done).compared, done.proof) == (Outcome.DRIFT, 7, None)
    assert any("could not be read: column xmin" in note for note in done.result.notes)


def test_where_most_changed_everything_is_read_in_parts() -> None:
    world, proof = proven_world()
    for key in range(0, 60, 5):
        world.source.put(key, key % 3, 100 + key)
    segments_read(world)

    done = night(world, proof)

    assert (done.result.outcome, covered(done).compared, segments_read(world)) == (Outcome.CLEAN, 7, [None])
    assert "more than half" in why(done)


class Nights(RuleBasedStateMachine):
    """Any changes on either side between nights. Each night is held against a sweep that compares everything."""

    @initialize(rotation=st.integers(2, 5))
    def begin(self, rotation: int) -> None:
        self.world, self.rotation = pulled(*ROWS), rotation
        self.proof: ContentProof | None = None
        self.nights, self.compared = 0, dict.fromkeys(range(SEGMENTS + 1), 0)

    @rule(key=st.sampled_from((*FEW, 200, -50)), value=st.integers(0, 2), mark=st.sampled_from((50, 123, 999)))
    def source_writes(self, key: int, value: int, mark: int) -> None:
        self.world.source.put(key, value, mark)

    @rule(key=st.sampled_from(FEW))
    def source_deletes(self, key: int) -> None:
        self.world.source.delete(key)

    @rule(one=st.sampled_from(FEW), other=st.sampled_from(FEW))
    def source_swaps(self, one: int, other: int) -> None:
        table = self.world.source.table
        if one in table and other in table:
            values = table[one]["v"], table[other]["v"]
            self.world.source.put(one, values[1], table[one]["at"])
            self.world.source.put(other, values[0], table[other]["at"])

    @rule(key=st.sampled_from(FEW), value=st.integers(0, 2))
    def lake_changes(self, key: int, value: int) -> None:
        self.world.silently_change_lake(key, value)

    @rule(key=st.sampled_from(FEW))
    def lake_loses(self, key: int) -> None:
        self.world.lake.plant([row for row in self.world.lake.now if row["id"] != key])

    @rule(key=st.sampled_from((*FEW, 300)))
    def lake_gains(self, key: int) -> None:
        if key not in self.world.lake_holds():
            row = {**self.world.lake.now[0], "id": key}
            self.world.lake.plant([*self.world.lake.now, self.world.lake.stamped(row)])

    @rule()
    def server_is_replaced(self) -> None:
        self.world.source.version_facts = {"server": f"server {self.nights}"}

    @rule(days=st.integers(1, 3))
    def time_goes_by(self, days: int) -> None:
        self.world.clock.now_micros += days * DAY

    @rule(mends=st.booleans())
    def night(self, mends: bool) -> None:  # noqa: FBT001
        self.nights += 1
        world, run_id = self.world, f"run-{self.nights}"
        found = night(world, self.proof, self.rotation, run_id=run_id)
        full = sweep(job(segments=SEGMENTS, run_id=run_id), world.edges)

        assert found.result.outcome is full.result.outcome
        assert (found.result.findings, found.result.not_drift) == (full.result.findings, full.result.not_drift)
        assert (found.result.source, found.result.lake) == (full.result.source, full.result.lake)
        assert found.result.whole
        assert found.coverage is not None
        for stretch in found.coverage.stretches:
            for segment in range(stretch.low, stretch.high):
                self.compared[segment] = int(stretch.run_id.removeprefix("run-"))
        self.proof = proof_of(found)
        if mends and found.draft is not None:
            applied(world, replace(found.draft, files={}))

    @invariant()
    def each_segment_was_compared_within_the_rotation(self) -> None:
        if getattr(self, "nights", 0):
            assert all(self.nights - last < self.rotation for last in self.compared.values()), self.compared


TestNights = Nights.TestCase
TestNights.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
