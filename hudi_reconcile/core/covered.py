"""What a result says of how much of a table was compared."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Covered:
    """How much of a table a sweep compared, and how old the comparison of the rest is.

    Segments are parts of the key space, of which `compared` were looked at by this sweep and `never_compared` by none so
    far; `oldest_utc` is the oldest last comparison of the others. `budget` is as it was
    given, for all tables, `budget_seconds` this table's share. With `partitions` only rows of those were looked at. The rows
    left out are by each side's own count, None where it was not asked.
    """

    segments: int
    compared: int
    never_compared: int
    oldest_utc: str | None
    budget: str | None = None
    budget_seconds: float | None = None
    partitions: tuple[str, ...] = ()
    lake_rows_left_out: int | None = None
    source_rows_left_out: int | None = None
