"""One story of `make writers`: apply beside another process that writes the same table."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.beside import NEW, OTHERS, Beside, superseded_whole, waits_for_our_commit
from tests.integration.project import Project
from tests.support.postgres import Database
from tests.support.second_writer import Gate, Point, SecondWriter


def test_apply_is_superseded_beside_another_process_in_flight_and_waited_for_by_one_that_starts_before_its_commit(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], second_writer: SecondWriter
) -> None:
    beside = Beside(spark, Project.of(tmp_path, pg, capsys), second_writer).swept("merge_on_read")
    in_flight, validated = Gate(tmp_path / "in flight"), Gate(tmp_path / "validated")

    try:
        superseded_whole(beside, in_flight, Point.WRITTEN, OTHERS)
    finally:
        in_flight.open()  # standing there it would keep the tests after this one waiting
    beside.base |= beside.theirs
    waits_for_our_commit(beside, validated, NEW)

    beside.goes_on()
