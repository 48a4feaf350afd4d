"""`make consumer-kills`: a consumer in processes of its own, killed twenty times at random with its JVM, beside a writer.

Half of the moments are anywhere in a run, half where a range is under way: that is half a second of fifteen. Not a part of
`make test`: each kill costs a JVM's start. `tests/integration/changes/test_consumer_kills.py` ends one at every place of a
delivery by exceptions.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.integration.changes.copies import Copy
from tests.integration.changes.test_consumer_kills import FURTHER, leaves_no_gap
from tests.support.kill_places import ROOT
from tests.support.postgres import Database

KILLS = 20  # half of them anywhere in a run, half while a range is under way
PATIENCE_SECONDS = 180.0
Wait = Callable[[subprocess.Popen[bytes]], object]


@pytest.mark.timeout(3600)
def test_consumer_killed_twenty_times_at_random_ends_with_the_target_equal_to_the_lake(
    spark: SparkSession,
    pg: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    copy = Copy.of(spark, tmp_path, pg, "copy_on_write", None)
    moments = Moments.measured(copy)
    anywhere: list[bool] = []
    delivering: list[bool] = []
    for _ in range(KILLS // 2):
        anywhere.append(killed(copy, moments.anywhere))
        delivering.append(killed(copy, moments.in_a_delivery))

    assert sum(delivering) >= KILLS // 4, "too few kills in a delivery to tell anything"
    assert copy.bring(monkeypatch) == 0
    assert copy.rows() == copy.states()[-1]
    with capsys.disabled():
        sys.stdout.write(
            f"\n{KILLS} kills, {sum(anywhere) + sum(delivering)} of them with a range under way"
            f" ({sum(delivering)} of the {len(delivering)} meant for one), {len(copy.states()) - 1} commits\n"
        )


def killed(copy: Copy, wait: Wait) -> bool:
    """Kill a consumer that has one more commit to deliver; True where it had a range under way, not just one left over.

    One that was quicker is not counted: the next one dies.
    """
    while True:
        copy.write()
        before = stored(copy)
        process = started(copy)
        wait(process)
        if process.poll() is None:
            break
        assert process.returncode == 0, log_of(copy)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait(30) == -signal.SIGKILL
    assert copy.rows() in copy.states()
    found = stored(copy)
    return found.pending is not None and found.file != before.file


@dataclass(slots=True)
class Moments:
    """Random moments of a consumer's run, by what one that nobody killed took: the whole of it, and its delivery."""

    copy: Copy
    whole_seconds: float
    delivery_seconds: list[float]  # of the first range of a run, and of a later one
    random: Random = field(default_factory=Random)  # other moments in each run

    @staticmethod
    def measured(copy: Copy) -> Moments:
        """Let a first consumer run through."""
        began = time.monotonic()
        process = started(copy)
        assert under_way(copy, process, Stored(None, None), 0), log_of(copy)
        delivery = delivered_after(copy, PATIENCE_SECONDS)
        assert delivery is not None
        assert process.wait(PATIENCE_SECONDS) == 0, log_of(copy)
        return Moments(copy, time.monotonic() - began, [delivery, delivery])

    def anywhere(self, _: subprocess.Popen[bytes]) -> None:
        """Before 0.4 of the run Spark itself is not up."""
        time.sleep(self.random.uniform(0.4, 1.0) * self.whole_seconds)

    def in_a_delivery(self, process: subprocess.Popen[bytes]) -> None:
        """From just after a range is under way until it is delivered; where one was left over, that one or the next."""
        before = stored(self.copy)
        nth = self.random.randint(0, 1) if before.pending else 0
        if under_way(self.copy, process, before, nth):
            seconds = max(0.0, self.random.uniform(-0.1, 1.0)) * self.delivery_seconds[nth]
            delivered = delivered_after(self.copy, seconds)
            if delivered is not None:  # quicker than the last one that was seen whole
                self.delivery_seconds[nth] = delivered


def delivered_after(copy: Copy, patience_seconds: float) -> float | None:
    """Wait until the range that is under way is delivered; after how many seconds. None where it was not."""
    began = time.monotonic()
    while (passed := time.monotonic() - began) < patience_seconds:
        if stored(copy).pending is None:
            return passed
        time.sleep(0.002)
    return None


def under_way(copy: Copy, process: subprocess.Popen[bytes], before: Stored, nth: int) -> bool:
    """Wait until this process has the range under way that it delivers as its first or second; False where it ended before."""
    passed = [before.pending] * nth
    patience = time.monotonic() + PATIENCE_SECONDS
    while process.poll() is None:
        found = stored(copy)
        if found.file != before.file and found.pending not in (None, *passed):
            return True
        assert time.monotonic() < patience
        time.sleep(0.002)
    return False


def test_consumer_killed_after_the_targets_commit_and_before_it_knows_delivers_the_same_again_and_then_the_rest(
    spark: SparkSession, pg: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Copy.of(spark, tmp_path, pg, "merge_on_read", "op_key_only")
    copy.write()
    killed = subprocess.run(
        [sys.executable, "-m", "tests.integration.changes.killed_consumer", *copy.arguments],
        env=dict(copy.environment), cwd=ROOT, start_new_session=True, check=False, capture_output=True,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert copy.rows() == copy.states()[-1]
    copy.write()

    assert copy.bring(monkeypatch) == 0
    assert copy.rows() == copy.states()[-1]


def test_consumer_that_ends_elsewhere_in_a_delivery_leaves_no_gap(
    spark: SparkSession, pg: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaves_no_gap(Copy.of(spark, tmp_path, pg, "copy_on_write", None), monkeypatch, FURTHER)


def started(copy: Copy) -> subprocess.Popen[bytes]:
    """The consumer's command in a process group of its own, with its own Spark."""
    command = [sys.executable, "-m", "hudi_reconcile", *copy.arguments]
    with (copy.folder / "log").open("wb") as log:
        return subprocess.Popen(
            command, stdout=log, stderr=log, start_new_session=True, cwd=ROOT, env=dict(copy.environment)
        )


def log_of(copy: Copy) -> str:
    return (copy.folder / "log").read_text()


@dataclass(frozen=True, slots=True)
class Stored:
    """Which file holds the consumer's position, None where there is none yet, and the end of the range under way."""

    file: tuple[int, int] | None
    pending: str | None


def stored(copy: Copy) -> Stored:
    try:
        with (copy.folder / ".t.hr-consumers" / "copy.json").open() as file:
            found = os.fstat(file.fileno())
            return Stored((found.st_ino, found.st_mtime_ns), json.load(file)["pending"])
    except FileNotFoundError:
        return Stored(None, None)
