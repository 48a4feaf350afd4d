"""Savepoints of ours: the newest snapshot is kept, older ones of ours are given up, those of others stay. bridge.py acts."""

from __future__ import annotations

from hudi_reconcile.lake.bridge import Savepoints, Timeline
from hudi_reconcile.lake.table import METADATA_PARTITIONS
from hudi_reconcile.lake.write import Target

SAVED_BY = "hudi-reconcile"


def keep_newest(target: Target, comment: str) -> str:
    """Keep the newest snapshot; one that has a savepoint already, whoever made it, is kept as it is. Returns its instant."""
    line = Timeline(target.spark, target.path)
    requested = max((action.requested for action in line.completed()), default="")
    if requested not in line.savepoints():
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
