"""The lock of a table: one that is held, and ones that cannot work."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.core.errors import SupersededError
from hudi_reconcile.core.lake.locks import LockProviderError
from hudi_reconcile.lake.hudi_lake import HudiLake
from tests.integration.lake.support import checkpoint, content, frame, new_table, table_of

SCHEMA = "id int, qty int, _hr_read_seq bigint"
PROVIDER = "hoodie.write.lock.provider"
SOON = {
    "hoodie.write.lock.client.num_retries": "1",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "100",
    "hoodie.write.lock.num_retries": "1",
    "hoodie.write.lock.wait_time_ms": "1000",
}


def test_lock_provider_that_cannot_be_loaded_is_named_with_hudis_message_and_is_no_lost_race(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={PROVIDER: "no.such.Provider"})

    with pytest.raises(LockProviderError, match=r"no\.such\.Provider") as caught:
        lake.create(frame(spark, SCHEMA, (1, 1, 1)), new_table("copy_on_write"), checkpoint(1), {})

    assert "another writer" not in caught.value.message
    assert PROVIDER in caught.value.fix


def test_lock_that_another_writer_holds_is_a_lost_race(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "orders"
    lake = HudiLake(spark, str(folder), name="orders", options=SOON)
    lake.create(frame(spark, SCHEMA, (1, 1, 1)), new_table("copy_on_write"), checkpoint(1), {})
    (folder / ".hoodie" / "lock").write_text("{}")

    with pytest.raises(SupersededError, match=r"another writer came first") as caught:
        lake.upsert(frame(spark, SCHEMA, (1, 2, 2)), table_of(lake), checkpoint(2), {})

    assert "nable to acquire" in caught.value.message
    (folder / ".hoodie" / "lock").unlink()
    assert content(lake, "id", "qty") == [(1, 1)]
