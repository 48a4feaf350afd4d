"""Findings as the report shows them: what names the row, and each column in the source beside the lake. Pure.

Values that look alike but differ are said to; a masked column has a place and no value.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from hudi_reconcile.report.formats import key_text, value_text
from hudi_reconcile.report.marked import Parts, marked

CellKind = Literal["value", "null", "empty", "masked"]
MAX_COLUMNS = 12


@dataclass(frozen=True, slots=True)
class Cell:
    """One side's value of a column. Only `value` has a text of the row; the other kinds say what is there instead.

    `parts` is the text in pieces, each with whether the other side has something else there.
    """

    kind: CellKind
    text: str
    parts: Parts = ()


@dataclass(frozen=True, slots=True)
class ComparedColumn:
    """One column on both sides; None on the side that has no such row. `note` says what the eye cannot see."""

    name: str
    source: Cell | None
    lake: Cell | None
    note: str = ""
    is_watermark: bool = False


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """One finding of the sample. `hidden_columns` counts what was left out for length.

    `commit_time`, `partition_path` and `copies` are those of the lake's row, empty and 0 where it has none.
    """

    kind: str
    key: str
    action: str
    columns: tuple[ComparedColumn, ...]
    hidden_columns: int
    commit_time: str
    partition_path: str
    copies: int


def shown_finding(finding: Mapping[str, Any]) -> ShownFinding:
    """A finding (contract §6) for the report: differing columns, or where a side has no row the other's values."""
    source, lake = finding["source"], finding["lake"]
    names = list(finding["columns"]) or _columns_of_one_side(source, lake, finding["key"])
    shown = [_compared(name, source, lake) for name in names[:MAX_COLUMNS]]
    where = lake or {}
    return ShownFinding(
        kind=finding["kind"],
        key=key_text(finding["key"]),
        action=finding["action"],
        columns=(*shown, *_watermark(source, lake)),
        hidden_columns=max(0, len(names) - MAX_COLUMNS),
        commit_time=where.get("commit_time") or "",
        partition_path=where.get("partition_path") or "",
        copies=where.get("copies") or 0,
    )


def _columns_of_one_side(source: Any, lake: Any, key: Iterable[str]) -> list[str]:
    if source is not None and lake is not None:
        return []
    values = (source or lake or {}).get("values") or {}
    return [name for name in values if name not in set(key)]


def _compared(name: str, source: Any, lake: Any) -> ComparedColumn:
    cells = (_cell(source, name), _cell(lake, name))
    return ComparedColumn(name, *marked_cells(*cells), note=_note(name, source, lake, cells))


def marked_cells(left: Cell | None, right: Cell | None) -> tuple[Cell | None, Cell | None]:
    """Both cells, with what differs between their texts marked."""
    if left is None or right is None or left.kind != "value" or right.kind != "value":
        return left, right
    ours, theirs = marked(left.text, right.text)
    return replace(left, parts=ours), replace(right, parts=theirs)


def _cell(side: Any, name: str) -> Cell | None:
    if side is None:
        return None
    values = side.get("values") or {}
    if name not in values:
        return Cell("masked", "not shown")
    return value_cell(values[name])


def value_cell(value: Any) -> Cell:
    """A JSON value as a cell."""
    if value is None:
        return Cell("null", "NULL")
    return Cell("value", value_text(value)) if value != "" else Cell("empty", "empty text")


def _note(name: str, source: Any, lake: Any, cells: tuple[Cell | None, Cell | None]) -> str:
    if any(cell is None or cell.kind != "value" for cell in cells):
        return ""
    left, right = source["values"][name], lake["values"][name]
    if left == right:
        return "differ, though written alike"
    if cells[0] == cells[1]:
        return "differ beyond what is shown"
    both_text = isinstance(left, str) and isinstance(right, str)
    if both_text and unicodedata.normalize("NFC", left) == unicodedata.normalize("NFC", right):
        return "differ in Unicode form only"
    if both_text and left.casefold() == right.casefold():
        return "differ in letter case only"
    return ""


def _watermark(source: Any, lake: Any) -> tuple[ComparedColumn, ...]:
    if not any(side and side.get("watermark") for side in (source, lake)):
        return ()
    left, right = (None if side is None else value_cell(side.get("watermark")) for side in (source, lake))
    return (ComparedColumn("Watermark", left, right, is_watermark=True),)
