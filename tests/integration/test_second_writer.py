"""Two of the histories of `make writers`: apply beside another process that writes the same keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.beside import NEW, SAME, Beside, superseded_whole, waits_for_our_commit
from tests.integration.project import Project
from tests.support.postgres import Database
from tests.support.second_writer import Gate, Point, SecondWriter


@pytest.fixture
def beside(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], second_writer: SecondWriter
) -> Beside:
    return Beside(spark, Project.of(tmp_path, pg, capsys), second_writer)


def test_apply_beside_another_process_whose_rows_are_written_and_not_committed_is_superseded_whole(
    beside: Beside, tmp_path: Path
) -> None:
    superseded_whole(beside.swept("merge_on_read"), Gate(tmp_path / "gate"), Point.WRITTEN, SAME)


def test_process_that_starts_between_our_validators_and_our_commit_does_not_double_the_key_that_both_insert(
    beside: Beside, tmp_path: Path
) -> None:
    waits_for_our_commit(beside.swept("copy_on_write"), Gate(tmp_path / "gate"), NEW)
