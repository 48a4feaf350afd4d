"""What the properties of another tool's table ask of a commit."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.core.tables.values import LakeColumn
from hudi_reconcile.lake.foreign import has_exact_partition, has_exact_rows, hinder_changelog, read_foreign
from hudi_reconcile.lake.foreign_table import mark_field
from hudi_reconcile.lake.options import WriteOptions, upsert_options
from hudi_reconcile.lake.table import build_lake_table

PROPERTIES = {
    "hoodie.table.name": "orders",
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.table.version": "6",
    "hoodie.table.recordkey.fields": "id",
    "hoodie.table.partition.fields": "region",
    "hoodie.table.precombine.field": "ts",
    "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
    "hoodie.compaction.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
    "hoodie.datasource.write.hive_style_partitioning": "false",
    "hoodie.datasource.write.drop.partition.columns": "false",
    "hoodie.table.metadata.partitions": "files,record_index",
}


def hindered(**changed: str) -> str:
    return "; ".join(read_foreign({**PROPERTIES, **changed}).hindrances)


def test_properties_of_a_plain_table_hinder_nothing() -> None:
    assert hindered() == ""


def test_files_hold_rows_where_hudi_tells_no_value_by_the_path_that_is_another_in_the_file() -> None:
    on_write = {**PROPERTIES, "hoodie.table.type": "COPY_ON_WRITE"}

    def held(name: str = "Region", kind: str = "string", further: str = "note", **changed: str) -> bool:
        columns = (LakeColumn(name, kind), LakeColumn(further, "string"))
        return has_exact_rows(build_lake_table("/lake/t", {**on_write, **changed}, columns))

    assert held()
    assert not held(kind="timestamp")  # Hudi shows NULL for such a value
    assert not held(name="other")
    assert not held(further="_Metadata")
    assert not held(**{"hoodie.table.type": "MERGE_ON_READ"})
    assert not held(**{"hoodie.datasource.write.drop.partition.columns": "true"})


@pytest.mark.parametrize(
    ("path", "styles", "is_told"),
    [
        ("eu/f.parquet", "", True),
        ("region=eu/f.parquet", "hive_style_partitioning", True),
        ("region=a%20b/f.parquet", "hive_style_partitioning partitionpath.urlencode", True),
        ("region=a%20b/f.parquet", "hive_style_partitioning", False),  # Hudi shows `a b`
        ("region=a=b/f.parquet", "hive_style_partitioning", False),
        ("a=b/f.parquet", "", False),
        ("2026/01/f.parquet", "", False),
        ("f.parquet", "", False),
        ("default/f.parquet", "", False),
        (
            "region=__HIVE_DEFAULT_PARTITION__/f.parquet",
            "hive_style_partitioning",
            True,
        ),  # NULL, whatever is in the file
    ],
)
def test_path_tells_values_where_it_spells_them_as_the_file_does(path: str, styles: str, *, is_told: bool) -> None:
    further = {f"hoodie.datasource.write.{one}": "true" for one in styles.split()}

    assert has_exact_partition(build_lake_table("/lake/t", {**PROPERTIES, **further}, ()), path) is is_told


def test_commit_makes_keys_paths_and_version_as_the_table_has_them() -> None:
    table = build_lake_table("/lake/t", PROPERTIES, ())
    found = upsert_options(WriteOptions(), table, has_metadata_table=True)

    assert found["hoodie.datasource.write.keygenerator.class"] == "org.apache.hudi.keygen.SimpleKeyGenerator"
    assert found["hoodie.datasource.write.hive_style_partitioning"] == "false"
    assert "hoodie.datasource.write.partitionpath.urlencode" not in found
    assert found["hoodie.datasource.write.partitionpath.field"] == "region"
    assert found["hoodie.datasource.write.precombine.field"] == "ts"
    assert found["hoodie.write.table.version"] == "6"
    assert found["hoodie.write.auto.upgrade"] == "false"
    assert found["hoodie.compact.inline"] == "false"
    assert found["hoodie.metadata.record.index.enable"] == "true"
    assert found["hoodie.metadata.auto.delete.partitions"] == "false"
    assert "deltastreamer.checkpoint.key" in found["hoodie.write.rolling.metadata.keys"]


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("hoodie.table.keygenerator.class", "com.acme.Keys", "its keys are made by Keys"),
        ("hoodie.table.keygenerator.class", "org.apache.hudi.keygen.CustomKeyGenerator", "made by CustomKeyGenerator"),
        ("hoodie.datasource.write.drop.partition.columns", "true", "no partition columns"),
        ("hoodie.table.base.file.format", "ORC", "no Parquet"),
        ("hoodie.table.partial.update.mode", "FILL_UNAVAILABLE", "merges parts of rows"),
        ("hoodie.compaction.payload.class", "org.apache.hudi.payload.AWSDmsAvroPayload", "merged by AWSDmsAvroPayload"),
        ("hoodie.bootstrap.base.path", "/old", "bootstrap"),
        ("hoodie.record.merge.property.hoodie.payload.delete.field", "op", "merge properties of its own"),
    ],
)
def test_table_that_no_commit_of_ours_fits_is_named(key: str, value: str, named: str) -> None:
    assert named in hindered(**{key: value})


def test_table_whose_rows_are_changes_is_named() -> None:
    table = build_lake_table("/lake/t", PROPERTIES, (LakeColumn("id", "bigint"),))
    for shown, hindrances in ((("id",), 0), (("id", "_hoodie_operation"), 1)):
        foreign = hinder_changelog(table, shown).foreign
        assert foreign is not None
        assert len([why for why in foreign.hindrances if "changelog mode" in why]) == hindrances


@pytest.mark.parametrize(
    ("named", "spelled"),
    [
        ({}, "SimpleKeyGenerator"),
        (
            {"hoodie.table.keygenerator.class": "org.apache.hudi.keygen.SimpleAvroKeyGenerator"},
            "SimpleAvroKeyGenerator",
        ),
        (
            {"hoodie.table.keygenerator.class": "", "hoodie.table.keygenerator.type": "SIMPLE_AVRO"},
            "SimpleAvroKeyGenerator",
        ),
    ],
)
def test_commit_names_the_key_generator_as_the_table_does(named: dict[str, str], spelled: str) -> None:
    found = read_foreign({**PROPERTIES, **named}).options["hoodie.datasource.write.keygenerator.class"]
    assert found == f"org.apache.hudi.keygen.{spelled}"


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ({"hoodie.table.keygenerator.type": "TIMESTAMP_AVRO"}, "TimestampBasedKeyGenerator"),
        ({"hoodie.table.keygenerator.class": "org.apache.hudi.keygen.ComplexAvroKeyGenerator"}, "ComplexKeyGenerator"),
        ({"hoodie.table.keygenerator.type": "USER_PROVIDED"}, "USER_PROVIDED"),
        ({}, "SimpleKeyGenerator"),
        ({"hoodie.table.partition.fields": ""}, "NonpartitionedKeyGenerator"),
        ({"hoodie.table.recordkey.fields": "a,b"}, "ComplexKeyGenerator"),
    ],
)
def test_key_generator_is_told_by_class_by_type_or_by_the_fields(named: dict[str, str], expected: str) -> None:
    nameless = {key: value for key, value in PROPERTIES.items() if "keygenerator" not in key}

    assert read_foreign({**nameless, **named}).key_generator == expected


def test_timestamps_whose_format_is_not_recorded_hinder() -> None:
    kind = {"hoodie.table.keygenerator.class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator"}

    assert "do not say how partition paths are made" in hindered(**kind)
    assert hindered(**kind, **{"hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS"}) == ""


def test_old_table_without_a_merge_rule_is_treated_as_ordered_by_event_time() -> None:
    plain = {key: value for key, value in PROPERTIES.items() if "payload" not in key}

    assert build_lake_table("/lake/t", plain, ()).ordering == "event_time"


def test_table_without_row_versions_is_not_read() -> None:
    with pytest.raises(LakeError, match="no meta fields"):
        build_lake_table("/lake/t", {**PROPERTIES, "hoodie.populate.meta.fields": "false"}, ())


def test_mark_of_a_delete_stands_in_a_text_that_neither_names_places_nor_orders_a_row() -> None:
    columns = tuple(LakeColumn(name, kind) for name, kind in (("id", "string"), ("region", "string"), ("ts", "bigint")))

    assert mark_field(build_lake_table("/lake/t", PROPERTIES, columns)) is None
    assert mark_field(build_lake_table("/lake/t", PROPERTIES, (*columns, LakeColumn("note", "string")))) == "note"
