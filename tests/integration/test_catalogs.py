"""What readers of a catalog get after pulls, corrections and an undo: a Hive metastore of the test's own, and Spark's tables.

One process of its own has a session with Hive's catalog; the commands and the readers share it.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from ruamel.yaml import YAML

from hudi_reconcile.core.lake.catalog_sync import choose_sync
from hudi_reconcile.lake.catalog import sync_catalog
from tests.integration.project import Project, in_lake, in_source
from tests.support.docs import ROOT, blocks
from tests.support.one_session import OneSession
from tests.support.postgres import Database

PAGE = ROOT / "docs" / "catalogs.md"
URIS = "hoodie.datasource.hive_sync.metastore.uris"
TIMEOUT = "hive.metastore.client.socket.timeout"
CANARY, SOON_SECONDS = "catalog-canary", 180.0
STALE = "UNVERIFIED  The lake is as this run left it, but the catalog may not show that: orders."
PASSWORD = "hoodie.datasource.hive_sync.password"
MAKE = """create table {} (order_id bigint primary key, region text, note text, placed_at timestamp not null,
                         updated_at timestamp not null)"""
FILL = (
    "insert into {} (order_id, region, note, placed_at, updated_at) select i, '{}', 'n' || i, timestamp '2025-01-01',"
    " timestamp '2025-01-01' + i * interval '1 min' from generate_series({}, {}) i"
)
OF_METASTORE = {
    "columns": "select t.TBL_NAME, c.COLUMN_NAME, c.TYPE_NAME from COLUMNS_V2 c join SDS s on c.CD_ID = s.CD_ID"
    " join TBLS t on t.SD_ID = s.SD_ID",
    "partitions": "select t.TBL_NAME, p.PART_NAME from PARTITIONS p join TBLS t on t.TBL_ID = p.TBL_ID",
}


def options_of_the_page() -> dict[str, Any]:
    """What docs/catalogs.md tells people to write for a Hive metastore, but for its address."""
    config = YAML(typ="safe").load(blocks(PAGE, "yaml")[0])
    found: dict[str, Any] = config["tables"][0]["lake"]["options"]
    return {key: value for key, value in found.items() if key != URIS}


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def mute_server() -> Iterator[tuple[int, list[socket.socket]]]:
    """The port of a server that takes every connection and answers nothing, and the connections that it took."""
    taken: list[socket.socket] = []

    def take() -> None:
        with suppress(OSError):  # the server is closed
            while True:
                taken.append(server.accept()[0])

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=take, daemon=True).start()
        yield int(server.getsockname()[1]), taken
        server.shutdown(socket.SHUT_RDWR)
    for one in taken:
        one.close()


@contextmanager
def settings(spark: SparkSession, own: dict[str, str]) -> Iterator[None]:
    """The session with a user's settings, for the length of a block."""
    for key, value in own.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key in own:
            spark.conf.unset(key)


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """A partitioned table of 20 rows."""
    for name in ("orders", "items"):
        pg.execute(MAKE.format(name), FILL.format(name, "north", 1, 20))
    project = Project.of(tmp_path, pg, capsys)
    project.settings["lake"] |= {"partition_by": ["region", "day(placed_at)"], "options": options_of_the_page()}
    lake = {"path": "lake/items", "type": "merge_on_read", "options": options_of_the_page()}
    project.more = [{**project.settings, "name": "items", "source": {"table": "public.items"}, "lake": lake}]
    return project


@dataclass(frozen=True, slots=True)
class Catalog:
    """A session with Hive's catalog, whose metastore is embedded in it."""

    session: OneSession
    derby: str

    def rows(self, table: str, *columns: str) -> list[tuple[str | None, ...]]:
        return sorted((tuple(row) for row in self.session.query(f"select {', '.join(columns)} from {table}")), key=str)

    def own_columns(self, table: str) -> dict[str | None, str | None]:
        """The metastore's own list, which other engines than Spark read."""
        return {row[1]: row[2] for row in self._own("columns") if row[0] == table}

    def own_partitions(self, table: str) -> set[str | None]:
        return {row[1] for row in self._own("partitions") if row[0] == table}

    def _own(self, what: str) -> list[list[str | None]]:
        driver = "org.apache.derby.jdbc.EmbeddedDriver"
        options = f"url '{self.derby}', driver '{driver}', query '{OF_METASTORE[what]}'"
        self.session.query(f"create or replace temporary view metastore using jdbc options ({options})")
        return self.session.query("select * from metastore")


