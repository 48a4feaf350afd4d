"""Keys that leave Spark, in canonical texts: those of a plan's deletes, which the source is asked for once more. Pure."""

from __future__ import annotations

Key = tuple[str | None, ...]
"""One part a key column, None for NULL: days and microseconds for calendar kinds, digits for numbers, hex for
bytes, text for the rest."""

MOST_ASKED = 100_000
ASKED_AT_ONCE = 500
