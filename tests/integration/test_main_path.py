"""The whole path through the command line: pull, drift, sweep, plan, apply, proof; on both table types and kinds of key."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.integration.project import Project, in_lake, in_source, tree
from tests.support.postgres import Database

COLUMNS = ("status", "amount", "note", "placed_on", "updated_at")


@dataclass(frozen=True, slots=True)
class Shape:
    """A table and where it goes. `key` is SQL that makes the key columns of row `i`."""

    name: str
    rows: int
    key_columns: tuple[str, ...] = ("order_id",)
    key_types: str = "order_id bigint"
    key: str = "i"
    lake: dict[str, Any] = field(default_factory=dict)

    def key_of(self, number: int) -> dict[str, Any]:
        if self.key_columns == ("order_id",):
            return {"order_id": number}
        return {"region": f"r'{number % 3}", "code": f'Ä "{number}"'}

    def where(self, numbers: list[int]) -> str:
        values = ", ".join(str(number) for number in numbers)
        return f"({', '.join(self.key_columns)}) in (select {self.key} from unnest(array[{values}]) i)"


SHAPES = [
    Shape("copy_on_write", 10_000, lake={"type": "copy_on_write"}),
    Shape("merge_on_read", 2_000, lake={"type": "merge_on_read"}),
    Shape(
        "composite text key", 2_000, ("region", "code"), "region text, code text",
        """'r''' || i % 3, 'Ä "' || i || '"'""", {"type": "copy_on_write"},
    ),
    Shape("by month", 2_000, lake={"type": "copy_on_write", "partition_by": ["month(placed_on)"]}),
]  # fmt: skip


def fill(database: Database, shape: Shape) -> None:
    keys = ", ".join(shape.key_columns)
    database.execute(
        f"create table orders ({shape.key_types}, status varchar(10), amount numeric(12,2), note text,"
        f" placed_on date, updated_at timestamp, primary key ({keys}))",
        insert(shape, f"generate_series(1, {shape.rows}) i"),
    )


def insert(
    shape: Shape, numbers: str, at: str = "timestamp '2025-01-01' + i * interval '1 minute 1 microsecond'"
) -> str:
    return (
        f"insert into orders select {shape.key}, 'NEW', i * 1.1, case when i % 7 = 0 then null else 'n' || i end,"
        f" date '2025-01-01' + i % 60, {at} from {numbers}"
    )


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_late_commit_silent_updates_and_deletes_are_found_repaired_and_proved(
    spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], shape: Shape
) -> None:
    project = Project.of(tmp_path, pg, capsys)
    project.settings["lake"].update(shape.lake)
    fill(pg, shape)
    late, updated, deleted = 20_000, [5, 50, 500, 1000, 1999], [7, 77, 777]
    with pg.connect() as open_transaction:
        # A long transaction, its row stamped by a clock that was behind: no bound can know of it.
        open_transaction.execute(insert(shape, f"unnest(array[{late}]) i", "timestamp '2025-01-02'"))
        assert project.json("pull").table["pull"]["rows"] == shape.rows
        open_transaction.commit()
    pg.execute(
        f"update orders set note = 'changed' where {shape.where(updated)}",
        f"delete from orders where {shape.where(deleted)}",
    )
    lake_before = tree(project.lake)

    sweep = project.json("sweep")

    assert sweep.code == 1
    assert sweep.table["source"]["rows"] == shape.rows + 1 - 3
    assert sweep.table["lake"]["rows"] == shape.rows
    found = project.findings()
    expected = (
        [("late_arriving", "upsert", shape.key_of(late))]
        + [("updated_without_watermark", "upsert", shape.key_of(number)) for number in updated]
        + [("deleted", "delete", shape.key_of(number)) for number in deleted]
    )
    assert sorted(((item["kind"], item["action"], item["key"]) for item in found), key=str) == sorted(expected, key=str)
    assert {tuple(item["columns"]) for item in found if item["kind"] == "updated_without_watermark"} == {("note",)}
    assert sweep.drift == {"late_arriving": 1, "updated_without_watermark": 5, "deleted": 3}
    assert project.run("plan", "latest").code == 0
    assert tree(project.lake) == lake_before

    applied = project.json("apply", "latest", "--yes")

    assert (applied.code, applied.document["outcome"]) == (0, "corrected")
    assert applied.table["corrections"]["applied"] == 9
    again = project.json("sweep")
    assert (again.code, again.document["outcome"]) == (0, "clean")
    every = (*shape.key_columns, *COLUMNS)
    assert in_lake(spark, project, *every) == in_source(project, *every)
