"""Why a row drifted: the decision table of contract §6, on the facts of one key after the second look.

`compare/drift.py` renders the same table as Spark columns; a test holds both together on every combination of facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FindingKind(StrEnum):
    """What a difference is called. The last three are not drift and are never corrected."""

    LATE_ARRIVING = "late_arriving"
    UPDATED_WITHOUT_WATERMARK = "updated_without_watermark"
    REGRESSED = "regressed"
    DELETED = "deleted"
    DUPLICATE_KEY = "duplicate_key"
    PENDING = "pending"
    SETTLED = "settled"
    MOVING = "moving"


class Action(StrEnum):
    """What would repair the row."""

    UPSERT = "upsert"
    DELETE = "delete"
    NONE = "none"


NOT_DRIFT = frozenset({FindingKind.PENDING, FindingKind.SETTLED, FindingKind.MOVING})


@dataclass(frozen=True, slots=True)
class PendingRange:
    """Watermarks that the coming pulls will read: above `after_micros`, and not absurdly far ahead of the clock.

    A row dated 2099 is in no window before 2099: to wait for it would be to call it clean for decades.
    """

    after_micros: int
    until_micros: int


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one key that differed at the first look.

    `unchanged` is true where neither side's image changed between the two looks. `after_micros` is the exclusive lower
    end of the next pull's window; None where there is no checkpoint to compare a watermark with.
    """

    in_source: bool
    lake_copies: int
    equal: bool
    unchanged: bool
    source_micros: int | None
    lake_micros: int | None
    after_micros: int | None
    until_micros: int | None = None


def classify(facts: Facts) -> FindingKind:
    """The kind of one difference. Order matters: what will heal by itself is never drift, what moves is not judged."""
    if _equal_now(facts):
        return FindingKind.SETTLED
    if facts.in_source and facts.lake_copies > 1:
        return FindingKind.DUPLICATE_KEY if facts.unchanged else FindingKind.MOVING
    if facts.in_source and _in_next_window(facts):
        return FindingKind.PENDING
    if not facts.unchanged:
        return FindingKind.MOVING
    if not facts.in_source:
        return FindingKind.DELETED
    return _late_or_updated(facts)


def _equal_now(facts: Facts) -> bool:
    if not facts.in_source:
        return facts.lake_copies == 0
    return facts.lake_copies == 1 and facts.equal


def _in_next_window(facts: Facts) -> bool:
    if facts.source_micros is None or facts.after_micros is None:
        return False
    if facts.until_micros is not None and facts.source_micros > facts.until_micros:
        return False
    return facts.source_micros > facts.after_micros


def _late_or_updated(facts: Facts) -> FindingKind:
    if facts.lake_copies == 0:
        return FindingKind.LATE_ARRIVING
    if facts.source_micros is None or facts.source_micros == facts.lake_micros:
        return FindingKind.UPDATED_WITHOUT_WATERMARK
    if facts.lake_micros is not None and facts.source_micros < facts.lake_micros:
        return FindingKind.REGRESSED
    return FindingKind.LATE_ARRIVING


def action_for(kind: FindingKind) -> Action:
    """What would repair a finding of this kind."""
    if kind in NOT_DRIFT:
        return Action.NONE
    return Action.DELETE if kind is FindingKind.DELETED else Action.UPSERT
