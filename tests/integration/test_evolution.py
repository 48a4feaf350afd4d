"""Columns that change at the source between pulls, through the command line: the lake follows, and a sweep proves it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.integration.project import Project, Ran, in_lake, in_source
from tests.support.postgres import Database

TABLE = (
    "create table orders (order_id integer primary key, memo varchar(20), amount numeric(10,2), qty integer, old text,"
    " share real, updated_at timestamp)"
)
ROWS = (
    "insert into orders select i, 'm' || i, i * 1.25, i, 'o' || i, i / 10.0, timestamp '2025-01-01' + i * interval '2 hours'"
    " from generate_series(1, 20) i"
)
KINDS: dict[str, dict[str, Any]] = {
    "copy_on_write": {"partition_by": ["day(updated_at)"]},
    "merge_on_read": {"options": {"hoodie.compact.inline.max.delta.commits": "3"}},
}


def said(ran: Ran) -> set[tuple[Any, ...]]:
    return {(one["what"], one["column"], one["lake_type"]) for one in ran.table["schema"]}


def lake_types(spark: SparkSession, project: Project) -> dict[str, str]:
    fields = spark.read.format("hudi").load(str(project.lake)).schema.fields
    return {field.name: field.dataType.simpleString() for field in fields if not field.name.startswith("_h")}


@pytest.mark.parametrize("kind", KINDS)
def test_lake_follows_columns_that_are_widened_dropped_and_added_and_a_sweep_finds_what_a_default_filled(
    pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], spark: SparkSession, kind: str
) -> None:
    pg.execute(TABLE, ROWS)
    project = Project.of(tmp_path, pg, capsys)
    project.settings["lake"] |= {"type": kind, **KINDS[kind]}
    project.settings["policy"] = {"max_upsert_share": "100%"}
    assert project.json("pull").code == 0
    pg.execute(
        "alter table orders alter column order_id type bigint, alter column qty type bigint, alter column memo type text,"
        " alter column amount type numeric(14,2), drop column old",
        "insert into orders values (9000000000, 'long', 123456789012.34, 9000000000, 0.1, '2025-02-01')",
        "update orders set amount = -999999999999.99, updated_at = '2025-02-01' where order_id = 3",
    )

    planned = project.json("pull", "--dry-run")
    wider = {
        ("widened", "order_id", "bigint"), ("widened", "qty", "bigint"), ("widened", "amount", "decimal(14,2)"),
        ("dropped", "old", "string"),
    }  # fmt: skip
    assert {(one["what"], one["column"], one["lake_type"]) for one in planned.table["schema"]} == wider
    assert said(project.json("pull")) == wider
    first = project.json("sweep")
    assert first.drift == {}, project.findings()
    assert (first.code, first.table["unverified"], said(first)) == (0, [], {("dropped", "old", "string")})
    assert any("kept in the lake and compared with nothing: old" in note for note in first.table["notes"])
    kept = dict(in_lake(spark, project, "order_id", "old"))
    assert (kept[1], kept[20], kept[3], kept[9_000_000_000]) == ("o1", "o20", None, None)

    pg.execute(
        "alter table orders add column extra integer not null default 5",
        "update orders set extra = 6, updated_at = '2025-02-02' where order_id = 4",
        "update orders set qty = 8000000000 where order_id = 5",
    )
    added = project.json("pull")
    assert (added.table["pull"]["rows"], said(added)) == (1, {("added", "extra", "int")})
    assert any("extra (integer) is new" in note for note in added.table["notes"])
    drifted = project.json("sweep")
    assert (drifted.code, drifted.drift) == (1, {"updated_without_watermark": 20})
    applied = project.json("apply", "latest", "--yes")
    assert (applied.code, applied.table["corrections"]["applied"]) == (0, 20)
    again = project.json("sweep")
    assert (again.code, again.drift) == (0, {})

    columns = ("order_id", "memo", "amount", "qty", "extra", "updated_at")
    assert in_lake(spark, project, *columns) == in_source(project, *columns)
    partitions = {"updated_at_day": "string"} if kind == "copy_on_write" else {}
    assert lake_types(spark, project) == {
        "order_id": "bigint", "memo": "string", "amount": "decimal(14,2)", "qty": "bigint", "old": "string",
        "share": "float", "updated_at": "timestamp_ntz", "extra": "int", **partitions,
    }  # fmt: skip


def test_what_cannot_follow_is_refused_by_name_until_a_word_settles_it(
    pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], spark: SparkSession
) -> None:
    pg.execute(TABLE, ROWS)
    project = Project.of(tmp_path, pg, capsys)
    assert project.json("pull").code == 0
    pg.execute("update orders set qty = -1 where order_id = 2")
    assert project.json("sweep").code == 1
    applied = project.json("apply", "latest", "--yes")
    assert applied.code == 0
    pg.execute(
        "alter table orders rename column memo to remark",
        "alter table orders alter column share type double precision",
    )

    refused = project.json("pull")

    assert (refused.code, refused.table["error"]["type"]) == (5, "RefusedError")
    assert "memo: gone at the source, where remark came in" in refused.table["error"]["message"]
    assert "share: the source's double precision does not fit the lake's float" in refused.table["error"]["message"]
    assert "compare: {rename: {remark: memo}}" in refused.table["error"]["fix"]
    assert lake_types(spark, project)["share"] == "float"

    project.settings["compare"] = {"exclude": ["memo"]}
    project.settings["source"]["columns"] = ["order_id", "remark", "amount", "qty", "old", "updated_at"]
    settled = project.json("pull")
    assert (settled.code, said(settled)) == (
        0, {("added", "remark", "string"), ("dropped", "memo", "string"), ("dropped", "share", "float")},
    )  # fmt: skip

    undone = project.json("undo", applied.document["run_id"], "--yes")
    assert (undone.code, undone.table["corrections"]["applied"]) == (0, 1), undone
    assert dict(in_lake(spark, project, "order_id", "qty"))[2] == 2
    assert dict(in_lake(spark, project, "order_id", "memo"))[2] == "m2"
