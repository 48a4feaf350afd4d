"""Deletes that only a log file holds: the rows they hide are found, so that an older row is not dropped below them."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from hudi_reconcile.lake.hudi_lake import HudiLake
from tests.integration.foreign import Maker
from tests.integration.lake.support import checkpoint, content, corrective, table_of, versions

SCHEMA = "id int, ts int, note string"
BUCKETS = {"hoodie.bucket.index.num.buckets": "1"}
MAKER = Maker(
    "event time, merge_on_read, no partitions, one bucket",
    "merge_on_read",
    9,
    "ts",
    key=("id",),
    options={
        **BUCKETS,
        "hoodie.index.type": "BUCKET",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    },
)


def test_row_that_comes_back_older_than_its_delete_that_only_a_log_holds_is_written_and_shown(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "orders"
    for row in ((1, 10, "a"), (2, 20, "b")):
        MAKER.write(spark.createDataFrame([row], SCHEMA), str(path))
    in_base_files = spark.read.parquet(*map(str, path.glob("*.parquet"))).select("id").collect()
    assert [row[0] for row in in_base_files] == [1], "a bucket that is there takes inserts into its log"
    lake = HudiLake(spark, str(path), name="orders", options=BUCKETS, adopt=True)
    gone = corrective(spark, lake, SCHEMA, upserts=[], deletes="id = 2", expected=versions(lake, ("id",), (2,)))
    lake.correct(gone, table_of(lake), checkpoint(1), {})
    assert content(lake, "id", "ts") == [(1, 10)]

    back = corrective(spark, lake, SCHEMA, upserts=[(2, 15, "back")], deletes="false", expected=[(2, None)])
    lake.correct(back, table_of(lake), checkpoint(2), {})

    assert content(lake, "id", "ts", "note") == [(1, 10, "a"), (2, 15, "back")]
