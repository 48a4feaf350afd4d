"""A sweep of a part of a table: its partitions, its way through the segments, and what is left behind for the next one."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from hashlib import sha256

from hudi_reconcile.core.plan.plan import write_canonical_bytes
from hudi_reconcile.core.pull.cursor import watermark_text
from hudi_reconcile.core.result_parts import CoverageSummary, Unverified
from hudi_reconcile.core.sweep.coverage import (
    Coverage,
    SweepReach,
    continue_coverage,
    count_all_segments,
    measure_age,
    order_by_age,
    renew_coverage,
)
from hudi_reconcile.core.sweep.segments import HashSegments, Segmentation, SegmentSet
from hudi_reconcile.core.tables.agreement import exclude_fix
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.core.tables.partitions import (
    PartitionRows,
    PartitionScope,
    PathRule,
    build_near,
    derive_path_rule,
    scope_of_paths,
    select_derived,
)
from hudi_reconcile.core.tables.values import LakePin
from hudi_reconcile.ports import Clock, Lake, Source
from hudi_reconcile.stages.comparison import TablePair, cut_keys
from hudi_reconcile.stages.job import PartialSweep, TableJob
from hudi_reconcile.stages.requirements import write_schema
from hudi_reconcile.stages.sweep.scan import Scan
from hudi_reconcile.stages.sweep.two_looks import LookResult, pin_lake

WHOLE = PartialSweep()


@dataclass(frozen=True, slots=True)
class Portion:
    """What of a table is compared, and on which segments. `coverage` is what was known before; `walk` None: no budget."""

    part: PartialSweep
    cut: Segmentation
    coverage: Coverage
    scope: PartitionScope | None = None
    lake: tuple[PartitionRows, ...] = ()
    walk: Scan | None = None


def cut_portion(
    job: TableJob, part: PartialSweep, pair: TablePair, *, pushdown: bool, source: Source, lake: Lake, clock: Clock
) -> Portion:
    """Cut the table, and say what of it is compared.

    Raises UsageError for partitions that there cannot be, or that the source's rows do not tell.
    """
    begun = clock.monotonic_seconds()
    partitions, listed = _partitions(job, part, pair, lake)
    subject = digest_subject(job, part, pair)
    if part.budget_seconds is None and not part.is_sparing:
        cut = cut_keys(job.sweep, pair.table, source, md5=pushdown)
        return Portion(part, cut, Coverage(subject, cut, job.sweep.segments), partitions, listed)
    in_parts = source.tells_buckets(pair.table, pair.agreement)
    fresh = cut_keys(job.sweep, pair.table, source, md5=in_parts)
    cut, earlier = continue_coverage(part.earlier, subject, fresh, job.sweep.segments)
    at_once = isinstance(cut, HashSegments) and cut.by == "xxhash64"
    order = order_by_age(earlier, count_all_segments(cut))
    until = math.inf if part.budget_seconds is None else begun + part.budget_seconds
    walk = Scan(clock, order, until, at_once, part.max_duty, part.pause)
    coverage = Coverage(subject, cut, job.sweep.segments) if earlier is None else earlier
    return Portion(part, cut, coverage, partitions, listed, walk)


def list_partition_columns(job: TableJob, part: PartialSweep) -> frozenset[str]:
    """Source columns that tell a row's partition: read even where they are excluded from the comparison."""
    if not part.partitions:
        return frozenset()
    at_source = {
        lake: source for source, lake in job.columns.rename.items()
    }  # a plain partition column is named as in the lake
    return frozenset(
        at_source.get(field.column, field.column) if field.transform == "identity" else field.column
        for field in job.lake.partition_by
    )


def find_partitions(job: TableJob, paths: tuple[str, ...], pair: TablePair) -> PartitionScope | None:
    """The partitions of a plan; None where it is about all. Raises UsageError where rows no longer tell them."""
    if not paths:
        return None
    rule = _derive_rule(job, pair)
    return PartitionScope(rule, paths, build_near(rule, paths))


