"""A source that stands on another filter, or on another history, than the lake's rows do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hudi_reconcile.core.errors import RefusedError, SourceError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.plan import Approval
from hudi_reconcile.core.pull.source_lineage import SourceLineage, digest_filter
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import Guard
from hudi_reconcile.core.tables.values import PartitionField
from hudi_reconcile.stages.job import LandedError, PartialSweep
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.undo import undo
from tests.fakes.rows import SEQNO
from tests.fakes.world import World, applied, at_checkpoint, job, pulled, swept, swept_part

ROWS = ((1, 10, 100), (2, 20, 200), (3, 30, 300))
OTHER_FILTER = SourceLineage(digest_filter("v > 10"), "1")
OTHER_HISTORY = SourceLineage("none", "2")
CASES = [(OTHER_FILTER, "changed_filter"), (OTHER_HISTORY, "restored_source")]


def no(world: World) -> list[Guard]:
    return [guard for guard in swept(world).result.guards if not guard.ok]


@pytest.mark.parametrize(("now", "word"), CASES)
def test_rows_that_are_gone_under_another_filter_or_history_are_deleted_by_their_own_word_only_and_then_no_more_asked(
    now: SourceLineage, word: str
) -> None:
    world = pulled(*ROWS)
    world.source.delete(1)
    world.source.stands = now
    world.source.put(4, 40, 400)
    added = pull(job(), world.edges, full=False).pull  # takes nothing over
    assert added is not None
    assert added.rows == 1
    plan = swept(world).draft
    assert plan is not None

    assert [guard.name for guard in no(world)] == [word]
    assert applied(world, plan).outcome is Outcome.REFUSED
    assert 1 in world.lake_holds()
    assert applied(world, plan, approval=Approval(accept=frozenset({word}))).outcome is Outcome.CORRECTED
    assert world.lake_holds() == world.source_holds()

    world.source.delete(2)
    assert no(world) == []


def test_rows_that_a_restored_server_sets_back_wait_for_the_word_too_and_changed_rows_do_not() -> None:
    world = pulled(*ROWS)
    world.source.put(2, 21, 200)
    world.source.stands = OTHER_HISTORY
    assert no(world) == []

    world.source.put(3, 29, 250)

    assert [guard.name for guard in no(world)] == ["restored_source"]


@pytest.mark.parametrize(("now", "what"), [(OTHER_FILTER, "source.where"), (OTHER_HISTORY, "the server's timeline")])
def test_plan_of_another_filter_or_history_is_refused_before_anything_is_read(now: SourceLineage, what: str) -> None:
    world = pulled(*ROWS)
    world.source.put(2, 21, 200)
    plan = swept(world).draft
    assert plan is not None
    world.source.stands = now

    with pytest.raises(RefusedError, match=f"{what} changed since the plan"):
        applied(world, plan)


def test_what_a_server_does_not_tell_is_no_change_and_no_proof() -> None:
    world = pulled(*ROWS)
    world.source.delete(1)
    world.source.stands = SourceLineage("none", None)

    assert no(world) == []
    assert any("does not tell its timeline" in note for note in swept(world).result.notes)


def test_checkpoint_that_kept_neither_stops_nothing_is_told_of_and_is_kept_from_the_next_pull_on() -> None:
    world = pulled(*ROWS)
    at_checkpoint(world, where=None, timeline=None)  # as an earlier version wrote it
    world.source.delete(1)
    unknown = swept(world).result

    assert [guard for guard in unknown.guards if not guard.ok] == []
    assert any("not recorded before this run: source.where and the server's timeline" in note for note in unknown.notes)

    world.source.put(4, 40, 400)
    first, second = (pull(job(), world.edges, full=False).notes, pull(job(), world.edges, full=False).notes)
    assert any("whether that changed before is not known" in note for note in first)
    assert not any("not known" in note for note in second)

    world.source.stands = OTHER_HISTORY
    assert [guard.name for guard in no(world)] == ["restored_source"]


@pytest.mark.parametrize(("now", "word"), CASES)
def test_pull_that_replaces_the_table_deletes_by_the_same_word_only_and_stands_anew(
    now: SourceLineage, word: str
) -> None:
    world = pulled(*ROWS)
    world.source.delete(1)
    world.source.stands = now
    replacing = job(full_mode="overwrite")

    with pytest.raises(RefusedError, match=f"guard {word}") as refused:
        pull(replacing, world.edges, full=True)
    assert f"pull with --accept {word}" in refused.value.fix
    assert 1 in world.lake_holds()

    pull(replacing, world.edges, full=True, approval=Approval(accept=frozenset({word})))
    assert world.lake_holds() == world.source_holds()
    world.source.delete(2)
    pull(replacing, world.edges, full=True)
    assert world.lake_holds() == world.source_holds()


def test_pull_that_replaces_the_table_has_nothing_to_take_over() -> None:
    world = pulled(*ROWS)
    at_checkpoint(world, where=None, timeline=None)

    done = pull(job(full_mode="overwrite"), world.edges, full=True)

    assert not any("not known" in note for note in done.notes)


def at(position: str) -> SourceLineage:
    return SourceLineage("none", None, position)


def standing_at(position: str) -> World:
    """A lake that was pulled when the server had come to this position, and whose source lost a row since."""
    world = World.new()
    world.source.stands = at(position)
    for row in ROWS:
        world.source.put(*row)
    pull(job(), world.edges, full=False)
    world.source.delete(1)
    return world


def test_server_whose_ids_go_on_deletes_as_ever_and_one_that_was_set_back_by_its_word_only() -> None:
    world = standing_at("0-1-100")
    world.source.stands = at("0-1-101")
    assert no(world) == []

    world.source.stands = at("0-1-99")
    plan = swept(world).draft

    assert [guard.name for guard in no(world)] == ["restored_source"]
    assert applied(world, plan).outcome is Outcome.REFUSED
    assert applied(world, plan, approval=Approval(accept=frozenset({"restored_source"}))).outcome is Outcome.CORRECTED
    world.source.delete(2)
    assert no(world) == []


def test_server_that_was_set_back_and_has_caught_up_by_other_transactions_is_not_forgotten() -> None:
    world = standing_at("0-1-100")
    world.source.stands = at("0-1-99")
    world.source.put(4, 40, 400)
    pull(job(), world.edges, full=False)
    world.source.stands = at("0-1-200")

    assert [guard.name for guard in no(world)] == ["restored_source"]
    assert "or once was, behind" in str(no(world)[0].limit)


def test_server_that_was_started_since_the_last_pull_may_have_been_restored_and_caught_up_and_that_is_told() -> None:
    world = standing_at("0-1-100")
    world.source.stands = replace(at("0-1-200"), started_micros=world.clock.now_micros - 1)
    assert not any("started again" in note for note in swept(world).result.notes)

    world.source.stands = replace(at("0-1-200"), started_micros=world.clock.now_micros + 1)
    assert any("was started again since the last pull" in note for note in swept(world).result.notes)

    world.source.put(1, 10, 100)  # nothing is deleted: nobody needs to look
    assert not any("started again" in note for note in swept(world).result.notes)


def test_plan_is_refused_where_the_server_was_set_back_since() -> None:
    world = standing_at("0-1-100")
    plan = swept(world).draft
    world.source.stands = at("0-1-100,1-1-1")
    assert applied(world, plan).outcome is Outcome.CORRECTED

    world.source.delete(2)
    plan = swept(world).draft
    world.source.stands = at("0-1-100")
    with pytest.raises(RefusedError, match="set back"):
        applied(world, plan)


def test_filter_is_kept_as_a_digest() -> None:
    assert digest_filter(None) == "none"
    assert digest_filter("status = 'secret'") != digest_filter("status = 'open'")
    assert "secret" not in digest_filter("status = 'secret'")


GTIDS = SourceLineage("none", None, "0-1-5")
TAKEN = [*CASES, (GTIDS, "restored_source")]


def set_back(world: World, now: SourceLineage) -> None:
    """The source's filter or history is another one than the lake's rows were pulled with."""
    if now.position is not None:
        at_checkpoint(world, position="0-1-9")
    world.source.stands = now


@pytest.mark.parametrize(("now", "word"), TAKEN)
def test_word_that_was_accepted_is_asked_for_again_after_an_undo(now: SourceLineage, word: str) -> None:
    world = pulled(*ROWS)
    set_back(world, now)
    world.source.delete(1)
    applied(world, swept(world).draft, Approval(accept=frozenset({word})))
    world.clock.now_micros += 1_000
    world.source.put(4, 40, 1_000)
    pull(job(run_id="p"), world.edges, full=False)
    assert no(world) == []

    undo(job(run_id="u"), "run-1", world.edges)

    assert 1 in world.lake_holds()
    assert [guard.name for guard in no(world)] == [word]
    assert applied(world, swept(world, run_id="night").draft, run_id="night").outcome is Outcome.REFUSED


def test_word_is_asked_for_again_after_an_undo_of_an_apply_of_two_commits() -> None:
    world = pulled(*ROWS)
    double = {**world.lake.now[0], "v": 7, SEQNO: "zz1"}
    world.lake.plant([*world.lake.now, double], world.lake.commits[-1].checkpoint)
    world.source.stands = OTHER_HISTORY
    world.source.delete(3)
    done = applied(world, swept(world).draft, Approval(accept=frozenset({"restored_source"})))
    assert done.corrections is not None
    assert len(done.corrections.instants) == 2

    undo(job(run_id="u"), "run-1", world.edges)

    assert 3 in world.lake_holds()
    assert [guard.name for guard in no(world)] == ["restored_source"]


@pytest.mark.parametrize(("now", "word"), CASES)
def test_word_for_a_plan_of_one_partition_is_not_taken_for_the_others(now: SourceLineage, word: str) -> None:
    world, by = pulled((1, 1, 100), (2, 1, 200), (3, 2, 300), (4, 2, 400), partitioned=True), (PartitionField("v"),)
    world.source.stands = now
    world.source.delete(1)
    world.source.delete(3)
    plan = swept_part(world, PartialSweep(("1",)), partition_by=by).draft

    assert applied(world, plan, Approval(accept=frozenset({word})), partition_by=by).corrections.applied == 1

    assert world.lake_holds().keys() == {2, 3, 4}
    night = swept(world, run_id="night", partition_by=by)
    assert [guard.name for guard in night.result.guards if not guard.ok] == [word]


@pytest.mark.parametrize(("now", "word"), TAKEN)
def test_word_is_not_taken_over_where_only_upserts_were_written(now: SourceLineage, word: str) -> None:
    world = pulled(*ROWS)
    set_back(world, now)
    world.source.delete(1)
    world.source.put(2, 21, 200)
    plan = swept(world).draft
    findings, accepted = world.disk["findings"], frozenset({word})
    applied(world, plan, Approval(only="upsert", accept=accepted))
    assert [guard.name for guard in no(world)] == [word]

    world.disk["findings"] = findings
    applied(world, plan, Approval(accept=accepted), run_id="rest")

    assert 1 not in world.lake_holds()
    world.source.delete(3)
    assert no(world) == []


def test_word_for_another_filter_is_taken_over_with_the_deletes_and_for_another_history_with_everything() -> None:
    for now, word, asked in (
        (OTHER_FILTER, "changed_filter", []),
        (OTHER_HISTORY, "restored_source", ["restored_source"]),
    ):
        world = pulled(*ROWS)
        world.source.stands = now
        world.source.delete(1)
        world.source.put(2, 21, 200)
        plan = swept(world).draft
        world.source.put(2, 22, 200)  # moved: not written
        applied(world, plan, Approval(accept=frozenset({word})))
        world.source.delete(3)

        assert [guard.name for guard in no(world)] == asked


@pytest.mark.parametrize("word", ["changed_filter", "restored_source"])
def test_word_is_not_taken_over_where_a_delete_was_not_written(word: str) -> None:
    world = pulled(*ROWS)
    world.source.stands = {"changed_filter": OTHER_FILTER, "restored_source": OTHER_HISTORY}[word]
    world.source.delete(1)
    world.source.delete(2)
    plan = swept(world).draft
    world.silently_change_lake(2, 99)

    assert applied(world, plan, Approval(accept=frozenset({word}))).corrections.applied == 1

    assert [guard.name for guard in no(world)] == [word]


def test_word_is_given_back_by_an_undo_that_finds_every_row_changed_since_and_only_once() -> None:
    world = pulled(*ROWS)
    world.source.stands = SourceLineage("none", "2")
    world.source.put(2, 15, 150)
    plan = swept(world).draft
    applied(world, plan, Approval(accept=frozenset({"restored_source"})))
    world.silently_change_lake(2, 99)

    result = undo(job(run_id="u"), "run-1", world.edges)

    assert (result.outcome, result.corrections.superseded) == (Outcome.INCOMPLETE, 1)
    assert [note for note in result.notes if "--accept" in note and "must pass --accept again" in note]
    assert world.lake_holds()[2] == (99, 150)
    commits = len(world.lake.commits)
    assert undo(job(run_id="v"), "run-1", world.edges).corrections.superseded == 1
    assert len(world.lake.commits) == commits
    world.source.delete(3)
    assert [guard.name for guard in swept(world, run_id="n").result.guards if not guard.ok] == ["restored_source"]


def passed_over(result: TableResult) -> list[str]:
    return [note for note in result.notes if "at or below the checkpoint" in note and "no clock" not in note]


def test_pull_under_another_filter_says_that_it_passes_rows_over_until_a_whole_read_took_them_in() -> None:
    world = pulled(*ROWS)
    world.source.stands = OTHER_FILTER
    later = pull(job(), world.edges, full=False)
    world.source.put(4, 40, 400)
    again = pull(job(), world.edges, full=False)
    whole = pull(job(), world.edges, full=True)
    world.source.put(5, 50, 500)
    after = pull(job(), world.edges, full=False)

    assert [len(passed_over(one)) for one in (later, again, whole, after)] == [1, 1, 0, 0]
    assert "source.where" in passed_over(later)[0]
    world.source.stands = SourceLineage("none", "1")
    assert "source.where" in passed_over(pull(job(), world.edges, full=False))[0]


def test_whole_read_that_ends_after_its_first_page_took_nothing_in() -> None:
    world = pulled(*ROWS)
    world.source.stands = OTHER_FILTER
    world.journal.before("lake.upsert", lambda: world.journal.before("lake.upsert", stop))

    with pytest.raises(LandedError, match="gone"):
        pull(job(limit_rows=2), world.edges, full=True)

    assert passed_over(pull(job(), world.edges, full=False))


def stop() -> None:
    raise SourceError("the server is gone", fix="wait")


def test_ids_that_a_restored_server_gives_out_again_are_told_and_times_are_not() -> None:
    world = pulled(*ROWS)
    world.source.stands = OTHER_HISTORY
    assert passed_over(pull(job(), world.edges, full=False)) == []

    world = World.new()
    world.source.put(1, 10, 100)
    by_id = job(strategy="incrementing", watermark=(), incrementing="id")
    pull(by_id, world.edges, full=False)
    world.source.stands = OTHER_HISTORY

    (note,) = passed_over(pull(by_id, world.edges, full=False))
    assert "timeline was 1 and is 2" in note
    world.source.put(2, 20, 200)
    pull(by_id, world.edges, full=False)
    assert passed_over(pull(by_id, world.edges, full=False)) == []


def test_whole_read_whose_last_page_is_empty_says_all_the_same_that_it_read_everything() -> None:
    world = pulled(*ROWS)
    for key in ROWS:
        world.source.put(key[0], key[1], 300)  # one mark: more rows than a page holds come as one
    world.source.stands = OTHER_FILTER

    pull(job(limit_rows=2), world.edges, full=True)

    assert passed_over(pull(job(), world.edges, full=False)) == []


def test_deletes_taken_over_by_their_word_leave_it_to_a_pull_to_say_what_the_new_filter_takes_in() -> None:
    world = pulled(*ROWS)
    world.source.delete(1)
    world.source.put(2, 21, 200)
    world.source.stands = OTHER_FILTER
    plan = swept(world).draft
    assert plan is not None
    words = frozenset({"changed_filter"})

    applied(world, plan, approval=Approval(accept=words, only="delete"))
    assert passed_over(pull(job(), world.edges, full=False))
    applied(world, plan, approval=Approval(accept=words, only="upsert"))

    assert no(world) == []
