"""Rows that travel through the driver arrive as those that Spark writes itself: every type, in order, none lost."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.ports import Frame, RowFiles
from hudi_reconcile.spark import evidence_files
from hudi_reconcile.spark.evidence_files import DriverFiles, SparkFiles

ROWS = 2_500  # more than a batch, and with the limits of the test more than a task and a file
COLUMNS = (
    "id as `order id`",
    "if(id % 7 = 0, null, concat('n', id)) as note",
    "cast(id / 3 as decimal(20, 6)) as amount",
    "timestamp_micros(id * 3600000000 + 1) as at",
    "cast(timestamp_micros(id * 3600000000 + 1) as timestamp_ntz) as at_ntz",
    "date_add(date '1600-02-28', cast(id as int)) as day",
    "encode(concat('b', id), 'UTF-8') as raw",
    "array('a', cast(id as string), null) as names",
    "id % 2 = 0 as flag",
    "cast(id as double) / 7 as ratio",
)


def frame(spark: SparkSession, rows: int = ROWS) -> DataFrame:
    return spark.range(0, rows, 1, 5).selectExpr(*COLUMNS)


@pytest.mark.parametrize("kind", [SparkFiles, DriverFiles])
def test_saved_rows_are_all_there_in_order_and_load_as_they_were(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[RowFiles]
) -> None:
    monkeypatch.setattr(evidence_files, "ROWS_PER_FILE", 1_000)
    monkeypatch.setattr(evidence_files, "ROWS_PER_TASK", 700)
    files, folder = kind(spark), f"file://{tmp_path}/rows"  # type: ignore[call-arg]

    kept = files.save(Frame(frame(spark)), folder, ROWS, ("order id",))
    names = [f"file://{name}" for name in (tmp_path / "rows").glob("*.parquet")]
    loaded = files.load(names)

    assert (kept, len(names)) == (ROWS, 3)
    assert isinstance(loaded, DataFrame)
    assert loaded.dtypes == frame(spark).dtypes
    assert loaded.exceptAll(frame(spark)).count() == 0
    assert frame(spark).exceptAll(loaded).count() == 0
    ranges = [spark.read.parquet(name).selectExpr("min(`order id`)", "max(`order id`)").head() for name in names]
    ends = sorted(tuple(found) for found in ranges if found is not None)
    assert all(before[1] < after[0] for before, after in pairwise(ends)), ends
    again = files.save(Frame(frame(spark, 3)), folder, 3)
    assert again == ROWS + 3


def test_rows_that_are_fewer_or_more_than_was_said_are_all_saved(spark: SparkSession, tmp_path: Path) -> None:
    files = DriverFiles(spark)

    assert files.save(Frame(frame(spark, 0)), f"file://{tmp_path}/none", 0) == 0
    assert files.save(Frame(frame(spark)), f"file://{tmp_path}/rules/more", 10, ("order id",)) == ROWS
