"""Whether the source held still and was read whole: a query gives the same rows twice, a table keeps its columns for a sweep.

What does not hold still proves nothing: nothing is planned, and nothing deleted, from what it gave.
"""

from __future__ import annotations

from dataclasses import dataclass

from hudi_reconcile.core.result_parts import Unverified
from hudi_reconcile.core.sweep.segments import SegmentSet
from hudi_reconcile.core.tables.values import CheckpointAt
from hudi_reconcile.ports import Lake, Source
from hudi_reconcile.stages.comparison import Sides, TablePair
from hudi_reconcile.stages.job import TableJob
from hudi_reconcile.stages.sweep.two_looks import LookResult


def check_query_stable(job: TableJob, sides: Sides, compared: SegmentSet | None = None) -> tuple[Unverified, ...]:
    """What to say of a query whose two answers differ; nothing of one that holds, or of a table, which is no query.

    Only the segments that were `compared` are asked for, where these are not all.
    """
    if not job.source.is_query:
        return ()
    with sides.source.freeze() as name:
        first = sides.comparer.digest_side(sides.source_in_scope(compared), "source")
        again = sides.comparer.digest_side(sides.source_in_scope(compared), "source")
    if first == again:
        return ()
    differing = len({digest.segment for digest in set(first) ^ set(again)})
    why = f"moving rows: source.query gave other rows when it was asked twice ({differing} segments differ)"
    if name is not None:
        return (Unverified("rows", job.name, f"{why} in one snapshot", "order what is random or depends on the clock"),)
    return (Unverified("rows", job.name, why, "sweep again at a quieter time; a query must give the same rows twice"),)


@dataclass(frozen=True, slots=True)
class SchemaView:
    """Both sides' columns before a row was read, and the checkpoint of the lake that had them."""

    pair: TablePair
    checkpoint: CheckpointAt | None


def check_schema_stable(
    job: TableJob, seen: SchemaView, at_last_look: CheckpointAt | None, source: Source, lake: Lake
) -> tuple[Unverified, ...]:
    """What to say where a side's columns, key or server are no longer those that the sweep began with.

    A column that is dropped between the looks fails the read; one that was retyped or added, or another table under the
    same name, would be compared as what it was, or not at all. The lake is asked again only where somebody pulled meanwhile,
    or where no checkpoint tells.
    """
    was, now = seen.pair.described, source.describe()
    pairs = (
        ("server or table", was.identity, now.identity),
        ("key", was.key, now.key),
        ("columns", was.columns, now.columns),
    )
    changed = ", ".join(what for what, before, after in pairs if before != after)
    sides = [f"the source's {changed}"] if changed else []
    if seen.checkpoint is None or at_last_look is None or seen.checkpoint.instant != at_last_look.instant:
        table = lake.look()
        sides += [] if table is not None and table.columns == seen.pair.lake_table.columns else ["the lake's columns"]
    if not sides:
        return ()
    return (Unverified("table", job.name, f"{' and '.join(sides)} changed during the sweep", "sweep again"),)


def check_complete(comparison: LookResult, name: str) -> tuple[Unverified, ...]:
    """Where rows that the source counts were not read at the first look, or rows of it not at the second."""
    if not comparison.missed_rows:
        return check_reread(comparison, name)
    what = "the table" if comparison.first.walked is None else "the source, of these segments,"
    why = f"the read returned {comparison.source_rows} rows, {what} counts {comparison.source_rows + comparison.missed_rows}"
    fix = "sweep again at a quieter time, or with sweep.snapshot: shared; if this persists, report it as a bug"
    return (Unverified("table", name, why, fix), *check_reread(comparison, name))


def check_reread(comparison: LookResult, name: str) -> tuple[Unverified, ...]:
    """Where two reads of one state differ."""
    if not comparison.misread_rows:
        return ()
    rows = f"at least {comparison.misread_rows} rows differed in one read and were equal in another"
    why = f"{rows}, though neither side had changed: one of the reads was not whole"
    return (Unverified("rows", name, why, "sweep again; if this persists, report it as a bug"),)
