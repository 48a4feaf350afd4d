"""`make bench-deletes`: two ways to follow the deletes of a source, in one run: a full fetch that replaces, or sweep and apply.

A table of eight columns in PostgreSQL, with a lake for each way. Each turn deletes none, 100 and 10,000 of its rows for good;
then one lake is replaced (`pull --full` with `full_mode: overwrite`), the other swept and corrected. Of each: seconds, bytes
that the lake wrote, rows that the source sent, and what readers of changes get since the turn before: of Hudi's incremental
query, and of ours (`changes --type full-delta`). Ways take turns in one warm session, and the first turn does not count.
Exits 1 where a lake does not hold the source's rows afterwards, or our query does not show exactly the deletes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import drift
import psycopg
import shop
from pyspark.sql import SparkSession

import hudi_reconcile
from hudi_reconcile.app.connections import World, hold_session, open_world
from hudi_reconcile.app.jobs import build_job
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.plan.plan import Approval
from hudi_reconcile.demo.postgres import run_postgres
from hudi_reconcile.lake.bridge import Timeline
from hudi_reconcile.stages.apply.apply import apply
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.sweep.sweep import sweep

REPLACED, SWEPT = "pull --full, replacing", "sweep and apply"
DELETED = (0, 100, 10_000)
TABLES = "".join(
    drift.table_text(name, "orders").replace("[updated_at]}", f"[updated_at], full_mode: {mode}}}")
    for name, mode in (("replaced", "overwrite"), ("swept", "upsert"))
)
# Scattered, and others in each turn.
DELETE = """
delete from orders where order_id in (
  select order_id from (select order_id, row_number() over (order by order_id) as place from orders) numbered
   where place % greatest(1, (select count(*) from orders) / {rows}) = 0 order by order_id limit {rows})
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """What one way took and left: `hudi_rows` and `our_rows` are those that readers of changes get."""

    seconds: float
    written_bytes: int
    fetched_rows: int
    hudi_rows: int = 0
    our_rows: int = 0


Way = Callable[[World, TableConfig, Path], int]


def main() -> int:
    """Run it all and print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--deleted", type=int, action="append", help="rows a turn; default: 0, 100 and 10,000")
    arguments.add_argument("--repeats", type=int, default=3)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="hr-bench-") as folder, run_postgres() as server:
        url = shop.plain(server)
        shop.fill(url, given.rows)
        config = shop.configured(Path(folder), server, tables=TABLES)
        with open_world(config) as world, hold_session(world) as session:
            return bench(world, session.spark, Path(folder), url, given)


def bench(world: World, spark: SparkSession, folder: Path, url: str, given: argparse.Namespace) -> int:
    """Make both lakes, then delete and let both ways follow, in turns; 1 where one of them is wrong."""
    ways: Mapping[str, tuple[TableConfig, Way]] = dict(
        zip((REPLACED, SWEPT), zip(world.config.tables, (replace_lake, correct_lake), strict=True), strict=True)
    )
    for table, _ in ways.values():
        pull(build_job(table, "bench"), world.edges(table), full=False)
    wrong = 0
    for deleted in given.deleted or DELETED:
        found: dict[str, list[Taken]] = {name: [] for name in ways}
        for turn in range(given.repeats + 1):
            left = delete(url, deleted)
            for name, (table, act) in ways.items():
                one = measure(spark, table, partial(act, world, table, folder / f"{deleted}_{turn}"), folder)
                found[name] += [one] if turn else []
                wrong += is_wrong(spark, table, left) or one.our_rows != deleted
        report(f"{deleted:,} rows deleted of {given.rows:,}, median of {given.repeats}", found)
    if wrong:
        print(f"WRONG: {wrong} times a lake or its changes were not what the source lost")
    return 1 if wrong else 0


def delete(url: str, rows: int) -> int:
    """Delete so many rows at the source; how many are left."""
    with psycopg.connect(url, autocommit=True) as connection:
        if rows and connection.execute(DELETE.format(rows=rows)).rowcount != rows:
            raise RuntimeError(f"there are no {rows} rows to delete")
        connection.execute("vacuum analyze orders")
        row = connection.execute("select count(*) from orders").fetchone()
    return int(row[0]) if row else 0


def replace_lake(world: World, table: TableConfig, _: Path) -> int:
    """A full fetch that replaces the table; the rows that the source sent."""
    return pull(build_job(table, "bench"), world.edges(table), full=True).cost.source_rows_fetched


def correct_lake(world: World, table: TableConfig, folder: Path) -> int:
    """A sweep, and where it has a plan the apply; the rows that the source sent to both. Raises RuntimeError if either fails."""
    swept = sweep(build_job(table, f"sweep-{folder.name}"), world.edges(table))
    if swept.result.outcome.value == "clean":
        return swept.rows_fetched
    plan, path = drift.leave(swept, folder)
    job = build_job(table, f"apply-{folder.name}")
    done = apply(job, plan, path, Approval(approve_deletes=plan.deletes or None), world.edges(table))
    if done.outcome.value != "corrected":
        raise RuntimeError(f"{done.outcome}: {done.corrections}, {done.unverified}, {done.error}")
    return swept.rows_fetched + done.cost.source_rows_fetched


def measure(spark: SparkSession, table: TableConfig, act: Callable[[], int], folder: Path) -> Taken:
    """What one act took, the files that were not there before it, and the changes since."""
    lake = Path(table.lake.path)
    before, since = sizes(lake), last_commit(spark, table)
    begun = time.monotonic()
    fetched = act()
    seconds = time.monotonic() - begun
    written = sum(size for file, size in sizes(lake).items() if file not in before)
    if last_commit(spark, table) == since:
        return Taken(seconds, written, fetched)
    options = {"hoodie.datasource.query.type": "incremental", "hoodie.datasource.read.begin.instanttime": since}
    theirs = spark.read.format("hudi").options(**options).load(table.lake.path).count()
    ours = hudi_reconcile.changes(table.name, "full-delta", since, config=folder / "reconcile.yaml").count()
    return Taken(seconds, written, fetched, theirs, ours)


def sizes(lake: Path) -> dict[Path, int]:
    """Every file of the table, its timeline's too."""
    return {file: file.stat().st_size for file in lake.rglob("*") if file.is_file()}


def last_commit(spark: SparkSession, table: TableConfig) -> str:
    """When the newest commit completed."""
    return max(str(one.completed) for one in Timeline(spark, table.lake.path).list_completed())


def is_wrong(spark: SparkSession, table: TableConfig, rows: int) -> bool:
    """Whether the lake holds another number of keys than the source of rows."""
    return spark.read.format("hudi").load(table.lake.path).select("order_id").distinct().count() != rows


def report(title: str, found: Mapping[str, list[Taken]]) -> None:
    """A row a way, as Markdown."""
    print(f"\n{title}\n")
    print(
        "| way | seconds | MB written | rows read | Hudi's incremental query | our changes |\n|---|---|---|---|---|---|"
    )
    for name, times in found.items():
        seconds, megabytes = (
            statistics.median(each) for each in zip(*((t.seconds, t.written_bytes / 1e6) for t in times), strict=True)
        )
        last = times[-1]
        counts = " | ".join(f"{rows:,}" for rows in (last.fetched_rows, last.hudi_rows, last.our_rows))
        print(f"| {name} | {seconds:.2f} s | {megabytes:.1f} | {counts} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
