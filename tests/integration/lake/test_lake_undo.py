"""Undo on Hudi: the rows from before a correction come back from the lake's own history, on both table types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.tables.values import TableType
from hudi_reconcile.lake import reads, undo
from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.ports import Frame, TakenBack
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
    rows = [(1, "a", 1, 1), (2, "a", None, 1), (3, "a", 3, 1), (4, "a", 4, 1), (7, "a", 7, 1)]
    lake.create(frame(spark, SCHEMA, *rows), new_table(kind, ("id",), ("day",)), checkpoint(1), {})
    table = table_of(lake)
    upserts = [(1, "b", 10, 2), (2, "a", 20, 2), (5, "a", 50, 2)]
    expected = versions(lake, ("id",), (1,), (2,), (3,), (5,), (7,))
    applied = lake.correct(
        corrective(spark, lake, SCHEMA, upserts=upserts, deletes="id in (3, 7)", expected=expected),
        table,
        checkpoint(2),
        {},
    )
    lake.upsert(frame(spark, SCHEMA, (2, "a", 22, 3), (6, "a", 6, 3), (7, "a", 77, 3)), table, checkpoint(3), {})
    again = versions(lake, ("id",), (7,))
    lake.correct(
        corrective(spark, lake, SCHEMA, upserts=[], deletes="id = 7", expected=again), table, checkpoint(3), {}
    )

    found = lake.prepare_undo(applied, table, 4)

    assert found.counts == {("upsert", "ready"): 2, ("upsert", "superseded"): 2, ("delete", "ready"): 1}
    assert lake.count_shown(found.batch.upserts, table) == 0
    lake.correct(found.batch, table, checkpoint(4), {"undo": "r"})
    assert content(lake, "id", "day", "qty") == [
        (1, "a", 1), (2, "a", 22), (3, "a", 3), (4, "a", 4), (6, "a", 6),
    ]  # fmt: skip
    assert lake.count_shown(found.batch.upserts, table) == 2

    monkeypatch.setattr(undo, "MOST_COMMITS_SINCE", 1)
    with pytest.raises(RefusedError, match="may be cleaned"):
        lake.prepare_undo(applied, table, 5)


def test_correction_whose_rows_from_before_were_cleaned_is_refused_and_deletes_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "2"}
    lake = HudiLake(spark, str(tmp_path / "orders"), name="orders", options=two)
    one_file = Frame(spark.createDataFrame([(1, "a", 1, 1), (2, "a", 2, 1)], SCHEMA).coalesce(1))
    lake.create(one_file, new_table("copy_on_write"), checkpoint(1), {})
    table, expected = table_of(lake), versions(lake, ("id",), (2,))
    batch = corrective(spark, lake, SCHEMA, upserts=[(2, "a", 20, 2)], deletes="false", expected=expected)
    applied, taken_back = lake.correct(batch, table, checkpoint(2), {}), undo.revert_rows

    def cleaned_meanwhile(*given: Any) -> TakenBack:
        lake.upsert(frame(spark, SCHEMA, (1, "a", 10, 3)), table, checkpoint(3), {})
        return taken_back(*given)

    monkeypatch.setattr(undo, "revert_rows", cleaned_meanwhile)
    with pytest.raises(
        RefusedError, match=r"wrote 1 rows that the lake had and 0 new ones, and the lake.s history shows 0 and 1"
    ):
        lake.prepare_undo(applied, table, 4)
    monkeypatch.setattr(undo, "revert_rows", taken_back)
    with pytest.raises(RefusedError, match="a cleaner ran since"):
        lake.prepare_undo(applied, table, 4)

    before = reads.read_as_of(spark, table.path, expected[0][1].split("_")[0])
    assert before.count() == 0, "Hudi shows a snapshot whose files are gone without them, and says nothing"
