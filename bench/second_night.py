"""`make bench-nights`: what the second night costs beside a full sweep, by content proof. Nothing changed, clustered, scattered.

One session and one server; a full sweep and a proven one take turns, so that what counts are the ratios inside one run. The
source's processor time is that of all its processes, by /proc. Exits 1 where a sweep is not clean.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import shop

from hudi_reconcile.app.connections import World, hold_session, open_world
from hudi_reconcile.app.jobs import build_job
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.sweep.proof import ContentProof
from hudi_reconcile.demo.postgres import run_postgres
from hudi_reconcile.stages.job import PartialSweep, ProofRequest
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.sweep.sweep import Swept, sweep

TICKS = os.sysconf("SC_CLK_TCK")
# Of the table's rows, and pulled after: nothing, the newest 0.1 %, 0.1 % all over.
_UPDATE = (
    "update orders set amount = amount + 0.01, updated_at = now() at time zone 'utc' - interval '10 seconds' where "
)
CHANGES = {
    "nothing": None,
    "0.1 % at the end": _UPDATE + "order_id > {rows} * 0.999",
    "0.1 % scattered": _UPDATE + "order_id % 1000 = 7",
}


@dataclass(slots=True)
class Taken:
    """Wall and source seconds of each turn."""

    wall: list[float] = field(default_factory=list)
    source: list[float] = field(default_factory=list)


def main() -> int:
    """Run it all and print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=5_000_000)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--rotation", type=int, default=7)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="hr-bench-") as folder, run_postgres() as server:
        url = shop.plain(server)
        shop.fill(url, given.rows)
        config = shop.configured(Path(folder), server)
        with open_world(config) as world, hold_session(world), psycopg.connect(url, autocommit=True) as control:
            return bench(world, control, given)


def bench(world: World, control: psycopg.Connection, given: argparse.Namespace) -> int:
    """Each kind of change in turn: change, pull, a full sweep that proves, and a proven one."""
    postmaster = shop.find_postmaster(control)
    pull(build_job(world.config.tables[0], "bench"), world.edges(world.config.tables[0]), full=False)
    proof, wrong = night(world, None, given.rotation).proof, 0
    for what, statement in CHANGES.items():
        full, proven, said = Taken(), Taken(), ""
        for turn in range(given.repeats + 1):
            if statement is not None:
                control.execute(statement.format(rows=given.rows))
                control.execute("vacuum orders")
                pull(build_job(world.config.tables[0], "bench"), world.edges(world.config.tables[0]), full=False)
            with taken(postmaster, proven):
                second = night(world, proof, given.rotation)
            with taken(postmaster, full):
                plain = sweep(build_job(world.config.tables[0], f"b{turn}"), world.edges(world.config.tables[0]))
            proof, said = second.proof, second.result.provenance["content_proof"]
            wrong += sum(one.result.outcome is not Outcome.CLEAN for one in (second, plain))
        report(what, full, proven)
        print(f"    {said}")
    return wrong


def night(world: World, earlier: ContentProof | None, rotation: int) -> Swept:
    """A sweep that may stand on an earlier one."""
    asked = ProofRequest(rotation, 0, "bench", lambda: (earlier, ""))
    table = world.config.tables[0]
    return sweep(build_job(table, "bench"), world.edges(table), PartialSweep(proof=asked))


@contextmanager
def taken(postmaster: int, into: Taken) -> Iterator[None]:
    """Notes what the block took."""
    wall, source = time.monotonic(), source_seconds(postmaster)
    yield
    into.wall.append(time.monotonic() - wall)
    into.source.append(source_seconds(postmaster) - source)


def source_seconds(postmaster: int) -> float:
    """Processor seconds of the server so far: its own, of children that ended, and of those that live."""
    ticks = 0
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split() if entry.name.isdigit() else []
        except OSError:  # it ended just now
            continue
        if not fields:
            continue
        own = int(fields[11]) + int(fields[12])
        if int(entry.name) == postmaster:
            ticks += own + int(fields[13]) + int(fields[14])
        elif int(fields[1]) == postmaster:
            ticks += own
    return ticks / TICKS


def report(what: str, full: Taken, proven: Taken) -> None:
    """Medians without the first turn, and the ratios."""
    wall = [statistics.median(one.wall[1:]) for one in (proven, full)]
    source = [statistics.median(one.source[1:]) for one in (proven, full)]
    print(
        f"{what:18s} second night {wall[0]:6.2f} s, full {wall[1]:6.2f} s, ratio {wall[0] / wall[1]:4.2f};"
        f" source {source[0]:5.2f} of {source[1]:5.2f} s, ratio {source[0] / max(source[1], 0.01):4.2f}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
