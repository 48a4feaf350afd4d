"""Changes from one reading of each state of the file groups, held against two readings of each commit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.changefeed.log import filter_touched
from hudi_reconcile.core.changes.queries import answer
from hudi_reconcile.core.changes.range import Commit
from hudi_reconcile.lake.changes.file_versions import select_touched as run_events
from hudi_reconcile.lake.changes.history import HudiHistory
from tests.integration.changes.lakes import Lake
from tests.integration.changes.reading import (
    alive_of,
    at_once,
    renumbered,
    service,
    span_between,
    told_alike,
    whole_log,
)
from tests.integration.changes.test_chained import MERGED, written

SCHEMA = "id bigint, part string, v int, at bigint"
# Keys go by their hash to one of two file groups of their partition, those that are new too: into its log files.
BUCKETS = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "at",
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": "2",
    "hoodie.compact.inline": "false",
}
Row = tuple[int, str, int, int]
Versions = dict[str, tuple[int, ...]]  # and the places that they are at


def test_commits_of_merge_on_read_are_told_from_one_reading_of_each_state_as_from_two_of_each_commit(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = Lake(spark, tmp_path / "t", "merge_on_read", None)
    lake.correct({1: ("b", 1), 4: ("b", 4)}, {2})  # 1 moves
    lake.pull({1: ("b", 6), 6: ("a", 6)}, seq=0)  # Hudi drops the older image of 1
    service(spark, lake, "merge_on_read")
    lake.pull({6: ("a", 6)})  # again, as it was
    lake.correct({2: ("a", 9)}, {6})  # back again, and gone
    lake.pull({6: ("b", 7), 1: ("a", 1)})  # back in another partition, and moved back
    history = lake.history()
    log = whole_log(history)

    for first, last in ((0, 6), (1, 6), (2, 4), (3, 5), (5, 6)):
        start = lake.completed[first - 1] if first else "earliest"
        span = span_between(history, start, lake.completed[last - 1])
        part = [one for one in log if first <= one.commit < last]
        found = at_once(history, span.commits)
        assert found is not None
        assert told_alike(renumbered(found, first)) == told_alike(part), (first, last)
        alive = renumbered(alive_of(history, span.commits), first)
        assert told_alike(alive) == told_alike(answer("upsert", part)), (first, last)


def new_rows_in_log_files_are_told(spark: SparkSession, path: str) -> None:
    """For `make change-histories`: in several file groups of a partition, before and after compaction."""
    write(spark, path, *[(one, "ab"[one % 2], 0, 5) for one in range(1, 13)])
    write(spark, path, (1, "b", 1, 6), (2, "a", 1, 6), (13, "b", 1, 6), (14, "a", 1, 6))
    write(spark, path, (1, "b", 1, 7), (3, "b", 1, 7), (14, "a", 1, 7), operation="delete")
    assert_told(HudiHistory(spark, path), (0, 3), (1, 3))
    for op in ("schedule", "run"):
        spark.sql(f"call run_compaction(op => '{op}', path => '{path}')").collect()
    write(spark, path, (1, "b", 2, 8), (4, "a", 2, 1), (5, "b", 0, 8))  # back; Hudi drops the older image of 4
    write(spark, path, (5, "b", 3, 9), (15, "c", 3, 9))

    history = HudiHistory(spark, path)

    assert any(".log." in file.path for file in history.commits()[1].files)
    assert len({group for group in history.commits()[0].groups if group[0] == "a"}) == 2
    assert_told(history, (0, 5), (1, 4), (2, 5), (3, 4))
    one, _, three, *_ = history.commits()
    assert_told_of(history, (one, three))  # what the second did is nobody's


def test_each_copy_of_a_key_that_is_there_more_than_once_is_told(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    plain = {"hoodie.index.type": "SIMPLE"}
    write(spark, path, (1, "a", 0, 5), (1, "a", 1, 5), (2, "a", 0, 5), operation="bulk_insert", further=plain)
    write(spark, path, (1, "a", 2, 5), (3, "a", 0, 5), operation="bulk_insert", further=plain)
    write(spark, path, (1, "a", 3, 6), (2, "a", 3, 6), further=plain)

    assert_told(HudiHistory(spark, path), (0, 3), (1, 2), (2, 3))


def test_values_of_every_type_and_partition_are_read_alike_from_merge_on_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "t")
    history = written(spark, path, "range(24)", "range(3, 30, 5)", "range(0, 24, 4)", options=MERGED)

    assert_told(history, (0, 3), (1, 3), (2, 3))


def test_version_that_is_missing_between_twice_at_a_place_or_nowhere_whole_is_told_by_no_chain(
    spark: SparkSession,
) -> None:
    """Three places: what was there before, and what two commits left."""
    stays: Versions = {"stays": (0, 1, 2)}
    born: Versions = {"born": (1, 2)}
    assert events(spark, stays | born | {"gone": (0,)}) == [("born", 0, 1), ("gone", 0, 0)]
    assert events(spark, stays | {"both": (1,)}) == [("both", 0, 1), ("both", 1, 0)]
    assert events(spark, stays | {"missing": (0, 2)}) is None
    assert events(spark, stays | {"twice": (0, 1, 1, 2)}) is None
    assert events(spark, stays | born, unknown="born") is None
    assert events(spark, stays | born, unknown="stays") == [("born", 0, 1)]


def events(spark: SparkSession, versions: Versions, unknown: str = "") -> list[tuple[str, int, int]] | None:
    rows = [
        (0, one, place, [None, 0, 1][place], [0, 1, None][place])
        for one, places in versions.items()
        for place in places
    ]
    placed = spark.createDataFrame(rows, "chain int, version string, place int, n int, then int")
    whole = placed.drop("n", "then").where(F.col("version") != unknown)
    found = run_events(placed, whole)
    return None if found is None else sorted((one.version, one.n, one.side) for one in found.collect())


def assert_told(history: HudiHistory, *ranges: tuple[int, int]) -> None:
    for first, last in ranges:
        assert_told_of(history, history.commits()[first:last])


def assert_told_of(history: HudiHistory, commits: Sequence[Commit]) -> None:
    """Kept meanwhile or read twice, the states tell what two readings of each commit do."""
    states = history._states(commits)
    assert states is not None
    expected = as_texts(filter_touched(cast("DataFrame", history.versions(commits))))
    assert expected
    for keep in (True, False):
        found = states.read_touched(history.commits(), keep=keep)
        assert found is not None
        assert as_texts(found) == expected, keep


def as_texts(rows: DataFrame) -> list[str]:
    columns = rows.select("n", "side", F.to_json("key"), "partition", "version", F.to_json("row"))
    return sorted(map(repr, columns.collect()))


def write(
    spark: SparkSession,
    path: str,
    *rows: Row,
    operation: str = "upsert",
    further: dict[str, str] | None = None,
) -> None:
    options = {**BUCKETS, **(further or {}), "hoodie.datasource.write.operation": operation}
    frame = spark.createDataFrame(list(rows), SCHEMA).coalesce(1)
    frame.write.format("hudi").options(**options).mode("append").save(path)
