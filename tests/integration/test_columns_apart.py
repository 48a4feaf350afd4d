"""Columns that change on one side after the pull, through the command line: named, compared where exact, never passed over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.integration.project import Project, Ran, in_lake
from tests.support.postgres import Database

TABLE = (
    "create table orders (order_id bigint primary key, note varchar(20), memo text, amount numeric(10,2), qty integer,"
    " updated_at timestamp)"
)
ROWS = (
    "insert into orders select i, 'n' || i, 'm' || i, i * 1.25, i, timestamp '2025-01-01' + i * interval '1 minute'"
    " from generate_series(1, 20) i"
)


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], spark: SparkSession) -> Project:
    """Twenty rows, pulled."""
    assert spark.version
    pg.execute(TABLE, ROWS)
    project = Project.of(tmp_path, pg, capsys)
    assert project.run("pull").code == 0
    return project


def said(ran: Ran) -> set[tuple[Any, ...]]:
    return {(one["what"], one["side"], one["column"], one["compared"]) for one in ran.table["schema"]}


def since(ran: Ran, column: str) -> str:
    (found,) = {one["since_utc"] for one in ran.table["schema"] if one["column"] == column}
    return str(found)


def unverified(ran: Ran) -> set[str]:
    return {one["name"] for one in ran.table["unverified"]}


def test_columns_widened_renamed_added_and_retyped_at_the_source_are_each_an_entry(project: Project) -> None:
    alter = project.database.execute
    alter(
        "alter table orders alter column note type text, alter column amount type numeric(12,2),"
        " alter column qty type bigint"
    )

    widened = project.json("sweep")

    assert (widened.code, widened.document["outcome"], unverified(widened)) == (0, "clean", set())
    wider = {("widened", "source", name, True) for name in ("note", "amount", "qty")}
    assert said(widened) == wider
    assert since(widened, "qty") == widened.document["started_utc"]

    alter("alter table orders rename column memo to remark")
    renamed = project.json("sweep")

    assert (renamed.code, unverified(renamed)) == (3, {"remark", "memo"})
    assert said(renamed) == wider | {("renamed", "source", "remark", False)}
    assert since(renamed, "qty") == widened.document["started_utc"]
    assert since(renamed, "remark") == renamed.document["started_utc"]
    (guess,) = (one for one in renamed.table["schema"] if one["what"] == "renamed")
    assert "compare: {rename: {remark: memo}}" in guess["fix"]

    project.settings["compare"] = {"rename": {"remark": "memo"}}
    alter(
        "alter table orders add column extra text, alter column qty type text using qty::text || ' pieces'",
        "update orders set remark = 'changed' where order_id = 3",
    )
    apart = project.json("sweep")

    assert (apart.code, unverified(apart), apart.drift) == (3, {"extra", "qty"}, {"updated_without_watermark": 1})
    assert {("added", "source", "extra", False), ("retyped", "source", "qty", False)} <= said(apart)
    assert [item["columns"] for item in project.findings()] == [["remark"]]
    assert apart.table["compare"] == {"exclude": [], "rename": {"remark": "memo"}, "tolerance": {}}

    alter("insert into orders (order_id, note, updated_at) values (21, 'new', '2025-02-01')")
    nightly = project.json("run")

    assert (nightly.code, nightly.table["error"]["type"], nightly.drift) == (3, "RefusedError", apart.drift)
    assert said(nightly) == said(apart)
    assert since(nightly, "extra") == apart.document["started_utc"]

    project.settings["compare"]["exclude"] = ["extra", "qty"]
    alter("alter table orders drop column note", "update orders set remark = 'm3' where order_id = 3")
    dropped = project.run("sweep")

    assert dropped.code == 3
    assert "note dropped at the source (lake string): not compared" in dropped.out
    assert "column note: the lake has this column, the source does not" in dropped.out


def test_digits_that_the_lake_cannot_hold_are_counted_and_a_tolerance_takes_their_place(project: Project) -> None:
    alter = project.database.execute
    alter("alter table orders alter column amount type numeric(12,4)")

    nothing_hidden = project.json("sweep")

    assert (nothing_hidden.code, unverified(nothing_hidden)) == (0, set())
    entry = {
        "column": "amount", "source": "numeric(12,4)", "lake": "decimal(10,2)", "compared": "2 digits after the point",
    }  # fmt: skip
    assert nothing_hidden.table["precision"] == [{**entry, "rows_hidden": 0}]

    alter("update orders set amount = amount + 0.0099 where order_id <= 3")
    hidden = project.json("sweep")

    assert (hidden.code, hidden.document["outcome"], hidden.drift) == (3, "unverified", {})
    assert hidden.table["precision"] == [{**entry, "rows_hidden": 3}]
    (gap,) = hidden.table["unverified"]
    assert (gap["what"], gap["name"], "3 rows have more at the source" in gap["why"]) == ("column", "amount", True)
    assert "tolerance: {amount: 0.01}" in gap["fix"]

    project.settings["compare"] = {"tolerance": {"amount": 0.01}}
    accepted = project.json("sweep")

    assert (accepted.code, accepted.document["outcome"]) == (0, "clean")
    assert (accepted.table["precision"], accepted.table["compare"]["tolerance"]) == ([], {"amount": 0.01})

    alter(
        "update orders set amount = amount + 0.0102 where order_id = 9", "update orders set qty = 0 where order_id = 2"
    )
    beyond = project.json("sweep")

    assert (beyond.code, beyond.drift) == (1, {"updated_without_watermark": 2})
    assert {(item["key"]["order_id"], tuple(item["columns"])) for item in project.findings()} == {
        (9, ("amount",)),
        (2, ("qty",)),
    }
    project.settings["compare"]["tolerance"] = {"note": 1}
    assert project.json("sweep").code == 2


def test_correction_writes_the_exact_value_of_rows_beyond_tolerance_and_leaves_the_others(
    project: Project, spark: SparkSession
) -> None:
    project.settings["compare"] = {"tolerance": {"amount": 0.5, "qty": 2}}
    project.database.execute(
        "update orders set amount = amount + 0.5, qty = qty - 2 where order_id in (1, 2)",
        "update orders set amount = amount + 0.51 where order_id = 2",
        "update orders set qty = null where order_id = 3",
    )

    sweep = project.json("sweep")

    assert (sweep.code, sweep.drift) == (1, {"updated_without_watermark": 2})
    assert {(item["key"]["order_id"], tuple(item["columns"])) for item in project.findings()} == {
        (2, ("amount",)),
        (3, ("qty",)),
    }
    applied = project.json("apply", "latest", "--yes")
    assert (applied.code, applied.table["corrections"]["applied"]) == (0, 2)
    amounts = {key: (str(amount), qty) for key, amount, qty in in_lake(spark, project, "order_id", "amount", "qty")}
    assert (amounts[1], amounts[2], amounts[3]) == (("1.25", 1), ("3.51", 0), ("3.75", None))
