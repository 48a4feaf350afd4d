"""What is known of a table's keys and rows: by the catalog, and by a sample of keys where the catalog says nothing.

Reads the catalog and, at most, a sample of one key column. Absent, stale or unreadable statistics are never an error: they
are said, and the parts are cut another way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hudi_reconcile.core.errors import SourceError
from hudi_reconcile.core.key_values import ORDERED_KINDS, key_value
from hudi_reconcile.core.kinds import Column, Kind
from hudi_reconcile.core.parts import SERIAL_ROWS, KeyValue, Statistics
from hudi_reconcile.core.segments import RangeSegments, Segmentation
from hudi_reconcile.core.values import SourceTable
from hudi_reconcile.source.catalogued import Catalogued
from hudi_reconcile.source.engine import Engine
from hudi_reconcile.sql import parts as sql

SAMPLE_KEYS = 4_000
_MODULO_KEYS, _MODULO_MOST = 450, 1_000  # by a remainder, and the rows that a JDBC connection of ours hands out
_LEAST_SAMPLE = 200
_LEAST, _GREATEST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class Asked:
    """What is read: the table, its segments (for the key's ends), the configured predicates, and the rows expected.

    `edges`: key ranges are wanted, so that a sample is worth its statement.
    """

    table: SourceTable
    cut: Segmentation | None
    where: tuple[str, ...]
    rows: int
    edges: bool = True


def gathered(engine: Engine, asked: Asked) -> Statistics:
    """The first key column's statistics: the catalog's, else a sample's, else only the key's ends."""
    key = asked.table.key_columns[0]
    found = _catalogued(engine, asked.table)
    low, high = _ends(asked.cut)
    known = Statistics(
        rows=asked.rows,
        why=found.why,
        row_bytes=found.row_bytes,
        rows_known=found.rows_known,
        bounds=_values(key, found.bounds),
        common=tuple((v, share) for text, share in found.common if (v := key_value(key, text)) is not None),
        null_share=found.null_share,
        low=low,
        high=high,
    )
    if asked.rows < SERIAL_ROWS or not asked.edges or _is_query(asked.table) or not can_range(key, found):
        return replace(known, bounds=(), common=(), low=None, high=None)
    # A predicate leaves out rows of which the catalog's histogram knows nothing; the sample obeys it.
    if not asked.where and (len(known.bounds) > 1 or known.common):
        return known
    return _sampled(engine, asked, known, found.sampling)


def can_range(key: Column, found: Catalogued) -> bool:
    """Whether Python and the database agree on the order of these keys."""
    return key.kind in ORDERED_KINDS and (key.kind is not Kind.TEXT or found.is_bytewise)


# --- helpers ---


def _catalogued(engine: Engine, table: SourceTable) -> Catalogued:
    if _is_query(table):
        return Catalogued("a query has no statistics")
    try:
        return engine.statistics(table)
    except SourceError as error:
        return Catalogued(f"the catalog's statistics could not be read ({error.message})")


def _is_query(table: SourceTable) -> bool:
    # To sample its keys would be to run it once more.
    return table.name.startswith("(")


def _sampled(engine: Engine, asked: Asked, known: Statistics, sampling: str) -> Statistics:
    key = asked.table.key_columns[0]
    by_hash = engine.dialect.hash_predicate(((engine.dialect.quote(key.name), key),), 0, 2) is not None
    one_in = max(1, asked.rows // (SAMPLE_KEYS if by_hash else _MODULO_KEYS))
    suffix = sampling.format(percent=f"{_percent(asked.rows):.4f}") if sampling and not asked.where else ""
    query = sql.sample_query(engine.dialect, asked.table.name, key, asked.where, one_in=one_in, suffix=suffix)
    ends = replace(known, bounds=(), common=(), rows_known=None, null_share=0.0)
    unchecked = "the key's ends, unchecked: parts may be uneven"
    if query is None:
        return replace(ends, why=f"{known.why}; {unchecked}")
    try:
        found = engine.rows(query)
    except SourceError as error:
        return replace(ends, why=f"{known.why}; keys could not be sampled ({error.message}); {unchecked}")
    values = sorted(v for row in found if (v := key_value(key, str(row["hr_key"]))) is not None)
    if len(values) < _LEAST_SAMPLE or (not by_hash and len(found) >= _MODULO_MOST):
        return replace(ends, why=f"{known.why}; a sample found {len(values)} keys; {unchecked}")
    return replace(ends, why=f"{known.why}; a sample of {len(values):,} keys", bounds=_thinned(values))


def _percent(rows: int) -> float:
    # Whole pages are sampled, and the keys of one page are neighbours: more keys than a sample of single rows needs.
    return min(100.0, max(1.0, 100.0 * 10 * SAMPLE_KEYS / rows))


def _thinned(values: Sequence[KeyValue]) -> tuple[KeyValue, ...]:
    step = max(1, len(values) // SAMPLE_KEYS)
    return (*values[:-1:step], values[-1])


def _values(key: Column, texts: tuple[str, ...]) -> tuple[KeyValue, ...]:
    return tuple(value for text in texts if (value := key_value(key, text)) is not None)


def _ends(cut: Segmentation | None) -> tuple[int | None, int | None]:
    if not isinstance(cut, RangeSegments):
        return None, None
    return max(_LEAST, cut.start), min(_GREATEST, cut.start + cut.width * cut.count - 1)
