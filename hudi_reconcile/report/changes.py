"""Changes as lines of text or NDJSON, one at a time: nothing is collected. Pure; knows no table and no Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from hudi_reconcile.core.terminal import json_safe
from hudi_reconcile.report.formats import aligned, key_text, value_text
from hudi_reconcile.report.visible import visible

ChangesFormat = Literal["table", "ndjson", "json"]
HEAD = ("instant", "op", "key", "correction", "change")


def format_changes(lines: Iterable[str], how: ChangesFormat, head: Mapping[str, object]) -> Iterator[str]:
    """The changes (JSON texts of contract §6) as output lines without line ends, in the same order, all of them.

    `head` are the fields that stand before them in the one document of `json`.
    """
    if how == "ndjson":
        return map(json_safe, lines)
    if how == "json":
        return _document(map(json_safe, lines), head)
    return aligned(HEAD, (_row(json.loads(line)) for line in lines))


def _document(lines: Iterator[str], head: Mapping[str, object]) -> Iterator[str]:
    yield f'{json_safe(json.dumps(head, ensure_ascii=False))[:-1]}, "changes": ['
    last = next(lines, None)
    for line in lines:
        yield f"{last},"
        last = line
    yield "]}" if last is None else f"{last}]}}"


def _row(change: Mapping[str, Any]) -> tuple[str, ...]:
    correction = change["correction"]
    told = "-" if correction is None else f"{correction['kind'] or '?'} ({correction['run_id']})"
    return (change["instant"], change["op"], key_text(change["key"]), visible(told), _what(change))


def _what(change: Mapping[str, Any]) -> str:
    """An update by the columns that changed, anything else by the row."""
    before, after = change["before"], change["after"]
    if before is None or after is None:
        row = (after if before is None else before) or {}
        return ", ".join(f"{visible(name)}={_value(value)}" for name, value in row.items() if name not in change["key"])
    differing = [name for name in after if before.get(name) != after[name]]
    told = ", ".join(f"{visible(name)}: {_value(before.get(name))} -> {_value(after[name])}" for name in differing)
    return told or "no shown column differs"


def _value(value: object) -> str:
    return "NULL" if value is None else value_text(value)
