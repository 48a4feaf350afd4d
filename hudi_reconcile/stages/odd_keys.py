"""What a result says of rows that were held back, since Hudi would take them for others (`core/tables/odd_keys.py`)."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from hudi_reconcile.core.result_parts import Unverified

_WHY = (
    "Hudi does not tell their keys from others in this table, or their partition value (empty, or Hive's word for NULL) from "
    "NULL, so they are neither written nor deleted"
)
_ANYTHING = (
    "a new lake.path takes any text as a key, and with another lake.partition_by any text there; "
    "or leave them out with source.where"
)


def describe_unjudged_keys(table: str, rows: int, where: str = "") -> tuple[Unverified, ...]:
    """Rows that a comparison found to differ, in the segments that it compared."""
    if not rows:
        return ()
    why = f"{_count(rows)}{where} differ and were held back: {_WHY}"
    fix = f"name them: hudi-reconcile findings latest -t {shlex.quote(table)} --kind odd_key; {_ANYTHING}"
    return (Unverified("rows", table, why, fix),)


def describe_unwritten_keys(table: str, rows: int, keys: Sequence[str]) -> tuple[Unverified, ...]:
    """Rows that a pull read and did not write, and some of their keys."""
    if not rows:
        return ()
    why = f"{_count(rows)} (such as {', '.join(keys)}) were read and held back: {_WHY}"
    fix = f"compare and name them: hudi-reconcile sweep -t {shlex.quote(table)}; {_ANYTHING}"
    return (Unverified("rows", table, why, fix),)


def _count(rows: int) -> str:
    return f"{rows:,} rows of odd keys" if rows > 1 else "1 row of an odd key"
