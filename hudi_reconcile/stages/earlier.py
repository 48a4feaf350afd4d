"""What earlier applies of the same plan did: told by their commits, read back in the lake's own snapshots of them.

Nobody may have been told: an apply that is killed after its commit leaves that commit alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hudi_reconcile.core.commit_counts import WRITTEN
from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.uncorrected import UNKNOWN, told
from hudi_reconcile.core.values import Instant
from hudi_reconcile.ports import Comparer, Frame, Look
from hudi_reconcile.stages.carried import carried, commits_before
from hudi_reconcile.stages.landed import Landed
from hudi_reconcile.stages.sides import Sides
from hudi_reconcile.stages.tally import DOUBLED, LANDED, READY


@dataclass(frozen=True, slots=True)
class Earlier:
    """Rows that were written before, and those of the same parts of the plan that were not, by status.

    `left_rows` are the keys of the latter, by reason; None where there are none, or the lake cannot tell them.
    """

    applied: int = 0
    left: Mapping[str, int] = field(default_factory=dict)
    instants: tuple[Instant, ...] = ()
    notes: tuple[str, ...] = ()
    left_rows: Frame | None = None

    @property
    def is_whole(self) -> bool:
        """Every row of those parts was written."""
        return not self.left


NONE = Earlier()


def earlier_of(
    sides: Sides, rows: Frame, landed: Sequence[Landed], planned: int, own: Sequence[Landed] | None
) -> Earlier:
    """What these commits made of a plan's rows: those `planned` ones of the parts that they finished.

    `own` are all commits of the plan; None where columns or types are no longer those of the plan, so that no older snapshot
    can be held against it.
    """
    if not any(one.last for one in landed):
        return NONE
    ends = [one.counts for one in landed if one.last]
    made = None if own is None else made_of(sides, rows, landed, own)
    left: Counter[str] = Counter()
    written = 0
    for counts in ends:
        left.update({status: found for status, found in (counts or {}).items() if status != WRITTEN})
        written += (counts or {}).get(WRITTEN, 0)
    notes = [_wrote(landed)]
    if None in ends:  # an earlier version's commits do not tell
        written = min(0 if made is None else made.rows, planned)
        left.update({"superseded": planned - written})
        notes += [_UNTOLD] if planned > written else []
    elif made is not None and made.rows < written:
        left.update({"failed": written - made.rows})
        written = made.rows
    keys = _named(sides.comparer, made, left) if made is not None and written == made.rows else None
    return Earlier(written, +left, tuple(one.instant for one in reversed(landed)), tuple(notes), keys)


@dataclass(frozen=True, slots=True)
class Made:
    """How many rows the commits made right, and the others by how they stood just after the oldest commit."""

    rows: int
    left: Frame


def with_killed(earlier: Earlier, made: Made | None, firsts: Sequence[Landed]) -> Earlier:
    """Together with what killed applies wrote of the part that is not asked for now."""
    if made is None or not made.rows:
        return earlier
    return replace(earlier, applied=earlier.applied + made.rows, notes=(*earlier.notes, _wrote(firsts)))


def _named(comparer: Comparer, made: Made, left: Mapping[str, int]) -> Frame | None:
    if not any(left.values()):
        return None
    return comparer.ended(made.left, "reason", told(left, comparer.count(made.left, "reason")))


def made_of(sides: Sides, rows: Frame, landed: Sequence[Landed], own: Sequence[Landed]) -> Made | None:
    """What the commits made, each looked at just after it; None where a snapshot may be cleaned.

    `own` are all commits of the plan, which may have carried rows into new files.
    """
    comparer, touched = sides.comparer, sides.comparer.segments_of(rows)
    found = 0
    for one in landed:
        try:
            before, at = (sides.lake.rows(pin) for pin in sides.lake.around(one.instant))
        except RefusedError:
            return None
        look = Look(sides.source.rows(sides.table, sides.cut, touched), at)
        then = carried(sides, rows, commits_before(one, own))
        marked = comparer.landed(comparer.recheck(then, look, touched), (before, at), touched)
        found += comparer.count(marked, "status").get(LANDED, 0)
        rows = comparer.uncorrected(rows, [comparer.ended(marked, "status", dict.fromkeys((READY, DOUBLED), UNKNOWN))])
    return Made(found, rows)


_UNTOLD = (
    "superseded: a commit of an earlier version does not tell what became of these rows, and the lake does not show them "
    "written; sweep again"
)


def _wrote(landed: Sequence[Landed]) -> str:
    said = [f"{one.instant.completed}{f' of run {one.run_id}' if one.run_id else ''}" for one in reversed(landed)]
    return f"this plan was written before: commit {', '.join(said)}"
