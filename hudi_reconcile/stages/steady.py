"""Whether a query gives the same rows when it is asked twice at one moment. One that does not proves nothing, and deletes."""

from __future__ import annotations

from hudi_reconcile.core.result import Unverified
from hudi_reconcile.core.segments import SegmentSet
from hudi_reconcile.stages.request import TableJob
from hudi_reconcile.stages.sides import Sides


def unsteady(job: TableJob, sides: Sides, compared: SegmentSet | None = None) -> tuple[Unverified, ...]:
    """What to say of a query whose two answers differ; nothing of one that holds, or of a table, which is no query.

    Only the segments that were `compared` are asked for, where these are not all.
    """
    if not job.is_query:
        return ()
    with sides.source.frozen() as name:
        first = sides.comparer.source_digests(sides.source_in_scope(compared))
        again = sides.comparer.source_digests(sides.source_in_scope(compared))
    if first == again:
        return ()
    differing = len({one.segment for one in set(first) ^ set(again)})
    why = f"moving rows: source.query gave other rows when it was asked twice ({differing} segments differ)"
    if name is not None:
        return (Unverified("rows", job.name, f"{why} in one snapshot", "order what is random or depends on the clock"),)
    return (Unverified("rows", job.name, why, "sweep again at a quieter time; a query must give the same rows twice"),)
