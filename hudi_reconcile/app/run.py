"""One run over several tables: begins its folder, isolates each table's failure, measures, writes result and report.

A table that fails does not stop the others; its error is in its result, and the gravest outcome is the run's.

Tells the outputs of a run that an error ended before its folder was there.

Without that CI, monitoring and chat would go on showing the run before it.
"""

from __future__ import annotations

import logging
import os
import platform
import secrets
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hudi_reconcile import __version__
from hudi_reconcile.app.connections import World, hold_session, open_world
from hudi_reconcile.app.host import HostClock, actor, utc_text
from hudi_reconcile.app.jobs import refuse_not_built, settings_of, sides_of
from hudi_reconcile.app.log_context import about_table, name_run
from hudi_reconcile.app.outputs import deliver, ends_of
from hudi_reconcile.app.pages import page_of
from hudi_reconcile.app.stop import STOP, exit_code_of, failure_of_stop
from hudi_reconcile.app.store import store_of
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.config.trust import sentences
from hudi_reconcile.core.errors import STOPS, ReconcileError, RefusedError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.approvals import Actor
from hudi_reconcile.core.result import RunResult, TableResult, run_document
from hudi_reconcile.core.result_parts import Cost, Failure
from hudi_reconcile.core.result_queries import add_config_to_fixes
from hudi_reconcile.core.safe_text import trace_of
from hudi_reconcile.evidence.run_folder import RunFolder, run_id_at
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.ports import Edges, FilesRead
from hudi_reconcile.spark.session import Session, explain_loss, has_lost_java, translate_error
from hudi_reconcile.stages.job import LandedError
from hudi_reconcile.stages.stage_log import TableLog

log = logging.getLogger("hudi_reconcile")


@dataclass(frozen=True, slots=True)
class TableRun:
    """What a command does with one table: its config, its edges, where its evidence goes and earlier evidence is."""

    table: TableConfig
    edges: Edges
    folder: RunFolder
    store: Store
    session: Session


Act = Callable[[TableRun], TableResult]
Settle = Callable[[Mapping[str, TableResult]], Mapping[str, TableResult]]


@dataclass(frozen=True, slots=True)
class Call:
    """What a command was called on: the config, the file it came from as typed, and the chosen tables.

    `props` is the properties file that the config was made of, where there is no config file.
    """

    config: Config
    config_file: str
    tables: tuple[TableConfig, ...]
    props: str | None = None


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
        done = _performed(command, call, act, results, settle, asks_source=asks_source)
    said = deliver(config.outputs, run_document(done.result), os.environ, ends_of(config, tables))
    return replace(done, said=said)


def _performed(
    command: str, call: Call, act: Act, results: dict[str, TableResult], settle: Settle, *, asks_source: bool
) -> Finished:
    """The run up to its folder. `results` are those that stand already; each table's is put there once it is done.

    A run that is stopped ends its folder too: what was done is told, and which tables were not reached.
    """
    config, tables = call.config, call.tables
    clock, who = HostClock(), actor(os.environ)
    started = clock.utc_micros()
    store = store_of(config, os.environ)
    stop_code = 0
    with store.begin(started) as folder:
        name_run(folder.run_id)
        provenance = describe_maker(call, who, folder)
        asked = [table for table in tables if table.name not in results]
        work = _Work(act, folder, store, results, provenance, TableLog(len(tables), done=len(results)))
        try:
            _work_through(config, asked, work, asks_source=asks_source)
        except STOPS as stop:
            stop_code = exit_code_of(stop)
            results.update({table.name: _unreached(table.name, stop) for table in asked if table.name not in results})
        with STOP.ignore():
            times = utc_text(started), utc_text(clock.utc_micros())
            profile = config.overlay.get("profile")
            told = {name: add_config_to_fixes(one, call.config_file, profile) for name, one in settle(results).items()}
            ordered = _in_order(told, tables, times[0])
            result = RunResult(folder.run_id, command, *times, ordered, provenance, sentences(config), stop_code)
            final = finish(store, folder, result)
    return Finished(result, final, audit_head=folder.head)


@dataclass(frozen=True, slots=True)
class _Work:
    """What is done with each table, and where results and provenance are put as they come."""

    act: Act
    folder: RunFolder
    store: Store
    results: dict[str, TableResult]
    provenance: dict[str, Any]
    log: TableLog


