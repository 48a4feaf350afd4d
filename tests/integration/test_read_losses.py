"""Reads that lose a row, planted on each engine beside a writer: never a clean verdict, and never a deleted row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from hudi_reconcile.ports import Frame
from hudi_reconcile.source.table_source import TableSource
from tests.integration.project import Project
from tests.support.jdbc import JdbcDatabase, add_drivers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ENGINES = ("postgresql", "mariadb", "h2", "derby", "duckdb")
LATE = "late"


def time(engine: str, text: str) -> str:
    return f"timestamp('{text}')" if engine == "derby" else f"timestamp '{text}'"


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def project(
    engine: str, spark: SparkSession, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Project:
    """Twenty rows, pulled, and one that came late; the writer's row is `busy`."""
    made = _open(engine, spark, request, tmp_path, capsys)
    cells = [f"('n{number}', 'x', {time(engine, f'2025-01-02 00:00:{number:02d}')})" for number in range(20)]
    made.database.execute(
        "create table orders (code varchar(10) not null primary key, note varchar(10), "
        f"seen {'datetime' if engine == 'mariadb' else 'timestamp'} not null)",
        *(f"insert into orders values {one}" for one in cells),
    )
    upper = engine in ("h2", "derby")
    made.settings |= {"name": "orders", "lake": {"path": "lake/orders", "type": "copy_on_write"}}
    made.settings["source"] = {"table": "orders", "key": ["CODE" if upper else "code"]}
    made.settings["pull"] = {"strategy": "timestamp", "watermark": ["SEEN" if upper else "seen"]}
    made.settings["sweep"] = {"mode": "stream", "settle_limit": "20s"}
    assert made.json("pull").code == 0
    made.database.execute(f"insert into orders values ('{LATE}', 'x', {time(engine, '2025-01-01 00:00:00')})")
    return made


def _open(
    engine: str, spark: SparkSession, request: pytest.FixtureRequest, folder: Path, capsys: pytest.CaptureFixture[str]
) -> Project:
    if engine == "postgresql":
        return Project.of(folder, request.getfixturevalue("pg"), capsys)
    if engine == "mariadb":
        maria = request.getfixturevalue("maria")
        found, server = Project.of(folder, maria, capsys), maria.server
        found.source["url"] = f"mariadb+pymysql://{server.user}@{server.host}:{server.port}/{maria.name}"
        return found
    add_drivers(spark)
    database = JdbcDatabase(spark, engine, folder)
    found = Project(folder, cast("Any", database), capsys)
    found.source = {"url": database.url}
    return found


def test_row_that_one_read_loses_is_found_and_where_all_reads_lose_it_nothing_is_deleted_or_wrongly_clean(
    project: Project, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, reads = TableSource.read_rows, list[Frame]()

    def sweep(is_lost: Callable[[int], bool], lost: str = LATE) -> tuple[int, dict[str, int]]:
        reads.clear()

        def losing(self: TableSource, *asked: Any, **more: Any) -> Frame:
            frame = read(self, *asked, **more)
            reads.append(frame)
            if not is_lost(len(reads)):
                return frame
            later = time(engine, f"2025-06-01 00:00:{len(reads):02d}")
            if engine != "duckdb":  # one process opens its file in one way at a time
                project.database.execute(f"update orders set note = 'y', seen = {later} where code = 'n7'")
            return Frame(cast("DataFrame", frame).where(f"c0 <> '{lost}'"))

        monkeypatch.setattr(TableSource, "read_rows", losing)
        ran = project.json("sweep")
        return ran.code, ran.drift

    assert [sweep(only.__eq__) for only in (1, 2, 3)] == [(1, {"late_arriving": 1})] * 3
    assert sweep(lambda _: True) == (3, {})
    project.database.execute(f"delete from orders where code = '{LATE}'")
    assert sweep(lambda _: True, "n3") == (3, {}), "the source holds it by key, but no read is whole: nothing is clean"
