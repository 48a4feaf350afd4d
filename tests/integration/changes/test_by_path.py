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


@pytest.fixture
def fruit(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Jack, Sarah and John choose a fruit, Jack another one, John is deleted; the working folder is empty."""
    path = tmp_path / "lake" / "fruit"
    spark.sql(
        "create table fruit_by_sql (name string, fruit string, ts int) using hudi"
        f" tblproperties (primaryKey = 'name', preCombineField = 'ts') location '{path}'"
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

    assert rows(net) == NET
    assert rows(inserted) == {("i", "jack", "apple"): 1, ("i", "sarah", "orange"): 1, ("i", "john", "pineapple"): 1}
    assert rows(later) == {("u", "jack", "banana"): 1, ("d", "john", "pineapple"): 1}
    assert not any(Path().iterdir())


def test_path_is_asked_from_a_program_too(fruit: Path) -> None:
    frame = hudi_reconcile.changes(path=str(fruit), type="min-delta")

    assert {(row.op, row.key["name"], row.after["fruit"]) for row in frame.collect()} == set(NET)


def test_consumer_of_a_path_gets_each_change_once(fruit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--path", str(fruit), "--type", "min-delta", "--consumer", "mirror", "--commit-position")

    assert rows(listed(capsys, *asked)) == NET
    assert listed(capsys, *asked) == []
