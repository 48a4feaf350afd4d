"""`make streamer`: HoodieStreamer itself makes tables of a PostgreSQL; they are swept and corrected, and it goes on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.cli.main import run
from tests.integration.foreign import properties
from tests.integration.project import Ran, in_table
from tests.support.postgres import Database
from tests.support.streamer import Streamer

COLUMNS = ("order_id", "region", "note", "amount")
KINDS = {
    "copy_on_write": {
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    },
    "merge_on_read": {
        "hoodie.datasource.write.partitionpath.field": "region",
        "hoodie.datasource.write.hive_style_partitioning": "true",
    },
}
ADOPTED = ("--set", "tables.orders.lake.adopt=true")


@dataclass(frozen=True, slots=True)
class Shop:
    """A source table, the lake table that HoodieStreamer makes of it, and the command line by one properties file."""

    database: Database
    streamer: Streamer
    spark: SparkSession
    captured: pytest.CaptureFixture[str]

    def json(self, *arguments: str) -> Ran:
        """A command by the config that the file became."""
        self.captured.readouterr()
        code = run([*arguments, "--format", "json"])
        found = self.captured.readouterr()
        return Ran(code, found.out, found.err)

    def in_lake(self, *columns: str) -> list[tuple[object, ...]]:
        return in_table(self.spark, self.streamer.table, *columns)

    def newest(self) -> set[object]:
        """The rows that the newest commit of rows wrote."""
        rows = self.in_lake("_hoodie_commit_time", "order_id")
        newest = max(str(instant) for instant, _ in rows)
        return {key for instant, key in rows if instant == newest}

    def is_equal(self) -> bool:
        """True where both sides hold the same rows, as any reader sees them."""
        rows = self.database.query(f"select {', '.join(COLUMNS)} from orders")
        return self.in_lake(*COLUMNS) == sorted(rows, key=str)


def written_props(folder: Path, pg: Database, table_type: str) -> Path:
    """One file for both tools: the keys of HoodieStreamer's JDBC source, and the table's."""
    server, secret, path = pg.server, folder / "password", folder / "orders.properties"
    secret.write_text(server.password)
    secret.chmod(0o600)
    keys = {
        "hoodie.streamer.jdbc.url": f"jdbc:postgresql://{server.host}:{server.port}/{pg.name}",
        "hoodie.streamer.jdbc.user": server.user,
        "hoodie.streamer.jdbc.password.file": str(secret),
        "hoodie.streamer.jdbc.driver.class": "org.postgresql.Driver",
        "hoodie.streamer.jdbc.table.name": "public.orders",
        "hoodie.streamer.jdbc.incr.pull": "true",
        "hoodie.streamer.jdbc.table.incr.column.name": "updated_at",
        "hoodie.table.name": "orders",
        "hoodie.base.path": str(folder / "lake" / "orders"),
        "hoodie.datasource.write.recordkey.field": "order_id",
        "hoodie.datasource.write.table.type": table_type.upper(),
        **KINDS[table_type],
    }
    path.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
    return path


@pytest.fixture(params=KINDS)
def shop(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    pg: Database,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Shop:
    """Forty rows at the source, and no lake yet."""
    pg.execute(
        "create table orders (order_id bigint primary key, region text, note text, amount numeric(10,2), "
        "updated_at timestamp)",
        "insert into orders select i, case when i % 2 = 0 then 'north' else 'south' end, 'n' || i, i, "
        "timestamp '2025-01-01' + i * interval '1 second' from generate_series(1, 40) i",
    )
    props = written_props(tmp_path, pg, request.param)
    return Shop(pg, Streamer.of(props, tmp_path / "lake" / "orders", request.param), spark, capsys)


def test_table_of_hoodiestreamer_is_corrected_in_one_commit_and_hoodiestreamer_goes_on(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shop.json("init", "--from-props", "orders.properties").code == 0
    shop.streamer.run()
    shop.database.execute("update orders set note = 'seen', updated_at = '2025-01-01 00:00:41' where order_id = 1")
    shop.streamer.run()
    assert shop.newest() == {1}
    clean = shop.json("sweep")
    assert clean.code == 0, clean
    version = properties(str(shop.streamer.table))["hoodie.table.version"]

    drifts(shop, at=0, older=False)
    drifts(shop, at=10, older=True)
    hands_back(shop)

    assert properties(str(shop.streamer.table))["hoodie.table.version"] == version


def drifts(shop: Shop, *, at: int, older: bool) -> None:
    """What polling misses is found and corrected in one commit, and the streamer brings what else is new, and that alone."""
    shop.database.execute(
        f"insert into orders values ({100 + at}, 'south', 'late', 1, '2025-01-01 00:00:05')",
        f"update orders set note = 'quiet' where order_id = {2 + at}",
        f"delete from orders where order_id in ({1 + at}, {3 + at})",
        f"insert into orders values ({101 + at}, 'north', 'next', 1, '2025-01-01 00:01:{10 + at}.25')",
        f"update orders set note = 'next', updated_at = '2025-01-01 00:01:{11 + at}' where order_id = {4 + at}",
    )
    if older:  # than what the lake holds: Hudi would drop an upsert in silence
        shop.database.execute("update orders set note = 'older', updated_at = '2024-12-30' where order_id = 30")

    swept = shop.json("sweep")
    applied = shop.json("apply", "latest", "--yes", *ADOPTED)
    verified = shop.json("sweep")
    shop.streamer.run()
    last = shop.json("sweep")

    missed = {"late_arriving": 1, "updated_without_watermark": 1, "deleted": 2} | ({"regressed": 1} if older else {})
    assert (swept.code, swept.drift, swept.table["not_drift"]["pending"]) == (1, missed, 2), swept
    counts = applied.table["corrections"]
    assert (applied.code, counts["applied"], len(counts["instants"])) == (0, 4 + older, 1), applied
    assert (verified.code, verified.drift, verified.table["not_drift"]["pending"]) == (0, {}, 2), verified
    assert shop.newest() == {101 + at, 4 + at}  # by the checkpoint that it finds in our commit
    assert (last.code, last.table["not_drift"]["pending"]) == (0, 0), last
    assert shop.is_equal()


def hands_back(shop: Shop) -> None:
    """What our pull brought, the streamer's next run does not read again."""
    shop.database.execute("insert into orders values (201, 'north', 'ours', 1, '2025-01-01 00:02:00')")
    pulled = shop.json("pull", *ADOPTED)
    shop.database.execute("insert into orders values (202, 'south', 'its own', 1, '2025-01-01 00:02:00.000001')")
    shop.streamer.run()
    last = shop.json("sweep")

    assert (pulled.code, pulled.table["pull"]["mode"]) == (0, "incremental"), pulled
    assert shop.newest() == {202}
    assert last.code == 0, last
    assert shop.is_equal()


@pytest.mark.parametrize("shop", ["copy_on_write"], indirect=True)
def test_times_that_hoodiestreamer_stored_by_another_zone_are_refused_whole_and_equal_by_a_view_that_says_the_zone(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shop.json("init", "--from-props", "orders.properties").code == 0
    replace(shop.streamer, zone="Europe/Berlin").run()
    shop.database.execute(
        "create view orders_with_zone as select order_id, region, note, amount, "
        "updated_at at time zone 'Europe/Berlin' updated_at from orders",
        "update orders set note = 'quiet' where order_id = 2",
    )

    swept = shop.json("sweep")
    refused = shop.json("apply", "latest", "--yes", *ADOPTED)
    with_zone = shop.json("sweep", "--set", "tables.orders.source.table=public.orders_with_zone")

    assert (swept.code, swept.drift) == (1, {"late_arriving": 40}), swept
    assert [guard["name"] for guard in swept.table["guards"] if not guard["ok"]] == ["max_upsert_share"]
    assert (refused.code, refused.table["corrections"]["applied"]) == (5, 0), refused
    assert (with_zone.code, with_zone.drift) == (1, {"updated_without_watermark": 1}), with_zone
