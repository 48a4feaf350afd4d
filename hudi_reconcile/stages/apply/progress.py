"""What an apply has done so far, and what became of every planned row in the end. Counts only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from hudi_reconcile.core.plan.steps import Course, StepName
from hudi_reconcile.core.tables.values import Instant
from hudi_reconcile.ports import Frame

READY, DOUBLED, LANDED = "ready", "doubled", "landed"


@dataclass(slots=True)
class Tally:
    """What an apply has done so far. Its caller keeps it, so that what landed is told even where an error ends the apply.

    `course` is its way through the plan's steps. `found` are the rows of the last recheck by status, `written` the statuses
    whose commit landed. `lost` says why a commit was not made: another writer came first. `whole_commit` guards each commit
    and its noting here against a stop of the process.
    """

    course: Course
    whole_commit: Callable[[], AbstractContextManager[None]] = nullcontext
    found: Counter[str] = field(default_factory=Counter)
    written: list[str] = field(default_factory=list)
    instants: list[Instant] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    savepoint: str | None = None
    lost: str = ""

    def begin_again(self, notes: tuple[str, ...], taken: Sequence[StepName]) -> None:
        """Reset after an attempt that committed nothing, and keep its notes; `taken` are the steps of the new attempt."""
        self.course.begin_again(taken)
        self.found, self.savepoint, self.lost = Counter(), None, ""
        self.instants.clear()
        self.notes[:] = notes

    @property
    def written_rows(self) -> int:
        """Rows of the commits that landed."""
        return sum(self.found[status] for status in self.written)

    @property
    def waiting_rows(self) -> int:
        """Rows that might be written, and were not."""
        return sum(self.found[status] for status in (READY, DOUBLED) if status not in self.written)

    def count_ends(self, shown: Mapping[str, int], unwritten: str) -> Mapping[str, int]:
        """Every row by what became of it: those written as `shown`, those that were not as `unwritten`."""
        others = Counter({name: rows for name, rows in self.found.items() if name not in (READY, DOUBLED, LANDED)})
        done = Counter(applied=self.found[LANDED]) + Counter(shown)
        return dict(others + done + Counter({unwritten: self.waiting_rows}))


@dataclass(frozen=True, slots=True)
class CommitOutcome:
    """What became of every planned row, by status; the commits that were made; why one was not.

    `raced_rows` of the superseded ones were as compared: their commit was `lost` to somebody else. `ended` are the keys of
    those that were not corrected, by reason.
    """

    status: Mapping[str, int]
    instants: tuple[Instant, ...] = ()
    notes: tuple[str, ...] = ()
    savepoint: str | None = None
    raced_rows: int = 0
    lost: str = ""
    ended: Frame | None = None
