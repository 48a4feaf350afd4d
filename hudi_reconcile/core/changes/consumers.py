"""A consumer's stored position, and which ranges a call delivers to it. Pure.

Delivery is at least once. The end of a range is stored before the range is delivered, so that what is delivered again after a
kill is the same range: with `min-delta`, a longer one from the same start could leave out what the first delivery brought.

What is printed is delivered in chunks, and how many of them are out is stored too, so that a large commit need not come again
from its first row. The answer of a range never changes, and a chunk is a range of its commits or a share of one commit's
keys by their hash: so the chunks of the second call are those of the first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any

from hudi_reconcile.core.changes.range import BEGINNING, EARLIEST, LATEST, Commit, Cut, count_epoch_micros, select_span
from hudi_reconcile.core.errors import LakeError, UsageError
from hudi_reconcile.core.safe_text import parse_json

VERSION = 1
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_INSTANT = re.compile(r"(\d{17})?")


CHUNK_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class Progress:
    """So many `chunks` of a delivery are out, of `chunk_rows` changes each; it has `rows` in all."""

    chunks: int
    chunk_rows: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetMark:
    """The table that a consumer keeps in step, as its server numbers it, and how far that server had come at a delivery.

    `server` outlives a restart and a copy of the data folder; `timeline` is another after a restore to a point in time and after
    a failover; `table` after the table was made anew; `transaction` is smaller after any restore, until others have lifted it.
    "" and 0 where the server does not say. `columns` are the table's with their numbers, of which none comes twice;
    `left_out` those of the lake that it has not.
    """

    table: str
    transaction: int
    columns: Mapping[str, int] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    server: str = ""
    timeline: int = 0

    def explain_change(self, kept: TargetMark) -> str | None:
        """Why the table may have lost what an earlier delivery brought, which left the mark `kept`; None where nothing says so.

        >>> before = TargetMark(table="5/16390", transaction=800, server="71", timeline=1)
        >>> TargetMark(table="5/16390", transaction=700, server="71", timeline=1).explain_change(before)
        'its server was restored to an earlier state'
        """
        if "" not in (self.server, kept.server) and self.server != kept.server:
            return "it is on another server"
        if self.table != kept.table:
            return "it was made anew"
        if 0 not in (self.timeline, kept.timeline) and self.timeline != kept.timeline:
            return "its server was restored, or failed over to a replica"
        if self.transaction < kept.transaction:
            return "its server was restored to an earlier state"
        # A column that is new in the lake too was in no delivery: nothing of it is missing.
        added = [
            name
            for name, number in self.columns.items()
            if name in kept.left_out or kept.columns.get(name, number) != number
        ]
        return f"it has new columns: {', '.join(added)}" if added else None


@dataclass(frozen=True, slots=True)
class ConsumerPosition:
    """Everything that completed up to `instant` is delivered; up to `pending` it may be, and will be again but for `progress`.

    `kind` is what the consumer is fed with, as `name_delivery_options` says it, and `sink` the table that it keeps in step, with
    the `mark` that its last delivery left; None where that is not known: of files, a pipe, or an earlier version. `by_commit`:
    the table may stand at any commit up to `pending`, since a person moved the position.
    """

    consumer: str
    kind: str
    instant: str = BEGINNING
    pending: str | None = None
    progress: Progress | None = None
    sink: str | None = None
    mark: TargetMark | None = None
    by_commit: bool = False


@dataclass(frozen=True, slots=True)
class Chunk:
    """Changes of the commits at places `first` up to `end`, half-open; of one that is cut, `share` of `shares` by key."""

    first: int
    end: int
    share: int = 0
    shares: int = 1


def cut_chunks(rows: Sequence[int], most_rows: int) -> tuple[Chunk, ...]:
    """The chunks of an answer that has so many changes of each commit, in order; at least one.

    Commits are put together up to `most_rows`; one that has more alone is cut into shares, about equal by its keys' hash.

    >>> cut_chunks([3, 3, 25, 1], 10)[:3]
    (Chunk(first=0, end=2, share=0, shares=1), Chunk(first=2, end=3, share=0, shares=3), Chunk(first=2, end=3, share=1, shares=3))
    """
    chunks: list[Chunk] = []
    first, chunk_rows = 0, 0
    for place, count in enumerate(rows):
        if chunk_rows and chunk_rows + count > most_rows:
            chunks.append(Chunk(first, place))
            first, chunk_rows = place, 0
        chunk_rows += count
        if count > most_rows:
            shares = -(-count // most_rows)
            chunks += [Chunk(place, place + 1, share, shares) for share in range(shares)]
            first, chunk_rows = place + 1, 0
    return (*chunks, Chunk(first, len(rows))) if chunk_rows or not chunks else tuple(chunks)


def count_chunks_out(position: ConsumerPosition, upto: str, rows: int) -> tuple[int, int]:
    """How many chunks of the delivery up to an instant are out, and of how many changes they are.

    None are where the answer has another number of rows than when they were delivered.
    """
    done = position.progress if position.pending == upto else None
    return (done.chunks, done.chunk_rows) if done is not None and done.rows == rows else (0, CHUNK_ROWS)


@dataclass(frozen=True, slots=True)
class Lag:
    """What a consumer has not been given yet.

    `behind_commits` completed after its position, the oldest of them `waiting_seconds` ago; 0 where there is none. `why` is the
    reason for which the lake's history would refuse its next delivery, else empty; the counts are then None, since what it lacks
    is unknown.
    """

    consumer: str
    kind: str
    instant: str
    pending: str | None
    behind_commits: int | None = None
    waiting_seconds: float | None = None
    why: str = ""

    @property
    def document(self) -> dict[str, Any]:
        """The lag as a JSON document; `kind` is called `type` there, as in the position's file."""
        document = asdict(self)
        document["type"] = document.pop("kind")
        return document


