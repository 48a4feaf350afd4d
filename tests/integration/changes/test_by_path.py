"""`changes --path`: a table that plain Spark SQL wrote, asked from a folder without a config, as the published example is."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import hudi_reconcile
from hudi_reconcile.cli.main import run

NET = {("i", "jack", "banana"): 1, ("i", "sarah", "orange"): 1}


@pytest.fixture(params=["cow", "mor"])
def fruit(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """Jack, Sarah and John choose a fruit, Jack another one, John is deleted; the working folder is empty."""
    path = tmp_path / "lake" / "fruit"
    spark.sql(
        "create table fruit_by_sql (name string, fruit string, ts int) using hudi"
        f" tblproperties (type = '{request.param}', primaryKey = 'name', preCombineField = 'ts') location '{path}'"
    )
    try:
        spark.sql(
            "insert into fruit_by_sql values ('jack', 'apple', 1), ('sarah', 'orange', 1), ('john', 'pineapple', 1)"
        )
        spark.sql("update fruit_by_sql set fruit = 'banana', ts = 2 where name = 'jack'")
        spark.sql("delete from fruit_by_sql where name = 'john'")
    finally:
        spark.sql("drop table fruit_by_sql")
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    return path


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    code = run(["changes", "--format", "ndjson", *arguments])
    found = capsys.readouterr()
    assert code == 0, found.err
    return [json.loads(line) for line in found.out.splitlines()]


def rows(changes: list[dict[str, Any]]) -> Counter[tuple[str, str, str]]:
    return Counter((one["op"], one["key"]["name"], (one["after"] or one["before"])["fruit"]) for one in changes)


def test_table_that_spark_sql_wrote_is_asked_by_its_path_without_any_config(
    fruit: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net = listed(capsys, "--path", str(fruit), "--type", "min-delta")
    inserted = listed(capsys, "--path", "../lake/fruit", "--type", "append-only")
    first = min(one["instant"] for one in inserted)
    later = listed(capsys, "--path", f"file://{fruit}", "--type", "min-delta", "--from", first)
    alive = listed(capsys, "--path", str(fruit), "--type", "upsert")
    full = listed(capsys, "--path", str(fruit), "--type", "full-delta")
    frame = hudi_reconcile.changes(path=str(fruit), type="min-delta")

    assert rows(net) == NET
    assert rows(inserted) == {("i", "jack", "apple"): 1, ("i", "sarah", "orange"): 1, ("i", "john", "pineapple"): 1}
    assert rows(later) == {("u", "jack", "banana"): 1, ("d", "john", "pineapple"): 1}
    assert rows(alive) == {("upsert", "jack", "banana"): 1, ("upsert", "sarah", "orange"): 1}
    assert full[:3] == inserted
    assert rows(full[3:]) == rows(later)
    assert [(one["before"]["fruit"], one["after"]) for one in full[3:]] == [
        ("apple", {"name": "jack", "fruit": "banana", "ts": 2}),
        ("pineapple", None),
    ]
    assert not any(Path().iterdir())
    assert {(row.op, row.key["name"], row.after["fruit"]) for row in frame.collect()} == set(NET)


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_soft_deleted_row_is_a_delete_by_hudis_flag_and_by_a_named_rule(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    path = str(tmp_path / "fruit")
    options = {
        "hoodie.table.name": "fruit",
        "hoodie.datasource.write.recordkey.field": "name",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.datasource.write.table.type": kind,
    }
    schema = "name string, fruit string, weight int, gone boolean, ts int, _hoodie_is_deleted boolean"
    kept = [("sarah", "orange", 1, False, 1, False), ("jack", "apple", 1, False, 1, False)]
    batches = [
        # Kept by a bulk insert, which looks at no flag.
        ("bulk_insert", [*kept, ("john", "pineapple", 1, False, 1, True), ("eve", "fig", 1, False, 1, False)]),
        ("upsert", [("jack", "apple", 1, False, 2, True), ("sarah", None, None, None, 2, False)]),
        ("upsert", [("eve", "fig", 1, True, 3, False)]),
    ]
    for operation, batch in batches:
        frame = spark.createDataFrame(batch, schema).coalesce(1)
        how = {**options, "hoodie.datasource.write.operation": operation}
        frame.write.format("hudi").options(**how).mode("append").save(path)

    def ops(*arguments: str) -> list[tuple[str, str]]:
        found = listed(capsys, "--path", path, *arguments)
        assert not any(
            "_hoodie_is_deleted" in image for one in found for image in (one["before"], one["after"]) if image
        )
        return sorted((one["op"], one["key"]["name"]) for one in found)

    born = [("i", "eve"), ("i", "jack"), ("i", "sarah")]
    assert ops("--type", "append-only") == born
    assert ops("--type", "full-delta") == sorted([*born, ("d", "jack"), ("u", "eve"), ("u", "sarah")])
    nulls, flag = ("--soft-deletes", "all-null"), ("--soft-deletes", "gone")
    assert ops("--type", "full-delta", *nulls) == sorted([*born, ("d", "jack"), ("u", "eve"), ("d", "sarah")])
    assert ops("--type", "full-delta", *flag) == sorted([*born, ("d", "jack"), ("d", "eve"), ("u", "sarah")])
    assert ops("--type", "min-delta") == [("i", "eve"), ("i", "sarah")]
    assert ops("--type", "min-delta", *nulls) == [("i", "eve")]
    assert ops("--type", "upsert", *flag) == [("upsert", "sarah")]
    assert run(["changes", "--path", path, "--type", "upsert", "--soft-deletes", "fruit"]) == 2
    assert "--soft-deletes takes all-null, gone" in capsys.readouterr().err


def test_consumer_of_a_path_gets_each_change_once(fruit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--path", str(fruit), "--type", "min-delta", "--consumer", "mirror", "--commit-position")

    assert rows(listed(capsys, *asked)) == NET
    assert listed(capsys, *asked) == []
