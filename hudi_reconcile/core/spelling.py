"""The nearest legal spelling of a name that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, legal: Iterable[str]) -> str | None:
    """The legal name that looks most like this one; None where none comes near."""
    found = get_close_matches(name, list(legal), n=1, cutoff=0.6)
    return found[0] if found else None
