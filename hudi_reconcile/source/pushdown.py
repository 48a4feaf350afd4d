"""What the database computes of its own rows, segment by segment: digests, their cost, and which versions of rows it shows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, TypeVar

from hudi_reconcile.core.errors import SourceError
from hudi_reconcile.core.sweep.proof import SegmentVersions, Standing, wrap_digest
from hudi_reconcile.core.sweep.segments import HashSegments, Probe, RangeSegments, Segmentation, spread
from hudi_reconcile.core.tables.agreement import Agreement, ComparedColumn
from hudi_reconcile.core.tables.canonical_text import SegmentSum
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.core.tables.values import SourceTable
from hudi_reconcile.databases.base import Engine
from hudi_reconcile.ports import Inside, RowVersions
from hudi_reconcile.sql import digests, reads
from hudi_reconcile.sql.dialect import Buckets, Digests

SERIAL_ROWS = 500_000  # below this many rows a second statement costs more than it saves
Answer = TypeVar("Answer")
_SAMPLE_ROWS = 5_000  # milliseconds of work: a sweep of a million rows takes one second
_FILLER_BYTES = 2_000_000


def find_pushdown_blocker(engine: Engine, table: SourceTable, agreement: Agreement) -> str:
    """Why this database cannot digest these rows; empty where it can."""
    if engine.digests is None:
        return f"{engine.dialect.NAME} cannot digest its own rows here"
    return _wide_key(table, agreement)


def tells_buckets(engine: Engine, table: SourceTable, agreement: Agreement) -> bool:
    """True where this database itself knows which md5 bucket a key is in, as Spark has it."""
    return choose_buckets(engine, table) is not None and not _wide_key(table, agreement)


def choose_buckets(engine: Engine, table: SourceTable) -> Buckets | None:
    """What tells the md5 buckets of this table's keys inside the database; None where only Spark can."""
    return engine.digests or engine.buckets(table.key_columns)


def _wide_key(table: SourceTable, agreement: Agreement) -> str:
    narrow = list_key_items(table)
    wide = [ours.column.name for item, ours in zip(agreement.key, narrow, strict=True) if item.digits != ours.digits]
    if wide:
        return f"the lake's key {', '.join(wide)} has other digits than the source's"
    return ""


@dataclass(frozen=True, slots=True)
class SegmentPlace:
    """Where a row lies: SQL inside the database, and the segment of what that gives."""

    sql: str
    segment_of: Callable[[Any], int]


def place_in_segments(engine: Engine, table: SourceTable, cut: Segmentation) -> SegmentPlace | None:
    """How the database itself tells a row's segment; None where it cannot."""
    if isinstance(cut, RangeSegments):
        start = reads.segment_start(engine.dialect, cut)
        return (
            None
            if start is None
            else SegmentPlace(start, lambda key: cut.find_segment(None if key is None else int(key)))
        )
    known = choose_buckets(engine, table) if cut.by == "md5" else None
    return None if known is None else SegmentPlace(digests.bucket_number(known, list_key_items(table), cut.count), int)


def begin(
    engine: Engine, table: SourceTable, agreement: Agreement, cut: Segmentation, where: tuple[str, ...]
) -> Inside:
    """Send the digest statements; the returned function waits for their answers, and raises what they raised."""
    database = _digests(engine)
    what = digests.Digested(agreement.columns, agreement.key, cut)
    parts = [
        digests.digest_query(database, table.name, what, predicates=(*where, *part))
        for part in _parts(engine, table, cut)
    ]
    answers = [ask_beside(partial(engine.rows, part), "digest inside") for part in parts]

    def wait() -> tuple[SegmentSum, ...]:
        sums = [segment_sum for answer in answers for segment_sum in digests.parse_sums(answer.result(), None)]
        return tuple(sorted(sums, key=lambda segment_sum: segment_sum.segment))

    return wait


