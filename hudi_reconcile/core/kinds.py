"""Column kinds: what a value is, whatever the engine calls its type. Decides what may be a key, a watermark or a range.

A source type that has no kind here is never guessed: it is OTHER, carried as the source's own text and `unverified` by name.
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
    OTHER = "other"


WATERMARK_KINDS = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ})
# Equality of floats is by bits while SQL engines match them by value, so a float cannot name a row.
KEY_KINDS = frozenset(Kind) - {Kind.REAL, Kind.DOUBLE, Kind.OTHER}
CALENDAR_KINDS = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ})


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the source, as it is compared and pulled.

    `declared` is the source's own type text, for people. `precision` and `scale` are the digits of a DECIMAL;
    for calendar kinds `precision` is the number of fraction digits of a second (0 to 6). `bits` is the width of an INTEGER.
    `lake_name` differs from `name` where `compare.rename` says so. `why` says why a column of kind OTHER is not compared.
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

    def __post_init__(self) -> None:
        if not self.lake_name:
            object.__setattr__(self, "lake_name", self.name)
