"""Ends a run on SIGINT or SIGTERM so that its evidence is complete: at once, or after the commit that is being made.

A commit that is cut short would leave an instant that blocks other writers, and rows that no report names. So while one is
made the signal is kept and Spark's jobs are cancelled: the write then fails and is rolled back, or it lands and is told of.
A second signal changes nothing, so that it cannot cut short what the first one made run; SIGKILL remains.

It holds a state of the process, for signals come to the process, not to a run.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from hudi_reconcile.core.errors import Terminated
from hudi_reconcile.core.result_parts import Failure

_EXIT_CODE_OF_SIGNALS = 128  # as shells have it


class StopRequest:
    """Whether somebody asked this process to end, and by which signal."""

    def __init__(self) -> None:
        self.signal: int = 0
        self._commits = 0
        self._is_ignored = False
        self._cancel_jobs: Callable[[], None] | None = None

    def listen(self) -> None:
        """Take the process's SIGINT and SIGTERM. A SIGINT that the parent had ignored (nohup) stays ignored."""
        signal.signal(signal.SIGTERM, self.arrive)
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self.arrive)

    def arrive(self, number: int, frame: FrameType | None = None) -> None:  # noqa: ARG002 - the signal module's signature
        """A signal: ends the process's work by an exception, unless a commit is being made."""
        if self.signal or self._is_ignored:
            return
        self.signal = number
        if not self._commits:
            raise self.error()
        if self._cancel_jobs is not None:
            # On a thread of its own: this one may be waiting for Java's answer, and each thread has one connection to Java.
            threading.Thread(target=_try, args=(self._cancel_jobs,), name="cancel jobs", daemon=True).start()

    @contextmanager
    def hold(self, cancel_jobs: Callable[[], None] | None = None) -> Iterator[None]:
        """A block in which a commit is made or noted: a signal raises after it, in place of the error that it led to."""
        before, self._cancel_jobs = self._cancel_jobs, cancel_jobs
        self._commits += 1
        try:
            yield
        except Exception as error:
            if self.signal:
                raise self.error() from error
            raise
        finally:
            self._commits -= 1
            self._cancel_jobs = before
        if self.signal:
            raise self.error()

    @contextmanager
    def ignore(self) -> Iterator[None]:
        """A block that a signal does not end, such as the one that writes a run's evidence. It ends soon, and the run with it."""
        self._is_ignored = True
        try:
            yield
        finally:
            self._is_ignored = False

    def error(self) -> KeyboardInterrupt | Terminated:
        """The exception that stands for the signal."""
        return KeyboardInterrupt() if self.signal == signal.SIGINT else Terminated()


STOP = StopRequest()


def _try(cancel_jobs: Callable[[], None]) -> None:
    with suppress(Exception):  # Java may have got the signal too, and be gone
        cancel_jobs()


def exit_code_of(stop: BaseException) -> int:
    """What a process ends with that was stopped so.

    >>> exit_code_of(KeyboardInterrupt()), exit_code_of(Terminated())
    (130, 143)
    """
    return _EXIT_CODE_OF_SIGNALS + (signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT)


def failure_of_stop(stop: BaseException, when: str, *, what: str = "") -> Failure:
    """How a stop is told: `what` was interrupted or terminated, and `when`.

    >>> failure_of_stop(Terminated(), "before the end", what="the run was ").message
    'the run was terminated before the end'
    """
    word = "terminated" if isinstance(stop, Terminated) else "interrupted"
    return Failure("Interrupted", f"{what}{word} {when}", "run the same command again; that is safe")
