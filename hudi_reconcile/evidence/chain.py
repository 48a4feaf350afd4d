"""The audit log line by line: is each one as it was written, does it follow the one before, is it sealed? Reads only.

Whoever edits, removes, reorders or adds a line breaks the chain after it, unless all later lines are written anew. With a
key that is no way out: a line that is not sealed after one that is, and a seal that the key did not make, are flaws too.
A key that was replaced seals nothing after the first line of the one in its place: it may have leaked.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hudi_reconcile.evidence.audit import (
    FIRST_PREVIOUS,
    Record,
    canonical,
    lines_of,
    parsed,
    record_hash,
    sealed_text,
)
from hudi_reconcile.evidence.keys import KeyRing


@dataclass(frozen=True, slots=True)
class Link:
    """One line, counted from 1. `record` is None where it is no JSON object; `is_whole` is False for one without line end.

    `sealed_by` is the id of the key that it says it is sealed with, `unchecked` whether that key was not given. `is_genuine`:
    its own text, hash and seal hold, whatever stands before it.
    """

    number: int
    record: Record | None
    flaws: tuple[str, ...]
    is_whole: bool
    sealed_by: str | None = None
    unchecked: bool = False
    is_genuine: bool = False


def links(path: Path, keys: KeyRing) -> Iterator[Link]:
    """Every line of the log, oldest first. A missing log has none."""
    previous, was_sealed, was_current = FIRST_PREVIOUS, False, False
    for number, line in enumerate(lines_of(path), start=1):
        is_whole = line.endswith(b"\n")
        record = parsed(line)
        if record is None:
            yield Link(number, None, ("is no audit record: edited, or cut by a crash",), is_whole)
            continue
        seal = tuple(_seal_flaws(record, keys, was_sealed=was_sealed, was_current=was_current))
        is_as_told = record.get("hash") == record_hash(record) and line.removesuffix(b"\n") == canonical(record)
        flaws = (*_chain_flaws(record, line, (number, previous), is_as_told=is_as_told), *seal)
        is_genuine = not seal and is_as_told
        sealed_by = str(record["key_id"]) if "key_id" in record else None
        unchecked = sealed_by is not None and keys.find(sealed_by) is None
        yield Link(number, record, flaws, is_whole, sealed_by, unchecked, is_genuine)
        previous, was_sealed = str(record.get("hash")), was_sealed or sealed_by is not None
        was_current = was_current or (not seal and keys.is_current(sealed_by))


def _chain_flaws(record: Record, line: bytes, place: tuple[int, str], *, is_as_told: bool) -> Iterator[str]:
    """`place` is the line's number, and the hash of the line before."""
    number, previous = place
    if not is_as_told:
        yield "was edited: its hash is not that of what it says"
    elif not line.endswith(b"\n"):
        yield "has no line end: it was cut off after the line was written"
    if record.get("previous") != previous:
        yield "does not follow the line before: one was edited, removed, added or moved"
    if record.get("seq") != number:
        yield f"says that it is line {str(record.get('seq'))[:20]}"


def _seal_flaws(record: Record, keys: KeyRing, *, was_sealed: bool, was_current: bool) -> Iterator[str]:
    if "key_id" not in record:
        if was_sealed:
            yield "is not sealed, though lines before it are: written by somebody without the key"
        return
    key = keys.find(record["key_id"])
    if key is not None and not hmac.compare_digest(
        key.mac(sealed_text(record)).encode(), str(record.get("mac")).encode("utf-8", "replace")
    ):
        yield "was not sealed by the key that it names: forged"
    elif key is not None and was_current and not keys.is_current(record["key_id"]):
        yield "is sealed with a key that was replaced, though a line before it has the new one: forged with the old key"