def measure_lag(position: ConsumerPosition, commits: Sequence[Commit], cut: Cut | None, now_utc_micros: int) -> Lag:
    """How far a consumer is behind the newest of the table's commits."""
    known = (position.consumer, position.kind, position.instant, position.pending)
    try:
        check_place(position, commits, cut)
        missing = select_span(position.instant or EARLIEST, LATEST, commits, cut).commits
    except UsageError as error:
        return Lag(*known, why=error.message)
    if not missing:
        return Lag(*known, behind_commits=0, waiting_seconds=0.0)
    waiting = now_utc_micros - count_epoch_micros(missing[0].instant.completed)
    return Lag(*known, behind_commits=len(missing), waiting_seconds=max(0, waiting) / 1e6)


def check_name(name: str) -> str:
    """The consumer's name. Raises UsageError for one that is no file name."""
    if not _NAME.fullmatch(name) or name.endswith("."):
        raise UsageError(f"--consumer {name!r} is no name", fix="use letters, digits, _ . and -, at most 100")
    return name


def format_position(position: ConsumerPosition) -> str:
    """Canonical JSON of a position."""
    document: dict[str, Any] = {
        "consumer": position.consumer,
        "instant": position.instant,
        "pending": position.pending,
        "progress": None if position.progress is None else asdict(position.progress),
        "type": position.kind,
    }
    if position.sink is not None:
        document["sink"] = position.sink
    if position.mark is not None:
        document["mark"] = asdict(position.mark)
    if position.by_commit:
        document["by_commit"] = True
    return json.dumps({"version": VERSION, **document}, sort_keys=True) + "\n"


def parse_position(text: str, consumer: str, path: str) -> ConsumerPosition:
    """The consumer's position that `format_position` wrote.

    Raises LakeError for any other text, and for another consumer's position: a guess would lose changes, its or the other's.
    """
    try:
        position = _parse_position(parse_json(text))
    except (ValueError, KeyError, TypeError):
        position = None
    if position is None or position.consumer != consumer:
        raise LakeError(
            f"{path} is no position of consumer {consumer}",
            fix="empty what the consumer feeds, then remove the file: it begins at the beginning",
        )
    return position


def _parse_position(document: dict[str, Any]) -> ConsumerPosition | None:
    position = ConsumerPosition(
        document["consumer"],
        document["type"],
        document["instant"],
        document["pending"],
        _progress(document),
        document.get("sink"),
        _mark(document),
        bool(document.get("by_commit")),
    )
    ends = (position.instant, position.pending or BEGINNING)
    is_known = document["version"] == VERSION and all(_INSTANT.fullmatch(end) for end in ends)
    return position if is_known else None


def _mark(document: dict[str, Any]) -> TargetMark | None:
    mark = document.get("mark")
    return None if mark is None else TargetMark(**{**mark, "left_out": tuple(mark["left_out"])})


def _progress(document: dict[str, Any]) -> Progress | None:
    counts = document.get("progress")  # positions of earlier versions have none
    return None if counts is None else Progress(**{name: int(count) for name, count in counts.items()})


def advance_position(upto: str, commits: Sequence[Commit]) -> str:
    """The position of who was given everything up to an instant: the last commit there.

    Never the instant itself, which may lie ahead of the clock: what completes until then would be passed over.
    """
    return max((commit.instant.completed for commit in commits if commit.instant.completed <= upto), default=BEGINNING)


def check_place(position: ConsumerPosition, commits: Sequence[Commit], cut: Cut | None) -> None:
    """Raises UsageError where the table has no commit that the position stands at: it was restored, or is another one."""
    first = BEGINNING if cut is None else cut.instant
    known = {first, *(commit.instant.completed for commit in commits)}
    # What lies before the cut is told by `select_span`.
    lost = [
        instant
        for instant in (position.instant, position.pending or first)
        if instant >= first and instant not in known
    ]
    if lost:
        raise UsageError(
            f"consumer {position.consumer} is at {lost[0]}, and the table has no such commit: it was restored to an earlier one,"
            " or made anew",
            fix="empty what the consumer feeds, and begin again under another name after --consumer",
        )


