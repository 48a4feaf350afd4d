"""Hudi's own text of a timeline's instants, and what is asked one by one where the text is another."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.lake.bridge import TimelineAction, list_actions, parse_instants

TIMES = st.from_regex(r"[0-9]{17}", fullmatch=True)
ACTIONS = st.sampled_from(("commit", "deltacommit", "replacecommit", "clean", "rollback", "savepoint", "compaction"))


@dataclass(frozen=True, slots=True)
class Instant:
    """As Hudi 1.2.0 has it."""

    requested: str
    completed: str | None
    action: str
    state: str = "COMPLETED"

    def isCompleted(self) -> bool:  # noqa: N802  Java's names
        return self.state == "COMPLETED"

    def requestedTime(self) -> str:  # noqa: N802
        return self.requested

    def getCompletionTime(self) -> str | None:  # noqa: N802
        return self.completed

    def getAction(self) -> str:  # noqa: N802
        return self.action

    def __str__(self) -> str:
        done = "" if self.completed is None else f"__{self.completed}"
        return f"[{'' if self.isCompleted() else '==>'}{self.requested}{done}__{self.action}__{self.state}]"


@dataclass(frozen=True, slots=True)
class Line:
    """A timeline whose list has a text of its own."""

    instants: tuple[Instant, ...]
    text: str

    def getInstants(self) -> Line:  # noqa: N802
        return self

    def toString(self) -> str:  # noqa: N802
        return self.text

    def size(self) -> int:
        return len(self.instants)

    def get(self, place: int) -> Instant:
        return self.instants[place]


INSTANTS = st.builds(Instant, TIMES, TIMES | st.none(), ACTIONS) | st.builds(
    Instant, TIMES, st.none(), ACTIONS, st.sampled_from(("REQUESTED", "INFLIGHT"))
)


def text_of(instants: tuple[Instant, ...]) -> str:
    return f"[{', '.join(map(str, instants))}]"


@given(instants=st.lists(INSTANTS, max_size=4).map(tuple))
def test_instants_are_the_same_by_the_text_and_one_by_one(instants: tuple[Instant, ...]) -> None:
    by_text, one_by_one = (list_actions(Line(instants, text)) for text in (text_of(instants), "a text of another Hudi"))

    assert by_text == one_by_one
    assert by_text == tuple(TimelineAction(one.requested, one.completed, one.action) for one in instants)
    assert tuple(action.java for action in by_text) == instants
    assert parse_instants(text_of(instants)) == by_text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "[[20260101__commit__COMPLETED]",
        "[[20260101__commit__NIL]]",
        "[[20260101__20260102__20260103__commit__COMPLETED]]",
        "[[==>20260101__commit__COMPLETED]]",  # neither made nor planned
        "[[20260101__commit__INFLIGHT]]",
        "[[2026-01-01__commit__COMPLETED]]",
        "[[20260101__commit__COMPLETED], ]",
    ],
)
def test_text_of_another_form_is_not_read(text: str) -> None:
    assert parse_instants(text) is None
