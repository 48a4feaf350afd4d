"""A table's checkpoint by hand: what it is and which commit carries it, and another one in an empty commit of its own.

Decides what may be set. It writes no row: the next pull reads from there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal

from hudi_reconcile.core.errors import RefusedError, UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.pull.cursor import Mark, rank, watermark_micros
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import Pulled, SideState
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.core.tables.values import Checkpoint, CheckpointAt, LakeTable, Moment
from hudi_reconcile.ports import Edges, Lake, Origin, Source
from hudi_reconcile.stages.job import TableJob
from hudi_reconcile.stages.preconditions import refuse_foreign, refuse_mismatch, refuse_unsafe_writers, require_table
from hudi_reconcile.stages.watermark import Watermark, choose_watermark


@dataclass(frozen=True, slots=True)
class TableState:
    """What a lake table says of how far it was pulled; `table` is None where there is none."""

    table: LakeTable | None
    checkpoint: CheckpointAt | None
    origin: Origin


def read_state(lake: Lake) -> TableState:
    """The newest checkpoint of ours, and what another writer left. Reads the timeline only."""
    table = lake.look()
    if table is None:
        return TableState(None, None, Origin())
    return TableState(table, lake.find_checkpoint(), lake.read_origin())


def set_state(job: TableJob, edges: Edges, value: str | None, *, by: str) -> TableResult:
    """Let the next pull begin after `value`; None: at the beginning. Commits the new checkpoint and no row.

    Raises UsageError for a value that is none of the table's watermark or lies above the safe bound, RefusedError for a
    table that this tool did not make, and beside a writer with Hudi's default settings in flight.
    """
    source, lake = edges.source, edges.lake
    with lake.lease(job.run_id):
        described = source.describe()
        table = require_table(job, lake.look())
        refuse_mismatch(job, described, table)
        refuse_foreign(job, described, table, lake.read_origin, "state set")
        refuse_unsafe_writers(job, lake)  # our cleaning would roll back what it is writing
        watermark = choose_watermark(job, described)
        moment = source.read_moment()
        mark = None if value is None else _mark(job, watermark, value, source, moment)
        before = lake.find_checkpoint()
        read_seq = max(moment.clock_micros, 0 if before is None else before.checkpoint.read_seq + 1)
        blank = Checkpoint(job.pull.strategy, watermark.names, None, None, read_seq, described.identity)
        if before is not None:
            kept = before.checkpoint
            blank = replace(blank, columns=kept.columns, dropped=kept.dropped, where=kept.where, timeline=kept.timeline)
            blank = replace(blank, as_of_micros=kept.as_of_micros, position=kept.position)
        checkpoint = watermark.set_mark(blank, mark)
        action = "reset" if value is None else "set"
        labels = {**job.labels("state"), "state": action, "by": by}
        instant = lake.mark(table, checkpoint, labels)
    was = None if before is None else before.checkpoint.text
    return TableResult(
        name=job.name,
        outcome=Outcome.PULLED,
        source=SideState(0, moment.snapshot),
        checkpoint=checkpoint.text,
        notes=(
            f"checkpoint {action} by {by}: {was or 'none'} -> {checkpoint.text or 'none'}; no row was read or written",
        ),
        pull=Pulled(0, "incremental", was, checkpoint.text, instant.completed),
    )


def _mark(job: TableJob, watermark: Watermark, value: str, source: Source, moment: Moment) -> Mark:
    """What a person wrote, as the result shows it: a time, a number or text; after a comma the id."""
    if not watermark.moving:
        raise UsageError(
            f"table {job.name}: strategy {job.pull.strategy} has no watermark, so there is no checkpoint to set",
            fix=f"hudi-reconcile pull -t {job.name} reads every row",
        )
    has_id = watermark.order.id_column is not None
    head, _, tail = value.partition(",") if has_id else (value, "", "")
    at_id = _number(tail.strip()) if tail else None
    bound = watermark.bound(moment, source.zone_offset_micros)
    if bound is None:
        return Mark(head if watermark.kind is Kind.TEXT else _number(head), at_id)
    if watermark.by_version:
        return _refuse_above_bound(job, watermark, Mark(_number(head)), bound)
    try:
        micros = watermark_micros(watermark.kind, head)
    except ValueError as error:
        example = watermark.text(Mark(bound))
        raise UsageError(f"--checkpoint: {error}", fix=f"write it like {example}, the safe bound of now") from None
    return _refuse_above_bound(job, watermark, Mark(micros, at_id), bound)


def _refuse_above_bound(job: TableJob, watermark: Watermark, mark: Mark, bound: int) -> Mark:
    if rank(Mark(mark.value)) >= rank(Mark(bound)):
        raise RefusedError(
            f"table {job.name}: --checkpoint lies at or above the safe bound {watermark.text(Mark(bound))}: "
            "rows that are still to be committed would never be pulled",
            fix="name an earlier one",
        )
    return mark


def _number(text: str) -> Decimal:
    if not re.fullmatch(r"-?[0-9]+([.][0-9]+)?", text):
        raise UsageError(f"--checkpoint: {text} is no number", fix="write it as the last pull's checkpoint is shown")
    return Decimal(text)
