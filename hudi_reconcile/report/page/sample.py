"""Findings and corrections as the report shows them: the row's key, and each column in the source beside the lake. Pure.

Characters that differ are marked, and values that look alike but differ are said to; a masked column has a place and no
value.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any, Literal

from hudi_reconcile.core.tables.values import READ_SEQ
from hudi_reconcile.report.safe import write_key, write_value
from hudi_reconcile.report.words.verdict import count_text

CellKind = Literal["value", "null", "empty", "masked"]
MAX_COLUMNS = 12


@dataclass(frozen=True, slots=True)
class ValueCell:
    """One side's value of a column. Only `value` has a text of the row; the other kinds say what is there instead.

    `parts` is the text in pieces, each with whether the other side has something else there.
    """

    kind: CellKind
    text: str
    parts: Parts = ()


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """One column on both sides; None on the side that has no such row. `note` says what the eye cannot see."""

    name: str
    source: ValueCell | None
    lake: ValueCell | None
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
    columns: tuple[ShownColumn, ...]
    hidden_columns: int
    commit_time: str
    partition_path: str
    copies: int


def show_finding(finding: Mapping[str, Any]) -> ShownFinding:
    """A finding for the report: differing columns, or where a side has no row the other's values."""
    source, lake = finding["source"], finding["lake"]
    names = list(finding["columns"]) or _columns_of_one_side(source, lake, finding["key"])
    shown = [_compare_cells(name, source, lake) for name in names[:MAX_COLUMNS]]
    where = lake or {}
    return ShownFinding(
        kind=finding["kind"],
        key=write_key(finding["key"]),
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


def _compare_cells(name: str, source: Any, lake: Any) -> ShownColumn:
    cells = (_cell(source, name), _cell(lake, name))
    return ShownColumn(name, *mark_cells(*cells), note=_note(name, source, lake, cells))


def mark_cells(source_cell: ValueCell | None, lake_cell: ValueCell | None) -> tuple[ValueCell | None, ValueCell | None]:
    """Both cells, with what differs between their texts marked."""
    if source_cell is None or lake_cell is None or source_cell.kind != "value" or lake_cell.kind != "value":
        return source_cell, lake_cell
    ours, theirs = mark_difference(source_cell.text, lake_cell.text)
    return replace(source_cell, parts=ours), replace(lake_cell, parts=theirs)


def _cell(side: Any, name: str) -> ValueCell | None:
    if side is None:
        return None
    values = side.get("values") or {}
    if name not in values:
        return ValueCell("masked", "not shown")
    return build_cell(values[name])


def build_cell(value: Any) -> ValueCell:
    """A JSON value as a cell."""
    if value is None:
        return ValueCell("null", "NULL")
    return ValueCell("value", write_value(value)) if value != "" else ValueCell("empty", "empty text")


def _note(name: str, source: Any, lake: Any, cells: tuple[ValueCell | None, ValueCell | None]) -> str:
    if any(cell is None or cell.kind != "value" for cell in cells):
        return ""
    source_value, lake_value = source["values"][name], lake["values"][name]
    if source_value == lake_value:
        return "differ, though written alike"
    if cells[0] == cells[1]:
        return "differ beyond what is shown"
    both_text = isinstance(source_value, str) and isinstance(lake_value, str)
    if both_text and unicodedata.normalize("NFC", source_value) == unicodedata.normalize("NFC", lake_value):
        return "differ in Unicode form only"
    if both_text and source_value.casefold() == lake_value.casefold():
        return "differ in letter case only"
    return ""


def _watermark(source: Any, lake: Any) -> tuple[ShownColumn, ...]:
    if not any(side and side.get("watermark") for side in (source, lake)):
        return ()
    source_cell, lake_cell = (None if side is None else build_cell(side.get("watermark")) for side in (source, lake))
    return (ShownColumn("Watermark", source_cell, lake_cell, is_watermark=True),)


Parts = tuple[tuple[str, bool], ...]

# What `spell_hidden` spelled out is one character to the eye.
_CHARACTER = re.compile("⟨[^⟩]{1,8}⟩|.", re.DOTALL)
# Less alike than this, islands of equal letters say nothing: all of it differs.
_LEAST_ALIKE = 0.5


def mark_difference(text: str, other: str) -> tuple[Parts, Parts]:
    """Both texts in pieces, each with whether it differs from the other's; the pieces of a side joined are its text.

    >>> mark_difference("PAID", "PAIN")
    ((('PAI', False), ('D', True)), (('PAI', False), ('N', True)))
    """
    ours, theirs = _characters(text), _characters(other)
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    if matcher.ratio() < _LEAST_ALIKE:
        return _whole(text), _whole(other)
    differs = ([True] * len(ours), [True] * len(theirs))
    for block in matcher.get_matching_blocks():
        for side, start in zip(differs, (block.a, block.b), strict=True):
            side[start : start + block.size] = [False] * block.size
    return _pieces(ours, differs[0]), _pieces(theirs, differs[1])


def _characters(text: str) -> list[str]:
    """Letters with the combining marks that follow them."""
    characters: list[str] = []
    for character in _CHARACTER.findall(text):
        if characters and unicodedata.combining(character[0]):
            characters[-1] += character
        else:
            characters.append(character)
    return characters


def _pieces(characters: Sequence[str], differs: Sequence[bool]) -> Parts:
    grouped = groupby(zip(characters, differs, strict=True), key=lambda pair: pair[1])
    return tuple(("".join(character for character, _ in members), is_other) for is_other, members in grouped)


def _whole(text: str) -> Parts:
    return ((text, True),) if text else ()


_OPS = {"i": "inserted", "u": "updated", "d": "deleted"}


@dataclass(frozen=True, slots=True)
class ChangedColumn:
    """One column before and after; None on the side that has no row."""

    name: str
    before: ValueCell | None
    after: ValueCell | None


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


def build_corrected_view(document: Mapping[str, Any] | None) -> CorrectedView | None:
    """The view of one table; None where the lake was not asked."""
    if document is None:
        return None
    if "untold" in document:
        return CorrectedView(untold=document["untold"])
    counts = document["counts"]
    phrases = [count_text(counts[op], f"row {word}", f"rows {word}") for op, word in _OPS.items() if counts.get(op)]
    runs = ", ".join(document["held_against"])
    agreement = (
        f"It agrees with this run's count and with the findings of {runs}."
        if runs
        else "It agrees with this run's count. There are no findings to hold it against."
    )
    return CorrectedView(
        changes=tuple(map(_show_change, document["changes"])),
        total=sum(counts.values()),
        counts=", ".join(phrases) or "nothing",
        agreement="" if document["disagreements"] else agreement,
        disagreements=tuple(document["disagreements"]),
    )


def _show_change(change: Mapping[str, Any]) -> ShownChange:
    before, after = change["before"], change["after"]
    rows = [row for row in (before, after) if row is not None]
    names = [name for name in rows[0] if name not in change["key"] and name != READ_SEQ]
    if len(rows) > 1:
        names = [name for name in names if before[name] != after[name]]
    correction = change["correction"] or {}
    return ShownChange(
        op=_OPS[change["op"]],
        key=write_key(change["key"]),
        kind=correction.get("kind") or "",
        instant=change["instant"],
        columns=tuple(
            ChangedColumn(name, *mark_cells(_version_cell(before, name), _version_cell(after, name)))
            for name in names[:MAX_COLUMNS]
        ),
        hidden_columns=max(0, len(names) - MAX_COLUMNS),
    )


def _version_cell(row: Mapping[str, Any] | None, name: str) -> ValueCell | None:
    return None if row is None else build_cell(row[name])
