"""Where a pull starts: lake, checkpoint, bound and window, settled before a row is read; and what it refuses to start on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hudi_reconcile.core.errors import RefusedError, SourceError
from hudi_reconcile.core.notes import Note, Stake
from hudi_reconcile.core.pull.cursor import (
    Mark,
    Value,
    Window,
    build_full_window,
    build_next_window,
    find_value_above,
    is_empty,
    rank,
)
from hudi_reconcile.core.pull.source_lineage import UNKNOWN, SourceLineage, describe_moved_server, note_passed_rows
from hudi_reconcile.core.pull.zone_offset import find_zone_hours
from hudi_reconcile.core.result_parts import SchemaChange
from hudi_reconcile.core.tables.kinds import TEXT_KINDS, Kind
from hudi_reconcile.core.tables.schema_evolution import encode_as_text, encode_columns, encode_new_columns
from hudi_reconcile.core.tables.values import Checkpoint, CheckpointAt, LakeTable, Moment, SourceTable
from hudi_reconcile.ports import AS_SOURCE, BatchShape, Lake, Signs, Source
from hudi_reconcile.stages.comparison import refuse_mask
from hudi_reconcile.stages.hoodiestreamer import find_streamer_checkpoint
from hudi_reconcile.stages.job import LakeSettings, PullSettings, TableJob
from hudi_reconcile.stages.preconditions import UntrustedWindowError, refuse_foreign, refuse_key_faults, refuse_mismatch
from hudi_reconcile.stages.pull.replace import is_overwrite
from hudi_reconcile.stages.pull.schema import follow
from hudi_reconcile.stages.watermark import Watermark, choose_watermark, describe_replica_lag, refuse_behind

_MINUTE_MICROS = 60_000_000
_WORTH_AN_INDEX_ROWS = 100_000
# A local clock goes back by itself once a year.
_LOCAL_STEP_MICROS = 120 * _MINUTE_MICROS


@dataclass(frozen=True, slots=True)
class Start:
    """Everything that is settled before a row is read. `whole`: every row is read, whatever the checkpoint says.

    `bound` holds the checkpoint below it; None for a watermark without a clock that is read in one go. `described` is
    the source as it says itself, `table` as it is carried. `existing` is the lake table as the first commit makes it: `schema`
    lists what that changes, `shape` how its columns differ from the source's.
    """

    table: SourceTable
    described: SourceTable
    watermark: Watermark
    existing: LakeTable | None
    before: CheckpointAt | None
    moment: Moment
    bound: Value | None
    window: Window
    whole: bool
    notes: tuple[str, ...] = ()
    shape: BatchShape = AS_SOURCE
    schema: tuple[SchemaChange, ...] = ()
    lineage: SourceLineage = UNKNOWN


def choose_start(job: TableJob, source: Source, lake: Lake, *, full: bool) -> Start:
    """The start; of a full fetch where the config allows one in place of a window that cannot be trusted."""
    try:
        return _start(job, source, lake, full=full)
    except UntrustedWindowError as lost:
        if job.pull.on_error != "full":
            raise
        start = _start(job, source, lake, full=True)
        fetched = Note(Stake.EFFORT, f"every row was fetched (pull.on_error: full): {lost.message}")
        return replace(start, notes=(*start.notes, fetched))


def _start(job: TableJob, source: Source, lake: Lake, *, full: bool) -> Start:
    """Settle it. Raises RefusedError for a lake table or checkpoint that rows must not be added to."""
    described = source.describe()
    watermark = choose_watermark(job, described)
    existing = lake.look()
    refuse_mask(job, described, existing)
    table = described if existing is None else encode_columns(described, existing)
    before = _checkpoint(job, watermark, table, existing, lake, full=full)
    refuse_key_faults(job.name, source.find_key_faults(table))
    lineage, moment = source.read_lineage(), source.read_moment()  # what the bound says is held against this server
    signs = Signs()
    bound: Value | None = watermark.bound(moment, source.zone_offset_micros)
    if watermark.moving:
        now = watermark.convert_clock(moment, source.zone_offset_micros)
        reached = find_own_mark(watermark, None if before is None else before.checkpoint, table.identity)
        _refuse_clock_gone_back(job, watermark, reached, now)
        if not full:
            _refuse_counter_gone_back(job, watermark, reached, bound)
        if not watermark.by_version:  # always there, and no clock that could be wrong
            signs = source.count_signs(table, watermark.order, reached=reached, now=now)
        if bound is None and job.pull.pages.limit_rows is not None:
            bound = _find_page_end(source, table, watermark)
    whole = full or existing is None or job.pull.strategy == "full" or not watermark.moving
    window = build_full_window(watermark.order) if whole else _next(job.pull, watermark, before, bound)
    if not is_empty(window):
        refuse_behind(job, describe_replica_lag(watermark, before, moment, source.zone_offset_micros))
    mark_notes = note_signs(watermark, signs, before, table.rows_estimate)
    mark_notes += note_zone(watermark, signs, before, moment, source.zone_offset_micros)
    order_notes = () if whole and is_overwrite(job.pull) else _left_by_ordering(watermark, existing, whole=whole)
    notes = (*moment.notes, *mark_notes, *_clockless(watermark), *_note_missing_log(job.lake, existing), *order_notes)
    notes += () if whole or before is None else _note_passed_rows(before.checkpoint, watermark, moment, lineage)
    return Start(table, described, watermark, existing, before, moment, bound, window, whole, notes, lineage=lineage)


def _name_way_out(*, is_new: bool, is_text: bool) -> str:
    if is_text:
        return "those columns with source.columns"
    if is_new:
        return "choose another pull.watermark or lake.partition_by"
    return "those columns with source.columns; a new lake.path would hold them as text"


def carry(job: TableJob, start: Start, uncarried: frozenset[str]) -> Start:
    """Columns with values that no typed column holds: text where the lake does not have them yet, else refused.

    Then the lake's columns follow the source's. Raises RefusedError for what cannot be carried or cannot follow.
    """
    typed = {*job.pull.moving, *(field.column for field in job.lake.partition_by if field.transform != "identity")}
    lake_names = frozenset() if start.existing is None else frozenset(column.name for column in start.existing.columns)
    there = {column.name for column in start.table.columns if column.lake_name in lake_names}
    as_text = {column.name for column in start.table.columns if column.kind in TEXT_KINDS}
    stuck = uncarried & (there | typed | as_text)
    if stuck:
        names = ", ".join(sorted(stuck))
        raise RefusedError(
            f"table {job.name}: {names} hold values that the lake's column cannot hold "
            "(infinity, NaN decimals, dates BC, beyond 9999 or from 1582-10-05 to 1582-10-14, digits below microseconds, "
            "characters without a place in Unicode, texts that the read may cut)",
            fix="leave those rows out with source.where, or "
            + _name_way_out(is_new=start.existing is None, is_text=bool(stuck & as_text)),
        )
    # An existing table's key is carried as the table has it.
    table = (
        encode_new_columns(start.table, uncarried) if start.existing is None else encode_as_text(start.table, uncarried)
    )
    texts = [c.name for c, was in zip(table.columns, start.table.columns, strict=True) if c.kind is not was.kind]
    notes = (f"held as text, since no lake type is exact for their values: {', '.join(texts)}",) if texts else ()
    return follow_schema(job, replace(start, table=table, notes=(*start.notes, *notes)))


def follow_schema(job: TableJob, start: Start) -> Start:
    """The start with the lake table as it follows the source's columns. Raises RefusedError for what cannot follow."""
    if start.existing is None:
        return start
    next_lake = follow(job, start.table, start.existing, None if start.before is None else start.before.checkpoint)
    return replace(
        start,
        existing=next_lake.table,
        shape=next_lake.shape,
        schema=next_lake.changes,
        notes=(*start.notes, *next_lake.notes),
    )


