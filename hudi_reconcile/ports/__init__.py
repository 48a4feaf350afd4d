"""What stages and app ask of the world: Source, Lake, Comparer, RuleEngine, Quarantine, Clock. Edges implement these.

A Frame is an opaque handle on rows that stay where they are (Spark). Stages pass frames on and never look inside.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from hudi_reconcile.core.lake.catalog_sync import SyncOutcome
from hudi_reconcile.ports.comparer import (
    Comparer,
    KeyPlace,
    KeysOf,
    Look,
    MakeComparer,
    OneSided,
    SegmentDigest,
    StatusCounts,
    WholeLake,
)
from hudi_reconcile.ports.lake import (
    AS_SOURCE,
    Batch,
    BatchShape,
    Corrective,
    FilesRead,
    Frame,
    Lake,
    NewTable,
    Origin,
    Replaced,
    TakenBack,
)
from hudi_reconcile.ports.rules import HELD_RULES, Clock, KeysTarget, Quarantine, QuarantinedRows, RowFiles, RuleEngine
from hudi_reconcile.ports.source import (
    Inside,
    KeyFaults,
    NamedRows,
    ReadCost,
    RowVersions,
    Signs,
    Source,
    Staged,
    Survey,
)

__all__ = [
    "AS_SOURCE",
    "HELD_RULES",
    "Batch",
    "BatchShape",
    "Clock",
    "Comparer",
    "Corrective",
    "Edges",
    "FilesRead",
    "Frame",
    "Inside",
    "KeyFaults",
    "KeyPlace",
    "KeysOf",
    "KeysTarget",
    "Lake",
    "Look",
    "MakeComparer",
    "NamedRows",
    "NewTable",
    "OneSided",
    "Origin",
    "Quarantine",
    "QuarantinedRows",
    "ReadCost",
    "Replaced",
    "RowFiles",
    "RowVersions",
    "RuleEngine",
    "SegmentDigest",
    "Signs",
    "Source",
    "Staged",
    "StatusCounts",
    "Survey",
    "TakenBack",
    "WholeLake",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Edges:
    """All that one table's work may touch.

    `whole_commit` guards a block that makes a commit and notes it: a wish to stop the process waits until its end.
    `sync_catalog` brings the catalog up to date with the lake, and says what became of it; None where no catalog is to show
    the table.
    """

    source: Source
    lake: Lake
    make: MakeComparer
    clock: Clock
    whole_commit: Callable[[], AbstractContextManager[None]] = nullcontext
    sync_catalog: Callable[[], SyncOutcome | None] = lambda: None
