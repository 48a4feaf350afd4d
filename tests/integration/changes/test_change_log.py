"""Changes by Hudi's own `data_before_after` log, held against the rows just before and just after each commit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.changefeed.query import answer_query, read_log
from hudi_reconcile.core.changes.queries import QUERY_TYPES, answer
from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.lake.changes.history import HudiHistory
from hudi_reconcile.ports import Frame
from tests.integration.changes.lakes import Lake
from tests.integration.changes.reading import (
    in_pairs,
    otherwise,
    own_log,
    renumbered,
    span_between,
    told,
    whole_log,
)
from tests.integration.changes.test_chained import COLUMNS, MANY

CDC = {"hoodie.table.cdc.enabled": "true", "hoodie.table.cdc.supplemental.logging.mode": "DATA_BEFORE_AFTER"}
OPTIONS = {**CDC, "hoodie.table.name": "t", "hoodie.datasource.write.recordkey.field": "id"}
DELETE = {"hoodie.datasource.write.operation": "delete"}
# Columns whose text in a log does not tell their values.
UNTOLD = {"nested"}


def test_ranges_and_queries_by_the_log_are_as_by_the_files(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(spark, tmp_path / "t", "copy_on_write", "data_before_after")
    lake.correct({1: ("b", 1), 4: ("b", 4)}, {2})  # 1 moves
    lake.pull({1: ("b", 6), 6: ("a", 6)}, seq=0)  # Hudi drops the older image of 1
    lake.pull({6: ("a", 6)})  # again, as it was
    lake.correct({2: ("a", 9), 4: ("a", 4)}, {6, 3})  # back again, moved, and gone
    history = lake.history()
    log = whole_log(history)

    for first, last in ((0, 5), (0, 1), (1, 5), (2, 4), (3, 4), (4, 5)):
        start = lake.completed[first - 1] if first else "earliest"
        commits = span_between(history, start, lake.completed[last - 1]).commits
        part = [one for one in log if first <= one.commit < last]
        own = own_log(history, commits)
        assert own is not None, (first, last)
        for query in QUERY_TYPES:
            found = renumbered(told(answer_query(query, own, commits)), first)
            assert sorted(map(repr, found)) == sorted(map(repr, answer(query, part))), (query, first, last)


@pytest.fixture(scope="module")
def typed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table with a column of every type that a log tells, and commits that insert, update and delete."""
    path = str(tmp_path_factory.mktemp("typed") / "t")
    columns = ", ".join(one for one in COLUMNS if one.rsplit(" ", 1)[-1] not in UNTOLD)
    further = (
        "cast(id as int) as whole, cast(if(id % 2 = 0, -1.5, 99999.99) as decimal(7,2)) as price, "
        "cast(if(id % 3 = 0, -1, 9) as decimal(18,0)) as even, "
        "if(id % 2 = 0, timestamp_ntz '1969-12-31 23:59:59.999999', timestamp_ntz '9999-12-31 00:00:00') as civil, "
        "if(id % 3 = 0, 'null', '{\"_hoodie_commit_time\":') as odd"
    )
    for version, ids in enumerate(("range(40)", "range(3, 50, 5)", "range(0, 24, 4)")):
        rows = spark.sql(f"select {columns}, {further}, {version} as version from {ids}")
        rows.write.format("hudi").options(**MANY, **CDC).mode("append").save(path)
    gone = spark.sql(f"select {columns}, {further}, 9 as version from range(7, 11)")
    gone.write.format("hudi").options(**MANY, **CDC, **DELETE).mode("append").save(path)
    return path


def test_values_of_every_type_are_those_of_the_files(spark: SparkSession, typed: str) -> None:
    history = HudiHistory(spark, typed)

    for commits in (history.commits(), history.commits()[:1], history.commits()[:-1], history.commits()[1:]):
        own = own_log(history, commits)
        assert own is not None
        compared = [as_text(frame) for frame in (own, in_pairs(history, commits))]
        rows_each = [frame.count() for frame in compared]
        assert rows_each[0] == rows_each[1] > 0
        assert not compared[0].exceptAll(compared[1]).count()


