"""The lease of one table held for the length of a block, and the instants that a killed writer left, rolled back under it.

A living writer's instant must never be rolled back, so only optimistic writers' instants are touched, which keep a
heartbeat file: where the heartbeat is silent, and either our own dead process made the instant or the silence is long.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError

from hudi_reconcile.core.errors import LakeError
from hudi_reconcile.lake import lease
from hudi_reconcile.lake.bridge import Timeline, describe_failure, read_timeline_clock, roll_back
from hudi_reconcile.lake.commit import Target
from hudi_reconcile.lake.files import Files
from hudi_reconcile.lake.lease import Lease
from hudi_reconcile.lake.options import EXPIRED_MS
from hudi_reconcile.lake.table import has_table, is_ours
from hudi_reconcile.lake.timeline import list_writers, list_writers_in_flight

SILENT_MS = 15_000  # three of our heartbeats
_LOOK_SECONDS = 5.0
_log = logging.getLogger("hudi_reconcile")


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Instants in flight that are dead, and those that may be: their heartbeat is not yet silent for long enough."""

    dead: tuple[str, ...]
    unsure: tuple[str, ...]


def sort_leftovers(
    in_flight: Sequence[str], beats_ms: Mapping[str, int], lease: Lease | None, now_ms: int, *, is_alone: bool = True
) -> Leftovers:
    """Sort the instants in flight. `beats_ms` holds the age base: each instant's last heartbeat; `lease` a dead process's.

    An instant that the dead process can have made is dead after a short silence only where no other tool writes the table
    (`is_alone`): another one's heartbeat may come once a minute.
    """
    dead, unsure = [], []
    for requested in in_flight:
        if requested not in beats_ms:
            continue  # a writer without heartbeats: nothing tells whether it lives
        silent_ms = now_ms - beats_ms[requested]
        ours = lease is not None and requested >= lease.since
        if silent_ms >= (SILENT_MS if ours and is_alone else EXPIRED_MS):
            dead.append(requested)
        elif ours:
            unsure.append(requested)
    return Leftovers(tuple(dead), tuple(unsure))


def clear(target: Target, files: Files, lease: Lease | None, *, is_alone: bool = True) -> tuple[str, ...]:
    """Roll dead instants back, waiting out a young heartbeat or lock of our dead process. Returns those rolled back.

    An instant whose heartbeat goes on is another writer's, and is not waited for. Idempotent. Raises LakeError where a
    rollback fails.
    """
    patience_ms = SILENT_MS if is_alone else EXPIRED_MS
    until_seconds = time.monotonic() + patience_ms / 1000 + 2 * _LOOK_SECONDS  # clocks of host and storage differ
    leftovers, first = _look(target, files, lease, is_alone=is_alone)
    beats = first
    # Beside others the lock may be another writer's, which Hudi itself takes for dead after two minutes.
    lock_ms = _lock_age_ms(target, files, lease) if lease is not None and is_alone else None
    if leftovers.unsure:
        seconds = patience_ms / 1000 + 2 * _LOOK_SECONDS
        _log.info("waiting at most %d s: a process that died may have left %s", seconds, leftovers.unsure[0])
    while time.monotonic() < until_seconds and (
        any(beats[requested] == first.get(requested) for requested in leftovers.unsure)
        or (lock_ms is not None and lock_ms < SILENT_MS)
    ):
        time.sleep(_LOOK_SECONDS)
        leftovers, beats = _look(target, files, lease, is_alone=is_alone)
        lock_ms = _lock_age_ms(target, files, lease) if lease is not None and is_alone else None
    if lock_ms is not None and lock_ms >= SILENT_MS:
        files.delete(_lock(target))
    gone = tuple(requested for requested in leftovers.dead if roll_back_dead(target, requested))
    for requested in gone:
        _log.warning("rolled back: instant %s, which a process that died had left in flight", requested)
    return gone


def roll_back_dead(target: Target, requested: str) -> bool:
    """Roll an instant of a dead writer back; False where it has completed since. Raises LakeError where that fails."""
    if requested not in list_writers_in_flight(Timeline(target.spark, target.path)):
        return False  # Hudi's client takes completed commits back, too
    try:
        roll_back(target.spark, target.path, target.name, requested)
    except Py4JJavaError as error:
        raise LakeError(
            f"Hudi table {target.path}: instant {requested} of a killed writer cannot be rolled back "
            f"({describe_failure(error)})",
            fix="hudi-reconcile doctor",
        ) from error
    return True


def _look(target: Target, files: Files, lease: Lease | None, *, is_alone: bool) -> tuple[Leftovers, Mapping[str, int]]:
    in_flight = list_writers_in_flight(Timeline(target.spark, target.path))
    beats = (
        {file.name: file.modified_ms for file in files.list(f"{target.path}/.hoodie/.heartbeat")} if in_flight else {}
    )
    return sort_leftovers(in_flight, beats, lease, _read_clock_ms(), is_alone=is_alone), beats


def _has_own_commits_only(target: Target, files: Files, lease: Lease | None) -> bool:
    if lease is None:
        return True
    return not list_writers(Timeline(target.spark, target.path), files, target.path, frozenset()).foreign


def _lock_age_ms(target: Target, files: Files, lease: Lease) -> int | None:
    """How old the table's lock is that our dead process may have left; others hold it for a moment only."""
    for file in files.list(f"{target.path}/.hoodie"):
        if f"{target.path}/.hoodie/{file.name}" == _lock(target) and file.modified_ms >= lease.since_ms:
            return _read_clock_ms() - file.modified_ms
    return None


def _lock(target: Target) -> str:
    return f"{target.path}/.hoodie/lock"


def _read_clock_ms() -> int:
    return time.time_ns() // 1_000_000


@contextmanager
def hold_lease(target: Target, files: Files, owner: str, *, adopt: bool = False) -> Iterator[lease.Renewal]:
    """Hold the lease, and give what is asked before a write: it raises SupersededError where the lease was lost meanwhile.

    An interrupted process leaves it, and so does an error that leaves an instant in flight: only such a lease lets the next one
    clear up at once. A table that another tool made is cleared only where it is adopted.
    """
    path = target.path
    taken = lease.take(files, path, owner, read_timeline_clock(target.spark))
    renewal = lease.Renewal(files, path, taken.lease)
    with lease.release_lease(files, path, taken, lambda: bool(renewal.left)):
        if has_table(files, path) and (adopt or is_ours(Timeline(target.spark, path).properties())):
            with lease.Renewal(files, path, taken.heir):
                clear(
                    target, files, taken.dead, is_alone=not adopt and _has_own_commits_only(target, files, taken.dead)
                )
        lease.clear_inheritance(files, path, taken)
        with renewal:
            yield renewal
