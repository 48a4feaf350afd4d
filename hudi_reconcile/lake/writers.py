"""Who else writes a table: asks the timeline and the heartbeats; core/writers.py says what it means."""

from __future__ import annotations

from hudi_reconcile.core.writers import NEWEST, Writers
from hudi_reconcile.lake.bridge import Timeline
from hudi_reconcile.lake.files import Files
from hudi_reconcile.lake.metadata import OURS
from hudi_reconcile.lake.timeline import writers_in_flight


def writers_of(line: Timeline, files: Files, path: str, beating: frozenset[str]) -> Writers:
    """The timeline's newest commits and its instants in flight.

    `beating` are the heartbeats from before the timeline was read: one that ended since has removed its own.
    """
    newest = [action for action in line.completed()[:NEWEST] if not line.is_service(action)]
    ours = {action.requested for key in OURS for _, action in line.metadata(key, archived=False, newest=NEWEST)}
    silent = silent_writers(line, files, path, beating)
    return Writers(len(newest), sum(action.requested not in ours for action in newest), silent)


def silent_writers(line: Timeline, files: Files, path: str, beating: frozenset[str]) -> tuple[str, ...]:
    """The instants in flight that have no heartbeat, oldest first; `beating` as above."""
    in_flight = writers_in_flight(line)
    alive = beating | heartbeats(files, path) if in_flight else beating
    return tuple(one for one in in_flight if one not in alive)


def heartbeats(files: Files, path: str) -> frozenset[str]:
    """The instants that have a heartbeat."""
    return frozenset(one.name for one in files.list(f"{path}/.hoodie/.heartbeat"))