def refuse_changed(job: TableJob, start: Start, now: SourceTable, lineage: SourceLineage) -> None:
    """Raises SourceError where the source is no longer as it was when the pull began: rows were read as it was then.

    A value of a type that became wider would be cut to the old one, and a new column's values would be passed over. A replica
    that was promoted meanwhile may not have had the rows that the bound counts on.
    """
    moved = describe_moved_server(start.lineage, lineage)
    was_told, is_told = (each.timeline or each.position for each in (start.lineage, lineage))
    if start.moment.is_replica and is_told and not was_told:  # a replica shows neither
        moved = "the server was a replica and is none now"
    if moved:
        raise SourceError(
            f"table {job.name}: {moved}: it was promoted or restored while its rows were read; they were not written",
            fix=f"run the same command again: hudi-reconcile pull -t {job.name}",
        )
    was = start.described
    if (now.columns, now.key, now.identity) == (was.columns, was.key, was.identity):
        return
    columns = sorted({column.name for column in set(now.columns) ^ set(was.columns)})
    what = f"columns {', '.join(columns)}" if columns else "key or identity"
    raise SourceError(
        f"table {job.name}: {what} of the source changed while its rows were read; they were not written",
        fix=f"run the same command again: hudi-reconcile pull -t {job.name}",
    )


