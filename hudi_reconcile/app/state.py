"""`state`: the checkpoint of each table, read without a run, and set in a run that leaves its evidence."""

from __future__ import annotations

import os
from collections.abc import Mapping

from hudi_reconcile.app.actor import actor
from hudi_reconcile.app.jobs import job_of
from hudi_reconcile.app.run import Call, Finished, TableRun, perform
from hudi_reconcile.app.world import open_world, with_session
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.stages.state import State, set_state, state_of

Document = Mapping[str, object]


def show_state(call: Call) -> tuple[Document, ...]:
    """One document a table. Opens Spark and the lakes; the source is not asked."""
    with open_world(call.config) as world, with_session(world, expected_rows=0):
        return tuple(_document(table.name, table.lake.path, state_of(world.edges(table).lake)) for table in call.tables)


def run_set_state(call: Call, value: str | None) -> Finished:
    """Set the checkpoint of the call's tables; None: none, so that the next pull begins at the beginning."""
    command = "state reset" if value is None else "state set"
    by = actor(os.environ).name

    def set_one(one: TableRun) -> TableResult:
        return set_state(
            job_of(one.table, one.folder.run_id, audit_head=one.folder.head_before), one.edges, value, by=by
        )

    return perform(command, call, set_one)


def _document(name: str, path: str, state: State) -> Document:
    table, at, origin = state.table, state.checkpoint, state.origin
    streamer = origin.streamer_checkpoint
    return {
        "name": name,
        "path": path,
        "exists": table is not None,
        "made_by": None if table is None else "hudi-reconcile" if table.owned else "another writer",
        "checkpoint": None if at is None else at.checkpoint.text,
        "strategy": None if at is None else at.checkpoint.strategy,
        "watermark": [] if at is None else list(at.checkpoint.watermark),
        "source_identity": None if at is None else at.checkpoint.source_identity,
        "instant": None if at is None else at.instant.completed,
        "record_key": [] if table is None else list(table.record_key),
        "ordering_fields": [] if table is None else list(table.ordering_fields),
        "key_generator": origin.key_generator,
        "streamer": None
        if streamer is None
        else {
            "key": origin.streamer_key,
            "checkpoint": streamer,
            "instant": None if origin.instant is None else origin.instant.completed,
        },
    }
