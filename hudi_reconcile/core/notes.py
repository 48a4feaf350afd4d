"""Notes on a table's result, in the order of what it costs to pass them over. Pure.

A note is text; one that is worth a person's time also says what is at stake. All others are for the record: settings
that were in force, and what was done as it should be.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Self


class Stake(IntEnum):
    """What is lost where nobody heeds a note, the gravest first."""

    ROWS = 0  # pulls miss rows, or rows are lost or stay wrong, until somebody acts
    PROOF = 1  # less is proven than the outcome alone seems to say
    EFFORT = 2  # time and space, at the source or in the lake
    RECORD = 3


class Note(str):
    """A note with what is at stake. Text that is made of it is for the record again."""

    __slots__ = ("stake",)

    stake: Stake

    def __new__(cls, stake: Stake, text: str) -> Self:
        """The note of a text."""
        note = super().__new__(cls, text)
        note.stake = stake
        return note

    def __getnewargs__(self) -> tuple[Stake, str]:  # type: ignore[override]
        """What a copy is made of: `dataclasses.asdict` copies every value."""
        return self.stake, str(self)


def rank_notes(notes: Iterable[str]) -> tuple[str, ...]:
    """Each note once, by what is at stake; those with the same stake stay in their order.

    >>> rank_notes(["masked: email", Note(Stake.EFFORT, "no index"), Note(Stake.ROWS, "3 rows have no at"), "masked: email"])
    ('3 rows have no at', 'no index', 'masked: email')
    """
    return tuple(sorted(dict.fromkeys(notes), key=find_stake))


def count_open(notes: Iterable[str]) -> int:
    """How many notes are worth a person's time: after `rank_notes`, the first ones.

    >>> count_open(["masked: email", Note(Stake.EFFORT, "no index")])
    1
    """
    return sum(find_stake(note) is not Stake.RECORD for note in notes)


def find_stake(note: str) -> Stake:
    """What is lost where the note is passed over; plain text is for the record."""
    return note.stake if isinstance(note, Note) else Stake.RECORD
