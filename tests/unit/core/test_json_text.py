"""JSON and Avro schemas of other programs, of whatever shape."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.changes.consumers import parse_position
from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.core.plan.apply_outcome import parse_counts
from hudi_reconcile.core.pull.hoodiestreamer import read_position
from hudi_reconcile.core.safe_text import list_avro_fields
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.lake.lease import parse_lease
from hudi_reconcile.lake.table import build_lake_table
from hudi_reconcile.lake.timeline import parse_checkpoint, parse_keys

DEEP = "[" * 100_000
LONG = "9" * 5_000


@pytest.mark.parametrize("text", [DEEP, LONG, f'{{"a": {DEEP}', "", "NaN", '"\\ud800"'])
def test_text_of_any_shape_is_a_named_error(text: str) -> None:
    for parse in (parse_counts, parse_keys, parse_checkpoint, lambda one: parse_position(one, "c", "p")):
        with pytest.raises(LakeError):
            parse(text)
    assert parse_lease(text) is None


@pytest.mark.parametrize(
    "schema", [DEEP, LONG, "3", "{}", '{"fields": 3}', '{"fields": [3, {}, {"name": "a"}, {"type": 1}]}']
)
def test_schema_of_any_shape_says_nothing_and_the_table_is_told_all_the_same(schema: str) -> None:
    properties = {
        "hoodie.table.name": "t",
        "hoodie.table.type": "COPY_ON_WRITE",
        "hoodie.table.version": "9",
        "hoodie.table.recordkey.fields": "id",
        "hoodie.table.create.schema": schema,
    }

    assert list(list_avro_fields(schema)) == []
    assert build_lake_table("/lake", properties, ()).name == "t"


@pytest.mark.parametrize(
    "text", ["1e9999999", "1e999999999", "-1e999999", "1e-999999999", "9" * 500, "sNaN", "Infinity"]
)
def test_checkpoint_of_another_tool_that_no_database_holds_is_no_watermark(text: str) -> None:
    assert read_position(Kind.DECIMAL, text) is None
    assert read_position(Kind.INTEGER, text) is None


def test_checkpoint_of_many_digits_is_read_to_the_last() -> None:
    found = read_position(Kind.DECIMAL, "1" + "0" * 40)

    assert found is not None
    assert found.earliest != found.latest