def _work_through(config: Config, tables: Sequence[TableConfig], work: _Work, *, asks_source: bool) -> None:
    """Do the work table by table. Where a table takes the JVM with it, or it ends between two, the rest get a new one."""
    with open_world(config) as world:
        failed, expected_rows = _checked(world, tables if asks_source else ())
        for one_failed in failed.values():
            _end(work, one_failed)
        waiting = deque(table for table in tables if table.name not in failed)
        tried = False
        while waiting:
            try:
                with hold_session(world, expected_rows=expected_rows) as session:
                    work.provenance.update(session_provenance(session))
                    tried = _work_in(world, session, waiting, work)
            except Exception as error:
                if not (tried and waiting):
                    raise
                # There was a session before, and there are results: they are told, though no other session came about.
                for table in waiting:
                    _end(work, failure_result(table.name, error))
                waiting.clear()


def _work_in(world: World, session: Session, waiting: deque[TableConfig], work: _Work) -> bool:
    """Do the work in one session, until no table waits or its JVM is gone; at least one table's, so that there is an end."""
    while waiting:
        table = waiting.popleft()
        work.log.begin(table.name)
        _one(world, session, table, work)
        if has_lost_java(session):
            break
    return True


def _end(work: _Work, result: TableResult) -> None:
    work.results[result.name] = result
    work.log.end(result)


def _unreached(name: str, stop: BaseException) -> TableResult:
    return TableResult(name, Outcome.UNVERIFIED, error=_interruption(stop, "before this table's turn"))


def _interruption(stop: BaseException, when: str) -> Failure:
    return failure_of_stop(stop, when, what="the run was ")


def describe_maker(call: Call, who: Actor, folder: RunFolder) -> dict[str, Any]:
    """What made a run: the tool, its config, who ran it, and the head of the log when it began."""
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
    }


def finish(store: Store, folder: RunFolder, result: RunResult) -> Path:
    """Write result and report, and make the run visible."""
    document = run_document(result)
    folder.write_result(document)
    folder.write_text("report.html", page_of(store, document, folder.path))
    return folder.finish()


def session_provenance(session: Session) -> dict[str, Any]:
    """What the run stood on: Spark, Java and every jar with its sha256."""
    return {
        "spark": session.spark_version,
        "java": session.java_version,
        "jars": [{"coordinate": jar.coordinate, "file": jar.path.name, "sha256": jar.sha256} for jar in session.jars],
    }


def add_provenance(result: TableResult, table: TableConfig, started_utc: str) -> TableResult:
    """The result with the settings in force, and with this run as the first that saw what no earlier one did."""
    seen = tuple(replace(one, since_utc=one.since_utc or started_utc) for one in result.schema)
    word = {"require_approval": "true"} if table.policy.require_approval else {}
    provenance = {**result.provenance, **sides_of(table), **word}
    return replace(result, schema=seen, compare=settings_of(table), provenance=provenance)


def _in_order(
    results: Mapping[str, TableResult], tables: Sequence[TableConfig], started_utc: str
) -> tuple[TableResult, ...]:
    return tuple(add_provenance(results[one.name], one, started_utc) for one in tables if one.name in results)


def _checked(world: World, tables: Sequence[TableConfig]) -> tuple[dict[str, TableResult], int]:
    failed, expected_rows = {}, 0
    for table in tables:
        try:
            expected_rows += world.expect_rows(table)
        except ReconcileError as error:
            failed[table.name] = failure_result(table.name, error)
    return failed, expected_rows


def _one(world: World, session: Session, table: TableConfig, work: _Work) -> None:
    """Do the work with a table and note its result. Raises a stop of the process."""
    begun = world.clock.monotonic_seconds()
    sent_before = len(world.engine.sent)
    one: TableRun | None = None
    ending: BaseException | None = None
    try:
        with about_table(table.name):
            one = TableRun(table, world.edges(table), work.folder, work.store, session)
            result = work.act(one)
    except STOPS as stop:
        ending, result = stop, failure_result(table.name, stop)
    except LandedError as landed:
        ending = _ending(session, landed.error)
        failure = failure_result(table.name, ending or landed.error)
        result = replace(landed.result, outcome=failure.outcome, error=failure.error)
    except Exception as error:  # noqa: BLE001 - one table's bug must not hide the others' results; exit 3, traceback shown
        ending = _ending(session, error)
        result = failure_result(table.name, ending or error)
    with STOP.hold():  # what was done is told, whenever the signal comes
        seconds = world.clock.monotonic_seconds() - begun
        _end(
            work, result if one is None else _with_cost(one, result, sent_before, seconds, can_ask_java=ending is None)
        )
    if isinstance(ending, STOPS):
        raise ending


