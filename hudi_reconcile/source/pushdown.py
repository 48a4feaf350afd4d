"""Digests computed by the database itself, in statements that run side by side, and the probe that says what they cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from hudi_reconcile.core.sweep.segments import HashSegments, Probe, RangeSegments, Segmentation, spread
from hudi_reconcile.core.tables.agreement import Agreement, ComparedColumn
from hudi_reconcile.core.tables.canonical_text import SegmentSum
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.core.tables.values import SourceTable
from hudi_reconcile.databases.base import Engine
from hudi_reconcile.ports import Inside
from hudi_reconcile.sql import digests, reads
from hudi_reconcile.sql.dialect import Digests

SERIAL_ROWS = 500_000  # below this many rows a second statement costs more than it saves
_SAMPLE_ROWS = 5_000  # milliseconds of work: a sweep of a million rows takes one second
_FILLER_BYTES = 2_000_000


def pushdown_blocker(engine: Engine, table: SourceTable, agreement: Agreement) -> str:
    """Why this database cannot digest these rows; empty where it can."""
    if engine.digests is None:
        return f"{engine.dialect.NAME} cannot digest its own rows here"
    narrow = key_items(table)
    wide = [ours.column.name for item, ours in zip(agreement.key, narrow, strict=True) if item.digits != ours.digits]
    if wide:
        return f"the lake's key {', '.join(wide)} has other digits than the source's"
    return ""


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
    pool = ThreadPoolExecutor(max_workers=len(parts), thread_name_prefix="digest inside")
    answers = [pool.submit(engine.rows, sql) for sql in parts]
    pool.shutdown(wait=False)

    def wait() -> tuple[SegmentSum, ...]:
        found = [one for answer in answers for one in digests.sums_of(answer.result(), None)]
        return tuple(sorted(found, key=lambda one: one.segment))

    return wait


def probe(engine: Engine, table: SourceTable, agreement: Agreement, where: tuple[str, ...]) -> Probe:
    """Measure the link with a text of known length, and the digest with the first rows of the table."""
    database = _digests(engine)
    sample = f"({engine.dialect.limited(f'select * from {table.name}{reads.where_clause(where)}', _SAMPLE_ROWS)}) hr_s"
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


def key_items(table: SourceTable) -> tuple[ComparedColumn, ...]:
    """The key as the source alone would write it: what an md5 bucket is computed from."""
    found = []
    for column in table.key_columns:
        digits = (column.precision or 0, column.scale or 0) if column.kind is Kind.DECIMAL else None
        found.append(ComparedColumn(table.columns.index(column), column, "", digits))
    return tuple(found)


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
        raise ValueError(f"{engine.dialect.NAME} has no digests: hindrance() says so first")
    return engine.digests
