"""`make duel`: a puller and a sweeper, two processes, on one table for five minutes, either killed at random with SIGKILL.

Beside them writers change the source in every way that a pull cannot see: silent updates, deletes, backdated rows, rows
that commit late. At the end both sides must be equal, no key may ever have been there twice, no row may ever have fallen
back behind a newer version (every commit's snapshot is read), and the log of every apply must add up.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duel_check
import psycopg
import shop
from duel_side import ACCEPTED, request
from pyspark.sql import SparkSession

from hudi_reconcile.cli.main import run
from hudi_reconcile.demo.postgres import run_postgres
from hudi_reconcile.lake.bridge import Timeline
from hudi_reconcile.lake.timeline import CHECKPOINT, PREFIX, parse_checkpoint
from hudi_reconcile.spark.session import open_session

NOW = "clock_timestamp() at time zone 'UTC'"
HERE = Path(__file__).parent
SIDES = ("puller", "sweeper")
TABLE = """  - name: orders
    source: {{table: public.orders}}
    pull: {{strategy: timestamp, watermark: [updated_at]}}
    lake:
      path: lake/orders
      type: {type}
      partition_by: [{partition_by}]
      # The check at the end reads the snapshot of every commit.
      options: {{hoodie.clean.commits.retained: "2000", hoodie.keep.min.commits: "2100", hoodie.keep.max.commits: "2200"}}
    policy: {{max_deletes: 100000, max_delete_share: 100%, max_upsert_share: 100%}}
"""
# How often a writer does what; a transaction that is `held` takes its time first and commits seconds later.
CHANGES = {"moved": 40, "silent": 20, "deleted": 10, "new": 10, "backdated": 10, "held": 10}


@dataclass(slots=True)
class Ghost:
    """Every change that was committed, by key, in order; each key is one writer's."""

    changes: dict[int, list[tuple[int, bool]]] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)

    def there(self, key: int) -> bool:
        """Whether the source holds the row now."""
        return bool(self.changes.get(key)) and self.changes[key][-1][1]

    def next(self, key: int) -> int:
        """The number of the next change."""
        return self.changes[key][-1][0] + 1 if key in self.changes else 1


def fill(url: str, rows: int, ghost: Ghost) -> None:
    """Make `orders`; every key's first change has number 1."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "create table orders (order_id bigint primary key, region text, number bigint, updated_at timestamp(6) not null)"
        )
        connection.execute(
            f"insert into orders select i, 'r' || i % 3, 1, {NOW} - interval '1 hour' from generate_series(1, {rows}) i"
        )
    ghost.changes.update({key: [(1, True)] for key in range(1, rows + 1)})


def write(url: str, keys: range, ghost: Ghost, stop: threading.Event) -> None:
    """One change after the other on keys of this writer's own."""
    chance = random.Random(keys.start)  # noqa: S311 - nothing secret
    with psycopg.connect(url) as connection:
        while not stop.is_set():
            (kind,) = chance.choices([*CHANGES], [*CHANGES.values()])
            key = chance.choice(keys)
            if kind != "new" and not ghost.there(key):
                kind = "new"
            elif kind == "new" and ghost.there(key):
                kind = "moved"
            number = ghost.next(key)
            change(connection, kind, key, number, f"r{chance.randrange(3)}")
            if kind == "held":
                stop.wait(chance.uniform(0.5, 4))
            connection.commit()
            ghost.changes.setdefault(key, []).append((number, kind != "deleted"))
            ghost.kinds[kind] += 1
            stop.wait(0.1)


def change(connection: psycopg.Connection[Any], kind: str, key: int, number: int, region: str) -> None:
    """Execute one change, not yet committed."""
    at = {"silent": "updated_at", "backdated": f"{NOW} - interval '1 hour'"}.get(kind, NOW)
    if kind == "deleted":
        connection.execute("delete from orders where order_id = %s", [key])
    elif kind == "new":
        connection.execute(f"insert into orders values (%s, %s, %s, {NOW})", [key, region, number])
    else:
        connection.execute(
            f"update orders set number = %s, region = %s, updated_at = {at} where order_id = %s", [number, region, key]
        )


