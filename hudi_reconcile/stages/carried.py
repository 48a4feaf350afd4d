"""Rows that a plan's own commit carried into new files: another version in the lake, and nobody changed them.

The commit for keys that the lake holds more than once writes partitions anew, and with it rows of the plan's other part.
Nobody else's commit lies between the two snapshots around it, so what it was not made for is what it was before.
"""

from __future__ import annotations

from collections.abc import Sequence

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.ports import Frame
from hudi_reconcile.stages.landed import Landed
from hudi_reconcile.stages.sides import Sides


def carried(sides: Sides, rows: Frame, own: Sequence[Landed]) -> Frame:
    """A plan's rows with the versions that its own commits of the other part, newest first, gave them.

    Where the snapshots around such a commit may be cleaned, its rows keep their versions, and look like another writer's.
    """
    for one in reversed(own):
        if one.part not in ("upsert", "delete") or not _rewrites(one):
            continue
        found = _around(sides, one)
        if found is not None:
            action = "delete" if one.part == "upsert" else "upsert"
            rows = sides.comparer.carried(rows, action, *found)
    return rows


def rewritten_after(sides: Sides, first: Landed, own: Sequence[Landed]) -> tuple[tuple[Frame, Frame], ...]:
    """The lake around those of a plan's own commits that wrote partitions anew after this one, oldest first."""
    later = [one for one in reversed(own) if _rewrites(one) and one.instant.completed > first.instant.completed]
    return tuple(found for one in later if (found := _around(sides, one)) is not None)


def commits_before(one: Landed, own: Sequence[Landed]) -> tuple[Landed, ...]:
    """Those of a plan's own commits that came before this one."""
    return tuple(other for other in own if other.instant.completed < one.instant.completed)


def _rewrites(one: Landed) -> bool:
    return one.run_id is None  # only such a commit cannot be taken back


def _around(sides: Sides, one: Landed) -> tuple[Frame, Frame] | None:
    try:
        was, at = sides.lake.around(one.instant)
    except RefusedError:
        return None
    return sides.lake.rows(was), sides.lake.rows(at)
