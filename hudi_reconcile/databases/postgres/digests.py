"""PostgreSQL 13 and later: the canonical text of its values and what a digest is made of. Implements `sql/dialect.py:Digests`."""

from __future__ import annotations

from hudi_reconcile.core.tables.agreement import MICROS_DIGITS, ComparedColumn
from hudi_reconcile.core.tables.kinds import CALENDAR_KINDS, TEXT_KINDS, Column, Kind
from hudi_reconcile.databases.postgres import dialect
from hudi_reconcile.sql.dialect import Dialect

DIALECT: Dialect = dialect
_GREATEST = 2**63 - 1
_EPOCH_MICROS = 946_684_800_000_000  # PostgreSQL counts from 2000-01-01
_FLOAT_END, _FLOAT_LEAST = 2.0**128 - 2.0**103, 2.0**-150  # halfway to infinity and to zero: both round away
_IS_UTF8 = "(select getdatabaseencoding() = 'UTF8')"  # asked once a statement, not once a row


def canonical(item: ComparedColumn) -> str:
    """The canonical text. An infinite date or timestamp keeps its word: it equals nothing that the lake can hold."""
    name, kind = dialect.quote(item.column.name), item.column.kind
    if kind is Kind.BOOLEAN:
        return f"{name}::int::text"
    if kind is Kind.DECIMAL and item.digits is not None:
        cut = name if item.fraction_digits is None else f"trunc({name}, {item.fraction_digits})"
        return (
            f"{name}::text"
            if cut == name and item.digits[1] == item.column.scale
            else f"round({cut}, {item.digits[1]})::text"
        )
    if kind is Kind.BYTES:
        return f"encode({name}, 'hex')"
    if kind is Kind.DATE:
        return f"case when isfinite({name}) then ({name} - date '1970-01-01')::text else {name}::text end"
    if kind in CALENDAR_KINDS:  # extract() is a double before PostgreSQL 14, and slower since; the sent bytes are exact
        micros = f"({_bits(f'{kind}_send({name})')} + {_EPOCH_MICROS})"
        if item.fraction_digits is not None:
            step = 10 ** (MICROS_DIGITS - item.fraction_digits)
            micros = f"({floored(micros, step)} * {step})"
        return f"case when isfinite({name}) then {micros}::text else {name}::text end"
    if kind in (Kind.REAL, Kind.DOUBLE):
        value = _as_float(name) if item.as_float else f"{name}::float8"
        magnitude = f"({_bits(f'float8send({value})')} & {_GREATEST})::text"
        return f"case when {name} = 'NaN' then 'NaN' when {value} < 0 then '-' || {magnitude} else {magnitude} end"
    return dialect.read(item.column) if kind in TEXT_KINDS else f"{name}::text"


def _as_float(name: str) -> str:
    # PostgreSQL refuses what becomes infinite or zero; Spark does not.
    infinite = f"when abs({name}) >= {_FLOAT_END} and {name} <> 'NaN' then sign({name}) * float8 'infinity'"
    return f"(case {infinite} when abs({name}) <= {_FLOAT_LEAST} then 0 else {name}::float4::float8 end)"


def _bits(sent: str) -> str:
    return f"('x' || encode({sent}, 'hex'))::bit(64)::int8"


def octets(text: str, column: Column) -> str:
    """Bytes in UTF-8, whatever the database's own encoding; only text of people can hold more than ASCII."""
    if column.kind not in TEXT_KINDS:
        return f"octet_length({text})::text"
    return f"(case when {_IS_UTF8} then octet_length({text}) else octet_length(convert_to({text}, 'UTF8')) end)::text"


def joined(texts: tuple[str, ...]) -> str:
    """Texts, one after the other."""
    return " || ".join(texts)


def md5_number(text: str, hex_digits: int) -> str:
    """From the md5 of the UTF-8 bytes; converting only where the database has another encoding saves a third of the time."""
    md5 = f"case when {_IS_UTF8} then md5({text}) else md5(convert_to({text}, 'UTF8')) end"
    return f"('x' || left({md5}, {hex_digits}))::bit({hex_digits * 4})::int8"


def floored(number: str, divisor: int) -> str:
    """`/` cuts toward zero; -(number + 1) does not overflow at the smallest bigint."""
    return f"(case when {number} >= 0 then {number} / {divisor} else -1 - (-({number} + 1) / {divisor}) end)"


def remainder(number: str, divisor: int) -> str:
    """What is left of a number that is not negative."""
    return f"({number} % {divisor})"


def absent(value: str) -> str:
    """NULL itself: `is null` is true of a composite value whose fields are all NULL, too."""
    return f"{value} is not distinct from null"


def filler(octets: int) -> str:
    """One text of that length."""
    return f"select repeat('x', {octets}) as hr_x"


def unmerged(select: str, *, narrow: bool) -> str:  # noqa: ARG001 - it keeps no rows, however wide
    """OFFSET keeps the planner from pulling the select up into the outer one."""
    return f"{select} offset 0"
