"""How each source column is carried: typed, or as its own text where the lake holds text or no lake type is exact. Pure.

One rule for pull, sweep and apply, so that both sides hold the same thing: what an existing lake table says wins.
"""

from __future__ import annotations

from dataclasses import replace

from hudi_reconcile.core.kinds import TEXT_KINDS, Column, Kind
from hudi_reconcile.core.values import LakeTable, SourceTable

# Hudi's record key is text: it cuts a zoned timestamp to milliseconds and writes the address of a binary value.
_NO_RECORD_KEY = frozenset({Kind.TIMESTAMPTZ, Kind.BYTES})
# The text of a float depends on who writes it.
_NO_TEXT = frozenset({Kind.REAL, Kind.DOUBLE})


def carried(table: SourceTable, lake: LakeTable) -> SourceTable:
    """The source table as it meets an existing lake table: typed columns that the lake holds as text become text."""
    types = {column.name: column.type for column in lake.columns if column.stored is None}
    return with_text(table, frozenset(c.name for c in table.columns if types.get(c.lake_name) == "string"))


def carried_anew(table: SourceTable, uncarried: frozenset[str]) -> SourceTable:
    """The source table as a new lake table holds it.

    Text are key columns that Hudi's record key would alter, and columns with values that no lake type holds (`uncarried`).
    """
    keys = frozenset(column.name for column in table.key_columns if column.kind in _NO_RECORD_KEY)
    return with_text(table, keys | uncarried)


def as_text(column: Column) -> Column:
    """The column's text twin: a number by value, anything else in the source's own spelling."""
    if column.kind in TEXT_KINDS or column.kind in _NO_TEXT:
        return column
    kind = Kind.NUMBER if column.kind is Kind.DECIMAL else Kind.OWN_TEXT
    return replace(column, kind=kind, precision=None, scale=None, bits=None)


def with_text(table: SourceTable, names: frozenset[str]) -> SourceTable:
    """The source table with these columns carried as text."""
    return replace(table, columns=tuple(as_text(c) if c.name in names else c for c in table.columns))
