"""The reads of an undo: the snapshots around a commit and all later ones, with the cleaner asked before and after."""

from __future__ import annotations

from pyspark.sql import SparkSession

from hudi_reconcile.core.values import Instant, LakePin, LakeTable
from hudi_reconcile.lake import undo
from hudi_reconcile.lake.bridge import Timeline
from hudi_reconcile.lake.frames import evaluating, pinned
from hudi_reconcile.ports import TakenBack


def taken_back(spark: SparkSession, commit: Instant, table: LakeTable, now: LakePin, read_seq: int) -> TakenBack:
    """What takes a corrective commit back, for keys untouched until `now`.

    Raises RefusedError where files of the snapshots around the commit may have been cleaned.
    """
    path = table.path
    line = Timeline(spark, path)  # not older than the snapshot: no commit between is overlooked
    pins = (*undo.around(line, commit, path), now, *undo.later(line, commit))
    before, at, newest, *between = (pinned(spark, path, one) for one in pins)
    with evaluating(path):
        seen = undo.Snapshots(before, at, newest, tuple(between))
        found = undo.taken_back(seen, table, undo.wrote_at(line, commit), read_seq)
    undo.around(Timeline(spark, path), commit, path)  # a cleaner may have come while it was read
    return found
