"""What kinds of drift there are, why a row has one, by the facts of its key, and what two runs found differently. Pure.

`classify` is the table in plain Python, for readers and tests. A sweep decides by the same table as SQL, in
`compare/findings.py`; a test holds both together on every combination of facts. A finding is the same in two runs where table,
kind and key are: the values of the row may have changed meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import Final, Literal

from hudi_reconcile.core.pull.cursor import Edge, Mark, Number, Value, is_after, rank


class FindingKind(StrEnum):
    """What a difference is called; `KINDS` says what follows."""

    LATE_ARRIVING = "late_arriving"
    UPDATED_WITHOUT_WATERMARK = "updated_without_watermark"
    REGRESSED = "regressed"
    DELETED = "deleted"
    DUPLICATE_KEY = "duplicate_key"
    PENDING = "pending"
    SETTLED = "settled"
    MOVING = "moving"
    ODD_KEY = "odd_key"


class RepairAction(StrEnum):
    """What would repair the row."""

    UPSERT = "upsert"
    DELETE = "delete"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRule:
    """All that the tool does with a kind, and says of it.

    `difference` is how many rows more than the lake the source may have for one such finding, at least and at most; no
    least where a key may be held any number of times. `happened` and `cure` are for people whose rows drifted so.
    """

    meaning: str
    action: RepairAction
    difference: tuple[int | None, int] = (0, 0)
    correction: str = "none"
    happened: str = ""
    cure: str = ""


# In the order of results.
KINDS: Final[Mapping[str, KindRule]] = {
    FindingKind.LATE_ARRIVING: KindRule(
        meaning="The source has the row, or a newer version of it, and the next pull will not read it: it is from before the "
        "checkpoint, or ahead of the clock, or the lake lacks it and it has no watermark.",
        action=RepairAction.UPSERT,
        difference=(0, 1),
        correction="upsert",
        happened="They were committed, or became visible, after a pull had passed their watermark.",
        cure="Sweep regularly; how late they were is not known without a watermark that is a time, and a checkpoint.",
    ),
    FindingKind.UPDATED_WITHOUT_WATERMARK: KindRule(
        meaning="Both have the row, under the same watermark or without one at the source, yet other columns differ.",
        action=RepairAction.UPSERT,
        correction="upsert",
        happened="They were changed without moving the watermark.",
        cure="No pull by a watermark sees that: let a trigger move it, use pull.strategy xmin on PostgreSQL, or sweep regularly.",
    ),
    FindingKind.DELETED: KindRule(
        meaning="The lake still has a row that the source no longer has.",
        action=RepairAction.DELETE,
        difference=(-1, -1),
        correction="delete",
        happened="They were deleted at the source.",
        cure="Pulls see no deletes: sweep regularly, or pull.strategy full.",
    ),
    FindingKind.REGRESSED: KindRule(
        meaning="The source's row is older than the lake's: the source went back.",
        action=RepairAction.UPSERT,
        correction="upsert",
        happened="The source has an older version than the lake.",
        cure="Find out whether the source was restored, or read from a replica that lags.",
    ),
    FindingKind.DUPLICATE_KEY: KindRule(
        meaning="The lake holds the key more than once.",
        action=RepairAction.UPSERT,
        difference=(None, -1),
        correction="upsert, extra copies removed",
        happened="The lake holds their key more than once.",
        cure="Find the other writer: hudi-reconcile doctor names what can be told of it.",
    ),
    FindingKind.PENDING: KindRule(
        meaning="In the window of the next pull, which will bring it.", action=RepairAction.NONE, difference=(0, 1)
    ),
    FindingKind.SETTLED: KindRule(
        meaning="Differed at first and was equal when read again.", action=RepairAction.NONE, difference=(-1, 1)
    ),
    FindingKind.MOVING: KindRule(
        meaning="Changed again between the two looks; not judged this time.", action=RepairAction.NONE, difference=(-1, 1)
    ),
    # Not of the table below, which knows no keys: `core/tables/odd_keys.py` tells which are odd.
    FindingKind.ODD_KEY: KindRule(
        meaning="Differs, and Hudi takes its key for another one in this table: held back, neither written nor deleted.",
        action=RepairAction.NONE,
        difference=(None, 1),
    ),
}  # fmt: skip
DRIFT_KINDS: Final = tuple(str(kind) for kind, rule in KINDS.items() if rule.action is not RepairAction.NONE)
NOT_DRIFT_KINDS: Final = tuple(str(kind) for kind, rule in KINDS.items() if rule.action is RepairAction.NONE)
LATER_KINDS: Final = frozenset({str(FindingKind.ODD_KEY)})  # which results of earlier versions do not count
NOT_DRIFT: Final = frozenset(map(FindingKind, NOT_DRIFT_KINDS))


@dataclass(frozen=True, slots=True)
class PendingRange:
    """Rows that the coming pulls will read: after the mark `after`, and not absurdly far ahead of the clock.

    None: nothing was pulled by its watermark so far, and all that have one will be. A row dated 2099 is in no window before
    2099: to wait for it would be to call it clean for decades. `by_id`: the order is the id alone, which tells of
    rows that the lake lacks, and nothing of those that it has. `with_ties`: rows at the mark itself are read again.
    """

    after: Mark | None
    until_micros: int | None = None
    by_id: bool = False
    with_ties: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one key that differed at the first look.

    `unchanged` is true where neither side's image changed between the two looks. Watermarks are micros of a clock, or
    numbers or text. `pending` is None where there is no checkpoint to compare a watermark with.
    """

    in_source: bool
    lake_copies: int
    equal: bool
    unchanged: bool
    source_micros: Value | None
    lake_micros: Value | None
    pending: PendingRange | None
    source_id: Number | None = None


