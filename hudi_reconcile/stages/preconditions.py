"""Refusals before anything is written: by what the lake table is, by writers in flight, by source keys that name no row.

Beside a writer that keeps no heartbeat (Hudi's defaults keep none) nothing is written: our commit would have its files
overtaken by ours, or its instant rolled back by our cleaning, while it still writes; its rows are lost then, and it may not
even fail.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Literal

from hudi_reconcile.core.errors import LakeError, RefusedError
from hudi_reconcile.core.lake.ownership import check_dead_writers, judge_adoption, refuse_silent
from hudi_reconcile.core.notes import Note, Stake
from hudi_reconcile.core.tables.values import Instant, LakeTable, SourceTable
from hudi_reconcile.ports import KeyFaults, Lake, Origin
from hudi_reconcile.stages.job import TableJob

Command = Literal["pull", "apply", "undo", "state set"]


class UntrustedWindowError(RefusedError):
    """The checkpoint is lost or of other columns: no incremental window can start at it. A full fetch would heal it."""

    @property
    def type(self) -> str:
        """A refusal like any other to those who read the result."""
        return RefusedError.__name__


def refuse_foreign(
    job: TableJob, source: SourceTable, table: LakeTable, origin: Callable[[], Origin], command: Command
) -> None:
    """Raises RefusedError for a table of another tool that was not adopted, or that cannot be written right.

    `origin` is asked only then: the message says whose the table is.
    """
    if table.owned:
        return
    judged = judge_adoption(table, source, job.lake.partition_by)
    reasons = judged.pull if command == "pull" else judged.apply
    if job.lake.adopt and not reasons:
        return
    whose = (
        f"table {job.name}: {job.lake.path} is a Hudi table made by another writer (ordering field: "
        f"{', '.join(table.ordering_fields) or 'none'})"
    )
    if not job.lake.adopt:
        raise RefusedError(
            f"{whose}, and it is not adopted. {_describe_known(table, origin())}",
            fix=f"see what it is and what will be done: hudi-reconcile doctor -t {job.name}; then set "
            f"tables[{job.name}]: lake: {{adopt: true}}; or only sweep it: hudi-reconcile sweep -t {job.name}",
        )
    raise RefusedError(
        f"{whose}, which {command} cannot write right: {'; '.join(reasons)}",
        fix=f"only sweep it: hudi-reconcile sweep -t {job.name}; or pull into a new lake.path",
    )


def _describe_known(table: LakeTable, origin: Origin) -> str:
    facts = []
    if origin.streamer_checkpoint is not None:
        at = "" if origin.instant is None else f" of commit {origin.instant.completed}"
        facts.append(f"HoodieStreamer's checkpoint is {origin.streamer_checkpoint!r} ({origin.streamer_key}{at})")
    if origin.key_generator is not None:
        facts.append(f"keys are made by {origin.key_generator.rsplit('.', 1)[-1]} from {', '.join(table.record_key)}")
    return "; ".join(facts)


def refuse_mismatch(job: TableJob, source: SourceTable, table: LakeTable) -> None:
    """Raises RefusedError where the table on disk has another type or record key than the config says."""
    if table.type != job.lake.type:
        raise RefusedError(
            f"table {job.name}: the config says {job.lake.type}, the table at {job.lake.path} is {table.type}",
            fix=f"set tables[{job.name}].lake.type: {table.type}",
        )
    key = tuple(column.lake_name for column in source.key_columns)
    if table.record_key != key:
        raise RefusedError(
            f"table {job.name}: the key is {', '.join(key)}, the lake's record key is {', '.join(table.record_key)}",
            fix=f"set tables[{job.name}].source.key to the columns of the lake's record key",
        )


def require_table(job: TableJob, table: LakeTable | None) -> LakeTable:
    """The table that must be there. Raises LakeError where nothing is at the path: nothing can be compared."""
    if table is None:
        raise LakeError(
            f"table {job.name}: there is no Hudi table at {job.lake.path}",
            fix=f"pull it first: hudi-reconcile pull -t {job.name}",
        )
    return table


def roll_back_dead_writers(job: TableJob, lake: Lake, dead: Collection[str]) -> tuple[str, ...]:
    """Roll back the instants that the operator declared dead; returns a note of them. The caller holds the lease.

    Raises RefusedError for one that is not in flight without a heartbeat, before any is rolled back.
    """
    if not dead:
        return ()
    instants = check_dead_writers(job.name, lake.list_silent_writers(), dead)
    for requested in instants:
        lake.roll_back(requested)
    return (f"rolled back, since --dead-writer says that its writer is dead: {', '.join(instants)}",)


def refuse_unsafe_writers(job: TableJob, lake: Lake) -> None:
    """Raises RefusedError where a writer without heartbeat is in flight."""
    refuse_silent(job.name, lake.list_silent_writers())


def find_late_writers(lake: Lake, commit: Instant) -> tuple[str, ...]:
    """What to say of a writer without heartbeat that began between our last question and our commit, and is still at it."""
    instants = [instant for instant in lake.list_silent_writers() if instant < commit.requested]
    if not instants:
        return ()
    names = ", ".join(instants)
    why = f"a writer without heartbeat ({names}) began just before our commit {commit.requested} and was in flight beside it"
    return (Note(Stake.ROWS, f"{why}: rows of its commit may be lost without an error; sweep when it has ended"),)


def refuse_key_faults(table: str, faults: KeyFaults) -> None:
    """Raises RefusedError where keys occur twice or are NULL throughout: comparing or writing them would be guessing."""
    if faults.null_keys:
        raise RefusedError(
            f"table {table}: {faults.null_keys} source rows have a NULL key, in every part of it",
            fix="choose other key columns (source.key), or leave those rows out with source.where",
        )
    if faults.duplicated_keys:
        raise RefusedError(
            f"table {table}: {faults.duplicated_keys} keys occur twice at the source, such as {', '.join(faults.sample)}",
            fix="choose key columns that name one row each (source.key)",
        )
