"""The list of a plan's corrections that an apply left unmade: every planned row that is neither written now nor before."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hudi_reconcile.core.plan.apply_outcome import NOT_ASKED, NOT_COMMITTED, UNKNOWN, Uncorrected
from hudi_reconcile.ports import Comparer, Frame
from hudi_reconcile.stages.apply.progress import DOUBLED, READY
from hudi_reconcile.stages.apply.recovery import EarlierCommits


@dataclass(frozen=True, slots=True)
class Listing:
    """Where the list is written: a folder that is not there yet, and what the result calls it."""

    folder: str
    path: str


@dataclass(frozen=True, slots=True)
class Remainder:
    """What may be uncorrected of a plan. `planned` are all of its rows, `not_asked` those that `--only` left out.

    `ended` are the keys of those that this apply was to write and did not, None where it was to write none.
    """

    plan_run: str
    comparer: Comparer
    planned: Frame
    not_asked: Frame | None
    earlier: EarlierCommits
    ended: Frame | None


def list_unwritten(comparer: Comparer, rows: Frame, unwritten: str, *, is_lost: bool) -> Frame:
    """Keys of rechecked corrections that were not written, by reason; `is_lost`: their commit was not made."""
    reason = NOT_COMMITTED if is_lost else unwritten
    return comparer.name_reasons(rows, "status", {READY: reason, DOUBLED: reason})


def save_left(remainder: Remainder, listing: Listing, rows: int) -> Uncorrected:
    """Write the list; `rows` are those that the result says to be uncorrected. Nothing is written where there are none.

    Rows that an earlier apply left are not listed where the lake can no longer tell which they are.
    """
    if not rows:
        return Uncorrected()
    earlier, comparer = remainder.earlier, remainder.comparer
    ends = [keys for keys in (remainder.ended, earlier.left_rows) if keys is not None]
    if remainder.not_asked is not None:
        ends.append(
            comparer.name_reasons(remainder.not_asked, "action", dict.fromkeys(("upsert", "delete"), NOT_ASKED))
        )
    by_reason, by_kind = Counter[str](), Counter[str]()
    listed = 0
    if ends:
        frame = comparer.list_uncorrected(remainder.planned, ends)
        by_reason.update(comparer.count(frame, "reason"))
        listed = by_reason.total()
        if listed:
            by_kind.update(comparer.count(frame, "kind"))
            comparer.save(frame, listing.folder, listed)
    if earlier.left and earlier.left_rows is None:
        by_reason.update(earlier.left)
    by_reason.update({UNKNOWN: max(0, rows - by_reason.total())})
    why = "" if listed == rows else f"{listed} of {rows} rows are listed: {_why(remainder)}"
    path = listing.path if listed else None
    return Uncorrected(rows, dict(+by_reason), listed, path, why, remainder.plan_run, dict(by_kind))


def _why(remainder: Remainder) -> str:
    if remainder.earlier.left and remainder.earlier.left_rows is None:
        return "the lake no longer shows which rows an earlier apply of the plan left; see the list of that run"
    return "the counts and the list do not agree; sweep again"
