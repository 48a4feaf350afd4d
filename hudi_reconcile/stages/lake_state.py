"""Refusals that concern the lake table itself: not adopted, not what the config says, not there. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from hudi_reconcile.core.adoption import adoption
from hudi_reconcile.core.errors import LakeError, RefusedError
from hudi_reconcile.core.values import LakeTable, SourceTable
from hudi_reconcile.ports import Origin
from hudi_reconcile.stages.request import TableJob

Command = Literal["pull", "apply"]


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
    reasons = getattr(adoption(table, source, job.partition_by), command)
    if job.adopt and not reasons:
        return
    whose = (
        f"table {job.name}: {job.lake_path} is a Hudi table made by another writer (ordering field: "
        f"{', '.join(table.ordering_fields) or 'none'})"
    )
    if not job.adopt:
        raise RefusedError(
            f"{whose}, and it is not adopted. {_known_of(table, origin())}",
            fix=f"see what it is and what will be done: hudi-reconcile doctor -t {job.name}; then set "
            f"tables[{job.name}]: lake: {{adopt: true}}; or only sweep it: hudi-reconcile sweep -t {job.name}",
        )
    raise RefusedError(
        f"{whose}, which a {command} cannot write right: {'; '.join(reasons)}",
        fix=f"only sweep it: hudi-reconcile sweep -t {job.name}; or pull into a new lake.path",
    )


def _known_of(table: LakeTable, origin: Origin) -> str:
    found = []
    if origin.streamer_checkpoint is not None:
        at = "" if origin.instant is None else f" of commit {origin.instant.completed}"
        found.append(f"HoodieStreamer's checkpoint is {origin.streamer_checkpoint!r} ({origin.streamer_key}{at})")
    if origin.key_generator is not None:
        found.append(f"keys are made by {origin.key_generator.rsplit('.', 1)[-1]} from {', '.join(table.record_key)}")
    return "; ".join(found)


def refuse_mismatch(job: TableJob, source: SourceTable, table: LakeTable) -> None:
    """Raises RefusedError where the table on disk has another type or record key than the config says."""
    if table.type != job.lake_type:
        raise RefusedError(
            f"table {job.name}: the config says {job.lake_type}, the table at {job.lake_path} is {table.type}",
            fix=f"set tables[{job.name}].lake.type: {table.type}",
        )
    key = tuple(column.lake_name for column in source.key_columns)
    if table.record_key != key:
        raise RefusedError(
            f"table {job.name}: the key is {', '.join(key)}, the lake's record key is {', '.join(table.record_key)}",
            fix=f"set tables[{job.name}].source.key to the columns of the lake's record key",
        )


def existing(job: TableJob, table: LakeTable | None) -> LakeTable:
    """The table that must be there. Raises LakeError where nothing is at the path: nothing can be compared."""
    if table is None:
        raise LakeError(
            f"table {job.name}: there is no Hudi table at {job.lake_path}",
            fix=f"pull it first: hudi-reconcile pull -t {job.name}",
        )
    return table
