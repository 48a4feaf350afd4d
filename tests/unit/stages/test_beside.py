"""Pulls and corrections beside a writer with Hudi's default settings, which keeps no heartbeat."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.lake.ownership import Writers
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.plan import Approval
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.state import set_state
from tests.fakes.world import World, applied, job, pulled, swept

ROWS = ((1, 10, 100), (2, 20, 200))
SILENT = "00000000000000001"


def beside(world: World) -> None:
    world.lake.others = Writers(without_heartbeat=(SILENT,))


def with_news() -> World:
    world = pulled(*ROWS)
    world.source.put(3, 30, 300)
    return world


def test_pull_beside_a_silent_writer_writes_nothing_and_says_how_to_go_on() -> None:
    world = with_news()
    beside(world)
    before = list(world.lake.commits)

    with pytest.raises(RefusedError, match=f"{SILENT}: no heartbeat") as refused:
        pull(job(), world.edges, full=False)

    assert world.lake.commits == before
    assert f"--dead-writer {SILENT}" in refused.value.fix
    assert "hoodie.clean.failed.writes.policy=LAZY" in refused.value.fix


def test_silent_writer_that_ends_lets_the_same_pull_through() -> None:
    world = with_news()
    beside(world)
    with pytest.raises(RefusedError):
        pull(job(), world.edges, full=False)
    world.lake.others = Writers(commits=2, foreign=1)

    pull(job(), world.edges, full=False)

    assert world.lake_holds() == world.source_holds()


@pytest.mark.parametrize("settings", [{}, {"full_mode": "overwrite"}])
def test_whole_fetch_beside_a_silent_writer_is_refused_before_a_row_is_read(settings: dict[str, str]) -> None:
    world = with_news()
    beside(world)

    with pytest.raises(RefusedError, match="no heartbeat"):
        pull(job(**settings), world.edges, full=True)

    assert "source.stage_rows" not in world.journal.calls


@pytest.mark.parametrize(("settings", "full"), [({}, False), ({}, True), ({"full_mode": "overwrite"}, True)])
def test_silent_writer_that_begins_while_rows_are_read_is_not_written_beside(
    settings: dict[str, str], *, full: bool
) -> None:
    world = with_news()
    world.journal.before("source.stage_rows", lambda: beside(world))
    before = list(world.lake.commits)

    with pytest.raises(RefusedError, match="no heartbeat"):
        pull(job(**settings), world.edges, full=full)

    assert world.lake.commits == before


def test_pull_that_has_nothing_to_write_does_not_care_who_writes() -> None:
    world = pulled(*ROWS)
    beside(world)

    assert pull(job(), world.edges, full=False).outcome is Outcome.PULLED
    assert world.lake.list_silent_writers() == (SILENT,)
    pull(job(), world.edges, full=False, approval=Approval(dead_writers=frozenset({SILENT})))
    assert world.lake.list_silent_writers() == ()


def test_silent_writer_that_begins_just_before_our_commit_is_told_of() -> None:
    world = with_news()
    world.journal.before("lake.upsert", lambda: beside(world))

    notes = pull(job(), world.edges, full=False).notes

    assert [note for note in notes if SILENT in note and "may be lost" in note]


@pytest.mark.parametrize("value", ["1970-01-01T00:00:00.000100", None])
def test_checkpoint_is_not_set_beside_a_silent_writer_whose_instant_our_cleaning_would_roll_back(
    value: str | None,
) -> None:
    world = pulled(*ROWS)
    beside(world)
    before = list(world.lake.commits)

    with pytest.raises(RefusedError, match="no heartbeat"):
        set_state(job(), world.edges, value, by="me@here")

    assert world.lake.commits == before


def test_writer_that_a_person_calls_dead_is_rolled_back_and_its_table_written() -> None:
    world = with_news()
    beside(world)

    done = pull(job(), world.edges, full=False, approval=Approval(dead_writers=frozenset({SILENT})))

    assert any(f"rolled back, since --dead-writer says that its writer is dead: {SILENT}" in one for one in done.notes)
    assert world.lake_holds() == world.source_holds()
    world.source.put(1, 11, 100)
    plan = swept(world).draft
    beside(world)
    fixed = applied(world, plan, approval=Approval(dead_writers=frozenset({SILENT})))
    assert fixed.outcome is Outcome.CORRECTED
    assert any(SILENT in note for note in fixed.notes)


def test_instant_that_is_not_in_flight_without_a_heartbeat_is_never_rolled_back() -> None:
    world = with_news()
    beside(world)
    named = Approval(dead_writers=frozenset({SILENT, "00000000000000002"}))

    with pytest.raises(RefusedError, match="00000000000000002: no instant in flight without a heartbeat"):
        pull(job(), world.edges, full=False, approval=named)

    assert "lake.roll_back" not in world.journal.calls
