"""How a table's files are told from buckets: by their names, and by whether any number of buckets places its keys so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.tables.values import LakeTable
from hudi_reconcile.lake.buckets import BUCKETS, choose_bucket_options
from hudi_reconcile.lake.foreign import Sample

HASH_RANGE = 2**31 - 1
HASHED = "hoodie.bucket.index.hash.field"
KEYS = ("1", "2", "3")


def hash_of(spark: SparkSession, key: str, fields: str = "id") -> int:
    identify = spark._jvm.org.apache.hudi.index.bucket.BucketIdentifier.getBucketId  # type: ignore[union-attr]
    return int(identify(key, fields, HASH_RANGE))


def options_of(
    spark: SparkSession, named: Mapping[str, str], files: Sequence[str], keys: Sequence[str], record_key: str
) -> dict[str, str]:
    fields = tuple(record_key.split(","))
    table = LakeTable("/t", "t", "copy_on_write", 9, (), fields, (), (), "tool")
    carried = tuple(
        (key, "", f"{file}-7f31-4c5e-9d0a-1b2c3d4e5f60-0_0-1-1_2.parquet")
        for key, file in zip(keys, files, strict=True)
    )
    return choose_bucket_options(spark, table, named, Sample((), None, carried))


def test_file_whose_random_name_begins_as_a_buckets_does_is_no_bucket(spark: SparkSession) -> None:
    assert options_of(spark, {}, ["00091234"] * 3, KEYS, "id") == {}
    assert options_of(spark, {}, ["00091234"] * 3, ["a:1,b:1", "a:2,b:1", "a:3,b:2"], "a,b") == {}
    assert options_of(spark, {}, ["00091234", "3f91b2c4", "00000001"], KEYS, "id") == {}


@pytest.mark.parametrize("count", [1, 3, 256, 5_000])
def test_buckets_of_any_number_are_refused_until_it_is_said_and_written_with_it(
    spark: SparkSession, count: int
) -> None:
    files = [f"{hash_of(spark, key) % count:08d}" for key in KEYS]

    with pytest.raises(RefusedError, match="its files are buckets; no property of it says how many"):
        options_of(spark, {}, files, KEYS, "id")
    found = options_of(spark, {BUCKETS: str(count)}, files, KEYS, "id")

    assert (found["hoodie.index.type"], found[BUCKETS], found[HASHED]) == ("BUCKET", str(count), "id")


@pytest.mark.parametrize("hashed", ["b", "b,a"])
def test_buckets_by_other_columns_or_another_order_than_the_key_are_refused_until_they_are_said(
    spark: SparkSession, hashed: str
) -> None:
    every = [f"a:{one},b:{one % 2}" for one in range(300)]
    bucket = hash_of(spark, every[1], hashed) % 4
    keys = [key for key in every if hash_of(spark, key, hashed) % 4 == bucket]
    files = [f"{bucket:08d}"] * len(keys)
    assert len(keys) > 10

    with pytest.raises(RefusedError, match="its files are buckets"):
        options_of(spark, {}, files, keys, "a,b")
    found = options_of(spark, {BUCKETS: "4", HASHED: hashed}, files, keys, "a,b")

    assert found[HASHED] == hashed


def test_number_of_buckets_that_the_files_contradict_is_refused_with_the_one_that_fits(spark: SparkSession) -> None:
    files = [f"{hash_of(spark, str(one)) % 6:08d}" for one in range(20)]

    with pytest.raises(RefusedError, match="says 7, which its files contradict") as refused:
        options_of(spark, {BUCKETS: "7"}, files, [str(one) for one in range(20)], "id")

    assert f'{BUCKETS}: "6"' in refused.value.fix