def note_signs(
    watermark: Watermark, signs: Signs, before: CheckpointAt | None = None, table_rows: int = 0
) -> tuple[str, ...]:
    """What the window does not show, in words, with the numbers. A scan of few rows is not worth a word."""
    names, notes = ", ".join(watermark.order.columns), list[str]()
    if signs.unmarked_rows:
        way = "only a pull of the whole table brings such rows, sweeps find them"
        text = f"{_rows(signs.unmarked_rows)} no {names} (NULL): {way}"
        notes.append(Note(Stake.ROWS, text))
    if signs.future_rows:
        text = (
            f"{_rows(signs.future_rows)} {names} ahead of the database's clock (a client's clock?): "
            "incremental pulls bring them once that time has come"
        )
        notes.append(Note(Stake.ROWS, text))
    if signs.greatest is not None and before is not None:
        text = (
            f"the greatest {names} at the source is {signs.greatest}, below the checkpoint {before.checkpoint.text}: its "
            "newest rows were deleted, or the column started again below; then new rows are found by sweeps only"
        )
        notes.append(Note(Stake.ROWS, text))
    if signs.id_cache > 1:
        name = watermark.id_name or names
        text = (
            f"{name} comes from a sequence with CACHE {signs.id_cache}: sessions commit ids below those already pulled, which "
            "sweeps only find (needs sweep)"
        )
        notes.append(Note(Stake.ROWS, text))
    if signs.is_indexed is False and table_rows >= _WORTH_AN_INDEX_ROWS:
        text = f"{names} leads no index: every pull scans the whole table, about {table_rows:,} rows"
        notes.append(Note(Stake.EFFORT, text))
    return tuple(notes)


def note_zone(
    watermark: Watermark,
    signs: Signs,
    before: CheckpointAt | None,
    moment: Moment,
    offset_at: Callable[[int], int],
) -> tuple[str, ...]:
    """That a watermark without zone seems to be written in another one than `source.time_zone`, with the hours it is off.

    A row ahead of its clock is certain. One behind may just be old, so only a row that came after the last pull tells of it.
    """
    newest, now = signs.newest_micros, watermark.convert_clock(moment, offset_at)
    if newest is None or now is None:
        return ()
    age = _greatest_age(newest, now, before, offset_at)
    hours = find_zone_hours(newest, now, _MINUTES_OLD if age is None or newest > now else age)
    if not hours or (hours[0] < 0 and age is None):
        return ()
    off, span = hours[0], " to ".join(f"{hour:g}" for hour in sorted({abs(hours[0]), abs(hours[-1])}))
    span += " h or more" if off > 0 and (age is None or age > _MINUTES_OLD) else " h"
    names, side = ", ".join(watermark.order.columns), "ahead of" if off > 0 else "behind"
    what = "its newest rows wait until that time has come" if off > 0 else "a commit that is late may be passed over"
    said = (
        f"the newest {names} is {span} {side} the database's clock as source.time_zone reads it: if its writers keep "
        f"another zone, {what}: set source.time_zone to theirs"
    )
    return (Note(Stake.ROWS, said),)