def check_delivery(position: ConsumerPosition, kind: str, sink: str | None) -> ConsumerPosition:
    """Check that a consumer still receives `kind` and feeds `sink`; returns its position with that sink.

    Raises UsageError where either has changed: of two sinks with one position each would lack what the other received.
    """
    if position.kind != kind:
        raise UsageError(
            f"consumer {position.consumer} is fed with {position.kind}, not {kind}",
            fix=f"--type {position.kind}, or another name after --consumer",
        )
    if None not in (position.sink, sink) and position.sink != sink:
        at = f", with --from {position.instant} where it has all up to there" if position.instant else ""
        raise UsageError(
            f"consumer {position.consumer} delivers to {position.sink}, not to {sink}: each would lack what the other is given",
            fix=f"another name after --consumer{at}",
        )
    return position if sink is None else replace(position, sink=sink)


def check_mark(position: ConsumerPosition, mark: TargetMark, cut: Cut | None) -> None:
    """Raises UsageError where a consumer's table, which has the mark now, may lack what was delivered to it.

    `cut` is where the lake's history begins: before it nothing can be delivered again.
    """
    why = None if position.mark is None else mark.explain_change(position.mark)
    if why is not None:
        raise UsageError(
            f"consumer {position.consumer} keeps {position.sink} in step, and {why}: what was delivered to it may be missing",
            fix=_suggest_begin(position, cut),
        )


def _suggest_begin(position: ConsumerPosition, cut: Cut | None) -> str:
    other = "under another name after --consumer"
    anew = (
        f"empty the table and begin again {other}"
        if cut is None
        else f"empty the table, fill it from the lake as of an instant from {cut.instant} on, and begin with --from that instant"
        f" {other}"
    )
    if not position.instant:
        return anew
    return (
        f"run it again with --from an instant up to which it has everything: --from {position.instant} where nothing is missing,"
        f" and new columns are filled; else {anew}"
    )


def name_delivery_options(
    kind: str, *, corrections_only: bool, merge: str | None = None, soft_deletes: str | None = None
) -> str:
    """What a consumer is fed with, as options of `changes`: a position in one kind of answer means nothing for another.

    >>> name_delivery_options("upsert", corrections_only=True, merge=None)
    'upsert --corrections-only'
    """
    further = [
        "--corrections-only" if corrections_only else "",
        f"--merge {merge}" if merge else "",
        f"--soft-deletes {soft_deletes}" if soft_deletes else "",
    ]
    return " ".join([kind, *filter(None, further)])


def move_position(
    position: ConsumerPosition, after: str, commits: Sequence[Commit], cut: Cut | None
) -> ConsumerPosition:
    """The position of a consumer that is told to begin after an instant instead, at the last commit there.

    What it was given already is one range then, up to where it stood: in a longer one a row that came before and went after
    would be missing, and stay in what the consumer feeds. Whoever moves it says by that what its table has, so that the mark of
    the last delivery is dropped. Raises UsageError where a delivery beyond is under way, unless a table is fed: to that each
    commit comes by itself (`list_deliveries`).
    """
    gone = BEGINNING if cut is None or cut.instant > after else cut.instant
    at = max(gone, advance_position(after, commits))
    reached = max(position.instant, position.pending or BEGINNING)
    if position.pending is not None and position.sink is None and position.instant != at < reached:
        raise UsageError(
            f"consumer {position.consumer} may have been given changes up to {position.pending};"
            " the same range must come again first",
            fix="run it once without --from",
        )
    again, is_table = at < reached, position.sink is not None
    # Where it does not move, what is under way is still one range.
    by_commit = is_table and again and (position.by_commit or at != position.instant)
    return replace(
        position, instant=at, pending=reached if again else None, progress=None, mark=None, by_commit=by_commit
    )


def list_deliveries(
    position: ConsumerPosition, end: str, commits: Sequence[Commit] = ()
) -> tuple[tuple[str, str], ...]:
    """The ranges to deliver, in order: what was under way once more, then the rest up to `end`.

    Where the position was moved by hand, what a table may have been given comes commit by commit: it ends right wherever between
    them the table stands. In one range a row that came in one commit and went in a later one would be in no change, and stay.

    >>> list_deliveries(ConsumerPosition("c", "upsert", "20260101000000000", "20260102000000000"), "20260103000000000")
    (('20260101000000000', '20260102000000000'), ('20260102000000000', '20260103000000000'))
    """
    again = position.pending or position.instant
    between = sorted(commit.instant.completed for commit in commits) if position.by_commit else []
    edges = [position.instant, *(instant for instant in between if position.instant < instant < again), again, end]
    return tuple((after, upto) for after, upto in pairwise(edges) if after < upto)


def begin_delivery(position: ConsumerPosition, upto: str) -> ConsumerPosition:
    """The position to store before what completed up to an instant is delivered."""
    return replace(position, pending=max(upto, position.pending or BEGINNING), progress=None)


def end_delivery(position: ConsumerPosition, upto: str, mark: TargetMark | None) -> ConsumerPosition:
    """The position to store once what completed up to an instant is delivered, with the mark that the table has by then."""
    beyond = position.pending if position.pending is not None and position.pending > upto else None
    by_commit = position.by_commit and beyond is not None
    return replace(position, instant=upto, pending=beyond, progress=None, mark=mark, by_commit=by_commit)
