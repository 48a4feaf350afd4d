"""Says on the log when a table, and each stage of its work, begins and ends. Decides nothing, and names no row.

The stages of a sweep and of rules are the phases of `cost.phases_seconds`, those of an apply its steps (`core/plan/steps.py`).
A stage that an error ends has no last line: the error says it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_queries import describe_result
from hudi_reconcile.ports import Clock

log = logging.getLogger("hudi_reconcile.stages")


def say_begin(table: str, stage: str) -> None:
    """The stage begins now."""
    log.info("%s: %s begins", table, stage, extra={"table": table, "stage": stage})


def say_end(table: str, stage: str, seconds: float) -> None:
    """The stage is over."""
    extra = {"table": table, "stage": stage, "seconds": round(seconds, 3)}
    log.info("%s: %s took %.1f s", table, stage, seconds, extra=extra)


def say_page(table: str, pages: int) -> None:
    """So many pages of a pull are in the lake, each with its checkpoint, and more are to come."""
    extra = {"table": table, "stage": "write", "pages": pages}
    log.info("%s: page %d is in the lake; a pull that is ended now goes on behind it", table, pages, extra=extra)


@contextmanager
def step_log(table: str, clock: Clock) -> Iterator[Callable[[str], None]]:
    """For the steps of a block: what to call as each begins, which ends the one before it; the block's end ends the last."""
    under_way = _UnderWay(table, clock)
    yield under_way.begin
    under_way.end()


@dataclass(slots=True)
class Laps:
    """Seconds of a piece of work by phase; the first phase begins with the object.

    The seconds of a phase that comes again are added to those that it had. With a `table` each phase is said on the
    log as it begins and ends; `first` is the first of them.
    """

    clock: Clock
    table: str = ""
    first: str = ""
    seconds: dict[str, float] = field(default_factory=dict, init=False)
    begun: float = field(init=False)

    def __post_init__(self) -> None:
        self.begun = self.clock.monotonic_seconds()
        if self.table and self.first:
            say_begin(self.table, self.first)

    def end(self, phase: str, then: str = "") -> None:
        """All since the last end was this phase. `then` is the one that begins now, if one does."""
        now = self.clock.monotonic_seconds()
        took = now - self.begun
        self.seconds[phase] = self.seconds.get(phase, 0.0) + took
        self.begun = now
        if self.table:
            say_end(self.table, phase, took)
        if self.table and then:
            say_begin(self.table, then)


class TableLog:
    """Says how each table of a run ended, and how many have: `(17 of 50)`. Threads may share it."""

    def __init__(self, total: int, *, done: int = 0) -> None:
        self._total = total
        self._numbers = count(done + 1)

    def begin(self, table: str) -> None:
        """The table's work begins now."""
        log.info("%s: begins", table, extra={"table": table})

    def end(self, result: TableResult) -> None:
        """This is what became of the table."""
        of_all = f" ({next(self._numbers):,} of {self._total:,})" if self._total > 1 else ""
        log.info("%s: %s%s", result.name, describe_result(result), of_all, extra={"table": result.name})


# --- helpers ---


@dataclass(slots=True)
class _UnderWay:
    table: str
    clock: Clock
    step: str = ""
    begun: float = 0.0

    def begin(self, step: str) -> None:
        self.end()
        self.step, self.begun = step, self.clock.monotonic_seconds()
        say_begin(self.table, step)

    def end(self) -> None:
        if self.step:
            say_end(self.table, self.step, self.clock.monotonic_seconds() - self.begun)
        self.step = ""
