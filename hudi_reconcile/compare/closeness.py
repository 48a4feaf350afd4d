"""When two values are the same, with the tolerance of their column: by value where it has none, |a - b| <= tolerance else.

A digest cannot see closeness. So digests stay exact and prove equal segments equal; in the others rows are held together.
"""

from __future__ import annotations

from decimal import ROUND_DOWN, Decimal, localcontext

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F

from hudi_reconcile.compare.canonical import canonical, plain_number
from hudi_reconcile.core.agreement import Compared
from hudi_reconcile.core.kinds import Kind
from hudi_reconcile.core.stored import MOST_DIGITS

_BIGINT_DIGITS = 20
_NUMBER_DIGITS = (37, 18)  # the difference of two needs one digit more, and Spark has 38
_NUMBER = r"^-?\d{1,19}(\.\d{1,18})?$"
# Half the distance between neighbours, as a part of the value: what a decimal can lose when it becomes a float.
_HALF_STEP = {Kind.REAL: 2.0**-24, Kind.DOUBLE: 2.0**-53}


def same(item: Compared, source: SparkColumn, lake: SparkColumn) -> SparkColumn:
    """True where the values are equal or close enough; NULL is equal to NULL only. Never NULL itself."""
    equal = canonical(item, source).eqNullSafe(canonical(item, lake))
    if item.tolerance is None:
        return equal
    return equal | F.coalesce(_close(item, item.tolerance, source, lake), F.lit(False))


def rows_are_close(
    items: tuple[Compared, ...], source: list[SparkColumn], lake: list[SparkColumn]
) -> SparkColumn | None:
    """True where all columns are the same; None where no column has a tolerance, so that digests say it all."""
    if all(item.tolerance is None for item in items):
        return None
    met = [same(item, ours, theirs) for item, ours, theirs in zip(items, source, lake, strict=True)]
    result = met[0]
    for one in met[1:]:
        result = result & one
    return result


def _close(item: Compared, tolerance: Decimal, source: SparkColumn, lake: SparkColumn) -> SparkColumn:
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


def _close_floats(item: Compared, tolerance: float, source: SparkColumn, lake: SparkColumn) -> SparkColumn:
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
