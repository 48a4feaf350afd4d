"""Savepoints of ours: one snapshot is kept, older ones of ours are given up, those of others stay. bridge.py acts."""

from __future__ import annotations

from collections.abc import Sequence

from hudi_reconcile.lake.bridge import Savepoints, Timeline
from hudi_reconcile.lake.table import METADATA_PARTITIONS
from hudi_reconcile.lake.write import Target

SAVED_BY = "hudi-reconcile"


def keep_one(target: Target, comment: str, earlier: Sequence[str] = ()) -> str:
    """Keep the first of the earlier snapshots that still has a savepoint, else the newest. Returns its instant.

    One that has a savepoint already, whoever made it, is kept as it is.
    """
    line = Timeline(target.spark, target.path)
    newest, kept = max((action.requested for action in line.completed()), default=""), line.savepoints()
    requested = next((one for one in earlier if one in kept), newest)
    if requested not in kept:
        line.drop_unfinished_savepoint(requested)
        _savepoints(target, line).make(requested, SAVED_BY, comment)
    return requested


def drop_ours(target: Target, keep: str) -> tuple[str, ...]:
    """Remove every savepoint of ours but one; those of others stay. Returns those removed."""
    line = Timeline(target.spark, target.path)
    old = tuple(one for one, user in line.savepoints().items() if user == SAVED_BY and one != keep)
    for requested in old:
        _savepoints(target, line).remove(requested)
    return old


def _savepoints(target: Target, line: Timeline) -> Savepoints:
    has_metadata_table = bool(line.properties().get(METADATA_PARTITIONS, ""))
    return Savepoints(target.spark, target.path, target.name, has_metadata_table)
