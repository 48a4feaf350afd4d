"""Spellings of a key: the nearest legal one of a name that nobody knows, and which of them mean the same key. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import islice

# Whether two words look alike takes the square of their length to say, for each of the legal ones.
_LONGEST, _MOST = 200, 2_000


def nearest(name: str, legal: Iterable[str]) -> str | None:
    """The legal name that looks most like this one; None where none comes near."""
    if len(name) > _LONGEST:
        return None
    near = [one for one in islice(legal, _MOST) if len(one) <= _LONGEST]
    found = get_close_matches(name, near, n=1, cutoff=0.6)
    return found[0] if found else None


def fold(key: str) -> str:
    """A key as Spark's case-insensitive maps have it.

    >>> fold("sessionInitStatement")
    'sessioninitstatement'
    """
    return key.lower()


def respelled(keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Keys that repeat one before them but for letter case, each with that one.

    >>> list(respelled(["a", "b", "A", "b"]))
    [('A', 'a'), ('b', 'b')]
    """
    first: dict[str, str] = {}
    for key in keys:
        if fold(key) in first:
            yield key, first[fold(key)]
        first.setdefault(fold(key), key)


def overlaid(given: Mapping[str, str], ours: Mapping[str, str]) -> dict[str, str]:
    """What is given, then ours: no spelling of a key of ours stays beside it, as one of the two would win by chance.

    >>> overlaid({"opTions": "a", "b": "c"}, {"options": "d"})
    {'b': 'c', 'options': 'd'}
    """
    own = {fold(key) for key in ours}
    return {**{key: value for key, value in given.items() if fold(key) not in own}, **ours}
