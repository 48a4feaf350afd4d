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
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
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


@dataclass(frozen=True, slots=True)
class ConsumerPosition:
    """Everything that completed up to `instant` is delivered; up to `pending` it may be, and will be again but for `progress`.

    `kind` is what the consumer is fed with, as `name_delivery_options` says it.
    """

    consumer: str
    kind: str
    instant: str = BEGINNING
    pending: str | None = None
    progress: Progress | None = None


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
    found: list[Chunk] = []
    first, held = 0, 0
    for place, count in enumerate(rows):
        if held and held + count > most_rows:
            found.append(Chunk(first, place))
            first, held = place, 0
        held += count
        if count > most_rows:
            shares = -(-count // most_rows)
            found += [Chunk(place, place + 1, share, shares) for share in range(shares)]
            first, held = place + 1, 0
    return (*found, Chunk(first, len(rows))) if held or not found else tuple(found)


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
    reason for which its next delivery would be refused, else empty; the counts are then None, since what it lacks is unknown.
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
        found = asdict(self)
        found["type"] = found.pop("kind")
        return found


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
    found = {
        "consumer": position.consumer,
        "instant": position.instant,
        "pending": position.pending,
        "progress": None if position.progress is None else asdict(position.progress),
        "type": position.kind,
    }
    return json.dumps({"version": VERSION, **found}, sort_keys=True) + "\n"


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
            f"{path} is no position of consumer {consumer}", fix="remove it: the consumer then begins at the beginning"
        )
    return position


def _parse_position(found: dict[str, Any]) -> ConsumerPosition | None:
    position = ConsumerPosition(
        found["consumer"],
        found["type"],
        found["instant"],
        found["pending"],
        _progress(found),
    )
    ends = (position.instant, position.pending or BEGINNING)
    is_known = found["version"] == VERSION and all(_INSTANT.fullmatch(end) for end in ends)
    return position if is_known else None


def _progress(found: dict[str, Any]) -> Progress | None:
    counts = found.get("progress")  # positions of earlier versions have none
    return None if counts is None else Progress(**{name: int(count) for name, count in counts.items()})


def advance_position(upto: str, commits: Sequence[Commit]) -> str:
    """The position of who was given everything up to an instant: the last commit there.

    Never the instant itself, which may lie ahead of the clock: what completes until then would be passed over.
    """
    return max((one.instant.completed for one in commits if one.instant.completed <= upto), default=BEGINNING)


def check_place(position: ConsumerPosition, commits: Sequence[Commit], cut: Cut | None) -> None:
    """Raises UsageError where the table has no commit that the position stands at: it was restored, or is another one."""
    first = BEGINNING if cut is None else cut.instant
    known = {first, *(one.instant.completed for one in commits)}
    # What lies before the cut is told by `select_span`.
    lost = [one for one in (position.instant, position.pending or first) if one >= first and one not in known]
    if lost:
        raise UsageError(
            f"consumer {position.consumer} is at {lost[0]}, and the table has no such commit: it was restored to an earlier one,"
            " or made anew",
            fix="empty what the consumer feeds, and begin again under another name after --consumer",
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
    would be missing, and stay in what the consumer feeds. Raises UsageError where a delivery beyond is under way.
    """
    gone = BEGINNING if cut is None or cut.instant > after else cut.instant
    at = max(gone, advance_position(after, commits))
    if position.pending is not None and at < position.pending:
        raise UsageError(
            f"consumer {position.consumer} may have been given changes up to {position.pending};"
            " the same range must come again first",
            fix="run it once without --from",
        )
    return replace(position, instant=at, pending=position.instant if at < position.instant else None, progress=None)


def list_deliveries(position: ConsumerPosition, end: str) -> tuple[tuple[str, str], ...]:
    """The ranges to deliver, in order: what was under way once more, then the rest up to `end`.

    >>> list_deliveries(ConsumerPosition("c", "upsert", "20260101000000000", "20260102000000000"), "20260103000000000")
    (('20260101000000000', '20260102000000000'), ('20260102000000000', '20260103000000000'))
    """
    edges = [position.instant, *([position.pending] if position.pending else []), end]
    return tuple((after, upto) for after, upto in pairwise(edges) if after < upto)