@dataclass(slots=True)
class Duel:
    """The two processes, and how often each was killed and when."""

    folder: Path
    config: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)

    @property
    def timeline(self) -> Path:
        """Where instants appear."""
        return self.folder / "lake" / "orders" / ".hoodie" / "timeline"

    def start(self, side: str) -> None:
        """In a process group of its own: its JVM dies with it."""
        command = [sys.executable, str(HERE / "duel_side.py"), side, str(self.config)]
        environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE)])}
        with (self.folder / f"{side}.log").open("ab") as log:
            self.running[side] = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, env=environ)

    def kill(self, side: str, why: str) -> None:
        """SIGKILL, at once."""
        process = self.running[side]
        if process.poll() is not None:
            raise SystemExit(f"the {side} ended by itself with {process.returncode}: see {self.folder / side}.log")
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)
        self.kills[f"{side} {why}"] += 1

    def writer(self, seconds: float) -> str | None:
        """The side that holds the lease when a new instant is in flight; None where none came in time."""
        before, end = self._in_flight(), time.monotonic() + seconds
        while time.monotonic() < end:
            if self._in_flight() - before:
                return self._holder()
            time.sleep(0.005)
        return None

    def _in_flight(self) -> set[str]:
        return {path.name for path in self.timeline.iterdir() if path.suffix in (".requested", ".inflight")}

    def _holder(self) -> str | None:
        with suppress(OSError, ValueError):
            pid = json.loads((self.folder / "lake" / ".orders.hr-lease.json").read_text())["holder"]["pid"]
            return next((side for side, process in self.running.items() if process.pid == pid), None)
        return None


def fight(duel: Duel, seconds: float) -> None:
    """Let them run; every while kill one: half of the times whoever, half of the times in the middle of a commit."""
    chance, end = random.Random(7), time.monotonic() + seconds  # noqa: S311 - nothing secret
    for side in SIDES:
        duel.start(side)
    while time.monotonic() < end:
        time.sleep(min(chance.uniform(8, 30), max(0.0, end - time.monotonic())))
        if time.monotonic() >= end:
            break
        side, why = chance.choice(SIDES), "at random"
        if chance.randrange(2) and (holder := duel.writer(15)) is not None:
            time.sleep(chance.uniform(0, 1))
            side, why = holder, "in its commit"
        duel.kill(side, why)
        duel.start(side)
    for side in SIDES:
        duel.kill(side, "at the end")


def settle(config: Path) -> int:
    """Pull, sweep and apply until clean; how many rounds it took, 0 for never."""
    for turn in range(1, 4):
        run(["-q", "-c", str(config), "pull"])
        if run(["-q", "-c", str(config), "sweep"]) == 0:
            return turn
        run(["-q", "-c", str(config), "apply", "latest", "--yes", *ACCEPTED])
    return 0


def snapshots(spark: SparkSession, path: str) -> list[duel_check.Snapshot]:
    """The table after every commit, in the order of their completion."""
    line = Timeline(spark, path)
    labels = {
        name: {action.requested: value for value, action in line.metadata(PREFIX + name, archived=False)}
        for name in ("plan", "run_id")
    }
    marks = {
        action.requested: parse_checkpoint(value).watermark_micros
        for value, action in line.metadata(CHECKPOINT, archived=False)
    }
    found = []
    for action in sorted(line.list_completed(), key=lambda one: one.completed or ""):
        rows = (
            spark.read.format("hudi").option("as.of.instant", action.requested).load(path)
            .select("order_id", "number", "_hoodie_commit_seqno").collect()
        )  # fmt: skip
        found.append(
            duel_check.Snapshot(
                action.requested,
                action.completed or "",
                {
                    name: by_instant[action.requested]
                    for name, by_instant in labels.items()
                    if action.requested in by_instant
                },
                marks.get(action.requested),
                Counter(row[0] for row in rows),
                {row[0]: row[1] for row in rows},
                {row[0]: row[2] for row in rows},
            )
        )
    return found