def _derive_rule(job: TableJob, pair: TablePair) -> PathRule:
    masked = job.columns.masking.named_among(column.name for column in pair.described.columns)
    return derive_path_rule(job.name, pair.table, pair.lake_table, job.lake.partition_by, masked=masked)


def measure_reach(job: TableJob, portion: Portion, comparison: LookResult, table_rows: int) -> SweepReach:
    """How far the sweep came; `table_rows` is the source's own count of all rows."""
    segments = count_all_segments(portion.cut)
    done = segments if comparison.first.walked is None else len(comparison.first.walked.ids)
    return SweepReach(
        job.name,
        segments,
        done,
        portion.part.partitions,
        portion.lake,
        portion.part.budget_text,
        max(0, table_rows - comparison.source_rows),
    )


def build_next_coverage(
    job: TableJob, portion: Portion, comparison: LookResult, begun_micros: int, met: SegmentSet | None = None
) -> Coverage | None:
    """The coverage after this sweep; None where it adds nothing: partitions alone say nothing of a segment.

    Whenever a segment's turn came, it was compared with the lake as it was pinned when the sweep began. `met`: those alone
    were compared.
    """
    if comparison.first.walked is None and portion.scope is not None:
        return None
    done = comparison.first.walked if met is None else met
    segments = range(count_all_segments(portion.cut)) if done is None else done.ids
    return renew_coverage(portion.coverage, segments, begun_micros, job.run_id)


def describe_coverage(portion: Portion, end: SweepReach, coverage: Coverage | None) -> CoverageSummary:
    """What the result says of it."""
    old = measure_age(portion.coverage if coverage is None else coverage)
    others = sum(partition.rows for partition in end.others)
    return CoverageSummary(
        segments=end.segments,
        compared=end.compared,
        never_compared=old.never,
        oldest_utc=None if old.oldest_micros is None else watermark_text(Kind.TIMESTAMPTZ, old.oldest_micros),
        budget=portion.part.budget_text or None,
        budget_seconds=portion.part.budget_seconds,
        partitions=end.asked,
        lake_rows_left_out=None if end.compared < end.segments else others,
        source_rows_left_out=0 if end.is_whole else end.source_rows_left_out,
    )


def _partitions(
    job: TableJob, part: PartialSweep, pair: TablePair, lake: Lake
) -> tuple[PartitionScope | None, tuple[PartitionRows, ...]]:
    if not part.partitions:
        return None, ()
    rule = _derive_rule(job, pair)
    listed = lake.list_partitions(pin_lake(lake)[0], rule)
    return scope_of_paths(job.name, rule, part.partitions, listed), listed


def check_derived(
    job: TableJob, scope: PartitionScope | None, pair: TablePair, lake: Lake, pin: LakePin
) -> tuple[Unverified, ...]:
    """Rows at the pin whose derived partition column is not what their own columns give: no source column meets it.

    A query that asks for a partition would not find them, however equal the rest is. A sweep of partitions tells by itself
    which of its rows lie elsewhere.
    """
    if scope is not None:
        return ()
    rule = select_derived(pair.table, pair.lake_table, job.lake.partition_by, job.columns.exclude)
    rows = 0 if rule is None else sum(partition.astray for partition in lake.list_partitions(pin, rule))
    if rule is None or not rows:
        return ()
    names = ", ".join(field.lake_name for field in rule.fields)
    why = f"{rows} lake rows have another value there than {', '.join(field.column.lake_name for field in rule.fields)} gives"
    fix = f"name them: hudi-reconcile sweep -t {shlex.quote(job.name)} --where-partition PATH; {exclude_fix(names)}"
    return (Unverified("column", names, why, fix),)


def digest_subject(job: TableJob, part: PartialSweep, pair: TablePair) -> str:
    """A digest of what is compared: where anything of it changes, no earlier comparison counts."""
    named = {
        "source": pair.table.identity,
        "where": job.source.where,
        "lake": job.lake.path,
        "key": list(pair.table.key),
        "columns": write_schema(pair.agreement),
        "tolerance": {name: f"{limit:f}" for name, limit in job.columns.tolerance.items()},
        "partitions": sorted(set(part.partitions)),
    }
    return sha256(write_canonical_bytes(named)).hexdigest()
