"""Ends the work with a table at its deadline as a stop of the process would: never within a commit, and only this table's.

No signal can do it: tables side by side are threads, and a program that calls us takes its own signals. So Spark's jobs and
the database's statements are cancelled until the work has ended by their errors, and no commit is begun any more.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta

from hudi_reconcile.app.stop import POLL_SECONDS, Wish
from hudi_reconcile.config.fields import format_duration
from hudi_reconcile.core.deadline import RUN_KEY, Deadline, build_unfinished_error, name_table_limit
from hudi_reconcile.core.errors import TimeLimitError
from hudi_reconcile.ports import Clock, Edges

log = logging.getLogger("hudi_reconcile")


def set_deadline(table: str | None, time_limit: timedelta | None, begun_seconds: float) -> Deadline | None:
    """When the work with a table must have ended, or all of the run, where there is no table; None without a limit."""
    if time_limit is None:
        return None
    key = RUN_KEY if table is None else name_table_limit(table)
    return Deadline(key, format_duration(time_limit), begun_seconds + time_limit.total_seconds())


class TimeLimit(Wish):
    """The time that one table may take; without a deadline all there is."""

    def __init__(self, table: str = "", deadline: Deadline | None = None) -> None:
        super().__init__()
        self._table = table
        self._deadline = deadline
        self._over = threading.Event()

    @property
    def is_asked(self) -> bool:
        """Whether the time was over while the table was worked on."""
        return self._over.is_set()

    @property
    def is_set(self) -> bool:
        """Whether there is an end at all."""
        return self._deadline is not None

    def error(self) -> TimeLimitError:
        """The error of a table that took too long."""
        if self._deadline is None:
            raise ValueError("a table without a time limit does not take too long")
        return build_unfinished_error(self._deadline, self._table)

    def wait(self, seconds: float) -> None:
        """Wait so long, or until the time is over. Raises TimeLimitError then, unless a commit is being made or noted."""
        self._over.wait(max(0.0, seconds))
        if not self.is_held:
            self.refuse()

    @contextmanager
    def watch(self, clock: Clock, cancel: Callable[[], None]) -> Iterator[None]:
        """The work, as a block. Once the time is over `cancel` is called, from a thread, until the block ends.

        Never while a commit is being made: its own jobs are cancelled once, and what clears up after them is left alone.
        Nothing is cancelled any more once this returns.
        """
        if self._deadline is None:
            yield
            return
        done, seconds_left = threading.Event(), self._deadline.left_seconds(clock.monotonic_seconds())
        thread = threading.Thread(target=self._end, args=(seconds_left, done, cancel), name="time limit", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _end(self, left_seconds: float, done: threading.Event, cancel: Callable[[], None]) -> None:
        if done.wait(min(left_seconds, threading.TIMEOUT_MAX)):
            return
        self._over.set()
        log.warning("%s: its time is over; it is being ended", self._table, extra={"table": self._table})
        self.cancel_commits()
        while not done.is_set():
            if not self.is_held:
                with suppress(Exception):  # Java or the database may be gone, and then nobody waits for them
                    cancel()
            done.wait(POLL_SECONDS)


def limit_edges(edges: Edges, limit: TimeLimit, cancel_jobs: Callable[[], None]) -> Edges:
    """The edges of a table that is to end at its limit: a commit is kept whole, a wait is cut short."""
    if not limit.is_set:
        return edges

    @contextmanager
    def whole_commit() -> Iterator[None]:
        with edges.whole_commit(), limit.hold(cancel_jobs):
            yield

    return replace(
        edges,
        clock=_LimitedClock(edges.clock, limit),
        whole_commit=whole_commit,
    )


class _LimitedClock:
    """The host's clock, whose sleepers the limit wakes."""

    def __init__(self, clock: Clock, limit: TimeLimit) -> None:
        self._clock = clock
        self._limit = limit

    def utc_micros(self) -> int:
        return self._clock.utc_micros()

    def monotonic_seconds(self) -> float:
        return self._clock.monotonic_seconds()

    def sleep(self, seconds: float) -> None:
        self._limit.wait(seconds)
