"""PURE: the text of a Java `.properties` file as keys and values with their lines, by the rules of `java.util.Properties`.

It knows no key. Messages repeat keys only: a value may be a password.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_HEX_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Property:
    """One key with its value. `line` is where it begins; 1 is the first."""

    key: str
    value: str
    line: int


class PropertiesError(ValueError):
    """The text breaks the rules; `line` says where."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def parse_properties(text: str) -> tuple[Property, ...]:
    r"""The properties of a text in its order; a key that is given twice is there twice.

    Raises:
        PropertiesError: a `\u` that four hex digits do not follow.

    >>> [(one.key, one.value) for one in parse_properties("! a\nb = c \\\n   d\ne\\ f:\\u0041\ng h")]
    [('b', 'c d'), ('e f', 'A'), ('g', 'h')]
    """
    return tuple(_property(logical, line) for line, logical in _logical_lines(text))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    begun, parts = 0, list[str]()
    for number, line in enumerate(_LINE_END.split(text), start=1):
        bare = line.lstrip(_BLANKS)
        if not any(parts):  # a lone backslash begins nothing: a comment may still follow
            parts = []
            if not bare or bare[0] in "#!":
                continue
            begun = number
        if _is_continued(bare):
            parts.append(bare[:-1])
            continue
        if logical := "".join((*parts, bare)):
            yield begun, logical
        parts = []
    if any(parts):
        yield begun, "".join(parts)


def _is_continued(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _property(logical: str, line: int) -> Property:
    end = _key_end(logical)
    rest = logical[end:].lstrip(_BLANKS)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANKS)
    return Property(_unescape(logical[:end], line), _unescape(rest, line), line)


def _key_end(logical: str) -> int:
    at = 0
    while at < len(logical) and logical[at] not in f"=:{_BLANKS}":
        at += 2 if logical[at] == "\\" else 1
    return min(at, len(logical))


def _unescape(text: str, line: int) -> str:
    out, at = [], 0
    while at < len(text):
        char = text[at]
        at += 1
        if char != "\\":
            out.append(char)
            continue
        escape = text[at : at + 1]
        at += 1
        if escape == "u":
            digits = text[at : at + _HEX_DIGITS]
            if re.fullmatch(r"[0-9A-Fa-f]{4}", digits) is None:
                raise PropertiesError(line, "holds a \\u that four hex digits do not follow")
            out.append(chr(int(digits, 16)))
            at += _HEX_DIGITS
        else:
            out.append(_ESCAPES.get(escape, escape))
    # Java's characters are UTF-16: two escapes may be one character.
    return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
