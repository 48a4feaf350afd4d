"""What to say where a read of the source was not whole: rows that it counts and did not show, or showed once only."""

from __future__ import annotations

from hudi_reconcile.core.result import Unverified
from hudi_reconcile.stages.confirm import Confirmed


def incomplete(found: Confirmed, name: str) -> tuple[Unverified, ...]:
    """Where rows that the source counts were not read at the first look, or rows of it not at the second."""
    if not found.missed_rows:
        return misread(found, name)
    what = "the table" if found.walked is None else "the source, of these segments,"
    why = f"the read returned {found.source_rows} rows, {what} counts {found.source_rows + found.missed_rows}"
    fix = "sweep again at a quieter time, or with sweep.snapshot: shared; if it stays so, report it as a bug"
    return (Unverified("table", name, why, fix), *misread(found, name))


def misread(found: Confirmed, name: str) -> tuple[Unverified, ...]:
    """Where two reads of one state differ."""
    if not found.misread_rows:
        return ()
    rows = f"{found.misread_rows} rows differed and were equal when read again"
    why = f"{rows}, though neither side had changed: one of the reads was not whole"
    return (Unverified("rows", name, why, "sweep again; if it stays so, report it as a bug"),)