def _with_cost(
    one: TableRun, result: TableResult, sent_before: int, seconds: float, *, can_ask_java: bool
) -> TableResult:
    statements = one.edges.source.statements()
    can_count = can_ask_java and not has_lost_java(one.session)
    lake = one.edges.lake.count_files() if can_count else FilesRead(0, is_all=False)
    started, own = one.session.start_seconds, len(statements) - sent_before
    cost = cost_of(result, one.edges, lake, seconds=seconds, session_seconds=started, statements=own)
    sql = {f"sql_{number + 1}": text for number, text in enumerate(statements[sent_before:])}
    return replace(result, cost=cost, provenance={**result.provenance, **sql})


def _ending(session: Session, error: BaseException) -> BaseException | None:
    """A stop, also where a `finally` put its own error in its place, or the loss of the JVM; None for any other error."""
    if isinstance(error, STOPS):
        return error
    return STOP.error() if STOP.signal else explain_loss(session, error)


def cost_of(
    result: TableResult, edges: Edges, lake: FilesRead, *, seconds: float, session_seconds: float, statements: int
) -> Cost:
    """What all of a table's work cost, by its clock and by what its edges counted. Where there are phases, they sum to it."""
    spent = edges.source.spent()
    # Whole milliseconds, each phase cut: in sum they are never longer than the work.
    phases = {name: int(took * 1000) for name, took in {**spent.seconds, **result.cost.phases_seconds}.items()}
    if phases:
        phases["other"] = max(0, round(seconds * 1000) - sum(phases.values()))
    return Cost(
        seconds=round(seconds, 3),
        session_seconds=round(session_seconds, 3),
        source_statements=statements,
        source_rows_fetched=result.cost.source_rows_fetched,
        lake_files_read=lake.files,
        phases_seconds={name: milliseconds / 1000 for name, milliseconds in phases.items()},
        source_parts=spent.parts,
        source_parts_repeated=spent.repeated,
        source_bytes_estimate=spent.bytes_estimate,
        lake_files_counted=lake.is_all,
    )


def failure_of(one: TableRun, error: ReconcileError) -> TableResult:
    """As `failure_result`, for an error that ended a part of a table's work: where Java was lost under it, that is said."""
    return failure_result(one.table.name, explain_loss(one.session, error) or error)


def failure_result(name: str, error: BaseException) -> TableResult:
    """The result of a table whose work ended in an error: a named one, a stop of the process, or one that nobody foresaw."""
    if isinstance(error, STOPS):
        return TableResult(name, Outcome.UNVERIFIED, error=_interruption(error, "before the table was done"))
    known = error if isinstance(error, ReconcileError) else translate_error(error)
    if known is None:
        log.error(trace_of(error), extra={"table": name})
        return TableResult(name, Outcome.UNVERIFIED, error=_unforeseen_failure(error, "stderr"))
    if known is not error:
        log.debug(trace_of(error), extra={"table": name})
    guards = known.guards if isinstance(known, RefusedError) else ()
    return TableResult(name, known.outcome, error=Failure(known.type, known.message, known.fix), guards=guards)


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
        result = RunResult(
            run_id_at(started, secrets.randbits(12)),
            command,
            utc_text(started),
            utc_text(HostClock().utc_micros()),
            tuple(_failed(table.name, known, error) for table in tables),
            {"tool": __version__, "config": config_file, **config.overlay},
            sentences(config),
        )
        for line in _delivered(config, tables, run_document(result)):
            error.add_note(line)
        raise


def _failed(name: str, known: Mapping[str, TableResult], error: Exception) -> TableResult:
    """What stands of the table, ended by the error. Its outcome is the error's, as the exit code will be."""
    outcome, failure = Outcome.UNVERIFIED, _unforeseen_failure(error, "stderr of the run")
    if isinstance(error, ReconcileError):
        outcome, failure = error.outcome, Failure(error.type, error.message, error.fix)
    return replace(known.get(name, TableResult(name, outcome)), outcome=outcome, error=failure)


def _unforeseen_failure(error: BaseException, where: str) -> Failure:
    kind = type(error).__name__
    return Failure(kind, f"unexpected {kind}; the traceback is on {where}", "report it with the traceback")


def _delivered(config: Config, tables: tuple[TableConfig, ...], run: Mapping[str, Any]) -> tuple[str, ...]:
    """As `deliver`; a bug in there must not hide the error that is to be told."""
    try:
        return deliver(config.outputs, run, os.environ, ends_of(config, tables))
    except Exception as bug:  # noqa: BLE001 - said, and the first error is raised
        return (f"warning: outputs: unexpected {type(bug).__name__}; not all of them were told",)
