"""Consumers of changes: what each is given since its stored position, and how far it is behind.

Opens Spark and the lake; never the source, and writes nothing but positions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from hudi_reconcile.app.changes import Answered, ChangeQuery, Deliver, TargetTable, ask, build_request, choose_query
from hudi_reconcile.app.host import HostClock
from hudi_reconcile.changefeed.query import show_frame
from hudi_reconcile.config.model import Config
from hudi_reconcile.core.changes.consumers import (
    ConsumerPosition,
    Lag,
    Progress,
    TargetMark,
    advance_position,
    begin_delivery,
    check_delivery,
    check_mark,
    check_name,
    check_place,
    count_chunks_out,
    cut_chunks,
    end_delivery,
    list_deliveries,
    measure_lag,
    move_position,
)
from hudi_reconcile.core.changes.range import EARLIEST, LATEST, Commit, Cut, select_span
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.lake.changes.history import HudiHistory
from hudi_reconcile.lake.changes.positions import Positions
from hudi_reconcile.lake.files import Files
from hudi_reconcile.spark.session import Session, open_session, start_session


@dataclass(frozen=True, slots=True)
class Feeding:
    """How a consumer is fed: whether its position moves on, whether a delivery may come in chunks, and what is kept in step.

    `target` is None for files and for what is printed: who reads those is not known.
    """

    consumer: str
    moves: bool = True
    in_chunks: bool = False
    target: TargetTable | None = None


def feed(config: Config | None, asked: ChangeQuery, feeding: Feeding, deliver: Deliver) -> None:
    """Hand a consumer what completed since its stored position, or since `asked.start` where that is no `earliest`.

    Where it moves, the position moves on once `deliver` has returned, and a second call for the consumer is refused meanwhile.
    A delivery that was cut short comes again, the same range first, without the chunks that are out.
    """
    with open_session(build_request(config)) as session:
        _feed_exclusively(session, config, asked, feeding, deliver)


def feed_frames(
    deliver: Callable[[Any, str, str], object],
    table: str | None = None,
    type: str | None = None,  # noqa: A002 - as the command line's --type
    *,
    consumer: str,
    path: str | None = None,
    config: object = "reconcile.yaml",
    **further: Any,
) -> None:
    """`hudi_reconcile.feed`: call `deliver(frame, after, upto)` with what completed since the consumer's stored position.

    The frame is that of `changes`. The position moves on when `deliver` has returned; where it raises, or the process ends, the
    same range comes again, so that it must be safe to repeat: write to a place named by `after` and `upto`, or merge by key.
    Nothing is delivered where nothing completed since. Raises as `changes` does, and RefusedError while another process
    feeds the consumer.
    """
    query_config, asked = choose_query(table, path, type, config, further)

    def hand_over(answer: Answered) -> None:
        deliver(show_frame(answer.rows), answer.span.after or EARLIEST, answer.span.upto or EARLIEST)

    _feed_exclusively(
        start_session(build_request(query_config)), query_config, asked, Feeding(check_name(consumer)), hand_over
    )


def _feed_exclusively(
    session: Session, config: Config | None, asked: ChangeQuery, feeding: Feeding, deliver: Deliver
) -> None:
    positions = Positions(session.spark, asked.table.lake.path)
    with positions.hold(feeding.consumer) if feeding.moves else nullcontext(_refuse_nothing) as refuse_lost:
        _feed(config, asked, _Place(positions, feeding, refuse_lost), deliver, session)


def _refuse_nothing() -> None:
    """A call that moves no position holds no lease that it could lose."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a consumer's position is, and how this call feeds it."""

    positions: Positions
    feeding: Feeding
    refuse_lost: Callable[[], None]

    @property
    def consumer(self) -> str:
        return self.feeding.consumer

    @property
    def target(self) -> TargetTable | None:
        return self.feeding.target if self.feeding.moves else None

    def check_target(self, position: ConsumerPosition, answer: Answered, cut: Cut | None) -> None:
        """Raises UsageError where the table that is kept in step may lack what was delivered to it."""
        if position.mark is not None and (mark := self.read_mark(answer)) is not None:
            check_mark(position, mark, cut)

    def read_mark(self, answer: Answered) -> TargetMark | None:
        return None if self.target is None else self.target.read_mark([column.name for column in answer.table.columns])

    def write(self, position: ConsumerPosition) -> None:
        self.refuse_lost()
        if self.feeding.moves:
            self.positions.write(position)


def _feed(config: Config | None, asked: ChangeQuery, place: _Place, deliver: Deliver, session: Session) -> None:
    history = HudiHistory(session.spark, asked.table.lake.path)
    commits = history.commits()
    cut = history.cut(commits)
    position = _place_consumer(asked, place, commits, cut)
    span = select_span(position.instant or EARLIEST, asked.end, commits, cut)
    for after, upto in list_deliveries(position, advance_position(span.upto, commits), commits):
        answer = ask(config, replace(asked, start=after or EARLIEST, end=upto), session)
        place.check_target(position, answer, cut)
        if place.feeding.in_chunks:
            _deliver_chunks(answer, place, replace(position, pending=upto), deliver)
        else:
            place.write(begin_delivery(position, upto))
            deliver(answer)
        position = end_delivery(position, upto, place.read_mark(answer))
        place.write(position)


def _deliver_chunks(answer: Answered, place: _Place, position: ConsumerPosition, deliver: Deliver) -> None:
    """Deliver what is not out yet, and note each chunk that is."""
    counts = answer.counts()
    rows = sum(counts)
    done, chunk_rows = count_chunks_out(position, str(position.pending), rows)
    chunks = cut_chunks(counts, chunk_rows)
    for number, chunk in enumerate(chunks[done:], start=done):
        place.write(replace(position, progress=Progress(number, chunk_rows, rows)))
        deliver(answer.part(chunk, is_first=number == done) if len(chunks) > 1 else answer)


def _place_consumer(asked: ChangeQuery, place: _Place, commits: Sequence[Commit], cut: Cut | None) -> ConsumerPosition:
    """Where the consumer begins: its stored position, unless the call gives another, which is stored then."""
    position = place.positions.read(place.consumer) or ConsumerPosition(place.consumer, asked.fed)
    position = check_delivery(position, asked.fed, None if place.target is None else place.target.place)
    if asked.start == EARLIEST:
        check_place(position, commits, cut)
        return position
    position = move_position(position, select_span(asked.start, LATEST, commits, cut).after, commits, cut)
    place.write(position)
    return position


def measure_lags(config: Config, tables: Collection[str]) -> Mapping[str, tuple[Lag, ...]]:
    """Of each table, in the order of the config, its consumers by name; `tables` empty: of all.

    Raises UsageError for an unknown table, LakeError for a position that cannot be read.
    """
    chosen = [config.table(name) for name in tables] or config.tables
    with open_session(build_request(config)) as session:
        return {table.name: _lags(session, table.lake.path) for table in chosen}


def _lags(session: Session, path: str) -> tuple[Lag, ...]:
    positions = Positions(session.spark, path).list_all()
    if not positions:
        return ()
    try:
        history = HudiHistory(session.spark, path)
        commits = history.commits()
        cut = history.cut(commits)
        ahead_minutes = history.look_at_others().zone(Files(session.spark, path)) if commits else 0
    except UsageError as error:
        return tuple(
            Lag(position.consumer, position.kind, position.instant, position.pending, why=error.message)
            for position in positions
        )
    now = HostClock().utc_micros() + ahead_minutes * 60_000_000  # as the clock of those who name the instants shows it
    return tuple(measure_lag(position, commits, cut, now) for position in positions)
