"""Corrections that break a rule are held back, counted and listed, and never reported as corrected."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.plan import Approval
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.rules.rules import Drift, NotNull, Rule, RuleSet, Unique, Waiver
from hudi_reconcile.core.rules.verdict import select_quarantine_rules
from hudi_reconcile.stages.apply.apply import apply
from tests.fakes.quarantine import Breaks, FakeQuarantine
from tests.fakes.world import World, job, listed, pulled, swept


def drifted(*changed: int) -> World:
    """Ten rows, of which these changed at the source without a new watermark, and 9 was deleted."""
    world = pulled(*[(key, key, 10) for key in range(10)])
    for key in changed:
        world.source.put(key, 100 + key, 10)
    world.source.delete(9)
    return world


def applied(world: World, breaks: Breaks) -> TableResult:
    plan = swept(world).draft
    assert plan is not None
    asked, rules = (job(), plan, "findings", Approval(), world.edges), FakeQuarantine({"r-1": breaks})
    return listed(world, lambda listing: apply(*asked, quarantine=rules, listing=listing))


def test_correction_that_breaks_a_rule_is_held_back_and_the_others_are_written() -> None:
    world = drifted(1, 2)

    result = applied(world, lambda row: row["v"] == 102)

    done = result.corrections
    assert (result.outcome, done.applied, done.held, done.failed) == (Outcome.INCOMPLETE, 2, 1, 0)
    assert {key: value for key, (value, _) in world.lake_holds().items() if key in (1, 2, 9)} == {1: 101, 2: 2}
    assert "held back: 1 corrections break rule r-1" in result.notes
    assert [(row["key"], row["reason"], row["rules"]) for row in world.disk["uncorrected"]] == [((2,), "held", ["r-1"])]
    assert (result.uncorrected.by_kind if result.uncorrected else None) == {"updated_without_watermark": 1}
    assert result.findings_left == {"updated_without_watermark": 1}


def test_apply_of_nothing_but_held_corrections_writes_nothing() -> None:
    world = pulled((1, 1, 10))
    world.source.put(1, 5, 10)
    before = len(world.lake.commits)

    result = applied(world, lambda _: True)

    assert (result.outcome, result.corrections.held, len(world.lake.commits)) == (Outcome.INCOMPLETE, 1, before)


def test_deletes_are_never_held_back() -> None:
    world = drifted()

    result = applied(world, lambda _: True)

    assert (result.outcome, result.corrections.applied, result.corrections.held) == (Outcome.CORRECTED, 1, 0)


@given(st.sets(st.integers(0, 8), min_size=1), st.sets(st.integers(0, 8)))
def test_every_planned_correction_is_either_applied_or_held(changed: set[int], bad: set[int]) -> None:
    world = drifted(*changed)

    result = applied(world, lambda row: row["id"] in bad)

    held = changed & bad
    assert (result.corrections.applied, result.corrections.held) == (len(changed) + 1 - len(held), len(held))
    assert result.outcome is (Outcome.INCOMPLETE if held else Outcome.CORRECTED)
    assert all(world.lake_holds()[key][0] == (key if key in held else 100 + key) for key in changed)


def test_rule_that_cannot_be_asked_refuses_before_anything_is_written() -> None:
    world = drifted(1)
    before = len(world.lake.commits)

    def broken(_: dict[str, Any]) -> bool:
        raise RefusedError("rule r-1 names column 'w'", fix="correct it")

    with pytest.raises(RefusedError):
        applied(world, broken)
    assert len(world.lake.commits) == before


TODAY = date(2026, 11, 21)


def test_rules_that_hold_back_are_marked_or_all_on_single_rows_of_severity_error_and_not_waived() -> None:
    rules = RuleSet(
        "t",
        (
            Rule("marked", NotNull("v"), quarantine=True),
            Rule("plain", NotNull("v")),
            Rule("warning", NotNull("v"), "warn"),
            Rule("several", Unique(("v",))),
            Rule("beyond", Drift(("deleted",))),
            Rule("waived", NotNull("v"), quarantine=True),
            Rule("expired", NotNull("v"), quarantine=True),
        ),
        (Waiver("waived", "T", date(2026, 11, 22)), Waiver("expired", "T", TODAY)),
    )

    assert [rule.id for rule in select_quarantine_rules(rules, TODAY, every=False)] == ["marked", "expired"]
    assert [rule.id for rule in select_quarantine_rules(rules, TODAY, every=True)] == ["marked", "plain", "expired"]
