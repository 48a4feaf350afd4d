"""A catalog's word on a table's keys and rows, as text: what each engine hands on. Values only; sends nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Catalogued:
    """The catalog's word on a key column, as text. `rows_known` are the rows that these statistics saw.

    `is_bytewise`: text of this column is sorted by its bytes. `sampling` is the table's own sampling clause for a share in
    percent, with `{percent}` in it; empty where it has none. `why` names the statistics or says why there are none.
    """

    why: str
    rows_known: int | None = None
    row_bytes: float | None = None
    bounds: tuple[str, ...] = ()
    common: tuple[tuple[str, float], ...] = ()
    null_share: float = 0.0
    is_bytewise: bool = False
    sampling: str = ""


def from_postgres(rows: Sequence[Mapping[str, Any]]) -> Catalogued:
    """pg_stats, as `postgres.STATISTICS_QUERY` gives it."""
    if not rows:
        return Catalogued("the catalog does not know this table")
    row = rows[0]
    sampling = " tablesample system ({percent})" if row["relkind"] in ("r", "m", "p") else ""
    is_bytewise = bool(row["is_bytewise"])
    known = int(row["rows_known"])
    width = None if row["row_bytes"] is None else float(row["row_bytes"])
    if known < 0 or width is None:
        why = "no statistics (never analysed, or not readable by this role)"
        return Catalogued(why, is_bytewise=is_bytewise, sampling=sampling)
    common = tuple(zip(row["common"] or (), map(float, row["shares"] or ()), strict=False))
    bounds = tuple(row["bounds"] or ())
    why = (
        f"histogram of pg_stats, {known:,} rows when analysed"
        if bounds
        else f"common values of pg_stats, {known:,} rows when analysed"
    )
    if not bounds and not common:
        why = "pg_stats without a histogram of the key"
    return Catalogued(why, known, width, bounds, common, float(row["null_share"] or 0.0), is_bytewise, sampling)


def from_mysql(rows: Sequence[Mapping[str, Any]]) -> Catalogued:
    """information_schema.tables: rows and their average length; MySQL and MariaDB keep no histogram that would help."""
    if not rows or rows[0]["row_bytes"] is None:
        return Catalogued("information_schema knows no row length")
    return Catalogued("information_schema.tables", None, float(rows[0]["row_bytes"]))
