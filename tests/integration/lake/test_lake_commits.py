"""Commits of ours and what they carry: create, upsert, pin, checkpoint, labels, walk-back."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow.parquet import ParquetFile
from pyspark.sql import SparkSession

from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.core.tables.values import TableType
from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.ports import Frame
from tests.integration.lake.support import TYPES, checkpoint, content, frame, new_table, table_of

SCHEMA = "id int, at timestamp_ntz, amount decimal(10,2), note string, _hr_read_seq bigint"


@pytest.mark.parametrize("kind", TYPES)
def test_lake_created_then_upserted_shows_the_newest_images_and_the_newest_checkpoint(
    spark: SparkSession, tmp_path: Path, kind: TableType
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    assert lake.look() is None
    assert lake.pin() is None
    assert lake.find_checkpoint() is None
    first = lake.create(
        frame(spark, SCHEMA, (1, None, None, "a", 1), (2, None, None, "b", 1)),
        new_table(kind), checkpoint(1), {"kind": "pull", "run_id": "r1"},
    )  # fmt: skip
    table = table_of(lake)
    assert (table.name, table.type, table.version, table.record_key) == ("orders", kind, 9, ("id",))
    assert (table.ordering, table.ordering_fields, table.partition_fields) == ("tool", ("_hr_read_seq",), ())
    assert [f"{c.name} {c.type}" for c in table.columns] == SCHEMA.split(", ")
    pin = lake.pin()
    assert pin is not None
    assert (pin.instant, pin.in_flight) == (first, ())

    second = lake.upsert(
        frame(spark, SCHEMA, (2, None, None, "B", 2), (3, None, None, "c", 2)), table, checkpoint(2), {"run_id": "r2"}
    )

    assert content(lake, "id", "note") == [(1, "a"), (2, "B"), (3, "c")]
    files = [ParquetFile(path).metadata for path in (tmp_path / "orders").glob("*.parquet")]
    assert {file.row_group(0).column(0).compression for file in files} == {"ZSTD"}
    found = lake.find_checkpoint()
    assert found is not None
    assert (found.checkpoint, found.instant) == (checkpoint(2), second)
    assert dict(lake.find_labels("run_id")).get("r1") == first
    assert dict(lake.find_labels("run_id")).get("r3") is None
    old = lake.read_rows(pin)
    assert sorted(row["note"] for row in old.select("note").collect()) == ["a", "b"]  # type: ignore[attr-defined]
    assert lake.is_intact(pin)

    third = lake.upsert(frame(spark, SCHEMA), table, checkpoint(3), {"run_id": "r3"})

    assert content(lake, "id", "note") == [(1, "a"), (2, "B"), (3, "c")]
    found = lake.find_checkpoint()
    assert found is not None
    assert (found.checkpoint, found.instant) == (checkpoint(3), third)
    _foreign_commits_and_archive(lake, spark, kind)
    with pytest.raises(LakeError, match="already holds"):
        lake.create(frame(spark, SCHEMA), new_table(kind), checkpoint(1), {})


def _foreign_commits_and_archive(lake: HudiLake, spark: SparkSession, kind: TableType) -> None:
    """Writers that know nothing of us, compaction and archival: the checkpoint is still found."""
    table = table_of(lake)
    options = {
        "hoodie.table.name": table.name,
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.metadata.enable": "false",
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
        "hoodie.clean.commits.retained": "1",
        "hoodie.compact.inline": str(kind == "merge_on_read").lower(),
        "hoodie.compact.inline.max.delta.commits": "2",
    }
    for seq in range(4, 8):
        rows = spark.createDataFrame([(9, None, None, "foreign", seq)], SCHEMA)
        rows.write.format("hudi").options(**options).mode("append").save(table.path)
    third = dict(lake.find_labels("run_id")).get("r3")
    assert third is not None
    assert not list(Path(table.path, ".hoodie", "timeline").glob(f"{third.requested}*")), "not archived: proves nothing"
    found = lake.find_checkpoint()
    assert found is not None
    assert found.checkpoint == checkpoint(3)
    assert third == found.instant
    assert (9, "foreign") in content(lake, "id", "note")


def test_upsert_of_other_columns_is_refused_with_every_difference(spark: SparkSession, tmp_path: Path) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    lake.create(frame(spark, SCHEMA, (1, None, None, "a", 1)), new_table("copy_on_write"), checkpoint(1), {})
    pin = lake.pin()
    rows = spark.sql("select 1L id, 'x' note, 1 surplus, 2L _hr_read_seq, cast(1 as decimal(10,3)) amount")

    with pytest.raises(LakeError) as caught:
        lake.upsert(Frame(rows), table_of(lake), checkpoint(2), {})

    text = str(caught.value)
    for part in (
        "at timestamp_ntz: missing",
        "surplus int: not in",
        "id: int in the lake table, bigint",
        "amount: decimal(10,2)",
    ):
        assert part in text
    assert lake.pin() == pin


def test_look_at_a_folder_of_other_files_or_a_damaged_table_names_it(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "part-0.parquet").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken" / ".hoodie").mkdir(parents=True)
    (tmp_path / "broken" / ".hoodie" / "hoodie.properties").write_text("hoodie.table.name=x\n")

    assert HudiLake(spark, str(tmp_path / "empty"), name="t", options={}).look() is None
    for name, text in (("other", "no Hudi table"), ("broken", "broken")):
        with pytest.raises(LakeError, match=text):
            HudiLake(spark, str(tmp_path / name), name="t", options={}).look()
