"""What a pull or a correction does where the source's columns are no longer the lake's: the decision, asked and carried out.

A pull takes over whatever can be; a correction writes what was compared, so it widens types and nothing more. The columns
of another tool's table are that tool's: they stay as they are, and `core/lake/ownership.py` refused by name what
they cannot hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.result_parts import SchemaChange
from hudi_reconcile.core.tables.schema_evolution import (
    Evolution,
    PullRecord,
    describe_change,
    evolve,
    note_returned_column,
)
from hudi_reconcile.core.tables.values import Checkpoint, LakeTable, SourceTable
from hudi_reconcile.ports import AS_SOURCE, BatchShape
from hudi_reconcile.stages.job import TableJob


class CannotFollowError(RefusedError):
    """The lake's columns cannot follow the source's. What is there can be compared all the same."""

    @property
    def type(self) -> str:
        """A refusal like any other to those who read the result."""
        return RefusedError.__name__


@dataclass(frozen=True, slots=True)
class Followed:
    """The lake table as the next commit makes it, how its rows differ from the source's, and what is said about it."""

    table: LakeTable
    shape: BatchShape = AS_SOURCE
    changes: tuple[SchemaChange, ...] = ()
    notes: tuple[str, ...] = ()


def follow(job: TableJob, source: SourceTable, lake: LakeTable, checkpoint: Checkpoint | None) -> Followed:
    """The lake table that follows the source, for a pull. Raises CannotFollowError that names every column that cannot."""
    if not lake.owned:
        return Followed(lake)
    evolution = _evolve(job, source, lake, checkpoint)
    types = {column.name: column.type for column in lake.columns}
    notes = tuple(describe_change(change, types.get(change.lake_column or "")) for change in evolution.changes)
    back = PullRecord.of(checkpoint).dropped & types.keys() & {column.lake_name for column in source.columns}
    notes += tuple(note_returned_column(name) for name in sorted(back))
    return Followed(
        replace(lake, columns=evolution.columns), BatchShape(dropped=evolution.dropped), evolution.changes, notes
    )


def follow_for_correction(
    job: TableJob, source: SourceTable, lake: LakeTable, checkpoint: Checkpoint | None
) -> Followed:
    """The lake table that a correction writes to. Columns that only the source has are left to the next pull.

    Raises RefusedError for a column that cannot be written, and for one that the source dropped since the last pull: only
    a pull decides what becomes of it.
    """
    if not lake.owned:
        return Followed(lake)
    lake_names = {column.name for column in lake.columns}
    left_out = frozenset(column.lake_name for column in source.columns) - lake_names
    met = replace(source, columns=tuple(column for column in source.columns if column.lake_name in lake_names))
    evolution = _evolve(job, met, lake, checkpoint)
    fresh = [change.column for change in evolution.changes if change.what == "dropped"]
    if fresh:
        raise RefusedError(
            f"table {job.name}: {', '.join(fresh)} went at the source since the last pull; nothing was written",
            fix=f"let a pull take that over, then sweep again: hudi-reconcile pull -t {job.name}",
        )
    types = {column.name: column.type for column in lake.columns}
    notes = tuple(describe_change(change, types.get(change.lake_column or "")) for change in evolution.changes)
    return Followed(
        replace(lake, columns=evolution.columns), BatchShape(evolution.dropped, left_out), evolution.changes, notes
    )


def _evolve(job: TableJob, source: SourceTable, lake: LakeTable, checkpoint: Checkpoint | None) -> Evolution:
    evolution = evolve(
        source, lake, PullRecord.of(checkpoint), partition_by=job.lake.partition_by, exclude=job.columns.exclude
    )
    if evolution.refused:
        listed = "; ".join(f"{refusal.column}: {refusal.why}" for refusal in evolution.refused)
        fixes = "; ".join(f"{refusal.column}: {refusal.fix}" for refusal in evolution.refused)
        raise CannotFollowError(
            f"table {job.name}: the lake's columns cannot follow the source's, and nothing was written. {listed}",
            fix=evolution.refused[0].fix if len(evolution.refused) == 1 else fixes,
        )
    return evolution
