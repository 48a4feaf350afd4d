"""The command line with one place at which its process is asked to end, or its JVM ends: `python -m tests.support.stop_places`.

Its first two words are a place and a way to end; the others are the command line's own.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping

from pyspark import SparkContext

from hudi_reconcile.cli.main import main
from hudi_reconcile.lake import commit
from hudi_reconcile.stages.sweep import sweep
from tests.support.kill_places import Place, ending

PLACES: Mapping[str, Place] = {
    "sweep of the second table": Place("sweep", sweep, "look_until_settled", nth=2),
    "second commit, before anybody knows": Place("commit", commit, "_landed", nth=2, after=True),
}


def fill_memory() -> None:
    """Ask Java for more than any heap here has."""
    java = SparkContext._jvm.java.lang  # type: ignore[union-attr]
    java.reflect.Array.newInstance(java.Long.TYPE, 2**31 - 9)


WAYS: Mapping[str, Callable[[], object]] = {
    "SIGTERM": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "SIGINT": lambda: os.kill(os.getpid(), signal.SIGINT),
    "memory": fill_memory,
}

if __name__ == "__main__":
    place, way = sys.argv[1:3]
    del sys.argv[1:3]
    with ending(PLACES[place], WAYS[way]):
        main()
