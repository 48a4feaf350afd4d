"""The steps that a history may take, with what each may be given; and histories drawn from them by a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.story import BETWEEN, CHANGES, ENDS, KEYS, LOOKS, Story

ROW = {"key": KEYS, "how": CHANGES}


@dataclass(frozen=True, slots=True)
class Step:
    """What a step may be given, and when it means anything."""

    given: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    when: Callable[[Story], bool] = lambda _: True


def planned(story: Story) -> bool:
    return story.plan is not None


def opened(story: Story) -> bool:
    return story.opened is not None


STEPS: Mapping[str, Step] = {
    "change_now": Step(ROW),
    "change_at": Step({**ROW, "point": BETWEEN}),
    "transaction_begins": Step(ROW),
    "transaction_commits": Step(when=opened),
    # Not inside a pull: there Hudi's conflict check and the read sequence decide, which the fake lake does not play.
    "other_writer_at": Step({"point": ("clock.sleep", "lake.correct", "source.read_rows")}),
    "pull": Step(),
    "sweep": Step(),
    "sweep_losing": Step({"key": KEYS, "look": LOOKS}),
    "apply": Step(when=planned),
    "apply_losing": Step({"key": KEYS}, planned),
    "apply_twice": Step(when=planned),
    "apply_beyond_the_limits": Step(when=planned),
    "undo": Step(),
    "kill_at": Step({"point": ENDS}),
    "kill_after_the_next_commit_at": Step({"point": ENDS}),
    "apply_killed_and_run_again": Step({"point": ENDS}, planned),
    "apply_killed_after_its_commit_and_run_again": Step({"point": ENDS}, planned),
    "pull_killed_and_run_again": Step({"point": ENDS}),
    "change_and_sweep": Step(ROW),
    "change_and_apply": Step(ROW, planned),
    "change_and_correct": Step(ROW),
    "commit_late": Step(ROW),
    "heal_and_drift_between_the_looks": Step(ROW),
    "race": Step(ROW),
    "come_back_unseen": Step(ROW),
    "arrive_late_and_unseen": Step({"key": KEYS, "look": LOOKS}),
    "undo_beside_others": Step(ROW),
    "undo_raced": Step(ROW),
    "undo_and_apply_again": Step(when=planned),
    "quiesce": Step(),
}

Taken = tuple[str, dict[str, Any]]

# The histories that are played in the real world too: with few steps every command ends in every way, and in each of them
# others come between (`test_core_history.py` holds that). Another step in `STEPS` makes others of them.
SEEDS, STEPS_EACH = (90, 2914, 434, 2091, 1620, 2394, 4175), 3


def take(story: Story, taken: Taken) -> None:
    """Take one step, and hold the lake's commits against what the source held."""
    name, given = taken
    getattr(story, name)(**given)
    story.holds()


def drawn(story: Story, seed: int, steps: int) -> list[Taken]:
    """A history of so many steps, the same for the same seed, played in the story's world; then all comes to rest."""
    choice = random.Random(seed)  # noqa: S311 - a history, not a secret
    history: list[Taken] = []
    names = sorted(STEPS)
    story.begin()
    while len(history) < steps:
        name = choice.choice(names)
        if STEPS[name].when(story):
            taken = name, {word: choice.choice(values) for word, values in STEPS[name].given.items()}
            take(story, taken)
            history.append(taken)
    take(story, ("quiesce", {}))
    return [*history, ("quiesce", {})]
