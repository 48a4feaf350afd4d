"""`changes --path`: a table that plain Spark SQL wrote, asked from a folder without a config, as the published example is."""

from __future__ import annotations

import json
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import hudi_reconcile
from hudi_reconcile.changefeed.query import find_keys_among
from hudi_reconcile.cli.main import run
from hudi_reconcile.cli.streams import flush
from hudi_reconcile.core.changes import consumers
from hudi_reconcile.core.changes.queries import QUERY_TYPES
from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.lake.bridge import Timeline
from hudi_reconcile.lake.changes.history import HudiHistory
from hudi_reconcile.ports import Frame

NET = {("i", "jack", "banana"): 1, ("i", "sarah", "orange"): 1}


@pytest.fixture(params=["cow", "mor"])
def fruit(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """Jack, Sarah and John choose a fruit, Jack another one, John is deleted; the working folder is empty."""
    path = tmp_path / "lake" / "fruit"
    spark.sql(
        "create table fruit_by_sql (name string, fruit string, ts int) using hudi"
        f" tblproperties (type = '{request.param}', primaryKey = 'name', preCombineField = 'ts') location '{path}'"
    )
    try:
        spark.sql(
            "insert into fruit_by_sql values ('jack', 'apple', 1), ('sarah', 'orange', 1), ('john', 'pineapple', 1)"
        )
        spark.sql("update fruit_by_sql set fruit = 'banana', ts = 2 where name = 'jack'")
        spark.sql("delete from fruit_by_sql where name = 'john'")
    finally:
        spark.sql("drop table fruit_by_sql")
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    return path


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    code = run(["changes", "--format", "ndjson", *arguments])
    found = capsys.readouterr()
    assert code == 0, found.err
    return [json.loads(line) for line in found.out.splitlines()]


def rows(changes: list[dict[str, Any]]) -> Counter[tuple[str, str, str]]:
    return Counter((one["op"], one["key"]["name"], (one["after"] or one["before"])["fruit"]) for one in changes)


def test_table_that_spark_sql_wrote_is_asked_by_its_path_without_any_config(
    fruit: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net = listed(capsys, "--path", str(fruit), "--type", "min-delta")
    inserted = listed(capsys, "--path", "../lake/fruit", "--type", "append-only")
    first = min(one["instant"] for one in inserted)
    later = listed(capsys, "--path", f"file://{fruit}", "--type", "min-delta", "--from", first)
    alive = listed(capsys, "--path", str(fruit), "--type", "upsert")
    full = listed(capsys, "--path", str(fruit), "--type", "full-delta")
    frame = hudi_reconcile.changes(path=str(fruit), type="min-delta")

    assert rows(net) == NET
    assert rows(inserted) == {("i", "jack", "apple"): 1, ("i", "sarah", "orange"): 1, ("i", "john", "pineapple"): 1}
    assert rows(later) == {("u", "jack", "banana"): 1, ("d", "john", "pineapple"): 1}
    assert rows(alive) == {("upsert", "jack", "banana"): 1, ("upsert", "sarah", "orange"): 1}
    assert full[:3] == inserted
    assert rows(full[3:]) == rows(later)
    assert [(one["before"]["fruit"], one["after"]) for one in full[3:]] == [
        ("apple", {"name": "jack", "fruit": "banana", "ts": 2}),
        ("pineapple", None),
    ]
    assert not any(Path().iterdir())
    assert {(row.op, row.key["name"], row.after["fruit"]) for row in frame.collect()} == set(NET)


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_soft_deleted_row_is_a_delete_by_hudis_flag_and_by_a_named_rule(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    path = str(tmp_path / "fruit")
    options = {
        "hoodie.table.name": "fruit",
        "hoodie.datasource.write.recordkey.field": "name",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.datasource.write.table.type": kind,
    }
    schema = "name string, fruit string, weight int, gone boolean, ts int, _hoodie_is_deleted boolean"
    kept = [("sarah", "orange", 1, False, 1, False), ("jack", "apple", 1, False, 1, False)]
    batches = [
        # Kept by a bulk insert, which looks at no flag.
        ("bulk_insert", [*kept, ("john", "pineapple", 1, False, 1, True), ("eve", "fig", 1, False, 1, False)]),
        ("upsert", [("jack", "apple", 1, False, 2, True), ("sarah", None, None, None, 2, False)]),
        ("upsert", [("eve", "fig", 1, True, 3, False)]),
    ]
    for operation, batch in batches:
        frame = spark.createDataFrame(batch, schema).coalesce(1)
        how = {**options, "hoodie.datasource.write.operation": operation}
        frame.write.format("hudi").options(**how).mode("append").save(path)

    def ops(*arguments: str) -> list[tuple[str, str]]:
        found = listed(capsys, "--path", path, *arguments)
        assert not any(
            "_hoodie_is_deleted" in image for one in found for image in (one["before"], one["after"]) if image
        )
        return sorted((one["op"], one["key"]["name"]) for one in found)

    born = [("i", "eve"), ("i", "jack"), ("i", "sarah")]
    assert ops("--type", "append-only") == born
    assert ops("--type", "full-delta") == sorted([*born, ("d", "jack"), ("u", "eve"), ("u", "sarah")])
    nulls, flag = ("--soft-deletes", "all-null"), ("--soft-deletes", "gone")
    assert ops("--type", "full-delta", *nulls) == sorted([*born, ("d", "jack"), ("u", "eve"), ("d", "sarah")])
    assert ops("--type", "full-delta", *flag) == sorted([*born, ("d", "jack"), ("d", "eve"), ("u", "sarah")])
    assert ops("--type", "min-delta") == [("i", "eve"), ("i", "sarah")]
    assert ops("--type", "min-delta", *nulls) == [("i", "eve")]
    assert ops("--type", "upsert", *flag) == [("upsert", "sarah")]
    assert run(["changes", "--path", path, "--type", "upsert", "--soft-deletes", "fruit"]) == 2
    assert "--soft-deletes takes all-null, gone" in capsys.readouterr().err


def test_consumer_of_a_path_gets_each_change_once_and_goes_on_inside_of_a_delivery(
    fruit: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit of three rows is cut by their keys' hash; the reader goes away after the first chunk."""
    monkeypatch.setattr(consumers, "CHUNK_ROWS", 1)
    asked = ("changes", "--path", str(fruit), "--type", "full-delta", "--consumer", "mirror", "--commit-position")
    how = ("--format", "debezium")
    flushes: list[int] = []

    def flush_once() -> None:
        if flushes:
            raise LakeError("it ended here", fix="-")
        flush()
        flushes.append(1)

    with monkeypatch.context() as patch:
        patch.setattr("hudi_reconcile.cli.commands.changes.flush", flush_once)
        assert run([*asked, *how]) == 3
    # What was printed last may have reached nobody: it comes again.
    first = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    monkeypatch.setattr(consumers, "CHUNK_ROWS", 50)  # the delivery under way keeps its own
    assert run([*asked, *how]) == 0
    rest = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert run([*asked, *how]) == 0
    assert capsys.readouterr().out == ""

    events = {json.dumps(one, sort_keys=True) for one in (*first, *rest)}
    assert len(events) == 5
    assert len(rest) < 5
    assert [one["ts_ms"] for one in (*first, *rest)] == sorted(one["ts_ms"] for one in (*first, *rest))
    assert Counter(json.loads(one)["op"] for one in events) == {"c": 3, "u": 1, "d": 1}
    update = next(one for one in (*first, *rest) if one["op"] == "u")
    assert update["before"] == {"name": "jack", "fruit": "apple", "ts": 1}
    assert update["after"] == {"name": "jack", "fruit": "banana", "ts": 2}
    source = update["source"]
    assert (source["connector"], source["table"], source["key"]) == ("hudi-reconcile", "fruit", {"name": "jack"})
    assert (source["run_id"], source["ts_ms"]) == (None, update["ts_ms"])
    completed = datetime.strptime(source["instant"] + "000+0000", "%Y%m%d%H%M%S%f%z")
    assert update["ts_ms"] == round(completed.timestamp() * 1000)


def test_structured_stream_hands_each_net_change_on_once(spark: SparkSession, fruit: Path, tmp_path: Path) -> None:
    """The recipe of docs/change-queries.md: each micro-batch of Hudi's stream is a sign that there is something new."""
    taken: list[tuple[str, str, set[tuple[str, str, str]]]] = []

    def take(frame: DataFrame, after: str, upto: str) -> None:
        rows = {(row.op, row.key["name"], (row.after or row.before)["fruit"]) for row in frame.collect()}
        taken.append((after, upto, rows))

    def on_batch(_: DataFrame, __: int) -> None:
        hudi_reconcile.feed(take, path=str(fruit), type="min-delta", consumer="stream")

    def stream() -> None:
        reader = spark.readStream.format("hudi").load(str(fruit))
        writer = reader.writeStream.foreachBatch(on_batch).option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()

    stream()
    assert [(after, rows) for after, _, rows in taken] == [("earliest", set(NET))]
    options = {
        "hoodie.datasource.write.operation": "delete",
        "hoodie.datasource.write.recordkey.field": "name",
        "hoodie.table.name": "fruit_by_sql",
    }
    sarah = spark.read.format("hudi").load(str(fruit)).where("name = 'sarah'").select("name", "fruit", "ts")
    sarah.write.format("hudi").options(**options).mode("append").save(str(fruit))
    stream()
    assert [(after, rows) for after, _, rows in taken[1:]] == [(taken[0][1], {("d", "sarah", "orange")})]


def test_asynchronous_change_log_is_told_before_the_compaction_that_writes_it_and_alike_after_it(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As Flink's writer lays a table out: log files without a change log, which the compaction writes beside its base file."""
    path = str(tmp_path / "fruit")
    options = {
        "hoodie.table.name": "fruit",
        "hoodie.datasource.write.recordkey.field": "name",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.table.cdc.enabled": "true",
        "hoodie.table.cdc.supplemental.logging.mode": "OP_KEY_ONLY",
        "hoodie.compact.inline": "false",
    }
    batches = [
        ("upsert", [("jack", "apple", 1), ("sarah", "orange", 1), ("john", "pineapple", 1)]),
        ("upsert", [("jack", "banana", 2)]),
        ("delete", [("john", "pineapple", 3)]),
    ]
    for operation, batch in batches:
        frame = spark.createDataFrame(batch, "name string, fruit string, ts int").coalesce(1)
        how = {**options, "hoodie.datasource.write.operation": operation}
        frame.write.format("hudi").options(**how).mode("append").save(path)

    def told() -> list[list[dict[str, Any]]]:
        return [listed(capsys, "--path", path, "--type", kind) for kind in QUERY_TYPES]

    before = told()
    soon = "options => 'hoodie.compact.inline.max.delta.commits=1'"
    spark.sql(f"call run_compaction(op => 'schedule', path => '{path}', {soon})").collect()
    spark.sql(f"call run_compaction(op => 'run', path => '{path}')").collect()

    line = Timeline(spark, path)
    newest = json.loads(line.commit_json(max(line.list_completed(), key=lambda one: str(one.completed))))
    logs = [stat.get("cdcStats") for stats in newest["partitionToWriteStats"].values() for stat in stats]
    assert (newest["operationType"], all(logs)) == ("COMPACT", True)
    assert told() == before
    assert [(one["op"], one["key"]["name"]) for one in before[QUERY_TYPES.index("full-delta")][3:]] == [
        ("u", "jack"),
        ("d", "john"),
    ]


def test_table_with_a_column_of_operations_is_told_by_its_rows_and_not_by_its_files(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files of Flink's changelog mode hold changes, of which only Hudi's own reader makes rows (`make flink`)."""
    path = str(tmp_path / "fruit")
    options = {
        "hoodie.table.name": "fruit",
        "hoodie.datasource.write.recordkey.field": "name",
        "hoodie.allow.operation.metadata.field": "true",
    }
    merged = {**options, "hoodie.datasource.write.table.type": "MERGE_ON_READ"}
    for fruit, settings, to in (
        ("apple", options, path),
        ("banana", options, path),
        ("kiwi", merged, f"{path}_merged"),
    ):
        frame = spark.createDataFrame([("jack", fruit, 1)], "name string, fruit string, ts int")
        frame.write.format("hudi").options(**settings).mode("append").save(to)
    history = HudiHistory(spark, path)

    assert rows(listed(capsys, "--path", path, "--type", "min-delta")) == {("i", "jack", "banana"): 1}
    assert history._chain_files(history.commits()) is None
    assert run(["changes", "--path", f"{path}_merged", "--type", "upsert", "--merge", "skip_merge"]) == 2
    assert "changelog mode" in capsys.readouterr().err


def test_writers_in_another_zone_are_named_and_an_iso_time_is_refused_there(
    fruit: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The files of the timeline as a JVM two hours ahead of UTC leaves them: named in its zone, written when they were."""
    asked = ("--path", str(fruit), "--type", "min-delta")
    before = listed(capsys, *asked)
    for file in (fruit / ".hoodie" / "timeline").iterdir():
        if file.is_file():
            written = instant_seconds(file.name.partition("_")[2][:17]) if "_" in file.name else file.stat().st_mtime
            os.utime(file, (written - 7200 + 0.5, written - 7200 + 0.5))

    assert listed(capsys, *asked) == before
    assert run(["changes", *asked]) == 0
    assert "its writers' JVM is in zone UTC+02:00" in capsys.readouterr().err
    assert run(["changes", *asked, "--from", "2020-01-01"]) == 2
    assert "an ISO time is in UTC" in capsys.readouterr().err


def instant_seconds(instant: str) -> float:
    return datetime.strptime(instant + "000+0000", "%Y%m%d%H%M%S%f%z").timestamp()


def test_key_that_another_file_holds_as_well_is_counted_where_that_is_asked_for(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "fruit")
    options = {
        "hoodie.table.name": "fruit",
        "hoodie.datasource.write.recordkey.field": "name",
        "hoodie.datasource.write.partitionpath.field": "part",
        "hoodie.datasource.write.operation": "bulk_insert",
    }
    for batch in ([("jack", "apple", "a"), ("eve", "fig", "a")], [("jack", "banana", "b"), ("sarah", "orange", "b")]):
        frame = spark.createDataFrame(batch, "name string, fruit string, part string").coalesce(1)
        frame.write.format("hudi").options(**options).mode("append").save(path)
    first = min(str(one.completed) for one in Timeline(spark, path).list_completed())
    asked = ["changes", "--path", path, "--type", "min-delta", "--from", first, "--format", "ndjson"]

    assert run(asked) == 0
    assert "second time" not in capsys.readouterr().err
    assert run([*asked, "--check-keys"]) == 0
    told = capsys.readouterr().err
    assert "1 key of this answer is in the table a second time" in told
    assert 'sweep lists doubled keys ({"name":"jack"})' in told


def test_first_five_of_many_keys_that_another_file_holds_as_well_are_named_in_order(
    spark: SparkSession,
) -> None:
    def frame(keys: list[str]) -> Frame:
        return Frame(spark.createDataFrame([((key, None),) for key in keys], "key struct<a: string, b: int>"))

    rows = frame([f"k{n}" for n in (7, 3, 3, 1, 5, 2, 6, 4)])

    assert find_keys_among(rows, frame([f"k{n}" for n in range(2, 9)]), 5) == (
        6,
        tuple(f'{{"a":"k{n}","b":null}}' for n in range(2, 7)),
    )
    assert find_keys_among(rows, frame(["k9"]), 5) == (0, ())
    assert find_keys_among(rows, frame(["k1"]), 0) == (1, ())


def test_two_writers_of_one_file_group_at_once_are_refused_and_what_came_after_is_told(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hudi's non-blocking writers: both write log files of the one bucket, and neither waits for the other."""
    path = str(tmp_path / "fruit")
    options = {
        "hoodie.table.name": "fruit",
        "hoodie.datasource.write.recordkey.field": "name",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.index.type": "BUCKET",
        "hoodie.bucket.index.num.buckets": "1",
        "hoodie.compact.inline": "false",
        "hoodie.metadata.enable": "false",
        "hoodie.table.type": "MERGE_ON_READ",
        "hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL",
        "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
        "hoodie.clean.failed.writes.policy": "LAZY",
    }

    def write(batch: list[tuple[str, str, int]]) -> None:
        frame = spark.createDataFrame(batch, "name string, fruit string, ts int").coalesce(1)
        frame.write.format("hudi").options(**options).mode("append").save(path)

    write([("jack", "apple", 1)])
    together = [[("jack", "banana", 2)], [("jack", "cherry", 3)]]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, together))
    write([("jack", "date", 4)])

    _, one, other, last = sorted(Timeline(spark, path).list_completed(), key=lambda action: str(action.completed))
    assert max(one.requested, other.requested) < str(one.completed)
    asked = ["--path", path, "--type", "min-delta"]
    assert run(["changes", *asked]) == 2
    assert "wrote the same files at the same time" in capsys.readouterr().err
    later = listed(capsys, *asked, "--from", str(other.completed))
    assert [(change["op"], change["before"]["fruit"], change["after"]["fruit"]) for change in later] == [
        ("u", "cherry", "date")
    ]
    assert last.completed == later[0]["instant"]


def test_commit_beside_a_compaction_that_is_planned_is_refused_as_beside_one_that_is_done(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its log file belongs to the slice that the compaction will make: as of the commit no state holds its rows."""
    path = str(tmp_path / "fruit")
    options = {
        "hoodie.table.name": "fruit",
        "hoodie.datasource.write.recordkey.field": "name",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.compact.inline": "false",
    }

    def write(batch: list[tuple[str, str, int]]) -> None:
        frame = spark.createDataFrame(batch, "name string, fruit string, ts int").coalesce(1)
        frame.write.format("hudi").options(**options).mode("append").save(path)

    for number, fruit in enumerate(("apple", "banana", "cherry")):
        write([("jack", fruit, number)])
    soon = "options => 'hoodie.compact.inline.max.delta.commits=1'"
    spark.sql(f"call run_compaction(op => 'schedule', path => '{path}', {soon})").collect()
    (planned,) = Timeline(spark, path).pending()
    *_, last = sorted(Timeline(spark, path).list_completed(), key=lambda action: str(action.completed))
    # As if the writer had been at work still when the compaction was planned, which Hudi allows from table version 8 on.
    late = str(int(planned.requested) + 1)
    folder = Path(path) / ".hoodie" / "timeline"
    (folder / f"{last.requested}_{last.completed}.deltacommit").rename(folder / f"{last.requested}_{late}.deltacommit")

    code = run(["changes", "--path", path, "--type", "min-delta", "--from", str(last.requested)])

    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert "wrote the same files at the same time" in err
