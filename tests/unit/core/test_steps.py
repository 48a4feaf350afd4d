"""The one list of an apply's steps, and the course that holds an apply to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hudi_reconcile.core.plan.steps import ALWAYS, Course, StepName, UnexplainedStepError, list_steps
from tests.unit.core.test_plan import PLAN

STEPS = list_steps(PLAN)


def course(*names: str) -> Course:
    found = Course(STEPS)
    for name in names:
        found.begin(StepName(name))
    return found


def test_course_takes_the_steps_in_the_order_of_the_list() -> None:
    found = course(*StepName)
    found.end()

    assert found.taken == [step.step for step in STEPS]


def test_step_that_depends_may_be_left_out() -> None:
    course("require", "guard", "recheck", "verify").end()


@pytest.mark.parametrize("name", sorted(ALWAYS - {StepName.VERIFY}))
def test_step_that_always_comes_is_not_passed(name: StepName) -> None:
    others = [one for one in StepName if one != name]
    with pytest.raises(UnexplainedStepError, match=name):
        course(*others)


def test_course_without_its_last_step_does_not_end() -> None:
    with pytest.raises(UnexplainedStepError, match="verify"):
        course("require", "guard", "recheck").end()


@pytest.mark.parametrize("name", ["require", "recheck"])
def test_step_is_taken_once_and_in_its_place(name: str) -> None:
    with pytest.raises(UnexplainedStepError, match=name):
        course("require", "guard", "recheck").begin(StepName(name))


def test_deletes_are_not_asked_for_where_the_plan_has_none() -> None:
    steps = list_steps(replace(PLAN, deletes=0))

    assert StepName.ASK_DELETES not in [step.step for step in steps]
    found = Course(steps)
    for name in (StepName.REQUIRE, StepName.GUARD, StepName.RECHECK):
        found.begin(name)
    with pytest.raises(UnexplainedStepError, match="ask_deletes"):
        found.begin(StepName.ASK_DELETES)


def test_attempt_that_wrote_nothing_gives_way_to_the_next() -> None:
    found = course("require", "guard", "recheck", "savepoint", "commit")
    found.begin_again([StepName.RECHECK, StepName.ASK_DELETES])
    found.begin(StepName.COMMIT)

    assert found.taken == ["require", "guard", "recheck", "ask_deletes", "commit"]


def test_every_step_is_said_as_often_as_it_is_done() -> None:
    said: list[str] = []
    found = Course(STEPS, said.append)
    for name in ("require", "guard", "recheck", "commit"):
        found.begin(StepName(name))

    again = found.try_again(StepName.RECHECK)
    again.begin(StepName.RECHECK)
    found.begin_again(again.taken)
    found.begin(StepName.COMMIT)

    assert said == ["require", "guard", "recheck", "commit", "recheck", "commit"]
    assert found.taken == ["require", "guard", "recheck", "commit"]
