"""The whole path through the command line on MariaDB: pull, drift, sweep, apply, proof; and what `doctor` says."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.ports import Frame
from hudi_reconcile.source.table_source import TableSource
from tests.integration.project import Project, in_lake, in_source
from tests.support.mariadb import MariaDatabase

ROWS = 2_000
UNFRIENDLY = {"sql_mode": "ANSI_QUOTES,ORACLE", "time_zone": "+05:30", "character_set_server": "latin1"}


@pytest.fixture
def project(maria: MariaDatabase, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """A shop's orders, whose text key holds twins that differ by case only."""
    maria.execute(
        "create table orders (code varchar(20) collate utf8mb4_bin, line int, amount decimal(40,4), rate float,"
        " note text character set latin1, open_for time(3), placed_on date, updated_at timestamp(6) not null,"
        " primary key (code, line))",
        "insert into orders select concat(if(seq % 2, 'a', 'A'), seq div 2), seq % 3, seq * 1.1, seq / 7,"
        " if(seq % 7 = 0, null, concat('né ', seq)), sec_to_time(seq), '2025-01-01' + interval seq % 60 day,"
        f" '2025-01-01' + interval seq * 60000001 microsecond from seq_1_to_{ROWS}",
    )
    found = Project.of(tmp_path, cast("Any", maria), capsys)
    server = maria.server
    found.source["url"] = f"mariadb+pymysql://{server.user}@{server.host}:{server.port}/{maria.name}"
    found.settings["source"] = {"table": "orders", "key": ["code", "line"]}
    return found


def test_late_row_silent_update_and_delete_are_found_repaired_and_proved(
    spark: SparkSession, maria: MariaDatabase, project: Project
) -> None:
    project.settings["pull"]["limit"] = 700
    with maria.unfriendly(**UNFRIENDLY):
        pulled = project.json("pull")
        assert (pulled.code, pulled.table["pull"]["rows"], pulled.table["pull"]["pages"]) == (0, ROWS, 3)
        maria.execute(
            "set time_zone = '+00:00'",
            "insert into orders values ('late', 0, 1, 0.1, 'x', '-00:00:00.5', '0001-01-01', '2025-01-01 00:00:00')",
        )
        maria.execute(
            "update orders set rate = rate + 0.001, updated_at = updated_at where code = 'a5'",
            "update orders set note = 'N', updated_at = updated_at where code = 'A5'",
            "update orders set open_for = null, updated_at = updated_at where code = 'a9'",
            "delete from orders where code in ('A77', 'a99')",
        )
        sweep = project.json("sweep")
        kinds = {(item["kind"], item["key"]["code"], *item["columns"]) for item in project.findings()}
        applied = project.json("apply", "latest", "--yes")
        again = project.json("sweep")

    assert (sweep.code, sweep.table["unverified"]) == (1, [])
    assert kinds == {
        ("late_arriving", "late"),
        ("updated_without_watermark", "a5", "rate"),
        ("updated_without_watermark", "A5", "note"),
        ("updated_without_watermark", "a9", "open_for"),
        ("deleted", "A77"),
        ("deleted", "a99"),
    }
    assert (applied.code, applied.document["outcome"]) == (0, "corrected")
    assert (again.code, again.document["outcome"]) == (0, "clean")
    assert len(in_lake(spark, project, "code", "line")) == ROWS - 1
    assert in_lake(spark, project, "code", "note") == in_source(project, "code", "note")


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("mode", ["stream", "pushdown"])
def test_late_row_that_the_second_read_lost_is_found_all_the_same(
    maria: MariaDatabase, project: Project, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """The server names its moments by its clock, and others write: nothing tells that the read was not whole."""
    project.settings["sweep"] = {"mode": mode, "settle_limit": "20s"}
    assert project.json("pull").code == 0
    maria.execute("insert into orders values ('late', 0, 1, 0.1, 'x', '00:00:01', '2025-01-01', '2025-01-01 00:00:00')")
    read, reads = TableSource.read_rows, list[Frame]()

    def losing(self: TableSource, *asked: Any, **more: Any) -> Frame:
        frame = read(self, *asked, **more)
        reads.append(frame)
        if len(reads) != second:
            return frame
        maria.execute("update orders set note = 'n', updated_at = '2030-01-01' where code = 'a9'")
        return Frame(cast("DataFrame", frame).where("c0 <> 'late'"))

    second = 3 if mode == "stream" else 2
    monkeypatch.setattr(TableSource, "read_rows", losing)
    sweep = project.json("sweep")

    assert len(reads) >= second
    assert (sweep.code, sweep.drift) == (1, {"late_arriving": 1}), sweep


def test_days_that_are_none_are_carried_as_text_from_the_first_pull_on(
    spark: SparkSession, maria: MariaDatabase, project: Project
) -> None:
    with maria.unfriendly(sql_mode=""):
        maria.execute("update orders set placed_on = '0000-00-00' where code = 'a5'")

    assert project.json("pull").code == 0
    sweep = project.json("sweep")

    assert (sweep.code, sweep.document["outcome"]) == (0, "clean")
    assert ("a5", "0000-00-00") in in_lake(spark, project, "code", "placed_on")


@pytest.mark.usefixtures("spark")
def test_text_with_characters_that_unicode_lacks_is_neither_pulled_nor_called_clean(
    maria: MariaDatabase, project: Project
) -> None:
    maria.execute("alter table orders add odd varchar(9) character set cp1251", "update orders set odd = '?'")
    assert project.json("pull").code == 0
    maria.execute("update orders set odd = x'98', updated_at = '2025-06-01' where code = 'a5'")

    sweep, pull = project.json("sweep"), project.json("pull")

    assert (sweep.code, sweep.document["outcome"]) == (3, "unverified"), sweep
    assert [(item["what"], item["name"]) for item in sweep.table["unverified"]] == [("column", "odd")]
    assert (pull.code, pull.table["error"]["type"]) == (5, "RefusedError"), pull


def test_doctor_names_the_server_and_a_login_that_may_only_read(project: Project, maria: MariaDatabase) -> None:
    ran = project.run("doctor")

    assert "MariaDB 10." in ran.out or "MariaDB 11." in ran.out
    assert "code, line, unique and NOT NULL by an index" in ran.out
    assert maria.server.password not in ran.out + ran.err
