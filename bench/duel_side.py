"""One side of the duel: a process that pulls, or sweeps and applies, for ever, until it is killed. `make duel` starts it.

A sweeper that starts again first repeats `apply latest`, as a tired operator does: it must find out what landed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from hudi_reconcile.cli.main import run
from hudi_reconcile.spark.session import SessionRequest, open_session

DRIFT, UNVERIFIED = 1, 3
# What the writers do here is what these guards are against, and is meant.
ACCEPTED = ("--accept", "same_column_share", "--accept", "max_upsert_share", "--accept", "shrunken_source")


def request() -> SessionRequest:
    """A small Spark: there are three on this machine."""
    conf = {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g"}
    return SessionRequest(master="local[2]", conf=conf, short=True)


def apply(config: str) -> int:
    """The newest plan."""
    return run(["-q", "-c", config, "apply", "latest", "--yes", *ACCEPTED])


def puller(config: str) -> Iterator[int]:
    """Pull again and again."""
    while True:
        yield run(["-q", "-c", config, "pull"])


def sweeper(config: str) -> Iterator[int]:
    """Apply what was planned before, then sweep and apply again and again."""
    yield apply(config)
    while True:
        found = run(["-q", "-c", config, "sweep"])
        yield found
        if found in (DRIFT, UNVERIFIED):  # moving rows beside drift: the drift is planned all the same
            yield apply(config)


def main(side: str, config: str) -> None:
    """Play one side."""
    with open_session(request()):
        for code in {"puller": puller, "sweeper": sweeper}[side](config):
            print(f"{side}: exit {code}", flush=True)
            time.sleep(0.3)  # one that was refused because the other holds the lease asks again


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
