"""The canonical text of values as Spark columns, and digests of it: the lake's half of a comparison by pushdown.

The same bytes as core/tables/canonical_text.py, which holds the table; ANSI on or off.
Native expressions only, in steps of inner selects:
one expression that names a costly part twice is computed twice, and of floats Spark would not come back for minutes.
"""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.compare.columns import (
    ComparisonShape,
    Side,
    plain_text,
    row_text,
    segment_column,
    text_bucket,
    text_digest,
    values_of,
)
from hudi_reconcile.compare.equality import canonical_value
from hudi_reconcile.core.sweep.segments import HashSegments
from hudi_reconcile.core.tables import canonical_text
from hudi_reconcile.core.tables.agreement import ComparedColumn
from hudi_reconcile.core.tables.kinds import Kind

_MANTISSA_BITS = 52
_ONE = 1 << _MANTISSA_BITS
_LEAST_EXPONENT = -1022
_INFINITY_BITS = 2047 << _MANTISSA_BITS
_FLOATS = (Kind.REAL, Kind.DOUBLE)
_OWN = "_hr_"


def digest_texts(frame: DataFrame, side: Side, shape: ComparisonShape, *extra: SparkColumn) -> DataFrame:
    """As `sides.digested`, but with 60 bits of the canonical text, and hash segments by it: as a database can compute them."""
    columns, key = shape.agreement.columns, shape.agreement.key
    items = columns + tuple(item for item in key if item not in columns)
    keys = [
        canonical_value(item, value).alias(name)
        for name, item, value in zip(shape.key_names, key, values_of(side, key), strict=True)
    ]
    found = add_texts(frame, items, values_of(side, items), *keys, *extra)
    kept = [F.col(name) for name in found.columns if not name.startswith(_OWN)]
    texts = {item.index: F.col(_text(place)) for place, item in enumerate(items)}
    digest = text_digest(row_text([texts[item.index] for item in columns])).alias("digest")
    if isinstance(shape.segmentation, HashSegments):
        segment = text_bucket(row_text([texts[item.index] for item in key]), shape.segmentation.count)
    else:
        segment = segment_column(shape)
    return found.select(*kept, digest, segment.alias("segment"))


def collect_digests(rows: DataFrame) -> tuple[canonical_text.SegmentSum, ...]:
    """The digests of rows that have `segment` and `digest` (60 bits), ordered by segment: one Spark job."""
    digest, low = F.col("digest"), F.lit((1 << canonical_text.HALF_BITS) - 1).cast("bigint")
    sums = rows.groupBy("segment").agg(
        F.count(digest).alias("rows"),
        F.sum(F.shiftright(digest, canonical_text.HALF_BITS)).alias("high"),
        F.sum(digest.bitwiseAND(low)).alias("low"),
    )
    names = ("segment", "rows", "high", "low")
    found = (canonical_text.SegmentSum(*(int(row[name] or 0) for name in names)) for row in sums.collect())
    return tuple(sorted(found, key=lambda one: one.segment))


def add_texts(
    frame: DataFrame, items: tuple[ComparedColumn, ...], values: list[SparkColumn], *keep: SparkColumn
) -> DataFrame:
    """`keep`, then the items' canonical texts as `_hr_t0, _hr_t1, …`; NULL where the value is NULL."""
    texts = [
        _first(item, value).alias(_text(place)) for place, (item, value) in enumerate(zip(items, values, strict=True))
    ]
    found = frame.select(*keep, *texts)
    floats = [_text(place) for place, item in enumerate(items) if item.column.kind in _FLOATS]
    for step in (_exponent, _mantissa, _bits, _signed) if floats else ():
        found = found.withColumns({name: column for text in floats for name, column in step(text).items()})
    return found.select(*frame.select(*keep).columns, *[_text(place) for place in range(len(items))])


def _first(item: ComparedColumn, value: SparkColumn) -> SparkColumn:
    form = canonical_value(item, value)
    return form.cast("double") if item.column.kind in _FLOATS else plain_text(item, form)


def _text(place: int) -> str:
    return f"{_OWN}t{place}"


# The bits of a double by arithmetic that is exact for every finite one, in steps. `reflect` could ask Java for them, but Spark
# holds it for random: no filter moves past it, and it may not stand in an aggregate.


def _exponent(text: str) -> dict[str, SparkColumn]:
    value = F.col(text)
    size = F.abs(value)
    odd = F.isnan(value) | (size == 0) | (size == float("inf"))
    usual = F.when(odd, F.lit(1.0)).otherwise(size)
    least = F.lit(_LEAST_EXPONENT).cast("bigint")
    return {f"{text}_u": usual, f"{text}_e": F.greatest(F.floor(F.log2(usual)), least)}


def _mantissa(text: str) -> dict[str, SparkColumn]:
    # In two steps, because 2^1074 is no double.
    shift = F.lit(_MANTISSA_BITS) - F.col(f"{text}_e")
    half = F.shiftright(shift, 1)
    two = F.lit(2.0)
    return {f"{text}_m": F.col(f"{text}_u") * F.pow(two, half) * F.pow(two, shift - half)}


def _bits(text: str) -> dict[str, SparkColumn]:
    """Next to a power of two the logarithm may be one off: the mantissa tells, which has 53 bits above the least exponent."""
    mantissa, exponent = F.col(f"{text}_m"), F.col(f"{text}_e")
    too_high = (mantissa < float(_ONE)) & (exponent > _LEAST_EXPONENT)
    too_low = mantissa >= float(2 * _ONE)
    right = F.when(too_high, mantissa * 2).when(too_low, mantissa / 2).otherwise(mantissa).cast("bigint")
    step = F.when(too_high, -1).when(too_low, 1).otherwise(0)
    return {f"{text}_b": right + (exponent + step - _LEAST_EXPONENT) * F.lit(_ONE)}


def _signed(text: str) -> dict[str, SparkColumn]:
    value = F.col(text)
    bits = F.when(F.abs(value) == float("inf"), F.lit(_INFINITY_BITS)).otherwise(F.col(f"{text}_b"))
    number = F.when(value == 0, F.lit(0)).when(value < 0, -bits).otherwise(bits).cast("string")
    return {text: F.when(F.isnan(value), F.lit("NaN")).when(value.isNotNull(), number)}
