"""What the doctor says of local folders without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudi_reconcile.app.doctor_lake import folder_check, lake_check
from hudi_reconcile.core.kinds import Column, Kind
from hudi_reconcile.core.values import SourceTable
from hudi_reconcile.stages.request import TableJob

SOURCE = SourceTable("public.orders", (Column("order_id", Kind.INTEGER, "bigint"),), ("order_id",), 1, "server/table")
PROPERTIES = """#Updated at 2026-11-21
hoodie.table.name=orders
hoodie.table.type=COPY_ON_WRITE
hoodie.table.version=9
hoodie.table.recordkey.fields={key}
hoodie.table.ordering.fields={ordering}
hoodie.record.merge.mode=EVENT_TIME_ORDERING
"""


def job(path: str) -> TableJob:
    return TableJob(
        "orders",
        path,
        "copy_on_write",
        "timestamp",
        ("updated_at",),
        overlap_micros=0,
        partition_by=(),
        exclude=frozenset(),
        segments=None,
        settle_seconds=0.0,
        max_deletes=1,
        max_delete_share=1.0,
        max_upsert_share=1.0,
        savepoint="never",
        run_id="doctor",
    )


def hudi_table(folder: Path, *, key: str = "order_id", ordering: str = "_hr_read_seq") -> Path:
    (folder / ".hoodie").mkdir(parents=True)
    (folder / ".hoodie" / "hoodie.properties").write_text(PROPERTIES.format(key=key, ordering=ordering))
    return folder


def test_path_that_is_not_there_yet_can_be_made(tmp_path: Path) -> None:
    assert lake_check(job(str(tmp_path / "lake" / "orders")), SOURCE).status == "ok"
    assert not (tmp_path / "lake").exists()


def test_path_below_a_file_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    found = folder_check("reports", tmp_path / "file" / "reports")

    assert (found.status, found.detail) == ("fail", f"{tmp_path / 'file'} is no folder")


def test_table_of_ours_is_ok(tmp_path: Path) -> None:
    found = lake_check(job(f"file://{hudi_table(tmp_path / 'orders')}"), SOURCE)

    assert found.status == "ok"
    assert "copy_on_write table of ours" in found.detail


def test_table_of_another_writer_is_a_warning_that_says_what_still_works(tmp_path: Path) -> None:
    found = lake_check(job(str(hudi_table(tmp_path / "orders", ordering="ts"))), SOURCE)

    assert found.status == "warn"
    assert "ordering field: ts" in found.detail


@pytest.mark.parametrize(("source", "status"), [(SOURCE, "fail"), (None, "ok")])
def test_other_record_key_fails_where_the_source_is_known(
    tmp_path: Path, source: SourceTable | None, status: str
) -> None:
    assert lake_check(job(str(hudi_table(tmp_path / "orders", key="id"))), source).status == status


def test_folder_with_other_files_fails(tmp_path: Path) -> None:
    (tmp_path / "part-0.parquet").write_text("x")

    assert "holds files but no Hudi table" in lake_check(job(str(tmp_path)), SOURCE).detail


def test_path_that_is_not_local_is_said_to_be_unchecked() -> None:
    found = lake_check(job("s3a://bucket/orders"), SOURCE)

    assert (found.status, "not a local path" in found.detail) == ("warn", True)
