"""`make consumer-kills`: a consumer in processes of its own, killed twenty times at random with its JVM, beside a writer.

Not a part of `make test`: each kill costs a JVM's start. `tests/integration/changes/test_consumer_kills.py` ends one at every
place of a delivery by exceptions.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.integration.changes.copies import Copy
from tests.integration.changes.test_consumer_kills import FURTHER, leaves_no_gap
from tests.support.kill_places import ROOT
from tests.support.postgres import Database

KILLS = 20
PATIENCE_SECONDS = 180.0


@pytest.mark.timeout(3600)
def test_consumer_killed_twenty_times_at_random_ends_with_the_target_equal_to_the_lake(
    spark: SparkSession,
    pg: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    copy = Copy.of(spark, tmp_path, pg, "copy_on_write", None)
    random = Random()  # noqa: S311 - other moments in each run
    began = time.monotonic()
    assert started(copy).wait(PATIENCE_SECONDS) == 0, log_of(copy)
    whole = time.monotonic() - began
    under_way: list[bool] = []
    while len(under_way) < KILLS:
        copy.write()
        process = started(copy)
        time.sleep(random.uniform(0.4, 1.0) * whole)  # before that, Spark itself is not up
        if process.poll() is not None:  # it was quicker than the first: the next one dies
            assert process.returncode == 0, log_of(copy)
            continue
        os.killpg(process.pid, signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL
        under_way.append('"pending": "' in position(copy))
        assert copy.rows() in copy.states()

    assert copy.bring(monkeypatch) == 0
    assert copy.rows() == copy.states()[-1]
    with capsys.disabled():
        sys.stdout.write(
            f"\n{KILLS} kills, {sum(under_way)} of them with a range under way, {len(copy.states()) - 1} commits\n"
        )


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


def position(copy: Copy) -> str:
    return (copy.folder / ".t.hr-consumers" / "copy.json").read_text()
