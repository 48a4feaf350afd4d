"""What the doctor says of a table's other writers."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudi_reconcile.app.doctor.lake import check_writers, find_writers, sort_files
from hudi_reconcile.core.lake.ownership import SETTINGS, Writers
from tests.unit.app.test_doctor_lake import hudi_table, job

FIRST, SECOND, THIRD, FOURTH = (f"2026010100000{number}000" for number in range(4))


def commit(table: Path, requested: str, label: str = "_hr.commit", action: str = "commit") -> None:
    timeline = table / ".hoodie" / "timeline"
    timeline.mkdir(exist_ok=True)
    (timeline / f"{requested}_{int(requested) + 500}.{action}").write_bytes(b"Obj\x01" + label.encode())
    (timeline / f"{requested}.{action}.requested").touch()
    (timeline / f"{requested}.inflight").touch()


def test_table_that_only_we_wrote_is_ok(tmp_path: Path) -> None:
    table = hudi_table(tmp_path / "orders")
    commit(table, FIRST)
    commit(table, SECOND, action="deltacommit")
    commit(table, THIRD, label="COMPACT")
    (table / ".hoodie" / "timeline" / f"{THIRD}.compaction.requested").touch()

    assert find_writers(table) == Writers(commits=2)
    assert [check.status for check in check_writers(job(str(table)))] == ["ok"]


def test_commits_of_another_writer_are_counted_and_the_settings_it_needs_are_named(tmp_path: Path) -> None:
    table = hudi_table(tmp_path / "orders")
    commit(table, FIRST)
    commit(table, SECOND, label="deltastreamer.checkpoint.key")

    (check,) = check_writers(job(str(table)))

    assert (check.status, "1 of the newest 2 commits are another writer's" in check.detail) == ("warn", True)
    assert "hoodie.clean.failed.writes.policy=LAZY" in check.fix


def test_settings_that_another_writer_is_given_are_options_and_nothing_else() -> None:
    options = [part.split("=") for part in SETTINGS.split(", ")]

    assert all(len(one) == 2 and not any(character in "".join(one) for character in " ()") for one in options)


@pytest.mark.parametrize(("beats", "status"), [(True, "ok"), (False, "warn")])
def test_writer_in_flight_is_one_with_default_settings_where_it_has_no_heartbeat(
    tmp_path: Path, status: str, *, beats: bool
) -> None:
    table = hudi_table(tmp_path / "orders")
    commit(table, FIRST)
    (table / ".hoodie" / "timeline" / f"{SECOND}.deltacommit.requested").touch()
    (table / ".hoodie" / ".heartbeat").mkdir()
    if beats:
        (table / ".hoodie" / ".heartbeat" / SECOND).touch()

    (check,) = check_writers(job(str(table)))

    assert (check.status, SECOND in check.detail) == (status, not beats)


def test_timeline_of_an_older_table_version_is_read_too() -> None:
    names = [f"{FIRST}.commit", f"{FIRST}.commit.requested", f"{FIRST}.inflight", f"{SECOND}.deltacommit.inflight",
             f"{THIRD}.clean", f"{FOURTH}.rollback.inflight", "hoodie.properties", f".{FIRST}.commit.crc"]  # fmt: skip
    assert sort_files(names) == ((f"{FIRST}.commit",), (SECOND,))


def test_clustering_that_an_older_table_version_requests_as_a_replacement_is_no_writer(tmp_path: Path) -> None:
    table = hudi_table(tmp_path / "orders")
    timeline = table / ".hoodie"
    (timeline / f"{FIRST}.replacecommit.requested").write_bytes(b"Obj\x01 CLUSTER")
    (timeline / f"{FIRST}.replacecommit.inflight").touch()
    (timeline / f"{SECOND}.replacecommit.requested").touch()

    assert find_writers(table) == Writers(without_heartbeat=(SECOND,))


def test_no_table_and_one_that_is_not_local_say_nothing(tmp_path: Path) -> None:
    assert list(check_writers(job(str(tmp_path)))) == []
    assert list(check_writers(job("s3a://bucket/orders"))) == []
