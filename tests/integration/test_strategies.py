"""Every pull strategy on real PostgreSQL and Hudi: what each brings, what it must leave to the sweep, and pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.integration.project import Project, in_lake, in_source
from tests.support.postgres import Database

COLUMNS = ("order_id", "note", "day", "version", "iso", "updated_at")


@dataclass(frozen=True, slots=True)
class Case:
    """A strategy, where its rows go, and what one sweep must find after the same story for all of them."""

    name: str
    pull: dict[str, Any]
    lake: dict[str, Any]
    second_rows: int
    drift: dict[str, int]
    checkpoint: str
    pages: tuple[int, int] = (1, 1)
    said: tuple[str, ...] = field(default=())


TIMED = {"late_arriving": 1, "updated_without_watermark": 1, "deleted": 2}
BY_DAY = {"partition_by": ["day"]}
CASES = [
    Case(
        "incrementing, copy_on_write", {"strategy": "incrementing", "incrementing": "order_id"}, {},
        # Updates move no id: the touched and the silent one are both found by the sweep, and so is the row below.
        2, {"late_arriving": 1, "updated_without_watermark": 2, "deleted": 2}, "202",
        said=("order_id has no clock: ",),
    ),
    Case(
        "incrementing in pages, merge_on_read by day",
        {"strategy": "incrementing", "incrementing": "order_id", "limit": 40}, {"type": "merge_on_read", **BY_DAY},
        2, {"late_arriving": 1, "updated_without_watermark": 2, "deleted": 2}, "202", (3, 1),
    ),
    Case(
        "timestamp and id in pages, copy_on_write by day",
        {"watermark": ["updated_at"], "incrementing": "order_id", "limit": 30}, BY_DAY,
        3, TIMED, "2025-02-01T00:00:00.000000, 202", (4, 1),
    ),
    Case(
        "timestamp and id, merge_on_read", {"watermark": ["updated_at"], "incrementing": "order_id"},
        {"type": "merge_on_read"}, 3, TIMED, "2025-02-01T00:00:00.000000, 202",
    ),
    Case(
        "decimal watermark in pages, copy_on_write by day", {"watermark": ["version"], "limit": 40}, BY_DAY,
        3, TIMED, "744.0", (3, 1),
        said=("version has no clock: ",),
    ),
    Case(
        "text watermark in pages, merge_on_read", {"watermark": ["iso"], "watermark_text": True, "limit": 60},
        {"type": "merge_on_read"}, 3, TIMED, "2025-02-01T00:00:00Z", (2, 1),
    ),
]  # fmt: skip


def fill(database: Database) -> None:
    """100 rows, ids 2, 4, …; ten rows share each time, so that pages of 30, 40 and 60 end between ties or inside."""
    database.execute(
        "create table orders (order_id bigint primary key, note text, day date, version numeric(8,1),"
        " iso text, updated_at timestamp)",
        rows("select 2 * i, timestamp '2025-01-01' + (i - 1) / 10 * interval '1 hour' from generate_series(1, 100) i"),
    )


def rows(select: str) -> str:
    """INSERT of rows (id, at): every watermark tells the same time in its own way."""
    return (
        "insert into orders select id, 'n' || id, date '2025-01-01' + (id % 3)::int, version(at),"
        f" iso(at), at from ({select}) hr(id, at)"
    )


def functions(database: Database) -> None:
    database.execute(
        "create function version(at timestamp) returns numeric language sql as"
        " $$ select extract(epoch from at - '2025-01-01') / 3600 $$",
        "create function iso(at timestamp) returns text language sql as"
        ' $$ select to_char(at, \'YYYY-MM-DD"T"HH24:MI:SS"Z"\') $$',
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_strategy_brings_what_it_can_see_and_one_sweep_and_apply_the_rest(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], case: Case
) -> None:
    project = Project.of(tmp_path, pg, capsys)
    project.settings["pull"] = case.pull
    project.settings["lake"].update(case.lake)
    functions(pg)
    fill(pg)
    with pg.connect() as open_transaction:
        # Its id and times were taken before the first pull, and it commits after it.
        open_transaction.execute(rows("select 101, timestamp '2025-01-01 05:00'"))
        first = project.json("pull").table["pull"]
        open_transaction.commit()
    assert (first["rows"], first["mode"], first["pages"]) == (100, "full", case.pages[0])
    pg.execute(
        rows("select i, timestamp '2025-02-01' from generate_series(201, 202) i"),
        "update orders set note = 'touched', version = 744, iso = '2025-02-01T00:00:00Z',"
        " updated_at = '2025-02-01' where order_id = 10",
        "update orders set note = 'silent' where order_id = 20",
        "delete from orders where order_id in (30, 200)",
    )

    second = project.json("pull").table
    pg.execute(rows("select 300, timestamp '2025-02-02'"))
    sweep = project.json("sweep")

    assert (second["pull"]["rows"], second["pull"]["mode"], second["pull"]["pages"]) == (
        case.second_rows, "incremental", case.pages[1],
    )  # fmt: skip
    assert second["checkpoint"] == case.checkpoint
    assert all(any(note.startswith(word) for note in second["notes"]) for word in case.said)
    assert (sweep.code, sweep.drift) == (1, case.drift)
    assert sweep.table["not_drift"]["pending"] == 1
    assert project.json("apply", "latest", "--yes").code == 0
    pulled = [row for row in in_source(project, *COLUMNS) if row[0] != 300]
    assert in_lake(spark, project, *COLUMNS) == pulled
