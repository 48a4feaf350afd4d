"""The pull of one table: checkpoint, bound, one materialised read, one Hudi commit that carries the new checkpoint.

Order matters. The bound is taken before the rows are read; the checkpoint comes from the rows that were read, never from
a second query; rows and checkpoint land in the same commit, so a kill at any moment loses and repeats nothing visible.
With `pull.limit` each page is such a read and such a commit, until the bound that was taken at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count

from hudi_reconcile.core.errors import STOPS, RefusedError, SupersededError, UnverifiedError
from hudi_reconcile.core.notes import Note, Stake
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.plan import Approval
from hudi_reconcile.core.pull.cursor import (
    Edge,
    Mark,
    PageRange,
    choose_next_checkpoint,
    cut_next_page,
    is_empty,
    list_odd_shapes,
)
from hudi_reconcile.core.pull.source_lineage import (
    advance_lineage,
    find_filled_filter,
    judge_lineage,
    note_accepted_lineage,
)
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import Cost, Pulled, SideState
from hudi_reconcile.core.tables.key_encoding import needs_spelling
from hudi_reconcile.core.tables.values import Checkpoint, CheckpointAt, Instant, LakeTable, SourceTable
from hudi_reconcile.ports import Batch, Clock, Edges, Frame, Lake, NewTable, Source, Staged
from hudi_reconcile.stages.comparison import cut_keys
from hudi_reconcile.stages.hoodiestreamer import build_handed_back
from hudi_reconcile.stages.job import LandedError, TableJob
from hudi_reconcile.stages.odd_keys import describe_unwritten_keys
from hudi_reconcile.stages.preconditions import find_late_writers, refuse_unsafe_writers, roll_back_dead_writers
from hudi_reconcile.stages.pull.replace import check_replacement, is_overwrite, refuse_torn
from hudi_reconcile.stages.pull.start import Start, carry, choose_start, find_mark_to_raise, refuse_changed
from hudi_reconcile.stages.stage_log import Laps, say_page

NO_APPROVAL = Approval()
Land = Callable[[Frame, Checkpoint, dict[str, str]], Instant]


@dataclass(frozen=True, slots=True)
class _Done:
    """What has been handed to Hudi so far, in how many commits, and the newest checkpoint.

    `is_short`: pages of the window are left. `odd_rows` were read and held back, those of `odd_keys` and others.
    """

    existing: LakeTable | None
    after: CheckpointAt | None
    rows: int = 0
    pages: int = 0
    null_rows: int = 0
    greatest_group_rows: int = 0
    write_seconds: float = 0.0
    notes: tuple[str, ...] = ()
    is_short: bool = False
    odd_rows: int = 0
    odd_keys: tuple[str, ...] = ()

    @property
    def read_rows(self) -> int:
        """How many rows came from the source."""
        return self.rows + self.odd_rows


def pull(job: TableJob, edges: Edges, *, full: bool, approval: Approval = NO_APPROVAL) -> TableResult:
    """Bring the lake up to the source's safe bound. `full` reads every row whatever the checkpoint says.

    Raises RefusedError for a lake table that this tool did not make or whose checkpoint is lost, and for a replacement
    that would delete more than is allowed; nothing is written then. Raises RefusedError, too, beside a writer with Hudi's
    default settings in flight, where there are rows to write. Raises SourceError where the source's columns change
    meanwhile: pages that are in the lake stay, no other is written. Raises UnverifiedError where another writer came first.
    """
    source, lake = edges.source, edges.lake
    with _translate_superseded(), lake.lease(job.run_id):
        start = choose_start(job, source, lake, full=full)
        start = replace(start, notes=(*start.notes, *roll_back_dead_writers(job, lake, approval.dead_writers)))
        if is_empty(start.window):
            return _result(job, start, _Done(start.existing, start.before))
        if start.whole and start.existing is not None:
            refuse_unsafe_writers(job, lake)  # before all rows are read for nothing
        start = carry(job, start, frozenset(source.find_altered(start.table, start.window)))
        if start.existing is not None and start.whole and is_overwrite(job.pull):
            return _overwrite(job, start, edges, approval)
        done, cut = _Done(start.existing, start.before), cut_keys(job.sweep, start.table, source)
        try:
            for page in _pages(job, start, source, _ends(job, start, edges.clock)):
                staged = source.stage_rows(start.table, cut, page.window, start.bound)
                _refuse_unfit(job, start, done, staged, source)
                is_last = page.rest is None
                says = (start.schema and not done.pages) or (is_last and _fills(start, done))
                if staged.rows or done.existing is None or says:
                    with edges.whole_commit():
                        laps = Laps(edges.clock, job.name, "write")
                        done = _add_page(
                            done, page, staged, *_write(job, start, done, staged, lake, is_last=is_last), lake=lake
                        )
                        laps.end("write")
                        done = replace(done, write_seconds=done.write_seconds + laps.seconds["write"])
                done = replace(done, is_short=page.rest is not None)
            return _result(job, _hand_back(start, done, edges), done)
        except (Exception, *STOPS) as error:
            if not done.pages:
                raise
            raise LandedError(_result(job, start, done), error) from error


def _fills(start: Start, done: _Done) -> bool:
    """True where a whole read is yet to say that all rows of the present filter are there: an empty last page says it too."""
    kept = None if done.after is None else done.after.checkpoint
    read = None if kept is None else kept.filled_where or kept.where
    return start.whole and None not in (read, start.lineage.where) and read != start.lineage.where


@contextmanager
def _translate_superseded() -> Iterator[None]:
    """A pull that lost to another writer, or its lease, could not finish: exit 3. 4 is for an apply's plan."""
    try:
        yield
    except SupersededError as error:
        raise UnverifiedError(error.message, fix=error.fix) from error


