"""Ends a run on SIGINT or SIGTERM so that its evidence is complete: at once, or after the commit that is being made.

A commit cut short would leave an instant that blocks other writers, and rows that no report names. So while one is made the
signal waits and Spark's jobs are cancelled: the write fails and is rolled back, or it lands and is reported. A second
signal changes nothing; SIGKILL remains. Tables side by side are threads: they hear of a stop by their errors, and begin no
commit after. This is state of the process, for signals come to the process and not to a run.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from hudi_reconcile.core.errors import STOPS, Terminated
from hudi_reconcile.core.result_parts import Failure

_EXIT_CODE_OF_SIGNALS = 128  # as shells have it


class Wish(ABC):
    """A wish that work ends, which waits for the commits that are being made or noted."""

    def __init__(self) -> None:
        # One for each such commit, by any thread. Adding and removing is one step to other threads.
        self._holds: list[Callable[[], None]] = []

    @property
    @abstractmethod
    def is_asked(self) -> bool:
        """Whether the work is to end."""

    @abstractmethod
    def error(self) -> BaseException:
        """The exception that ends it."""

    @property
    def is_held(self) -> bool:
        """Whether a commit is being made or noted."""
        return bool(self._holds)

    @contextmanager
    def hold(self, cancel_jobs: Callable[[], None] | None = None) -> Iterator[None]:
        """A block in which a commit is made or noted: the wish raises after it, in place of the error that it led to.

        `cancel_jobs` is for a block that makes one: once the wish is there, none is begun.
        """
        mine = cancel_jobs or _cancel_nothing
        self._holds.append(mine)
        try:
            if cancel_jobs is not None:
                self.refuse()
            yield
        except Exception as error:
            if self.is_asked:
                raise self.error() from error
            raise
        finally:
            self._holds.remove(mine)
        self.refuse()

    def refuse(self) -> None:
        """Raise what ends the work, where it is to end."""
        if self.is_asked:
            raise self.error()

    def cancel_commits(self) -> None:
        """Cancel the jobs of the commits that are being made: they are rolled back, or landed already."""
        for cancel_jobs in [hold for hold in self._holds if hold is not _cancel_nothing][:1]:  # it cancels all of them
            _try(cancel_jobs)


class StopRequest(Wish):
    """Whether somebody asked this process to end, and by which signal."""

    def __init__(self) -> None:
        super().__init__()
        self.signal: int = 0
        self._is_ignored = False

    @property
    def is_asked(self) -> bool:
        """Whether a signal came."""
        return bool(self.signal)

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
        if not self.is_held:
            raise self.error()
        # On a thread of its own: this one may be waiting for Java's answer, and each thread has one connection to Java.
        threading.Thread(target=self.cancel_commits, name="cancel jobs", daemon=True).start()

    @contextmanager
    def ignore(self) -> Iterator[None]:
        """A block that a signal does not end, such as the one that writes a run's evidence. It ends soon, and the run with it."""
        self._is_ignored = True
        try:
            yield
        finally:
            self._is_ignored = False

    def pass_on(self, stop: BaseException) -> bool:
        """Ask every thread to end as after `stop`; False where a signal did that already.

        A program that calls us takes its own signals: there a KeyboardInterrupt comes to one thread, and this is all we know.
        """
        if self.signal:
            return False
        self.signal = get_exit_code(stop) - _EXIT_CODE_OF_SIGNALS
        return True

    def error(self) -> KeyboardInterrupt | Terminated:
        """The exception that stands for the signal."""
        return KeyboardInterrupt() if self.signal == signal.SIGINT else Terminated()


STOP = StopRequest()


def _cancel_nothing() -> None:
    """What a block that only notes a commit cancels."""


def _try(cancel_jobs: Callable[[], None]) -> None:
    with suppress(Exception):  # Java may have got the signal too, and be gone
        cancel_jobs()


def get_exit_code(stop: BaseException) -> int:
    """What a process ends with that was stopped so.

    >>> get_exit_code(KeyboardInterrupt()), get_exit_code(Terminated())
    (130, 143)
    """
    return _EXIT_CODE_OF_SIGNALS + (signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT)


def describe_stop(stop: BaseException, when: str, *, what: str = "") -> Failure:
    """How a stop is told: `what` was interrupted or terminated, and `when`.

    >>> describe_stop(Terminated(), "before the end", what="the run was ").message
    'the run was terminated before the end'
    """
    word = "terminated" if isinstance(stop, Terminated) else "interrupted"
    return Failure("Interrupted", f"{what}{word} {when}", "run the same command again; that is safe")


# --- threads that end with the process ---

POLL_SECONDS = 0.2
PATIENCE_SECONDS = 10.0


def run_lanes(
    lanes: Sequence[Callable[[], None]],
    cancel_jobs: Callable[[], None],
    *,
    stop: StopRequest = STOP,
    patience_seconds: float = PATIENCE_SECONDS,
) -> None:
    """Run each lane in a thread of its own until all have ended. Raises what one of them raised, a stop before all else.

    After a signal a lane that waits for the source's answer is left behind once `patience_seconds` have passed; never one
    that makes a commit. `cancel_jobs` ends what Spark works at, for all lanes.
    """
    endings: list[BaseException] = []
    ends: list[threading.Event] = []  # a join that a signal ends takes the thread for ended (Python 3.11)
    try:
        ends.extend(_start(lane, endings) for lane in lanes)
        while _wait(ends):
            stop.refuse()
    except BaseException as error:
        # Where the process lives on no lane may: it could commit after its run was told. Else the request stands, too.
        lives_on = stop.pass_on(error)
        _end(ends, cancel_jobs, stop, math.inf if lives_on else patience_seconds)
        if lives_on:
            stop.signal = 0
        raise
    for ending in sorted(endings, key=lambda exception: not isinstance(exception, STOPS)):
        raise ending


def _start(lane: Callable[[], None], endings: list[BaseException]) -> threading.Event:
    end = threading.Event()

    def work() -> None:
        try:
            lane()
        except BaseException as error:  # noqa: BLE001 - raised by the thread that waits
            endings.append(error)
        finally:
            end.set()

    threading.Thread(target=work, name="lane", daemon=True).start()
    return end


def _wait(ends: Sequence[threading.Event]) -> bool:
    """Wait a moment for the first lane that still works; whether any does."""
    for end in ends:
        if not end.is_set():
            end.wait(POLL_SECONDS)
            return True
    return False


def _end(
    ends: Sequence[threading.Event], cancel_jobs: Callable[[], None], stop: StopRequest, patience_seconds: float
) -> None:
    until = time.monotonic() + patience_seconds
    while _wait(ends):
        if stop.is_held:  # its jobs were cancelled as the signal came; what clears up after them must not be
            continue
        if time.monotonic() > until:
            return
        with suppress(Exception):  # Java may have got the signal too, and be gone
            cancel_jobs()
