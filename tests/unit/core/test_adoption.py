"""Which tables of other tools are written, and what is said of those that are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hudi_reconcile.core.lake.ownership import Adoption, describe_adoption, describe_table, judge_adoption
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.values import Foreign, LakeColumn, LakeTable, PartitionField, SourceTable

SOURCE = SourceTable(
    "orders",
    (
        Column("id", Kind.INTEGER, "bigint", bits=64),
        Column("note", Kind.TEXT, "text"),
        Column("at", Kind.TIMESTAMP, "timestamp"),
    ),
    ("id",),
    10,
    "server/table",
)
COLUMNS = (LakeColumn("id", "bigint"), LakeColumn("note", "string"), LakeColumn("at", "timestamp"))
TABLE = LakeTable(
    "/lake/t",
    "t",
    "merge_on_read",
    8,
    COLUMNS,
    ("id",),
    (),
    ("at",),
    "event_time",
    foreign=Foreign("SimpleKeyGenerator"),
)


def said(table: LakeTable, partition_by: tuple[PartitionField, ...] = ()) -> str:
    return "; ".join(judge_adoption(table, SOURCE, partition_by).apply)


def test_table_with_the_sources_columns_is_written() -> None:
    assert judge_adoption(TABLE, SOURCE, ()) == Adoption()


def test_table_of_ours_needs_no_adoption() -> None:
    assert judge_adoption(replace(TABLE, foreign=None, columns=()), SOURCE, ()) == Adoption()


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"ordering_fields": ("kafka_offset",)}, "its ordering field kafka_offset is no column of the source"),
        ({"partition_fields": ("dt",)}, "its partition field dt is no column of the source"),
        ({"columns": COLUMNS[:2]}, "it has no column at (leave it out with source.columns)"),
        ({"columns": (*COLUMNS[:2], LakeColumn("at", "array<int>"))}, "at timestamp cannot be held by its array<int>"),
        ({"columns": (*COLUMNS[:2], LakeColumn("at", "timestamp", 3))}, "its at holds milliseconds"),
        ({"foreign": Foreign("CustomKeyGenerator", hindrances=("its keys are odd",))}, "its keys are odd"),
    ],
)
def test_table_that_cannot_be_written_right_is_named(changed: dict[str, object], reason: str) -> None:
    assert reason in said(replace(TABLE, **changed))  # type: ignore[arg-type]


def test_partition_that_the_config_derives_is_filled() -> None:
    table = replace(TABLE, partition_fields=("at_day",), columns=(*COLUMNS, LakeColumn("at_day", "string")))

    assert said(table, (PartitionField("at", "day"),)) == ""
    assert "lake.partition_by makes at_day" in said(TABLE, (PartitionField("at", "day"),))


def test_column_of_the_lake_alone_stops_pulls_and_no_correction() -> None:
    found = judge_adoption(replace(TABLE, columns=(*COLUMNS, LakeColumn("loaded_by", "string"))), SOURCE, ())

    assert (found.apply, found.pull) == ((), ("a pull would empty loaded_by, which the source does not have",))


def test_zoned_timestamp_as_a_key_is_refused() -> None:
    source = replace(SOURCE, key=("at",), columns=(*SOURCE.columns[:2], Column("at", Kind.TIMESTAMPTZ, "timestamptz")))

    assert "its key at is a timestamp" in "; ".join(judge_adoption(TABLE, source, ()).apply)


def test_columns_that_are_not_known_yet_are_no_reason() -> None:
    assert said(replace(TABLE, columns=()), ()) == ""


def test_lines_say_what_is_done_and_what_is_not() -> None:
    lines = "\n".join((*describe_table(TABLE), *describe_adoption(TABLE, Adoption(pull=("no",)), adopt=True)))

    assert "table version 8, merge_on_read" in lines
    assert "by at" not in lines.replace("greater at", "")
    assert "keys: SimpleKeyGenerator from id, not partitioned" in lines
    assert "pull: refused: no" in lines
    assert "apply: one commit" in lines
    assert "apply: rows whose at is older than the lake's" in lines
    assert "columns:" not in lines
    assert "columns: not looked at" in "\n".join(describe_adoption(replace(TABLE, columns=()), Adoption(), adopt=True))
    assert "refused until lake.adopt: true" in "\n".join(describe_adoption(TABLE, Adoption(), adopt=False))
