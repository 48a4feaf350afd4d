"""`make soak`: sweeps in a loop beside writers at full speed. No finding may be false, and no planted drift may be missed.

Writers insert and update with the database's clock as watermark, so nothing that they do is drift. Beside them drift is
planted on keys that they leave alone: silent updates and deletes. Every sweep's findings must be among what was planted
before it, and the last sweep, after the writers stopped and a last pull, must find all of it.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path

import psycopg
import shop

from hudi_reconcile.app.connections import World, hold_session, open_world
from hudi_reconcile.app.jobs import build_job
from hudi_reconcile.core.sweep.drift import DRIFT_KINDS
from hudi_reconcile.demo.postgres import run_postgres
from hudi_reconcile.ports import Edges
from hudi_reconcile.stages.job import Mode, TableJob
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.sweep.sweep import Swept, sweep

RESERVED = 100  # every hundredth key is left to the planter
NOW = "clock_timestamp() at time zone 'UTC'"


@dataclass(slots=True)
class Planted:
    """Keys of planted drift by kind; a key is planted once."""

    updated: set[int] = field(default_factory=set)
    deleted: set[int] = field(default_factory=set)

    def expected(self) -> dict[str, int]:
        """What a sweep has to find."""
        found = {"updated_without_watermark": len(self.updated), "deleted": len(self.deleted)}
        return {kind: count for kind, count in found.items() if count}


def write(url: str, rows: int, stop: threading.Event, done: list[int]) -> None:
    """Short transactions without a pause: updates of two rows, and every tenth an insert."""
    with psycopg.connect(url, autocommit=True) as connection:
        turn = 0
        while not stop.is_set():
            keys = [key for key in random.sample(range(1, rows), 2) if key % RESERVED]
            with connection.transaction():
                connection.execute(
                    f"update orders set amount = amount + 0.01, updated_at = {NOW} where order_id = any(%s)", [keys]
                )
                if turn % 10 == 0:
                    connection.execute(
                        f"insert into orders select max(order_id) + 1, 1, 'NEW', 1, true, null, {NOW}, {NOW} from orders"
                        " on conflict do nothing"
                    )
            turn += 1
            done[0] += 1


def plant(url: str, rows: int, planted: Planted) -> None:
    """Two silent updates and one delete on keys that no writer touches."""
    free = [key for key in range(RESERVED, rows, RESERVED) if key not in planted.updated | planted.deleted]
    first, second, third = random.sample(free, 3)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("update orders set note = 'silently' where order_id = any(%s)", [[first, second]])
        connection.execute("delete from orders where order_id = %s", [third])
    planted.updated |= {first, second}
    planted.deleted.add(third)


def keys_of(swept: Swept) -> dict[str, int]:
    """The drift that a sweep found, by kind."""
    return {kind: swept.result.findings.get(kind, 0) for kind in DRIFT_KINDS if swept.result.findings.get(kind, 0)}


def write_at(url: str, rows: int, stop: threading.Event, done: list[int], rate: float) -> None:
    """So many changed rows a second, at their own times: batches of updates, rows that come and go, a commit that is late."""
    with psycopg.connect(url, autocommit=True) as connection:
        due, turn = time.monotonic(), 0
        while not stop.is_set():
            keys = [key for key in random.sample(range(1, rows), 40) if key % RESERVED]
            at = NOW if turn % 4 else "now() at time zone 'UTC'"
            update = f"update orders set amount = amount + 0.01, updated_at = {at} where order_id = any(%s)"
            with connection.transaction():
                changed = connection.execute(update, [sorted(keys)]).rowcount
                time.sleep(0 if turn % 4 else 0.02)  # a commit that is late
            if turn % 10 == 0:
                row = f"select %s + i, 1, 'NEW', 1, true, null, {NOW}, {NOW} from generate_series(1, 5) i"
                changed += connection.execute(f"insert into orders {row} on conflict do nothing", [10 * rows]).rowcount
                changed += connection.execute("delete from orders where order_id > %s", [10 * rows]).rowcount
            turn += 1
            done[0] += changed
            due += changed / rate
            time.sleep(max(0.0, due - time.monotonic()))


def soak_hot(world: World, url: str, given: argparse.Namespace) -> int:
    """Sweeps beside writers of a steady rate, in both modes: before anything is planted, and after each planting."""
    table = world.config.tables[0]
    edges, job = world.edges(table), build_job(table, "soak")
    pull(job, edges, full=False)
    stop, done, planted, wrong = threading.Event(), [0], Planted(), 0
    rate = given.rate / given.writers
    asked = (url, given.rows, stop, done, rate)
    writers = [threading.Thread(target=write_at, args=asked, daemon=True) for _ in range(given.writers)]
    for writer in writers:
        writer.start()
    print("| mode | planted | exit | found | pending | settled | moving | changes a second | seconds |\n|" + "---|" * 9)
    for plants in (False, True):
        for mode in ("stream", "pushdown"):
            for _ in range(given.rounds):
                pull(job, edges, full=False)
                if plants:
                    plant(url, given.rows, planted)
                wrong += judged_hot(mode, replace(job, sweep=replace(job.sweep, mode=mode)), edges, planted, done)
    stop.set()
    for writer in writers:
        writer.join()
    print(f"{4 * given.rounds} sweeps beside {given.writers} writers; {wrong} of them wrong")
    return 1 if wrong else 0


def judged_hot(mode: str, job: TableJob, edges: Edges, planted: Planted, done: list[int]) -> int:
    """One sweep as a line; 1 where its exit code or its findings are not what was planted."""
    begun, before = time.monotonic(), done[0]
    swept = sweep(job, edges)
    seconds, aside = time.monotonic() - begun, swept.result.not_drift
    rate, code = (done[0] - before) / seconds, swept.result.outcome.exit_code
    found, wanted = keys_of(swept), planted.expected()
    right = found == wanted and code == (1 if wanted else 0)
    cells = (mode, sum(wanted.values()), code, sum(found.values()), aside["pending"], aside["settled"], aside["moving"])
    told = (
        "" if right else f" WRONG: {found}, planted {wanted}; {'; '.join(item.why for item in swept.result.unverified)}"
    )
    print(f"| {' | '.join(map(str, cells))} | {rate:,.0f} | {seconds:.1f} |{told}", flush=True)
    return 0 if right else 1


def soak(world: World, url: str, given: argparse.Namespace) -> int:
    """Pull and sweep until the time is up, then stop the writers and ask for everything."""
    table = world.config.tables[0]
    edges, job = world.edges(table), build_job(table, "soak")
    pull(job, edges, full=False)
    stop, done, planted, wrong = threading.Event(), [0], Planted(), 0
    writers = [
        threading.Thread(target=write, args=(url, given.rows, stop, done), daemon=True) for _ in range(given.writers)
    ]
    for writer in writers:
        writer.start()
    ways = cycle(("stream", "pushdown", "stream and one snapshot"))
    begun, sweeps = time.monotonic(), 0
    while time.monotonic() - begun < given.seconds:
        if sweeps % 3 == 0:
            pull(job, edges, full=False)
        plant(url, given.rows, planted)
        way = next(ways)
        found = sweep(as_job(job, way), edges)
        wrong += judged(f"{time.monotonic() - begun:5.0f} s {way}", found, planted, exact=False)
        sweeps += 1
    stop.set()
    for writer in writers:
        writer.join()
    time.sleep(3)  # the bound stays two seconds behind the clock
    pull(job, edges, full=False)
    for way in ("stream", "pushdown"):
        wrong += judged(f"at the end, {way}", sweep(as_job(job, way), edges), planted, exact=True)
    print(f"{done[0]:,} transactions beside {sweeps} sweeps in {given.seconds} s; {wrong} sweeps wrong")
    return 1 if wrong else 0


def as_job(job: TableJob, way: str) -> TableJob:
    """The job in one of the ways to look."""
    mode: Mode = "pushdown" if way == "pushdown" else "stream"
    return replace(job, sweep=replace(job.sweep, mode=mode, one_snapshot="snapshot" in way))


def judged(title: str, swept: Swept, planted: Planted, *, exact: bool) -> int:
    """Print a sweep's answer; 1 where it is not what was planted."""
    found, wanted = keys_of(swept), planted.expected()
    # A planted row that has not been swept twice yet may be moving; none may be anything else, and none may be missing.
    right = found == wanted if exact else all(found.get(kind, 0) <= wanted.get(kind, 0) for kind in found)
    right = right and (exact or sum(found.values()) + swept.result.not_drift["moving"] >= sum(wanted.values()))
    unverified = "; ".join(item.why for item in swept.result.unverified)
    print(
        f"{title:32s} {'ok   ' if right else 'WRONG'} found {found} planted {wanted} aside {dict(swept.result.not_drift)}"
        f" {unverified}",
        flush=True,
    )
    return 0 if right else 1


def main() -> int:
    """Start a server, fill it, soak."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=100_000)
    arguments.add_argument("--seconds", type=int, default=180)
    arguments.add_argument("--writers", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=0, help="sweeps each, beside writers of a steady rate")
    arguments.add_argument("--rate", type=int, default=2_000, help="changed rows a second, with --rounds")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="hr-soak-") as folder, run_postgres() as server:
        url = shop.plain(server)
        shop.fill(url, given.rows)
        with open_world(shop.configured(Path(folder), server)) as world, hold_session(world):
            return soak_hot(world, url, given) if given.rounds else soak(world, url, given)


if __name__ == "__main__":
    sys.exit(main())
