"""One run over several tables, from its folder to its result and report; the gravest outcome of a table is the run's.

A table that fails stops no other; its error is in its result. Where an error ends the run before it has a folder, the
outputs are told all the same: else CI and monitoring would go on showing the run before it.
"""

from __future__ import annotations

import os
import platform
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hudi_reconcile import __version__
from hudi_reconcile.app.host import HostClock, find_actor, write_utc
from hudi_reconcile.app.jobs import describe_settings, describe_sides, refuse_not_built
from hudi_reconcile.app.log_context import name_run
from hudi_reconcile.app.outputs import deliver, name_datasets
from hudi_reconcile.app.pages import render_page
from hudi_reconcile.app.stop import STOP, get_exit_code
from hudi_reconcile.app.store import copy_finished, open_store
from hudi_reconcile.app.table_work import (
    Act,
    Work,
    describe_failure_result,
    describe_unforeseen,
    describe_unreached,
    share_lanes,
    work_through,
)
from hudi_reconcile.app.time_limit import set_deadline
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.config.trust import sentences
from hudi_reconcile.core.errors import STOPS, ReconcileError
from hudi_reconcile.core.notes import rank_notes
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.approvals import Actor
from hudi_reconcile.core.result import RunResult, TableResult, build_table_document, run_document
from hudi_reconcile.core.result_parts import Failure
from hudi_reconcile.core.result_queries import add_config_to_fixes, describe_commits
from hudi_reconcile.databases.registry import place_url
from hudi_reconcile.evidence.run_folder import RunFolder, build_run_id, name_table_folder
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.stages.stage_log import TableLog

READ_ONLY = frozenset({"sweep", "check"})  # no other command that works on tables leaves the lake as it was
Settle = Callable[[Mapping[str, TableResult]], Mapping[str, TableResult]]


@dataclass(frozen=True, slots=True)
class Call:
    """What a command was called on: the config, the file it came from as typed, and the chosen tables.

    `props` is the properties file that the config was made of, where there is no config file. `jobs` is how many tables
    are worked on at a time, at the most. `choice` and `options` are the arguments by which the command line chose the
    tables, and the others that the same command needs when it is run again. `without_rules` are tables that a gate leaves out.
    """

    config: Config
    config_file: str
    tables: tuple[TableConfig, ...]
    props: str | None = None
    jobs: int = 1
    choice: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    without_rules: tuple[str, ...] = ()

    def drop_limits(self) -> Call:
        """The call without its config's time limits, for what people do by hand to set a table right."""
        run = self.config.run.model_copy(update={"time_limit": None})
        tables = tuple(table.model_copy(update={"time_limit": None}) for table in self.tables)
        return replace(self, config=self.config.model_copy(update={"run": run}), tables=tables)


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that is on disk. `said` are lines for stderr, as they are. `audit_head` is the hash of its line in the log."""

    result: RunResult
    folder: Path
    said: tuple[str, ...] = ()
    audit_head: str | None = None


def perform(
    command: str,
    call: Call,
    act: Act,
    *,
    asks_source: bool = True,
    ready: Mapping[str, TableResult] | None = None,
    settle: Settle = dict,
) -> Finished:
    """Run a command over tables and leave its evidence. Raises ReconcileError where no table could even be tried.

    `asks_source`: each table is asked for before Spark starts, so that a wrong name or password fails at once.
    `ready`: results that stand already; nothing is done with those tables. `settle`: which of all the run is about. The
    outputs are told of every ending.
    """
    config, tables = call.config, call.tables
    with deliver_failure(command, config, call.config_file, tables) as results:
        refuse_not_built(config, tables)
        results.update(ready or {})
        done = _perform(command, call, act, results, settle, asks_source=asks_source)
    said = deliver(config.outputs, run_document(done.result), os.environ, name_datasets(config, tables))
    return replace(done, said=(*said, *copy_finished(config)))


def _perform(
    command: str, call: Call, act: Act, results: dict[str, TableResult], settle: Settle, *, asks_source: bool
) -> Finished:
    """The run up to its folder. `results` are those that stand already; each table's is put there once it is done.

    A run that is stopped ends its folder too: what was done is told, and which tables were not reached.
    """
    config, tables = call.config, call.tables
    asked = [table for table in tables if table.name not in results]
    lanes = share_lanes(config, asked, call.jobs)
    clock, who = HostClock(), find_actor(os.environ)
    started, until = clock.utc_micros(), set_deadline(None, config.run.time_limit, clock.monotonic_seconds())
    store = open_store(config, os.environ)
    stop_code = 0
    with store.begin(started) as folder:
        name_run(folder.run_id)
        provenance = describe_maker(call, who, folder)
        keep = _begin_draft(command, call, folder, provenance, write_utc(started))
        for ready in results.values():
            keep(ready)
        log = TableLog(len(tables), done=len(results))
        work = Work(
            act=act, folder=folder, store=store, lanes=lanes, log=log, results=results, provenance=provenance, keep=keep,
            until=until, writes=command not in READ_ONLY,
            source_at=place_url(config.source.url),
        )  # fmt: skip
        try:
            work_through(config, asked, work, asks_source=asks_source)
        except STOPS as stop:
            stop_code = get_exit_code(stop)
            for name in [table.name for table in asked if table.name not in results]:
                results[name] = (
                    describe_failure_result(name, stop) if name in work.begun else describe_unreached(name, stop)
                )
        with STOP.ignore():
            times = write_utc(started), write_utc(clock.utc_micros())
            ordered = _order_results(settle(results), call, times[0])
            result = RunResult(folder.run_id, command, *times, ordered, provenance, sentences(config), stop_code)
            final = finish(store, folder, result)
    return Finished(result, final, audit_head=folder.head)


def describe_maker(call: Call, who: Actor, folder: RunFolder) -> dict[str, Any]:
    """What made a run: the tool, its config, who ran it, and the head of the log when it began."""
    named = (("choice", call.choice), ("options", call.options), ("without_rules", call.without_rules))
    return {
        "tool": __version__,
        "python": platform.python_version(),
        "config": call.config_file,
        **call.config.overlay,
        "by": who.name,
        "login": who.login,
        "uid": who.uid,
        "audit_head_before": folder.head_before,
        **({} if call.props is None else {"props": call.props}),
        **{name: list(words) for name, words in named if words},
    }


def finish(store: Store, folder: RunFolder, result: RunResult) -> Path:
    """Write result and report, and make the run visible."""
    document = run_document(result)
    folder.write_result(document)
    folder.write_text("report.html", render_page(store, document, folder.path))
    return folder.finish()


def add_provenance(result: TableResult, table: TableConfig, source_at: str, started_utc: str) -> TableResult:
    """The result with the settings in force, its notes by what is at stake, and the first run that saw each change."""
    seen = tuple(replace(change, since_utc=change.since_utc or started_utc) for change in result.schema)
    word = {"require_approval": "true"} if table.policy.require_approval else {}
    provenance = {**result.provenance, **describe_sides(table, source_at), **word}
    notes = rank_notes(result.notes)
    return replace(result, schema=seen, compare=describe_settings(table), notes=notes, provenance=provenance)


def _order_results(results: Mapping[str, TableResult], call: Call, started_utc: str) -> tuple[TableResult, ...]:
    return tuple(
        _complete_result(results[table.name], table, call, started_utc)
        for table in call.tables
        if table.name in results
    )


def _complete_result(result: TableResult, table: TableConfig, call: Call, started_utc: str) -> TableResult:
    final_result = add_config_to_fixes(result, call.config_file, call.config.overlay.get("profile"))
    return add_provenance(final_result, table, place_url(call.config.source.url), started_utc)


def _begin_draft(
    command: str, call: Call, folder: RunFolder, provenance: Mapping[str, Any], started_utc: str
) -> Callable[[TableResult], None]:
    """Write down that the run began; returns what keeps each table's result until the run ends."""
    tables = {table.name: table for table in call.tables}
    trust = list(sentences(call.config))
    facts = {"command": command, "started_utc": started_utc, "names": list(tables), "trust": trust}
    folder.draft.begin({**facts, "provenance": dict(provenance)})

    def keep(result: TableResult) -> None:
        document = build_table_document(_complete_result(result, tables[result.name], call, started_utc))
        at_utc = write_utc(HostClock().utc_micros())
        folder.draft.keep_table(name_table_folder(result.name), document, at_utc=at_utc, provenance=dict(provenance))

    return keep


