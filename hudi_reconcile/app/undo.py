"""`undo` takes back what a run wrote; `state` shows or sets the checkpoint of a table. Every change leaves evidence."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hudi_reconcile.app.connections import hold_session, open_world
from hudi_reconcile.app.host import find_actor
from hudi_reconcile.app.jobs import build_job
from hudi_reconcile.app.run import Call, Finished, perform
from hudi_reconcile.app.store import open_store
from hudi_reconcile.app.table_work import TableRun
from hudi_reconcile.config.model import Config
from hudi_reconcile.core.errors import UnknownRunError, UsageError
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import KILLED
from hudi_reconcile.evidence.run_folder import is_run_id
from hudi_reconcile.stages.state import TableState, read_state, set_state
from hudi_reconcile.stages.undo import undo

WROTE = frozenset({"apply", "run"})


def find_applied_run(config: Config, run: str, names: tuple[str, ...]) -> tuple[str, Mapping[str, int | None]]:
    """The run's id, and how many rows it applied by table; None where only the lake can tell.

    A killed run may have written any table that it was not done with, whether or not the next run has told of it. Raises
    UsageError for a run that applied nothing.
    """
    store = open_store(config, os.environ)
    if is_run_id(run) and run not in store.folder_ids():
        return run, dict.fromkeys((table.name for table in config.select(names)), None)
    run_id = store.resolve(run, commands=WROTE)
    tables = [table for table in store.result(run_id)["tables"] if not names or table["name"] in names]
    wrote = {table["name"]: _rows(table) for table in tables if table["corrections"]["instants"] or _is_killed(table)}
    for name in (*names, *wrote):
        config.table(name)
    if not wrote:
        raise UsageError(
            f"run {run_id} applied nothing{' to ' + ', '.join(names) if names else ''}",
            fix="choose a run that did: hudi-reconcile history",
        )
    return run_id, wrote


def _is_killed(table: Mapping[str, Any]) -> bool:
    return (table["error"] or {}).get("type") == KILLED


def _rows(table: Mapping[str, Any]) -> int | None:
    if _is_killed(table):
        return None
    return int(table["corrections"]["applied"] + table["corrections"].get("applied_before", 0))


def run_undo(call: Call, run_id: str) -> Finished:
    """Take the run's corrections back, in every table of the call."""
    store = open_store(call.config, os.environ)
    tables = store.result(run_id)["tables"] if run_id in store.folder_ids() else ()
    instants = {table["name"]: table["corrections"]["instants"] for table in tables}

    def take_back(table_run: TableRun) -> TableResult:
        job = build_job(table_run.table, table_run.folder.run_id, audit_head=table_run.folder.head_before)
        return undo(job, run_id, table_run.edges, instants=instants.get(table_run.table.name, ()))

    again = replace(call.drop_limits(), options=(run_id,))
    return perform("undo", again, take_back, settle=select_run_results)


def select_run_results(results: Mapping[str, TableResult]) -> Mapping[str, TableResult]:
    """The tables that the run wrote, or that could not be asked; all of them where nothing names the run. Pure.

    A killed run may have written any table, so each is asked: one in which it made no commit says nothing of the others.
    """
    other = {name for name, result in results.items() if result.error and result.error.type == UnknownRunError.__name__}
    rest = {name: result for name, result in results.items() if name not in other}
    if not rest or not other:
        return results
    note = f"no commit of this run in {len(other)} of the {len(results)} tables that were asked"
    return {name: replace(result, notes=(*result.notes, note)) for name, result in rest.items()}


Document = Mapping[str, object]


def show_state(call: Call) -> tuple[Document, ...]:
    """One document a table. Opens Spark and the lakes; the source is not asked."""
    with open_world(call.config) as world, hold_session(world, expected_rows=0):
        return tuple(
            _document(table.name, table.lake.path, read_state(world.edges(table).lake)) for table in call.tables
        )


def run_set_state(call: Call, value: str | None) -> Finished:
    """Set the checkpoint of the call's tables; None: none, so that the next pull begins at the beginning."""
    command = "state reset" if value is None else "state set"
    by = find_actor(os.environ).name

    def set_one(table_run: TableRun) -> TableResult:
        return set_state(
            build_job(table_run.table, table_run.folder.run_id, audit_head=table_run.folder.head_before),
            table_run.edges,
            value,
            by=by,
        )

    return perform(command, call.drop_limits(), set_one)


def _document(name: str, path: str, state: TableState) -> Document:
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
