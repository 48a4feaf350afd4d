"""Ten places of a paged pull at which it is ended: by an exception in this process, or by SIGKILL in one of its own.

As a program it is the command line with one such place: `python -m tests.support.kill_places NUMBER ARGUMENT…` kills its whole
process group, JVM included, when it gets there.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from hudi_reconcile.cli.main import run
from hudi_reconcile.evidence.run_folder import RunFolder
from hudi_reconcile.lake import commit
from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.source import pull_reads
from hudi_reconcile.source.table_source import TableSource

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Place:
    """Before the n-th call of a function, or after it."""

    name: str
    owner: Any
    function: str
    nth: int = 1
    after: bool = False


PLACES = (
    Place("before the first page's end is looked up", TableSource, "look_ahead"),
    Place("before the first page is read", TableSource, "stage_rows"),
    Place("when the first page's rows are held and not counted", pull_reads, "count_staged"),
    Place("after the first page is read", TableSource, "stage_rows", after=True),
    Place("before the table is made", HudiLake, "create"),
    Place("after a commit, before anybody knows", commit, "_find_landed"),
    Place("before the second page is read", TableSource, "stage_rows", nth=2),
    Place("before a page is written to a table that is there", HudiLake, "upsert"),
    Place("after the second commit, before anybody knows", commit, "_find_landed", nth=2),
    Place("after the last page, before the result is written", RunFolder, "write_result"),
)


@contextmanager
def ending(place: Place, end: Callable[[], object]) -> Iterator[list[str]]:
    """Call `end` when the place is reached; yields a list that then holds the place's name. Where `end` returns, work goes on."""
    original = getattr(place.owner, place.function)
    reached: list[str] = []
    calls = 0

    @wraps(original)
    def ended(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        is_here = calls == place.nth
        if is_here and not place.after:
            reached.append(place.name)
            end()
        found = original(*arguments, **named)
        if is_here and place.after:
            reached.append(place.name)
            end()
        return found

    setattr(place.owner, place.function, ended)
    try:
        yield reached
    finally:
        setattr(place.owner, place.function, original)


if __name__ == "__main__":
    with ending(PLACES[int(sys.argv[1])], lambda: os.killpg(0, signal.SIGKILL)):
        sys.exit(run(sys.argv[2:]))