@contextmanager
def deliver_failure(
    command: str, config: Config, config_file: str, tables: tuple[TableConfig, ...]
) -> Iterator[dict[str, TableResult]]:
    """An error that leaves the block is delivered as the result of every table, then raised as it was.

    The block puts the results that stand already into the mapping that it gets: what they tell is kept. The run has an id
    of its own, which no folder has. Lines for stderr go with the error as its notes. No outcome, and no exit code, changes.
    """
    started, known = HostClock().utc_micros(), dict[str, TableResult]()
    try:
        yield known
    except Exception as error:
        profile = config.overlay.get("profile")
        result = RunResult(
            build_run_id(started, secrets.randbits(12)),
            command,
            write_utc(started),
            write_utc(HostClock().utc_micros()),
            tuple(
                add_config_to_fixes(_end_known_result(table.name, known, error), config_file, profile)
                for table in tables
            ),
            {"tool": __version__, "config": config_file, **config.overlay},
            sentences(config),
        )
        for line in (*describe_commits(known.values()), *_deliver_safely(config, tables, run_document(result))):
            error.add_note(line)
        raise


def _end_known_result(name: str, known: Mapping[str, TableResult], error: Exception) -> TableResult:
    """What stands of the table, ended by the error. Its outcome is the error's, as the exit code will be."""
    outcome, failure = Outcome.UNVERIFIED, describe_unforeseen(error, "stderr of the run")
    if isinstance(error, ReconcileError):
        outcome, failure = error.outcome, Failure(error.type, error.message, error.fix)
    return replace(known.get(name, TableResult(name, outcome)), outcome=outcome, error=failure)


def _deliver_safely(config: Config, tables: tuple[TableConfig, ...], run: Mapping[str, Any]) -> tuple[str, ...]:
    """As `deliver`; a bug in there must not hide the error that is to be told."""
    try:
        return deliver(config.outputs, run, os.environ, name_datasets(config, tables))
    except Exception as bug:  # noqa: BLE001 - said, and the first error is raised
        return (f"warning: outputs: unexpected {type(bug).__name__}; not all of them were told",)
