"""Which columns the text of an image in a change log tells."""

from __future__ import annotations

import json

import pytest

from hudi_reconcile.core.tables.values import LakeColumn
from hudi_reconcile.lake.changes.cdc_log import holds_values

DECIMAL = {"type": "fixed", "name": "fixed", "size": 4, "logicalType": "decimal", "precision": 7, "scale": 2}


def schema(kind: object) -> str:
    return json.dumps({"type": "record", "name": "t", "fields": [{"name": "v", "type": kind}]})


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("long", "bigint"),
        (["null", "string"], "string"),
        ({"type": "string", "avro.java.string": "String"}, "string"),
        (["null", DECIMAL], "decimal(7,2)"),
        ({"type": "int", "logicalType": "date"}, "date"),
        ({"type": "long", "logicalType": "timestamp-micros"}, "timestamp"),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, "timestamp_ntz"),
        ("bytes", "binary"),
    ],
)
def test_type_whose_text_is_exact_is_told(kind: object, column: str) -> None:
    assert holds_values(schema(kind), [LakeColumn("v", column)])


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("long", "int"),
        (DECIMAL, "decimal(7,3)"),
        ({**DECIMAL, "type": "bytes"}, "decimal(7,2)"),  # not the form that Spark's writers give
        ({"type": "long", "logicalType": "timestamp-millis"}, "timestamp"),
        (["null", "int", "string"], "int"),
        ({"type": "array", "items": "int"}, "array<int>"),
        ({"type": "record", "name": "r", "fields": []}, "struct<>"),
        ({"type": "string", "logicalType": "uuid"}, "string"),
    ],
)
def test_type_whose_text_is_not_exact_or_that_is_another_in_the_table_is_not_told(kind: object, column: str) -> None:
    assert not holds_values(schema(kind), [LakeColumn("v", column)])


def test_column_that_the_images_do_not_have_is_not_told() -> None:
    assert not holds_values(schema("long"), [LakeColumn("v", "bigint"), LakeColumn("w", "bigint")])
