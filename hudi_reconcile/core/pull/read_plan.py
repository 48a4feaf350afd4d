"""How many parts a JDBC read takes and where their edges lie, from what the catalog knows. Pure: values in, plan out.

Statistics only balance the parts. Whatever they say, stale or wrong, every key belongs to exactly one part: the ends are
open, edges ascend, and NULL keys go to the first part. Key values are integers in the database's own order (days,
microseconds, the 128 bits of a uuid, a decimal's digits) or, for text in bytewise order, its bytes in UTF-8.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal

from hudi_reconcile.core.tables.key_encoding import KeyValue

How = Literal["whole", "range", "rank", "hash"]

SERIAL_ROWS = 50_000  # below this many rows a second connection costs more than it saves
TARGET_ROWS = 500_000
TARGET_BYTES = 128 << 20
MOST_TASKS = 512
UNEVEN = 1.5  # largest part to mean: above it, shares by hash are the better parts
FETCH_BYTES, LEAST_FETCH_ROWS, MOST_FETCH_ROWS = 1_000_000, 100, 10_000
_ROW_BYTES = 200.0  # where nothing is known
_CELL_BYTES = 16  # what a driver keeps for each value beside its bytes


@dataclass(frozen=True, slots=True)
class Limits:
    """What a read may use. `waits`: parts wait for a free connection; else all that cores allow start at once."""

    connections: int
    cores: int
    waits: bool = True
    tasks: int = MOST_TASKS

    @property
    def lanes(self) -> int:
        """How many parts are read at the same time."""
        return max(1, min(self.connections, self.cores, self.tasks))


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is known of the first key column. `rows` are those to be read, `rows_known` those that the statistics saw.

    `bounds` ascend and hold equal shares of the rows that are neither NULL nor `common` (value, share of all rows).
    `low` and `high` are the key's ends now, where they were asked for. `why` names the statistics or says why there are none.
    """

    rows: int
    why: str
    row_bytes: float | None = None
    rows_known: int | None = None
    bounds: tuple[KeyValue, ...] = ()
    common: tuple[tuple[KeyValue, float], ...] = ()
    null_share: float = 0.0
    low: KeyValue | None = None
    high: KeyValue | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """Keys in the database's own order, each `each_rows` rows after the last; None for one that cannot be an edge.

    A key is a literal for each key column: only the database knows their order. `rows` are those to be read.
    """

    rows: int
    why: str
    keys: tuple[tuple[str, ...] | None, ...]
    each_rows: int
    row_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class ReadPart:
    """One part of a read: keys in `[low, high)`, None an open end, `nulls` adds NULL keys. `rows` are expected.

    Of a plan by hash or by rank, `low` and `high` mean nothing: part i is share i, or what lies below edge i.
    """

    low: KeyValue | None
    high: KeyValue | None
    nulls: bool
    rows: int


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a read, how they are told apart, how many rows come at a time, and why, in words.

    `edges` are those of a plan by rank, one less than its parts.
    """

    how: How
    parts: tuple[ReadPart, ...]
    fetch_rows: int
    why: tuple[str, ...]
    edges: tuple[tuple[str, ...], ...] = ()

    def find_part(self, key: KeyValue | None) -> int:
        """The part that holds this first key, of a plan by range."""
        if key is None:
            return next(index for index, part in enumerate(self.parts) if part.nulls)
        return bisect_right([part.low for part in self.parts[1:] if part.low is not None], key)


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """One part as it will be sent: its predicate, and how many rows are expected."""

    predicate: str
    rows: int


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """A read as it will be sent. `sql` is the query that each part's predicate is put upon; row values stand in none."""

    how: How
    why: tuple[str, ...]
    sql: str
    parts: tuple[PlannedPart, ...]
    fetch_rows: int
    row_bytes: float | None = None

    @property
    def rows(self) -> int:
        """How many rows are expected."""
        return sum(part.rows for part in self.parts)


