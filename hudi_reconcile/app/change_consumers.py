"""Consumers of changes: what each is given since its stored position, and how far it is behind.

Opens Spark and the lake; never the source, and writes nothing but positions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from hudi_reconcile.app.changes import Answered, ChangeQuery, Deliver, ask, build_request, choose_query
from hudi_reconcile.app.host import HostClock
from hudi_reconcile.changefeed.query import show_frame
from hudi_reconcile.config.model import Config
from hudi_reconcile.core.changes.consumers import (
    ConsumerPosition,
    Lag,
    Progress,
    advance_position,
    check_name,
    check_place,
    count_chunks_out,
    cut_chunks,
    list_deliveries,
    measure_lag,
    move_position,
)
from hudi_reconcile.core.changes.range import EARLIEST, LATEST, Commit, Cut, select_span
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.lake.changes.history import HudiHistory
from hudi_reconcile.lake.changes.positions import Positions
from hudi_reconcile.spark.session import Session, open_session, start_session


@dataclass(frozen=True, slots=True)
class Feeding:
    """How a consumer is fed: whether its position moves on, and whether a delivery may come in chunks."""

    consumer: str
    moves: bool = True
    in_chunks: bool = False


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
    found, asked = choose_query(table, path, type, config, further)

    def hand_over(answer: Answered) -> None:
        deliver(show_frame(answer.rows), answer.span.after or EARLIEST, answer.span.upto or EARLIEST)

    _feed_exclusively(start_session(build_request(found)), found, asked, Feeding(check_name(consumer)), hand_over)


def _feed_exclusively(
    session: Session, config: Config | None, asked: ChangeQuery, feeding: Feeding, deliver: Deliver
) -> None:
    positions = Positions(session.spark, asked.table.lake.path)
    with positions.hold(feeding.consumer) if feeding.moves else nullcontext():
        _feed(config, asked, _Place(positions, feeding), deliver, session)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a consumer's position is, and how this call feeds it."""

    positions: Positions
    feeding: Feeding

    @property
    def consumer(self) -> str:
        return self.feeding.consumer

    def write(self, position: ConsumerPosition) -> None:
        if self.feeding.moves:
            self.positions.write(position)


def _feed(config: Config | None, asked: ChangeQuery, place: _Place, deliver: Deliver, session: Session) -> None:
    history = HudiHistory(session.spark, asked.table.lake.path)
    commits = history.commits()
    cut = history.cut(commits)
    position = _place_consumer(asked, place, commits, cut)
    span = select_span(position.instant or EARLIEST, asked.end, commits, cut)
    for after, upto in list_deliveries(position, advance_position(span.upto, commits)):
        found = ask(config, replace(asked, start=after or EARLIEST, end=upto), session)
        if place.feeding.in_chunks:
            _deliver_chunks(found, place, replace(position, pending=upto), deliver)
        else:
            place.write(replace(position, pending=upto, progress=None))
            deliver(found)
        position = replace(position, instant=upto, pending=None, progress=None)
        place.write(position)


def _deliver_chunks(found: Answered, place: _Place, position: ConsumerPosition, deliver: Deliver) -> None:
    """Deliver what is not out yet, and note each chunk that is."""
    counts = found.counts()
    rows = sum(counts)
    done, chunk_rows = count_chunks_out(position, str(position.pending), rows)
    chunks = cut_chunks(counts, chunk_rows)
    for number, chunk in enumerate(chunks[done:], start=done):
        place.write(replace(position, progress=Progress(number, chunk_rows, rows)))
        deliver(found.part(chunk, is_first=number == done) if len(chunks) > 1 else found)


def _place_consumer(asked: ChangeQuery, place: _Place, commits: Sequence[Commit], cut: Cut | None) -> ConsumerPosition:
    """Where the consumer begins: its stored position, unless the call gives another, which is stored then."""
    position = place.positions.read(place.consumer) or ConsumerPosition(place.consumer, asked.fed)
    if position.kind != asked.fed:
        raise UsageError(
            f"consumer {place.consumer} is fed with {position.kind}, not {asked.fed}",
            fix=f"--type {position.kind}, or another name after --consumer",
        )
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
    except UsageError as error:
        return tuple(Lag(one.consumer, one.kind, one.instant, one.pending, why=error.message) for one in positions)
    now = HostClock().utc_micros()
    return tuple(measure_lag(one, commits, cut, now) for one in positions)
