"""What the doctor says of local folders without Spark."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

from hudi_reconcile.app.doctor.lake import check_folder, check_folder_mode, check_lake, check_lock
from hudi_reconcile.app.doctor.server import Check
from hudi_reconcile.core.lake.locks import PROVIDER, list_client_classes
from hudi_reconcile.core.plan.guards import Policy
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.values import Instant, SourceTable
from hudi_reconcile.ports import Origin
from hudi_reconcile.stages.job import LakeSettings, PullSettings, TableJob

SOURCE = SourceTable("public.orders", (Column("order_id", Kind.INTEGER, "bigint"),), ("order_id",), 1, "server/table")
PROPERTIES = """#Updated at 2026-11-21
hoodie.table.name=orders
hoodie.table.type=COPY_ON_WRITE
hoodie.table.version=9
hoodie.table.recordkey.fields={key}
hoodie.table.ordering.fields={ordering}
hoodie.record.merge.mode=EVENT_TIME_ORDERING
"""


def job(path: str, *, adopt: bool = False) -> TableJob:
    return TableJob(
        name="orders",
        run_id="doctor",
        lake=LakeSettings(path=path, type="copy_on_write", adopt=adopt),
        pull=PullSettings(strategy="timestamp", watermark=("updated_at",)),
        policy=Policy(1, 1.0, 1.0),
        savepoint="never",
    )


def hudi_table(folder: Path, *, key: str = "order_id", ordering: str = "_hr_read_seq") -> Path:
    (folder / ".hoodie").mkdir(parents=True)
    (folder / ".hoodie" / "hoodie.properties").write_text(PROPERTIES.format(key=key, ordering=ordering))
    return folder


def lake_check(one: TableJob, source: SourceTable | None) -> Check:
    """The only line, of a path that is no other tool's table."""
    (found,) = check_lake(one, source, lambda _: Origin())
    return found


def test_path_that_is_not_there_yet_can_be_made(tmp_path: Path) -> None:
    assert lake_check(job(str(tmp_path / "lake" / "orders")), SOURCE).status == "ok"
    assert not (tmp_path / "lake").exists()


def test_path_below_a_file_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    found = check_folder("reports", tmp_path / "file" / "reports")

    assert (found.status, found.detail) == ("fail", f"{tmp_path / 'file'} is no folder")


def test_table_of_ours_is_ok(tmp_path: Path) -> None:
    found = lake_check(job(f"file://{hudi_table(tmp_path / 'orders')}"), SOURCE)

    assert found.status == "ok"
    assert "copy_on_write table of ours" in found.detail


def test_table_of_another_tool_is_told_in_plain_lines(tmp_path: Path) -> None:
    at = Instant("20260101000000000", "20260101000001000")
    origin = Origin(None, "deltastreamer.checkpoint.key", "2026-01-01 00:00:07", at)
    folder = hudi_table(tmp_path / "orders", ordering="order_id")

    first, *lines = check_lake(job(str(folder)), SOURCE, lambda _: origin)
    adopted, *more = check_lake(job(str(folder), adopt=True), SOURCE, lambda _: Origin())

    assert (first.status, "adopt: true" in first.fix) == ("warn", True)
    said = "\n".join(line.detail for line in lines)
    assert "table version 9, copy_on_write" in said
    assert "ordering: event time" in said
    assert "keys: NonpartitionedKeyGenerator from order_id" in said
    assert "HoodieStreamer; its checkpoint is '2026-01-01 00:00:07' (deltastreamer.checkpoint.key" in said
    assert "apply: refused until lake.adopt: true" in said
    assert (adopted.status, adopted.fix) == ("ok", "")
    assert "apply: one commit of upserts and deletes" in "\n".join(line.detail for line in more)


def test_table_whose_ordering_field_the_source_lacks_cannot_be_adopted(tmp_path: Path) -> None:
    folder = hudi_table(tmp_path / "orders", ordering="kafka_offset")

    first, *lines = check_lake(job(str(folder), adopt=True), SOURCE, lambda _: Origin())

    assert first.status == "warn"
    assert "apply: refused: its ordering field kafka_offset is no column of the source" in [one.detail for one in lines]


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


@pytest.mark.parametrize(
    ("mode", "allowed", "warned"), [(0o755, 0o700, True), (0o700, 0o700, False), (0o2750, 0o750, False)]
)
def test_folder_that_lets_in_more_people_than_it_should_is_warned_of(
    tmp_path: Path, mode: int, allowed: int, *, warned: bool
) -> None:
    tmp_path.chmod(mode)

    found = list(check_folder_mode("reports mode", tmp_path, allowed, f"chmod {allowed:04o} {tmp_path}"))

    assert [(check.status, check.fix) for check in found] == ([("warn", f"chmod 0700 {tmp_path}")] if warned else [])


def test_folder_that_is_not_there_yet_is_not_warned_of(tmp_path: Path) -> None:
    assert list(check_folder_mode("reports mode", tmp_path / "none", 0o700, "")) == []


def test_store_without_a_lock_fails_with_the_lines_to_set_and_local_paths_have_no_such_line(tmp_path: Path) -> None:
    (found,) = check_lock("orders", "s3a://lake/orders", {}, ())

    assert (found.name, found.status) == ("orders: lock", "fail")
    assert PROVIDER in (found.fix or "")
    assert list(check_lock("orders", str(tmp_path), {}, ())) == []


def test_store_with_a_lock_of_the_config_or_with_the_jars_of_hudis_client_is_ok(tmp_path: Path) -> None:
    jar = tmp_path / "client.jar"
    with ZipFile(jar, "w") as archive:
        for name in list_client_classes("s3a://lake/orders"):
            archive.writestr(name.replace(".", "/") + ".class", "")
    (tmp_path / "other.jar").write_text("no archive")

    (named,) = check_lock("orders", "s3a://lake/orders", {PROVIDER: "a.Provider"}, ())
    (found,) = check_lock("orders", "s3a://lake/orders", {}, (tmp_path / "other.jar", jar))

    assert [named.status, found.status] == ["ok", "ok"]
    assert "a.Provider" in named.detail
    assert "StorageBasedLockProvider" in found.detail
