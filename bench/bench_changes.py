"""`make bench-changes`: our change queries beside Hudi's own, on one table of each type, in one run.

A table of 200,000 rows of eight columns with a change log, then ten commits of 2,000 updates, 100 inserts and 100 deletes
each; what is asked for are those ten commits. Ours and Hudi's take turns on one warm session, and every row of an answer is
made with all its columns. What counts are the ratios. Exits 1 where the answers hold other numbers of rows.

Each mode of the change log, and none, is made beside the others: what the ten commits took to write and hold on disk, the first
commit left out, is what the mode costs.

Seconds are those of a clock, and those of CPU that Java took: on a machine that others use the latter are the ones to compare.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import hudi_reconcile
from hudi_reconcile.app.connections import request_session
from hudi_reconcile.config.load import load_config
from hudi_reconcile.core.changes.queries import QUERY_TYPES
from hudi_reconcile.lake.bridge import Timeline
from hudi_reconcile.spark.session import open_session

Cost = tuple[float, float]  # seconds of the clock, and of CPU
COMMITS, UPDATED, INSERTED, DELETED = 10, 2_000, 100, 100
TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
NO_LOG = "NONE"
MODES = (NO_LOG, "OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER")
# Hudi's queries switch this off for the whole session, as no command of ours ever finds it.
BATCHES = "spark.sql.parquet.enableVectorizedReader"
# The speed that is promised: ours beside what.
LIMITS = (
    ("upsert", "Hudi incremental", 1.1),
    ("full-delta", "Hudi CDC", 1.1),
    ("min-delta", "full-delta", 1.5),
)


def main() -> int:
    """Run it all and print the tables."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=200_000)
    arguments.add_argument("--commits", type=int, default=COMMITS)
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--type", choices=TYPES, action="append", help="default: both")
    arguments.add_argument("--mode", choices=MODES, action="append", help="of the change log; default: all")
    given = arguments.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="hr-bench-") as folder:
        (Path(folder) / "reconcile.yaml").write_text(json.dumps({"version": 1, "source": SOURCE, "tables": TABLES}))
        config = load_config(Path(folder) / "reconcile.yaml", os.environ)
        with open_session(request_session(config)) as session:
            for mode in given.mode or MODES:
                for kind in given.type or TYPES:
                    wrong += bench(session.spark, Path(folder), (kind, mode), given)
    return 1 if wrong else 0


SOURCE = {"url": "postgresql+psycopg://nobody@127.0.0.1:1/none"}  # change queries ask no source
TABLES = [
    {"name": f"{kind}_{mode}".lower(), "source": {"table": "t"}, "lake": {"path": f"{kind}_{mode}".lower()}}
    for kind in TYPES
    for mode in MODES
]


def bench(spark: SparkSession, folder: Path, which: tuple[str, str], given: argparse.Namespace) -> int:
    """Turn 0 warms up and does not count."""
    name = "_".join(which).lower()
    path, config = str(folder / name), folder / "reconcile.yaml"
    first, written = made(spark, path, which, given)
    ways: dict[str, Callable[[], DataFrame]] = {"Hudi incremental": lambda: hudis(spark, path, first, "latest_state")}
    if which[1] != NO_LOG:
        ways["Hudi CDC"] = lambda: hudis(spark, path, first, "cdc")
    for query in QUERY_TYPES:
        ways[query] = lambda query=query: hudi_reconcile.changes(name, query, first, config=config)  # type: ignore[misc]
    seconds: dict[str, list[Cost]] = {way: [] for way in ways}
    for _ in range(given.repeats + 1):
        for way, answer in ways.items():
            spark.conf.set(BATCHES, "true")
            seconds[way].append(timed(spark, partial(ask, answer)))
    report(f"{which[0]}, {which[1]}, {given.rows:,} rows, {given.commits} commits", seconds)
    print(f"  {'a commit':18s} {median_text(written)}; {sizes(Path(path), first)}")
    rows = {way: answer().count() for way, answer in ways.items()}
    print(f"  rows: {', '.join(f'{way} {count:,}' for way, count in rows.items())}")
    agree = rows["upsert"] == rows["Hudi incremental"] and rows["full-delta"] == rows.get(
        "Hudi CDC", rows["full-delta"]
    )
    if not agree:
        print("WRONG: the answers hold other numbers of rows than Hudi's")
    return int(not agree)


def sizes(path: Path, first: str) -> str:
    """What lies on disk of the later commits, in MB: base files, log files, and the change log."""
    found = {"base": 0.0, "log": 0.0, "change log": 0.0}
    for file in path.iterdir():
        is_log = ".log." in file.name
        kind = "change log" if file.name.endswith(".cdc") else "log" if is_log else "base"
        at = file.name.split("_")[1].split(".")[0] if is_log else file.stem.rpartition("_")[2]
        if file.is_file() and not file.name.endswith(".crc") and at.isdigit() and at > first:
            found[kind] += file.stat().st_size / 1e6
    return ", ".join(f"{kind} {size:.2f} MB" for kind, size in found.items())


