"""What became of a table's findings between two runs: gained, lost, kept. Pure: lines in, changes out, one at a time.

A finding is the same where table, kind and key are: the values of the row may have changed meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

Change = Literal["gained", "lost", "kept"]
CHANGES: tuple[Change, ...] = ("gained", "lost", "kept")
_HASH_BYTES = 16


@dataclass(frozen=True, slots=True)
class ChangedFinding:
    """A finding (contract §6, as JSON text) and what became of it; a kept one is as the later run has it."""

    change: Change
    kind: str
    line: str


def changes_between(
    before: Callable[[], Iterable[tuple[str, str]]], after: Iterable[tuple[str, str]]
) -> Iterator[ChangedFinding]:
    """What the later run gained and kept, in its order, then what it lost. Findings are (kind, line).

    `before` is read twice: only a hash of each of its findings is kept in memory.
    """
    earlier = {_identity(kind, line) for kind, line in before()}
    for kind, line in after:
        known = _identity(kind, line)
        change: Change = "kept" if known in earlier else "gained"
        earlier.discard(known)
        yield ChangedFinding(change, kind, line)
    if earlier:
        yield from (ChangedFinding("lost", kind, line) for kind, line in before() if _identity(kind, line) in earlier)


def _identity(kind: str, line: str) -> bytes:
    key = json.dumps(json.loads(line)["key"], sort_keys=True, ensure_ascii=False)
    return blake2b(f"{kind}\0{key}".encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()
