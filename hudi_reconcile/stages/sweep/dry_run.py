"""What a sweep would compare and cost, settled exactly as the sweep settles it, and then not done. Never a verdict.

The source is asked what a sweep asks it first, and where it can digest rows, for a sample of them.
Of the lake no row is read, but where partitions are named: then their paths.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hudi_reconcile.core.result_parts import Unverified
from hudi_reconcile.core.sweep.segments import HashSegments, estimate_look
from hudi_reconcile.ports import Edges
from hudi_reconcile.stages.comparison import mark_altered
from hudi_reconcile.stages.job import PartialSweep, TableJob
from hudi_reconcile.stages.sweep.partial import WHOLE, list_partition_columns
from hudi_reconcile.stages.sweep.sweep import SweepContext, open_scope, prepare_sweep


@dataclass(frozen=True, slots=True)
class SweepEstimate:
    """One look at all rows where nothing differs: `seconds` until it ends, on a lake that is read as fast as it is hashed.

    `link_bytes` go from the source to Spark: rows, or where the source digests them the digests alone, which are not counted.
    `source_seconds` are those of one processor at the source, None where no sample tells it. `budget_segments` are those that
    the budget would suffice for, None without one.
    """

    seconds: float
    link_bytes: int
    source_seconds: float | None
    budget_segments: int | None


@dataclass(frozen=True, slots=True)
class Segments:
    """How many segments there are, and what of the key they are."""

    count: int
    by: str


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """A sweep that has not happened. `source_rows` is the engine's own estimate; `estimate` None: no sample could be had."""

    table: str
    checkpoint: str | None
    mode: Literal["pushdown", "stream"]
    mode_why: str
    segments: Segments
    source_rows: int
    connections: int
    compared_columns: tuple[str, ...]
    not_compared: tuple[Unverified, ...]
    budget: str | None
    estimate: SweepEstimate | None
    notes: tuple[str, ...]


def dry_run(job: TableJob, edges: Edges, part: PartialSweep = WHOLE) -> SweepPlan:
    """The plan of the sweep. Raises what the sweep would raise before it reads rows."""
    source = edges.source
    seen, watermark = open_scope(job, source, edges.lake, list_partition_columns(job, part))
    pair = mark_altered(job, seen.pair, source.find_altered(seen.pair.declared))
    context = prepare_sweep(job, pair, watermark, edges, part)
    by_hash = isinstance(context.cut, HashSegments)
    estimate, notes = _estimate(context, edges, part)
    if part.partitions:
        named = ", ".join(part.partitions)
        notes += (f"only partitions {named}: which rows lie there, Spark tells, so the figures are of the whole table",)
    return SweepPlan(
        table=job.name,
        checkpoint=None if seen.checkpoint is None else seen.checkpoint.checkpoint.text,
        mode="pushdown" if context.mode.pushdown else "stream",
        mode_why=context.mode.why,
        segments=Segments(
            context.cut.count, "hash buckets of the key" if by_hash else f"ranges of {pair.table.key[0]}"
        ),
        source_rows=pair.table.rows_estimate,
        connections=source.connections,
        compared_columns=tuple(item.column.name for item in pair.agreement.columns),
        not_compared=pair.unverified,
        budget=part.budget_text or None,
        estimate=estimate,
        notes=notes,
    )


def _estimate(context: SweepContext, edges: Edges, part: PartialSweep) -> tuple[SweepEstimate | None, tuple[str, ...]]:
    table, agreement = context.pair.table, context.pair.agreement
    hindrance = edges.source.find_hindrance(table, agreement)
    if hindrance:
        return None, (f"no estimate: {hindrance}; the cost of the last sweep is in its result, under `cost`",)
    probe = edges.source.probe(table, agreement)
    took = estimate_look(probe, table.rows_estimate, cores=edges.source.cores)
    inside = context.mode.pushdown
    seconds = took.pushed_seconds if inside else took.streamed_seconds
    within = None
    if part.budget_seconds is not None:
        share = 1.0 if seconds <= part.budget_seconds else part.budget_seconds / seconds
        within = max(1, int(context.cut.count * share))
    return (
        SweepEstimate(
            seconds=round(seconds, 1),
            link_bytes=0 if inside else took.link_bytes,
            source_seconds=round(took.digest_seconds, 1) if inside else None,
            budget_segments=within,
        ),
        ("the estimate is of one look where nothing differs; each segment that differs is read twice more",),
    )
