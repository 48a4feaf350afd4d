"""Doubled keys become one row in one commit, on both table types, partitioned or not; what others write meanwhile stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.core.errors import RefusedError, SupersededError
from hudi_reconcile.core.tables.values import TableType
from hudi_reconcile.lake import rewrite_partitions
from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.ports import Corrective
from tests.integration.lake.support import (
    TYPES,
    checkpoint,
    content,
    corrective,
    frame,
    new_table,
    table_of,
    versions,
)

SCHEMA = "id int, day string, qty int, _hr_read_seq bigint"


def double(spark: SparkSession, lake: HudiLake, *rows: tuple[Any, ...]) -> None:
    """What a job with inserts does to a table: rows are added, whatever is there."""
    options = {"hoodie.table.name": "orders", "hoodie.datasource.write.operation": "bulk_insert"}
    spark.createDataFrame(rows, SCHEMA).coalesce(1).write.format("hudi").options(**options).mode("append").save(
        table_of(lake).path
    )


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("partitions", [(), ("day",)])
def test_doubled_keys_become_the_one_right_row_or_none_in_one_commit(
    spark: SparkSession, tmp_path: Path, kind: TableType, partitions: tuple[str, ...]
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    rows = [
        (1, "a", 1, 1),
        (1, "a", 2, 1),
        (2, "a", 2, 1),
        (3, "b", 3, 1),
        (4, "a", 4, 1),
        (5, "c", 5, 1),
        (5, "c", 6, 1),
    ]
    lake.create(frame(spark, SCHEMA, *rows, (6, "d", 6, 1)), new_table(kind, ("id",), partitions), checkpoint(1), {})
    double(spark, lake, (3, "a" if partitions else "b", 33, 2), (4, "a", 44, 2))
    lake.upsert(frame(spark, SCHEMA, (2, "a", 22, 3)), table_of(lake), checkpoint(3), {})
    seqno_of_6 = versions(lake, ("id",), (6,))
    doubled = [(1,), (3,), (4,), (5,)]
    assert sorted(row[0] for row in content(lake, "id")) == [1, 1, 2, 3, 3, 4, 4, 5, 5, 6]
    # 1: same file, same partition; 3: two partitions, the right one being new; 4: two files; 5: gone at the source.
    right = [(1, "a", 10, 4), (3, "e", 30, 4), (4, "a", 40, 4)]
    batch = corrective(spark, lake, SCHEMA, upserts=right, deletes="id = 5", expected=versions(lake, ("id",), *doubled))
    before = lake.pin()
    assert before is not None

    instant = lake.replace(batch, table_of(lake), checkpoint(4), {"plan": "p:all"})

    after = [(1, "a", 10), (2, "a", 22), (3, "e", 30), (4, "a", 40), (6, "d", 6)]
    assert content(lake, "id", "day", "qty") == after
    now = lake.pin()
    assert now is not None
    assert (now.instant, now.in_flight) == (instant, ())
    assert dict(lake.find_labels("plan")).get("p:all") == instant
    carried = lake.find_checkpoint()
    assert carried is not None
    assert carried.checkpoint == checkpoint(4)
    assert len(lake.read_rows(before).collect()) == 10  # type: ignore[attr-defined]  # a reader of the old snapshot keeps it
    if partitions:
        assert versions(lake, ("id",), (6,)) == seqno_of_6

    expected = versions(lake, ("id",), (1,), (2,), (7,))
    lake.correct(
        corrective(spark, lake, SCHEMA, upserts=[(1, "f", 11, 5), (7, "a", 7, 5)], deletes="id = 2", expected=expected),
        table_of(lake), checkpoint(5), {},
    )  # fmt: skip
    lake.upsert(frame(spark, SCHEMA, (4, "a", 41, 6)), table_of(lake), checkpoint(6), {})

    assert content(lake, "id", "day", "qty") == [
        (1, "f", 11), (3, "e", 30), (4, "a", 41), (6, "d", 6), (7, "a", 7),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", TYPES)
def test_doubled_keys_are_left_alone_where_anything_was_committed_meanwhile(
    spark: SparkSession, tmp_path: Path, kind: TableType, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    lake.create(
        frame(spark, SCHEMA, (1, "a", 1, 1), (1, "a", 2, 1), (2, "a", 2, 1)), new_table(kind), checkpoint(1), {}
    )
    expected = versions(lake, ("id",), (1,))
    batch = corrective(spark, lake, SCHEMA, upserts=[(1, "a", 10, 4)], deletes="false", expected=expected)
    stale = corrective(spark, lake, SCHEMA, upserts=[(1, "a", 10, 4)], deletes="false", expected=[expected[0]])
    table, build = table_of(lake), rewrite_partitions.build_replacement

    with pytest.raises(SupersededError):
        lake.replace(stale, table, checkpoint(4), {})

    def then_another_writes(*given: Any) -> Any:
        found = build(*given)
        monkeypatch.setattr(rewrite_partitions, "build_replacement", build)
        before = lake.pin()
        theirs = lake.upsert(frame(spark, SCHEMA, (2, "a", 22, 3)), table, checkpoint(3), {})
        assert before is not None
        done = next((tmp_path / "orders/.hoodie/timeline").glob(f"{theirs.requested}_{theirs.completed}.*"))
        done.rename(
            done.with_name(f"{theirs.requested}_{int(before.instant.completed) - 1}{done.suffix}")
        )  # a clock behind
        return found

    monkeypatch.setattr(rewrite_partitions, "build_replacement", then_another_writes)
    with pytest.raises(SupersededError):
        lake.replace(Corrective(batch.upserts, batch.deletes, batch.expected), table, checkpoint(4), {})

    assert content(lake, "id", "qty") == [(1, 1), (1, 2), (2, 22)]
    pin = lake.pin()
    assert pin is not None
    assert pin.in_flight == ()
    double(spark, lake, (3, "a", 3, 9))  # a writer with Hudi's defaults is not blocked
    assert content(lake, "id", "qty") == [(1, 1), (1, 2), (2, 22), (3, 3)]


def test_partition_is_not_written_anew_beside_a_planned_clustering_and_is_once_that_is_done(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The clustering would bring the files back that it was planned for, and every row of the partition twice."""
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    lake.create(
        frame(spark, SCHEMA, (1, "a", 1, 1), (2, "a", 2, 1)), new_table("copy_on_write", ("id",)), checkpoint(1), {}
    )
    double(spark, lake, (1, "a", 11, 2))
    clustering = f"call run_clustering(path => '{tmp_path / 'orders'}', op => '{{}}')"
    spark.sql(clustering.format("schedule")).collect()

    def correct() -> None:
        expected = versions(lake, ("id",), (1,))
        batch = corrective(spark, lake, SCHEMA, upserts=[(1, "a", 10, 3)], deletes="false", expected=expected)
        lake.replace(batch, table_of(lake), checkpoint(3), {})

    with pytest.raises(RefusedError, match=r"clustering \d{17} is planned and not completed"):
        correct()
    spark.sql(clustering.format("execute")).collect()
    correct()

    assert content(lake, "id", "day", "qty") == [(1, "a", 10), (2, "a", 2)]
