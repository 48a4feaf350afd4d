"""Instants of writers that keep no heartbeat, as Hudi's default settings do: seen, and rolled back where somebody says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Timer

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.core.tables.values import TableType
from hudi_reconcile.lake.bridge import Timeline
from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.lake.reads import read_newest
from tests.integration.lake.support import TYPES, checkpoint, content, frame, new_table, table_of

SCHEMA = "id int, qty int, _hr_read_seq bigint"
ACTION = {"copy_on_write": "commit", "merge_on_read": "deltacommit"}


@pytest.mark.parametrize("kind", TYPES)
def test_instant_without_heartbeat_is_seen_until_it_is_rolled_back_and_then_all_may_write(
    spark: SparkSession, tmp_path: Path, kind: TableType
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={"hoodie.clean.automatic": "false"})
    assert lake.list_silent_writers() == ()
    first = lake.create(frame(spark, SCHEMA, (1, 0, 1)), new_table(kind), checkpoint(1), {})
    assert lake.list_silent_writers() == ()
    timeline, foreign = tmp_path / "orders" / ".hoodie" / "timeline", str(int(first.requested) + 1)
    (timeline / f"{foreign}.{ACTION[kind]}.requested").write_bytes(b"")
    (timeline / f"{foreign}.{'inflight' if kind == 'copy_on_write' else 'deltacommit.inflight'}").write_bytes(b"")
    assert lake.list_silent_writers() == (foreign,)
    # A newer commit keeps Hudi's default writers from rolling it back themselves.
    lake.upsert(frame(spark, SCHEMA, (2, 2, 2)), table_of(lake), checkpoint(2), {})
    assert lake.list_silent_writers() == (foreign,)

    lake.roll_back(foreign)

    assert lake.list_silent_writers() == ()
    assert list(timeline.glob(f"{foreign}.*")) == []
    options = {"hoodie.table.name": "orders", "hoodie.datasource.write.operation": "upsert"}
    spark.createDataFrame([(3, 3, 9)], SCHEMA).write.format("hudi").options(**options).mode("append").save(
        table_of(lake).path
    )
    assert content(lake, "id", "qty") == [(1, 0), (2, 2), (3, 3)]


def test_table_that_hudi_does_not_find_for_a_moment_is_read_and_is_an_error_where_it_stays_away(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    lake.create(frame(spark, SCHEMA, (1, 0, 1)), new_table("copy_on_write"), checkpoint(1), {})
    folder, away = (tmp_path / "orders" / name for name in (".hoodie", "away"))
    reads: list[Callable[[], int]] = [
        lambda: read_newest(spark, lake._path).count(),
        lambda: len(Timeline(spark, lake._path).list_completed()),
    ]

    for read in reads:
        folder.rename(away)
        back = Timer(0.6, away.rename, [folder])
        back.start()
        assert read() == 1
        back.join()

    folder.rename(away)
    with pytest.raises(LakeError, match="TableNotFoundException"):
        read_newest(spark, lake._path)
    away.rename(folder)
