"""How a command ended: the outcomes, their exit codes, and which of several is the gravest."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Outcome(StrEnum):
    """One word per ending, as scripts see it in `result.json` and by exit code."""

    CLEAN = "clean"
    CORRECTED = "corrected"
    PULLED = "pulled"
    APPROVED = "approved"
    DRIFT = "drift"
    USAGE = "usage"
    UNVERIFIED = "unverified"
    INCOMPLETE = "incomplete"
    REFUSED = "refused"

    @property
    def exit_code(self) -> int:
        """The process exit code of this outcome."""
        return _EXIT_CODES[self]


_EXIT_CODES = {
    Outcome.CLEAN: 0,
    Outcome.CORRECTED: 0,
    Outcome.PULLED: 0,
    Outcome.APPROVED: 0,
    Outcome.DRIFT: 1,
    Outcome.USAGE: 2,
    Outcome.UNVERIFIED: 3,
    Outcome.INCOMPLETE: 4,
    Outcome.REFUSED: 5,
}

# 3 over 2 over 5 over 4 over 1 over 0: what was not compared weighs most. A usage error of one table, beside others, says
# that this one was not compared either.
_GRAVITY = (
    Outcome.UNVERIFIED,
    Outcome.USAGE,
    Outcome.REFUSED,
    Outcome.INCOMPLETE,
    Outcome.DRIFT,
    Outcome.CORRECTED,
    Outcome.PULLED,
    Outcome.APPROVED,
    Outcome.CLEAN,
)


def find_gravest(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome that a run over several tables reports.

    Raises:
        ValueError: no outcome was given; a run over nothing has no outcome and must never look clean.
    """
    seen = set(outcomes)
    for outcome in _GRAVITY:
        if outcome in seen:
            return outcome
    raise ValueError("no outcome: nothing ran")
