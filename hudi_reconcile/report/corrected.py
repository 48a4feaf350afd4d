"""What corrections changed in the lake as the report shows it: before and after, and whether the run's files agree. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hudi_reconcile.core.values import READ_SEQ
from hudi_reconcile.report.formats import key_text
from hudi_reconcile.report.sample import MAX_COLUMNS, Cell, marked_cells, value_cell
from hudi_reconcile.report.wording import counted

_OPS = {"i": "inserted", "u": "updated", "d": "deleted"}


@dataclass(frozen=True, slots=True)
class ChangedColumn:
    """One column before and after; None on the side that has no row."""

    name: str
    before: Cell | None
    after: Cell | None


@dataclass(frozen=True, slots=True)
class ShownChange:
    """One corrected row. `hidden_columns` counts what was left out for length."""

    op: str
    key: str
    kind: str
    instant: str
    columns: tuple[ChangedColumn, ...]
    hidden_columns: int


@dataclass(frozen=True, slots=True)
class CorrectedView:
    """What the lake tells of a table's corrections. `untold`: why it tells nothing; all else is empty then.

    `agreement` says what it was held against; empty where there are `disagreements`.
    """

    changes: tuple[ShownChange, ...] = ()
    total: int = 0
    counts: str = ""
    agreement: str = ""
    disagreements: tuple[str, ...] = ()
    untold: str = ""


def corrected_view(document: Mapping[str, Any] | None) -> CorrectedView | None:
    """The view of one table; None where the lake was not asked."""
    if document is None:
        return None
    if "untold" in document:
        return CorrectedView(untold=document["untold"])
    counts = document["counts"]
    told = [counted(counts[op], f"row {word}", f"rows {word}") for op, word in _OPS.items() if counts.get(op)]
    runs = ", ".join(document["held_against"])
    agreement = (
        f"It agrees with this run's count and with the findings of {runs}."
        if runs
        else "It agrees with this run's count. There are no findings to hold it against."
    )
    return CorrectedView(
        changes=tuple(map(_shown, document["changes"])),
        total=sum(counts.values()),
        counts=", ".join(told) or "nothing",
        agreement="" if document["disagreements"] else agreement,
        disagreements=tuple(document["disagreements"]),
    )


def _shown(change: Mapping[str, Any]) -> ShownChange:
    before, after = change["before"], change["after"]
    rows = [row for row in (before, after) if row is not None]
    names = [name for name in rows[0] if name not in change["key"] and name != READ_SEQ]
    if len(rows) > 1:
        names = [name for name in names if before[name] != after[name]]
    correction = change["correction"] or {}
    return ShownChange(
        op=_OPS[change["op"]],
        key=key_text(change["key"]),
        kind=correction.get("kind") or "",
        instant=change["instant"],
        columns=tuple(
            ChangedColumn(name, *marked_cells(_cell(before, name), _cell(after, name))) for name in names[:MAX_COLUMNS]
        ),
        hidden_columns=max(0, len(names) - MAX_COLUMNS),
    )


def _cell(row: Mapping[str, Any] | None, name: str) -> Cell | None:
    return None if row is None else value_cell(row[name])
