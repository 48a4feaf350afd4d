"""Rows that move between the looks are looked at again by key, until each is judged or the time for it is up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.tables.values import REPLICA
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.sweep.settling import choose_pause
from hudi_reconcile.stages.sweep.sweep import Swept
from tests.fakes.rows import rows_of
from tests.fakes.world import World, applied, job, left, pulled, swept

ROWS = ((1, 10, 100), (2, 20, 200), (3, 30, 300))
LIMIT = {"settle_limit_seconds": 60.0}
State = tuple[int, int] | None  # v and watermark of row 1; None: it is not there


def at_each_look(world: World, *acts: Callable[[], object]) -> None:
    """Each act happens before one look: the first before the second look, and so on; then nothing more."""
    if acts:

        def act() -> None:
            acts[0]()
            at_each_look(world, *acts[1:])

        world.journal.before("clock.sleep", act)


def for_ever(world: World, act: Callable[[], object]) -> None:
    def again() -> None:
        act()
        world.journal.before("clock.sleep", again)

    world.journal.before("clock.sleep", again)


def put(world: World, value: int, at: int = 100) -> Callable[[], None]:
    return lambda: world.source.put(1, value, at)


def kinds(done: Swept) -> dict[str, int]:
    return {kind: rows for kind, rows in {**done.result.findings, **done.result.not_drift}.items() if rows}


def test_row_that_moves_once_and_then_rests_is_drift_and_is_planned() -> None:
    world = pulled(*ROWS)
    world.source.put(1, 11, 100)
    at_each_look(world, put(world, 12))

    done = swept(world, **LIMIT)

    assert kinds(done) == {"updated_without_watermark": 1}
    assert (done.result.outcome, done.result.unverified) == (Outcome.DRIFT, ())
    assert done.draft is not None
    assert applied(world, done.draft).outcome is Outcome.CORRECTED
    assert world.lake_holds() == world.source_holds()


def test_row_that_is_equal_at_a_later_look_has_settled_and_the_table_is_clean() -> None:
    world = pulled(*ROWS)
    world.source.put(1, 11, 100)
    at_each_look(world, put(world, 12), put(world, 10))

    done = swept(world, **LIMIT)

    assert (kinds(done), done.result.outcome, done.draft) == ({"settled": 1}, Outcome.CLEAN, None)


def test_row_that_gets_a_newer_watermark_at_a_later_look_is_pending() -> None:
    world = pulled(*ROWS)
    world.source.put(1, 11, 100)
    at_each_look(world, lambda: world.source.delete(1), put(world, 12, 301))

    done = swept(world, **LIMIT)

    assert (kinds(done), done.result.outcome) == ({"pending": 1}, Outcome.CLEAN)


def test_row_that_a_pull_brings_between_later_looks_has_settled() -> None:
    world = pulled(*ROWS)
    world.source.put(1, 11, 100)

    def bring() -> None:
        world.source.put(1, 12, 301)
        assert pull(job(), world.edges, full=False).outcome is Outcome.PULLED

    at_each_look(world, lambda: world.source.delete(1), bring)

    assert kinds(swept(world, **LIMIT)) == {"settled": 1}


def test_row_that_never_rests_is_unverified_within_the_limit_and_named_by_key() -> None:
    world = pulled(*ROWS)
    world.source.put(1, 11, 100)
    values = iter(range(12, 1_000))
    for_ever(world, lambda: world.source.put(1, next(values), 100))
    begun = world.clock.now_micros

    done = swept(world, **LIMIT)

    assert (kinds(done), done.result.outcome, done.draft) == ({"moving": 1}, Outcome.UNVERIFIED, None)
    assert done.findings is not None
    assert [row["key"] for row in rows_of(done.findings)] == [(1,)]
    assert world.clock.now_micros - begun == 60_000_000
    assert "changes without its watermark: 1 rows; no pull by it brings such changes" in done.result.notes


def test_row_that_never_rests_beside_drift_leaves_the_drift_to_be_planned() -> None:
    world = pulled(*ROWS)
    world.source.delete(3)
    world.source.put(1, 11, 100)
    values = iter(range(12, 1_000))
    for_ever(world, lambda: world.source.put(1, next(values), 100))

    done = swept(world, **LIMIT)

    assert (kinds(done), done.result.outcome) == ({"deleted": 1, "moving": 1}, Outcome.DRIFT)
    assert done.draft is not None
    assert (done.draft.upserts, done.draft.deletes) == (0, 1)


def test_row_that_moves_with_its_watermark_is_no_silent_change() -> None:
    world = pulled(*ROWS)
    world.source.put(1, 11, 100)
    at_each_look(world, put(world, 12, 101), put(world, 13, 102))

    done = swept(world, **LIMIT)

    assert kinds(done) == {"late_arriving": 1}
    assert not any("without its watermark" in note for note in done.result.notes)


def test_only_the_rows_that_moved_are_read_again() -> None:
    world = pulled(*ROWS)
    world.source.put(1, 11, 100)
    world.source.put(2, 21, 200)
    at_each_look(world, put(world, 12))

    done = swept(world, **LIMIT)

    assert kinds(done) == {"updated_without_watermark": 2}
    calls = world.journal.calls
    assert (calls.count("source.find_named_rows"), calls.count("source.read_rows")) == (1, 3)
    assert done.rows_fetched == 3 + 2 * 2 + 1


def test_no_row_is_read_again_where_the_limit_is_nothing_or_nothing_moved() -> None:
    world = pulled(*ROWS)
    world.source.put(1, 11, 100)
    swept(world, **LIMIT)
    at_each_look(world, put(world, 12))

    assert kinds(swept(world, settle_limit_seconds=0.0)) == {"moving": 1}
    assert "source.find_named_rows" not in world.journal.calls


def test_row_that_a_later_read_lost_is_judged_by_none_such() -> None:
    world = pulled(*ROWS)
    world.source.put(7, 70, 150)  # the lake lacks it: a read without it shows both sides equal
    at_each_look(
        world,
        lambda: world.source.put(7, 71, 150),
        lambda: world.source.lost_in_reads.add(7),
        world.source.lost_in_reads.clear,
    )

    assert kinds(swept(world, **LIMIT)) == {"late_arriving": 1}


@pytest.mark.parametrize("by_clock", [True, False])
@pytest.mark.parametrize("mode", ["stream", "pushdown"])
def test_row_that_the_lake_lacks_and_the_second_read_lost_is_found_beside_a_busy_writer(
    mode: str, *, by_clock: bool
) -> None:
    world = pulled(*ROWS)
    world.source.by_clock = by_clock
    world.source.put(7, 70, 150)

    def lose() -> None:
        world.source.lost_in_reads.add(7)
        world.source.put(2, 22, 301)

    at_each_look(world, lose, world.source.lost_in_reads.clear)

    done = swept(world, mode=mode, **LIMIT)

    assert kinds(done) == {"late_arriving": 1}
    assert done.result.outcome is Outcome.DRIFT


@pytest.mark.parametrize("limit_seconds", [0.0, 60.0])
def test_row_that_the_lake_lacks_and_every_later_read_lost_is_never_clean(limit_seconds: float) -> None:
    world = pulled(*ROWS)
    world.source.by_clock = True
    world.source.put(7, 70, 150)
    at_each_look(world, lambda: world.source.lost_in_reads.add(7))

    done = swept(world, settle_limit_seconds=limit_seconds)

    assert (kinds(done), done.result.outcome, done.draft) == ({"moving": 1}, Outcome.UNVERIFIED, None)


@pytest.mark.parametrize("by_clock", [True, False])
def test_row_that_is_deleted_between_the_looks_has_settled_without_a_third(*, by_clock: bool) -> None:
    world = pulled(*ROWS)
    world.source.by_clock = by_clock
    world.source.put(7, 70, 150)
    at_each_look(world, lambda: world.source.delete(7))

    done = swept(world, **LIMIT)

    assert (kinds(done), done.result.outcome) == ({"settled": 1}, Outcome.CLEAN)
    assert world.journal.calls.count("clock.sleep") == 1


def test_row_that_is_gone_and_whose_key_cannot_be_asked_for_is_not_clean() -> None:
    world = pulled(*ROWS)
    world.source.by_clock, world.source.unnameable = True, True
    world.source.put(7, 70, 150)
    at_each_look(world, lambda: world.source.delete(7))

    assert swept(world, **LIMIT).result.outcome is Outcome.UNVERIFIED


def test_row_whose_key_cannot_be_asked_for_stays_moving() -> None:
    world = pulled(*ROWS)
    world.source.put(1, 11, 100)
    world.source.unnameable = True
    at_each_look(world, put(world, 12))

    done = swept(world, **LIMIT)

    assert (kinds(done), done.result.outcome) == ({"moving": 1}, Outcome.UNVERIFIED)


def test_lake_stays_as_it_was_beside_a_replica_which_may_not_show_yet_what_a_later_pull_brought() -> None:
    world = pulled(*ROWS)
    world.source.moment_notes = (REPLICA,)
    world.source.put(1, 11, 100)

    def primary_is_pulled() -> None:
        world.silently_change_lake(1, 99)

    at_each_look(world, put(world, 12), primary_is_pulled, put(world, 10))

    assert kinds(swept(world, **LIMIT)) == {"updated_without_watermark": 1}
    assert world.journal.calls.count("lake.pin") == 2


def test_lake_that_another_writer_changes_is_seen_by_the_later_looks() -> None:
    world = pulled(*ROWS)
    world.source.put(1, 11, 100)
    at_each_look(world, put(world, 12), lambda: world.silently_change_lake(1, 12))

    assert kinds(swept(world, **LIMIT)) == {"settled": 1}


def test_verification_of_an_apply_waits_for_rows_that_move_too() -> None:
    world = pulled(*ROWS)
    world.source.put(2, 21, 200)
    done = swept(world, **LIMIT)
    at_each_look(world, lambda: world.source.delete(1), put(world, 10))
    world.journal.before("lake.correct", put(world, 11))

    result = applied(world, done.draft, settle_limit_seconds=60.0)

    assert (result.outcome, result.not_drift["settled"], left(world)) == (Outcome.CORRECTED, 1, {})


STATES: st.SearchStrategy[State] = st.sampled_from(
    [None, (10, 100), (11, 100), (12, 100), (11, 150), (11, 99), (12, 301)]
)
LOOKS = st.lists(st.tuples(STATES, st.booleans(), st.booleans()), min_size=1, max_size=6)


def seen(first: State, looks: Sequence[tuple[State, bool, bool]]) -> str | None:
    """What must become of row 1, which the lake holds as (10, 100): judged by the rule as it is told in the docs."""
    version, before = 0, (first, 0)
    rests = [(looks[-1][0], False, False)] * 3
    for number, (state, lake_moves, lost) in enumerate([*looks, *rests]):
        version += lake_moves
        if lost and number and state is not None:
            continue  # the read was not whole
        if state == (10, 100):
            return None if number == 0 and first == state else "settled"
        if state is not None and state[1] > 300:
            return "pending"
        if before == (state, version):
            if state is None:
                return "deleted"
            if state[1] == 100:
                return "updated_without_watermark"
            return "late_arriving" if state[1] > 100 else "regressed"
        before = (state, version)
    raise AssertionError("a row that rests is judged")


@given(first=STATES, looks=LOOKS)
def test_row_is_judged_by_two_equal_looks_in_a_row_and_by_no_others(
    first: State, looks: list[tuple[State, bool, bool]]
) -> None:
    world = pulled(*ROWS)
    world.source.put(2, 21, 200)  # so that the segment always differs

    def show(state: State) -> None:
        world.source.delete(1)
        if state is not None:
            world.source.put(1, *state)

    def act(number: int) -> Callable[[], None]:
        state, lake_moves, lost = looks[number]

        def happens() -> None:
            show(state)
            world.source.lost_in_reads.clear()
            if lost and number:
                world.source.lost_in_reads.add(1)
            if lake_moves:
                world.silently_change_lake(1, 10)

        return happens

    show(first)
    at_each_look(world, *[act(number) for number in range(len(looks))], world.source.lost_in_reads.clear)
    wanted = seen(first, looks)

    done = swept(world, **LIMIT)

    found: Any = [] if done.findings is None else rows_of(done.findings)
    assert {row["key"][0]: row["kind"] for row in found} == {
        2: "updated_without_watermark", **({} if wanted is None else {1: wanted}),
    }  # fmt: skip
    assert done.result.outcome is Outcome.DRIFT
    assert done.draft is not None
    assert done.draft.upserts + done.draft.deletes == 1 + (wanted not in (None, "settled", "pending"))


@given(limit=st.floats(0, 3_600), costs=st.lists(st.floats(0, 100), max_size=40))
def test_pauses_grow_and_end_at_the_limit(limit: float, costs: list[float]) -> None:
    spent, pauses = 0.0, []
    for looks, cost in enumerate([*costs, *[0.0] * 20]):
        pause = choose_pause(looks, spent, limit)
        if pause is None:
            break
        pauses.append(pause)
        assert spent + pause <= limit + 1e-6
        spent += pause + cost
    else:
        pytest.fail("it never ends")
    assert pauses[:-1] == sorted(pauses[:-1])
