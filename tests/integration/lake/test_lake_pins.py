"""Pins that move, and storage other than a local disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.lake.files import Files
from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.ports import Frame
from hudi_reconcile.spark.session import translate_error
from tests.integration.lake.support import checkpoint, frame, new_table, table_of

SCHEMA = "id int, qty int, _hr_read_seq bigint"


def test_pin_no_longer_holds_when_a_writer_that_was_in_flight_completes(spark: SparkSession, tmp_path: Path) -> None:
    # Hudi's cleaner would roll back an instant in flight that has no heartbeat.
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={"hoodie.clean.automatic": "false"})
    lake.create(frame(spark, SCHEMA, (1, 1, 1)), new_table("copy_on_write"), checkpoint(1), {})
    slow = lake.upsert(frame(spark, SCHEMA, (2, 2, 2)), table_of(lake), checkpoint(2), {})
    timeline = tmp_path / "orders" / ".hoodie" / "timeline"
    done = timeline / f"{slow.requested}_{slow.completed}.commit"
    done.rename(tmp_path / "aside")
    quick = lake.upsert(frame(spark, SCHEMA, (3, 3, 3)), table_of(lake), checkpoint(3), {})

    pin = lake.pin()

    assert pin is not None
    assert (pin.instant, pin.in_flight) == (quick, (slow.requested,))
    assert lake.is_intact(pin)
    shown = lake.read_rows(pin)
    assert isinstance(shown, DataFrame)
    assert sorted(row["id"] for row in shown.collect()) == [1, 3]
    newest = lake.upsert(frame(spark, SCHEMA, (4, 4, 4)), table_of(lake), checkpoint(4), {})
    assert sorted(row["id"] for row in shown.collect()) == [1, 3], "a frame shows what it was loaded for"
    with pytest.raises(LakeError, match=f"in flight \\({slow.requested}\\)"):
        lake.read_rows(pin)
    (tmp_path / "aside").rename(timeline / f"{slow.requested}_{int(newest.completed) + 1}.commit")
    assert not lake.is_intact(pin)
    later = lake.pin()
    assert later is not None
    assert (later.instant.requested, later.instant.completed) == (newest.requested, str(int(newest.completed) + 1))
    assert lake.is_intact(later)


@pytest.mark.parametrize("prefix", ["", "spark."])
def test_settings_of_a_session_do_not_choose_which_rows_a_snapshot_has(
    spark: SparkSession, tmp_path: Path, prefix: str
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    first = lake.create(frame(spark, SCHEMA, (1, 1, 1), (2, 1, 1)), new_table("merge_on_read"), checkpoint(1), {})
    lake.upsert(frame(spark, SCHEMA, (1, 2, 2)), table_of(lake), checkpoint(2), {})
    pin, found = lake.pin(), {}
    assert pin is not None
    for settings in (
        {"hoodie.datasource.query.type": "read_optimized"},
        {"hoodie.datasource.merge.type": "skip_merge"},
        {
            "hoodie.datasource.query.type": "incremental",
            "hoodie.datasource.read.begin.instanttime": first.completed,
            "hoodie.datasource.query.incremental.format": "cdc",
        },
    ):
        for name, value in settings.items():
            spark.conf.set(f"{prefix}{name}", value)
        try:
            rows = lake.read_rows(pin)
            assert isinstance(rows, DataFrame)
            found[str(settings)] = sorted((row["id"], row["qty"]) for row in rows.collect())
        finally:
            for name in settings:
                spark.conf.unset(f"{prefix}{name}")

    assert found == {key: [(1, 2), (2, 1)] for key in found}


@pytest.mark.parametrize("files", [1, 2])
def test_pin_whose_files_the_cleaner_took_does_not_hold_and_cannot_be_loaded_again(
    spark: SparkSession, tmp_path: Path, files: int
) -> None:
    keep = {"hoodie.clean.commits.retained": "1", "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options=keep)
    rows = spark.createDataFrame([(1, 1, 1), (2, 2, 1)], SCHEMA).coalesce(files)
    lake.create(Frame(rows), new_table("copy_on_write"), checkpoint(1), {})
    pin = lake.pin()
    assert pin is not None
    begun = lake.read_rows(pin)
    assert isinstance(begun, DataFrame)
    for seq in range(2, 5):
        assert lake.is_intact(pin) == (seq < 4)
        lake.upsert(frame(spark, SCHEMA, (1, seq, seq)), table_of(lake), checkpoint(seq), {})

    assert begun.count() == files - 1, (
        "Hudi lists what is there when the frame is read: rows are gone, without an error"
    )
    assert not lake.is_intact(pin)
    with pytest.raises(LakeError, match="the cleaner passed the lake snapshot") as known:
        lake.count_rows(pin)
    assert "hoodie.clean.commits.retained" in known.value.fix
    loaded = lake.read_rows(pin)
    assert isinstance(loaded, DataFrame)
    with pytest.raises(PySparkException) as raised:
        loaded.collect()
    named = translate_error(raised.value)
    assert isinstance(named, LakeError), "what a sweep reads is named where it ends"
    assert named.fix == known.value.fix
    now = lake.pin()
    assert now is not None
    assert lake.is_intact(now)


def test_small_files_work_on_any_hadoop_file_system(spark: SparkSession, tmp_path: Path) -> None:
    conf = spark._jsc.hadoopConfiguration()
    conf.set("fs.viewfs.mounttable.test.link./data", tmp_path.as_uri())
    for root in (str(tmp_path / "plain"), (tmp_path / "uri").as_uri(), "viewfs://test/data"):
        files, path = Files(spark, root), f"{root}/.a b%20#.json"
        assert files.list(root) == () or root.startswith("viewfs")
        assert files.read(path) is None

        assert files.create(path, "one é")
        assert not files.create(path, "two")

        found = files.read(path)
        assert found is not None
        assert found[0] == "one é"
        files.replace(path, "three")
        assert (files.read(path) or ("",))[0] == "three"
        assert [one.name for one in files.list(root) if one.name.endswith(".json")] == [".a b%20#.json"]
        assert files.rename(path, f"{path}.old")
        assert not files.rename(path, f"{path}.older")
        files.delete(f"{path}.old")
        files.delete(f"{path}.old")
        assert not files.exists(f"{path}.old")
    assert {path.name for path in tmp_path.iterdir()} == {"plain", "uri"}
