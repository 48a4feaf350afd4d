"""Refusal of source keys that cannot name a row."""

from __future__ import annotations

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.ports import KeyFaults


def refuse_key_faults(table: str, faults: KeyFaults) -> None:
    """Raises RefusedError where keys occur twice or are NULL throughout: comparing or writing them would be guessing."""
    if faults.null_keys:
        raise RefusedError(
            f"table {table}: {faults.null_keys} source rows have a NULL key, in every part of it",
            fix="choose other key columns (source.key), or leave those rows out with source.where",
        )
    if faults.duplicated_keys:
        raise RefusedError(
            f"table {table}: {faults.duplicated_keys} keys occur twice at the source, such as {', '.join(faults.sample)}",
            fix="choose key columns that name one row each (source.key)",
        )
