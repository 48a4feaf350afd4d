"""What a table's properties say it is, over the table versions that differ in names."""

from __future__ import annotations

import json

import pytest

from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.core.tables.values import LakeColumn, LakeTable
from hudi_reconcile.lake.foreign import merges_whole_rows
from hudi_reconcile.lake.table import build_lake_table, build_readable_table

V9 = {
    "hoodie.table.name": "orders",
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.table.version": "9",
    "hoodie.table.recordkey.fields": "k,n",
    "hoodie.table.partition.fields": "day:SIMPLE,region",
    "hoodie.table.ordering.fields": "_hr_read_seq",
    "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
}
V6 = {
    "hoodie.table.name": "orders",
    "hoodie.table.type": "COPY_ON_WRITE",
    "hoodie.table.version": "6",
    "hoodie.table.recordkey.fields": "k",
    "hoodie.table.precombine.field": "ts",
    "hoodie.compaction.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
}


def test_table_of_ours_is_known_by_its_ordering_field() -> None:
    found = build_lake_table("/lake/orders", V9, ())

    assert found == LakeTable(
        "/lake/orders", "orders", "merge_on_read", 9, (), ("k", "n"), ("day", "region"), ("_hr_read_seq",), "tool"
    )
    assert found.owned


@pytest.mark.parametrize(
    ("properties", "ordering", "fields"),
    [
        (V6, "event_time", ("ts",)),
        (V6 | {"hoodie.compaction.payload.class": "x.OverwriteWithLatestAvroPayload"}, "commit_time", ("ts",)),
        (
            V6 | {"hoodie.table.version": "8", "hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"},
            "commit_time",
            ("ts",),
        ),
        (V9 | {"hoodie.table.ordering.fields": "a,b"}, "event_time", ("a", "b")),
        (V9 | {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}, "commit_time", ("_hr_read_seq",)),
    ],
)
def test_table_of_others_keeps_its_ordering(properties: dict[str, str], ordering: str, fields: tuple[str, ...]) -> None:
    found = build_lake_table("/t", properties, ())

    assert (found.ordering, found.ordering_fields) == (ordering, fields)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"hoodie.table.version": "10"}, "hoodie.table.version is 10, supported are 6, 8, 9"),
        ({"hoodie.table.version": ""}, "hoodie.table.version"),
        ({"hoodie.table.type": "COPY_ON_READ"}, "hoodie.table.type is COPY_ON_READ"),
        ({"hoodie.record.merge.mode": "CUSTOM"}, "hoodie.record.merge.mode is CUSTOM"),
        ({"hoodie.table.recordkey.fields": ""}, "no record key"),
    ],
)
def test_table_with_an_unknown_property_is_refused_by_name(change: dict[str, str], named: str) -> None:
    with pytest.raises(LakeError, match=named):
        build_lake_table("/t", V9 | change, ())
    without = {key: value for key, value in V9.items() if key not in change}
    if "hoodie.record.merge.mode" not in change:
        with pytest.raises(LakeError):
            build_lake_table("/t", without, ())


def test_timestamps_that_are_stored_as_milliseconds_are_known_from_the_tables_own_schema() -> None:
    def stamp(unit: str) -> dict[str, str]:
        return {"type": "long", "logicalType": unit}

    fields = [
        {"name": "a", "type": ["null", stamp("timestamp-millis")]},
        {"name": "b", "type": stamp("local-timestamp-millis")},
        {"name": "c", "type": ["null", stamp("timestamp-micros")]},
        {"name": "d", "type": "string"},
    ]
    schema = json.dumps({"type": "record", "name": "r", "fields": fields})
    columns = tuple(LakeColumn(name, "timestamp") for name in "abcd")

    found = build_lake_table("/l", {**V9, "hoodie.table.create.schema": schema}, columns)

    assert [column.fraction_digits for column in found.columns] == [3, 3, None, None]


@pytest.mark.parametrize("schema", ["", "{", "[]", '"string"', "{}"])
def test_unknown_schema_says_nothing_of_timestamps(schema: str) -> None:
    columns = (LakeColumn("a", "timestamp"),)

    assert build_lake_table("/l", {**V9, "hoodie.table.create.schema": schema}, columns).columns == columns


def test_change_log_of_a_table_is_known_by_what_it_keeps_and_is_none_where_it_is_off() -> None:
    mode = "hoodie.table.cdc.supplemental.logging.mode"
    on = V9 | {"hoodie.table.cdc.enabled": "true"}

    assert build_lake_table("/t", V9 | {mode: "OP_KEY_ONLY"}, ()).change_log is None
    assert build_lake_table("/t", on | {mode: "op_key_only"}, ()).change_log == "op_key_only"
    assert build_lake_table("/t", on, ()).change_log == "data_before_after"
    with pytest.raises(LakeError, match="OP_AND_MORE"):
        build_lake_table("/t", on | {mode: "op_and_more"}, ())


def test_table_that_is_only_asked_for_its_history_may_have_made_keys_and_any_merge_rule() -> None:
    found = build_readable_table(
        "/t", V9 | {"hoodie.table.recordkey.fields": "", "hoodie.record.merge.mode": "CUSTOM"}, ()
    )

    assert (found.record_key, found.has_generated_keys, found.ordering) == (("_hoodie_record_key",), True, "other")
    assert not build_readable_table("/t", V9, ()).has_generated_keys


@pytest.mark.parametrize(
    ("change", "is_whole"),
    [
        ({}, True),
        ({"hoodie.table.legacy.payload.class": "o.a.h.DefaultHoodieRecordPayload"}, True),
        ({"hoodie.table.legacy.payload.class": "o.a.h.AWSDmsAvroPayload"}, False),
        ({"hoodie.table.partial.update.mode": "IGNORE_DEFAULTS"}, False),
        ({"hoodie.record.merge.property.hoodie.payload.delete.field": "op"}, False),
        ({"hoodie.record.merge.mode": "CUSTOM"}, False),
    ],
)
def test_rows_are_known_to_be_merged_whole_only_where_no_property_says_otherwise(
    change: dict[str, str], *, is_whole: bool
) -> None:
    table = build_readable_table("/t", V9 | change, ())

    assert merges_whole_rows(table.ordering, V9 | change) is is_whole
