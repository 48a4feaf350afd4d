"""MySQL 8 and MariaDB 10.6: the canonical text of their values and what a digest is made of. Implements `sql/dialect.py:Digests`.

Under the session of `databases/mysql/dialect.py`. People's text is turned into UTF-8 bytes first, so that no character set and no
collation takes part. Doubles go by arithmetic that is exact: MariaDB has no function for their bits.
"""

from __future__ import annotations

from hudi_reconcile.core.tables.agreement import MICROS_DIGITS, ComparedColumn
from hudi_reconcile.core.tables.kinds import CALENDAR_KINDS, Column, Kind
from hudi_reconcile.databases.mysql import dialect
from hudi_reconcile.sql.dialect import Dialect

DIALECT: Dialect = dialect
_ONE = 2**52
_LEAST_EXPONENT, _NEXT_TO_GREATEST = -1022, 1022
_FLOAT_LEAST_EXPONENT, _FLOAT_END = -126, 2.0**128 - 2.0**103  # halfway to infinity rounds away
_INFINITY_BITS = 2047 * _ONE
_ALL_ROWS = 2**64 - 1


def canonical(item: ComparedColumn) -> str:
    """The canonical text. A calendar value that is no day (2024-02-31) has none, so that its row shows as a difference."""
    name, kind = dialect.quote(item.column.name), item.column.kind
    if kind in (Kind.TEXT, Kind.CHAR):
        text = f"convert({name} using utf8mb4)"
        return f"cast({text if kind is Kind.TEXT else _cut(' ', text)} as binary)"
    if kind is Kind.OWN_TEXT:
        return f"cast(convert({dialect.read(item.column)} using utf8mb4) as binary)"
    if kind is Kind.BYTES:
        return f"lower(hex({name}))"
    if kind is Kind.UUID:
        return f"lower(cast({name} as char))"
    if kind in CALENDAR_KINDS:
        return f"case when not ({dialect.find_altered(item.column)}) then cast({_count_since_1970(name, item)} as char) end"
    if kind in (Kind.REAL, Kind.DOUBLE):
        return _round_to_float(name) if item.as_float else _double(f"({name} + 0e0)")
    return _number(name, item)


def _number(name: str, item: ComparedColumn) -> str:
    column = item.column
    # As text a year is 0000, and zerofill writes zeros.
    as_number = column.kind is Kind.BOOLEAN or column.native == "year" or "zerofill" in column.declared
    plain = f"{name} + 0" if as_number else name
    if column.kind is Kind.DECIMAL and item.digits is not None:
        return _write_fixed(plain, item, item.digits[1])
    text = f"cast({plain} as char)"
    if column.kind is Kind.NUMBER:
        return f"case when {text} like '%.%' then {_cut('.', _cut('0', text))} else {text} end"
    return text


def _cut(what: str, text: str) -> str:
    return f"trim(trailing '{what}' from {text})"


def _count_since_1970(name: str, item: ComparedColumn) -> str:
    if item.column.kind is Kind.DATE:
        return f"datediff({name}, '1970-01-01')"
    micros = f"timestampdiff(microsecond, '1970-01-01', {name})"
    if item.fraction_digits is None:
        return micros
    step = 10 ** (MICROS_DIGITS - item.fraction_digits)
    return f"{divide_down(micros, step)} * {step}"


def _write_fixed(plain: str, item: ComparedColumn, scale: int) -> str:
    """The column's own digits, and zeros up to the agreed scale: MySQL has no decimal of more than 30 after the point."""
    own, digits = item.column.scale or 0, item.fraction_digits
    if digits is not None:  # + 0, because what is cut to nothing may keep its minus
        plain, own = f"truncate({plain}, {digits}) + 0", digits
    zeros = "0" * (scale - own)
    if not zeros:
        return f"cast({plain} as char)"
    return f"concat(cast({plain} as char), '{zeros if own else '.' + zeros}')"


# With g the exponent or one less, q = abs(x) / 2^g lies in [1, 4), or in (0, 1) below the least normal double, and n = q * 2^52
# is whole. Then least(n, 2^52 + n div 2) is what stands above (g + 1022) * 2^52, with no test of which exponent g was. The
# logarithm may be off by a few units of 2^-43, so that 1e-6 keeps it from ever being one too high.


def _double(value: str) -> str:
    g = _low_exponent(value)
    n = f"cast(abs({value}) / pow(2, {g}) * {_ONE} as signed)"
    bits = f"cast(({g} + {-_LEAST_EXPONENT}) * {_ONE} + least({n}, {_ONE} + {n} div 2) as char)"
    return f"case when {value} = 0 then '0' when {value} < 0 then concat('-', {bits}) else {bits} end"


def _low_exponent(value: str) -> str:
    low = f"floor(log2(abs({value})) - 1e-6)"
    return f"cast(greatest({_LEAST_EXPONENT}, least({_NEXT_TO_GREATEST}, {low})) as signed)"


def _round_to_float(name: str) -> str:
    """The bits of the nearest float: adding and taking away 1.5 * 2^52 of a float's last digit rounds to the even one."""
    g = _low_exponent(name)
    exponent = f"greatest({_FLOAT_LEAST_EXPONENT}, {g} + (abs({name}) >= pow(2, {g} + 1)))"
    step = f"1.5e0 * pow(2, {exponent} + 29)"
    rounded = f"(case when {name} = 0 then 0e0 else {name} + {step} - {step} end)"
    infinite = f"concat(if({name} < 0, '-', ''), '{_INFINITY_BITS}')"
    return f"case when abs({name}) >= {_FLOAT_END!r} then {infinite} else {_double(rounded)} end"


def octets(text: str, _column: Column) -> str:
    """Bytes: the text is UTF-8 or ASCII."""
    return f"cast(length({text}) as char)"


def join_texts(texts: tuple[str, ...]) -> str:
    """Texts, one after the other. `||` means OR here."""
    return f"concat({', '.join(texts)})"


def md5_number(text: str, hex_digits: int) -> str:
    """Up to 60 bits, which conv() gives exactly."""
    return f"cast(conv(left(md5({text}), {hex_digits}), 16, 10) as signed)"


def divide_down(number: str, divisor: int) -> str:
    """`div` cuts toward zero, `/` makes decimals; -(number + 1) does not overflow at the smallest bigint."""
    return f"(case when {number} >= 0 then {number} div {divisor} else -1 - (-({number} + 1) div {divisor}) end)"


def remainder(number: str, divisor: int) -> str:
    """What is left of a number that is not negative."""
    return f"({number} % {divisor})"


def write_null_test(value: str) -> str:
    """True where the value is NULL, as SQL."""
    return f"{value} is null"


def filler(octets: int) -> str:
    """One text of that length."""
    return f"select repeat('x', {octets}) as hr_x"


def keep_apart(select: str, *, narrow: bool) -> str:
    """LIMIT keeps the planner from merging the select into the outer one, at the price of a temporary table.

    Whole texts are rather computed twice than kept: 300,000 rows of 9 columns took 3.8 s with the numbers alone in a temporary
    table, 5.8 s with the texts in others too (on disk), and 14.7 s with none.
    """
    return f"{select} limit {_ALL_ROWS}" if narrow else select


def version_facts(_table: str, _columns: tuple[str, ...]) -> str | None:
    """InnoDB shows no number of a row's version."""
    return None


def version_number() -> str:
    """There is none."""
    raise ValueError("MySQL and MariaDB show no versions of rows: version_facts() says so first")
