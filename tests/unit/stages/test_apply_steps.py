"""An apply takes the steps that its plan explains, in that order, and does what they say and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from hudi_reconcile.core.plan.plan import Approval, Plan
from hudi_reconcile.core.plan.steps import Course, StepName, UnexplainedStepError, list_steps
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.stages.apply import apply as module
from hudi_reconcile.stages.apply.apply import apply
from hudi_reconcile.stages.job import LandedError
from tests.fakes.quarantine import FakeQuarantine
from tests.fakes.world import World, applied, job, listed, pulled, swept
from tests.unit.stages.test_apply import ROWS, doubled, drifted

# What a step is seen by, where the edges can see it.
SEEN = {
    "lake.correct": "commit",
    "lake.replace": "rewrite",
    "lake.savepoint": "savepoint",
    "source.find_named_rows": "ask_deletes",
}


def without_deletes() -> tuple[World, Plan]:
    world = pulled(*ROWS)
    world.source.put(2, 21, 200)
    plan = swept(world).draft
    assert plan is not None
    world.journal.calls.clear()
    return world, plan


def with_quarantine(world: World, plan: Plan) -> TableResult:
    asked, rules = (
        (job(), plan, "findings", Approval(), world.edges),
        FakeQuarantine({"r-1": lambda row: row["v"] == 21}),
    )
    return listed(world, lambda listing: apply(*asked, quarantine=rules, listing=listing))


def follows(taken: Iterable[str], explained: Iterable[str]) -> bool:
    ahead = iter(explained)
    return all(name in ahead for name in taken)


@pytest.mark.parametrize(
    ("made", "act", "depends"),
    [
        (drifted, applied, "ask_deletes commit read_back"),
        (without_deletes, applied, "commit read_back"),
        (lambda: doubled(singles=False), applied, "ask_deletes rewrite read_back"),
        (lambda: doubled(singles=True), applied, "ask_deletes commit rewrite read_back"),
        (lambda: drifted(savepoint="always"), lambda world, plan: applied(world, plan, savepoint="always"),
         "ask_deletes savepoint commit read_back"),
        (drifted, with_quarantine, "ask_deletes hold_back commit read_back"),
        (drifted, lambda world, plan: applied(world, plan, Approval(only="upsert")), "commit read_back"),
        (drifted, lambda world, plan: applied(world, plan, Approval(only="delete")), "ask_deletes commit read_back"),
    ],
    ids=["deletes", "no deletes", "doubled keys", "doubled and others", "savepoint", "quarantine", "upserts", "only deletes"],
)  # fmt: skip
def test_apply_takes_the_explained_steps_and_does_what_they_say(
    made: Callable[[], tuple[World, Plan]], act: Callable[[World, Plan], TableResult], depends: str
) -> None:
    world, plan = made()

    taken = act(world, plan).corrections.steps

    assert taken == ("require", "guard", "recheck", *depends.split(), "verify")
    assert follows(taken, [step.step for step in list_steps(plan)])
    seen = [SEEN[call] for call in world.journal.calls if call in SEEN]
    assert sorted(seen) == sorted(name for name in taken if name in SEEN.values())


def test_apply_that_a_guard_refuses_took_two_steps() -> None:
    world, plan = drifted()

    assert applied(world, plan, max_deletes=0).corrections.steps == ("require", "guard")


def test_apply_of_a_plan_that_is_on_the_timeline_verifies_alone() -> None:
    world, plan = drifted()
    applied(world, plan)

    assert applied(world, plan).corrections.steps == ("require", "verify")


@pytest.mark.parametrize("name", ["commit", "ask_deletes", "read_back"])
def test_step_that_the_plan_does_not_explain_is_not_done(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world, plan = drifted()
    fewer = tuple(step for step in list_steps(plan) if step.step != name)
    monkeypatch.setattr(module, "list_steps", lambda _: fewer)

    with pytest.raises((UnexplainedStepError, LandedError), match=name):
        applied(world, plan)

    if name != "read_back":
        assert "lake.correct" not in world.journal.calls


def test_verification_that_is_left_out_is_noticed() -> None:
    course = Course(list_steps(drifted()[1]))
    for name in (StepName.REQUIRE, StepName.GUARD, StepName.RECHECK, StepName.COMMIT, StepName.READ_BACK):
        course.begin(name)

    with pytest.raises(UnexplainedStepError, match="verify"):
        course.end()
