"""Column kinds: what a value is, whatever the engine calls its type. Decides what may be a key, a watermark or a range.

What no lake type holds exactly is OWN_TEXT or NUMBER: pulled and compared as the source's own text. A type whose text means
nothing by itself is never guessed: it is OTHER, and `unverified` by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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


INCREMENTING_KINDS = frozenset({Kind.INTEGER, Kind.DECIMAL})
WATERMARK_KINDS = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ}) | INCREMENTING_KINDS
# Equality of floats is by bits while SQL engines match them by value, so a float cannot name a row.
KEY_KINDS = frozenset(Kind) - {Kind.REAL, Kind.DOUBLE, Kind.OTHER}
# Numbers of which two can be close; docs say how each is held against the other.
TOLERANCE_KINDS = frozenset({Kind.INTEGER, Kind.DECIMAL, Kind.NUMBER, Kind.REAL, Kind.DOUBLE})
CALENDAR_KINDS = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ})
TEXT_KINDS = frozenset(
    {Kind.TEXT, Kind.CHAR, Kind.UUID, Kind.NUMBER, Kind.OWN_TEXT, Kind.OTHER}
)  # a string in the lake


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the source, as it is compared and pulled.

    `declared` is the source's own type text, for people; `native` its bare type name, for the dialect. `precision` and
    `scale` are the digits of a DECIMAL;
    for calendar kinds `precision` is the number of fraction digits of a second (0 to 6). `bits` is the width of an INTEGER.
    `lake_name` differs from `name` where `compare.rename` says so. `why` says why a column of kind OTHER is not compared.
    A NUMBER is a decimal without declared digits, or with more than a lake decimal holds: compared by value, carried as text.
    `system`: the database keeps it of each row by itself; it orders pulls, and the lake does not get it.
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

    def __post_init__(self) -> None:
        if not self.lake_name:
            object.__setattr__(self, "lake_name", self.name)
