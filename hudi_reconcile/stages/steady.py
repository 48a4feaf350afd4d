"""Whether a source holds still: a query gives the same rows twice, a table stays the table it was for a whole sweep.

One that does not proves nothing: nothing is planned, and nothing deleted, from what it gave.
"""

from __future__ import annotations

from hudi_reconcile.core.result import Unverified
from hudi_reconcile.core.segments import SegmentSet
from hudi_reconcile.core.values import SourceTable
from hudi_reconcile.ports import Source
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


def altered_meanwhile(job: TableJob, before: SourceTable, source: Source) -> tuple[Unverified, ...]:
    """What to say of a table whose columns, key or server are no longer those that the sweep began with.

    A column that is dropped between the looks fails the read; one that was retyped or added, or another table under the
    same name, would be compared as what it was.
    """
    after = source.describe()
    pairs = (
        ("server or table", before.identity, after.identity),
        ("key", before.key, after.key),
        ("columns", before.columns, after.columns),
    )
    changed = ", ".join(what for what, was, became in pairs if was != became)
    if not changed:
        return ()
    return (Unverified("table", job.name, f"the source's {changed} changed during the sweep", "sweep again"),)