def _overwrite(job: TableJob, start: Start, edges: Edges, approval: Approval) -> TableResult:
    """Make the source's rows all that the lake holds, in one commit."""
    source, lake, table = edges.source, edges.lake, start.existing
    if table is None:
        raise ValueError("there is nothing to replace")
    before = source.count_rows(start.table)
    staged = source.stage_rows(start.table, cut_keys(job.sweep, start.table, source), start.window, start.bound)
    refuse_torn(job, staged.rows, before, source.count_rows(start.table))
    gone = 0

    def land(rows: Frame, checkpoint: Checkpoint, labels: dict[str, str]) -> Instant:
        nonlocal gone
        replacement = lake.compare_overwrite(rows, table)
        last_checkpoint = None if start.before is None else start.before.checkpoint
        # Asked again: a server that was replaced while rows were read may lack some.
        of_lineage = judge_lineage(
            last_checkpoint, source.read_lineage(), deletes=replacement.gone_rows, regressed=0, verb="pull"
        )
        check_replacement(job, replacement, staged.rows, approval, of_lineage)
        gone = replacement.gone_rows
        refuse_unsafe_writers(job, lake)
        return lake.overwrite(rows, table, checkpoint, labels)

    done = _Done(table, start.before)
    _refuse_unfit(job, start, done, staged, source)
    try:
        with edges.whole_commit():
            laps = Laps(edges.clock, job.name, "write")
            after, batch = _write(job, start, done, staged, lake, land=land)
            laps.end("write")
            done = replace(done, write_seconds=laps.seconds["write"])
            note = f"the whole table was replaced; {gone} of its rows were gone at the source"
            start = replace(start, notes=(*start.notes, note))
            done = _add_page(done, PageRange(start.window, None), staged, after, batch, lake=lake)
        return _result(job, _hand_back(start, done, edges), done)
    except (Exception, *STOPS) as error:
        if not done.pages:
            raise
        raise LandedError(_result(job, start, done), error) from error


