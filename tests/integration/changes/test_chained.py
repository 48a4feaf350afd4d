"""Changes of copy_on_write tables from one reading of the files that the commits left, held against two of each commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.changefeed.log import filter_touched
from hudi_reconcile.core.changes.queries import answer
from hudi_reconcile.core.changes.range import Commit
from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.lake.changes.history import HudiHistory
from hudi_reconcile.lake.reads import redact_failures
from tests.integration.changes.lakes import Lake
from tests.integration.changes.reading import alive_of, at_once, renumbered, span_between, told_alike, whole_log

# Values that one reader and another may take for something else.
COLUMNS = (
    "cast(id as bigint) as id",
    "element_at(array('a', 'x=y', 'a b/c', '01', '2024-02-30', 'ä%20'), cast(id % 6 as int) + 1) as part",
    "cast(case id % 3 when 0 then 'NaN' when 1 then '-0.0' else '1e-45' end as float) as f",
    "cast(case id % 3 when 0 then 'NaN' when 1 then '-0.0' else '4.9e-324' end as double) as d",
    "cast(if(id % 2 = 0, '-99999999999999999999.999999999999999999', '0.000000000000000001') as decimal(38,18)) as n",
    "if(id % 2 = 0, date '0001-01-01', date '9999-12-31') as day",
    "if(id % 2 = 0, timestamp '1969-12-31 23:59:59.999999', timestamp '9999-12-31 23:59:59.999999') as at",
    "if(id % 2 = 0, '', 'a\\u0000b \\\\u00e9 \\\\ud83d\\\\ude00') as text",
    "if(id % 2 = 0, x'', x'00ff') as bytes",
    "array(named_struct('at', timestamp '2024-01-01 00:00:00.000001', 'note', if(id % 2 = 0, null, 'n'))) as nested",
    "if(id % 2 = 0, null, id % 4 = 1) as flag",
)
MANY = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "version",
    "hoodie.datasource.write.hive_style_partitioning": "true",
    "hoodie.datasource.write.partitionpath.urlencode": "true",
}
MERGED = {"hoodie.datasource.write.table.type": "MERGE_ON_READ", "hoodie.compact.inline": "false"}


def test_commits_of_copy_on_write_are_told_from_one_reading_as_from_two_of_each(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = Lake(spark, tmp_path / "t", "copy_on_write", None)
    lake.correct({1: ("b", 1), 4: ("b", 4)}, {2})  # 1 moves
    lake.pull({1: ("b", 6), 6: ("a", 6)}, seq=0)  # Hudi drops the older image of 1
    lake.pull({6: ("a", 6)})  # again, as it was
    lake.correct({2: ("a", 9)}, {6})  # back again, and gone
    history = lake.history()
    log = whole_log(history)

    for first, last in combinations(range(len(lake.completed) + 1), 2):
        start = lake.completed[first - 1] if first else "earliest"
        span = span_between(history, start, lake.completed[last - 1])
        part = [one for one in log if first <= one.commit < last]
        found = at_once(history, span.commits)
        assert found is not None
        assert told_alike(renumbered(found, first)) == told_alike(part), (first, last)
        alive = renumbered(alive_of(history, span.commits), first)
        assert told_alike(alive) == told_alike(answer("upsert", part)), (first, last)


def test_values_of_every_type_and_partition_are_read_alike_and_a_missing_file_is_an_error_and_no_answer(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "t")
    history = written(spark, path, "range(24)", "range(3, 30, 5)", "range(0, 24, 4)")

    for commits in (history.commits(), history.commits()[1:], history.commits()[2:]):
        assert_read_alike(history, commits)

    base = next(
        one for one in sorted(Path(path).rglob("*.parquet")) if history.commits()[0].instant.requested in one.name
    )
    base.unlink()
    with pytest.raises(LakeError), redact_failures(path):
        history.read_touched(history.commits()[1:])


def test_folders_without_a_value_and_batches_that_may_hold_nulls_are_read_by_their_files_as_hudi_shows_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Empty, NULL and Hive's word for it lie in one folder, and are NULL to Hudi; the first batch has no NULLs by its schema."""
    part = "case id % 4 when 0 then '' when 1 then '__HIVE_DEFAULT_PARTITION__' when 2 then null else 'x' end"
    history = written(
        spark,
        str(tmp_path / "t"),
        "range(12)",
        "(select if(id < 99, id, null) as id from range(6))",
        columns={"part": part, "version": "if(id is null, null, version)"},
    )

    first, second = history.commits()
    assert first.schema != second.schema
    assert history._chain_files(history.commits()) is not None
    assert_read_alike(history, history.commits())
    rows = cast("DataFrame", history.read_touched((second,))).select("row.id", "row.part").distinct().collect()
    assert {(row[0], row[1]) for row in rows} == {(one, "x" if one == 3 else None) for one in range(6)}


def assert_read_alike(history: HudiHistory, commits: Sequence[Commit]) -> None:
    """By the names of files as in pairs."""
    found = history.read_touched(commits)
    assert found is not None
    one, two = cast("DataFrame", found), filter_touched(cast("DataFrame", history.versions(commits)))
    compared = [frame.select("n", "side", "key", "partition", "version", F.to_json("row")) for frame in (one, two)]
    rows_each = [frame.count() for frame in compared]
    assert rows_each[0] == rows_each[1] > 0
    assert not compared[0].exceptAll(compared[1]).count()


# Tables of which files are not read by their names, each with another expression for a column.
OTHERWISE: Mapping[str, Mapping[str, str]] = {
    "old[1]": {},
    "filtered": {},
    "vectors": {"vector": "array(1f, 2f)"},
    "timestamps": {"part": "timestamp '2024-01-01 00:00:00.123456'"},
}


def test_files_that_spark_takes_for_a_pattern_leaves_out_or_reads_otherwise_than_hudi_are_read_by_hudi(
    spark: SparkSession, tmp_path: Path
) -> None:
    for name, columns in OTHERWISE.items():
        history = written(spark, str(tmp_path / name), "range(3)", "range(2)", columns=columns)
        with newest_files_only(spark) if name == "filtered" else nullcontext():
            files = history._chain_files(history.commits())
            assert files is None or files.read_touched(history._shape_rows) is None, name
            rows = cast("DataFrame", history.read_touched(history.commits()))
            assert [row[1] for row in rows.where("side = 1").groupBy("n").count().orderBy("n").collect()] == [3, 2]
            assert cast("DataFrame", history.read_alive_upserts(history.commits()[:1])).count() == 3


@contextmanager
def newest_files_only(spark: SparkSession) -> Iterator[None]:
    """A filter that users set for tables of Hudi that Spark reads as plain Parquet."""
    hadoop = cast("Any", spark)._jsc.hadoopConfiguration()
    hadoop.set("mapreduce.input.pathFilter.class", "org.apache.hudi.hadoop.HoodieROTablePathFilter")
    try:
        yield
    finally:
        hadoop.unset("mapreduce.input.pathFilter.class")


def written(
    spark: SparkSession,
    path: str,
    *commits: str,
    columns: Mapping[str, str] = MappingProxyType({}),
    options: Mapping[str, str] = MappingProxyType({}),
) -> HudiHistory:
    marks = {"vector": {"hudi_type": "VECTOR(2)"}}
    for version, ids in enumerate(commits):
        rows = spark.sql(f"select {', '.join(COLUMNS)}, {version} as version from {ids}")
        for name, text in columns.items():
            rows = rows.withColumn(name, F.expr(text).alias(name, metadata=marks.get(name, {})))
        rows.write.format("hudi").options(**MANY, **options).mode("append").save(path)
    return HudiHistory(spark, path)
