"""Undo on Hudi: the rows from before a correction come back from the lake's own history, on both table types."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.values import TableType
from hudi_reconcile.lake import undo
from hudi_reconcile.lake.hudi_lake import HudiLake
from tests.integration.lake.support import (
    TYPES,
    checkpoint,
    content,
    corrective,
    frame,
    new_table,
    table_of,
    versions,
)

SCHEMA = "id int, day string, qty int, _hr_read_seq bigint"


@pytest.mark.parametrize("kind", TYPES)
def test_correction_is_taken_back_but_for_rows_that_others_touched_since(
    spark: SparkSession, tmp_path: Path, kind: TableType, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options={})
    rows = [(1, "a", 1, 1), (2, "a", None, 1), (3, "a", 3, 1), (4, "a", 4, 1)]
    lake.create(frame(spark, SCHEMA, *rows), new_table(kind, ("id",), ("day",)), checkpoint(1), {})
    table = table_of(lake)
    upserts = [(1, "b", 10, 2), (2, "a", 20, 2), (5, "a", 50, 2)]
    expected = versions(lake, ("id",), (1,), (2,), (3,), (5,))
    applied = lake.correct(
        corrective(spark, lake, SCHEMA, upserts=upserts, deletes="id = 3", expected=expected), table, checkpoint(2), {}
    )
    lake.upsert(frame(spark, SCHEMA, (2, "a", 22, 3), (6, "a", 6, 3)), table, checkpoint(3), {})

    found = lake.taken_back(applied, table, 4)

    assert found.counts == {("upsert", "ready"): 2, ("upsert", "superseded"): 1, ("delete", "ready"): 1}
    assert lake.shows(found.batch.upserts, table) == 0
    lake.correct(found.batch, table, checkpoint(4), {"undo": "r"})
    assert content(lake, "id", "day", "qty") == [
        (1, "a", 1), (2, "a", 22), (3, "a", 3), (4, "a", 4), (6, "a", 6),
    ]  # fmt: skip
    assert lake.shows(found.batch.upserts, table) == 2

    monkeypatch.setattr(undo, "MOST_COMMITS_SINCE", 1)
    with pytest.raises(RefusedError, match="may be cleaned"):
        lake.taken_back(applied, table, 5)
