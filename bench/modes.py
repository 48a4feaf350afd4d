"""`make bench-modes`: stream, pushdown and auto side by side, on loopback and through links of limited speed.

What counts is auto's time beside that of the better way in the same run. The link is a proxy in this process that lets
bytes through at a rate; its own cost is that of every mode. Exits 1 where a sweep is not clean.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import shop

from hudi_reconcile.app.connections import hold_session, open_world
from hudi_reconcile.app.jobs import build_job
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.demo.postgres import PostgresServer, run_postgres
from hudi_reconcile.stages.job import Mode
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.sweep.sweep import sweep

MODES: tuple[Mode, ...] = ("stream", "pushdown", "auto")
CHUNK = 65_536


@contextmanager
def link(port: int, megabits: float | None) -> Iterator[int]:
    """A port that leads to the server's, its answers slowed down to that rate over all connections together."""
    if megabits is None:
        yield port
        return
    loop, ready, found = asyncio.new_event_loop(), threading.Event(), [0]
    thread = threading.Thread(target=_serve, args=(loop, port, megabits * 1e6 / 8, ready, found), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def _serve(
    loop: asyncio.AbstractEventLoop, port: int, bytes_per_second: float, ready: threading.Event, found: list[int]
) -> None:
    asyncio.set_event_loop(loop)
    free_at = [0.0]

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rate: float | None) -> None:
        while data := await reader.read(CHUNK):
            if rate is not None:
                free_at[0] = max(free_at[0], loop.time()) + len(data) / rate
                await asyncio.sleep(max(0.0, free_at[0] - loop.time()))
            writer.write(data)
            await writer.drain()
        writer.close()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(
            copy(reader, there_writer, None), copy(there_reader, writer, bytes_per_second), return_exceptions=True
        )

    server = loop.run_until_complete(asyncio.start_server(accept, "127.0.0.1", 0))
    found[0] = server.sockets[0].getsockname()[1]
    ready.set()
    loop.run_forever()


def bench(folder: Path, server: PostgresServer, given: argparse.Namespace) -> int:
    """One session for all links; every mode once to warm up, then in turns."""
    wrong = 0
    for megabits in (None, *given.megabits):
        with link(server.port, megabits) as port:
            config = shop.configured(folder, server, port=port)
            with open_world(config) as world, hold_session(world):
                table = config.tables[0]
                job, edges = build_job(table, "bench"), world.edges(table)
                if megabits is None:
                    pull(job, edges, full=False)
                times: dict[str, list[float]] = {mode: [] for mode in MODES}
                why = ""
                for turn in range(given.repeats + 1):
                    for mode in MODES:
                        begun = time.monotonic()
                        result = sweep(replace(job, sweep=replace(job.sweep, mode=mode)), edges).result
                        wrong += result.outcome is not Outcome.CLEAN
                        times[mode] += [time.monotonic() - begun] if turn else []
                        why = result.provenance["digests"]
            medians = {mode: statistics.median(found) for mode, found in times.items()}
            better = min(medians["stream"], medians["pushdown"])
            shown = ", ".join(f"{mode} {seconds:.2f} s" for mode, seconds in medians.items())
            name = "loopback" if megabits is None else f"{megabits:g} Mbit/s"
            print(f"{name:12s} {shown}, auto / better = {medians['auto'] / better:.2f}; auto: {why}", flush=True)
    return 1 if wrong else 0


def main() -> int:
    """Start a server, fill it, measure."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--megabits", type=float, nargs="*", default=[300.0, 100.0])
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="hr-bench-") as folder, run_postgres() as server:
        shop.fill(shop.plain(server), given.rows)
        return bench(Path(folder), server, given)


if __name__ == "__main__":
    sys.exit(main())
