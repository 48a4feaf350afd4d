"""What the comparison of one table covers: its two sides, which columns meet and how, which do not, and how keys are cut.

Used by the sweep and by the apply, so that both say the same of one table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.notes import Note, Stake
from hudi_reconcile.core.result_parts import Precision, SchemaChange, Unverified
from hudi_reconcile.core.sweep.segments import HashBy, Segmentation, SegmentSet, choose, refine
from hudi_reconcile.core.tables.agreement import Agreement, ComparedColumn, agree, drop_columns, exclude_fix
from hudi_reconcile.core.tables.canonical_text import SegmentSum
from hudi_reconcile.core.tables.key_encoding import MOST_ASKED
from hudi_reconcile.core.tables.kinds import TOLERANCE_KINDS, Kind
from hudi_reconcile.core.tables.masking import list_shown_columns, note_masking
from hudi_reconcile.core.tables.partitions import PartitionScope, list_whole_columns
from hudi_reconcile.core.tables.schema_drift import Columns, list_changes
from hudi_reconcile.core.tables.schema_evolution import NOTHING_PULLED, PullRecord, encode_columns
from hudi_reconcile.core.tables.values import Checkpoint, LakePin, LakeTable, SourceTable
from hudi_reconcile.ports import Comparer, Frame, Lake, Look, SegmentDigest, Source, Survey
from hudi_reconcile.stages.job import ColumnSettings, SweepSettings, TableJob
from hudi_reconcile.stages.watermark import Watermark


@dataclass(frozen=True, slots=True)
class TablePair:
    """One table on both sides, before a row is read.

    `described` is the source as it says itself, `declared` without what is not even read, `table` as it is read, `types` as
    both sides declare it.
    """

    described: SourceTable
    table: SourceTable
    lake_table: LakeTable
    agreement: Agreement
    schema: tuple[SchemaChange, ...]
    unverified: tuple[Unverified, ...]
    types: Mapping[str, Mapping[str, str]]
    declared: SourceTable
    left_out: frozenset[str]
    dropped: frozenset[str] = frozenset()


def pair_tables(
    job: TableJob, described: SourceTable, lake_table: LakeTable, source: Source, *, past: PullRecord
) -> TablePair:
    """The columns as they meet for a correction, which writes whole rows, with the values that the read would alter."""
    pair = match_columns(job, described, lake_table, whole=True, past=past)
    return mark_altered(job, pair, source.find_altered(pair.declared))


def match_columns(
    job: TableJob,
    described: SourceTable,
    lake_table: LakeTable,
    *,
    whole: bool = False,
    past: PullRecord = NOTHING_PULLED,
    also: frozenset[str] = frozenset(),
) -> TablePair:
    """Match the columns; no value was looked at yet. `past` is the last pull's record.

    Excluded columns are not even read, but for key, watermark and those named `also`, or for `whole` rows, as a correction
    writes them. Raises UsageError for a tolerance on a column that cannot have one.
    """
    refuse_tolerance(job, described)
    refuse_mask(job, described, lake_table)
    refuse_masked_path(job, described, lake_table)
    left_out = job.columns.exclude - {*job.pull.moving, *also}
    declared = described if whole else drop_columns(described, left_out)
    table = encode_columns(declared, lake_table)
    agreement = agree(
        table,
        lake_table,
        watermark=job.pull.watermark,
        incrementing=job.pull.incrementing,
        exclude=job.columns.exclude,
        partition_by=job.lake.partition_by,
        tolerance=job.columns.tolerance,
        dropped=past.dropped,
    )
    types = _types(declared, lake_table)
    pair = TablePair(described, table, lake_table, agreement, (), (), types, declared, left_out, past.dropped)
    return mark_altered(job, pair, ())


def mark_altered(job: TableJob, pair: TablePair, altered: Iterable[str]) -> TablePair:
    """The pair that knows which columns hold values that the read alters: these are not compared."""
    declared, altered_names = pair.declared, frozenset(altered)
    typed = {column.name for column in pair.table.columns if column.kind is declared.column(column.name).kind}
    known = (
        pair.lake_table,
        pair.agreement,
        job.lake.partition_by,
        job.columns.exclude,
        altered_names - typed,
        pair.dropped,
    )
    unverified = (_describe_altered(name) for name in sorted(altered_names & typed - pair.left_out))
    listed = list_changes(Columns(declared, *known), job.columns.known)
    return replace(pair, schema=listed, unverified=(*pair.agreement.unverified, *unverified))


def refuse_tolerance(job: TableJob, table: SourceTable) -> None:
    """Raises UsageError for a tolerance on a column that is missing, no number, or part of the key or watermark."""
    kinds = {column.name: column.kind for column in table.columns}
    for name in job.columns.tolerance:
        why = _no_tolerance(name, kinds.get(name), job.pull.moving, table)
        if why:
            numbers = ", ".join(c for c, kind in kinds.items() if kind in TOLERANCE_KINDS and c not in table.key)
            raise UsageError(
                f"table {job.name}: compare.tolerance names {name}, {why}",
                fix=f"numeric columns are: {numbers or 'none'}",
            )


def measure_precision(pair: TablePair, comparer: Comparer, rows: Callable[[], Frame]) -> tuple[Precision, ...]:
    """Every column that meets on fewer digits than the source has; the source is read only where there is one."""
    cut = pair.agreement.cut
    hidden = comparer.count_hidden_rows(rows()) if cut else {}
    return tuple(
        Precision(item.column.name, item.column.declared, item.lake_type, item.cut_to, hidden[item.column.name])
        for item in cut
    )


def list_hidden_digits(pair: TablePair, precision: tuple[Precision, ...]) -> tuple[Unverified, ...]:
    """The columns of which rows have more digits than were compared: what was cut off was not compared."""
    items = {item.column.name: item for item in pair.agreement.cut}
    return tuple(
        Unverified(
            "column",
            entry.column,
            f"source {entry.source} was compared with lake {entry.lake} to {entry.compared}; "
            f"{entry.rows_hidden} {'row has' if entry.rows_hidden == 1 else 'rows have'} more at the source",
            _precision_fix(items[entry.column]),
        )
        for entry in precision
        if entry.rows_hidden
    )


def note_settings(columns: ColumnSettings, pair: TablePair) -> tuple[str, ...]:
    """What the config leaves out, maps and allows for, one line each; and what it would leave out that is nowhere."""
    notes = list[str]()
    there = {column.name for column in pair.described.columns} | {column.name for column in pair.lake_table.columns}
    if absent := sorted(columns.exclude - there):
        notes.append(Note(Stake.PROOF, f"compare.exclude names what neither side has: {', '.join(absent)}"))
    if keys := sorted(columns.exclude & {*pair.table.key}):
        notes.append(f"compare.exclude names {', '.join(keys)}, of the key: keys are always compared")
    if left_out := sorted(columns.exclude & there - {*pair.table.key}):
        notes.append(f"left out on purpose (compare.exclude): {', '.join(left_out)}")
    if columns.rename:
        pairs = ", ".join(f"{source} is {lake} in the lake" for source, lake in columns.rename.items())
        notes.append(f"compared under another name (compare.rename): {pairs}")
    if columns.tolerance:
        allowed = ", ".join(f"{name} up to {limit:f}" for name, limit in columns.tolerance.items())
        notes.append(f"differences allowed (compare.tolerance), unequal segments joined row by row: {allowed}")
    return tuple(notes)


def note_masks(job: TableJob, pair: TablePair) -> tuple[str, ...]:
    """Which columns are masked for their names, and which cannot be."""
    names = {column.column.name: column.column.lake_name for column in pair.agreement.columns}
    in_paths = (*list_whole_columns(job.lake.partition_by), *pair.lake_table.partition_fields)
    return note_masking(job.columns.masking, names, list_shown_columns(pair.agreement, in_paths))


def refuse_mask(job: TableJob, described: SourceTable, lake_table: LakeTable | None) -> None:
    """Raises UsageError for a mask on a column of the key, which the database may have named, and on one that is nowhere.

    Findings show keys. A mask that hides nothing is a name that was mistyped, and the column that was meant is shown.
    """
    lake = () if lake_table is None else (column.name for column in lake_table.columns)
    absent = job.columns.masking.name_absent((*(column.name for column in described.columns), *lake))
    if absent:
        raise UsageError(
            f"table {job.name}: mask names {absent}, which neither the source nor the lake has: it would hide nothing",
            fix=f"correct the name under mask, or remove it (columns: {', '.join(column.name for column in described.columns)})",
        )
    refuse_masked_key(job, described)


def refuse_masked_key(job: TableJob, described: SourceTable) -> None:
    """Raises UsageError for a mask on a column of the key."""
    names = ", ".join(sorted(job.columns.masking.named_among(described.key)))
    if names:
        raise UsageError(
            f"table {job.name}: mask names {names}, part of the key, which findings and plans show; it cannot be masked",
            fix=f"remove it from mask, or name other columns under source.key (key: {', '.join(described.key)})",
        )


def refuse_masked_path(job: TableJob, described: SourceTable, lake: LakeTable) -> None:
    """Raises UsageError for a mask on a column by which the lake itself says that it is partitioned: findings show paths."""
    fields = {name.lower() for name in lake.partition_fields}
    columns = [column.name for column in described.columns if {column.name.lower(), column.lake_name.lower()} & fields]
    names = ", ".join(sorted(job.columns.masking.named_among(columns)))
    if names:
        raise UsageError(
            f"table {job.name}: mask names {names}, by which the lake is partitioned; its paths and findings show it",
            fix=f"remove it from mask (the lake's partition columns: {', '.join(lake.partition_fields)})",
        )


def note_pending(pair: TablePair, watermark: Watermark, checkpoint: Checkpoint | None) -> tuple[str, ...]:
    """Why nothing could be pending by our checkpoint; empty where something could."""
    why = ""
    if checkpoint is None:
        why = "the lake carries no checkpoint of ours"
    elif not watermark.continues(checkpoint):
        why = "the checkpoint was made with other watermark columns"
    elif checkpoint.source_identity != pair.table.identity:
        why = f"the checkpoint belongs to {checkpoint.source_identity}, the source is {pair.table.identity}"
    if pair.lake_table.owned:
        return (Note(Stake.PROOF, f"{why}: no difference could be called pending"),) if why else ()
    both = "another tool's table: pending is what lies above HoodieStreamer's checkpoint and ours, where there are any"
    return (both, *((f"{why}: no difference could be called pending by it",) if why and checkpoint else ()))


def _types(source: SourceTable, lake: LakeTable) -> dict[str, dict[str, str]]:
    return {
        "source": {column.name: column.declared for column in source.columns},
        "lake": {column.name: column.type for column in lake.columns},
    }


def _precision_fix(item: ComparedColumn) -> str:
    widen = "widen the lake's column (evolve it, or pull into a new lake.path)"
    if item.column.kind is not Kind.DECIMAL or item.fraction_digits is None:
        return f"{widen}, or {exclude_fix(item.column.name)}"
    step = f"0.{'1'.rjust(item.fraction_digits, '0')}" if item.fraction_digits else "1"
    return f"{widen}, or accept it: compare: {{tolerance: {{{item.column.name}: {step}}}}}"


def _no_tolerance(name: str, kind: Kind | None, moving: tuple[str, ...], table: SourceTable) -> str:
    if kind is None:
        return "which the source does not have"
    if name in table.key:
        return "a key column: rows are found by it"
    if name in moving:
        return "a watermark column"
    return "" if kind in TOLERANCE_KINDS else "which holds no number"


def _describe_altered(name: str) -> Unverified:
    return Unverified(
        "column",
        name,
        "holds values that the JDBC driver alters (NaN decimals; infinity, BC, beyond 9999, 1582-10-05 to 1582-10-14; "
        "digits below microseconds; characters without a place in Unicode)",
        exclude_fix(name),
    )


@dataclass(frozen=True, slots=True)
class Sides:
    """What is compared, and where it is.

    `pushdown`: a look at all segments digests the source's rows inside the source. `one_snapshot`: each look sees one
    moment of the source, however many connections read it. `scope`: the comparison is about some partitions only; what
    differs there is judged by all rows of its key, wherever they lie. `survey` begins to count all rows and to look for values
    that a read alters, in some segments or in all, where a look may do so beside its read.
    """

    table: SourceTable
    agreement: Agreement
    cut: Segmentation
    source: Source
    lake: Lake
    comparer: Comparer
    pushdown: bool = False
    one_snapshot: bool = False
    scope: PartitionScope | None = None
    survey: Callable[[SegmentSet | None], Callable[[], Survey]] | None = None

    def source_rows(self, segments: SegmentSet | None = None) -> Frame:
        """The source's rows of some segments, or of all."""
        return self._marked_source(self.source.read_rows(self.table, self.cut, segments))

    def lake_rows(self, pin: LakePin) -> Frame:
        """The lake's rows at the pin."""
        rows = self.lake.read_rows(pin)
        return rows if self.scope is None else self.lake.mark_scope(rows, "lake", self.scope)

    def first_look(self, pin: LakePin, segments: SegmentSet | None = None) -> Look:
        """Both sides for their digests: of the source only what may be in scope is asked for."""
        return Look(self.source_in_scope(segments), self.lake_rows(pin))

    def source_in_scope(self, segments: SegmentSet | None = None) -> Frame:
        """The source's rows in scope, and perhaps others."""
        near = None if self.scope is None else self.scope.near
        return self._marked_source(self.source.read_rows(self.table, self.cut, segments, near=near))

    def find_segments(self, rows: Frame) -> SegmentSet:
        """The segments of some findings or corrections; one small job."""
        return SegmentSet.of(map(int, self.comparer.count(rows, "segment")))

    def narrow_segments(self, rows: Frame) -> SegmentSet:
        """Their segments; where these are many, finer ones, which hold little more than the rows of the same keys."""
        segments, finer = self.find_segments(rows), refine(self.cut)
        places = self.comparer.locate(rows, finer, MOST_ASKED) if segments.is_many else None
        return segments if places is None else SegmentSet.of((place.finer for place in places), finer)

    def _marked_source(self, rows: Frame) -> Frame:
        return rows if self.scope is None else self.lake.mark_scope(rows, "source", self.scope)


