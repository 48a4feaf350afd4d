"""A table that HoodieStreamer pulls: its checkpoint as where our pull begins, and ours handed back where its next run looks.

Only for one watermark or id column, whose greatest value HoodieStreamer's JDBC source keeps as text. Its other checkpoints
(Kafka, files) are carried along and never read.
"""

from __future__ import annotations

from dataclasses import dataclass

from hudi_reconcile.core.pull.cursor import Mark, build_next_window, rank
from hudi_reconcile.core.pull.hoodiestreamer import StreamerPosition, read_position, spell_checkpoint
from hudi_reconcile.core.tables.values import Checkpoint, CheckpointAt, LakeTable, SourceTable
from hudi_reconcile.ports import Lake, Origin
from hudi_reconcile.stages.job import PullSettings
from hudi_reconcile.stages.watermark import Watermark


@dataclass(frozen=True, slots=True)
class HandedBack:
    """HoodieStreamer's checkpoint as it is to be: its key, its value."""

    key: str
    value: str


def find_position(watermark: Watermark, origin: Origin) -> StreamerPosition | None:
    """How far HoodieStreamer read by this watermark; None where the table tells nothing of it.

    It reads by a column: a number on record is never the database's own of a row's version.
    """
    if origin.streamer_checkpoint is None or len(watermark.order.columns) != 1 or watermark.by_version:
        return None
    return read_position(watermark.moving[0].kind, origin.streamer_checkpoint)


def find_streamer_checkpoint(
    pulls: PullSettings, watermark: Watermark, table: SourceTable, lake: Lake
) -> CheckpointAt | None:
    """HoodieStreamer's checkpoint as ours, so early that nothing is passed over; None where there is none to go on from."""
    origin = lake.read_origin()
    position = find_position(watermark, origin)
    if position is None or origin.instant is None:
        return None
    columns = tuple(sorted(column.lake_name for column in table.columns))
    blank = Checkpoint(pulls.strategy, watermark.names, None, None, 0, table.identity, columns=columns)
    return CheckpointAt(watermark.set_mark(blank, Mark(position.earliest)), origin.instant)


def find_furthest_mark(
    watermark: Watermark, checkpoint: Checkpoint | None, origin: Origin, *, overlap_micros: int
) -> Mark | None:
    """What no later pull brings by itself, be it ours or HoodieStreamer's: the later of the two checkpoints.

    Ours reads again what lies less than the overlap behind its own; HoodieStreamer reads nothing again.
    """
    position, reached = find_position(watermark, origin), watermark.find_reached_mark(checkpoint)
    window = build_next_window(watermark.order, reached, None, overlap_micros=overlap_micros)
    marks = [None if window.lower is None else window.lower.mark, None if position is None else Mark(position.latest)]
    return max((mark for mark in marks if mark is not None), key=rank, default=None)


def build_handed_back(
    watermark: Watermark, checkpoint: Checkpoint, lake_table: LakeTable, origin: Origin
) -> HandedBack | None:
    """The checkpoint for HoodieStreamer's next run; None where the table has none of its JDBC source, or a later one."""
    before, reached = find_position(watermark, origin), watermark.find_reached_mark(checkpoint)
    if lake_table.owned or before is None or reached is None or origin.streamer_key is None:
        return None
    text = spell_checkpoint(watermark.moving[0].kind, reached.value)
    after = None if text is None else read_position(watermark.moving[0].kind, text)
    if text is None or after is None or rank(Mark(after.latest)) <= rank(Mark(before.latest)):
        return None
    return HandedBack(origin.streamer_key, text)
