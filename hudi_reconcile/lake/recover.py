"""The lease of one table held for the length of a block, and the instants that a killed writer left, rolled back under it.

A living writer's instant must never be rolled back, so only optimistic writers' instants are touched, which keep a
heartbeat file: where the heartbeat is silent, and either our own dead process made the instant or the silence is long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from hudi_reconcile.lake.timeline import list_writers_in_flight

SILENT_MS = 15_000  # three of our heartbeats


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Instants in flight that are dead, and those that may be: their heartbeat is not yet silent for long enough."""

    dead: tuple[str, ...]
    unsure: tuple[str, ...]


def sort_leftovers(
    in_flight: Sequence[str], beats_ms: Mapping[str, int], lease: Lease | None, now_ms: int
) -> Leftovers:
    """Sort the instants in flight. `beats_ms` holds the age base: each instant's last heartbeat; `lease` a dead process's."""
    dead, unsure = [], []
    for requested in in_flight:
        if requested not in beats_ms:
            continue  # a writer without heartbeats: nothing tells whether it lives
        silent_ms = now_ms - beats_ms[requested]
        ours = lease is not None and requested >= lease.since
        if silent_ms >= (SILENT_MS if ours else EXPIRED_MS):
            dead.append(requested)
        elif ours:
            unsure.append(requested)
    return Leftovers(tuple(dead), tuple(unsure))


def clear(target: Target, files: Files, lease: Lease | None) -> tuple[str, ...]:
    """Roll dead instants back, waiting out a young heartbeat or lock of our dead process. Returns those rolled back.

    Idempotent. Raises LakeError where a rollback fails.
    """
    found = _look(target, files, lease)
    left = None if lease is None else _lock_age_ms(target, files, lease)
    if found.unsure or (left is not None and left < SILENT_MS):
        time.sleep(SILENT_MS / 1000)
        found = _look(target, files, lease)
        left = None if lease is None else _lock_age_ms(target, files, lease)
    if left is not None and left >= SILENT_MS:
        files.delete(_lock(target))
    for requested in found.dead:
        roll_back_dead(target, requested)
    return found.dead


def roll_back_dead(target: Target, requested: str) -> None:
    """Roll an instant of a dead writer back. Raises LakeError where that fails."""
    try:
        roll_back(target.spark, target.path, target.name, requested)
    except Py4JJavaError as error:
        raise LakeError(
            f"Hudi table {target.path}: instant {requested} of a killed writer cannot be rolled back "
            f"({describe_failure(error)})",
            fix="hudi-reconcile doctor",
        ) from error


def _look(target: Target, files: Files, lease: Lease | None) -> Leftovers:
    in_flight = list_writers_in_flight(Timeline(target.spark, target.path))
    beats = {one.name: one.modified_ms for one in files.list(f"{target.path}/.hoodie/.heartbeat")} if in_flight else {}
    return sort_leftovers(in_flight, beats, lease, _read_clock_ms())


def _lock_age_ms(target: Target, files: Files, lease: Lease) -> int | None:
    """How old the table's lock is that our dead process may have left; others hold it for a moment only."""
    for one in files.list(f"{target.path}/.hoodie"):
        if f"{target.path}/.hoodie/{one.name}" == _lock(target) and one.modified_ms >= lease.since_ms:
            return _read_clock_ms() - one.modified_ms
    return None


def _lock(target: Target) -> str:
    return f"{target.path}/.hoodie/lock"


def _read_clock_ms() -> int:
    return time.time_ns() // 1_000_000


@contextmanager
def hold_lease(target: Target, files: Files, owner: str, *, adopt: bool = False) -> Iterator[Callable[[], None]]:
    """Hold the lease, and give what to call before a write: it raises SupersededError where the lease was lost meanwhile.

    An interrupted process leaves it: only the lease of a dead one lets the next clear up at once. A table that another tool
    made is cleared only where it is adopted.
    """
    path = target.path
    taken = lease.take(files, path, owner, read_timeline_clock(target.spark))
    with lease.release_lease(files, path, taken):
        if has_table(files, path) and (adopt or is_ours(Timeline(target.spark, path).properties())):
            with lease.Renewal(files, path, taken.heir):
                clear(target, files, taken.dead)
        lease.clear_inheritance(files, path, taken)
        with lease.Renewal(files, path, taken.lease) as renewal:
            yield renewal.refuse_lost