_MINUTES_OLD = 900_000_000


def _greatest_age(newest: int, now: int, before: CheckpointAt | None, offset_at: Callable[[int], int]) -> int | None:
    """How old the newest row is at most, as the last pull did not see it yet; None where it may have been there."""
    was = None if before is None else before.checkpoint.as_of_micros
    reached = None if before is None else before.checkpoint.watermark_micros
    if was is None or reached is None or newest <= reached:
        return None
    return max(0, now - was - offset_at(was))


def _rows(count: int) -> str:
    return "1 row has" if count == 1 else f"{count:,} rows have"


def _left_by_ordering(watermark: Watermark, existing: LakeTable | None, *, whole: bool) -> tuple[str, ...]:
    if existing is None or existing.owned or existing.ordering != "event_time":
        return ()
    if not whole and existing.ordering_fields == tuple(column.lake_name for column in watermark.moving):
        return ()  # what a window by the ordering field itself brings is newer than all that was pulled
    fields = ", ".join(existing.ordering_fields)
    said = f"rows whose {fields} is older than the lake's stay as they are there, by the table's own ordering: sweeps find them"
    return (Note(Stake.ROWS, said),)


def _clockless(watermark: Watermark) -> tuple[str, ...]:
    if watermark.has_bound or not watermark.moving:
        return ()
    names = ", ".join(watermark.order.columns)
    changed = "" if watermark.columns else ", and so are changed rows"
    return (
        f"{names} has no clock: rows that commit late, at or below the checkpoint, are found by sweeps only{changed}",
    )


_BOUND_SLACK_MICROS = 2_000_000  # a bound keeps this far behind the clock


def _note_passed_rows(
    kept: Checkpoint, watermark: Watermark, moment: Moment, lineage: SourceLineage
) -> tuple[str, ...]:
    notes = note_passed_rows(kept, lineage, by_clock=watermark.has_clock)
    back = 0 if kept.as_of_micros is None or moment.is_replica else kept.as_of_micros - moment.clock_micros
    if not watermark.has_clock or back <= _BOUND_SLACK_MICROS:
        return notes
    text = (
        f"the database's clock is {back // 1_000_000} s behind what it was at the last pull: rows written in these seconds may "
        "lie at or below the checkpoint, and are found by sweeps only"
    )
    return (*notes, Note(Stake.ROWS, text))


def _note_missing_log(lake: LakeSettings, existing: LakeTable | None) -> tuple[str, ...]:
    if existing is None or existing.change_log is not None or lake.change_log is None:
        return ()
    said = (
        "lake.cdc is true, but the table was made without a change log, and Hudi adds none later: use a new lake.path"
    )
    return (Note(Stake.EFFORT, said),)


def _next(pulls: PullSettings, watermark: Watermark, before: CheckpointAt | None, bound: Value | None) -> Window:
    reached = watermark.find_reached_mark(None if before is None else before.checkpoint)
    return build_next_window(watermark.order, reached, bound, overlap_micros=pulls.overlap_micros)


def find_own_mark(watermark: Watermark, checkpoint: Checkpoint | None, identity: str) -> Mark | None:
    """How far pulls of this very source are complete: what another one's rows reached says nothing of them."""
    if checkpoint is None or checkpoint.source_identity != identity:
        return None
    return watermark.find_reached_mark(checkpoint)