def evidence(folder: Path) -> list[dict[str, Any]]:
    """Every run's result, oldest first."""
    return [json.loads(path.read_text()) for path in sorted((folder / "reports").glob("*/result.json"))]


def judge(spark: SparkSession, duel: Duel, url: str, ghost: Ghost) -> list[str]:
    """Print the figures; return the faults."""
    path = str(duel.folder / "lake" / "orders")
    shots = snapshots(spark, path)
    runs = evidence(duel.folder)
    past = duel_check.history(shots, ghost.changes)
    applied = [table for one in runs if one["command"] == "apply" for table in one["tables"]]
    logged = duel_check.applies(shots, applied)
    faults = past.faults + logged.faults
    with psycopg.connect(url) as connection:
        held = sorted(connection.execute("select order_id, number, region, updated_at from orders").fetchall())
    shown = spark.read.format("hudi").load(path).select("order_id", "number", "region", "updated_at").collect()
    if sorted(map(tuple, shown)) != held:
        faults.append(f"source and lake differ: {len(held)} rows and {len(shown)}")
    print(f"changes at the source   {dict(ghost.kinds)}")
    print(f"killed                  {dict(duel.kills)}")
    told = Counter(" ".join((one["command"], one["outcome"])) for one in runs)
    print(f"runs told of            {dict(told)}")
    print(f"commits                 {len(shots)}; {dict(past.counts)}")
    print(f"log of the applies      {dict(logged.counts)}")
    print(f"at the end              {len(held)} rows at the source, {len(shown)} in the lake")
    return faults


def main() -> int:
    """Start a server, fill it, let them fight, judge."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000)
    arguments.add_argument("--seconds", type=int, default=300)
    arguments.add_argument("--writers", type=int, default=2)
    arguments.add_argument("--type", default="copy_on_write")
    arguments.add_argument("--partition-by", default="", help="region: rows move between partitions")
    arguments.add_argument("--keep", type=Path, help="an empty folder that keeps table, reports and both sides' logs")
    given = arguments.parse_args()
    scratch = nullcontext(str(given.keep)) if given.keep else tempfile.TemporaryDirectory(prefix="hr-duel-")
    with scratch as folder, run_postgres() as server:
        url, ghost, stop = shop.plain(server), Ghost(), threading.Event()
        fill(url, given.rows, ghost)
        tables = TABLE.format(type=given.type, partition_by=given.partition_by)
        shop.configured(Path(folder), server, tables=tables)
        duel = Duel(Path(folder), Path(folder) / "reconcile.yaml")
        keys = [range(1 + number, given.rows + 1, given.writers) for number in range(given.writers)]
        writers = [threading.Thread(target=write, args=(url, own, ghost, stop), daemon=True) for own in keys]
        with open_session(request()) as session:
            if run(["-q", "-c", str(duel.config), "pull"]) != 0:
                return 2
            for writer in writers:
                writer.start()
            try:
                fight(duel, given.seconds)
            finally:
                stop.set()
                for side, process in duel.running.items():
                    if process.poll() is None:
                        print(f"stopping the {side}", file=sys.stderr)
                        os.killpg(process.pid, signal.SIGKILL)
                for writer in writers:
                    writer.join()
            time.sleep(3)  # a pull's bound stays two seconds behind the clock
            rounds = settle(duel.config)
            faults = judge(session.spark, duel, url, ghost)
        print(f"rounds until clean      {rounds or 'never'}")
        faults += [] if rounds else ["the table does not become clean"]
        faults += [] if run(["-c", str(duel.config), "audit", "verify"]) == 0 else ["the audit log is not intact"]
    for fault in faults:
        print(f"FAULT {fault}")
    print(f"{len(faults)} faults in {given.seconds} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