@pytest.fixture
def catalog(project: Project, tmp_path: Path) -> Iterator[Catalog]:
    derby = f"jdbc:derby:;databaseName={tmp_path}/metastore;create=true"
    conf = {
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": f"{tmp_path}/warehouse",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"-Dderby.stream.error.file={tmp_path}/derby.log",
        "spark.hadoop.javax.jdo.option.ConnectionURL": derby,
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
    }
    project.top = {"spark": {"master": "local[2]", "conf": conf}}
    with OneSession(project.write_config(), tmp_path / "session.log") as session:
        yield Catalog(session, derby)


def test_readers_of_a_catalog_get_new_columns_partitions_and_corrected_rows_after_each_command(
    project: Project, catalog: Catalog
) -> None:
    database, session = project.database, catalog.session

    def agree(*columns: str) -> bool:
        """Whether a reader of the catalog gets the source's rows, as text."""
        found = database.query(f"select {', '.join(f'{name}::text' for name in columns)} from orders")
        shown = catalog.rows("shop.orders", *columns)
        return shown == sorted(map(tuple, found), key=str)

    options = project.settings["lake"]["options"]
    options[URIS] = f"thrift://127.0.0.1:{closed_port()}"
    project.write_config()
    deaf = session.json("pull", "-t", "orders")
    del options[URIS]
    project.write_config()
    first = session.json("pull")
    assert (deaf["exit_code"], first["tables"][0]["pull"]["rows"]) == (3, 0)  # it syncs though it commits nothing
    assert agree("order_id", "region", "note", "placed_at")
    assert {len(catalog.rows(f"shop.{name}", "order_id")) for name in ("items", "items_ro", "items_rt")} == {20}
    assert catalog.own_columns("orders")["placed_at"] == "timestamp"
    assert catalog.own_partitions("orders") == {"region=north/placed_at_day=2025-01-01"}

    database.execute(
        "alter table orders add column paid numeric(10,2)",
        FILL.format("orders", "a/b=c d", 21, 25),
        "insert into orders values (30, null, 'x', '2025-01-02', '2025-01-02')",
        "update orders set paid = 7.5 where order_id > 20",
    )
    second = session.json("pull", "-t", "orders")
    assert agree("order_id", "region", "note", "paid")
    assert catalog.own_columns("orders")["paid"] == "decimal(10,2)"
    there = {
        "region=__HIVE_DEFAULT_PARTITION__/placed_at_day=2025-01-02",
        "region=a%252Fb%253Dc d/placed_at_day=2025-01-01",  # Hudi hands the escaped value on, and the metastore escapes it
        "region=north/placed_at_day=2025-01-01",
    }
    assert catalog.own_partitions("orders") == there

    database.execute(
        "insert into orders values (1000, 'late', 'n', '2025-01-01', '2025-01-01')",
        "update orders set note = 'silent' where order_id = 3",
        "delete from orders where order_id = 4",
    )
    before = catalog.rows("shop.orders", "order_id", "region", "note")
    applied = (session.json("sweep", "-t", "orders"), session.json("apply", "latest", "--yes"))[1]
    assert agree("order_id", "region", "note", "paid")
    assert catalog.own_partitions("orders") == there | {"region=late/placed_at_day=2025-01-01"}
    undone = session.json("undo", applied["run_id"], "--yes", "-t", "orders")
    assert catalog.rows("shop.orders", "order_id", "region", "note") == before

    ended = [one["outcome"] for one in (first, second, applied, undone)]
    assert ended == ["pulled", "pulled", "corrected", "corrected"]
    notes = [one["tables"][0]["notes"] for one in (first, second, applied, undone)]
    assert all("catalog: shop.orders shows the table as this run left it" in one for one in notes)


def test_partition_that_a_replacing_pull_empties_is_gone_from_the_catalog_and_back_with_its_rows(
    project: Project, catalog: Catalog
) -> None:
    project.more = []
    project.settings["pull"]["full_mode"] = "overwrite"
    project.settings["policy"] = {"max_delete_share": "100%"}
    project.write_config()
    north, south = (f"region={name}/placed_at_day=2025-01-01" for name in ("north", "south"))

    def pull_in_full() -> tuple[set[str | None], list[tuple[str | None, ...]]]:
        assert catalog.session.json("pull", "--full")["exit_code"] == 0
        return catalog.own_partitions("orders"), catalog.rows("shop.orders", "count(*)")

    fill_south = FILL.format("orders", "south", 21, 25)
    project.database.execute(fill_south)
    assert pull_in_full() == ({north, south}, [("25",)])
    project.database.execute("delete from orders where region = 'south'")
    assert pull_in_full() == ({north}, [("20",)])
    project.database.execute(fill_south)
    assert pull_in_full() == ({north, south}, [("25",)])