def find_mark_to_raise(start: Start, checkpoint: Checkpoint | None) -> Mark | None:
    """The mark below which the next checkpoint must not fall; None where there is none.

    There is none for another source, nor for a full fetch by transactions whose counter was set back. Where such a fetch is
    stopped, the next pull goes on from the pages that it wrote.
    """
    reached = find_own_mark(start.watermark, checkpoint, start.table.identity)
    if reached is None or not (start.whole and start.watermark.by_version and start.bound is not None):
        return reached
    return reached if rank(reached) < rank(Mark(start.bound)) else None


def _find_page_end(source: Source, table: SourceTable, watermark: Watermark) -> Value | None:
    """An end for pages of numbers: without one they would run after a source that never rests."""
    greatest = source.look_ahead(table, build_full_window(watermark.order), None, None).last
    return None if greatest is None else find_value_above(greatest)


def _refuse_clock_gone_back(job: TableJob, watermark: Watermark, reached: Mark | None, now_micros: int | None) -> None:
    if reached is None or now_micros is None or not isinstance(reached.value, int):
        return
    step = _MINUTE_MICROS if watermark.kind is Kind.TIMESTAMPTZ else _LOCAL_STEP_MICROS
    if reached.value > now_micros + step:
        ahead = (reached.value - now_micros) // 1_000_000
        raise RefusedError(
            f"table {job.name}: the checkpoint {watermark.text(reached)} lies {ahead:,} s ahead of the database's clock: "
            "the clock, or source.time_zone, went back, and new rows would be passed over",
            fix="set the database's clock or source.time_zone right; until then sweep instead of pulling",
        )


def _refuse_counter_gone_back(job: TableJob, watermark: Watermark, reached: Mark | None, bound: Value | None) -> None:
    if not watermark.by_version or reached is None or bound is None or rank(reached) < rank(Mark(bound)):
        return
    raise RefusedError(
        f"table {job.name}: the checkpoint is transaction {watermark.text(reached)}, and the server has only come to {bound}: "
        "it was set back (a restored copy of its files), and changed rows would be passed over",
        fix=f"sweep first, then read everything once more: hudi-reconcile pull -t {job.name} --full",
    )


def _checkpoint(
    job: TableJob, watermark: Watermark, table: SourceTable, existing: LakeTable | None, lake: Lake, *, full: bool
) -> CheckpointAt | None:
    if existing is None:
        return None
    refuse_mismatch(job, table, existing)
    refuse_foreign(job, table, existing, lake.read_origin, "pull")
    checkpoint = lake.find_checkpoint()
    if checkpoint is None and not existing.owned:
        checkpoint = find_streamer_checkpoint(job.pull, watermark, table, lake)
    if full:
        return checkpoint
    if checkpoint is None:
        raise UntrustedWindowError(
            f"table {job.name}: {job.lake.path} exists, but no commit on its timeline carries our checkpoint",
            fix=f"read everything once more: hudi-reconcile pull -t {job.name} --full",
        )
    kept = checkpoint.checkpoint
    if not watermark.continues(kept):
        was = ", ".join(kept.watermark if kept.incrementing is None else (*kept.watermark, kept.incrementing)) or "none"
        raise UntrustedWindowError(
            f"table {job.name}: the checkpoint was made with watermark {was}, the config says "
            f"{', '.join(job.pull.moving) or 'none'}",
            fix=f"read everything once more: hudi-reconcile pull -t {job.name} --full",
        )
    if kept.source_identity != table.identity:
        raise RefusedError(
            f"table {job.name}: the checkpoint belongs to {kept.source_identity}, "
            f"the source is {table.identity} (restored, moved or another table)",
            fix=f"sweep first, then read everything once more: hudi-reconcile pull -t {job.name} --full",
        )
    return checkpoint
