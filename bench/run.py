"""`make bench`: sweeps and applies beside the same work by hand, all in one run; the table of docs/performance.md.

The machine is noisy, so what counts are the ratios inside one run: modes take turns, medians of three, Spark's start
apart. Exits 1 where a sweep does not find exactly what was planted, or an apply does not correct it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import by_hand
import drift
import psycopg
import reladiff_side
import shop
from pyspark.sql import DataFrame

from hudi_reconcile.app.connections import World, hold_session, open_world
from hudi_reconcile.app.jobs import build_job
from hudi_reconcile.config.model import Config
from hudi_reconcile.demo.postgres import PostgresServer, run_postgres
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.sweep.sweep import sweep

Mode = Callable[[], Mapping[str, int] | int]
MEASURED: dict[str, dict[str, float]] = {}


def main() -> int:
    """Run it all and print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--without-reladiff", action="store_true")
    arguments.add_argument("--json", type=Path, help="write the seconds here, for bench/plot.py")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="hr-bench-") as folder, run_postgres() as server:
        return bench(Path(folder), server, given)


def bench(folder: Path, server: PostgresServer, given: argparse.Namespace) -> int:
    """Fill, pull once, measure clean, drift, measure dirty, apply, wide tables, then a cold process."""
    plain_url = shop.plain(server)
    shop.fill(plain_url, given.rows)
    fill_others(plain_url)
    config = shop.configured(folder, server, tables=tables_of())
    wrong = 0
    with open_world(config) as world, hold_session(world) as session:
        started = time.monotonic()
        pull(build_job(config.tables[0], "bench"), world.edges(config.tables[0]), full=False)
        seconds = time.monotonic() - started
        print(f"initial pull, {given.rows:,} rows, cold: {seconds:.1f} s (Spark's start {session.start_seconds:.1f} s)")
        modes = spark_modes(world, config, folder, given.rows)
        wrong += report("clean", measure(modes, given.repeats), {})
        shop.drift(plain_url)
        wrong += report("100 scattered drifts", measure(modes, given.repeats), shop.EXPECTED)
        compare_others(folder, server, given)  # before the copies drift too
        applies(world, plain_url, folder, given)
        print("\nby width, warm:")
        for line in drift.by_width(world, plain_url, given.repeats):
            print(line)
    if given.json is not None:
        given.json.write_text(json.dumps(MEASURED, indent=2) + "\n", encoding="utf-8")
    return 1 if wrong else 0


def compare_others(folder: Path, server: PostgresServer, given: argparse.Namespace) -> None:
    """The same 100 drifts by a new process, and by reladiff from database to database."""
    cold(folder)
    if given.without_reladiff:
        return
    program = reladiff_side.install(Path(tempfile.gettempdir()) / "hr-bench-reladiff")
    times = [reladiff_side.run(program, server.url) for _ in range(given.repeats)]
    seconds = statistics.median(seconds for seconds, _ in times)
    MEASURED["100 scattered drifts"]["reladiff"] = seconds
    print(f"reladiff 0.6.0, 100 drifts, database to database, -j 4: {seconds:.2f} s, {times[-1][1]} keys")


def tables_of() -> str:
    """The config's tables: `orders`, what is drifted and corrected each beside a copy of its lake, and the wide ones."""
    corrected = {"small": "small", "scattered": "orders_copy"}
    texts = [shop.TABLE]
    for name, source in corrected.items():
        texts += [drift.table_text(name, source), drift.table_text(f"{name}_bare", source)]
    return "".join((*texts, *(drift.table_text(f"wide_{width}", f"wide_{width}") for width in drift.WIDTHS)))


def fill_others(url: str) -> None:
    """A table of a thousand rows like `orders`, and the wide ones."""
    with psycopg.connect(url, autocommit=True) as opened:
        opened.execute(shop.CREATE.format(name="small"))
        opened.execute(shop.FILL.format(name="small", rows=drift.SMALL_ROWS))
        opened.execute("vacuum analyze small")
    for width in drift.WIDTHS:
        drift.fill_wide(url, width)