def test_commands_beside_a_metastore_that_is_down_say_that_their_commits_stand_and_end_soon(
    spark: SparkSession, project: Project
) -> None:
    options = project.settings["lake"]["options"]
    options |= {URIS: f"thrift://127.0.0.1:{closed_port()}", PASSWORD: CANARY}
    project.more = []
    begun = time.monotonic()

    pulled = project.run("pull")
    ended_seconds = time.monotonic() - begun
    project.database.execute("update orders set note = 'silent' where order_id = 3")
    swept = project.json("sweep")
    applied = project.json("apply", "latest", "--yes")
    options["hoodie.datasource.hive_sync.ignore_exceptions"] = "true"
    ignored = project.json("pull")
    said = "".join(ran.out + ran.err for ran in (pulled, applied, ignored, project.run("config", "show")))

    assert (pulled.code, pulled.out.splitlines()[0]) == (3, STALE)
    assert "is in the lake and stands" in pulled.out
    assert "shop.orders in the catalog was not brought up to date" in pulled.out
    assert "no metastore answers" in pulled.out
    assert ended_seconds < SOON_SECONDS
    assert (swept.code, swept.table["notes_open"]) == (1, 0)  # it writes nothing, so it syncs nothing
    done = applied.table["corrections"]
    assert (applied.code, applied.table["error"]["type"], done["applied"]) == (3, "CatalogSyncError", 1)
    assert f"commit {done['instants'][0]} is in the lake" in applied.table["error"]["message"]
    assert applied.table["verified_at"]
    assert in_lake(spark, project, "order_id", "note") == in_source(project, "order_id", "note")
    assert (ignored.code, ignored.table["error"], ignored.table["notes_open"]) == (0, None, 1)
    files = [path for folder in ("reports", "lake") for path in (project.folder / folder).rglob("*") if path.is_file()]
    assert [path for path in files if CANARY.encode() in path.read_bytes()] == []
    assert CANARY not in said
    assert f"{PASSWORD}: '***'" in said


def test_metastore_that_takes_the_connection_and_says_nothing_is_tried_once_unless_the_user_wants_more(
    spark: SparkSession, project: Project
) -> None:
    project.more, timeout_seconds = [], 2
    options = project.settings["lake"]["options"]

    with mute_server() as (port, taken), settings(spark, {TIMEOUT: f"{timeout_seconds}s"}):
        options[URIS] = f"thrift://127.0.0.1:{port}"
        sync = choose_sync({key: str(value).lower() for key, value in options.items()})
        assert sync is not None
        pulled = project.json("pull")
        connections, begun = len(taken), time.monotonic()
        sync_catalog(spark, str(project.lake), sync)
        took_seconds, before = time.monotonic() - begun, len(taken)
        with settings(spark, {"hive.metastore.failure.retries": "1"}):
            sync_catalog(spark, str(project.lake), sync)

        assert (pulled.code, pulled.table["error"]["type"]) == (3, "CatalogSyncError")
        assert "no metastore answers" in pulled.table["error"]["message"]
        assert connections == 1
        assert len(taken) - before > 1
        assert took_seconds < 4 * timeout_seconds


def test_sparks_own_catalog_shows_new_columns_partitions_and_corrected_rows_and_a_plain_location_only_rows(
    spark: SparkSession, project: Project
) -> None:
    project.settings["lake"]["options"] = YAML(typ="safe").load(blocks(PAGE, "yaml")[1])["lake"]["options"]
    project.more = []
    name, *location = blocks(PAGE, "sql")[0].split("/data/lake/orders")
    spark.sql("create database shop")
    try:
        assert project.json("pull").code == 0
        spark.sql(str(project.lake).join([name, *location]))
        assert spark.table("shop.orders").count() == spark.table("orders").count() == 20
        project.database.execute(
            "alter table orders add column paid numeric(10,2)",
            FILL.format("orders", "late", 21, 25),
            "update orders set paid = 7.5 where order_id > 20",
        )
        assert project.json("pull").code == 0
        project.database.execute(
            "update orders set paid = 1 where order_id = 3", "delete from orders where order_id = 4"
        )
        assert project.json("sweep").code == 1
        assert project.json("apply", "latest", "--yes").code == 0

        shown = spark.table("shop.orders").selectExpr("order_id", "region", "paid").collect()
        spark.sql("refresh table orders")
        plain = spark.table("orders")
        assert sorted(map(tuple, shown)) == in_source_by_key(project, "order_id", "region", "paid")
        assert len(spark.sql("show partitions shop.orders").collect()) == 2
        assert (plain.count(), "paid" in plain.columns) == (24, False)
    finally:
        spark.sql("drop table if exists orders")
        spark.sql("drop database shop cascade")
    assert len(in_lake(spark, project, "order_id")) == 24  # a catalog's entry is no more than that


def in_source_by_key(project: Project, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in project.database.query(f"select {', '.join(columns)} from orders"))
