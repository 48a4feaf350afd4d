"""Which characters differ between two shown values, so that the eye need not look for them. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby

Parts = tuple[tuple[str, bool], ...]

# What `visible` spelled out is one character to the eye.
_CHARACTER = re.compile("⟨[^⟩]{1,8}⟩|.", re.DOTALL)
# Less alike than this, islands of equal letters say nothing: all of it differs.
_LEAST_ALIKE = 0.5


def marked(left: str, right: str) -> tuple[Parts, Parts]:
    """Both texts in pieces, each with whether it differs from the other's; the pieces of a side joined are its text.

    >>> marked("PAID", "PAIN")
    ((('PAI', False), ('D', True)), (('PAI', False), ('N', True)))
    """
    ours, theirs = _characters(left), _characters(right)
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    if matcher.ratio() < _LEAST_ALIKE:
        return _whole(left), _whole(right)
    differs = ([True] * len(ours), [True] * len(theirs))
    for block in matcher.get_matching_blocks():
        for side, start in zip(differs, (block.a, block.b), strict=True):
            side[start : start + block.size] = [False] * block.size
    return _pieces(ours, differs[0]), _pieces(theirs, differs[1])


def _characters(text: str) -> list[str]:
    """Letters with the combining marks that follow them."""
    found: list[str] = []
    for one in _CHARACTER.findall(text):
        if found and unicodedata.combining(one[0]):
            found[-1] += one
        else:
            found.append(one)
    return found


def _pieces(characters: Sequence[str], differs: Sequence[bool]) -> Parts:
    grouped = groupby(zip(characters, differs, strict=True), key=lambda pair: pair[1])
    return tuple(("".join(one for one, _ in members), is_other) for is_other, members in grouped)


def _whole(text: str) -> Parts:
    return ((text, True),) if text else ()
