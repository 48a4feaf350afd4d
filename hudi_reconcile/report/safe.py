"""Text that people can trust to look at: what cannot be seen is spelled out, what is too long is cut with a note. Pure."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Any

MAX_LETTERS = 240
_NAMES = {"\n": "LF", "\t": "TAB", "\r": "CR", "\x1b": "ESC", "\0": "NUL", "\x7f": "DEL"}
# Control, format (bidi, zero width), lone surrogate, private use, unassigned; line and paragraph separators.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def spell_hidden(text: str) -> str:
    r"""The text with every character that a terminal or browser would obey or hide spelled out.

    >>> spell_hidden("a\x1b[2Jb\u202e")
    'a⟨ESC⟩[2Jb⟨U+202E⟩'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_spell_letter(letter) for letter in text)


def spell_value(text: str, *, limit: int = MAX_LETTERS) -> str:
    """A row's value as `spell_hidden`, with blanks at its ends and odd blanks shown too, cut at `limit` letters.

    >>> spell_value("abc ")
    'abc␣'
    >>> spell_value("x" * 300, limit=5)
    'xxxxx… (300 characters)'
    """
    head = text[:limit]
    core = head.strip(" ")
    lead = len(head) - len(head.lstrip(" "))
    shown = "␣" * lead + "".join(_spell_letter(letter, odd_blanks=True) for letter in core)
    shown += "␣" * (len(head) - lead - len(core))
    return shown if len(text) <= limit else f"{shown}… ({len(text):,} characters)"


def _spell_letter(letter: str, *, odd_blanks: bool = False) -> str:
    category = unicodedata.category(letter)
    if category in _HIDDEN or (odd_blanks and category == "Zs" and letter != " "):
        return f"⟨{_NAMES.get(letter, f'U+{ord(letter):04X}')}⟩"
    return letter


def write_key(key: Mapping[str, Any]) -> str:
    """A key for people: `order_id=7`, parts joined by a comma.

    >>> write_key({"region": None, "order_id": 7})
    'region=NULL, order_id=7'
    """
    return ", ".join(
        f"{spell_hidden(name)}={'NULL' if part is None else write_value(part)}" for name, part in key.items()
    )


def write_value(value: object) -> str:
    """A JSON value for people, as `spell_value`; text stays without quotes."""
    return spell_value(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
