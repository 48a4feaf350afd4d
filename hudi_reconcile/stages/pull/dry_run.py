"""What a pull would do, settled exactly as the pull settles it, and then not done: no row is read, nothing is written."""

from __future__ import annotations

from dataclasses import dataclass

from hudi_reconcile.core.pull.cursor import Mark, is_empty
from hudi_reconcile.core.pull.read_plan import ReadPlan
from hudi_reconcile.core.result_parts import SchemaChange
from hudi_reconcile.ports import Edges
from hudi_reconcile.stages.comparison import cut_keys
from hudi_reconcile.stages.job import TableJob
from hudi_reconcile.stages.pull.replace import is_overwrite
from hudi_reconcile.stages.pull.start import choose_start, follow_schema


@dataclass(frozen=True, slots=True)
class WouldCreate:
    """The Hudi table that the pull would make: columns as (lake name, the source's type)."""

    type: str
    record_key: tuple[str, ...]
    partition_by: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PullPlan:
    """A pull that has not happened. `after` and `before` are the window's ends, None an open one.

    `read` is None where the window can hold no row; `create` is None where the lake table is there already, whose columns
    would follow the source's by `schema`.
    """

    table: str
    strategy: str
    mode: str
    lake_path: str
    checkpoint: str | None
    after: str | None
    before: str | None
    bound: str | None
    bound_why: str
    connections: int
    read: ReadPlan | None
    create: WouldCreate | None
    notes: tuple[str, ...] = ()
    schema: tuple[SchemaChange, ...] = ()


def dry_run(job: TableJob, edges: Edges, *, full: bool) -> PullPlan:
    """The plan of the pull. Refuses what the pull would refuse before it reads; takes no lease."""
    source = edges.source
    start = follow_schema(job, choose_start(job, source, edges.lake, full=full))
    empty = is_empty(start.window)
    checkpoint = None if start.before is None else start.before.checkpoint.text
    lower, upper, is_full = start.window.lower, start.window.upper, start.whole
    bound = None if start.bound is None else start.watermark.text(Mark(start.bound))
    replaces = is_full and start.existing is not None and is_overwrite(job.pull)
    notes: tuple[str, ...] = ("the whole table would be replaced, within the policy's limits",) if replaces else ()
    if job.pull.pages.limit_rows is not None and start.bound is not None and not replaces:
        notes += (
            f"read in pages of {job.pull.pages.limit_rows:,} rows, each a commit; the parts are those of one read of all",
        )
    key = tuple(column.lake_name for column in start.table.key_columns)
    columns = tuple((column.lake_name, column.declared) for column in start.table.columns)
    partition_by = tuple(field.lake_name for field in job.lake.partition_by)
    return PullPlan(
        table=job.name,
        strategy=job.pull.strategy,
        mode="full" if is_full else "incremental",
        lake_path=job.lake.path,
        checkpoint=checkpoint,
        after=None if is_full else start.watermark.text(None if lower is None else lower.mark),
        before=None if is_full or upper is None else bound,
        bound=bound,
        bound_why=start.watermark.bound_why(start.moment) or start.moment.bound_why,
        connections=source.connections,
        read=None if empty else source.plan_read(start.table, cut_keys(job.sweep, start.table, source), start.window),
        create=None if start.existing is not None else WouldCreate(job.lake.type, key, partition_by, columns),
        notes=(*start.notes, *notes),
        schema=start.schema,
    )
