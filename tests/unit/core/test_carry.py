"""Which columns become text: the lake's word wins, and what neither Hudi's key nor a lake type holds is text from the start."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.tables.kinds import TEXT_KINDS, Column, Kind
from hudi_reconcile.core.tables.schema_evolution import encode_columns, encode_new_columns, turn_to_text
from hudi_reconcile.core.tables.values import LakeColumn, LakeTable, SourceTable

ID = Column("id", Kind.TIMESTAMPTZ, "timestamptz", precision=6, native="timestamptz")
AMOUNT = Column("amount", Kind.DECIMAL, "numeric(12,2)", precision=12, scale=2, native="numeric", lake_name="sum")
AT = Column("at", Kind.TIMESTAMP, "timestamp", precision=6, native="timestamp")
RATE = Column("rate", Kind.DOUBLE, "double precision", native="float8")
TABLE = SourceTable("t", (ID, AMOUNT, AT, RATE), ("id",), 0, "i")


def lake(**types: str) -> LakeTable:
    columns = tuple(LakeColumn(name, kind) for name, kind in types.items())
    return LakeTable("/l", "t", "copy_on_write", 9, columns, ("id",), (), ("_hr_read_seq",), "tool")


def kinds(table: SourceTable) -> list[Kind]:
    return [column.kind for column in table.columns]


def test_typed_lake_columns_leave_the_source_typed() -> None:
    assert encode_columns(TABLE, lake(id="timestamp", sum="decimal(12,2)", at="timestamp_ntz", rate="double")) == TABLE


def test_text_lake_columns_make_text_of_the_source_by_their_lake_names() -> None:
    found = encode_columns(TABLE, lake(id="string", sum="string", amount="int", at="string", rate="string"))

    assert kinds(found) == [Kind.OWN_TEXT, Kind.NUMBER, Kind.OWN_TEXT, Kind.DOUBLE]
    assert [column.native for column in found.columns] == ["timestamptz", "numeric", "timestamp", "float8"]
    assert found.columns[1].lake_name == "sum"


def test_new_table_holds_a_zoned_key_and_columns_with_odd_values_as_text() -> None:
    found = encode_new_columns(TABLE, frozenset({"amount"}))

    assert kinds(found) == [Kind.OWN_TEXT, Kind.NUMBER, Kind.TIMESTAMP, Kind.DOUBLE]


@pytest.mark.parametrize("kind", sorted(TEXT_KINDS))
def test_text_has_no_text_twin(kind: Kind) -> None:
    column = Column("c", kind, "declared")

    assert turn_to_text(column) is column
