"""What readers of a catalog get after pulls, corrections and an undo: a Hive metastore of the test's own, and Spark's tables.

One process of its own has a session with Hive's catalog; the commands and the readers share it.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.integration.project import Project
from tests.support.docs import ROOT, blocks
from tests.support.one_session import OneSession
from tests.support.postgres import Database

PAGE = ROOT / "docs" / "catalogs.md"
URIS = "hoodie.datasource.hive_sync.metastore.uris"
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

    first = session.json("pull")
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