def read_row_versions(engine: Engine, table: SourceTable, agreement: Agreement, where: tuple[str, ...]) -> RowVersions:
    """What the versions of the table's rows hang on, and how to read them; why there are none to rely on where so it is."""
    database = engine.digests
    asked = (
        None if database is None else database.version_facts(table.name, tuple(column.name for column in table.columns))
    )
    if database is None or asked is None:
        return RowVersions(None, f"{engine.dialect.NAME} shows no versions of these rows", _no_versions)
    try:
        row = dict(engine.rows(asked)[0])
    except SourceError as error:
        return RowVersions(None, f"what row versions hang on could not be read: {error.message}", _no_versions)
    transactions, odd = int(row.pop("hr_transactions")), row.pop("hr_odd")
    missing = [name for name, value in row.items() if value is None]
    if odd or missing:
        return RowVersions(None, "; ".join(odd or (f"the server does not tell {', '.join(missing)}",)), _no_versions)
    standing = Standing({name.removeprefix("hr_"): str(value) for name, value in row.items()}, transactions)

    def begin_versions(cut: Segmentation) -> Callable[[], tuple[SegmentVersions, ...]]:
        what = digests.Digested(agreement.columns, agreement.key, cut)
        # One statement, which scans the table. Parts would each go through the key's index, and take twice the processor time.
        query = digests.version_query(database, table.name, what, where)
        answer = ask_beside(lambda: engine.rows(query), "row versions")
        return lambda: _parse_versions(answer.result())

    return RowVersions(standing, "", begin_versions)


def _parse_versions(rows: Iterable[Mapping[str, Any]]) -> tuple[SegmentVersions, ...]:
    versions = (
        SegmentVersions(int(row["hr_segment"]), int(row["hr_rows"]), wrap_digest(int(row["hr_sum"]))) for row in rows
    )
    return tuple(sorted(versions, key=lambda version: version.segment))


def _no_versions(_cut: Segmentation) -> NoReturn:
    raise ValueError("there are no row versions to read: RowVersions.why says why")


def ask_beside(ask: Callable[[], Answer], name: str) -> Future[Answer]:
    """Call `ask` in a thread of its own; the future holds its answer, or raises what it raised.

    No end of the process waits for it: where the sweep has failed or was stopped, nobody wants the answer.
    """
    answer: Future[Answer] = Future()

    def work() -> None:
        try:
            answer.set_result(ask())
        except BaseException as error:  # noqa: BLE001  as said above
            answer.set_exception(error)

    # Its lines of the log name the table, as those of the thread that asks.
    threading.Thread(target=copy_context().run, args=(work,), name=name, daemon=True).start()
    return answer


def probe(engine: Engine, table: SourceTable, agreement: Agreement, where: tuple[str, ...]) -> Probe:
    """Measure the link with a text of known length, and the digest with the first rows of the table."""
    database = _digests(engine)
    # By name: `*` leaves out what MySQL calls an invisible column.
    names = dict.fromkeys(item.column.name for item in (*agreement.columns, *agreement.key))
    columns = ", ".join(engine.dialect.quote(name) for name in names)
    first = engine.dialect.limit_rows(f"select {columns} from {table.name}{reads.where_clause(where)}", _SAMPLE_ROWS)
    sample = f"({first}) hr_s"
    what = digests.Digested(agreement.columns, agreement.key, HashSegments((), 1, "md5"))
    nothing = _seconds(lambda: engine.rows(database.filler(1)))
    filler = _seconds(lambda: engine.rows(database.filler(_FILLER_BYTES)))
    row = engine.rows(digests.width_query(database, sample, what))[0]
    rows = max(1, int(row["hr_rows"] or 0))
    digest = _seconds(lambda: engine.rows(digests.digest_query(database, sample, what)))
    return Probe(
        row_bytes=float(row["hr_bytes"] or 0) / rows,
        link_byte_seconds=max(0.0, filler - nothing) / _FILLER_BYTES,
        digest_row_seconds=max(0.0, digest - nothing) / rows,
    )


def list_key_items(table: SourceTable) -> tuple[ComparedColumn, ...]:
    """The key as the source alone would write it: what an md5 bucket is computed from."""
    items = []
    for column in table.key_columns:
        digits = (column.precision or 0, column.scale or 0) if column.kind is Kind.DECIMAL else None
        items.append(ComparedColumn(table.columns.index(column), column, "", digits))
    return tuple(items)


def _parts(engine: Engine, table: SourceTable, cut: Segmentation) -> list[tuple[str, ...]]:
    if not isinstance(cut, RangeSegments) or table.rows_estimate < SERIAL_ROWS:
        return [()]
    name = engine.dialect.quote(cut.column)
    return [(reads.range_predicate(name, part),) for part in spread(cut, engine.max_connections)]


def _seconds(act: Callable[[], object]) -> float:
    begun = time.monotonic()
    act()
    return time.monotonic() - begun


def _digests(engine: Engine) -> Digests:
    if engine.digests is None:
        raise ValueError(f"{engine.dialect.NAME} has no digests: find_pushdown_blocker says so first")
    return engine.digests
