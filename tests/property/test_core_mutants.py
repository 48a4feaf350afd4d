"""Rules of a correction are taken out of the code, one at a time; the test of each must notice.

A mutant is an edit of a function's own text, so it cannot outlive the line that it edits. Those that histories find are in
`test_core_history.py`.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from hudi_reconcile.lake import options
from hudi_reconcile.stages import apply, commits, confirm, landed, sweep
from tests.unit.lake import test_options
from tests.unit.stages import test_absence, test_apply, test_sweep


@dataclass(frozen=True, slots=True)
class Mutant:
    """A function, what is replaced in it, and the test that must fail then."""

    function: Callable[..., Any]
    edits: tuple[tuple[str, str], ...]
    noticed_by: Callable[[], None]


MUTANTS = {
    "source before lake at confirm": Mutant(
        confirm.look_twice,
        (
            ("later, checkpoint = pinned(", "early = sides.source_rows(unequal); later, checkpoint = pinned("),
            ("Look(sides.source_rows(unequal), kept), unequal", "Look(early, kept), unequal"),
        ),
        test_sweep.test_lake_is_pinned_before_the_source_is_read_at_both_looks,
    ),
    "source before lake at recheck": Mutant(
        apply._rechecked,
        (
            ("    pin, checkpoint", "    early = sides.source.rows(sides.table, sides.cut, work.touched)\n    pin, checkpoint"),
            ("Look(sides.source.rows(sides.table, sides.cut, work.touched), kept)", "Look(early, kept)"),
        ),
        test_apply.test_keys_are_read_again_lake_first_before_anything_is_written,
    ),
    "no checkpoint in our commit": Mutant(
        commits._carried,
        (("if earlier is None:", "if True:"),),
        test_apply.test_commit_carries_the_pulls_checkpoint_on_and_raises_the_read_sequence,
    ),
    "stale plan applied": Mutant(
        apply.apply,
        (("refuse_stale(", "str("), (", plan, table, edges.clock.utc_micros(), words)", ")")),
        test_apply.test_plan_older_than_a_day_is_refused,
    ),
    "delete after an incomplete read": Mutant(
        sweep.sweep,
        ((" and not found.missed_rows", ""),),
        test_sweep.test_read_that_lost_rows_is_unverified_and_plans_nothing,
    ),
    "the deletes' keys are not asked for": Mutant(
        apply._execute,
        (("proven_absent(sides, rechecked, work.touched)", "(rechecked, ())"),),
        test_absence.test_delete_of_a_row_that_came_back_after_the_sweep_and_that_the_recheck_missed_has_moved,
    ),
    "wrong partition path": Mutant(
        options._identity,
        (("GLOBAL_SIMPLE", "SIMPLE"),),
        test_options.test_partitioned_tables_are_searched_whole_for_a_row_that_moved,
    ),
    "plan applied twice": Mutant(
        landed.parts_of,
        (("if one.last", "if False"),),
        test_apply.test_second_apply_writes_nothing_and_says_already_applied,
    ),
}  # fmt: skip


def edited(mutant: Mutant) -> Any:
    """The function's code with its edits, to run under the function's own names."""
    text = textwrap.dedent(inspect.getsource(mutant.function))
    for old, new in mutant.edits:
        assert text.count(old) == 1, f"the mutant no longer fits: {old}"
        text = text.replace(old, new)
    names: dict[str, Any] = {}
    exec(compile(text, inspect.getfile(mutant.function), "exec"), dict(mutant.function.__globals__), names)  # noqa: S102
    return names[mutant.function.__name__].__code__


@pytest.mark.parametrize("name", MUTANTS)
def test_edited_rule_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = MUTANTS[name]
    mutant.noticed_by()

    monkeypatch.setattr(mutant.function, "__code__", edited(mutant))

    with pytest.raises((AssertionError, pytest.fail.Exception)):
        mutant.noticed_by()
