"""Tables side by side: each lane is a thread, all end with the process, and the source's connections are divided among them."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.app.stop import StopRequest, run_lanes
from hudi_reconcile.core.errors import Terminated, UsageError
from hudi_reconcile.core.source.connection import share_connections

SECONDS = 20


def nothing() -> None:
    """No job is under way."""


def test_lanes_run_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=SECONDS)

    run_lanes([lambda: void(both.wait()), lambda: void(both.wait())], nothing)


def void(_: object) -> None:
    """A lane gives nothing back."""


def test_bug_of_a_lane_is_raised_once_all_have_ended() -> None:
    ended = threading.Event()

    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_lanes([fail, ended.set], nothing)
    assert ended.is_set()


def signalled(stop: StopRequest) -> Callable[[], None]:
    """Sends the process's own thread a SIGTERM, as the system would."""

    def send() -> None:
        signal.raise_signal(signal.SIGTERM)

    signal.signal(signal.SIGTERM, stop.arrive)
    return send


@pytest.fixture(autouse=True)
def _same_handler() -> object:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_signal_ends_every_lane_by_its_jobs() -> None:
    stop, cancelled, ended = StopRequest(), threading.Event(), list[str]()
    send = signalled(stop)

    def work() -> None:
        assert cancelled.wait(SECONDS)
        ended.append("work")

    with pytest.raises(Terminated):
        run_lanes([work, work, send], cancelled.set, stop=stop)

    assert ended == ["work", "work"]


def test_signal_waits_for_the_lane_that_makes_a_commit_and_cancels_nothing_while_it_clears_up() -> None:
    stop, told = StopRequest(), list[str]()
    others_are_cancelled, asked = threading.Event(), threading.Event()
    send = signalled(stop)

    def commit() -> None:
        with stop.hold(asked.set):
            send()
            assert asked.wait(SECONDS)
            assert not others_are_cancelled.wait(0.7)
            told.append("landed")

    def work() -> None:
        assert others_are_cancelled.wait(SECONDS)
        told.append("cancelled")

    with pytest.raises(Terminated):
        run_lanes([commit, work], others_are_cancelled.set, stop=stop, patience_seconds=0.01)

    assert told[0] == "landed"


def test_no_commit_is_begun_after_a_signal() -> None:
    stop, begun = StopRequest(), list[str]()
    send = signalled(stop)

    def commit() -> None:
        with pytest.raises(Terminated):
            send()
        with stop.hold(nothing):
            begun.append("commit")

    with pytest.raises(Terminated):
        commit()

    assert begun == []


def test_lane_that_waits_for_the_source_is_left_behind() -> None:
    stop, answers = StopRequest(), threading.Event()
    send = signalled(stop)

    with pytest.raises(Terminated):
        run_lanes([lambda: void(answers.wait(SECONDS)), send], nothing, stop=stop, patience_seconds=0.1)

    assert not answers.is_set()
    answers.set()


def test_stop_of_a_program_that_calls_us_ends_the_lanes_and_no_later_run() -> None:
    stop, asked = StopRequest(), threading.Event()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a program's own: it raises in the main thread

    def interrupt() -> None:
        time.sleep(0.1)  # until both lanes are under way
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_lanes([lambda: void(asked.wait(SECONDS)), interrupt], asked.set, stop=stop)

    assert (asked.is_set(), stop.signal) == (True, 0)


def test_program_that_calls_us_waits_for_every_lane_since_it_lives_on(monkeypatch: pytest.MonkeyPatch) -> None:
    stop, told, begun = StopRequest(), list[str](), threading.Event()

    def lane() -> None:
        begun.set()
        time.sleep(1)
        with pytest.raises(KeyboardInterrupt), stop.hold(nothing):
            told.append("commit")
        told.append("refused")

    def interrupted() -> None:
        assert begun.wait(SECONDS)
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(stop, "refuse", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_lanes([lane], nothing, stop=stop, patience_seconds=0.01)

    assert (told, stop.signal) == (["refused"], 0)


# --- connections ---


@given(st.integers(1, 200), st.integers(1, 60), st.integers(1, 2))
def test_lanes_never_open_more_connections_than_the_config_allows(total: int, jobs: int, own: int) -> None:
    if total < jobs * (own + 1):
        with pytest.raises(UsageError, match=f"needs {jobs * (own + 1)} connections"):
            share_connections(total, jobs, own)
    else:
        share = share_connections(total, jobs, own)
        assert share >= 1
        assert jobs * (share + own) <= total
