"""Findings as text, CSV and NDJSON are complete, stream, and cannot take over a terminal or a spreadsheet."""

from __future__ import annotations

import csv
import io
import itertools
import json
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.safe_text import escape_json
from hudi_reconcile.report.text import CSV_COLUMNS, FindingsFormat, format_findings, write_csv_cell
from tests.unit.report.stories import FINDINGS, finding

FORMATS: list[FindingsFormat] = ["table", "ndjson", "csv"]


def line_of(document: object) -> str:
    return json.dumps(document, ensure_ascii=False)


def named(text: str) -> str:
    return line_of({**finding("deleted", {text: text}, [text], None, {"values": {text: text}}), "table": text})


@given(st.text())
def test_ndjson_says_exactly_what_was_stored(text: str) -> None:
    (line,) = format_findings([named(text)], "ndjson")

    assert json.loads(line) == json.loads(named(text))
    assert "\n" not in line


@given(st.text().filter(str.isprintable) | st.sampled_from(['a,"b"', "a\nb", "=1\r\n", "'"]))
def test_csv_cells_come_back_from_a_csv_reader(text: str) -> None:
    written = "\n".join(format_findings([named(text)], "csv"))
    head, cells = csv.reader(io.StringIO(written, newline=""))
    finding_read = dict(zip(head, cells, strict=True))

    assert json.loads(finding_read["key"]) == {text: text}
    assert finding_read["table"] == escape_json(write_csv_cell(text))
    assert finding_read["source"] == ""
    assert json.loads(finding_read["lake"]) == {"values": {text: text}}


@given(st.text())
def test_text_table_holds_no_character_that_a_terminal_obeys(text: str) -> None:
    lines = list(format_findings([named(text)], "table"))

    assert len(lines) == 2
    assert not [letter for letter in "".join(lines) if unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]


@given(st.text() | st.sampled_from([";=1", "; @x", "\x1b]0;=x\x07"]))
def test_csv_holds_no_formula_and_no_character_that_a_terminal_obeys(text: str) -> None:
    written = "\n".join(format_findings([named(text)], "csv"))
    cells = [cell for row in csv.reader(io.StringIO(written, newline="")) for cell in row]
    # Where a spreadsheet cuts at semicolons, quote marks count only at the begin of a cell.
    cells += [part for cell in cells if cell.startswith("{") for part in cell.split(";")]

    assert not [cell for cell in cells if cell.lstrip()[:1] in tuple("=+-@")]
    assert escape_json(written) == written


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "  =1", "\n=1", "\u00a0=1", "\uff1d1", " \uff20x"]
)
def test_csv_cell_that_a_spreadsheet_would_run_is_quoted(text: str) -> None:
    assert write_csv_cell(text) == f"'{text}"


@pytest.mark.parametrize("how", FORMATS)
def test_every_finding_is_listed_once(how: FindingsFormat) -> None:
    lines = list(format_findings(map(line_of, FINDINGS * 100), how))

    assert len(lines) == len(FINDINGS) * 100 + (how != "ndjson")
    assert sum("88412" in line for line in lines) == 100


@pytest.mark.parametrize("how", FORMATS)
def test_findings_stream_and_are_not_collected(how: FindingsFormat) -> None:
    read = itertools.count()

    def endless() -> Iterator[str]:
        for _ in read:
            yield line_of(FINDINGS[0])

    lines = list(itertools.islice(format_findings(endless(), how), 1000))

    assert len(lines) == 1000
    assert next(read) <= 1002


def test_text_table_shows_kind_action_key_and_columns() -> None:
    head, row = format_findings([line_of(FINDINGS[1])], "table")

    assert head.split() == ["table", "kind", "action", "key", "columns"]
    assert row.split() == ["orders", "updated_without_watermark", "upsert", "order_id=88412", "status,", "amount"]


def test_no_findings_are_no_lines_but_the_head_of_csv() -> None:
    assert [list(format_findings([], how)) for how in FORMATS] == [[], [], [",".join(CSV_COLUMNS)]]
