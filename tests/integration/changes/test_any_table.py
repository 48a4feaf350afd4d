"""`changes --path` on tables that a sweep refuses: keys that Hudi made, and rows that are merged in part or by an unknown rule.

What is right is told by the table itself: its rows as Hudi shows them after each commit, each held against those before.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from hudi_reconcile.cli.main import run
from hudi_reconcile.lake.changes.history import HudiHistory

Image = tuple[Any, ...] | None
Change = tuple[str, Image, Image]


@pytest.fixture
def listed(capsys: pytest.CaptureFixture[str]) -> Callable[..., list[dict[str, Any]]]:
    def ask(path: Path, kind: str, *arguments: str) -> list[dict[str, Any]]:
        capsys.readouterr()
        code = run(["changes", "--path", str(path), "--type", kind, "--format", "ndjson", *arguments])
        found = capsys.readouterr()
        assert code == 0, found.err
        return [json.loads(line) for line in found.out.splitlines()]

    return ask


def told(changes: Iterable[dict[str, Any]]) -> Counter[Change]:
    def image(row: dict[str, Any] | None) -> Image:
        return None if row is None else tuple(row.values())

    return Counter((one["op"], image(one["before"]), image(one["after"])) for one in changes)


def net_of(before: dict[str, Image], after: dict[str, Image]) -> Counter[Change]:
    """What changed between two states of a table, by key."""
    pairs = [(before.get(key), after.get(key)) for key in {*before, *after}]
    return Counter(("i" if old is None else "d" if new is None else "u", old, new) for old, new in pairs if old != new)


def state(spark: SparkSession, path: Path, *columns: str) -> dict[str, Image]:
    rows = spark.read.format("hudi").load(str(path)).select("_hoodie_record_key", *columns).collect()
    return {row[0]: tuple(row)[1:] for row in rows}


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_table_without_a_record_key_is_told_by_the_keys_that_hudi_made(
    spark: SparkSession,
    tmp_path: Path,
    listed: Callable[..., list[dict[str, Any]]],
    capsys: pytest.CaptureFixture[str],
    kind: str,
) -> None:
    """Two rows are alike in all columns; both are updated, one row is deleted, and one comes and goes."""
    path = tmp_path / "fruit"
    statements = [
        "insert into made_keys values ('jack', 'apple', 1), ('sarah', 'orange', 1), ('john', 'pineapple', 1)",
        "insert into made_keys values ('jack', 'apple', 1), ('eve', 'fig', 2)",
        "update made_keys set fruit = 'banana' where who = 'jack'",
        "delete from made_keys where who in ('john', 'eve')",
    ]
    spark.sql(
        "create table made_keys (who string, fruit string, ts int) using hudi"
        f" tblproperties (type = '{kind}') location '{path}'"
    )
    states: list[dict[str, Image]] = [{}]
    try:
        for one in statements:
            spark.sql(one)
            states.append(state(spark, path, "who", "fruit", "ts"))
    finally:
        spark.sql("drop table made_keys")

    full, net = listed(path, "full-delta"), listed(path, "min-delta")
    later = listed(path, "min-delta", "--from", full[0]["instant"])

    assert [len(states[-1]), Counter(row for row in states[-1].values())] == [
        3,
        {("jack", "banana", 1): 2, ("sarah", "orange", 1): 1},
    ]
    assert told(full) == sum(map(net_of, states, states[1:]), Counter())
    assert told(net) == net_of({}, states[-1])
    assert told(later) == net_of(states[1], states[-1])
    assert {one["key"]["_hoodie_record_key"] for one in net} == states[-1].keys()
    assert all(list(one["key"]) == ["_hoodie_record_key"] for one in full)
    assert told(listed(path, "append-only")) == net_of({}, states[1]) + Counter(
        [("i", None, ("jack", "apple", 1)), ("i", None, ("eve", "fig", 2))]
    )
    assert told(listed(path, "upsert")) == Counter(("upsert", None, row) for row in states[-1].values())
    target = (
        "--consumer",
        "c",
        "--commit-position",
        "--into",
        "postgresql+psycopg://w@127.0.0.1/d",
        "--into-table",
        "t",
    )
    assert run(["changes", "--path", str(path), "--type", "min-delta", *target]) == 2
    assert "has no record key" in capsys.readouterr().err


def test_table_without_meta_fields_is_refused_as_hudi_refuses_its_own_query(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "bare")
    options = {
        "hoodie.table.name": "bare",
        "hoodie.populate.meta.fields": "false",
        "hoodie.datasource.write.operation": "bulk_insert",
        "hoodie.datasource.write.recordkey.field": "id",
    }
    spark.createDataFrame([(1, "a")], "id int, a string").write.format("hudi").options(**options).save(path)
    incremental = spark.read.format("hudi").option("hoodie.datasource.query.type", "incremental")

    with pytest.raises(Py4JJavaError, match="not supported when meta fields are disabled"):
        incremental.option("hoodie.datasource.read.begin.instanttime", "000").load(path)
    assert run(["changes", "--path", path, "--type", "upsert"]) == 2
    assert "hoodie.populate.meta.fields=false" in capsys.readouterr().err


FORMS = (  # versions 6 and 8 name the payload, 9 a mode of partial updates
    ("PartialUpdateAvroPayload", "COPY_ON_WRITE", 9),
    ("PartialUpdateAvroPayload", "MERGE_ON_READ", 9),
    ("PartialUpdateAvroPayload", "MERGE_ON_READ", 8),
    ("OverwriteNonDefaultsWithLatestAvroPayload", "COPY_ON_WRITE", 6),
)
BATCHES: Sequence[Sequence[tuple[Any, ...]]] = [
    [(1, "a", "b", 5), (2, "a", None, 5), (3, None, "b", 5), (4, "a", None, 5)],
    [(1, "A", None, 6), (2, None, "B", 4), (3, "late", "late", 4)],  # 2 and 3 come late and fill in what was NULL
    [(4, None, "filled", 3)],
    [(2, "Z", None, 9), (5, "new", None, 1)],
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_rows_that_are_merged_in_part_are_told_as_the_table_shows_them_after_each_commit(
    spark: SparkSession,
    tmp_path: Path,
    listed: Callable[..., list[dict[str, Any]]],
    form: tuple[str, str, int],
) -> None:
    payload, kind, version = form
    path = tmp_path / "parts"
    options = {
        "hoodie.table.name": "parts",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.datasource.write.payload.class": f"org.apache.hudi.common.model.{payload}",
        "hoodie.write.table.version": str(version),
        "hoodie.write.auto.upgrade": "false",
        "hoodie.compact.inline": "false",
    }
    states: list[dict[str, Image]] = [{}]
    for batch in BATCHES:
        frame = spark.createDataFrame(list(batch), "id int, a string, b string, ts int").coalesce(1)
        frame.write.format("hudi").options(**options).mode("append").save(str(path))
        states.append(state(spark, path, "id", "a", "b", "ts"))

    full = [one for one in listed(path, "full-delta") if one["before"] != one["after"]]
    first = min(one["instant"] for one in full)

    assert states[1] != states[2] != states[3]
    assert told(full) == sum(map(net_of, states, states[1:]), Counter())
    assert told(listed(path, "min-delta", "--from", first)) == net_of(states[1], states[-1])
    alive = {tuple(one["after"].values()) for one in listed(path, "upsert", "--from", first)}
    changed = {row for key, row in states[-1].items() if row != states[1].get(key)}
    assert changed <= alive <= set(states[-1].values())


def test_late_merge_into_that_sets_some_columns_is_told_though_rows_keep_their_versions(
    spark: SparkSession, tmp_path: Path, listed: Callable[..., list[dict[str, Any]]]
) -> None:
    """Of merge_on_read such a merge leaves parts of rows in log files; no property of the table says so."""
    path = tmp_path / "merged"
    spark.sql(
        "create table merged_in_part (id int, a string, b string, ts int) using hudi tblproperties (type = 'mor',"
        f" primaryKey = 'id', preCombineField = 'ts') location '{path}'"
    )
    states: list[dict[str, Image]] = [{}]
    merges = [(1, "a", "newer", 10), (1, "b", "late", 7), (2, "b", "newer", 11)]
    try:
        spark.sql("insert into merged_in_part values (1, 'a', 'b', 10), (2, 'a', 'b', 10), (3, 'a', 'b', 10)")
        states.append(state(spark, path, "id", "a", "b", "ts"))
        for key, column, text, ts in merges:
            spark.sql(
                f"merge into merged_in_part t using (select {key} id, '{text}' text, {ts} ts) s on t.id = s.id"
                f" when matched then update set {column} = s.text, ts = s.ts"
            )
            states.append(state(spark, path, "id", "a", "b", "ts"))
        spark.sql("update merged_in_part set a = 'whole' where id = 3")
        states.append(state(spark, path, "id", "a", "b", "ts"))
    finally:
        spark.sql("drop table merged_in_part")
    history = HudiHistory(spark, str(path))

    full, net = listed(path, "full-delta"), listed(path, "min-delta")
    alive = listed(path, "upsert", "--from", full[0]["instant"])

    assert states[3]["1"] == (1, "newer", "late", 10)  # so Hudi merges two parts
    assert told(full) == sum(map(net_of, states, states[1:]), Counter())
    assert told(net) == net_of({}, states[-1])
    assert told(alive) == Counter(("upsert", None, row) for row in states[-1].values())
    # Where parts are, or were before, another and slower way is taken.
    assert [history.can_list_alive((one,)) for one in history.commits()] == [True, *[False] * 4]


def test_late_row_that_is_merged_with_an_earlier_part_is_told_though_it_keeps_the_version_of_that(
    spark: SparkSession, tmp_path: Path, listed: Callable[..., list[dict[str, Any]]]
) -> None:
    path = tmp_path / "part"
    options = {
        "hoodie.table.name": "part_before",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.datasource.write.operation": "upsert",
    }
    spark.sql(
        "create table part_before (id int, a string, b string, ts int) using hudi tblproperties (type = 'mor',"
        f" primaryKey = 'id', preCombineField = 'ts') location '{path}'"
    )
    try:
        spark.sql("insert into part_before values (1, 'a', 'b', 10)")
        spark.sql(
            "merge into part_before t using (select 1 id, 'newer' x, 10 ts) s on t.id = s.id"
            " when matched then update set a = s.x, ts = s.ts"
        )
    finally:
        spark.sql("drop table part_before")
    late = spark.createDataFrame([(1, "w", "w", 7)], "id int, a string, b string, ts int")
    late.write.format("hudi").options(**options).mode("append").save(str(path))

    full = listed(path, "full-delta")
    alive = listed(path, "upsert", "--from", full[1]["instant"])

    assert state(spark, path, "id", "a", "b", "ts") == {"1": (1, "newer", "w", 10)}
    assert [tuple(one["after"].values()) for one in full] == [
        (1, "a", "b", 10),
        (1, "newer", "b", 10),
        (1, "newer", "w", 10),
    ]
    assert [tuple(one["after"].values()) for one in alive] == [(1, "newer", "w", 10)]
