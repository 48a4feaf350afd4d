"""Statements by which a database digests its own rows, and the predicate of some hash segments. Engine-neutral text.

The row text, digest and segments are those of core/tables/canonical_text.py and core/sweep/segments.py;
a dialect gives only the pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hudi_reconcile.core.sweep.segments import RangeSegments, Segmentation, SegmentSet, merge_ranges
from hudi_reconcile.core.tables import canonical_text
from hudi_reconcile.core.tables.agreement import ComparedColumn
from hudi_reconcile.sql.dialect import Buckets, Digests
from hudi_reconcile.sql.reads import where_clause


@dataclass(frozen=True, slots=True)
class Digested:
    """What is digested and by which cut: the compared columns, the key, the segments."""

    columns: tuple[ComparedColumn, ...]
    key: tuple[ComparedColumn, ...]
    cut: Segmentation

    @property
    def items(self) -> tuple[ComparedColumn, ...]:
        """Every column that is needed, once."""
        return self.columns + tuple(item for item in self.key if item not in self.columns)


def digest_query(
    database: Digests,
    table: str,
    what: Digested,
    *,
    predicates: tuple[str, ...] = (),
    segments: SegmentSet | None = None,
) -> str:
    """SELECT of `hr_segment`, `hr_rows`, `hr_high`, `hr_low`, one row a segment that holds rows. `table` is already quoted.

    `segments`: only the rows of these are read, as far as an index can tell them; others may come too (`parse_sums`).
    A row whose text cannot be built is not counted, so that it shows as a difference.
    """
    inner = database.keep_apart(_texts(database, table, what, predicates, segments=segments), narrow=False)
    fields = [_field(database, f"r{i}", f"t{i}", item) for i, item in enumerate(what.columns)]
    row = database.keep_apart(
        f"select {_segment(database, what)} as hr_segment, {database.join_texts(tuple(fields))} as hr_row from ({inner}) hr_t",
        narrow=False,
    )
    digest = database.md5_number("hr_row", canonical_text.DIGEST_HEX_DIGITS)
    rows = database.keep_apart(f"select hr_segment, {digest} as hr_v from ({row}) hr_d", narrow=True)
    half = 1 << canonical_text.HALF_BITS
    return (
        f"select hr_segment, count(hr_v) as hr_rows, sum({database.divide_down('hr_v', half)}) as hr_high,"
        f" sum({database.remainder('hr_v', half)}) as hr_low from ({rows}) hr_v group by hr_segment"
    )


def version_query(database: Digests, table: str, what: Digested, predicates: tuple[str, ...]) -> str:
    """SELECT of `hr_segment`, `hr_rows` and `hr_sum`, of the numbers of the rows' versions; only the key's column is read.

    Of a key that is cut into ranges. Raises ValueError of any other: a source tells no hash segment without its whole key.
    """
    if not isinstance(what.cut, RangeSegments):
        raise ValueError("row versions are summed by ranges of an integer key")
    key = next(i for i, item in enumerate(what.items) if item.column.name == what.cut.column)
    name = database.DIALECT.quote(what.cut.column)
    keys = f"select {name} as r{key}, {database.version_number()} as hr_v from {table}{where_clause(predicates)}"
    # Unmerged, or the planner expects as many groups as keys, and sorts.
    rows = database.keep_apart(f"select {_segment(database, what)} as hr_segment, hr_v from ({keys}) hr_t", narrow=True)
    return f"select hr_segment, count(*) as hr_rows, sum(hr_v) as hr_sum from ({rows}) hr_v group by hr_segment"


def width_query(database: Digests, table: str, what: Digested) -> str:
    """SELECT of `hr_rows` and `hr_bytes`: how many rows there are, and the length of their row texts together."""
    inner = database.keep_apart(_texts(database, table, what, (), segments=None), narrow=False)
    fields = [_field(database, f"r{i}", f"t{i}", item) for i, item in enumerate(what.columns)]
    row = database.keep_apart(
        f"select {database.join_texts(tuple(fields))} as hr_row from ({inner}) hr_t", narrow=False
    )
    return f"select count(*) as hr_rows, sum(octet_length(hr_row)) as hr_bytes from ({row}) hr_d"


def parse_sums(rows: Iterable[Mapping[str, Any]], segments: SegmentSet | None) -> tuple[canonical_text.SegmentSum, ...]:
    """The answer to `digest_query`, ordered by segment; segments that were not asked for are dropped."""
    wanted = None if segments is None else frozenset(segments.ids)
    sums = (
        canonical_text.SegmentSum(*(int(row[name] or 0) for name in ("hr_segment", "hr_rows", "hr_high", "hr_low")))
        for row in rows
    )
    kept = (segment_sum for segment_sum in sums if wanted is None or segment_sum.segment in wanted)
    return tuple(sorted(kept, key=lambda segment_sum: segment_sum.segment))


def bucket_predicate(database: Buckets, key: tuple[ComparedColumn, ...], count: int, segments: SegmentSet) -> str:
    """The rows of some hash segments; their number is computed for every row of the table."""
    if not segments.ids:
        return "1 = 0"
    return f"{bucket_number(database, key, count)} in ({', '.join(map(str, segments.ids))})"


def _texts(
    database: Digests,
    table: str,
    what: Digested,
    predicates: tuple[str, ...],
    *,
    segments: SegmentSet | None,
) -> str:
    """Each column as it is, for the test on NULL and the range, and as its canonical text."""
    select = ", ".join(
        f"{database.DIALECT.quote(item.column.name)} as r{i}, {database.canonical(item)} as t{i}"
        for i, item in enumerate(what.items)
    )
    if segments is None or not segments.ids:
        return f"select {select} from {table}{where_clause(predicates if segments is None else (*predicates, '1 = 0'))}"
    if isinstance(what.cut, RangeSegments):
        return database.DIALECT.ranges_query(
            select, table, what.cut.column, merge_ranges(what.cut, segments), predicates
        )
    in_segments = bucket_predicate(database, what.key, what.cut.count, segments)
    return f"select {select} from {table}{where_clause((*predicates, in_segments))}"


def _segment(database: Digests, what: Digested) -> str:
    cut = what.cut
    if not isinstance(cut, RangeSegments):
        places = [what.items.index(item) for item in what.key]
        fields = [_field(database, f"r{i}", f"t{i}", item) for i, item in zip(places, what.key, strict=True)]
        return _modulo(database, tuple(fields), cut.count)
    key = next(f"r{i}" for i, item in enumerate(what.items) if item.column.name == cut.column)
    first_high, last_low = cut.bounds(0)[1], cut.bounds(cut.count - 1)[0]
    absent = f"when {key} is null then {cut.count}"
    if first_high is None:
        return f"case {absent} else 0 end"
    # Keys outside the inner segments are told by comparison: a difference of two far keys would overflow.
    ends = f"when {key} < {first_high} then 0 when {key} >= {last_low} then {cut.count - 1}"
    if first_high == last_low:
        return f"case {absent} {ends} end"
    return f"case {absent} {ends} else {database.divide_down(key, cut.width)} - ({cut.start // cut.width}) end"


def bucket_number(database: Buckets, key: tuple[ComparedColumn, ...], count: int) -> str:
    """The hash segment of a row, of `count`, as an integer."""
    fields = (
        _field(database, database.DIALECT.quote(item.column.name), database.canonical(item), item) for item in key
    )
    return _modulo(database, tuple(fields), count)


def _modulo(database: Buckets, fields: tuple[str, ...], count: int) -> str:
    return database.remainder(database.md5_number(database.join_texts(fields), canonical_text.BUCKET_HEX_DIGITS), count)


def _field(database: Buckets, value: str, text: str, item: ComparedColumn) -> str:
    written = database.join_texts((database.octets(text, item.column), "':'", text))
    return f"(case when {database.write_null_test(value)} then '{canonical_text.NULL_FIELD}' else {written} end)"
