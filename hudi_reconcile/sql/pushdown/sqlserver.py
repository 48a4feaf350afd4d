"""SQL Server 2019 and later: the canonical text of its values and what a digest is made of. Implements `sql/dialect.py:Digests`.

Rendered by tests, **not run here**. 2019 is the first version with UTF-8 collations.
"""

from __future__ import annotations

from hudi_reconcile.core.agreement import MICROS_DIGITS, Compared
from hudi_reconcile.core.kinds import CALENDAR_KINDS, TEXT_KINDS, Column, Kind
from hudi_reconcile.sql.dialect import Dialect
from hudi_reconcile.sql.dialects import sqlserver

DIALECT: Dialect = sqlserver
_GREATEST = 2**63 - 1
_WHOLE_BYTES_DIGITS = 8
_BYTES = "collate Latin1_General_100_BIN2"  # columns of two collations do not join without one
_UTF8 = "collate Latin1_General_100_BIN2_UTF8"
_MAX = "cast('' as nvarchar(max))"  # a sum of shorter texts is cut at 4,000 characters


def canonical(item: Compared) -> str:
    """The canonical text."""
    name, column = sqlserver.quote(item.column.name), item.column
    if column.kind is Kind.DECIMAL and item.digits is not None:
        value = sqlserver.read(column)
        cut = value if item.fraction_digits is None else f"round({value}, {item.fraction_digits}, 1)"
        return f"convert(varchar(41), cast({cut} as decimal({item.digits[0]},{item.digits[1]})))"
    if column.kind is Kind.DATE:
        return f"convert(varchar(20), datediff(day, '1970-01-01', {name}))"
    if column.kind in CALENDAR_KINDS:
        micros = f"datediff_big(microsecond, '1970-01-01', {sqlserver.read(column)})"
        if item.fraction_digits is not None:
            step = 10 ** (MICROS_DIGITS - item.fraction_digits)
            micros = f"{floored(micros, step)} * {step}"
        return f"convert(varchar(20), {micros})"
    if column.kind in (Kind.REAL, Kind.DOUBLE):
        return _float(f"cast(cast({name} as real) as float)" if item.as_float else f"cast({name} as float)")
    return _plain(name, column)


def _plain(name: str, column: Column) -> str:
    if column.kind is Kind.NUMBER:
        value = sqlserver.read(column)
        bare = f"replace(rtrim(replace({value}, '0', ' ')), ' ', '0')"
        return f"case when charindex('.', {value}) = 0 then {value} else replace(replace({bare} + '|', '.|', ''), '|', '') end"
    forms = {
        Kind.INTEGER: "convert(varchar(20), {c})",
        Kind.BOOLEAN: "convert(char(1), {c})",
        Kind.CHAR: "rtrim(cast({c} as nvarchar(max)))",
        Kind.TEXT: "cast({c} as nvarchar(max))",
        Kind.BYTES: "lower(convert(varchar(max), cast({c} as varbinary(max)), 2))",
    }
    found = forms[column.kind].format(c=name) if column.kind in forms else sqlserver.read(column)
    return f"{found} {_BYTES}" if column.kind in TEXT_KINDS else found


def _float(value: str) -> str:
    # A float column holds neither NaN nor infinity.
    magnitude = f"convert(varchar(20), cast(cast({value} as binary(8)) as bigint) & cast({_GREATEST} as bigint))"
    return f"case when {value} < 0 then '-' + {magnitude} else {magnitude} end"


def octets(text: str, column: Column) -> str:
    """Bytes in UTF-8; len() would leave out blanks at the end."""
    value = f"cast(({text}) {_UTF8} as varchar(max))" if column.kind in TEXT_KINDS else text
    return f"convert(varchar(20), datalength({value}))"


def joined(texts: tuple[str, ...]) -> str:
    """Texts, one after the other."""
    return " + ".join((_MAX, *texts))


def md5_number(text: str, hex_digits: int) -> str:
    """From the md5 of the UTF-8 bytes. Eight bytes would have a sign: seven, and half of the eighth."""
    md5 = f"hashbytes('MD5', cast(({text}) {_UTF8} as varchar(max)))"
    if hex_digits <= _WHOLE_BYTES_DIGITS:
        return f"cast(substring({md5}, 1, {hex_digits // 2}) as bigint)"
    whole = hex_digits // 2
    return (
        f"(cast(substring({md5}, 1, {whole}) as bigint) * 16 + cast(substring({md5}, {whole + 1}, 1) as bigint) / 16)"
    )


def floored(number: str, divisor: int) -> str:
    """`/` cuts toward zero; a literal beyond an int is a decimal, and a division by one keeps its fraction."""
    size = f"cast({divisor} as bigint)"
    return f"(case when {number} >= 0 then {number} / {size} else -1 - (-({number} + 1) / {size}) end)"


def remainder(number: str, divisor: int) -> str:
    """What is left of a number that is not negative."""
    return f"({number} % cast({divisor} as bigint))"


def absent(value: str) -> str:
    """NULL."""
    return f"{value} is null"


def filler(octets: int) -> str:
    """One text of that length; as max, for others end at 8,000 bytes."""
    return f"select replicate(cast('x' as varchar(max)), {octets}) as hr_x"


def unmerged(select: str, *, narrow: bool) -> str:  # noqa: ARG001 - it has no way
    """As it is: SQL Server knows no such thing, and may compute an expression once for each place that names it."""
    return select
