"""`make change-histories`: random histories on real tables of every kind of change log; every range is told right.

Not a part of `make test`, which has one short history of each type of table (`tests/integration/changes/test_history.py`);
nor are the shapes of its other stories that are here.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.core.tables.values import ChangeLog, TableType
from tests.integration.changes.lakes import Lake, moves
from tests.integration.changes.reading import assert_part, assert_ranges, service, whole_log
from tests.integration.changes.test_history import history_is_told_right, widened_columns_are_told
from tests.integration.changes.test_published_example import CDC, LOGGING, assert_cdc_as_published, fruit
from tests.integration.changes.test_states import new_rows_in_log_files_are_told

HISTORIES, MOST_COMMITS, PARTS = 3, 8, 3


@pytest.mark.parametrize("seed", range(HISTORIES))
@pytest.mark.parametrize("log", [None, "op_key_only", "data_before", "data_before_after"])
@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
@pytest.mark.timeout(3600)
def test_random_history_is_told_right_for_every_range_before_and_after_compaction_and_clustering(
    spark: SparkSession, tmp_path: Path, kind: TableType, log: ChangeLog | None, seed: int
) -> None:
    random = Random(f"{kind} {log} {seed}")  # noqa: S311 - examples
    lake = Lake(spark, tmp_path / "t", kind, log)
    commits = random.randint(2, MOST_COMMITS)
    serviced = {random.randrange(1, commits), commits - 1}
    for number in range(1, commits):
        one_commit(lake, random)
        if number in serviced:
            assert_ranges(lake, whole_log(lake.history()))  # before, and after it
            service(spark, lake, kind)

    found = whole_log(lake.history())

    assert_ranges(lake, found)
    for _ in range(PARTS):
        first, last = sorted(random.sample(range(commits + 1), 2))
        assert_part(lake, found, first, last)


def one_commit(lake: Lake, random: Random) -> None:
    upserts, deletes = moves(random, set(lake.states[-1]))
    match random.choice(["correct", "correct", "correct", "pull", "stale", "replace"]):
        case "correct":
            lake.correct(upserts, deletes)
        case "pull":
            lake.pull(upserts)
        case "stale":
            lake.pull(upserts, seq=0)
        case _:
            carried = {one: (row["part"], row["v"]) for one, row in lake.states[-1].items() if one not in deletes}
            lake.pull(carried | upserts, replace=True)


@pytest.mark.parametrize("mode", ["DATA_BEFORE", "OP_KEY_ONLY"])
def test_cdc_queries_of_copy_on_write_are_as_published_whatever_is_logged(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: str
) -> None:
    assert_cdc_as_published(spark, fruit(spark, tmp_path, capsys, "COPY_ON_WRITE", {CDC: "true", LOGGING: mode}))


@pytest.mark.parametrize("kind", ["copy_on_write", "merge_on_read"])
def test_short_history_is_told_right_and_so_is_the_commit_whose_older_image_hudi_drops(
    spark: SparkSession, tmp_path: Path, kind: TableType
) -> None:
    assert_part(*history_is_told_right(spark, tmp_path, kind, None), 2, 3)


def test_new_rows_in_log_files_of_several_groups_of_a_partition_are_told_before_and_after_compaction(
    spark: SparkSession, tmp_path: Path
) -> None:
    new_rows_in_log_files_are_told(spark, str(tmp_path / "t"))


def test_columns_that_came_or_were_widened_are_told_of_copy_on_write_too(spark: SparkSession, tmp_path: Path) -> None:
    widened_columns_are_told(spark, tmp_path, "copy_on_write")
