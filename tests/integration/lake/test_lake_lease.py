"""The lease, and what a writer killed in the middle of its commit leaves to the next one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.core.errors import LakeError, RefusedError, SupersededError
from hudi_reconcile.core.tables.values import TableType
from hudi_reconcile.lake import commit, recover
from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.ports import Frame
from tests.integration.lake.support import checkpoint, content, corrective, frame, new_table, table_of, versions

SCHEMA = "id int, qty int, _hr_read_seq bigint"
WRITER = Path(__file__).with_name("killed_writer.py")
ROOT = WRITER.parents[3]


def test_lease_keeps_a_second_process_out_and_is_given_back_whatever_happens(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    file = tmp_path / ".orders.hr-lease.json"
    with lake.lease("run 1"):
        assert json.loads(file.read_text())["owner"] == "run 1"
        with pytest.raises(RefusedError, match="run 1") as caught, lake.lease("run 2"):
            pytest.fail("two holders")
        assert str(file) in caught.value.fix
        assert file.exists()
    assert not file.exists()
    with pytest.raises(ZeroDivisionError), lake.lease("run 3"):
        _ = 1 / 0
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt), lake.lease("run 4"):
        raise KeyboardInterrupt
    assert json.loads(file.read_text())["owner"] == "run 4", "the next run must learn that this one was interrupted"


def test_write_that_failed_leaves_the_lease_with_its_instant_and_the_next_of_the_same_process_rolls_it_back(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it the next write commits beside the instant, and corrections are refused until Hudi's own patience ends."""
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    lake.create(frame(spark, SCHEMA, (1, 1, 1)), new_table("copy_on_write"), checkpoint(1), {})
    file, timeline = tmp_path / ".orders.hr-lease.json", tmp_path / "orders" / ".hoodie" / "timeline"
    spark.udf.register("fail", lambda _: 1 / 0, "int")
    rows = Frame(spark.createDataFrame([(1, 2, 2)], SCHEMA).selectExpr("id", "fail(qty) as qty", "_hr_read_seq"))

    def refuse(*_: object) -> None:
        raise LakeError("No space left on device", fix="free space")

    with monkeypatch.context() as full_disk:
        full_disk.setattr(commit, "roll_back", refuse)
        with pytest.raises(LakeError, match="No space left"), lake.lease("run 1"):
            lake.upsert(rows, table_of(lake), checkpoint(2), {})
    left = len(list(timeline.glob("*.requested")))
    lease = json.loads(file.read_text())
    assert (lease["owner"], lease["holder"]["pid"], lease["holder"]["started"]) == ("run 1", os.getpid(), "left")
    monkeypatch.setattr(recover, "SILENT_MS", 1_000)
    time.sleep(1.1)
    with lake.lease("run 2"):
        assert json.loads(file.read_text())["owner"] == "run 2"
        lake.upsert(frame(spark, SCHEMA, (1, 3, 3)), table_of(lake), checkpoint(3), {})

    assert left == 2, "the table's own, and the failed one"
    assert len(list(timeline.glob("*.rollback.requested"))) == 1
    assert content(lake, "qty") == [(3,)]
    assert not file.exists()


