"""Corrections in the lake held against findings: what they bear out is silent, all else is counted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import Row, SparkSession

from hudi_reconcile.changefeed.origin import FindingsAudit, audit_against_findings

IMAGE = "struct<id:bigint,amt:decimal(12,4),note:string,at:timestamp,tags:array<int>>"
CHANGES = f"op string, key struct<id:bigint>, before {IMAGE}, after {IMAGE}"
COLUMNS = {"order_id": "id", "amount": "amt", "note": "note", "at": "at", "tags": "tags"}
ROW = {"amount": "1.10", "note": "a", "at": "1970-01-01T00:00:01.000000", "tags": "[1]"}


def finding(number: int, kind: str, action: str, lake: dict[str, Any] | None) -> tuple[str, str, str]:
    line = {"key": {"order_id": number}, "lake": None if lake is None else {"digest": "00", "values": lake}}
    return kind, action, json.dumps(line)


def image(spark: SparkSession, number: int) -> Row:
    row = spark.sql(f"select {number}L, 1.1BD, 'a  ', timestamp_seconds(1), array(1, 2)").head()
    assert row is not None
    return row


def test_corrections_are_held_against_findings_by_value_and_what_is_not_borne_out_is_counted(
    spark: SparkSession, tmp_path: Path
) -> None:
    def numbered() -> Iterator[tuple[str, tuple[int], Row | None, Row | None]]:
        for number, op in enumerate("uuudiiduu"):
            row = image(spark, number)
            yield op, (number,), None if op == "i" else row, None if op == "d" else row

    found = [
        finding(0, "updated_without_watermark", "upsert", ROW),  # as it was, each value spelled otherwise
        finding(1, "regressed", "upsert", ROW | {"amount": "1.11"}),  # another value
        finding(2, "regressed", "upsert", None),  # there was none
        finding(3, "deleted", "delete", {}),  # nothing may be shown
        finding(4, "late_arriving", "upsert", None),
        finding(5, "late_arriving", "upsert", ROW),  # there was one
        finding(6, "regressed", "upsert", ROW),  # deleted, though it was to be written
        finding(7, "duplicate_key", "upsert", ROW | {"note": "b"}),  # one of several copies
        finding(8, "pending", "none", ROW),  # nothing was to be corrected: no finding names it
    ]
    spark.createDataFrame(found, "kind string, action string, line string").write.parquet(str(tmp_path / "findings"))
    changes = spark.createDataFrame(list(numbered()), CHANGES)

    assert audit_against_findings(changes, str(tmp_path / "findings"), ["order_id"], COLUMNS) == FindingsAudit(
        unnamed_keys=1, other_keys=4
    )
