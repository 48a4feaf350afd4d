"""The command line with one place at which its process is asked to end, or its JVM ends: `python -m tests.support.stop_places`.

Its first two words are a place and a way to end; the others are the command line's own.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping

from pyspark import SparkContext

from hudi_reconcile.app import run
from hudi_reconcile.cli.main import main
from hudi_reconcile.evidence import run_folder
from hudi_reconcile.evidence.draft import Draft
from hudi_reconcile.evidence.run_folder import RunFolder
from hudi_reconcile.lake import commit
from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.source.table_source import TableSource
from hudi_reconcile.stages.apply import apply
from hudi_reconcile.stages.sweep import sweep
from tests.support.kill_places import Place, ending

PLACES: Mapping[str, Place] = {
    "sweep of the second table": Place("sweep", sweep, "look_until_settled", nth=2),
    "second commit, before anybody knows": Place("commit", commit, "_find_landed", nth=2, after=True),
}

# Of `run --apply` over ten tables, of which the first, the fifth and the last pull a row and correct one: two commits each.
NIGHT: tuple[Place, ...] = (
    Place("before Spark starts", run, "work_through"),
    Place("first table: before the pull reads", TableSource, "stage_rows"),
    Place("first table: the pull's commit landed, before anybody knows", commit, "_find_landed", after=True),
    Place("first table: before the sweep looks", sweep, "look_until_settled"),
    Place("first table: its plan was written", RunFolder, "write_plan", after=True),
    Place("first table: before the corrections are written", HudiLake, "correct"),
    Place("first table: the corrections landed, before anybody knows", commit, "_find_landed", nth=2, after=True),
    Place("first table: before they are verified", apply, "look_until_settled"),
    Place("first table: done, before its result is kept", Draft, "keep_table"),
    Place("first table: its result was kept", Draft, "keep_table", after=True),
    Place("fifth table: before the pull reads", TableSource, "stage_rows", nth=5),
    Place("fifth table: the pull's commit landed, before anybody knows", commit, "_find_landed", nth=3, after=True),
    Place("fifth table: before the sweep looks", sweep, "look_until_settled", nth=5),
    Place("fifth table: before the corrections are written", HudiLake, "correct", nth=2),
    Place("fifth table: the corrections landed, before anybody knows", commit, "_find_landed", nth=4, after=True),
    Place("fifth table: done, before its result is kept", Draft, "keep_table", nth=5),
    Place("last table: its result was kept", Draft, "keep_table", nth=10, after=True),
    Place("before the result of the run is written", RunFolder, "write_result"),
    Place("before the folder is finished", RunFolder, "finish"),
    Place("between the line in the log and the folder's name", run_folder, "publish"),
)


def fill_memory() -> None:
    """Ask Java for more than any heap here has."""
    java = SparkContext._jvm.java.lang  # type: ignore[union-attr]
    java.reflect.Array.newInstance(java.Long.TYPE, 2**31 - 9)


def kill_java() -> None:
    """SIGKILL to Java alone, as the kernel does where memory is short."""
    os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)  # type: ignore[union-attr]


WAYS: Mapping[str, Callable[[], object]] = {
    "SIGTERM": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "SIGINT": lambda: os.kill(os.getpid(), signal.SIGINT),
    "SIGKILL": lambda: os.killpg(0, signal.SIGKILL),
    "memory": fill_memory,
    "Java": kill_java,
}

if __name__ == "__main__":
    place, way = sys.argv[1:3]
    del sys.argv[1:3]
    with ending({**PLACES, **{one.name: one for one in NIGHT}}[place], WAYS[way]):
        main()
