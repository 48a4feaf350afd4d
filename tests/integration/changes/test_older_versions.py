"""Changes of tables of older versions, which Hudi 1.2 reads and writes as they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.tables.values import TableType
from hudi_reconcile.lake.files import Files
from tests.integration.changes.lakes import Lake
from tests.integration.changes.reading import assert_part, assert_ranges, service, span_between, whole_log


@pytest.mark.parametrize(("version", "kind"), [(6, "copy_on_write"), (6, "merge_on_read"), (8, "merge_on_read")])
def test_history_of_an_older_table_version_is_told_as_that_of_the_newest(
    spark: SparkSession, tmp_path: Path, version: int, kind: TableType
) -> None:
    lake = older(spark, tmp_path / "t", version, kind)

    history = lake.history()
    assert history.table.version == version
    assert [one.instant.completed for one in history.commits()] == lake.completed
    log = whole_log(history)
    assert_ranges(lake, log)
    assert {(one.commit, one.op, one.key) for one in log if one.commit} == {
        *((1, "u", 1), (1, "i", 4), (1, "d", 2)),
        *((2, "i", 2), (2, "u", 4)),
        *((3, "d", 1), (3, "u", 4)),
    }
    assert_part(lake, log, 1, 4)


def test_copy_of_a_version_6_table_whose_files_have_new_times_is_refused_with_that_as_the_reason(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = older(spark, tmp_path / "t", 6, "copy_on_write")
    for file in sorted((tmp_path / "t" / ".hoodie").iterdir()):
        file.touch()

    history = lake.history()
    whole = span_between(history, "earliest", "latest")
    assert len(whole.commits) == len(lake.completed)
    for read in (history.versions, history.read_touched, history.read_alive_upserts):
        with pytest.raises(UsageError, match=r"without these times \(cp without -p\)"):
            read(whole.commits)


def test_version_6_table_of_writers_ahead_of_utc_is_refused_by_that_name(spark: SparkSession, tmp_path: Path) -> None:
    """A commit's name is in the zone of its writer, and its end, when its file was written, in UTC."""
    lake = older(spark, tmp_path / "t", 6, "copy_on_write")
    for file in (tmp_path / "t" / ".hoodie").iterdir():
        written = file.stat().st_mtime - 7200
        os.utime(file, (written, written))

    with pytest.raises(UsageError, match="in a zone ahead of UTC"):
        lake.history().look_at_others().zone(Files(spark, str(tmp_path / "t")))


def older(spark: SparkSession, path: Path, version: int, kind: TableType) -> Lake:
    """A table of the version with four commits, and files made anew after the second."""
    lake = Lake(spark, path, kind, "data_before_after", version)
    lake.correct({1: ("b", 1), 4: ("b", 4)}, {2})  # 1 moves
    assert service(spark, lake, kind)
    lake.pull({2: ("a", 5), 4: ("b", 6)})
    lake.correct({4: ("a", 7)}, {1})
    return lake
