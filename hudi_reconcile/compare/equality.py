"""Tells, as SQL, whether two values are the same: by value, not by spelling, or within a column's tolerance.

Knows kinds, not engines. A NULL stays NULL; the digest marks it apart. A digest cannot see closeness, so digests stay exact
and prove equal segments equal; only in unequal ones are rows held against each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_DOWN, Decimal, localcontext

from hudi_reconcile.core.tables.agreement import MICROS_DIGITS, ComparedColumn
from hudi_reconcile.core.tables.kinds import CALENDAR_KINDS, MOST_DIGITS, Kind
from hudi_reconcile.sql.spark_text import quote_name


def write_source_name(item: ComparedColumn) -> str:
    """The column as the source read names it: `c<index>`."""
    return f"c{item.index}"


def write_lake_name(item: ComparedColumn) -> str:
    """The column as the lake names it, as SQL."""
    return quote_name(item.column.lake_name)


def write_canonical(item: ComparedColumn, value: str) -> str:
    """One form per value: bigint, agreed decimal, days, microseconds, lower-case uuid, text without char padding; as SQL.

    A NUMBER is text without zeros that say nothing; what is no plain decimal (NaN, 1e3) stays as it is.
    Where the lake holds fewer digits than the source, the rest is cut off both sides (`core/tables/agreement.py`).
    """
    kind = item.column.kind
    if kind is Kind.INTEGER:
        return f"cast({value} as bigint)"
    if kind is Kind.DECIMAL and item.digits is not None:
        return f"cast({_cut_decimal(item, value)} as decimal({item.digits[0]},{item.digits[1]}))"
    if kind is Kind.CHAR:
        return f"rtrim({value})"
    if kind is Kind.UUID:
        return f"lower({value})"
    if kind is Kind.NUMBER:
        return write_plain_number(value)
    if kind is Kind.DATE:
        return f"unix_date({value})"
    if kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ):
        return _cut_micros(item, f"unix_micros(cast({value} as timestamp))")
    return _one_zero(item, value)


def _cut_decimal(item: ComparedColumn, value: str) -> str:
    """Toward zero: 1.239 and -1.239 keep 1.23 and -1.23."""
    digits = item.fraction_digits
    if digits is None:
        return value
    return f"case when {value} < 0 then ceil({value}, {digits}) else floor({value}, {digits}) end"


def _cut_micros(item: ComparedColumn, micros: str) -> str:
    """The digits after the point as they are written: before 1970, too, .1239 keeps .123."""
    if item.fraction_digits is None:
        return micros
    return f"({micros} - pmod({micros}, {10 ** (MICROS_DIGITS - item.fraction_digits)}))"


def write_plain_number(value: str) -> str:
    """Decimal text by value: no plus, no leading zeros, no zeros at the end of the fraction, no minus before zero."""
    text = f"trim({value})"
    # r'': how a backslash is escaped in another literal depends on a setting of Spark's.
    whole = f"regexp_replace(regexp_extract({text}, r'^[+-]?([0-9]*)', 1), '^0+', '')"
    fraction = rf"regexp_replace(regexp_extract({text}, r'^[+-]?[0-9]*[.]([0-9]*)\z', 1), '0+$', '')"
    sign = f"case when startswith({text}, '-') and not ({whole} = '' and {fraction} = '') then '-' else '' end"
    before = f"case when {whole} = '' then '0' else {whole} end"
    after = f"case when {fraction} = '' then '' else concat('.', {fraction}) end"
    is_plain = rf"rlike({text}, r'^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)\z')"
    return f"case when {is_plain} then concat({sign}, {before}, {after}) else {text} end"


def write_from_canonical(item: ComparedColumn, canon: str) -> str:
    """The value that a canonical form stands for; both as SQL."""
    kind = item.column.kind
    if kind is Kind.DATE:
        return f"date_from_unix_date({canon})"
    return f"timestamp_micros({canon})" if kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ) else canon


def _one_zero(item: ComparedColumn, value: str) -> str:
    # -0.0 equals 0.0; Spark's hash already gives all NaN the same bits. A float is a double as it is, not the reverse.
    if item.column.kind not in (Kind.REAL, Kind.DOUBLE):
        return value
    width = "float" if item.as_float or (item.column.kind is Kind.REAL and item.lake_type != "double") else "double"
    same_width = f"cast({value} as {width})"
    return f"case when {same_width} = 0 then cast(0 as {width}) else {same_width} end"


def write_row_digest(items: tuple[ComparedColumn, ...], names: list[str]) -> str:
    """64 bits over all columns and over which of them are NULL; as SQL.

    Spark's hash skips NULLs, so without the marks (NULL, x) and (x, NULL) would be one row. Columns that are NOT NULL at
    the source need no mark: where the lake holds a NULL in one, equal marks leave it one value short, never another order.
    """
    forms = [write_hashable(item, name) for item, name in zip(items, names, strict=True)]
    marked = [name for item, name in zip(items, names, strict=True) if item.column.nullable]
    return f"xxhash64({', '.join((*write_null_marks(marked), *forms))})"


def write_hashable(item: ComparedColumn, value: str) -> str:
    """A form whose hash is that of the canonical one.

    Spark hashes dates and both kinds of timestamp by their days and microseconds; turning one kind of timestamp into the
    other would cost more than all other columns together.
    """
    plain = item.column.kind in CALENDAR_KINDS and item.fraction_digits is None
    return value if plain else write_canonical(item, value)


def write_null_marks(names: Sequence[str]) -> list[str]:
    """Which of the columns, named as SQL, are NULL: one bit each, 62 to a bigint."""
    chunks = [names[start : start + 62] for start in range(0, len(names), 62)]
    return [" | ".join(_mark(name, bit) for bit, name in enumerate(chunk)) for chunk in chunks]


def _mark(name: str, bit: int) -> str:
    return f"(case when {name} is null then {1 << bit}L else 0L end)"


def write_greatest_micros(items: tuple[ComparedColumn, ...], values: list[str]) -> str:
    """The greatest non-null watermark, of a clock in microseconds; NULL where all are NULL; as SQL."""
    micros = []
    for item, value in zip(items, values, strict=True):
        canon = write_canonical(item, value)
        micros.append(f"(cast({canon} as bigint) * 86400000000)" if item.column.kind is Kind.DATE else canon)
    if not micros:
        return "cast(null as bigint)"
    return micros[0] if len(micros) == 1 else f"greatest({', '.join(micros)})"


_BIGINT_DIGITS = 20
_NUMBER_DIGITS = (37, 18)  # the difference of two needs one digit more, and Spark has 38
_KEPT_SCALE = 6  # what Spark's arithmetic leaves of digits after the point whatever it costs
_NUMBER = "^-?[0-9]{1,19}([.][0-9]{1,18})?$"
# Half the distance between neighbours, as a part of the value: what a decimal can lose when it becomes a float.
_HALF_STEP = {Kind.REAL: 2.0**-24, Kind.DOUBLE: 2.0**-53}


def is_same(item: ComparedColumn, source: str, lake: str) -> str:
    """True where the values are equal or close enough; NULL is equal to NULL only. Never NULL itself. As SQL."""
    equal = f"(({write_canonical(item, source)}) <=> ({write_canonical(item, lake)}))"
    if item.tolerance is None:
        return equal
    return f"({equal} or coalesce({_close(item, item.tolerance, source, lake)}, false))"


def rows_are_close(items: tuple[ComparedColumn, ...], source: list[str], lake: list[str]) -> str | None:
    """True where all columns are the same, as SQL; None where no column has a tolerance, so that digests say it all."""
    if all(item.tolerance is None for item in items):
        return None
    met = [is_same(item, ours, theirs) for item, ours, theirs in zip(items, source, lake, strict=True)]
    return f"({' and '.join(met)})"


def _close(item: ComparedColumn, tolerance: Decimal, source: str, lake: str) -> str:
    kind = item.column.kind
    if kind in _HALF_STEP:
        return _close_floats(item, float(tolerance), source, lake)
    if kind in (Kind.NUMBER, Kind.OWN_TEXT):  # the lake holds the number's text
        return _close_decimals(_plain(source), _plain(lake), tolerance, _NUMBER_DIGITS[1])
    digits = (_BIGINT_DIGITS, 0) if kind is Kind.INTEGER else item.digits
    if digits is None:
        raise ValueError(f"column {item.column.name} of kind {kind} has no tolerance")
    ours, theirs = (f"cast({value} as decimal({digits[0]},{digits[1]}))" for value in (source, lake))
    close = _close_decimals(ours, theirs, tolerance, digits[1])
    if digits[0] < MOST_DIGITS or digits[1] <= _KEPT_SCALE:
        return close
    # With 38 digits Spark rounds the last of the difference away, which few values have need of.
    ours, theirs = (f"try_cast({value} as decimal({MOST_DIGITS - 1},{digits[1]}))" for value in (source, lake))
    return f"coalesce({_close_decimals(ours, theirs, tolerance, digits[1])}, {close})"


def _close_decimals(source: str, lake: str, tolerance: Decimal, scale: int) -> str:
    """Exact. Where a difference needs more than Spark's 38 digits it is NULL: not close.

    The difference is a multiple of the last digit, so a finer tolerance says no more than one cut to that digit, and a
    greater one than any number of these digits no more than the greatest.
    """
    with localcontext() as context:
        context.prec = 2 * MOST_DIGITS
        greatest = Decimal(10**MOST_DIGITS - 1).scaleb(-scale)
        limit = min(tolerance, greatest).quantize(Decimal(1).scaleb(-scale), rounding=ROUND_DOWN)
    return f"abs({source} - {lake}) <= cast('{limit:f}' as decimal({MOST_DIGITS},{scale}))"


def _close_floats(item: ComparedColumn, tolerance: float, source: str, lake: str) -> str:
    """1.0 and 1.01 are 0.01 apart, though the nearest doubles are a hair more: that hair is allowed too."""
    narrow = item.column.kind is Kind.REAL or item.lake_type == "float"
    half_step = _double(_HALF_STEP[Kind.REAL if narrow else Kind.DOUBLE])
    ours, theirs = f"cast({source} as double)", f"cast({lake} as double)"
    apart = f"abs({ours} - {theirs})"
    # Infinity and NaN are equal to themselves only; to Spark NaN is the greatest number.
    near = f"{apart} <= {_double(tolerance)} + {half_step} * (abs({ours}) + abs({theirs}))"
    return f"{apart} < {_double(float('inf'))} and {near}"


def _double(number: float) -> str:
    """The same bits: Java reads the shortest text that Python writes, and `inf` as infinity."""
    return f"cast('{number!r}' as double)"


def _plain(value: str) -> str:
    text = write_plain_number(value)
    number = f"cast({text} as decimal({_NUMBER_DIGITS[0]},{_NUMBER_DIGITS[1]}))"
    return f"case when rlike({text}, r'{_NUMBER}') then {number} end"
