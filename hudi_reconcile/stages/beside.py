"""What is written beside another writer's instant in flight: nothing, where that writer keeps no heartbeat.

Hudi's defaults keep none. Our commit would have its files overtaken by ours, or its instant rolled back by our cleaning, while
it still writes; its rows are lost then, and it may not even fail.
"""

from __future__ import annotations

from collections.abc import Collection

from hudi_reconcile.core.values import Instant
from hudi_reconcile.core.writers import dead_ones, refuse_silent
from hudi_reconcile.ports import Lake
from hudi_reconcile.stages.request import TableJob


def clear_way(job: TableJob, lake: Lake, dead: Collection[str]) -> tuple[str, ...]:
    """Roll back the instants that a person calls dead; returns a note of them. Wants the lease.

    Raises RefusedError for one that is not in flight without a heartbeat, before any is rolled back.
    """
    if not dead:
        return ()
    found = dead_ones(job.name, lake.silent_writers(), dead)
    for requested in found:
        lake.roll_back(requested)
    return (f"rolled back, since --dead-writer says that its writer is dead: {', '.join(found)}",)


def refuse_beside(job: TableJob, lake: Lake) -> None:
    """Raises RefusedError where a writer without heartbeat is in flight."""
    refuse_silent(job.name, lake.silent_writers())


def slipped_in(lake: Lake, commit: Instant) -> tuple[str, ...]:
    """What to say of a writer without heartbeat that began between our last question and our commit, and is still at it."""
    found = [one for one in lake.silent_writers() if one < commit.requested]
    if not found:
        return ()
    names = ", ".join(found)
    why = f"a writer without heartbeat ({names}) began just before our commit {commit.requested} and was in flight beside it"
    return (f"{why}: rows of its commit may be lost without an error; sweep when it has ended",)