def test_rows_in_a_folder_without_a_value_are_told_by_the_files_since_the_log_has_what_was_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Empty text, NULL and Hive's word for it are one folder, and NULL to whoever reads the table."""
    part = "case id % 4 when 0 then '' when 1 then '__HIVE_DEFAULT_PARTITION__' when 2 then null else 'x' end"
    lake = str(tmp_path / "t")
    for version, (ids, operation) in enumerate((("range(12)", {}), ("range(6)", {}), ("range(3)", DELETE))):
        rows = spark.sql(f"select id, {part} as part, {version} as version from {ids}")
        rows.write.format("hudi").options(**MANY, **CDC, **operation).mode("append").save(lake)
    history = HudiHistory(spark, lake)

    for commits in (
        history.commits(),
        history.commits()[1:],
    ):  # the first has no log, and its rows contradict the others'
        pairs = in_pairs(history, commits)
        ways = otherwise(history, commits)

        changes = cast("DataFrame", pairs).selectExpr("coalesce(after, before).part as part").distinct().collect()
        assert {part for (part,) in changes} == {None, "x"}
        assert ways
        for other in ways:
            assert not as_text(other).exceptAll(as_text(pairs)).count()
            assert cast("DataFrame", other).count() == cast("DataFrame", pairs).count()


def as_text(log: Frame) -> DataFrame:
    return cast("DataFrame", log).select(
        "n", "op", "doubled", *[F.to_json(name) for name in ("key", "before", "after")]
    )


def test_log_that_does_not_hold_what_the_commits_counted_is_not_believed(spark: SparkSession, typed: str) -> None:
    history = HudiHistory(spark, typed)
    commits = history.commits()
    counted, key = history.list_log_counts(commits), history.table.record_key
    assert counted is not None
    with history.read_log(commits, counted) as found:
        changes = cast("DataFrame", found).localCheckpoint()
    assert read_log(Frame(changes), key, counted) is not None

    last = counted[-1]
    for other in (replace(last, inserted_rows=1), replace(last, updated_rows=1), replace(last, deleted_rows=3)):
        assert read_log(Frame(changes), key, (*counted[:-1], other)) is None
    assert read_log(Frame(changes), key, counted[:-1]) is None

    an_update = (F.col("op") == "u") & (F.col("n") == 1)
    wrong = {
        "op": F.when(an_update, "i").otherwise(F.col("op")),
        "before": F.when(an_update, F.col("before").withField("version", F.lit(7))).otherwise(F.col("before")),
        "after": F.when(~an_update, F.col("after")),
    }
    for name, value in wrong.items():
        assert read_log(Frame(changes.withColumn(name, value)), key, counted) is None, name


def test_copies_of_a_key_are_told_as_by_the_files_or_left_to_them(spark: SparkSession, tmp_path: Path) -> None:
    for name, groups, copies_touched in (
        ("one", 1, 1),
        ("two", 2, 2),
    ):  # in one file group Hudi takes the first of them
        path = str(tmp_path / name)
        written(spark, path, "copy as v", copies=2, groups=groups)
        gone = spark.sql("select 2L as id, 1L as v")
        gone.write.format("hudi").options(**OPTIONS, **DELETE).mode("append").save(path)
        history = HudiHistory(spark, path)
        for commit in history.commits()[1:]:
            by_files, own = as_text(in_pairs(history, [commit])), own_log(history, [commit])
            assert by_files.count() == copies_touched
            assert (own is None) == (copies_touched > 1)
            assert own is None or as_text(own).collect() == by_files.collect()


def test_columns_that_a_log_does_not_tell_are_left_to_the_files(spark: SparkSession, tmp_path: Path) -> None:
    history = written(spark, str(tmp_path / "nested"), "array(id) as v")

    assert history.list_log_counts(history.commits()) is not None
    assert own_log(history, history.commits()) is None


def test_log_file_that_is_gone_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    history = written(spark, str(tmp_path / "t"), "1 as v")
    (log,) = (tmp_path / "t").rglob("*.cdc")
    log.unlink()

    with pytest.raises(LakeError):
        own_log(history, history.commits())


def written(spark: SparkSession, path: str, column: str, copies: int = 1, groups: int = 1) -> HudiHistory:
    """A table of four keys, each so many times, and a commit that updates one of them."""
    rows = spark.sql(f"select id, {column} from range(4) cross join range({copies}) as copies(copy)")
    whole = {"hoodie.datasource.write.operation": "bulk_insert", "hoodie.bulkinsert.sort.mode": "NONE"}
    for operation, frame in (
        (whole, rows.repartitionByRange(groups, "v")),
        ({}, rows.where("id = 1").dropDuplicates(["id"])),
    ):
        frame.write.format("hudi").options(**OPTIONS, **operation).mode("append").save(path)
    return HudiHistory(spark, path)
