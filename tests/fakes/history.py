"""Histories of source, pulls, sweeps, applies and undos as a Hypothesis machine over fakes; after each step the invariants.

The steps are those of `steps.py`, which also the real world is played by; here another writer may also be slow, that is
read now and commit later. Both keys lie in one segment, and in one file.

Of the invariants of the design the machine holds these, each under its name in the message of what fails:

- I1 no regression, I2 no invention, I6 the checkpoint never falls, I13 an undo restores all that nobody touched since, and
  nothing else: of every commit, in `ghost.py`.
- I3 idempotence, I4 a delete needs absence twice, I5 a kill anywhere, I6 every difference is found, I7 clean, I8 convergence,
  I9 completeness, I10 kinds, I11 guards, I14 counts: of every command, in `story.py`.

Three it cannot hold, for its digests, its report and its source are no real ones:

- I12 digest soundness: `tests/property/test_core_canon.py`, and `tests/conformance` on every engine.
- I14 of the report: `tests/integration/report/test_findings_by_spark.py` (counted anew by Spark).
- I15 purity of the source: `tests/integration/source/test_engine.py::test_session_refuses_to_write_and_speaks_utc`, and
  `tests/integration/test_histories.py` counts what was written.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.fakes.played import FakePlayed
from tests.fakes.steps import STEPS, Step, take
from tests.fakes.story import CHANGES, KEYS, Story
from tests.fakes.world import World


class History(RuleBasedStateMachine):
    """`new_world` is what a mutant replaces; `story_of` judges what it plays."""

    story_of: type[Story] = Story

    @staticmethod
    def new_world() -> World:
        return World.new()

    @initialize()
    def begin(self) -> None:
        self.played = FakePlayed(self.new_world())
        self.story = self.story_of(self.played)
        self.story.begin()

    @precondition(lambda self: self.played.slow is None)
    @rule()
    def slow_writer_begins(self) -> None:
        self.played.slow_writer_begins()

    @precondition(lambda self: self.played.slow is not None)
    @rule()
    def slow_writer_ends(self) -> None:
        self.played.slow_writer_ends()

    @precondition(lambda self: self.played.slow is None)
    @rule(key=st.sampled_from(KEYS), how=st.sampled_from(CHANGES))
    def correct_beside_a_slow_writer(self, key: int, how: str) -> None:
        """A writer reads, the row changes, the change is planned and applied, and only then the writer ends."""
        self.played.slow_writer_begins()
        self.story.change_and_correct(key, how)
        self.played.slow_writer_ends()

    @invariant()
    def holds(self) -> None:
        self.story.holds()


def _rule_of(name: str, step: Step) -> Any:
    def taken(self: History, **given: Any) -> None:
        if name == "quiesce" and self.played.slow is not None:
            self.played.slow_writer_ends()
        take(self.story, (name, given))

    taken.__name__ = name
    given: dict[str, Any] = {word: st.sampled_from(values) for word, values in step.given.items()}
    decorated: Any = rule(**given)
    return precondition(lambda self: step.when(self.story))(decorated(taken))


for _name, _step in STEPS.items():
    setattr(History, _name, _rule_of(_name, _step))
