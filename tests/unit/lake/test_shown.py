"""Partition fields that Spark shows as text: what their files hold is told from the newest commit's schema."""

from __future__ import annotations

import json

import pytest

from hudi_reconcile.core.lake.ownership import judge_adoption
from hudi_reconcile.core.tables.agreement import agree
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.schema_evolution import encode_columns
from hudi_reconcile.core.tables.values import Foreign, LakeColumn, LakeTable, SourceTable
from hudi_reconcile.lake.table import UNKNOWN, add_file_types

COLUMNS = (LakeColumn("id", "bigint"), LakeColumn("at", "string"), LakeColumn("note", "string"))
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
SOURCE = SourceTable(
    "t",
    (
        Column("id", Kind.INTEGER, "bigint", bits=64),
        Column("at", Kind.TIMESTAMP, "timestamp"),
        Column("note", Kind.TEXT, "text"),
    ),
    ("id",),
    10,
    "server/table",
)


def schema(of_at: object) -> str:
    fields = {"id": "long", "at": of_at, "note": ["null", "string"]}
    return json.dumps({"type": "record", "name": "t", "fields": [{"name": n, "type": t} for n, t in fields.items()]})


def held(avro: str | None, generator: str = "TIMESTAMP") -> str | None:
    properties = {"hoodie.table.keygenerator.type": generator}
    found = add_file_types(COLUMNS, properties, ("at",), iter([] if avro is None else [avro]))
    assert (found[0], found[2]) == (COLUMNS[0], COLUMNS[2])
    return found[1].stored


@pytest.mark.parametrize(
    ("avro", "expected"),
    [
        (schema(["null", MICROS]), "timestamp-micros"),
        (schema("long"), "long"),
        (schema(["null", "string"]), None),
        (schema("string"), None),
        (schema(["null", "long", "string"]), UNKNOWN),
        ('{"type": "record", "fields": []}', UNKNOWN),
        ("no schema", UNKNOWN),
        (None, UNKNOWN),
    ],
)
def test_partition_field_of_a_generator_of_times_is_text_only_where_the_files_hold_text(
    avro: str | None, expected: str | None
) -> None:
    assert held(avro) == expected
    assert held(avro, "CUSTOM") == expected


def test_other_generators_show_what_the_files_hold() -> None:
    assert held(schema("long"), "SIMPLE") is None


def test_column_that_spark_shows_otherwise_is_neither_compared_nor_written() -> None:
    by_time = {"hoodie.table.keygenerator.class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator"}
    columns = add_file_types(COLUMNS, by_time, ("at",), iter([]))
    foreign = Foreign("TimestampBasedKeyGenerator")
    table = LakeTable("/t", "t", "copy_on_write", 8, columns, ("id",), ("at",), (), "commit_time", foreign=foreign)
    source = encode_columns(SOURCE, table)

    found = agree(source, table, watermark=("at",), exclude=frozenset(), partition_by=())
    refused = judge_adoption(table, SOURCE, ())

    assert [(one.name, "Spark shows the lake's at as string" in one.why) for one in found.unverified] == [("at", True)]
    assert [item.column.name for item in found.columns] == ["id", "note"]
    assert source.column("at").kind is Kind.TIMESTAMP
    assert len(refused.pull) == len(refused.apply) == 1
    assert f"Spark shows its partition field at as string, its files hold {UNKNOWN}" in refused.apply[0]