def _hand_back(start: Start, done: _Done, edges: Edges) -> Start:
    """The start with a note, where HoodieStreamer's checkpoint was brought up to ours.

    In a commit of its own, after the rows': killed in between, HoodieStreamer reads some rows again.
    """
    lake = edges.lake
    if done.existing is None or done.existing.owned or done.after is None:
        return start
    back = build_handed_back(start.watermark, done.after.checkpoint, done.existing, lake.read_origin())
    if back is None:
        return start
    if silent := lake.list_silent_writers():
        note = f"not handed back to HoodieStreamer: a writer without heartbeat is in flight ({', '.join(silent)})"
        return replace(start, notes=(*start.notes, f"{note}; the next pull that reads does it"))
    with edges.whole_commit():
        lake.hand_back(done.existing, back.key, back.value)
    return replace(start, notes=(*start.notes, f"handed back to HoodieStreamer: {back.key}={back.value}"))


def _pages(job: TableJob, start: Start, source: Source, ends: Callable[[int], bool]) -> Iterator[PageRange]:
    """The start's window, whole or in pages, until it `ends`. The last page of a whole read has no end."""
    if job.pull.pages.limit_rows is None or start.bound is None:
        yield PageRange(start.window, None)
        return
    rest = replace(start.window, upper=Edge(Mark(start.bound)))
    for pages in count(1):
        page = cut_next_page(
            rest, job.pull.pages.limit_rows, lambda window, rows, at: source.look_ahead(start.table, window, rows, at)
        )
        if page.rest is None:
            yield PageRange(replace(page.window, upper=None), None) if start.whole else page
            return
        yield page
        say_page(job.name, pages)
        if ends(pages):
            return
        rest = page.rest


def _ends(job: TableJob, start: Start, clock: Clock) -> Callable[[int], bool]:
    """Whether so many pages are all of this pull. A full fetch over a table that is there is never cut: none goes on with it."""
    begun, is_again = clock.monotonic_seconds(), start.whole and start.existing is not None
    return lambda pages: not is_again and job.pull.pages.suffice(pages, clock.monotonic_seconds() - begun)


def _add_page(done: _Done, page: PageRange, staged: Staged, after: CheckpointAt, batch: Batch, *, lake: Lake) -> _Done:
    return _Done(
        existing=done.existing or lake.look(),
        after=after,
        rows=done.rows + staged.rows - batch.odd_rows,
        pages=done.pages + 1,
        null_rows=done.null_rows + staged.null_watermark_rows,
        greatest_group_rows=max(done.greatest_group_rows, staged.rows if page.is_group else 0),
        write_seconds=done.write_seconds,
        notes=(*done.notes, *find_late_writers(lake, after.instant)),
        odd_rows=done.odd_rows + batch.odd_rows,
        odd_keys=done.odd_keys or batch.odd_keys,
    )


def _refuse_unfit(job: TableJob, start: Start, done: _Done, staged: Staged, source: Source) -> None:
    """Rows that were read and may not be written: of odd watermarks, or of a source that is no longer what it was."""
    if staged.rows:
        refuse_changed(job, start, source.describe(), source.read_lineage())
    reached = start.watermark.find_reached_mark(None if done.after is None else done.after.checkpoint)
    odd = list_odd_shapes(staged.shapes, reached)
    if odd:
        raise RefusedError(
            f"table {job.name}: watermark {', '.join(job.pull.watermark)} holds text that does not sort as time does: "
            f"{', '.join(odd)} (digits shown as 0)",
            fix="write all watermarks as ISO text of one form, such as 2026-03-01T10:08:00.000Z, or choose another column",
        )


def _write(
    job: TableJob,
    start: Start,
    done: _Done,
    staged: Staged,
    lake: Lake,
    *,
    land: Land | None = None,
    is_last: bool = True,
) -> tuple[CheckpointAt, Batch]:
    checkpoint = _build_checkpoint(
        job, start, done, staged, anew=done.existing is None or land is not None, is_last=is_last
    )
    # A replacement of another tool's table would take the odd rows that this holds back out of it.
    new = _new_table(job, start.table)
    into = (done.existing or new) if land is None or (done.existing and done.existing.owned) else None
    shape = replace(start.shape, into=into)
    read_seq = checkpoint.read_seq
    batch = lake.build_batch(staged.frame, start.table.columns, job.lake.partition_by, read_seq, shape)
    labels = job.labels("pull")
    if done.existing is None:
        instant = lake.create(batch.rows, new, checkpoint, labels)
    elif land is not None:
        instant = land(batch.rows, checkpoint, labels)
    else:
        refuse_unsafe_writers(job, lake)
        instant = lake.upsert(batch.rows, done.existing, checkpoint, labels)
    return CheckpointAt(checkpoint, instant), batch


