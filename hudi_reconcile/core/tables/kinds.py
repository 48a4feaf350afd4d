"""Column kinds: what a value is, whatever the engine calls its type, and which lake type holds every value of it. Pure.

What no lake type holds exactly is OWN_TEXT or NUMBER: pulled and compared as the source's own text. A type whose text means
nothing by itself is never guessed: it is OTHER, and `unverified` by name. What Hudi 1.2.0 widens exactly was measured
(docs/adr/0016-schema-follows.md); what was not measured on both table types is not widened.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal


class Kind(StrEnum):
    """Values of one kind compare by one rule (`docs/algorithm.md`)."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    TEXT = "text"
    CHAR = "char"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMPTZ = "timestamptz"
    UUID = "uuid"
    BYTES = "bytes"
    REAL = "real"
    DOUBLE = "double"
    NUMBER = "number"
    OWN_TEXT = "own_text"
    OTHER = "other"


Use = Literal["key", "watermark", "incrementing", "tolerance", "partition", "calendar"]


@dataclass(frozen=True, slots=True)
class KindTraits:
    """What holds for every column of a kind.

    `stored` is the lake type of tables that we create, empty where it depends on the column; `meets` are those it may be
    compared with, where no rule of its own says so. `uses`: it may be a key, a watermark, the incrementing column, have a
    tolerance, make partition paths; it is of the calendar.
    """

    stored: str
    meets: frozenset[str]
    uses: frozenset[Use]


def _row(stored: str, meets: str, *uses: Use) -> KindTraits:
    return KindTraits(stored, frozenset(meets.split()), frozenset(uses))


# No float is a key: SQL matches them by value, Hudi by a text of each Java's own (docs/adr/0031-floats-are-no-keys.md).
# Where a database's own text names each value, its dialect lets that text be one (0033).
# Of numbers two can be close (tolerance); docs say how each is held against the other.
TRAITS: Final[Mapping[Kind, KindTraits]] = {
    Kind.INTEGER: _row("", "tinyint smallint int bigint", "key", "watermark", "incrementing", "tolerance", "partition"),
    Kind.DECIMAL: _row("", "", "key", "watermark", "incrementing", "tolerance", "partition"),
    Kind.BOOLEAN: _row("boolean", "boolean", "key", "partition"),
    Kind.TEXT: _row("string", "string", "key", "partition"),
    Kind.CHAR: _row("string", "string", "key", "partition"),
    Kind.DATE: _row("date", "date", "key", "watermark", "partition", "calendar"),
    Kind.TIMESTAMP: _row("timestamp_ntz", "timestamp timestamp_ntz", "key", "watermark", "partition", "calendar"),
    Kind.TIMESTAMPTZ: _row("timestamp", "timestamp", "key", "watermark", "partition", "calendar"),
    Kind.UUID: _row("string", "string", "key", "partition"),
    Kind.BYTES: _row("binary", "binary", "key"),
    Kind.REAL: _row("float", "float double", "tolerance"),
    Kind.DOUBLE: _row("double", "float double", "tolerance"),
    Kind.NUMBER: _row("string", "string", "key", "tolerance"),
    Kind.OWN_TEXT: _row("string", "string", "key"),
    Kind.OTHER: _row("string", ""),
}


def _find_kinds(use: Use) -> frozenset[Kind]:
    return frozenset(kind for kind, traits in TRAITS.items() if use in traits.uses)


