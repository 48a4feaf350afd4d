"""Record keys and partition values that Hudi takes for others: which are odd, and which keys are taken for them. Pure.

Hudi 1.2.0 joins the parts of a key as `a:1,b:2` without any escape, writes a NULL part and an empty one as words, and takes no
key that is blank throughout. `sql/record_keys.py` renders the same for Spark; a test holds both together.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from hudi_reconcile.core.tables.key_encoding import needs_spelling
from hudi_reconcile.core.tables.kinds import Column
from hudi_reconcile.core.tables.partitions import DEFAULT

NULL_WORD, EMPTY_WORD = "__null__", "__empty__"
# Partition values that readers see as NULL, whatever was written: all three have one folder.
NULL_PLACES = ("", DEFAULT)


class KeyMixing(StrEnum):
    """Whether a lake table's record keys may name several keys. `alone`: no odd one is in it, as we alone write it."""

    NONE = "none"
    ALONE = "alone"
    SHARED = "shared"


def choose_mixing(key: Sequence[Column], *, is_owned: bool, is_spelled: bool) -> KeyMixing:
    """Of a table with this key at the source. `is_spelled`: a column of the tool's own tells its keys apart."""
    if not needs_spelling(key) or (is_owned and is_spelled):
        return KeyMixing.NONE
    return KeyMixing.ALONE if is_owned else KeyMixing.SHARED


def record_key(names: Sequence[str], parts: Sequence[str | None]) -> str:
    """The text by which Hudi finds a row of these parts.

    >>> record_key(["a", "b"], ["1", None]), record_key(["a"], ["1"])
    ('a:1,b:__null__', '1')
    """
    if len(names) == 1:
        return parts[0] or ""
    return ",".join(f"{name}:{word}" for name, word in zip(names, spell_words(parts), strict=True))


def spell_words(parts: Sequence[str | None]) -> tuple[str, ...]:
    """The parts as Hudi writes them. Two keys without a joint in them have one record key only if they are spelled alike."""
    return tuple(NULL_WORD if part is None else part or EMPTY_WORD for part in parts)


def list_joint_names(names: Sequence[str], place: int, mixing: KeyMixing) -> Sequence[str]:
    """The columns whose joint may not stand in the text at this place of the key.

    Of two keys that are one by their joints both hold one; where odd ones are never written it is enough to find the first.
    """
    return names[1:] if mixing is KeyMixing.SHARED else names[place + 1 : place + 2]


def is_odd(names: Sequence[str], parts: Sequence[str | None], mixing: KeyMixing) -> bool:
    """Whether Hudi takes the key for another one that may be there too, or does not take it at all.

    A single key that is NULL is not odd: it names no row anywhere.

    >>> is_odd(["a", "b"], ["__null__", "x"], KeyMixing.ALONE), is_odd(["a", "b"], [None, "x"], KeyMixing.ALONE)
    (True, False)
    """
    if mixing is KeyMixing.NONE:
        return False
    if len(names) == 1:
        return parts[0] == ""
    joints = (
        f",{name}:" in (part or "")
        for place, part in enumerate(parts)
        for name in list_joint_names(names, place, mixing)
    )
    return not any(parts) or any(part in (NULL_WORD, EMPTY_WORD) for part in parts) or any(joints)
