"""Deletes that only a log file holds hide rows that come back older; writing them anew takes no other row away."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.lake.hudi_lake import HudiLake
from tests.integration.foreign import Maker
from tests.integration.lake.support import checkpoint, content, corrective, table_of, versions

SCHEMA = "id int, ts int, note string, p string"
BUCKETS = {"hoodie.bucket.index.num.buckets": "1"}
KEYGEN = "hoodie.datasource.write.keygenerator.class"


@pytest.mark.parametrize("partitions", ["", "p"])
def test_row_that_comes_back_older_than_its_delete_that_only_a_log_holds_is_written_beside_all_others(
    spark: SparkSession, tmp_path: Path, partitions: str
) -> None:
    path = tmp_path / "orders"
    generator = "SimpleKeyGenerator" if partitions else "NonpartitionedKeyGenerator"
    options = {**BUCKETS, "hoodie.index.type": "BUCKET", KEYGEN: f"org.apache.hudi.keygen.{generator}"}
    named = {"hoodie.datasource.write.partitionpath.field": partitions} if partitions else {}
    maker = Maker("one bucket", "merge_on_read", 9, "ts", key=("id",), options={**options, **named})
    for rows in ([(1, 10, "a", "x"), (3, 30, "c", "y")], [(2, 20, "b", "x")]):
        maker.write(spark.createDataFrame(rows, SCHEMA), str(path))
    in_base_files = spark.read.parquet(*map(str, path.rglob("*.parquet"))).select("id").collect()
    assert 2 not in {row[0] for row in in_base_files}, "a bucket that is there takes inserts into its log"
    lake = HudiLake(spark, str(path), name="orders", options=BUCKETS, adopt=True)
    gone = corrective(spark, lake, SCHEMA, upserts=[], deletes="id = 2", expected=versions(lake, ("id",), (2,)))
    lake.correct(gone, table_of(lake), checkpoint(1), {})
    assert content(lake, "id", "ts") == [(1, 10), (3, 30)]

    upserts = [(2, 15, "back", "x"), (4, 40, "new", "y")]
    back = corrective(spark, lake, SCHEMA, upserts=upserts, deletes="false", expected=[(2, None), (4, None)])
    lake.correct(back, table_of(lake), checkpoint(2), {})

    assert content(lake, "id", "ts", "note") == [(1, 10, "a"), (2, 15, "back"), (3, 30, "c"), (4, 40, "new")]
    maker.write(spark.createDataFrame([(5, 50, "e", "y")], SCHEMA), str(path))
    assert [row[0] for row in content(lake, "id")] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("partitions", ["", "p"])
def test_new_row_in_a_table_that_cannot_carry_a_delete_mark_takes_no_other_row_away(
    spark: SparkSession, tmp_path: Path, partitions: str
) -> None:
    schema, path = "id int, ts int, p string", tmp_path / "orders"
    schema = schema if partitions else schema.removesuffix(", p string")
    generator = "SimpleKeyGenerator" if partitions else "NonpartitionedKeyGenerator"
    named = {"hoodie.datasource.write.partitionpath.field": partitions} if partitions else {}
    options = {KEYGEN: f"org.apache.hudi.keygen.{generator}", **named}
    maker = Maker("numbers alone", "copy_on_write", 9, "ts", key=("id",), options=options)
    rows = [(1, 10, "x"), (2, 20, "y")]
    maker.write(spark.createDataFrame([row if partitions else row[:2] for row in rows], schema), str(path))
    lake = HudiLake(spark, str(path), name="orders", options={}, adopt=True)

    upserts = [row if partitions else row[:2] for row in [(3, 30, "x"), (4, 40, "z")]]
    new = corrective(spark, lake, schema, upserts=upserts, deletes="false", expected=[(3, None), (4, None)])
    lake.correct(new, table_of(lake), checkpoint(1), {})

    assert [row[0] for row in content(lake, "id")] == [1, 2, 3, 4]