def cut_keys(sweep: SweepSettings, table: SourceTable, source: Source, *, md5: bool = False) -> Segmentation:
    """Key ranges where the first key column is an integer, hash buckets otherwise; a source serves only `md5` ones."""
    integer = table.key_columns[0].kind is Kind.INTEGER
    by: HashBy = "md5" if md5 else "xxhash64"
    return choose(table.key, source.measure_extent(table), integer_key=integer, wanted=sweep.segments, by=by)


def join_sums(
    source: Iterable[SegmentSum], lake: Iterable[SegmentSum], *, native: bool = False
) -> tuple[SegmentDigest, ...]:
    """The sums of both sides, segment by segment; a segment that one side lacks has no rows there.

    `native`: they are of Spark's own digests, so the lake's and the gap can be held against other looks.
    """
    ours = {item.segment: item for item in source}
    theirs = {item.segment: item for item in lake}
    digests = []
    for segment in sorted(ours.keys() | theirs.keys()):
        here = ours.get(segment, SegmentSum(segment, 0, 0, 0))
        there = theirs.get(segment, SegmentSum(segment, 0, 0, 0))
        digest = SegmentDigest(segment, here.rows, there.rows, here == there)
        if native:
            gap = here.high - there.high, here.low - there.low
            digest = replace(digest, lake_high=there.high, lake_low=there.low, gap=gap)
        digests.append(digest)
    return tuple(digests)
