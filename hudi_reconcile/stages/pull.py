"""The pull of one table: checkpoint, bound, one materialised read, one Hudi commit that carries the new checkpoint.

Order matters. The bound is taken before the rows are read; the checkpoint comes from the rows that were read, never from
a second query; rows and checkpoint land in the same commit, so a kill at any moment loses and repeats nothing visible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hudi_reconcile.core.carry import carried, carried_anew
from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan import Approval
from hudi_reconcile.core.result import Cost, Pulled, SideState, TableResult
from hudi_reconcile.core.values import Checkpoint, CheckpointAt, Instant, LakeTable, Moment, SourceTable
from hudi_reconcile.core.window import Window, full_window, is_empty, next_checkpoint, next_window
from hudi_reconcile.ports import Edges, Frame, Lake, NewTable, Source, Staged
from hudi_reconcile.stages.cut import cut_of
from hudi_reconcile.stages.keys import refuse_key_faults
from hudi_reconcile.stages.lake_state import UntrustedWindowError, refuse_foreign, refuse_mismatch
from hudi_reconcile.stages.overwrite import allowed, overwrites, refuse_torn
from hudi_reconcile.stages.request import TableJob
from hudi_reconcile.stages.watermarks import Watermark, watermark_of

NO_APPROVAL = Approval()
Land = Callable[[Frame, Checkpoint, dict[str, str]], Instant]


@dataclass(frozen=True, slots=True)
class _Start:
    """Everything that is settled before a row is read."""

    table: SourceTable
    watermark: Watermark
    existing: LakeTable | None
    before: CheckpointAt | None
    moment: Moment
    bound_micros: int | None
    window: Window
    notes: tuple[str, ...] = ()


def pull(job: TableJob, edges: Edges, *, full: bool, approval: Approval = NO_APPROVAL) -> TableResult:
    """Bring the lake up to the source's safe bound. `full` reads every row whatever the checkpoint says.

    Raises RefusedError for a lake table that this tool did not make or whose checkpoint is lost, and for a replacement
    that would delete more than is allowed; nothing is written then.
    """
    source, lake = edges.source, edges.lake
    with lake.lease(job.run_id):
        start = start_of(job, source, lake, full=full)
        if is_empty(start.window):
            return _result(job, start, None, start.before)
        start = _carry(job, start, frozenset(source.uncarried(start.table, start.window)))
        cut = cut_of(job, start.table, source)
        if start.existing is not None and start.window.before_micros is None and overwrites(job):
            return _overwrite(job, start, edges, approval)
        staged = source.staged(start.table, cut, start.window, start.bound_micros)
        if staged.rows == 0 and start.existing is not None:
            return _result(job, start, staged, start.before)
        return _result(job, start, staged, _write(job, start, staged, lake))


def start_of(job: TableJob, source: Source, lake: Lake, *, full: bool) -> _Start:
    """The start; of a full fetch where the config allows one in place of a window that cannot be trusted."""
    try:
        return _start(job, source, lake, full=full)
    except UntrustedWindowError as lost:
        if job.on_error != "full":
            raise
        start = _start(job, source, lake, full=True)
        return replace(start, notes=(*start.notes, f"every row was fetched (pull.on_error: full): {lost.message}"))


def _overwrite(job: TableJob, start: _Start, edges: Edges, approval: Approval) -> TableResult:
    """Make the source's rows all that the lake holds, in one commit."""
    source, lake, table = edges.source, edges.lake, start.existing
    if table is None:
        raise ValueError("there is nothing to replace")
    before = source.rows_now(start.table)
    staged = source.staged(start.table, cut_of(job, start.table, source), start.window, start.bound_micros)
    refuse_torn(job, staged.rows, before, source.rows_now(start.table))
    gone = 0

    def land(rows: Frame, checkpoint: Checkpoint, labels: dict[str, str]) -> Instant:
        nonlocal gone
        found = lake.would_overwrite(rows, table)
        allowed(job, found, staged.rows, approval)
        gone = found.gone_rows
        return lake.overwrite(rows, table, checkpoint, labels)

    after = _write(job, start, staged, lake, land)
    note = f"the whole table was replaced; {gone} of its rows were gone at the source"
    return _result(job, replace(start, notes=(*start.notes, note)), staged, after)


def _start(job: TableJob, source: Source, lake: Lake, *, full: bool) -> _Start:
    table = source.describe()
    watermark = watermark_of(job.name, job.watermark, table)
    existing = lake.look()
    table = table if existing is None else carried(table, existing)
    before = _checkpoint(job, table, existing, lake, full=full)
    refuse_key_faults(job.name, source.key_faults(table))
    moment = source.moment()
    bound = watermark.bound(moment, source.zone_offset_micros)
    whole = full or existing is None or job.strategy == "full" or bound is None
    if whole or bound is None:
        window = full_window(watermark.names)
    else:
        reached = None if before is None else before.checkpoint.watermark_micros
        window = next_window(watermark.names, reached, bound, overlap_micros=job.overlap_micros)
    return _Start(table, watermark, existing, before, moment, bound, window)