def fetch_rows(row_bytes: float | None, columns: int) -> int:
    """Rows per round trip: about 1 MB in the driver's memory, at least 100 and at most 10,000."""
    width = (_ROW_BYTES if row_bytes is None else row_bytes) + columns * _CELL_BYTES
    return max(LEAST_FETCH_ROWS, min(MOST_FETCH_ROWS, int(FETCH_BYTES / width)))


def plan(statistics: Statistics, limits: Limits, *, columns: int, can_hash: bool, can_range: bool = True) -> Parts:
    """The parts for a read of `statistics.rows` rows of `columns` columns.

    By range where edges are known, unless the parts would be uneven and the dialect has a hash; by hash else; whole
    where neither is possible or the rows are few.
    """
    fetch = fetch_rows(statistics.row_bytes, columns)
    if statistics.rows < SERIAL_ROWS or (limits.lanes == 1 and _count_parts_by_size(statistics) == 1):
        few = (
            f"about {statistics.rows:,} rows: one part" if statistics.rows < SERIAL_ROWS else "one connection, one part"
        )
        return Parts("whole", (ReadPart(None, None, nulls=True, rows=statistics.rows),), fetch, (few, statistics.why))
    ranges = _cut_by_range(statistics, _count(statistics, limits)) if can_range else ()
    largest, mean = max((p.rows for p in ranges), default=0), statistics.rows / (len(ranges) or 1)
    is_even = largest <= UNEVEN * mean
    if sum(part.rows > 0 for part in ranges) > 1 and (is_even or not can_hash):
        why = f"{len(ranges)} key ranges; largest expected {largest / mean:.2f} x mean" if mean else "key ranges"
        return Parts("range", ranges, fetch, (why, statistics.why))
    if can_hash and limits.lanes > 1:
        count = limits.lanes  # each share scans the whole table: no more of them than run at once
        shares = tuple(ReadPart(None, None, nulls=i == 0, rows=statistics.rows // count) for i in range(count))
        uneven = () if is_even else ("few key values hold most rows",)
        return Parts("hash", shares, fetch, (f"{count} shares by a hash of the key", *uneven, statistics.why))
    alone = ReadPart(None, None, nulls=True, rows=statistics.rows)
    return Parts("whole", (alone,), fetch, ("no way to cut this key here: one part", statistics.why))


def plan_by_rank(ranking: Ranked, limits: Limits, *, columns: int, can_hash: bool) -> Parts:
    """The parts for a read of `ranking.rows` rows, cut at ranked keys.

    By hash where few keys hold most rows and the dialect has one; whole where the rows are few or nothing can be cut.
    """
    known = Statistics(ranking.rows, ranking.why, ranking.row_bytes)
    if ranking.rows >= SERIAL_ROWS and (edges := _ranked_edges(ranking.keys, _count(known, limits))):
        # What stands behind the last edge, and rows that were not ranked, come last.
        ends = [0, *(at * ranking.each_rows for _, at in edges)]
        rows = [*(high - low for low, high in pairwise(ends)), max(0, ranking.rows - ends[-1])]
        largest, mean = max(rows), ranking.rows / len(rows)
        if largest <= UNEVEN * mean or not can_hash or limits.lanes == 1:
            parts = tuple(ReadPart(None, None, nulls=at == len(edges), rows=count) for at, count in enumerate(rows))
            why = f"{len(parts)} parts by the rank of the key; largest expected {largest / mean:.2f} x mean"
            edge_keys = tuple(key for key, _ in edges)
            return Parts("rank", parts, fetch_rows(ranking.row_bytes, columns), (why, ranking.why), edge_keys)
    return plan(known, limits, columns=columns, can_hash=can_hash, can_range=False)


def _ranked_edges(keys: Sequence[tuple[str, ...] | None], count: int) -> list[tuple[tuple[str, ...], int]]:
    """At most `count` - 1 different keys at even distances, each with how many of `keys` lie before it."""
    firsts: dict[tuple[str, ...], int] = {}
    for at, key in enumerate(keys):
        if key is not None:
            firsts.setdefault(key, at)
    edges = sorted(((at, key) for key, at in firsts.items() if at), key=lambda pair: pair[0])
    places = [at for at, _ in edges]
    chosen = {}
    for number in range(1, count if edges else 0):
        wanted = len(keys) * number / count
        right = min(bisect_right(places, wanted), len(places) - 1)
        at, key = min(edges[max(0, right - 1) : right + 1], key=lambda pair: abs(pair[0] - wanted))
        chosen[at] = key
    return [(key, at) for at, key in sorted(chosen.items())]


def _count_parts_by_size(statistics: Statistics) -> int:
    size = statistics.rows * (statistics.row_bytes or 0.0)
    return max(1, -(-statistics.rows // TARGET_ROWS), int(-(-size // TARGET_BYTES)))


def _count(statistics: Statistics, limits: Limits) -> int:
    lanes = limits.lanes
    rounds = -(-_count_parts_by_size(statistics) // lanes)  # whole rounds: no connection is idle at the end
    if not limits.waits and limits.cores > limits.connections:
        return lanes
    return max(1, min(rounds * lanes, limits.tasks))


# --- where the edges lie ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Piece:
    """Rows of `[low, high)`, spread evenly as far as anybody knows."""

    low: KeyValue
    high: KeyValue
    rows: float


def _cut_by_range(statistics: Statistics, count: int) -> tuple[ReadPart, ...]:
    pieces = _pieces(statistics)
    if not pieces:
        return ()
    ends = list(accumulate(piece.rows for piece in pieces))
    edges = sorted({edge for i in range(1, count) for edge in _edge(pieces, ends, ends[-1] * i / count)})
    edges = [edge for edge in edges if pieces[0].low < edge]  # type: ignore[operator]  # one column: one type
    nulls = statistics.rows * statistics.null_share
    below = [0.0, *(_estimate_rows_below(pieces, ends, edge) for edge in edges), ends[-1]]
    whole = ends[-1] or 1.0  # divided first: a whole near zero gives shares of it, never an infinite factor
    shares = [(high - low) / whole * (statistics.rows - nulls) for low, high in pairwise(below)]
    shares[0] += nulls
    return tuple(
        ReadPart(low, high, nulls=index == 0, rows=round(rows))
        for index, (low, high, rows) in enumerate(zip([None, *edges], [*edges, None], shares, strict=True))
    )


def _pieces(statistics: Statistics) -> list[_Piece]:
    """The key's distribution as ascending pieces; empty where nothing is known of it."""
    known = statistics.rows if statistics.rows_known is None or statistics.rows_known <= 0 else statistics.rows_known
    bounds: list[KeyValue] = sorted(set(statistics.bounds))
    points = dict(statistics.common)
    if len(bounds) + len(points) < 2:  # noqa: PLR2004 - one value has no inside
        bounds = sorted({v for v in (statistics.low, _step_past(statistics.high)) if v is not None})
        points = {}
        if len(bounds) < 2:  # noqa: PLR2004
            return []
    spread = max(0.0, 1.0 - statistics.null_share - sum(points.values())) * known
    repeats = max(1, len(statistics.bounds) - 1) if statistics.bounds else 1
    pieces = _cut_up(bounds, points, statistics.bounds, spread / repeats, known)
    return [*_tails(statistics, pieces, statistics.rows - known)]


def _cut_up(
    bounds: list[KeyValue], points: dict[KeyValue, float], given: Sequence[KeyValue], each: float, known: int
) -> list[_Piece]:
    """Buckets of the histogram, cut at the common values, which are pieces of their own where keys are integers."""
    copies = {value: max(0, given.count(value) - 1) for value in bounds}  # a value that fills whole buckets
    heavy = {v: points.get(v, 0.0) * known + copies.get(v, 0) * each for v in {*points, *copies}}
    knots: list[KeyValue] = sorted({*bounds, *points})
    pieces: list[_Piece] = []
    for low, high in pairwise(knots):
        rows = _bucket_share(bounds, low, high) * each
        pieces += _piece(low, high, rows, heavy.get(low, 0.0))
    last = heavy.get(knots[-1], 0.0)
    if last:
        end = _step_past(knots[-1])
        pieces.append(_Piece(knots[-1], knots[-1] if end is None else end, last))
    return pieces


def _piece(low: KeyValue, high: KeyValue, rows: float, heavy: float) -> list[_Piece]:
    if isinstance(low, bytes) or not heavy:
        return [_Piece(low, high, rows + heavy)]
    inner = [_Piece(low + 1, high, rows)] if isinstance(high, int) and low + 1 < high else []
    return [_Piece(low, low + 1, heavy + (0.0 if inner else rows)), *inner]


def _bucket_share(bounds: list[KeyValue], low: KeyValue, high: KeyValue) -> float:
    """How much of its bucket lies in `[low, high)`, which never crosses a bound."""
    at = bisect_right(bounds, low)
    if not 0 < at < len(bounds):
        return 0.0
    first, last = bounds[at - 1], bounds[at]
    if isinstance(low, int) and isinstance(high, int) and isinstance(first, int) and isinstance(last, int):
        return (high - low) / (last - first)
    return 1.0 if (first, last) == (low, high) else 0.5


def _tails(statistics: Statistics, pieces: list[_Piece], grown: int) -> Iterable[_Piece]:
    """Rows that came after the statistics lie, as far as anybody knows, outside of what these saw."""
    if not pieces:
        return pieces
    end = _step_past(statistics.high)
    before = statistics.low is not None and statistics.low < pieces[0].low  # type: ignore[operator]
    after = end is not None and pieces[-1].high < end  # type: ignore[operator]
    sides = int(before) + int(after)
    if grown <= 0 or not sides:
        return pieces
    tail = grown / sides
    head = [_Piece(statistics.low, pieces[0].low, tail)] if before and statistics.low is not None else []
    foot = [_Piece(pieces[-1].high, end, tail)] if after and end is not None else []
    return [*head, *pieces, *foot]


def _edge(pieces: list[_Piece], ends: list[float], wanted: float) -> list[KeyValue]:
    """The key below which about that many rows lie: between two integers, else at the nearer end of a piece."""
    at = min(bisect_right(ends, wanted), len(pieces) - 1)
    piece, begin = pieces[at], ends[at] - pieces[at].rows
    share = (wanted - begin) / piece.rows if piece.rows else 0.0
    if isinstance(piece.low, int) and isinstance(piece.high, int):
        millionths = int(
            min(max(share, 0.0), 1.0) * 1_000_000
        )  # integers all the way: a uuid has more bits than a float
        return [piece.low + ((piece.high - piece.low) * millionths + 500_000) // 1_000_000]
    is_inside = share >= 0.5 and at < len(pieces) - 1  # noqa: PLR2004 - the nearer end
    return [piece.high if is_inside else piece.low]


def _estimate_rows_below(pieces: list[_Piece], ends: list[float], edge: KeyValue) -> float:
    at = bisect_right([piece.low for piece in pieces], edge) - 1
    if at < 0:
        return 0.0
    piece, begin = pieces[at], ends[at] - pieces[at].rows
    if isinstance(edge, int) and isinstance(piece.low, int) and isinstance(piece.high, int) and piece.high > piece.low:
        return begin + piece.rows * min(1.0, (edge - piece.low) / (piece.high - piece.low))
    return begin


def _step_past(value: KeyValue | None) -> KeyValue | None:
    return value + 1 if isinstance(value, int) else value
