"""Savepoints: the newest snapshot is kept, older ones of ours are removed, those of others stay, writers go on."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from hudi_reconcile.lake.bridge import Savepoints, Timeline
from hudi_reconcile.lake.hudi_lake import HudiLake
from tests.integration.lake.support import checkpoint, content, frame, new_table, table_of

SCHEMA = "id int, qty int, _hr_read_seq bigint"


def test_savepoint_keeps_the_newest_snapshot_and_ours_alone_are_dropped(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "orders")
    lake = HudiLake(spark, path, name="orders", options={})
    theirs = lake.create(frame(spark, SCHEMA, (1, 1, 1)), new_table("merge_on_read"), checkpoint(1), {}).requested
    Savepoints(spark, path, "orders", metadata_table=False).make(theirs, "somebody", "")
    assert lake.savepoint("before run 1") == theirs
    lake.upsert(frame(spark, SCHEMA, (1, 2, 2)), table_of(lake), checkpoint(2), {})
    killed = (
        Path(path) / ".hoodie" / "timeline" / f"{max(one.requested for one in Timeline(spark, path).list_completed())}"
    )
    killed.with_name(f"{killed.name}.savepoint.inflight").touch()  # a process was killed while it made one
    first = lake.savepoint("before run 2")
    pin = lake.pin()
    lake.upsert(frame(spark, SCHEMA, (1, 3, 3)), table_of(lake), checkpoint(3), {})
    second = lake.savepoint("before run 3")
    assert lake.savepoint("before run 4", ["20260101000000000", first]) == first

    assert Timeline(spark, path).savepoints() == {
        theirs: "somebody",
        first: "hudi-reconcile",
        second: "hudi-reconcile",
    }
    assert lake.drop_savepoints(keep=second) == (first,)

    assert Timeline(spark, path).savepoints() == {theirs: "somebody", second: "hudi-reconcile"}
    assert pin is not None
    assert pin.instant.requested == first
    found = lake.find_checkpoint()
    assert found is not None
    assert found.checkpoint == checkpoint(3)
    options = {"hoodie.table.name": "orders", "hoodie.datasource.write.operation": "upsert"}
    spark.createDataFrame([(2, 2, 9)], SCHEMA).write.format("hudi").options(**options).mode("append").save(path)
    assert content(lake, "id", "qty") == [(1, 3), (2, 2)]
