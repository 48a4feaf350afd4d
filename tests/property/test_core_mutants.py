"""Rules of a correction are taken out of the code, one at a time; the test of each must notice.

Those that histories find are in `test_core_history.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from hudi_reconcile.lake import options
from hudi_reconcile.stages.apply import apply, commits, recovery
from hudi_reconcile.stages.sweep import guards, short_reads, sweep, two_looks
from tests.support.edits import Edits, edited
from tests.unit.lake import test_options
from tests.unit.stages import test_absence, test_apply, test_apply_again, test_short_reads, test_standing, test_sweep


@dataclass(frozen=True, slots=True)
class Mutant:
    """A function, what is replaced in it, and the test that must fail then."""

    function: Callable[..., Any]
    edits: Edits
    noticed_by: Callable[[], None]


MUTANTS = {
    "source before lake at confirm": Mutant(
        two_looks.look_twice,
        (
            ("later, checkpoint =", "early = sides.source_rows(first.look.next_segments); later, checkpoint ="),
            ("Look(sides.source_rows(part), kept)", "Look(early, kept)"),
        ),
        test_sweep.test_lake_is_pinned_before_the_source_is_read_at_both_looks,
    ),
    "source before lake at recheck": Mutant(
        apply._recheck_plan,
        (
            (
                "    pin, checkpoint",
                "    early = sides.source.read_rows(sides.table, sides.cut, work.touched)\n    pin, checkpoint",
            ),
            ("Look(sides.source.read_rows(sides.table, sides.cut, work.touched), sides.lake", "Look(early, sides.lake"),
        ),
        test_apply.test_keys_are_read_again_lake_first_before_anything_is_written,
    ),
    "no checkpoint in our commit": Mutant(
        commits._carry_checkpoint,
        (("if earlier is None:", "if True:"),),
        test_apply.test_commit_carries_the_pulls_checkpoint_on_and_raises_the_read_sequence,
    ),
    "stale plan applied": Mutant(
        apply.apply,
        (
            ("refuse_stale(", "str("),
            (", plan, table, edges.clock.utc_micros(), approval.accept | ({EXPIRED} if rest.done else set()))", ")"),
        ),
        test_apply.test_plan_older_than_a_day_is_refused,
    ),
    "delete after an incomplete read": Mutant(
        sweep.sweep,
        (("looks.missed_rows or ", ""),),
        test_sweep.test_read_that_lost_a_late_row_plans_nothing_of_what_else_drifted,
    ),
    "the deletes' keys are not asked for": Mutant(
        apply._recheck_plan,
        (("recheck_deletes(sides, rechecked, work.touched)", "(rechecked, ())"),),
        test_absence.test_delete_of_a_row_that_came_back_after_the_sweep_and_that_the_recheck_missed_has_moved,
    ),
    "row that one of two reads of the same state lacked is settled": Mutant(
        two_looks._misread,
        (("changed and is_still(sides, since)", "False"),),
        test_sweep.test_row_that_differed_and_that_the_second_read_of_the_same_state_lacked_is_unverified_and_not_clean,
    ),
    "segment that differs while no row of it does is clean": Mutant(
        two_looks._misread,
        (("+ silent_rows", ""),),
        test_short_reads.test_late_row_that_only_the_digests_saw_is_not_clean,
    ),
    "rows that went long ago stand for rows that were lost": Mutant(
        short_reads.suspect_loss,
        (
            ("gone if known.gone_rows is None else max(0, gone - known.gone_rows)", "gone"),
            ("is_excused=missing > lost and", "is_excused=False and"),
        ),
        lambda: test_short_reads.test_row_that_went_long_ago_does_not_stand_for_one_that_every_read_lost(1),
    ),
    "what a budget lacks is not counted where moments have no names": Mutant(
        short_reads.weigh_counts,
        (("missing = missing if by_batch is None", "missing = 0 if by_batch is None"), ("else min(missing", "else min(0")),
        test_short_reads.test_late_row_that_the_reads_of_a_budget_lost_is_not_clean_where_moments_have_no_names,
    ),
    "what a budget lacks is no loss where nobody counts by segment": Mutant(
        short_reads.weigh_counts,
        (("missing if missing > 0 and busy is None else None", "None"),),
        test_short_reads.test_late_row_that_the_reads_of_a_budget_lost_is_not_clean_where_nobody_counts_by_segment,
    ),
    "rows that came after a budget's last batch are a loss": Mutant(
        short_reads.weigh_counts,
        (("min(missing, by_batch - count_read(digests))", "missing"),),
        test_short_reads.test_rows_that_come_while_a_budget_is_spent_are_no_loss_where_nobody_counts_by_segment,
    ),
    "segments that came short are not read again": Mutant(
        short_reads.doubt_digests,
        (("read if counted is None else", "read or"),),
        lambda: test_short_reads.test_row_that_the_first_read_lost_while_others_came_is_found(test_short_reads.make(), 4),
    ),
    "rows that both reads lacked are no loss": Mutant(
        short_reads.suspect_loss,
        (("return Loss(lost, gone, is_excused=missing > lost and known.gone_rows is None)", "return Loss()"),),
        lambda: test_short_reads.test_row_that_every_read_lost_while_others_came_is_not_clean(test_short_reads.make(), 4),
    ),
    "row that every read lost is deleted": Mutant(
        two_looks._doubt_losses,
        (('doubted.append("deleted")', "pass"),),
        lambda: test_short_reads.test_row_of_both_sides_that_every_read_lost_is_not_deleted_whatever_the_counts_say("0s"),
    ),
    "wrong partition path": Mutant(
        options._index,
        (("GLOBAL_SIMPLE", "SIMPLE"),),
        test_options.test_partitioned_tables_are_searched_whole_for_a_row_that_moved,
    ),
    "plan applied twice": Mutant(
        recovery.find_done_parts,
        (("if commit.last", "if False"),),
        test_apply.test_second_apply_writes_nothing_and_says_already_applied,
    ),
    "counts of the commits not read": Mutant(
        recovery.count_earlier,
        (("if status != WRITTEN", "if False"),),
        test_apply_again.test_incomplete_apply_is_incomplete_when_it_is_run_again,
    ),
    "earlier commit not read back": Mutant(
        recovery.count_earlier,
        (("made is not None and made.rows < written", "False"),),
        test_apply_again.test_write_that_the_lake_swallowed_is_failed_although_its_apply_was_killed_before_it_read_back,
    ),
    "undone plan applied again": Mutant(
        recovery.refuse_undone,
        (("commit.undone is not None", "False"),),
        test_apply_again.test_plan_that_was_undone_is_refused,
    ),
    "word kept though rows were not written": Mutant(
        commits._accept_into_checkpoint,
        (("if words and not whole:", "if False:"), ("whole = ", "whole = True or "),),
        test_standing.test_word_for_another_filter_is_taken_over_with_the_deletes_and_for_another_history_with_everything,
    ),
    "replica not asked at apply": Mutant(
        guards.refuse_unreplayed,
        (("if moment.is_replica and", "if False and"),),
        test_apply.test_deletes_planned_on_the_primary_are_refused_on_any_replica_and_allowed_by_the_word,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_edited_rule_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = MUTANTS[name]
    mutant.noticed_by()

    monkeypatch.setattr(mutant.function, "__code__", edited(mutant.function, mutant.edits))

    with pytest.raises((AssertionError, pytest.fail.Exception)):
        mutant.noticed_by()
