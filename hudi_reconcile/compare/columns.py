"""Both sides brought to one shape: canonical key `k0, k1, …`, row digest, watermark, segment. The room compares only this.

Row texts as Spark columns, and the md5 numbers of them: the same bytes as core/tables/canonical_text.py, which holds the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.compare.equality import (
    canonical_value,
    greatest_micros,
    lake_value,
    null_marks,
    row_digest,
    source_value,
)
from hudi_reconcile.core.sweep.segments import RangeSegments, Segmentation, SegmentSet
from hudi_reconcile.core.tables import canonical_text
from hudi_reconcile.core.tables.agreement import Agreement, ComparedColumn
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.core.tables.values import IN_SCOPE

Side = Literal["source", "lake"]
_MOST_LISTED = 2_000


@dataclass(frozen=True, slots=True)
class ComparisonShape:
    """What is compared and how the key space is cut; the same for both sides."""

    agreement: Agreement
    segmentation: Segmentation

    @property
    def key_names(self) -> tuple[str, ...]:
        """The canonical key columns' names."""
        return tuple(f"k{index}" for index in range(len(self.agreement.key)))


def values_of(side: Side, items: tuple[ComparedColumn, ...]) -> list[SparkColumn]:
    """The items' columns as that side names them."""
    return [source_value(item) if side == "source" else lake_value(item) for item in items]


def source_values(items: tuple[ComparedColumn, ...]) -> list[SparkColumn]:
    """The items' values in the whole source row that a look keeps as `source_row`."""
    return [F.col("source_row").getField(f"c{item.index}") for item in items]


def lake_values(items: tuple[ComparedColumn, ...], row: str = "lake_row") -> list[SparkColumn]:
    """The items' values in the whole lake row that a look keeps."""
    return [F.col(row).getField(item.column.lake_name) for item in items]


def in_scope(frame: DataFrame) -> SparkColumn:
    """True for the rows that the comparison is about; all of a frame that says nothing of it."""
    return F.col(IN_SCOPE) if IN_SCOPE in frame.columns else F.lit(True)


def select_scope(frame: DataFrame) -> DataFrame:
    """The rows that the comparison is about."""
    return frame.where(F.col(IN_SCOPE)) if IN_SCOPE in frame.columns else frame


def digest_rows(frame: DataFrame, side: Side, shape: ComparisonShape, *extra: SparkColumn) -> DataFrame:
    """`segment`, the canonical key, `digest`, and any extra columns of the frame."""
    key = shape.agreement.key
    canon = [canonical_value(item, value) for item, value in zip(key, values_of(side, key), strict=True)]
    columns = shape.agreement.columns
    selected = frame.select(
        *[value.alias(name) for name, value in zip(shape.key_names, canon, strict=True)],
        row_digest(columns, values_of(side, columns)).alias("digest"),
        *extra,
    )
    return selected.withColumn("segment", segment_column(shape))


def watermark_micros(side: Side, shape: ComparisonShape) -> SparkColumn:
    """The row's greatest non-null watermark: microseconds, a number, or text. The lake has no row versions of the source's."""
    items = shape.agreement.watermark if side == "lake" else shape.agreement.moving
    return greatest_micros(items, values_of(side, items))


def source_id(shape: ComparisonShape) -> SparkColumn:
    """The source row's incrementing id; NULL where the strategy has none."""
    item = shape.agreement.incrementing
    return F.lit(None).cast("bigint") if item is None else source_value(item)


def segment_column(shape: ComparisonShape) -> SparkColumn:
    """The segment of each row by its canonical key, the same number as `RangeSegments.segment_of` gives."""
    cut = shape.segmentation
    if isinstance(cut, RangeSegments):
        return _range_segment(cut)
    keys = [F.col(name) for name in shape.key_names]
    if cut.by == "md5":
        texts = [plain_text(item, form) for item, form in zip(shape.agreement.key, keys, strict=True)]
        return text_bucket(row_text(texts), cut.count)
    return F.pmod(F.xxhash64(*null_marks(keys), *keys), F.lit(cut.count)).cast("int")


