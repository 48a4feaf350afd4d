"""Values of both sides as Spark columns that are equal exactly when the data are equal: by value, not by spelling.

Knows kinds, not engines. A NULL stays NULL here; the digest marks it apart.

When two values are the same, with the tolerance of their column: by value where it has none, |a - b| <= tolerance else.

A digest cannot see closeness. So digests stay exact and prove equal segments equal; in the others rows are held together.
"""

from __future__ import annotations

from decimal import ROUND_DOWN, Decimal, localcontext

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F

from hudi_reconcile.core.tables.agreement import MICROS_DIGITS, ComparedColumn
from hudi_reconcile.core.tables.kinds import CALENDAR_KINDS, MOST_DIGITS, Kind


def source_value(item: ComparedColumn) -> SparkColumn:
    """The column as the source read names it: `c<index>`."""
    return F.col(f"c{item.index}")


def lake_value(item: ComparedColumn) -> SparkColumn:
    """The column as the lake names it."""
    return column_named(item.column.lake_name)


def column_named(name: str) -> SparkColumn:
    """A column by its exact name, whatever is in it."""
    return F.col("`" + name.replace("`", "``") + "`")


def canonical_value(item: ComparedColumn, value: SparkColumn) -> SparkColumn:
    """One form per value: bigint, agreed decimal, days, microseconds, lower-case uuid, text without char padding.

    A NUMBER is text without zeros that say nothing; what is no plain decimal (NaN, 1e3) stays as it is.
    Where the lake holds fewer digits than the source, the rest is cut off both sides (`core/tables/agreement.py`).
    """
    kind = item.column.kind
    if kind is Kind.INTEGER:
        return value.cast("bigint")
    if kind is Kind.DECIMAL and item.digits is not None:
        return _cut_decimal(item, value).cast(f"decimal({item.digits[0]},{item.digits[1]})")
    if kind is Kind.CHAR:
        return F.rtrim(value)
    if kind is Kind.UUID:
        return F.lower(value)
    if kind is Kind.NUMBER:
        return plain_number(value)
    if kind is Kind.DATE:
        return F.unix_date(value)
    if kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ):
        return _cut_micros(item, F.unix_micros(value.cast("timestamp")))
    return _one_zero(item, value)


def _cut_decimal(item: ComparedColumn, value: SparkColumn) -> SparkColumn:
    """Toward zero: 1.239 and -1.239 keep 1.23 and -1.23."""
    if item.fraction_digits is None:
        return value
    digits = F.lit(item.fraction_digits)
    return F.when(value < 0, F.call_function("ceil", value, digits)).otherwise(F.call_function("floor", value, digits))


def _cut_micros(item: ComparedColumn, micros: SparkColumn) -> SparkColumn:
    """The digits after the point as they are written: before 1970, too, .1239 keeps .123."""
    if item.fraction_digits is None:
        return micros
    return micros - F.pmod(micros, F.lit(10 ** (MICROS_DIGITS - item.fraction_digits)))


def plain_number(value: SparkColumn) -> SparkColumn:
    """Decimal text by value: no plus, no leading zeros, no zeros at the end of the fraction, no minus before zero."""
    text = F.trim(value)
    whole = F.regexp_replace(F.regexp_extract(text, r"^[+-]?(\d*)", 1), r"^0+", "")
    fraction = F.regexp_replace(F.regexp_extract(text, r"^[+-]?\d*\.(\d*)\z", 1), r"0+$", "")
    zero = (whole == "") & (fraction == "")
    sign = F.when(text.startswith("-") & ~zero, "-").otherwise("")
    digits = F.concat(
        sign,
        F.when(whole == "", "0").otherwise(whole),
        F.when(fraction == "", "").otherwise(F.concat(F.lit("."), fraction)),
    )
    return F.when(text.rlike(r"^[+-]?(\d+\.?\d*|\.\d+)\z"), digits).otherwise(text)


def value_of(item: ComparedColumn, canon: SparkColumn) -> SparkColumn:
    """The value that a canonical form stands for."""
    kind = item.column.kind
    if kind is Kind.DATE:
        return F.date_from_unix_date(canon)
    return F.timestamp_micros(canon) if kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ) else canon


def _one_zero(item: ComparedColumn, value: SparkColumn) -> SparkColumn:
    # -0.0 equals 0.0; Spark's hash already gives all NaN the same bits. A float is a double as it is, not the reverse.
    if item.column.kind not in (Kind.REAL, Kind.DOUBLE):
        return value
    width = "float" if item.as_float or (item.column.kind is Kind.REAL and item.lake_type != "double") else "double"
    same_width = value.cast(width)
    return F.when(same_width == 0, F.lit(0.0).cast(width)).otherwise(same_width)


def row_digest(items: tuple[ComparedColumn, ...], values: list[SparkColumn]) -> SparkColumn:
    """64 bits over all columns and over which of them are NULL.

    Spark's hash skips NULLs, so without the marks (NULL, x) and (x, NULL) would be one row. Columns that are NOT NULL at
    the source need no mark: where the lake holds a NULL in one, equal marks leave it one value short, never another order.
    """
    forms = [hashable_value(item, value) for item, value in zip(items, values, strict=True)]
    marked = [value for item, value in zip(items, values, strict=True) if item.column.nullable]
    return F.xxhash64(*null_marks(marked), *forms)


