"""The last look before a delete: is its key really gone at the source?

Reads of rows in parts can lack a row without an error, while the source is written to: a scan passes a row that moves, a
part's condition leaves one out. So the keys of the deletes themselves are asked for, by another way than rows are read
(`correctness.md` §4.7); the answer may name too many rows, never too few.
"""

from __future__ import annotations

from hudi_reconcile.core.keys import MOST_ASKED
from hudi_reconcile.core.segments import HashSegments, SegmentSet
from hudi_reconcile.ports import Frame
from hudi_reconcile.stages.sides import Sides


def proven_absent(sides: Sides, rechecked: Frame, touched: SegmentSet) -> tuple[Frame, tuple[str, ...]]:
    """The rechecked corrections, and notes: a delete whose key the source holds, or may hold, has `moved`."""
    comparer, source, table = sides.comparer, sides.source, sides.table
    keys = comparer.to_delete(rechecked, MOST_ASKED)
    if keys == ():
        return rechecked, ()
    named = None if keys is None else source.named(table, keys)
    if named is None:
        return _by_counts(sides, rechecked, touched)
    if not named.rows:
        return rechecked, ()
    there, rows = comparer.held_rows(named.read())
    if rows < named.rows:
        note = f"a read of the deletes' keys gave {rows} rows, the source counts {named.rows}: nothing was deleted"
        return comparer.still_there(rechecked, None), (note,)
    return comparer.still_there(rechecked, there), ()


def _by_counts(sides: Sides, rechecked: Frame, touched: SegmentSet) -> tuple[Frame, tuple[str, ...]]:
    """By a whole read of what the deletes touch, which proves something only if the source counts the same before and after."""
    comparer, source = sides.comparer, sides.source
    is_own = isinstance(sides.cut, HashSegments) and sides.cut.by == "xxhash64"  # the source knows no such segment
    segments = None if is_own else touched
    before = source.rows_now(sides.table, sides.cut, segments)
    there, rows = comparer.held_rows(source.rows(sides.table, sides.cut, segments))
    if before == rows == source.rows_now(sides.table, sides.cut, segments):
        return comparer.still_there(rechecked, there), ()
    note = (
        "the deletes' keys cannot be asked for in SQL, and the source changed while it was read: nothing was deleted; "
        "apply again at a quieter time"
    )
    return comparer.still_there(rechecked, None), (note,)