def classify(facts: Facts) -> FindingKind:
    """The kind of one difference. Order matters: what will heal by itself is never drift, what moves is not judged."""
    if _is_equal_now(facts):
        return FindingKind.SETTLED
    if facts.in_source and facts.lake_copies > 1:
        return FindingKind.DUPLICATE_KEY if facts.unchanged else FindingKind.MOVING
    if facts.in_source and _is_in_next_window(facts):
        return FindingKind.PENDING
    if not facts.unchanged:
        return FindingKind.MOVING
    if not facts.in_source:
        return FindingKind.DELETED
    return _late_or_updated(facts)


def _is_equal_now(facts: Facts) -> bool:
    if not facts.in_source:
        return facts.lake_copies == 0
    return facts.lake_copies == 1 and facts.equal


def _is_in_next_window(facts: Facts) -> bool:
    pending = facts.pending
    if pending is None or (pending.by_id and facts.lake_copies):
        return False
    value = facts.source_id if pending.by_id else facts.source_micros
    if value is None:
        return False
    if pending.until_micros is not None and _is_less(pending.until_micros, value):
        return False
    here = Mark(value, None if pending.by_id else facts.source_id)
    return pending.after is None or is_after(Edge(pending.after, inclusive=pending.with_ties), here)


def _is_less(value: Value, other: Value) -> bool:
    return rank(Mark(value)) < rank(Mark(other))


def _late_or_updated(facts: Facts) -> FindingKind:
    if facts.lake_copies == 0:
        return FindingKind.LATE_ARRIVING
    if facts.source_micros is None or facts.source_micros == facts.lake_micros:
        return FindingKind.UPDATED_WITHOUT_WATERMARK
    if facts.lake_micros is not None and _is_less(facts.source_micros, facts.lake_micros):
        return FindingKind.REGRESSED
    return FindingKind.LATE_ARRIVING


def choose_repair(kind: FindingKind) -> RepairAction:
    """What would repair a finding of this kind."""
    return KINDS[kind].action


Change = Literal["gained", "lost", "kept"]
CHANGES: tuple[Change, ...] = ("gained", "lost", "kept")
_HASH_BYTES = 16


@dataclass(frozen=True, slots=True)
class ChangedFinding:
    """A finding (as JSON text) and what became of it; a kept one is as the later run has it."""

    change: Change
    kind: str
    line: str


def compare_findings(
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