def hashable_value(item: ComparedColumn, value: SparkColumn) -> SparkColumn:
    """A form whose hash is that of the canonical one.

    Spark hashes dates and both kinds of timestamp by their days and microseconds; turning one kind of timestamp into the
    other would cost more than all other columns together.
    """
    plain = item.column.kind in CALENDAR_KINDS and item.fraction_digits is None
    return value if plain else canonical_value(item, value)


def null_marks(values: list[SparkColumn]) -> list[SparkColumn]:
    """Which values are NULL, one bit each, 62 to a bigint."""
    marks = []
    for start in range(0, len(values), 62):
        mark = F.lit(0).cast("bigint")
        for bit, value in enumerate(values[start : start + 62]):
            mark = mark.bitwiseOR(
                F.when(value.isNull(), F.lit(1 << bit).cast("bigint")).otherwise(F.lit(0).cast("bigint"))
            )
        marks.append(mark)
    return marks


def greatest_micros(items: tuple[ComparedColumn, ...], values: list[SparkColumn]) -> SparkColumn:
    """The greatest non-null watermark, of a clock in microseconds; NULL where all are NULL."""
    micros = []
    for item, value in zip(items, values, strict=True):
        canon = canonical_value(item, value)
        micros.append(canon.cast("bigint") * 86_400_000_000 if item.column.kind is Kind.DATE else canon)
    if not micros:
        return F.lit(None).cast("bigint")
    return micros[0] if len(micros) == 1 else F.greatest(*micros)


_BIGINT_DIGITS = 20
_NUMBER_DIGITS = (37, 18)  # the difference of two needs one digit more, and Spark has 38
_NUMBER = r"^-?\d{1,19}(\.\d{1,18})?$"
# Half the distance between neighbours, as a part of the value: what a decimal can lose when it becomes a float.
_HALF_STEP = {Kind.REAL: 2.0**-24, Kind.DOUBLE: 2.0**-53}


def is_same(item: ComparedColumn, source: SparkColumn, lake: SparkColumn) -> SparkColumn:
    """True where the values are equal or close enough; NULL is equal to NULL only. Never NULL itself."""
    equal = canonical_value(item, source).eqNullSafe(canonical_value(item, lake))
    if item.tolerance is None:
        return equal
    return equal | F.coalesce(_close(item, item.tolerance, source, lake), F.lit(False))


def rows_are_close(
    items: tuple[ComparedColumn, ...], source: list[SparkColumn], lake: list[SparkColumn]
) -> SparkColumn | None:
    """True where all columns are the same; None where no column has a tolerance, so that digests say it all."""
    if all(item.tolerance is None for item in items):
        return None
    met = [is_same(item, ours, theirs) for item, ours, theirs in zip(items, source, lake, strict=True)]
    result = met[0]
    for one in met[1:]:
        result = result & one
    return result


def _close(item: ComparedColumn, tolerance: Decimal, source: SparkColumn, lake: SparkColumn) -> SparkColumn:
    kind = item.column.kind
    if kind in _HALF_STEP:
        return _close_floats(item, float(tolerance), source, lake)
    if kind in (Kind.NUMBER, Kind.OWN_TEXT):  # the lake holds the number's text
        return _close_decimals(_plain(source), _plain(lake), tolerance, _NUMBER_DIGITS[1])
    digits = (_BIGINT_DIGITS, 0) if kind is Kind.INTEGER else item.digits
    if digits is None:
        raise ValueError(f"column {item.column.name} of kind {kind} has no tolerance")
    form = f"decimal({digits[0]},{digits[1]})"
    return _close_decimals(source.cast(form), lake.cast(form), tolerance, digits[1])


def _close_decimals(source: SparkColumn, lake: SparkColumn, tolerance: Decimal, scale: int) -> SparkColumn:
    """Exact. Where a difference needs more than Spark's 38 digits it is NULL: not close.

    The difference is a multiple of the last digit, so a finer tolerance says no more than one cut to that digit, and a
    greater one than any number of these digits no more than the greatest.
    """
    with localcontext() as context:
        context.prec = 2 * MOST_DIGITS
        greatest = Decimal(10**MOST_DIGITS - 1).scaleb(-scale)
        limit = min(tolerance, greatest).quantize(Decimal(1).scaleb(-scale), rounding=ROUND_DOWN)
    return F.abs(source - lake) <= F.lit(f"{limit:f}").cast(f"decimal({MOST_DIGITS},{scale})")


def _close_floats(item: ComparedColumn, tolerance: float, source: SparkColumn, lake: SparkColumn) -> SparkColumn:
    """1.0 and 1.01 are 0.01 apart, though the nearest doubles are a hair more: that hair is allowed too."""
    narrow = item.column.kind is Kind.REAL or item.lake_type == "float"
    half_step = _HALF_STEP[Kind.REAL if narrow else Kind.DOUBLE]
    ours, theirs = source.cast("double"), lake.cast("double")
    apart = F.abs(ours - theirs)
    # Infinity and NaN are equal to themselves only; to Spark NaN is the greatest number.
    return (apart < F.lit(float("inf"))) & (
        apart <= F.lit(tolerance) + F.lit(half_step) * (F.abs(ours) + F.abs(theirs))
    )


def _plain(value: SparkColumn) -> SparkColumn:
    text = plain_number(value)
    return F.when(text.rlike(_NUMBER), text.cast(f"decimal({_NUMBER_DIGITS[0]},{_NUMBER_DIGITS[1]})"))
