"""Oracle 19c and later: the canonical text of its values and what a digest is made of. Implements `sql/dialect.py:Digests`.

Rendered by tests, **not run here**. A row text beyond 4,000 bytes (32,767 with MAX_STRING_SIZE=EXTENDED) is Oracle's error,
never a wrong number: such tables are digested in Spark.
"""

from __future__ import annotations

from hudi_reconcile.core.agreement import MICROS_DIGITS, Compared
from hudi_reconcile.core.kinds import CALENDAR_KINDS, Column, Kind
from hudi_reconcile.sql.dialect import Dialect
from hudi_reconcile.sql.dialects import oracle

DIALECT: Dialect = oracle
_SIGN = 2**63
_UNITS = (("day", 86_400_000_000), ("hour", 3_600_000_000), ("minute", 60_000_000), ("second", 1_000_000))


def canonical(item: Compared) -> str:
    """The canonical text. Blanks of a char alone become '' and so NULL: `octets` says 0 for it."""
    name, column = oracle.quote(item.column.name), item.column
    if column.kind is Kind.DECIMAL and item.digits is not None:
        return _fixed(name if item.fraction_digits is None else f"trunc({name}, {item.fraction_digits})", item.digits)
    if column.kind in CALENDAR_KINDS:
        micros = _micros(name, column)
        if item.fraction_digits is not None:
            step = 10 ** (MICROS_DIGITS - item.fraction_digits)
            micros = f"floor({micros} / {step}) * {step}"
        return f"to_char({micros}, 'TM9')"
    if column.kind in (Kind.REAL, Kind.DOUBLE):
        return _float(f"to_binary_double(to_binary_float({name}))" if item.as_float else f"to_binary_double({name})")
    return _plain(name, column)


def _plain(name: str, column: Column) -> str:
    if column.kind is Kind.NUMBER:  # Oracle writes .5
        value = oracle.read(column)
        return f"regexp_replace({value}, '^(-?)\\.', '\\10.')"
    forms = {
        Kind.INTEGER: "to_char({c}, 'TM9')",
        Kind.BOOLEAN: "case when {c} then '1' else '0' end",
        Kind.CHAR: "rtrim({c})",
        Kind.BYTES: "lower(rawtohex({c}))",
    }
    return forms[column.kind].format(c=name) if column.kind in forms else oracle.read(column)


def _fixed(value: str, digits: tuple[int, int]) -> str:
    precision, scale = digits
    shape = "9" * max(precision - scale - 1, 0) + "0" + ("D" + "0" * scale if scale else "")
    return f"to_char({value}, 'FM{shape}', {oracle.POINT})"


def _micros(name: str, column: Column) -> str:
    if column.native == "DATE":  # days apart, a number with a fraction that does not end: whole seconds are rounded to
        return f"round(({name} - date '1970-01-01') * 86400) * 1000000"
    value = f"sys_extract_utc({name})" if column.kind is Kind.TIMESTAMPTZ else name
    since = f"({value} - timestamp '1970-01-01 00:00:00')"
    return "floor(" + " + ".join(f"extract({unit} from {since}) * {size}" for unit, size in _UNITS) + ")"


def _float(value: str) -> str:
    bits = f"to_number(rawtohex(utl_raw.cast_from_binary_double({value} + 0, 1)), 'XXXXXXXXXXXXXXXX')"
    return (
        f"case when {value} is nan then 'NaN' when {value} < 0 then '-' || to_char({bits} - {_SIGN}, 'TM9')"
        f" else to_char({bits}, 'TM9') end"
    )


def octets(text: str, column: Column) -> str:
    """Bytes in UTF-8; '' is NULL, so its length is 0."""
    value = f"convert({text}, 'AL32UTF8')" if column.kind in (Kind.TEXT, Kind.CHAR, Kind.OWN_TEXT) else text
    return f"to_char(nvl(lengthb({value}), 0))"


def joined(texts: tuple[str, ...]) -> str:
    """Texts, one after the other."""
    return " || ".join(texts)


def md5_number(text: str, hex_digits: int) -> str:
    """From the md5 of the UTF-8 bytes."""
    md5 = f"rawtohex(standard_hash(convert({text}, 'AL32UTF8'), 'MD5'))"
    return f"to_number(substr({md5}, 1, {hex_digits}), '{'X' * hex_digits}')"


def floored(number: str, divisor: int) -> str:
    """Oracle's numbers have 38 digits: the quotient of two 64-bit numbers is never rounded up to the next integer."""
    return f"floor({number} / {divisor})"


def remainder(number: str, divisor: int) -> str:
    """Oracle has no `%`."""
    return f"mod({number}, {divisor})"


def absent(value: str) -> str:
    """NULL, which the empty text is too."""
    return f"{value} is null"


def filler(octets: int) -> str:
    """One text of that length; as CLOB, for others end at 4,000 bytes."""
    return f"select rpad(to_clob('x'), {octets}, 'x') as hr_x from dual"


def unmerged(select: str, *, narrow: bool) -> str:  # noqa: ARG001 - a view costs it nothing to keep
    """A hint keeps the select a view of its own."""
    return select.replace("select ", "select /*+ no_merge */ ", 1)
