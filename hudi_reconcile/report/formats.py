"""Findings as lines of text, CSV or NDJSON, one at a time: nothing is collected. Pure; knows no file and no run."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from hudi_reconcile.core.terminal import json_safe, printable
from hudi_reconcile.report.visible import visible, visible_value

FindingsFormat = Literal["table", "ndjson", "csv"]
CSV_COLUMNS = ("table", "kind", "action", "key", "columns", "source", "lake")
LEFT_CSV_COLUMNS = ("table", "kind", "action", "key", "columns", "reason", "rules")

_LISTS = frozenset({"columns", "rules"})
_SEEN_FIRST = 200
_WIDEST = 48
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")  # the wide ones count in some languages


def format_findings(lines: Iterable[str], how: FindingsFormat) -> Iterator[str]:
    """The findings (JSON texts of contract §6) as output lines without line ends, in the same order, all of them."""
    if how == "ndjson":
        return map(json_safe, lines)
    if how == "csv":
        return _csv_lines(lines, CSV_COLUMNS)
    return aligned(("table", "kind", "action", "key", "columns"), (_table_row(json.loads(line)) for line in lines))


def format_uncorrected(lines: Iterable[str], how: FindingsFormat) -> Iterator[str]:
    """What an apply left (JSON texts) as output lines, as `format_findings` does: each row with its reason."""
    if how == "ndjson":
        return map(json_safe, lines)
    if how == "csv":
        return _csv_lines(lines, LEFT_CSV_COLUMNS)
    return aligned(
        ("table", "reason", "action", "kind", "key", "rules"), (_left_row(json.loads(line)) for line in lines)
    )


def key_text(key: Mapping[str, Any]) -> str:
    """A key for people: `order_id=7`, parts joined by a comma.

    >>> key_text({"region": None, "order_id": 7})
    'region=NULL, order_id=7'
    """
    return ", ".join(f"{visible(name)}={'NULL' if part is None else value_text(part)}" for name, part in key.items())


def value_text(value: object) -> str:
    """A JSON value for people, as `visible_value`; text stays without quotes."""
    return visible_value(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def csv_cell(text: str) -> str:
    """A CSV cell that no spreadsheet takes for a formula: such text gets a leading quote mark.

    >>> csv_cell("=1+1"), csv_cell("  @x"), csv_cell("-5"), csv_cell("plain")
    ("'=1+1", "'  @x", "'-5", 'plain')
    """
    if text[:1] in ("\t", "\r", "\n") or text.lstrip()[:1] in _FORMULA:
        return "'" + text
    return text


def _csv_lines(lines: Iterable[str], columns: tuple[str, ...]) -> Iterator[str]:
    yield ",".join(columns)
    for line in lines:
        finding = json.loads(line)
        cells = (" ".join(finding[name]) if name in _LISTS else finding[name] for name in columns)
        buffer = io.StringIO()
        # Before Python 3.13 only the characters of the line end make the writer quote a cell that holds them.
        writer = csv.writer(buffer, lineterminator="\r\n")
        writer.writerow([csv_cell(_csv_text(cell)) for cell in cells])
        yield json_safe(buffer.getvalue().removesuffix("\r\n"))


def _csv_text(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    # Where commas are for decimals, spreadsheets cut at semicolons, also in here: what follows one could be a formula.
    return json.dumps(cell, ensure_ascii=False, separators=(",", ":")).replace(";", "\\u003b")


def aligned(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Rows in columns below a head; nothing for none. Widths come from the first rows, so that the rest pass by one at a time."""
    rest = iter(rows)
    first = list(itertools.islice(rest, _SEEN_FIRST))
    if not first:
        return
    widths = [min(_WIDEST, max(len(row[place]) for row in (head, *first))) for place in range(len(head))]
    for row in itertools.chain((head,), first, rest):
        yield printable("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _left_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    rules = ", ".join(map(visible, row["rules"])) or "-"
    return (visible(row["table"]), row["reason"], row["action"], row["kind"], key_text(row["key"]), rules)


def _table_row(finding: Mapping[str, Any]) -> tuple[str, ...]:
    columns = ", ".join(visible(name) for name in finding["columns"]) or "-"
    return (visible(finding["table"]), finding["kind"], finding["action"], key_text(finding["key"]), columns)
