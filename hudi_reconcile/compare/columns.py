"""Both sides brought to one shape: canonical key `k0, k1, …`, row digest, watermark, segment; as SQL text.

The rest of the room compares only this. Row texts and their md5 numbers are the bytes that `core/tables/canonical_text.py`
defines.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pyspark.sql import DataFrame

from hudi_reconcile.compare.equality import (
    write_canonical,
    write_greatest_micros,
    write_lake_name,
    write_null_marks,
    write_row_digest,
    write_source_name,
)
from hudi_reconcile.core.sweep.segments import RangeSegments, Segmentation, SegmentSet
from hudi_reconcile.core.tables import canonical_text
from hudi_reconcile.core.tables.agreement import Agreement, ComparedColumn
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.core.tables.values import IN_SCOPE
from hudi_reconcile.sql.spark_text import quote_name

Side = Literal["source", "lake"]
_MOST_LISTED = 100  # more segments are shorter as a bit mask
_WORD_BITS = 60  # of a bigint's 64, so that no number of the mask needs a sign


def write_halves(digest: str = "digest") -> tuple[str, str]:
    """The two halves of a row's digest, as SQL. Sums of 64-bit digests wrap after a few rows, sums of halves after 2^31."""
    return f"shiftright({digest}, 32)", f"({digest} & {(1 << 32) - 1}L)"


HIGH_HALF, LOW_HALF = write_halves()


@dataclass(frozen=True, slots=True)
class ComparisonShape:
    """What is compared and how the key space is cut; the same for both sides."""

    agreement: Agreement
    segmentation: Segmentation

    @property
    def key_names(self) -> tuple[str, ...]:
        """The canonical key columns' names."""
        return tuple(f"k{index}" for index in range(len(self.agreement.key)))


def name_columns(side: Side, items: tuple[ComparedColumn, ...]) -> list[str]:
    """The items' columns as that side names them, as SQL."""
    return [write_source_name(item) if side == "source" else write_lake_name(item) for item in items]


def list_source_values(items: tuple[ComparedColumn, ...], row: str = "source_row") -> list[str]:
    """The items' values in the whole source row that a look keeps, as SQL."""
    return [f"{row}.{write_source_name(item)}" for item in items]


def list_lake_values(items: tuple[ComparedColumn, ...], row: str = "lake_row") -> list[str]:
    """The items' values in the whole lake row that a look keeps, as SQL."""
    return [f"{row}.{write_lake_name(item)}" for item in items]


def write_scope(frame: DataFrame) -> str:
    """True for the rows that the comparison is about, as SQL; all of a frame that says nothing of it."""
    return IN_SCOPE if IN_SCOPE in frame.columns else "true"


def select_scope(frame: DataFrame) -> DataFrame:
    """The rows that the comparison is about."""
    return frame.where(IN_SCOPE) if IN_SCOPE in frame.columns else frame


def digest_rows(frame: DataFrame, side: Side, shape: ComparisonShape, *extra: str) -> DataFrame:
    """`segment`, the canonical key, `digest`, and any extra columns of the frame, as SQL with their names."""
    selected = frame.selectExpr(*list_key_columns(side, shape), f"{write_digest(side, shape)} as digest", *extra)
    return add_segment(selected, shape)


def place_rows(frame: DataFrame, side: Side, shape: ComparisonShape, segments: SegmentSet, *columns: str) -> DataFrame:
    """The rows of some segments: `segment`, the canonical key, and columns of the frame, as SQL with their names.

    As few frames on the way as can be: Spark analyses each of them anew. The key's form stands where it is needed, and no
    name of ours, which a column of the table may have too.
    """
    values = list_key_values(side, shape)
    segment, cut = write_segment(shape, values), segments.finer
    tested = segment if cut is None else write_segment(replace(shape, segmentation=cut), values)
    inside = frame.where(write_segment_test(tested, segments))
    return inside.selectExpr(f"{segment} as segment", *list_key_columns(side, shape), *columns)


def write_digest(side: Side, shape: ComparisonShape) -> str:
    """The digest of that side's own rows, as SQL."""
    columns = shape.agreement.columns
    return write_row_digest(columns, name_columns(side, columns))


def list_key_values(side: Side, shape: ComparisonShape) -> tuple[str, ...]:
    """The canonical key of that side's own rows, as SQL."""
    key = shape.agreement.key
    values = zip(key, name_columns(side, key), strict=True)
    return tuple(f"({write_canonical(item, value)})" for item, value in values)


def list_key_columns(side: Side, shape: ComparisonShape) -> list[str]:
    """The same with its names."""
    return [f"{value} as {name}" for name, value in zip(shape.key_names, list_key_values(side, shape), strict=True)]


def write_watermark(side: Side, shape: ComparisonShape) -> str:
    """The row's greatest non-null watermark, as SQL: microseconds, a number, or text. The lake has no row versions."""
    items = shape.agreement.watermark if side == "lake" else shape.agreement.moving
    return write_greatest_micros(items, name_columns(side, items))


def write_source_id(shape: ComparisonShape) -> str:
    """The source row's incrementing id, as SQL; NULL where the strategy has none."""
    item = shape.agreement.incrementing
    return "cast(null as bigint)" if item is None else write_source_name(item)


def add_segment(rows: DataFrame, shape: ComparisonShape) -> DataFrame:
    """Rows with a canonical key, and the segment of each: the same number as `RangeSegments.find_segment` gives."""
    return rows.selectExpr("*", f"{write_segment(shape)} as segment")


