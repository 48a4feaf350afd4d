"""`make bench-guest`: what pgbench's users feel while the same server is swept, at full speed and by sweeps that spare it.

The server and pgbench have one core, Python and Spark another, so that what is measured is the source's own work for us. Each
way is measured twice: pgbench as fast as it can (transactions per second), and at a fixed rate below that (milliseconds of a
transaction, from the moment it was due). Ways take turns; what counts are medians. Exits 1 where a sweep is not clean.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import psycopg
import shop

from hudi_reconcile.app.connections import World, hold_session, open_world
from hudi_reconcile.app.jobs import build_job, build_pause
from hudi_reconcile.config.tables import PauseConfig
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.demo.postgres import PostgresServer, run_postgres, wheel_bin_dir
from hudi_reconcile.stages.job import Mode, PartialSweep
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.sweep.sweep import sweep

SERVER_CORE, SPARK_CORE = 1, 0
CLIENTS = 4
WARM_SECONDS = 2  # of each window, left out: pgbench connects, the first sweep begins
RESTED_SHARE = 0.25
MOST_STATEMENTS = 2
Sweep = Callable[[], Outcome]


@dataclass(slots=True)
class Felt:
    """By turn: transactions per second without a rate, percentiles of milliseconds with one. By sweep: seconds."""

    per_second: list[float] = field(default_factory=list)
    millis: list[tuple[float, ...]] = field(default_factory=list)
    sweep_seconds: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Watched:
    """One window: milliseconds of pgbench's transactions, seconds of the sweeps beside them, and how many were not clean."""

    millis: list[float]
    sweep_seconds: list[float] = field(default_factory=list)
    wrong_sweeps: int = 0


def main() -> int:
    """Start a server, fill it, measure, print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--scale", type=int, default=10)
    arguments.add_argument("--seconds", type=int, default=30)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--rate", type=float, default=0.4, help="share of what pgbench alone reaches")
    given = arguments.parse_args()
    os.sched_setaffinity(0, {SPARK_CORE})
    with tempfile.TemporaryDirectory(prefix="hr-bench-") as name, run_postgres() as server:
        folder, url = Path(name), shop.plain(server)
        shop.fill(url, given.rows)
        with psycopg.connect(url) as control:
            pin_server(shop.find_postmaster(control))
        pgbench(server, folder, "-i", "-q", "-s", str(given.scale))
        with open_world(shop.configured(folder, server)) as world, hold_session(world):
            pull(build_job(world.config.tables[0], "bench"), world.edges(world.config.tables[0]), full=False)
            return bench(list_ways(world), server, folder, given)


def pin_server(postmaster: int) -> None:
    """The server's processes, and those that it will start, run on one core alone."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(FileNotFoundError, ProcessLookupError):  # it ended just now
                if postmaster in (int(entry.name), _parent(entry)):
                    os.sched_setaffinity(int(entry.name), {SERVER_CORE})


def _parent(process: Path) -> int:
    return int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])


def list_ways(world: World) -> dict[str, Sweep | None]:
    """Ways to share the server with pgbench, by what the table calls them."""
    table = world.config.tables[0]
    pausing = table.model_copy(
        update={"sweep": table.sweep.model_copy(update={"pause": PauseConfig(statements=MOST_STATEMENTS)})}
    )
    paused = PartialSweep(pause=build_pause(pausing, world.engine))
    return {
        "pgbench alone": None,
        "sweep.mode: stream": partial(sweep_once, world, "stream"),
        "sweep.mode: pushdown": partial(sweep_once, world, "pushdown"),
        f"sweep.max_duty: {RESTED_SHARE:.0%}": partial(
            sweep_once, world, "stream", PartialSweep(max_duty=RESTED_SHARE)
        ),
        f"sweep.pause: {{statements: {MOST_STATEMENTS}}}": partial(sweep_once, world, "stream", paused),
    }


def sweep_once(world: World, mode: Mode, part: PartialSweep | None = None) -> Outcome:
    """One sweep of the table."""
    job = build_job(world.config.tables[0], "bench")
    job = replace(job, sweep=replace(job.sweep, mode=mode))
    return sweep(job, world.edges(world.config.tables[0]), part or PartialSweep()).result.outcome


