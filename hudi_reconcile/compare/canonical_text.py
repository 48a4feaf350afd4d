"""The canonical text of values as Spark columns, and digests of it: the lake's half of a comparison by pushdown.

The same bytes as core/tables/canonical_text.py, which holds the table; ANSI on or off.
Native expressions only, in steps of inner selects:
one expression that names a costly part twice is computed twice, and of floats Spark would not come back for minutes.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.compare.columns import (
    ComparisonShape,
    Side,
    list_key_columns,
    name_columns,
    write_plain_text,
    write_row_text,
    write_segment,
    write_text_bucket,
    write_text_digest,
)
from hudi_reconcile.compare.equality import write_canonical
from hudi_reconcile.core.sweep.segments import HashSegments
from hudi_reconcile.core.tables import canonical_text
from hudi_reconcile.core.tables.agreement import ComparedColumn
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.sql.spark_text import quote_name

_MANTISSA_BITS = 52
_ONE = 1 << _MANTISSA_BITS
_LEAST_EXPONENT = -1022
_INFINITY_BITS = 2047 << _MANTISSA_BITS
_FLOATS = (Kind.REAL, Kind.DOUBLE)
_OWN = "_hr_"


def digest_texts(frame: DataFrame, side: Side, shape: ComparisonShape) -> DataFrame:
    """As `digest_rows`, but with 60 bits of the canonical text, and hash segments by it: as a database can compute them."""
    columns, key = shape.agreement.columns, shape.agreement.key
    items = columns + tuple(item for item in key if item not in columns)
    rows = add_texts(frame, items, name_columns(side, items), *list_key_columns(side, shape))
    texts = {item.index: _text(place) for place, item in enumerate(items)}
    digest = write_text_digest(write_row_text([texts[item.index] for item in columns]))
    if isinstance(shape.segmentation, HashSegments):
        segment = write_text_bucket(write_row_text([texts[item.index] for item in key]), shape.segmentation.count)
    else:
        segment = write_segment(shape)
    return rows.selectExpr(*shape.key_names, f"{digest} as digest", f"{segment} as segment")


def collect_digests(rows: DataFrame) -> tuple[canonical_text.SegmentSum, ...]:
    """The digests of rows that have `segment` and `digest` (60 bits), ordered by segment: one Spark job."""
    digest, low = F.col("digest"), F.lit((1 << canonical_text.HALF_BITS) - 1).cast("bigint")
    sums = rows.groupBy("segment").agg(
        F.count(digest).alias("rows"),
        F.sum(F.shiftright(digest, canonical_text.HALF_BITS)).alias("high"),
        F.sum(digest.bitwiseAND(low)).alias("low"),
    )
    names = ("segment", "rows", "high", "low")
    digests = (canonical_text.SegmentSum(*(int(row[name] or 0) for name in names)) for row in sums.collect())
    return tuple(sorted(digests, key=lambda segment_sum: segment_sum.segment))


def add_texts(frame: DataFrame, items: tuple[ComparedColumn, ...], values: list[str], *keep: str) -> DataFrame:
    """`keep`, then the items' canonical texts as `_hr_t0, _hr_t1, …`; NULL where the value is NULL. All given as SQL."""
    texts = [_text(place) for place in range(len(items))]
    firsts = [_first(item, value) for item, value in zip(items, values, strict=True)]
    rows = frame.selectExpr(*keep, *[f"{first} as {text}" for first, text in zip(firsts, texts, strict=True)])
    floats = [text for text, item in zip(texts, items, strict=True) if item.column.kind in _FLOATS]
    if not floats:
        return rows
    names = rows.columns
    for step in (_exponent, _mantissa, _bits):
        rows = rows.selectExpr("*", *[f"{made} as {name}" for text in floats for name, made in step(text).items()])
    return rows.selectExpr(
        *[f"{_write_sign(name) if name in floats else quote_name(name)} as {quote_name(name)}" for name in names]
    )


def _first(item: ComparedColumn, value: str) -> str:
    form = write_canonical(item, value)
    return f"cast({form} as double)" if item.column.kind in _FLOATS else write_plain_text(item, form)


def _text(place: int) -> str:
    return f"{_OWN}t{place}"


# The bits of a double by arithmetic that is exact for every finite one, in steps. `reflect` could ask Java for them, but Spark
# holds it for random: no filter moves past it, and it may not stand in an aggregate.
_ENDLESS = "cast('Infinity' as double)"


def _exponent(text: str) -> dict[str, str]:
    size = f"abs({text})"
    usual = f"case when isnan({text}) or {size} = 0 or {size} = {_ENDLESS} then 1D else {size} end"
    return {f"{text}_u": usual, f"{text}_e": f"greatest(floor(log2({usual})), cast({_LEAST_EXPONENT} as bigint))"}


def _mantissa(text: str) -> dict[str, str]:
    # In two steps, because 2^1074 is no double.
    shift = f"({_MANTISSA_BITS} - {text}_e)"
    half = f"shiftright({shift}, 1)"
    return {f"{text}_m": f"{text}_u * pow(2D, {half}) * pow(2D, {shift} - {half})"}


def _bits(text: str) -> dict[str, str]:
    """Next to a power of two the logarithm may be one off: the mantissa tells, which has 53 bits above the least exponent."""
    mantissa, exponent = f"{text}_m", f"{text}_e"
    too_high = f"{mantissa} < {_ONE}D and {exponent} > {_LEAST_EXPONENT}"
    too_low = f"{mantissa} >= {2 * _ONE}D"
    right = f"case when {too_high} then {mantissa} * 2 when {too_low} then {mantissa} / 2 else {mantissa} end"
    step = f"case when {too_high} then -1 when {too_low} then 1 else 0 end"
    return {f"{text}_b": f"cast({right} as bigint) + ({exponent} + ({step}) - ({_LEAST_EXPONENT})) * {_ONE}L"}


def _write_sign(text: str) -> str:
    bits = f"(case when abs({text}) = {_ENDLESS} then {_INFINITY_BITS}L else {text}_b end)"
    number = f"cast(case when {text} = 0 then 0L when {text} < 0 then -{bits} else {bits} end as string)"
    return f"case when isnan({text}) then 'NaN' when {text} is not null then {number} end"
