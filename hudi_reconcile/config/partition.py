"""PURE: one entry of `lake.partition_by`, as text and as value: a column, or day(col) month(col) year(col)."""

from __future__ import annotations

import re

from hudi_reconcile.core.values import PartitionField

_CALL = re.compile(r"(?P<transform>[^()]*)\((?P<column>[^()]*)\)")


def parse_partition(text: str) -> PartitionField:
    """The partition field of an entry.

    Raises:
        ValueError: an unknown transform, or no column.

    >>> parse_partition("month(created_at)").lake_name
    'created_at_month'
    """
    call = _CALL.fullmatch(text)
    column = (call["column"] if call else text).strip()
    if not column or (call is None and ("(" in text or ")" in text)):
        raise ValueError("names no column; legal: column, day(column), month(column), year(column)")
    match call["transform"].strip() if call else "identity":
        case ("day" | "month" | "year" | "identity") as transform if call is None or transform != "identity":
            return PartitionField(column, transform)
        case _:
            raise ValueError("unknown transform; legal: column, day(column), month(column), year(column)")


def format_partition(field: PartitionField) -> str:
    """The entry that `parse_partition` reads back as the same field."""
    return field.column if field.transform == "identity" else f"{field.transform}({field.column})"
