"""How far a MySQL or MariaDB server's history has come, by the ids of its transactions, and whether it went back. Pure.

MySQL tells `uuid:1-5:7` for every server whose transactions it holds, MariaDB `domain-server-number` for every domain; the
numbers of each only rise. A server that was set back to an earlier time tells a lower one until it has caught up.
"""

from __future__ import annotations

import re

_BACK = "!"  # went back once: later numbers are of another history
_NUMBER = re.compile(r"\d+")


def went_back(kept: str, now: str) -> bool:
    """True where the server has come less far than it had, or had so once.

    >>> went_back("0-1-7", "0-2-9"), went_back("0-1-7", "0-1-6"), went_back("0-1-7,1-1-3", "0-1-7")
    (False, True, True)
    >>> went_back("a:1-5,b:1-2", "b:1-3,a:1-5:7"), went_back("a:1-5", "a:1-4"), went_back("0-1-7!", "0-1-9")
    (False, True, True)
    """
    here = _reached(now)
    return kept.endswith(_BACK) or any(here.get(name, 0) < number for name, number in _reached(kept).items())


def position_after(kept: str | None, now: str | None) -> str | None:
    """What a commit keeps that adds to the rows of earlier ones: now, marked for good where that is less than was kept.

    >>> position_after("0-1-7", "0-1-8"), position_after("0-1-7", "0-1-6"), position_after("0-1-7", None)
    ('0-1-8', '0-1-7!', '0-1-7')
    """
    if kept is None or now is None:
        return now if kept is None else kept
    return f"{kept.removesuffix(_BACK)}{_BACK}" if went_back(kept, now) else now


def _reached(text: str) -> dict[str, int]:
    """The greatest number of each domain, or of each server's uuid."""
    found: dict[str, int] = {}
    for part in filter(None, (one.strip() for one in text.removesuffix(_BACK).split(","))):
        name, colon, rest = part.partition(":")
        if not colon:
            name, _, rest = part.partition("-")
            rest = rest.rpartition("-")[2]
        found[name] = max(found.get(name, 0), *(int(number) for number in _NUMBER.findall(rest)))
    return found
