"""A paged pull that is ended in the middle: its table, and what must hold of the lake whenever it ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.lake.hudi_lake import HudiLake
from tests.integration.project import Project, in_lake, in_source
from tests.support.postgres import Database

COLUMNS = ("order_id", "note", "updated_at")


def paged(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, rows: int, limit: int) -> Project:
    """A table in which ten rows share each time, so that pages end between ties or inside."""
    pg.execute(
        "create table orders (order_id bigint primary key, note text, updated_at timestamp not null)",
        "insert into orders select i, 'n' || i, timestamp '2025-01-01' + (i - 1) / 10 * interval '1 hour'"
        f" from generate_series(1, {rows}) i",
    )
    project = Project.of(tmp_path, pg, capsys)
    project.settings["pull"] = {"watermark": ["updated_at"], "incrementing": "order_id", "limit": limit}
    return project


def holds_what_its_checkpoint_says(spark: SparkSession, project: Project) -> int:
    """The lake's rows are the source's at or below the checkpoint, each once. Returns how many."""
    found = HudiLake(spark, str(project.lake), name="orders", options={})
    if found.look() is None:
        return 0
    at = found.find_checkpoint()
    assert at is not None
    time_text, _, id_text = (at.checkpoint.text or "").partition(", ")
    mark: tuple[Any, ...] = (time_text, int(id_text))
    wanted = [
        row for row in in_source(project, *COLUMNS) if (row[2].isoformat(timespec="microseconds"), row[0]) <= mark
    ]
    assert in_lake(spark, project, *COLUMNS) == wanted
    return len(wanted)


def ends_right(spark: SparkSession, project: Project) -> None:
    """The same command again brings all that is left."""
    again = project.json("pull")
    assert (again.code, again.document["outcome"]) == (0, "pulled"), again
    assert in_lake(spark, project, *COLUMNS) == in_source(project, *COLUMNS)
    assert holds_what_its_checkpoint_says(spark, project) == len(in_source(project, "order_id"))
