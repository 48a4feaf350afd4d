"""Corrections: one commit with upserts and deletes, made only if every key is still as it was compared."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.core.errors import LakeError, NotBuiltError, RefusedError, SupersededError
from hudi_reconcile.core.lake.ownership import Writers
from hudi_reconcile.core.tables.values import LakePin, TableType
from hudi_reconcile.lake import correct, options
from hudi_reconcile.lake.bridge import Timeline
from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.lake.reads import read_pinned as pinned_rows
from hudi_reconcile.lake.timeline import convert_action
from hudi_reconcile.ports import Frame
from tests.integration.lake.support import (
    TYPES,
    checkpoint,
    content,
    corrective,
    frame,
    new_table,
    pinned,
    table_of,
    versions,
)

COMPOSITE = "k string, n bigint, day date, note string, _hr_read_seq bigint"


@pytest.mark.parametrize("kind", TYPES)
def test_correction_upserts_moves_deletes_and_inserts_in_one_commit_on_a_partitioned_table_with_null_key_parts(
    spark: SparkSession, tmp_path: Path, kind: TableType
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    rows = spark.sql(
        "select k, cast(n as bigint) n, cast(day as date) day, note, 1L _hr_read_seq from values ('x', 1, '2024-01-01', 'old'),"
        " ('x', null, '2024-01-01', 'old'), ('y', 2, null, 'gone'), ('z', 3, '2024-02-02', 'kept') as t(k, n, day, note)"
    )
    lake.create(Frame(rows), new_table(kind, ("k", "n"), ("day",)), checkpoint(1), {})
    seqno_of_z = versions(lake, ("k", "n"), ("z", 3))
    wanted = [("x", 1), ("x", None), ("y", 2), ("new", 9)]
    expected = versions(lake, ("k", "n"), *wanted)
    moved = spark.sql("select date'2024-03-03' d").collect()[0][0]
    upserts = [("x", 1, moved, "moved", 2), ("x", None, None, "null day", 2), ("new", 9, moved, "new", 2)]

    instant = lake.correct(
        corrective(spark, lake, COMPOSITE, upserts=upserts, deletes="k = 'y'", expected=expected),
        table_of(lake), checkpoint(2), {"plan": "p1:all"},
    )  # fmt: skip

    after = [("new", 9, moved, "new"), ("x", 1, moved, "moved"), ("x", None, None, "null day")]
    assert [row for row in content(lake, "k", "n", "day", "note") if row[0] != "z"] == sorted(after, key=str)
    assert dict(lake.find_labels("plan")).get("p1:all") == instant
    assert versions(lake, ("k", "n"), ("z", 3)) == seqno_of_z
    assert [c.name for c in table_of(lake).columns] == ["k", "n", "day", "note", "_hr_read_seq"]

    again = lake.upsert(
        frame(spark, COMPOSITE, ("y", 2, moved, "back", 3), ("x", 1, None, "no day", 3)),
        table_of(lake),
        checkpoint(3),
        {},
    )

    assert again.completed > instant.completed
    assert ("y", 2, "back") in content(lake, "k", "n", "note")
    assert [row for row in content(lake, "k", "n", "day", "note") if row[:2] == ("x", 1)] == [("x", 1, None, "no day")]


@pytest.mark.parametrize(("ahead", "refused"), [(timedelta(hours=2), True), (timedelta(seconds=2), False)])
def test_commit_beside_a_write_that_is_named_after_now_is_refused_unless_that_time_comes_soon(
    spark: SparkSession, tmp_path: Path, ahead: timedelta, *, refused: bool
) -> None:
    """A writer two zones to the east: Hudi would take its files for newer than what is written now."""
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    lake.create(
        frame(spark, COMPOSITE, ("x", 1, None, "old", 1)), new_table("copy_on_write", ("k", "n")), checkpoint(1), {}
    )
    (done,) = (tmp_path / "orders" / ".hoodie" / "timeline").glob("*_*.commit")
    name = (datetime.now(UTC) + ahead).strftime("%Y%m%d%H%M%S000")
    done.with_name(f"{name}_{name}.commit").write_bytes(done.read_bytes())

    with pytest.raises(RefusedError, match="is named after now") if refused else nullcontext():
        lake.upsert(frame(spark, COMPOSITE, ("x", 1, None, "new", 2)), table_of(lake), checkpoint(2), {})


@pytest.mark.parametrize("kind", TYPES)
def test_correction_of_a_key_that_another_writer_touched_is_superseded_and_leaves_the_table_writable(
    spark: SparkSession, tmp_path: Path, kind: TableType
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    schema = "id int, qty int, _hr_read_seq bigint"
    lake.create(frame(spark, schema, *((i, 0, 1) for i in range(1, 6))), new_table(kind), checkpoint(1), {})
    table = table_of(lake)
    seen = versions(lake, ("id",), (1,), (2,), (9,))
    lake.upsert(frame(spark, schema, (3, 33, 2)), table, checkpoint(2), {})  # another key of the same file

    def attempt(**parts: Any) -> None:
        parts = {"upserts": [], "deletes": "false", **parts}
        lake.correct(corrective(spark, lake, schema, **parts), table, checkpoint(9), {"plan": "p2:all"})

    attempt(upserts=[(1, 11, 9)], deletes="id = 5", expected=versions(lake, ("id",), (1,), (5,)))
    before = content(lake, "id", "qty", "_hoodie_commit_seqno")
    assert [row[:2] for row in before] == [(1, 11), (2, 0), (3, 33), (4, 0)]
    pin = lake.pin()
    cases: dict[str, dict[str, Any]] = {
        "update of an updated row beside the delete of an untouched one": {
            "upserts": [(1, -1, 9)], "deletes": "id = 2", "expected": [seen[0], seen[1]],
        },
        "insert of a row that is there": {"upserts": [(2, -1, 9)], "expected": [(2, None)]},
        "update of a row that is gone": {"upserts": [(5, -1, 9)], "expected": [(5, seen[0][1])]},
    }  # fmt: skip
    for name, parts in cases.items():
        with pytest.raises(SupersededError):
            attempt(**parts)
        assert content(lake, "id", "qty", "_hoodie_commit_seqno") == before, name
        assert lake.pin() == pin, name

    rows = spark.createDataFrame([(2, 22, 99)], schema)
    options = {"hoodie.table.name": "orders", "hoodie.datasource.write.operation": "upsert"}
    rows.write.format("hudi").options(**options).mode("append").save(table.path)
    assert (2, 22) in content(lake, "id", "qty")
    assert (lake.list_writers().foreign, lake.list_writers().without_heartbeat) == (1, ())


def test_correction_beside_a_writer_in_flight_is_superseded_and_does_not_touch_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    schema = "id int, qty int, _hr_read_seq bigint"
    lake.create(frame(spark, schema, (1, 0, 1)), new_table("copy_on_write"), checkpoint(1), {})
    timeline = tmp_path / "orders" / ".hoodie" / "timeline"
    pin = lake.pin()
    assert pin is not None
    foreign = str(int(pin.instant.requested) + 1)
    (timeline / f"{foreign}.commit.requested").write_bytes(b"")
    (timeline / f"{foreign}.inflight").write_bytes(b"")
    seen = lake.pin()
    assert seen is not None
    assert seen.in_flight == (foreign,)
    assert lake.list_writers() == Writers(commits=1, without_heartbeat=(foreign,))

    with pytest.raises(SupersededError):
        lake.correct(
            corrective(spark, lake, schema, upserts=[(1, 1, 2)], deletes="false", expected=versions(lake, ("id",), (1,))),
            table_of(lake), checkpoint(2), {},
        )  # fmt: skip

    assert content(lake, "id", "qty") == [(1, 0)]
    assert lake.pin() == seen
    assert sorted(path.name for path in timeline.glob(f"{foreign}*")) == [
        f"{foreign}.commit.requested",
        f"{foreign}.inflight",
    ]


def test_correction_works_on_a_table_that_is_nothing_but_its_key(spark: SparkSession, tmp_path: Path) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    schema = "id int, _hr_read_seq bigint"
    lake.create(frame(spark, schema, (1, 1), (2, 1)), new_table("merge_on_read"), checkpoint(1), {})
    expected = versions(lake, ("id",), (1,), (3,))

    lake.correct(
        corrective(spark, lake, schema, upserts=[(3, 2)], deletes="id = 1", expected=expected),
        table_of(lake),
        checkpoint(2),
        {},
    )

    assert content(lake, "id") == [(2,), (3,)]


def test_correction_that_is_not_well_formed_is_refused_before_anything_is_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    schema = "id int, qty int, _hr_read_seq bigint"
    lake.create(frame(spark, schema, (1, 0, 1), (2, 0, 1)), new_table("copy_on_write"), checkpoint(1), {})
    pinned(lake).drop(*[c for c in pinned(lake).columns if c.startswith("_hoodie_")]).where("id = 2").write.format(
        "hudi"
    ).options(**{"hoodie.table.name": "orders", "hoodie.datasource.write.operation": "bulk_insert"}).mode(
        "append"
    ).save(table_of(lake).path)  # id 2 twice
    pin = lake.pin()
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        (
            {"upserts": [(1, 1, 2)], "deletes": "id = 1", "expected": versions(lake, ("id",), (1,))},
            LakeError,
            "1 keys occur twice",
        ),
        ({"upserts": [(1, 1, 2)], "expected": [(7, None)]}, LakeError, "1 keys have no expected version"),
        (
            {"upserts": [(1, 1, None)], "expected": versions(lake, ("id",), (1,))},
            LakeError,
            "1 upserts have no _hr_read_seq",
        ),
        ({"upserts": [(2, 1, 2)], "expected": versions(lake, ("id",), (2,))}, NotBuiltError, "1 keys to be updated"),
    ]
    for parts, error, text in cases:
        batch = corrective(spark, lake, schema, **{"deletes": "false", **parts})
        with pytest.raises(error, match=text):
            lake.correct(batch, table_of(lake), checkpoint(2), {})
        assert lake.pin() == pin

    lake.correct(
        corrective(spark, lake, schema, upserts=[], deletes="id = 2", expected=versions(lake, ("id",), (2,))),
        table_of(lake), checkpoint(2), {},
    )  # fmt: skip

    assert content(lake, "id") == [(1,)]


@pytest.mark.parametrize("kind", TYPES)
def test_writer_that_begins_while_a_correction_is_under_way_waits_for_its_commit_and_finds_its_rows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: TableType
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    schema = "id int, qty int, _hr_read_seq bigint"
    one_file = spark.createDataFrame([(1, 1, 1), (2, 2, 1)], schema).coalesce(1)
    lake.create(Frame(one_file), new_table(kind), checkpoint(1), {})
    started, go_on = tmp_path / "started", tmp_path / "go_on"

    def wait_for_the_other(_: int) -> int:
        started.touch()
        deadline = time.monotonic() + 120
        while not go_on.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        return 1

    spark.udf.register("wait_for_the_other", wait_for_the_other, "int")
    pending = correct.write_pending_sql
    monkeypatch.setattr(correct, "write_pending_sql", lambda *given: pending(*given) + " and wait_for_the_other(1) = 1")
    batch = corrective(
        spark, lake, schema, upserts=[(1, -1, 2)], deletes="false", expected=versions(lake, ("id",), (1,))
    )
    table = table_of(lake)
    with ThreadPoolExecutor(2) as pool:
        attempt = pool.submit(lake.correct, batch, table, checkpoint(2), {})
        while not started.exists() and not attempt.done():
            time.sleep(0.1)
        paused = lake.pin()
        assert paused is not None
        assert (len(paused.in_flight), lake.list_writers().without_heartbeat) == (1, ()), "ours keep a heartbeat"
        other = pool.submit(lake.upsert, frame(spark, schema, (2, 22, 2)), table, checkpoint(2), {})
        with pytest.raises(TimeoutError):
            other.result(3)
        assert lake.pin() == paused, "it began in spite of our lock"
        go_on.touch()
        corrected, later = attempt.result(), other.result()

    assert corrected.completed < later.requested
    assert content(lake, "id", "qty") == [(1, -1), (2, 22)]
    pin = lake.pin()
    assert pin is not None
    assert (pin.instant, pin.in_flight) == (later, ())
    options = {"hoodie.table.name": "orders", "hoodie.datasource.write.operation": "upsert"}
    spark.createDataFrame([(3, 3, 3)], schema).write.format("hudi").options(**options).mode("append").save(table.path)
    assert content(lake, "id") == [(1,), (2,), (3,)]


@pytest.mark.parametrize("kind", TYPES)
def test_row_that_moves_partition_is_there_once_in_the_snapshot_of_every_commit(
    spark: SparkSession, tmp_path: Path, kind: TableType
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    schema = "id int, day string, _hr_read_seq bigint"
    lake.create(frame(spark, schema, (1, "a", 1), (2, "a", 1)), new_table(kind, ("id",), ("day",)), checkpoint(1), {})
    for seq, day in ((2, "b"), (3, "a"), (4, "c")):
        batch = corrective(
            spark, lake, schema, upserts=[(1, day, seq)], deletes="false", expected=versions(lake, ("id",), (1,))
        )
        lake.correct(batch, table_of(lake), checkpoint(seq), {})

    done = sorted(Timeline(spark, table_of(lake).path).list_completed(), key=lambda action: action.completed or "")
    seen = [
        sorted(
            map(
                tuple,
                pinned_rows(spark, table_of(lake).path, LakePin(convert_action(one), ())).select("id", "day").collect(),
            )
        )
        for one in done
    ]
    assert seen == [[(1, day), (2, "a")] for day in "abac"]


def test_row_looked_for_in_the_wrong_partition_would_be_noticed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By each row's own partition alone.
    monkeypatch.setattr(options, "_index", lambda *_: {"hoodie.index.type": "SIMPLE"})
    with pytest.raises((AssertionError, NotBuiltError, SupersededError)):
        test_row_that_moves_partition_is_there_once_in_the_snapshot_of_every_commit(spark, tmp_path, "copy_on_write")
