"""Other writers of a lake table, as far as its timeline tells, and what must be said of them. Pure.

Hudi records no writer's settings, but two things give a writer away: commits without a label of ours, and an instant in
flight without a heartbeat. Only writers beat whose `hoodie.clean.failed.writes.policy` is LAZY. With Hudi's defaults a
writer rolls back whoever is in flight beside it, or commits over what was committed meanwhile: rows go without an error.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from hudi_reconcile.core.errors import RefusedError

NEWEST = 20  # commits that are looked at
SETTINGS = (
    "hoodie.write.concurrency.mode=optimistic_concurrency_control, hoodie.clean.failed.writes.policy=LAZY, "
    "hoodie.write.lock.provider=org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
)


@dataclass(frozen=True, slots=True)
class Writers:
    """How many of the newest commits are not ours, and the instants in flight that have no heartbeat."""

    commits: int = 0
    foreign: int = 0
    without_heartbeat: tuple[str, ...] = ()


def foreign_writer(writers: Writers) -> str:
    """What to say where somebody else commits to the table too; empty where nobody does."""
    if not writers.foreign:
        return ""
    return (
        f"{writers.foreign} of the newest {writers.commits} commits are another writer's; Hudi does not record with which "
        "settings, and with its defaults beside this tool rows are lost without an error"
    )


def told_of(writers: Writers) -> tuple[str, ...]:
    """The note of a run beside another writer, with the settings that the other one needs."""
    said = foreign_writer(writers)
    return (f"{said}: it needs {SETTINGS}",) if said else ()


def default_writer(silent: Collection[str]) -> str:
    """What to say where writers are in flight that keep no heartbeat; empty where none is."""
    if not silent:
        return ""
    return (
        f"a writer with Hudi's default settings is in flight, or died so ({', '.join(silent)}: no heartbeat); beside it rows "
        "are lost without an error"
    )


def refuse_silent(table: str, silent: Collection[str]) -> None:
    """Raises RefusedError where a writer without heartbeat is in flight: who commits first, loses rows or has them lost."""
    why = default_writer(silent)
    if why:
        named = " ".join(f"--dead-writer {one}" for one in silent)
        raise RefusedError(
            f"table {table}: {why}; nothing was written beside it",
            fix="let it end, then run the same command again; if it died, run it again (it rolls its instant back) or, where "
            f"it never will run again, pull or apply with {named}; and give it {SETTINGS}",
        )


def dead_ones(table: str, silent: Collection[str], named: Collection[str]) -> tuple[str, ...]:
    """The instants that a person calls dead, oldest first. Raises RefusedError for one that is not in flight, or that lives."""
    others = sorted(set(named) - set(silent))
    if others:
        raise RefusedError(
            f"table {table}: --dead-writer {', '.join(others)}: no instant in flight without a heartbeat; those are: "
            f"{', '.join(silent) or 'none'}",
            fix="name one of them, or leave the option out",
        )
    return tuple(sorted(set(named)))
