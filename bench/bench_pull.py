"""`make bench-pull`: our pull beside hand-tuned Spark JDBC -> Hudi `bulk_insert`, and beside one read -> `upsert`, in one run.

First the initial load of a million rows of eight columns, then an incremental pull of 1,000 changed rows beside a bare Hudi
upsert of the same rows. Modes take turns on one warm session; what counts are the ratios. Exits 1 where a lake lacks rows.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import shop
from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.app.connections import World, hold_session, open_world
from hudi_reconcile.app.jobs import build_job
from hudi_reconcile.demo.postgres import run_postgres
from hudi_reconcile.stages.pull.pull import pull

TABLE = """  - name: orders_{turn}
    source: {{table: public.orders}}
    pull: {{strategy: timestamp, watermark: [updated_at]}}
    lake: {{path: lake/ours_{turn}}}
"""
CHANGED = 1_000
CHANGE = "update orders set amount = amount + 1, updated_at = localtimestamp(6) where order_id % {step} = {turn}"


def main() -> int:
    """Run it all and print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--repeats", type=int, default=3)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="hr-bench-") as folder, run_postgres() as server:
        plain_url = shop.plain(server)
        shop.fill(plain_url, given.rows)
        tables = "".join(TABLE.format(turn=turn) for turn in range(given.repeats + 1))
        with open_world(shop.configured(Path(folder), server, tables=tables)) as world, hold_session(world):
            return bench(world, Path(folder), plain_url, given)


def bench(world: World, folder: Path, url: str, given: argparse.Namespace) -> int:
    """Turn 0 warms up and does not count. Every turn writes into lakes of its own."""
    loads: dict[str, list[float]] = {}
    changes: dict[str, list[float]] = {}
    wrong = 0
    for turn in range(given.repeats + 1):
        lakes = {name: str(folder / "lake" / f"{name}_{turn}") for name in ("ours", "bulk", "single")}
        for name, seconds in initial(world, lakes, turn, given.rows).items():
            loads.setdefault(name, []).append(seconds)
        wrong += sum(rows_in(world, path) != given.rows for path in lakes.values())
        for name, seconds in incremental(world, lakes, turn, url, given.rows).items():
            changes.setdefault(name, []).append(seconds)
    report(f"initial load, {given.rows:,} rows x 8 columns", loads)
    report(f"incremental, {CHANGED:,} changed rows", changes)
    if wrong:
        print(f"WRONG: {wrong} lakes do not hold {given.rows:,} rows")
    return 1 if wrong else 0


def initial(world: World, lakes: dict[str, str], turn: int, rows: int) -> dict[str, float]:
    """Our pull, two tuned partitions into bulk_insert, one partition into upsert."""
    return {
        "pull": timed(lambda: ours(world, turn)),
        "tuned JDBC -> bulk_insert": timed(
            lambda: write(read(world, {"partitionColumn": "order_id", "lowerBound": "1", "upperBound": str(rows),
                                       "numPartitions": "2", "fetchsize": "5000"}), lakes["bulk"], "bulk_insert")
        ),
        "one JDBC read -> upsert": timed(lambda: write(read(world, {"fetchsize": "1000"}), lakes["single"], "upsert")),
    }  # fmt: skip


def incremental(world: World, lakes: dict[str, str], turn: int, url: str, rows: int) -> dict[str, float]:
    """The same changed rows, by the checkpoint and by hand."""
    step = max(1, rows // CHANGED)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("select pg_sleep(0.1)")
        (since,) = connection.execute("select localtimestamp(6)::text").fetchone() or ("",)
        connection.execute(CHANGE.format(step=step, turn=turn % step))
        connection.execute("select pg_sleep(2.5)")  # the safe bound is two seconds behind the clock
    query = f"(select * from public.orders where updated_at > timestamp '{since}') changed"
    return {
        "pull": timed(lambda: ours(world, turn)),
        "bare upsert": timed(lambda: write(read(world, {"dbtable": query}), lakes["bulk"], "upsert")),
    }


def ours(world: World, turn: int) -> None:
    """One pull, as `hudi-reconcile pull` does it, without its run folder."""
    table = world.config.tables[turn]
    pull(build_job(table, "bench"), world.edges(table), full=False)


def read(world: World, options: dict[str, str]) -> DataFrame:
    """What an engineer would write."""
    target = world.engine.jdbc()
    settings = {
        "url": target.url,
        "dbtable": "public.orders",
        "preferTimestampNTZ": "true",
        **target.properties,
        **options,
    }
    return session_of(world).read.format("jdbc").options(**settings).load()


def write(rows: DataFrame, path: str, operation: str) -> None:
    """A Hudi table with its usual options."""
    options = {
        "hoodie.table.name": "orders",
        "hoodie.datasource.write.recordkey.field": "order_id",
        "hoodie.datasource.write.precombine.field": "updated_at",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
        "hoodie.datasource.write.operation": operation,
        "hoodie.parquet.compression.codec": "zstd",  # as in our tables: what is compared is the way to them
    }
    # Hudi takes no timestamp without zone.
    stamps = {name: rows[name].cast("timestamp") for name, kind in rows.dtypes if kind == "timestamp_ntz"}
    rows.withColumns(stamps).write.format("hudi").options(**options).mode("append").save(path)


def rows_in(world: World, path: str) -> int:
    """What a reader of Hudi counts."""
    return session_of(world).read.format("hudi").load(path).select("order_id").distinct().count()


def session_of(world: World) -> SparkSession:
    """The open session."""
    if world.session is None:
        raise RuntimeError("no session")
    return world.session.spark


def timed(act: Callable[[], Any]) -> float:
    """Seconds of one act."""
    started = time.monotonic()
    act()
    return time.monotonic() - started


def report(title: str, found: dict[str, list[float]]) -> None:
    """Medians of the turns that count, and our pull's ratio to each."""
    medians = {name: statistics.median(times[1:]) for name, times in found.items()}
    print(f"\n{title}: warm, median of {len(found['pull']) - 1}")
    for name, seconds in medians.items():
        print(f"  {name:26s} {seconds:7.2f} s   pull / this = {medians['pull'] / seconds:5.2f}")


if __name__ == "__main__":
    sys.exit(main())
