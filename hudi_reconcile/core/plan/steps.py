"""The steps of an apply: one list, which `plan` explains and `apply` goes through. Pure.

An explanation that is written apart from what it explains stops being true one day. So the list stands once: `plan.json`
holds its sentences, and a `Course` lets an apply take no step that is not in it, none twice or in another order, and leave out
none that always comes. The result of the apply names the steps that it took.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hudi_reconcile.core.plan.plan import VERSION, Plan, plan_body


class StepName(StrEnum):
    """What an apply can do, in the order in which it does it."""

    REQUIRE = "require"
    GUARD = "guard"
    ROLL_BACK = "roll_back"
    RECHECK = "recheck"
    ASK_DELETES = "ask_deletes"
    HOLD_BACK = "hold_back"
    SAVEPOINT = "savepoint"
    COMMIT = "commit"
    REWRITE = "rewrite"
    READ_BACK = "read_back"
    VERIFY = "verify"


# What every apply does that writes, or finds nothing to write; the others depend on rows, rules and policy at the time.
ALWAYS = frozenset({StepName.REQUIRE, StepName.GUARD, StepName.RECHECK, StepName.VERIFY})


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that apply does, with the sentence that explains it."""

    step: StepName
    text: str


class UnexplainedStepError(Exception):
    """An apply was about to do what its plan does not explain, or left out what the plan does explain. A bug of this tool."""


def list_steps(plan: Plan) -> tuple[Step, ...]:
    """What apply does with this plan, in order. A step that depends on what the apply meets says on what."""
    age = f"{plan.max_age_micros / 3_600_000_000:g} h"
    texts = {
        StepName.REQUIRE: f"check that the plan is for {plan.lake_path} and not older than {age}; one that was applied "
        "before is only verified again",
        StepName.GUARD: "hold the plan against the policy; a refusal writes nothing",
        StepName.ROLL_BACK: "where --dead-writer names a writer: roll back what it left in flight",
        StepName.RECHECK: f"read the {plan.upserts + plan.deletes} keys again on both sides; drop what moved meanwhile",
        StepName.ASK_DELETES: f"ask the source for the {plan.deletes} keys to delete; drop what it still has",
        StepName.HOLD_BACK: "where rules hold corrections back: leave out upserts that break one",
        StepName.SAVEPOINT: "where policy.savepoint asks for it: keep the state of before in a savepoint",
        StepName.COMMIT: f"one Hudi commit: upsert {plan.upserts} rows, delete {plan.deletes} rows, checkpoint carried on",
        StepName.REWRITE: "where the lake has keys of these twice: those in a commit of their own, with their partitions",
        StepName.READ_BACK: "read the written keys back and count what the lake really shows",
        StepName.VERIFY: "digest the touched segments again on both sides",
    }
    left_out = {StepName.ASK_DELETES} if not plan.deletes else set()
    return tuple(Step(name, texts[name]) for name in StepName if name not in left_out)


def build_plan_document(plan: Plan, *, created_utc: str, expires_utc: str) -> dict[str, Any]:
    """`plan.json`."""
    return {
        "version": VERSION,
        "plan_id": plan.plan_id,
        **plan_body(plan),
        "created_utc": created_utc,
        "expires_utc": expires_utc,
        "steps": [{"step": step.step.value, "text": step.text} for step in list_steps(plan)],
    }


class Course:
    """The way of one apply through the steps of its plan. `taken` are those that it began, in order.

    `say` is called with the name of each step as it begins.
    """

    def __init__(self, steps: Sequence[Step], say: Callable[[str], None] = lambda _: None) -> None:
        self._steps = tuple(steps)
        self._names = [step.step for step in steps]
        self._say = say
        self._next = 0
        self.taken: list[StepName] = []

    def begin(self, name: StepName) -> None:
        """Say that the step begins now. Raises UnexplainedStepError where the plan does not explain it here."""
        self._enter(name)
        self._say(name.value)

    def _enter(self, name: StepName) -> None:
        ahead = self._names[self._next :]
        if name not in ahead:
            raise UnexplainedStepError(f"step {name} is not explained after {', '.join(self.taken) or 'nothing'}")
        self._refuse_gap(ahead[: ahead.index(name)], name)
        self._next += ahead.index(name) + 1
        self.taken.append(name)

    def begin_again(self, taken: Sequence[StepName]) -> None:
        """Take these steps, which a `try_again` took, in place of those from the first of them on, which wrote nothing."""
        first = taken[0]
        self._next = self._names.index(first)
        del self.taken[self.taken.index(first) :]
        for name in taken:
            self._enter(name)

    def try_again(self, first: StepName) -> Course:
        """A course of its own from this step on, for an attempt that may not count: another writer came first."""
        course = Course(self._steps, self._say)
        course.skip_to(first)
        return course

    def skip_to(self, name: StepName) -> None:
        """Go on at a later step, as the plan's commits are on the timeline and nothing is written."""
        self._next = self._names.index(name)

    def end(self) -> None:
        """Raises UnexplainedStepError where a step that always comes was left out."""
        self._refuse_gap(self._names[self._next :], "end")

    def _refuse_gap(self, passed: Sequence[StepName], name: str) -> None:
        missing = [step for step in passed if step in ALWAYS]
        if missing:
            raise UnexplainedStepError(f"step {', '.join(missing)} was left out before {name}")