INCREMENTING_KINDS = _find_kinds("incrementing")
WATERMARK_KINDS = _find_kinds("watermark")
KEY_KINDS = _find_kinds("key")
TOLERANCE_KINDS = _find_kinds("tolerance")
PARTITION_KINDS = _find_kinds("partition")
CALENDAR_KINDS = _find_kinds("calendar")
TEXT_KINDS = frozenset(kind for kind, traits in TRAITS.items() if traits.stored == "string")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the source, as it is compared and pulled.

    `declared` is the source's own type text, for people; `native` its bare type name, for the dialect. `precision` and
    `scale` are the digits of a DECIMAL;
    for calendar kinds `precision` is the number of fraction digits of a second (0 to 6). `bits` is the width of an INTEGER.
    `lake_name` differs from `name` where `compare.rename` says so. `why` says why a column of kind OTHER is not compared.
    A NUMBER is a decimal without declared digits, or with more than a lake decimal holds: compared by value, carried as text.
    `system`: the database keeps it of each row by itself; it orders pulls, and the lake does not get it. `charset` is the
    character set of a text that Unicode may not hold whole.
    """

    name: str
    kind: Kind
    declared: str
    nullable: bool = True
    precision: int | None = None
    scale: int | None = None
    bits: int | None = None
    lake_name: str = ""
    why: str = ""
    native: str = ""
    system: bool = False
    charset: str = ""

    def __post_init__(self) -> None:
        if not self.lake_name:
            object.__setattr__(self, "lake_name", self.name)


MOST_DIGITS = 38  # of a Spark and a Parquet decimal
_LONG_BITS = 64
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_FLOATS = ("float", "double")
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def choose_stored_type(column: Column) -> str:
    """The Spark type in which a column is stored in tables that we create."""
    if column.kind is Kind.INTEGER:
        return "bigint" if column.bits == _LONG_BITS else "int"
    if column.kind is Kind.DECIMAL:
        return f"decimal({column.precision},{column.scale})"
    return TRAITS[column.kind].stored


def read_decimal_digits(stored: str) -> tuple[int, int] | None:
    """(precision, scale) of a decimal type; None for any other."""
    match = _DECIMAL.fullmatch(stored)
    return None if match is None else (int(match[1]), int(match[2]))


def holds(wide: str, narrow: str) -> bool:
    """True where every value of the narrow type is one of the wide type, to the last digit.

    >>> holds("bigint", "int"), holds("int", "bigint"), holds("decimal(12,4)", "decimal(10,2)"), holds("string", "int")
    (True, False, True, False)
    """
    if wide == narrow:
        return True
    for family in (_INTEGERS, _FLOATS):
        if wide in family and narrow in family:
            return family.index(wide) >= family.index(narrow)
    ours, theirs = read_decimal_digits(wide), read_decimal_digits(narrow)
    if ours is None or theirs is None:
        return False
    return ours[1] >= theirs[1] and ours[0] - ours[1] >= theirs[0] - theirs[1]


def widen_type(lake: str, wanted: str) -> str | None:
    """The type of a lake column that holds what it has and what is wanted; None where Hudi cannot widen it exactly.

    >>> widen_type("int", "bigint"), widen_type("bigint", "int"), widen_type("decimal(10,2)", "decimal(12,2)")
    ('bigint', 'bigint', 'decimal(12,2)')
    >>> widen_type("string", "int"), widen_type("date", "timestamp_ntz"), widen_type("decimal(10,2)", "decimal(12,4)")
    (None, None, None)
    """
    if holds(lake, wanted):
        return lake
    both = _both(lake, wanted)
    return both if both is not None and _hudi_widens(lake, both) else None


def _both(first_type: str, second_type: str) -> str | None:
    """The narrowest type that holds both; None where there is none."""
    if holds(second_type, first_type):
        return second_type
    ours, theirs = read_decimal_digits(first_type), read_decimal_digits(second_type)
    if ours is None or theirs is None:
        return None
    scale = max(ours[1], theirs[1])
    precision = max(ours[0] - ours[1], theirs[0] - theirs[1]) + scale
    return f"decimal({precision},{scale})" if precision <= MOST_DIGITS else None


def _hudi_widens(lake: str, wide: str) -> bool:
    was, becomes = read_decimal_digits(lake), read_decimal_digits(wide)
    if was is not None and becomes is not None:
        return was[1] == becomes[1]
    # Not float to double: Hudi reads an old 0.1 as the double 0.1, the source's cast makes it 0.10000000149011612.
    return (lake, wide) == ("int", "bigint")