def _build_checkpoint(
    job: TableJob, start: Start, done: _Done, staged: Staged, *, anew: bool, is_last: bool
) -> Checkpoint:
    """The checkpoint that a page's commit carries. `anew`: it makes all of the lake's rows; `is_last`: no page is left."""
    earlier = None if done.after is None else done.after.checkpoint
    reached = choose_next_checkpoint(find_mark_to_raise(start, earlier), staged.greatest)
    read_seq = max(start.moment.clock_micros, 0 if earlier is None else earlier.read_seq + 1)
    lineage = advance_lineage(earlier, start.lineage, anew=anew)
    blank = Checkpoint(
        job.pull.strategy,
        start.watermark.names,
        None,
        None,
        read_seq,
        start.table.identity,
        columns=tuple(sorted(column.lake_name for column in start.table.columns)),
        dropped=tuple(sorted(column.name for column in start.shape.dropped)),
        where=lineage.where,
        filled_where=find_filled_filter(earlier, lineage, start.lineage, whole=start.whole and is_last),
        timeline=lineage.timeline,
        read_timeline=None if start.lineage.timeline == lineage.timeline else start.lineage.timeline,
        position=lineage.position,
        as_of_micros=start.moment.reckon_as_of(None if earlier is None else earlier.as_of_micros),
    )
    return start.watermark.set_mark(blank, reached)


def _new_table(job: TableJob, table: SourceTable) -> NewTable:
    key = tuple(column.lake_name for column in table.key_columns)
    spelled = needs_spelling(table.key_columns)
    return NewTable(
        job.name, job.lake.type, key, job.lake.partition_by, change_log=job.lake.change_log, spelled=spelled
    )


def _notes(job: TableJob, start: Start, done: _Done) -> tuple[str, ...]:
    adds = done.pages and start.existing is not None and not (start.whole and is_overwrite(job.pull))
    before = None if start.before is None else start.before.checkpoint
    notes = (*start.notes, *done.notes, *(note_accepted_lineage(before, start.lineage) if adds else ()))
    if not done.greatest_group_rows:
        return notes
    names = ", ".join(start.watermark.order.columns)
    limit = f"pull.limit {job.pull.pages.limit_rows:,}"
    group = f"{done.greatest_group_rows:,} rows share one {names}: they came as one page, above {limit}"
    return (*notes, Note(Stake.EFFORT, group))


def _result(job: TableJob, start: Start, done: _Done) -> TableResult:
    after = done.after
    text = None if after is None else after.checkpoint.text
    bound = start.bound if start.watermark.has_bound else None
    return TableResult(
        name=job.name,
        outcome=Outcome.UNVERIFIED if done.odd_rows else Outcome.PULLED,
        source=SideState(done.read_rows, start.moment.snapshot),
        checkpoint=text,
        unverified=describe_unwritten_keys(job.name, done.odd_rows, done.odd_keys),
        cost=Cost(
            source_rows_fetched=done.read_rows, phases_seconds={"write": done.write_seconds} if done.pages else {}
        ),
        notes=_notes(job, start, done),
        schema=start.schema,
        columns={"source": {column.name: column.declared for column in start.table.columns}},
        pull=Pulled(
            rows=done.rows,
            mode="full" if start.whole else "incremental",
            checkpoint_before=None if start.before is None else start.before.checkpoint.text,
            checkpoint_after=text,
            instant=after.instant.completed if done.pages and after is not None else None,
            null_watermark_rows=done.null_rows,
            bound=None if bound is None else start.watermark.text(Mark(bound)),
            bound_why=start.watermark.bound_why(start.moment),
            pages=done.pages,
            created=start.existing is None and done.pages > 0,
            reached_bound=not done.is_short,
            odd_rows=done.odd_rows,
        ),
    )