def _checkpoint(
    job: TableJob, table: SourceTable, existing: LakeTable | None, lake: Lake, *, full: bool
) -> CheckpointAt | None:
    if existing is None:
        return None
    refuse_foreign(job, existing, lake.origin)
    refuse_mismatch(job, table, existing)
    found = lake.checkpoint()
    if full:
        return found
    if found is None:
        raise UntrustedWindowError(
            f"table {job.name}: {job.lake_path} exists, but no commit on its timeline carries our checkpoint",
            fix=f"read everything once more: hudi-reconcile pull -t {job.name} --full",
        )
    if found.checkpoint.watermark != job.watermark:
        was = ", ".join(found.checkpoint.watermark) or "none"
        raise UntrustedWindowError(
            f"table {job.name}: the checkpoint was made with watermark {was}, the config says "
            f"{', '.join(job.watermark) or 'none'}",
            fix=f"read everything once more: hudi-reconcile pull -t {job.name} --full",
        )
    if found.checkpoint.source_identity != table.identity:
        raise RefusedError(
            f"table {job.name}: the checkpoint belongs to {found.checkpoint.source_identity}, "
            f"the source is {table.identity} (restored, moved or another table)",
            fix=f"sweep first, then read everything once more: hudi-reconcile pull -t {job.name} --full",
        )
    return found


def _carry(job: TableJob, start: _Start, uncarried: frozenset[str]) -> _Start:
    """Columns with values that no typed column holds: text in a new table; what a table has already is not changed."""
    typed = {*job.watermark, *(field.column for field in job.partition_by if field.transform != "identity")}
    if uncarried and (start.existing is not None or uncarried & typed):
        names = ", ".join(sorted(uncarried if start.existing is not None else uncarried & typed))
        raise RefusedError(
            f"table {job.name}: {names} hold values that the lake's column cannot hold "
            "(infinity, NaN decimals, dates BC, beyond 9999 or from 1582-10-05 to 1582-10-14, digits below microseconds)",
            fix="leave those rows out with source.where, or those columns with source.columns; "
            "a new lake.path would hold them as text",
        )
    if start.existing is not None:
        return start
    table = carried_anew(start.table, uncarried)
    texts = [c.name for c, was in zip(table.columns, start.table.columns, strict=True) if c.kind is not was.kind]
    notes = (f"held as text, since no lake type is exact for their values: {', '.join(texts)}",) if texts else ()
    return replace(start, table=table, notes=notes)


def _write(job: TableJob, start: _Start, staged: Staged, lake: Lake, land: Land | None = None) -> CheckpointAt:
    earlier = None if start.before is None else start.before.checkpoint
    same = earlier is not None and earlier.watermark == start.watermark.names
    reached = next_checkpoint(earlier.watermark_micros if earlier and same else None, staged.greatest_micros)
    read_seq = max(start.moment.clock_micros, 0 if earlier is None else earlier.read_seq + 1)
    checkpoint = Checkpoint(
        strategy=job.strategy,
        watermark=start.watermark.names,
        watermark_micros=reached,
        text=start.watermark.text(reached),
        read_seq=read_seq,
        source_identity=start.table.identity,
    )
    rows = lake.batch(staged.frame, start.table.columns, job.partition_by, read_seq)
    labels = {"kind": "pull", "run_id": job.run_id}
    if start.existing is None:
        instant = lake.create(rows, _new_table(job, start.table), checkpoint, labels)
    elif land is not None:
        instant = land(rows, checkpoint, labels)
    else:
        instant = lake.upsert(rows, start.existing, checkpoint, labels)
    return CheckpointAt(checkpoint, instant)


def _new_table(job: TableJob, table: SourceTable) -> NewTable:
    key = tuple(column.lake_name for column in table.key_columns)
    return NewTable(job.name, job.lake_type, key, job.partition_by, cdc=job.cdc)


def _result(job: TableJob, start: _Start, staged: Staged | None, after: CheckpointAt | None) -> TableResult:
    rows = 0 if staged is None else staged.rows
    wrote: Instant | None = after.instant if after is not None and after is not start.before else None
    text = None if after is None else after.checkpoint.text
    return TableResult(
        name=job.name,
        outcome=Outcome.PULLED,
        source=SideState(rows, start.moment.snapshot),
        checkpoint=text,
        cost=Cost(source_rows_fetched=rows),
        notes=start.notes,
        columns={"source": {column.name: column.declared for column in start.table.columns}},
        pull=Pulled(
            rows=rows,
            mode="incremental" if start.window.before_micros is not None else "full",
            checkpoint_before=None if start.before is None else start.before.checkpoint.text,
            checkpoint_after=text,
            instant=None if wrote is None else wrote.completed,
            null_watermark_rows=0 if staged is None else staged.null_watermark_rows,
            bound=start.watermark.text(start.bound_micros),
            bound_why=start.moment.bound_why,
        ),
    )
