"""Whatever a text holds, a terminal shows it and obeys none of it; JSON still says the same."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.safe_text import escape_controls, escape_json

ODD = st.characters(categories=["Cc", "Cf", "Zl", "Zp", "Zs", "Lu"])
BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
TEXTS = st.text(ODD | st.characters(exclude_categories=["Cs"]))


def obeyed(text: str) -> list[str]:
    """What a terminal acts on, by Unicode's own tables: controls, separators of lines, and what turns the direction."""
    return [
        letter
        for letter in text
        if letter not in "\t\n"
        and (unicodedata.category(letter) in {"Cc", "Zl", "Zp"} or unicodedata.bidirectional(letter) in BIDI)
    ]


@given(TEXTS)
def test_printed_text_holds_nothing_that_a_terminal_obeys_and_stays_what_it_is_once_escaped(text: str) -> None:
    shown = escape_controls(text)

    assert obeyed(shown) == []
    assert escape_controls(shown) == shown
    assert [letter for letter in text if letter.isalnum()] == [
        letter for letter in shown if letter.isalnum()
    ] or shown != text


@given(st.recursive(TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)))
def test_json_says_the_same_and_holds_nothing_that_a_terminal_obeys(document: object) -> None:
    for indent in (None, 2):
        shown = escape_json(json.dumps(document, ensure_ascii=False, indent=indent))

        assert json.loads(shown) == document
        assert obeyed(shown) == []


def test_marks_of_direction_tags_and_what_has_no_width_are_spelled_out() -> None:
    assert escape_controls("a\u202eb\u200bc\ufeffd\U000e0041e\u061cf\r\n\tg") == (
        "a\\u202eb\\u200bc\\ufeffd\\U000e0041e\\u061cf\\r\n\tg"
    )


@pytest.mark.parametrize("command", ["##[add-mask]x", "##vso[task.setvariable variable=a]b", "###[group]", "##VSO[x]"])
def test_command_of_a_log_within_a_line_is_broken_up_in_text_and_json(command: str) -> None:
    said = f"matches ^{command}$"

    for shown in (escape_controls(said), escape_json(json.dumps({"why": said}))):
        assert not re.search(r"##(\[|vso\[)", shown, re.IGNORECASE)
    assert json.loads(escape_json(json.dumps({"why": said}))) == {"why": said}
    assert escape_controls("## a [link] #[x]") == "## a [link] #[x]"