def made(spark: SparkSession, path: str, which: tuple[str, str], given: argparse.Namespace) -> tuple[str, list[Cost]]:
    """The table with its history; gives the completion time of its first commit, and what each later one took."""
    (kind, mode), rows = which, given.rows
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "at",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.table.cdc.enabled": str(mode != NO_LOG).lower(),
        "hoodie.table.cdc.supplemental.logging.mode": mode if mode != NO_LOG else "DATA_BEFORE_AFTER",
        "hoodie.compact.inline": "false",
        "hoodie.clean.commits.retained": "30",
        "hoodie.keep.min.commits": "40",
        "hoodie.keep.max.commits": "50",
    }

    def write(frame: DataFrame, operation: str) -> None:
        how = {**options, "hoodie.datasource.write.operation": operation}
        frame.write.format("hudi").options(**how).mode("append").save(path)

    write(shaped(spark.range(rows), 0).repartition(2), "bulk_insert")
    (first,) = [str(one.completed) for one in Timeline(spark, path).list_completed()]
    seconds: list[Cost] = []
    for n in range(1, given.commits + 1):
        # One commit: deletes are rows with Hudi's marker of a delete in a column that holds it nowhere else.
        options.update({"hoodie.payload.delete.field": "status", "hoodie.payload.delete.marker": "-gone-"})
        updates = spark.range(n * 11, n * 11 + UPDATED * 20, 20)
        inserts = spark.range(rows + n * INSERTED, rows + n * INSERTED + INSERTED)
        deletes = spark.range(n * DELETED * 20 + 7, (n + 1) * DELETED * 20 + 7, 20)
        gone = shaped(deletes, n).withColumn("status", F.lit("-gone-"))
        batch = shaped(updates.union(inserts), n).unionByName(gone).dropDuplicates(["id"]).localCheckpoint()
        seconds.append(timed(spark, partial(write, batch, "upsert")))
    return first, seconds


def shaped(ids: DataFrame, version: int) -> DataFrame:
    """Rows of eight columns for these ids."""
    return ids.select(
        "id",
        (F.col("id") * 7919 % 100_000).cast("int").alias("customer_id"),
        F.lit(f"s{version}").alias("status"),
        (F.col("id") * 0.01 + version).cast("decimal(12,2)").alias("amount"),
        (F.col("id") % 3 == 0).alias("paid"),
        F.concat(F.lit("note of order "), F.col("id")).alias("note"),
        F.timestamp_seconds(F.lit(1_735_689_600) + F.col("id") * 17).alias("created_at"),
        F.lit(version).cast("bigint").alias("at"),
    )


def hudis(spark: SparkSession, path: str, first: str, form: str) -> DataFrame:
    """Hudi's own query of the same range."""
    options = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.query.incremental.format": form,
        "hoodie.datasource.read.begin.instanttime": first,
    }
    return spark.read.format("hudi").options(**options).load(path)


def ask(answer: Callable[[], DataFrame]) -> None:
    """Make every row of the answer."""
    answer().write.format("noop").mode("overwrite").save()


def timed(spark: SparkSession, act: Callable[[], object]) -> Cost:
    """What it took."""
    started, cpu = time.monotonic(), cpu_seconds(spark)
    act()
    return time.monotonic() - started, cpu_seconds(spark) - cpu


def cpu_seconds(spark: SparkSession) -> float:
    """CPU that Java has taken so far, on all cores."""
    jvm: Any = spark._jvm  # noqa: SLF001
    stat = Path(f"/proc/{jvm.java.lang.ProcessHandle.current().pid()}/stat").read_text().rpartition(")")[2].split()
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


def median_text(costs: list[Cost]) -> str:
    """The median of each."""
    clock, cpu = (statistics.median(one[place] for one in costs) for place in (0, 1))
    return f"{clock:7.2f} s {cpu:7.2f} s of CPU"


def report(title: str, found: dict[str, list[Cost]]) -> None:
    """Medians of the turns that count, and the ratios that are promised, of CPU."""
    medians = {way: statistics.median(cpu for _, cpu in costs[1:]) for way, costs in found.items()}
    print(f"\n{title}: warm, median of {len(found['upsert']) - 1}")
    for way, costs in found.items():
        print(f"  {way:18s} {median_text(costs[1:])}")
    for ours, other, limit in [one for one in LIMITS if one[1] in medians]:
        print(f"  {ours} / {other} = {medians[ours] / medians[other]:.2f} (promised: at most {limit})")


if __name__ == "__main__":
    sys.exit(main())