def applies(world: World, url: str, folder: Path, given: argparse.Namespace) -> None:
    """Six drifts of a thousand rows, and one in a hundred rows of the large table: swept, applied, and written bare."""
    rounds = {"small": (drift.SMALL_ROWS, 6), "scattered": (given.rows, given.rows // 100)}
    for name, (rows, drifts) in rounds.items():
        table = next(one for one in world.config.tables if one.name == name)
        pull(build_job(table, "bench"), world.edges(table), full=False)
        times: dict[str, list[float]] = {}
        for turn in range(given.repeats + 1):
            scatter = drift.Scatter(str(table.source.table).removeprefix("public."), rows, drifts, turn)
            found = drift.beside_bare(world, (name, f"{name}_bare"), scatter, url, folder / f"{name}_{turn}")
            for what, seconds in found.items():
                times[what] = [*times.get(what, []), *([seconds] if turn else [])]
        medians = {what: statistics.median(each) for what, each in times.items()}
        MEASURED[f"{drifts:,} scattered drifts of {rows:,} rows"] = medians
        print(f"\n{drifts:,} scattered drifts of {rows:,} rows: warm, median of {given.repeats}")
        for what, seconds in medians.items():
            ratio = f"   apply / this = {medians['apply'] / seconds:5.2f}" if what != "sweep" else ""
            print(f"  {what:26s} {seconds:7.2f} s{ratio}")


def spark_modes(world: World, config: Config, folder: Path, rows: int) -> dict[str, Mode]:
    """Our sweep, and the two hand-written ways on the same session."""
    session = world.session
    if session is None:
        raise RuntimeError("no session")
    table, spark, target = config.tables[0], session.spark, world.engine.jdbc()
    path = str(folder / "lake" / "orders")

    def ours() -> Mapping[str, int]:
        swept = sweep(build_job(table, "bench"), world.edges(table))
        return {kind: count for kind, count in swept.result.findings.items() if count}

    def frames() -> tuple[DataFrame, DataFrame]:
        source = by_hand.source(spark, target.url, dict(target.properties), rows)
        return source, by_hand.lake(spark, path)

    return {
        "sweep": ours,
        "stream prototype": lambda: by_hand.stream_digest(*frames(), rows),
        "full outer join": lambda: by_hand.full_outer_join(*frames()),
    }


def measure(modes: Mapping[str, Mode], repeats: int) -> dict[str, tuple[list[float], object]]:
    """Every mode in turn, once to warm up and then `repeats` times."""
    found: dict[str, tuple[list[float], object]] = {name: ([], None) for name in modes}
    for turn in range(repeats + 1):
        for name, mode in modes.items():
            started = time.monotonic()
            answer = mode()
            if turn:
                found[name][0].append(time.monotonic() - started)
            found[name] = (found[name][0], answer)
    return found


def report(title: str, found: Mapping[str, tuple[list[float], object]], expected: Mapping[str, int]) -> int:
    """Print the medians and the ratios to our sweep; 1 where the sweep's answer is not the expected one."""
    medians = {name: statistics.median(times) for name, (times, _) in found.items()}
    MEASURED[title] = medians
    print(f"\n{title}: warm, median of {len(found['sweep'][0])}")
    for name, seconds in medians.items():
        print(
            f"  {name:18s} {seconds:7.2f} s   sweep / this = {medians['sweep'] / seconds:5.2f}   found {found[name][1]}"
        )
    answer = found["sweep"][1]
    if answer != dict(expected):
        print(f"  WRONG: expected {dict(expected)}")
        return 1
    return 0


def cold(folder: Path) -> None:
    """One sweep by a new process: start to verdict."""
    program = Path(sys.executable).parent / "hudi-reconcile"
    started = time.monotonic()
    done = subprocess.run(
        [str(program), "-q", "sweep", "-t", "orders"], cwd=folder, capture_output=True, text=True, check=False
    )
    seconds = time.monotonic() - started
    MEASURED["new process to verdict, 100 drifts"] = {"sweep": seconds}
    print(f"\nnew process to verdict, 100 drifts, all starts included: {seconds:.1f} s, exit {done.returncode}")


if __name__ == "__main__":
    sys.exit(main())