def write_segment(shape: ComparisonShape, values: Sequence[str] = ()) -> str:
    """The segment of each row by its canonical key, as SQL; `values` say the key where its columns do not stand in the frame."""
    cut, values = shape.segmentation, values or shape.key_names
    if isinstance(cut, RangeSegments):
        return _range_segment(cut, values[0])
    if cut.by == "md5":
        keys = zip(shape.agreement.key, values, strict=True)
        return write_text_bucket(write_row_text([write_plain_text(item, value) for item, value in keys]), cut.count)
    hashed = ", ".join((*write_null_marks(values), *values))
    return f"cast(pmod(xxhash64({hashed}), {cut.count}) as int)"


def write_whole_row(names: Iterable[str]) -> str:
    """The columns of these names as one, as SQL."""
    return f"struct({', '.join(map(quote_name, names))})"


def keep_rows(frame: DataFrame, shape: ComparisonShape, segments: SegmentSet) -> DataFrame:
    """The lake's own rows of some segments, all columns; materialised, and failing rather than read again if lost."""
    # The row travels as one column: a table may have columns that are called as ours are.
    placed = place_rows(frame, "lake", shape, segments, f"{write_whole_row(frame.columns)} as hr_row")
    return placed.select("hr_row.*").localCheckpoint(eager=True)


def _range_segment(cut: RangeSegments, key: str) -> str:
    # Keys outside the inner segments are told by comparison: a difference of two far keys would overflow.
    first_high, last_low = cut.bounds(0)[1], cut.bounds(cut.count - 1)[0]
    if first_high is None:
        return f"case when {key} is null then {cut.count} else 0 end"
    # Spark's div truncates toward zero; -(key + 1) floors without overflowing at the smallest bigint.
    floor = f"case when {key} >= 0 then {key} div {cut.width} else -1 - (-({key} + 1) div {cut.width}) end"
    inner = f"({floor}) - ({cut.start // cut.width})"
    cases = f"when {key} is null then {cut.count} when {key} < {first_high} then 0 when {key} >= {last_low} then {cut.count - 1}"
    return f"cast(case {cases} else {inner} end as int)"


def write_segment_test(segment: str, segments: SegmentSet) -> str:
    """SQL that is true for the rows of these segments; `segment` is the SQL of a row's segment.

    As a filter it drops the other rows before they are digested, which a join does not. More than a hundred segments are
    written as a bit mask, and that as one text, which Spark takes apart once a plan: it is slow to parse thousands of literals.
    """
    ids = segments.ids
    if len(ids) <= _MOST_LISTED:
        return f"{segment} in ({', '.join(map(str, ids))})" if ids else "false"
    words = [0] * (ids[-1] // _WORD_BITS + 1)
    for segment_id in ids:
        words[segment_id // _WORD_BITS] |= 1 << segment_id % _WORD_BITS
    listed = f"cast(split('{','.join(map(str, words))}', ',') as array<bigint>)"
    # `get` gives NULL past the end, also where Spark is set to ANSI.
    word = f"get({listed}, cast({segment} div {_WORD_BITS} as int))"
    return f"getbit({word}, cast({segment} % {_WORD_BITS} as int)) = 1"


_SHORT_SCALE = 6  # up to here Spark never writes a decimal with an exponent


def write_row_text(texts: list[str]) -> str:
    """Canonical texts as one, as SQL; each is named twice, so they are to be columns of an inner select."""
    fields = [f"coalesce(concat(octet_length({text}), ':', {text}), '{canonical_text.NULL_FIELD}')" for text in texts]
    return f"concat({', '.join(fields)})"


def write_text_digest(row: str) -> str:
    """60 bits of the row text as a bigint; summed as halves, for a sum of such numbers wraps after eight."""
    return _md5_number(row, canonical_text.DIGEST_HEX_DIGITS)


def write_text_bucket(key_row: str, count: int) -> str:
    """The hash segment of a key's row text."""
    return f"cast({_md5_number(key_row, canonical_text.BUCKET_HEX_DIGITS)} % {count} as int)"


def _md5_number(text: str, hex_digits: int) -> str:
    return f"cast(conv(substring(md5(cast({text} as binary)), 1, {hex_digits}), 16, 10) as bigint)"


def write_plain_text(item: ComparedColumn, form: str) -> str:
    """The text of a canonical form (compare/equality.py) of any kind but floats; both as SQL."""
    kind = item.column.kind
    if kind is Kind.BOOLEAN:
        return f"cast(cast({form} as int) as string)"
    if kind is Kind.BYTES:
        return f"lower(hex({form}))"
    if kind is Kind.DECIMAL and item.digits is not None:
        return _write_fixed(f"cast({form} as string)", item.digits[1])
    return f"cast({form} as string)"


def _write_fixed(text: str, scale: int) -> str:
    """Fixed notation. Without ANSI Spark writes 1E-18: then all digits are the value's, the last at the scale's place."""
    if scale <= _SHORT_SCALE:
        return text
    digits = f"regexp_replace(substring_index({text}, 'E', 1), '[-.]', '')"
    sign = f"case when startswith({text}, '-') then '-' else '' end"
    return f"case when contains({text}, 'E') then concat({sign}, '0.', lpad({digits}, {scale}, '0')) else {text} end"
