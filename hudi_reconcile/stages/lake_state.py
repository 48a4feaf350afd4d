"""Refusals that concern the lake table itself: not ours, not what the config says, not there. Pure."""

from __future__ import annotations

from hudi_reconcile.core.errors import LakeError, RefusedError
from hudi_reconcile.core.values import LakeTable, SourceTable
from hudi_reconcile.stages.request import TableJob


def refuse_foreign(job: TableJob, table: LakeTable) -> None:
    """Raises RefusedError for a Hudi table that this tool did not create: its ordering would drop corrections in silence."""
    if not table.owned:
        ordering = ", ".join(table.ordering_fields) or "none"
        raise RefusedError(
            f"table {job.name}: {job.lake_path} is a Hudi table made by another writer (ordering field: {ordering})",
            fix="pull into a new lake.path, or only sweep this one: hudi-reconcile sweep -t " + job.name,
        )


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
