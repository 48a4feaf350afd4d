"""The canonical text of values as Spark columns, and digests of it: the lake's half of a comparison by pushdown.

The same bytes as core/canon.py, which holds the table; ANSI on or off. Native expressions only, so that Spark may reorder them.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hudi_reconcile.compare.canonical import canonical
from hudi_reconcile.core import canon
from hudi_reconcile.core.agreement import Compared
from hudi_reconcile.core.kinds import Kind

_SHORT_SCALE = 6  # up to here Spark never writes a decimal with an exponent
_MANTISSA_BITS = 52
_LEAST_EXPONENT = -1022
_INFINITY_BITS = 2047 << _MANTISSA_BITS


def canonical_text(item: Compared, value: SparkColumn) -> SparkColumn:
    """The value's canonical text; NULL where the value is NULL."""
    return form_text(item, canonical(item, value))


def form_text(item: Compared, form: SparkColumn) -> SparkColumn:
    """The text of a value that has its canonical form already (compare/canonical.py)."""
    kind = item.column.kind
    if kind is Kind.BOOLEAN:
        return form.cast("int").cast("string")
    if kind is Kind.BYTES:
        return F.lower(F.hex(form))
    if kind is Kind.DECIMAL and item.digits is not None:
        return _fixed(form.cast("string"), item.digits[1])
    if kind in (Kind.REAL, Kind.DOUBLE):
        return _float_bits(form.cast("double"))
    return form.cast("string")


def row_text(texts: list[SparkColumn]) -> SparkColumn:
    """Canonical texts as one. Each is used more than once: they should be columns of an inner select."""
    fields = [F.coalesce(F.concat(F.octet_length(t), F.lit(":"), t), F.lit(canon.NULL_FIELD)) for t in texts]
    return F.concat(*fields)


def text_digest(row: SparkColumn) -> SparkColumn:
    """60 bits of the row text as a bigint; to be summed only as an inner select's column, as halves."""
    return _md5_number(row, canon.DIGEST_HEX_DIGITS)


def text_bucket(key_row: SparkColumn, count: int) -> SparkColumn:
    """The hash segment of a key's row text."""
    return F.pmod(_md5_number(key_row, canon.BUCKET_HEX_DIGITS), F.lit(count)).cast("int")


def halves(digest: SparkColumn) -> tuple[SparkColumn, SparkColumn]:
    """The upper and the lower 30 bits of a digest: their sums do not wrap."""
    low = F.lit((1 << canon.HALF_BITS) - 1).cast("bigint")
    return F.shiftright(digest, canon.HALF_BITS).cast("bigint"), digest.bitwiseAND(low)


def collected(rows: DataFrame) -> tuple[canon.SegmentSum, ...]:
    """The digests of rows that have `segment` and `digest` (60 bits), ordered by segment."""
    high, low = halves(F.col("digest"))
    sums = rows.groupBy("segment").agg(
        F.count("digest").alias("rows"), F.sum(high).alias("high"), F.sum(low).alias("low")
    )
    found = (
        canon.SegmentSum(*(int(row[n] or 0) for n in ("segment", "rows", "high", "low"))) for row in sums.collect()
    )
    return tuple(sorted(found, key=lambda one: one.segment))


def _md5_number(text: SparkColumn, hex_digits: int) -> SparkColumn:
    return F.conv(F.substring(F.md5(text.cast("binary")), 1, hex_digits), 16, 10).cast("bigint")


def _fixed(text: SparkColumn, scale: int) -> SparkColumn:
    """Fixed notation. Without ANSI Spark writes 1E-18: then all digits are the value's, the last at the scale's place."""
    if scale <= _SHORT_SCALE:
        return text
    digits = F.regexp_replace(F.substring_index(text, "E", 1), "[-.]", "")
    sign = F.when(text.startswith("-"), "-").otherwise("")
    return F.when(text.contains("E"), F.concat(sign, F.lit("0."), F.lpad(digits, scale, "0"))).otherwise(text)


def _float_bits(value: SparkColumn) -> SparkColumn:
    """The bits below the sign, by arithmetic that is exact for every finite double.

    The exponent of the logarithm may be one off, next to a power of two: the mantissa tells, as it must have 53 bits unless
    the exponent is the least. Scaling goes in two steps because 2^1074 is no double.
    """
    size = F.abs(value)
    odd = F.isnan(value) | (value == 0) | (size == float("inf"))
    usual = F.when(odd, F.lit(1.0)).otherwise(size)
    exponent = F.greatest(F.floor(F.log2(usual)), F.lit(_LEAST_EXPONENT).cast("bigint"))
    shift = F.lit(_MANTISSA_BITS) - exponent
    half = F.shiftright(shift, 1)
    mantissa = reduce(lambda a, b: a * F.pow(F.lit(2.0), b), (half, shift - half), usual)
    too_high = (mantissa < float(1 << _MANTISSA_BITS)) & (exponent > _LEAST_EXPONENT)
    too_low = mantissa >= float(2 << _MANTISSA_BITS)
    right = F.when(too_high, mantissa * 2).when(too_low, mantissa / 2).otherwise(mantissa)
    step = F.when(too_high, -1).when(too_low, 1).otherwise(0)
    biased = (exponent + step - _LEAST_EXPONENT).cast("bigint") * F.lit(1 << _MANTISSA_BITS)
    bits = (
        F.when(value == 0, F.lit(0))
        .when(size == float("inf"), F.lit(_INFINITY_BITS))
        .otherwise(biased + right.cast("bigint"))
    )
    signed = F.when(value < 0, -bits).otherwise(bits).cast("string")
    return F.when(F.isnan(value), F.lit("NaN")).otherwise(signed)