def bench(ways: dict[str, Sweep | None], server: PostgresServer, folder: Path, given: argparse.Namespace) -> int:
    """Every way in turn, without a rate and with one; the first turn warms up."""
    results, wrong, rate = {way: Felt() for way in ways}, 0, 0.0
    for turn in range(given.repeats + 1):
        for way, run in ways.items():
            felt = Felt() if turn == 0 else results[way]
            at_most = watch(server, folder, run, given.seconds, None)
            felt.per_second.append(len(at_most.millis) / (given.seconds - WARM_SECONDS))
            rate = rate or given.rate * felt.per_second[0]
            at_rate = watch(server, folder, run, given.seconds, rate)
            felt.millis.append(percentiles(at_rate.millis))
            felt.sweep_seconds += at_most.sweep_seconds + at_rate.sweep_seconds
            wrong += at_most.wrong_sweeps + at_rate.wrong_sweeps
    report(results, rate)
    return 1 if wrong else 0


def watch(server: PostgresServer, folder: Path, run: Sweep | None, seconds: int, rate: float | None) -> Watched:
    """Run pgbench for so long, and sweeps one after the other until it ends; the last one is waited for."""
    for log in folder.glob("felt.*"):
        log.unlink()
    options = ["-c", str(CLIENTS), "-n", "-T", str(seconds), "-l", "--log-prefix", str(folder / "felt")]
    options += [] if rate is None else ["-R", f"{rate:.0f}"]
    begun, watched = time.time(), Watched([])
    with ThreadPoolExecutor(1) as pool:
        users = pool.submit(pgbench, server, folder, *options)
        while run is not None and not users.done():
            sweep_begun = time.monotonic()
            watched.wrong_sweeps += run() is not Outcome.CLEAN
            watched.sweep_seconds.append(time.monotonic() - sweep_begun)
        users.result()
    rows = [line.split() for log in folder.glob("felt.*") for line in log.read_text().splitlines()]
    # Of a line: client, transaction, microseconds that it took, script, second and microsecond of its end.
    watched.millis += [
        float(row[2]) / 1000 for row in rows if float(row[4]) + float(row[5]) / 1e6 >= begun + WARM_SECONDS
    ]
    return watched


def pgbench(server: PostgresServer, folder: Path, *options: str) -> None:
    """Run it on the server's core. Raises CalledProcessError where it fails."""
    subprocess.run(
        ["/usr/bin/taskset", "-c", str(SERVER_CORE), str(wheel_bin_dir() / "pgbench"), *options],
        env={
            **os.environ,
            "PGHOST": server.host,
            "PGPORT": str(server.port),
            "PGUSER": server.user,
            "PGPASSWORD": server.password,
            "PGDATABASE": server.database,
        },
        cwd=folder,
        check=True,
        capture_output=True,
    )


def percentiles(millis: Sequence[float]) -> tuple[float, ...]:
    """The 50th, 95th and 99th."""
    cuts = statistics.quantiles(millis, n=100)
    return cuts[49], cuts[94], cuts[98]


def report(results: dict[str, Felt], rate: float) -> None:
    """Medians over turns, and the share of what pgbench reaches alone."""
    alone = statistics.median(next(iter(results.values())).per_second)
    print(f"pgbench, {CLIENTS} clients; milliseconds are of a fixed rate of {rate:.0f} transactions per second")
    print("| beside pgbench | transactions per second | share | p50 ms | p95 ms | p99 ms | seconds of a sweep |")
    print("|---|---|---|---|---|---|---|")
    for way, felt in results.items():
        reached = statistics.median(felt.per_second)
        cells = " | ".join(f"{statistics.median(each):.2f}" for each in zip(*felt.millis, strict=True))
        swept = f"{statistics.median(felt.sweep_seconds):.1f}" if felt.sweep_seconds else ""
        print(f"| {way} | {reached:.0f} | {reached / alone:.0%} | {cells} | {swept} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