def keep_rows(frame: DataFrame, shape: ComparisonShape, segments: SegmentSet) -> DataFrame:
    """The lake's own rows of some segments, all columns; materialised, and failing rather than read again if lost."""
    named = lake_keys(shape)
    # The row travels as one column: a table may have columns that are called as ours are.
    row = F.struct(*[F.col("`" + name.replace("`", "``") + "`") for name in frame.columns]).alias("hr_row")
    placed = frame.select(row, *named).withColumn("segment", segment_column(shape))
    return select_segments(placed, segments).select("hr_row.*").localCheckpoint(eager=True)


def lake_keys(shape: ComparisonShape) -> list[SparkColumn]:
    """The canonical key columns of the lake's own rows."""
    key = shape.agreement.key
    canon = [canonical_value(item, value) for item, value in zip(key, values_of("lake", key), strict=True)]
    return [value.alias(name) for name, value in zip(shape.key_names, canon, strict=True)]


def _range_segment(cut: RangeSegments) -> SparkColumn:
    # Keys outside the inner segments are told by comparison: a difference of two far keys would overflow.
    first_high, last_low = cut.bounds(0)[1], cut.bounds(cut.count - 1)[0]
    if first_high is None:
        return F.when(F.col("k0").isNull(), cut.count).otherwise(0)
    # Spark's div truncates toward zero; -(k0 + 1) floors without overflowing at the smallest bigint.
    floor = f"case when k0 >= 0 then k0 div {cut.width} else -1 - (-(k0 + 1) div {cut.width}) end"
    inner = f"({floor}) - ({cut.start // cut.width})"
    cases = f"when k0 is null then {cut.count} when k0 < {first_high} then 0 when k0 >= {last_low} then {cut.count - 1}"
    return F.expr(f"cast(case {cases} else {inner} end as int)")


def select_segments(frame: DataFrame, segments: SegmentSet) -> DataFrame:
    """The rows of some segments."""
    if len(segments.ids) <= _MOST_LISTED:  # a filter is pushed below the digest, a join is not
        return frame.where(f"segment in ({', '.join(map(str, segments.ids))})") if segments.ids else frame.limit(0)
    ids = frame.sparkSession.createDataFrame([(i,) for i in segments.ids], "segment int")
    return frame.join(F.broadcast(ids), "segment", "left_semi")


_SHORT_SCALE = 6  # up to here Spark never writes a decimal with an exponent


def row_text(texts: list[SparkColumn]) -> SparkColumn:
    """Canonical texts as one; each is named twice, so they are to be columns of an inner select."""
    fields = [F.coalesce(F.concat(F.octet_length(t), F.lit(":"), t), F.lit(canonical_text.NULL_FIELD)) for t in texts]
    return F.concat(*fields)


def text_digest(row: SparkColumn) -> SparkColumn:
    """60 bits of the row text as a bigint; summed as halves, for a sum of such numbers wraps after eight."""
    return _md5_number(row, canonical_text.DIGEST_HEX_DIGITS)


def text_bucket(key_row: SparkColumn, count: int) -> SparkColumn:
    """The hash segment of a key's row text."""
    return (_md5_number(key_row, canonical_text.BUCKET_HEX_DIGITS) % F.lit(count)).cast("int")


def _md5_number(text: SparkColumn, hex_digits: int) -> SparkColumn:
    return F.conv(F.substring(F.md5(text.cast("binary")), 1, hex_digits), 16, 10).cast("bigint")


def plain_text(item: ComparedColumn, form: SparkColumn) -> SparkColumn:
    """The text of a canonical form (compare/equality.py) of any kind but floats."""
    kind = item.column.kind
    if kind is Kind.BOOLEAN:
        return form.cast("int").cast("string")
    if kind is Kind.BYTES:
        return F.lower(F.hex(form))
    if kind is Kind.DECIMAL and item.digits is not None:
        return _fixed(form.cast("string"), item.digits[1])
    return form.cast("string")


def _fixed(text: SparkColumn, scale: int) -> SparkColumn:
    """Fixed notation. Without ANSI Spark writes 1E-18: then all digits are the value's, the last at the scale's place."""
    if scale <= _SHORT_SCALE:
        return text
    digits = F.regexp_replace(F.substring_index(text, "E", 1), "[-.]", "")
    sign = F.when(text.startswith("-"), "-").otherwise("")
    return F.when(text.contains("E"), F.concat(sign, F.lit("0."), F.lpad(digits, scale, "0"))).otherwise(text)