def test_lease_of_a_dead_process_of_this_host_is_taken_over_and_one_of_another_host_when_it_expired(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    file = tmp_path / ".orders.hr-lease.json"
    with lake.lease("run 1"):
        mine = json.loads(file.read_text())
    now_ms = time.time_ns() // 1_000_000
    dead = mine | {"holder": mine["holder"] | {"started": "1"}, "expires_ms": now_ms + 900_000}
    elsewhere = mine | {"holder": mine["holder"] | {"host": "far"}}

    for found in (dead, elsewhere | {"expires_ms": now_ms}):
        file.write_text(json.dumps(found))
        with lake.lease("run 2"):
            assert json.loads(file.read_text())["owner"] == "run 2"
        assert list(tmp_path.iterdir()) == []
    for text in (json.dumps(elsewhere | {"expires_ms": now_ms + 900_000}), "half a lea"):
        file.write_text(text)
        with pytest.raises(RefusedError), lake.lease("run 2"):
            pytest.fail("two holders")
        assert file.read_text() == text


def test_process_killed_while_it_clears_up_after_another_leaves_both_to_the_next(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    lake.create(frame(spark, SCHEMA, (1, 1, 1)), new_table("copy_on_write"), checkpoint(1), {})
    file = tmp_path / ".orders.hr-lease.json"
    with lake.lease("run 1"):
        mine = json.loads(file.read_text())
    gone = {"holder": mine["holder"] | {"started": "1"}}
    file.write_text(json.dumps(mine | gone | {"since": "20260101000000000", "since_ms": 1}))

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(recover, "clear", killed)
        with pytest.raises(KeyboardInterrupt), lake.lease("run 2"):
            pytest.fail("not cleared")
    left = json.loads(file.read_text())
    assert (left["owner"], left["since"], left["since_ms"]) == ("run 2", "20260101000000000", 1)

    file.write_text(json.dumps(left | gone))
    with lake.lease("run 3"):
        held = json.loads(file.read_text())
        assert held["since"] > mine["since"]
        taken = json.dumps(held | {"token": "of another process"})
        file.write_text(taken)  # we stood still, and it expired
        with pytest.raises(SupersededError, match="lease"):
            lake.upsert(frame(spark, SCHEMA, (1, 2, 2)), table_of(lake), checkpoint(2), {})
        assert file.read_text() == taken
        assert content(lake, "qty") == [(1,)]
        file.write_text(json.dumps(held | {"expires_ms": 1}))
        lake.upsert(frame(spark, SCHEMA, (1, 3, 3)), table_of(lake), checkpoint(3), {})
        assert json.loads(file.read_text())["expires_ms"] > held["since_ms"], "it has its whole time for the commit"
    assert not file.exists()


def test_lock_of_a_process_killed_before_its_instant_is_removed_once_it_is_sure_and_one_from_before_it_is_not(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    lake.create(frame(spark, SCHEMA, (1, 1, 1)), new_table("copy_on_write"), checkpoint(1), {})
    file, lock = tmp_path / ".orders.hr-lease.json", tmp_path / "orders" / ".hoodie" / "lock"
    with lake.lease("run 1"):
        mine = json.loads(file.read_text())
    dead = json.dumps(mine | {"holder": mine["holder"] | {"started": "1"}})
    monkeypatch.setattr(recover, "SILENT_MS", 1_000)

    lock.touch()
    file.write_text(dead)
    with lake.lease("run 2"):
        assert not lock.exists()

    lock.touch()
    os.utime(lock, (1, 1))
    file.write_text(dead)
    with lake.lease("run 3"):
        assert lock.exists(), "it was there before the dead process was"


@pytest.mark.parametrize(("operation", "kind"), [("upsert", "merge_on_read"), ("correct", "copy_on_write")])
def test_writer_killed_in_its_commit_leaves_a_table_that_the_next_one_finds_right_and_can_write(
    spark: SparkSession, tmp_path: Path, operation: str, kind: TableType
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    lake.create(frame(spark, SCHEMA, (1, 1, 1), (2, 2, 1), (3, 3, 1)), new_table(kind), checkpoint(1), {})
    timeline = tmp_path / "orders" / ".hoodie" / "timeline"
    _kill_in_the_middle(
        tmp_path / "orders", operation, "*.commit.requested" if kind[0] == "c" else "*.deltacommit.requested"
    )
    assert len(list(timeline.glob("*.requested"))) == 2
    assert content(lake, "id", "qty") == [(1, 1), (2, 2), (3, 3)]

    with lake.lease("next run"):
        pin = lake.pin()
        assert pin is not None
        assert pin.in_flight == ()
        batch = corrective(
            spark, lake, SCHEMA, upserts=[(1, 10, 60)], deletes="id = 3", expected=versions(lake, ("id",), (1,), (3,))
        )
        lake.correct(batch, table_of(lake), checkpoint(60), {})
        lake.upsert(frame(spark, SCHEMA, (4, 4, 61)), table_of(lake), checkpoint(61), {})

    assert content(lake, "id", "qty") == [(1, 10), (2, 2), (4, 4)]
    assert dict(lake.find_labels("run_id")).get("killed") is None
    assert not (tmp_path / ".orders.hr-lease.json").exists()


def _kill_in_the_middle(table: Path, operation: str, sign: str) -> None:
    """Kill the writer once its data is on the way: at the second instant of the timeline, two seconds later."""
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(WRITER), str(table), operation]
    with subprocess.Popen(command, env=environ, start_new_session=True, cwd=ROOT) as writer:
        try:
            deadline = time.monotonic() + 200
            while len(list((table / ".hoodie" / "timeline").glob(sign))) < (2 if operation == "correct" else 1):
                assert writer.poll() is None, "the writer ended by itself"
                assert time.monotonic() < deadline, "the writer did not begin"
                time.sleep(0.2)
            if operation == "correct":
                _wait_for_files(table, deadline)
        finally:
            os.killpg(writer.pid, signal.SIGKILL)


def _wait_for_files(table: Path, deadline: float) -> None:
    while len(list(table.glob("*.parquet"))) < 2:
        assert time.monotonic() < deadline, "no data file was written"
        time.sleep(0.2)
    time.sleep(2)
