"""The work with each table of a run: in what session, in what order, and what becomes of a table that fails.

A table that fails does not stop the others; its error is in its result.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any

from hudi_reconcile.app.connections import World, hold_session, open_world
from hudi_reconcile.app.host import write_utc
from hudi_reconcile.app.jobs import build_pause
from hudi_reconcile.app.log_context import name_table
from hudi_reconcile.app.stop import STOP, describe_stop, run_lanes
from hudi_reconcile.app.time_limit import TimeLimit, limit_edges, set_deadline
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.tables import TableConfig
from hudi_reconcile.core.deadline import Deadline, build_unbegun_error, find_first_deadline
from hudi_reconcile.core.errors import STOPS, ReconcileError, RefusedError, SourceError
from hudi_reconcile.core.lake.catalog_sync import add_sync_outcome
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.pull.retry import reckon_table_wait
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import Cost, Failure
from hudi_reconcile.core.result_queries import BEGUN, join_attempts
from hudi_reconcile.core.safe_text import describe_trace
from hudi_reconcile.core.source.connection import share_connections
from hudi_reconcile.evidence.files import EvidenceError
from hudi_reconcile.evidence.run_folder import RunFolder
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.ports import Edges, FilesRead
from hudi_reconcile.spark.cluster import explain_lost_executor
from hudi_reconcile.spark.session import (
    Session,
    cancel_jobs,
    explain_loss,
    has_lost_java,
    tag_jobs,
    translate_error,
)
from hudi_reconcile.stages.job import LandedError, Pause
from hudi_reconcile.stages.stage_log import TableLog

log = logging.getLogger("hudi_reconcile")


@dataclass(frozen=True, slots=True)
class TableRun:
    """What a command does with one table: its config, its edges, where its evidence goes and earlier evidence is.

    `source_at` is the source's database, as `place_url` says it, and `limit` the time that the work may take. Sweeps let the
    source alone in a `pause`.
    """

    table: TableConfig
    edges: Edges
    folder: RunFolder
    store: Store
    session: Session
    source_at: str = ""
    limit: TimeLimit = field(default_factory=TimeLimit)
    pause: Pause | None = None


Act = Callable[[TableRun], TableResult]


@dataclass(frozen=True, slots=True)
class Lanes:
    """How many tables are worked on at a time, and the config of each lane: its share of the source's connections."""

    count: int
    config: Config


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is done with each table, and where results and provenance are put as they come. `begun` are the tables' names.

    `keep` writes a result down as soon as it stands, for a run that is killed. `source_at` is the source's database, and
    `until` the end of the run's own time. `writes`: the lake may be another afterwards, which a catalog is to show.
    """

    act: Act
    folder: RunFolder
    store: Store
    lanes: Lanes
    log: TableLog
    results: dict[str, TableResult]
    provenance: dict[str, Any]
    keep: Callable[[TableResult], None]
    source_at: str = ""
    begun: set[str] = field(default_factory=set)
    until: Deadline | None = None
    writes: bool = False


def share_lanes(config: Config, tables: Sequence[TableConfig], jobs: int) -> Lanes:
    """The lanes for tables, `jobs` at the most. Raises UsageError where the source's connections are too few for them."""
    count = max(1, min(jobs, len(tables)))
    if count == 1:
        return Lanes(1, config)
    # One for small questions; a snapshot that a look shares is held open by another.
    own = 2 if any(table.sweep.snapshot == "shared" for table in tables) else 1
    share = share_connections(config.source.max_connections, count, own)
    source = config.source.model_copy(update={"max_connections": share})
    return Lanes(count, config.model_copy(update={"source": source}))


def work_through(config: Config, tables: Sequence[TableConfig], work: Work, *, asks_source: bool) -> None:
    """Do the work with every table. Where one takes the JVM with it, or it ends between two, the rest get a new one.

    Raises a stop of the process.
    """
    with open_world(config) as world:
        failed, expected_rows = _check_tables(world, tables if asks_source else ())
        for one_failed in failed.values():
            _end(work, one_failed)
        waiting = deque(table for table in tables if table.name not in failed)
        while not _is_late(world, work, waiting):
            try:
                with hold_session(world, expected_rows=expected_rows) as session:
                    work.provenance.update(describe_session(session))
                    _work_session(world, session, waiting, work)
            except Exception as error:
                if not (waiting and work.begun and work.begun <= work.results.keys()):
                    raise
                # Tables were done in a session before: they are told, though no other session came about.
                for table in waiting:
                    _end(work, describe_failure_result(table.name, error))
                waiting.clear()


def _work_session(world: World, session: Session, waiting: deque[TableConfig], work: Work) -> None:
    """Do the work in one session, until no table waits or its JVM is gone; at least one table's, so that there is an end."""
    if work.lanes.count == 1:
        _work_lane(world, session, waiting, work)
        return
    world.engine.close()  # its connection is among those that the lanes share
    with ExitStack() as stack:
        worlds = [stack.enter_context(open_world(work.lanes.config)) for _ in range(work.lanes.count)]
        for own_world in worlds:
            own_world.session = session
        lanes = [partial(_work_lane, lane_world, session, waiting, work) for lane_world in worlds]
        run_lanes(lanes, partial(cancel_jobs, session.spark))


def _work_lane(world: World, session: Session, waiting: deque[TableConfig], work: Work) -> None:
    while not _is_late(world, work, waiting):
        try:
            table = waiting.popleft()
        except IndexError:  # another lane was faster
            return
        work.begun.add(table.name)
        work.log.begin(table.name)
        _one(world, session, table, work)
        if has_lost_java(session):
            return


def _is_late(world: World, work: Work, waiting: deque[TableConfig]) -> bool:
    """Whether no table is left to begin. Those that wait when the run's time is over are told as not done."""
    if work.until is not None and work.until.is_over(world.clock.monotonic_seconds()):
        with suppress(IndexError):  # another lane may be as late
            while True:
                name = waiting.popleft().name
                _end(work, describe_failure_result(name, build_unbegun_error(work.until, name)))
    return not waiting


def _end(work: Work, result: TableResult) -> None:
    work.results[result.name] = result
    try:
        work.keep(result)
    except (EvidenceError, OSError) as error:  # the run goes on, and says so again at its end if the disk still refuses
        log.warning("%s: its result is not kept should the run be killed: %s", result.name, error)
    work.log.end(result)


def describe_unreached(name: str, stop: BaseException) -> TableResult:
    """The result of a table whose turn did not come."""
    return TableResult(name, Outcome.UNVERIFIED, error=_interruption(stop, "before this table's turn"))


def _interruption(stop: BaseException, when: str) -> Failure:
    return describe_stop(stop, when, what="the run was ")


def describe_session(session: Session) -> dict[str, Any]:
    """What the run stood on: Spark, Java and every jar with its sha256."""
    return {
        "spark": session.spark_version,
        "java": session.java_version,
        "jars": [{"coordinate": jar.coordinate, "file": jar.path.name, "sha256": jar.sha256} for jar in session.jars],
    }


def _check_tables(world: World, tables: Sequence[TableConfig]) -> tuple[dict[str, TableResult], int]:
    """The tables that the database has no answer for, and how many rows it expects of the others.

    Where it is the database that fails, not the table, it is not asked for the tables that are left: each would wait.
    """
    failed, expected_rows = {}, 0
    for number, table in enumerate(tables):
        try:
            expected_rows += world.expect_rows(table)
        except ReconcileError as error:
            ended = tables[number:] if _fails_itself(world, error) else (table,)
            failed.update({table.name: describe_failure_result(table.name, error) for table in ended})
            if len(ended) > 1:
                break
    return failed, expected_rows


def _fails_itself(world: World, error: ReconcileError) -> bool:
    """Whether the database says the same of a question that is about no table."""
    if not isinstance(error, SourceError):
        return False
    try:
        world.engine.moment()
    except ReconcileError as again:
        return again.message == error.message
    return False


def _one(world: World, session: Session, table: TableConfig, work: Work) -> None:
    """Do the work with a table, again where it ended in what may pass, and note its result. Raises a stop of the process."""
    begun, sent_before = world.clock.monotonic_seconds(), len(world.engine.sent)
    begun_utc = write_utc(world.clock.utc_micros())
    own = set_deadline(table.name, table.time_limit, begun)
    limit = TimeLimit(table.name, find_first_deadline(own, work.until))
    table_run, result, ending = _try(world, session, table, work, limit)
    for attempt in count(1):
        wait_seconds = None if isinstance(ending, STOPS) else _reckon_wait(work, table_run, result, attempt)
        if wait_seconds is None or has_lost_java(session):
            break
        why = "" if result.error is None else result.error.message
        log.warning("%s: %s; begun again in %.0f s", table.name, why, wait_seconds, extra={"table": table.name})
        try:
            limit.wait(wait_seconds)
        except ReconcileError:
            break
        except STOPS as stop:
            ending = stop
            break
        work.folder.clear_table(table.name)
        earlier = result
        table_run, result, ending = _try(world, session, table, work, limit)
        result = join_attempts(result, earlier)
    if work.writes and table_run is not None and not isinstance(ending, STOPS) and not has_lost_java(session):
        result, ending = _sync_catalog(table_run, result, ending)
    with STOP.hold():  # what was done is told, whenever the signal comes
        seconds = world.clock.monotonic_seconds() - begun
        result = replace(result, provenance={**result.provenance, BEGUN: begun_utc})
        _end(
            work,
            result
            if table_run is None
            else _add_cost(table_run, result, sent_before, seconds, can_ask_java=ending is None),
        )
    if isinstance(ending, STOPS):
        raise ending


def _sync_catalog(
    table_run: TableRun, result: TableResult, ending: BaseException | None
) -> tuple[TableResult, BaseException | None]:
    """The result with what became of the catalog. A stop while it is brought up to date takes nothing from the result."""
    try:
        return add_sync_outcome(result, table_run.edges.sync_catalog()), ending
    except STOPS as stop:
        error = describe_stop(
            stop, "while the catalog was brought up to date, after the work was done", what="the run was "
        )
        return replace(result, outcome=Outcome.UNVERIFIED, error=result.error or error), stop


def _try(
    world: World, session: Session, table: TableConfig, work: Work, limit: TimeLimit
) -> tuple[TableRun | None, TableResult, BaseException | None]:
    """Do the work once: its result, and what ended it where that was no error of its own."""
    table_run: TableRun | None = None
    ending: BaseException | None = None
    try:
        with name_table(table.name), _limit_work(world, session, limit) as bound_edges:
            edges = bound_edges(world.edges(table))
            table_run = TableRun(
                table, edges, work.folder, work.store, session, work.source_at, limit, build_pause(table, world.engine)
            )
            result = work.act(table_run)
    except STOPS as stop:
        ending, result = stop, describe_failure_result(table.name, stop)
    except LandedError as landed:
        ending = _ending(session, landed.error, limit)
        result = _describe_landed(landed, ending or landed.error)
    except Exception as error:  # noqa: BLE001 - one table's bug must not hide the others' results; exit 3, traceback shown
        ending = _ending(session, error, limit)
        result = describe_failure_result(table.name, ending or error)
    return table_run, _name_time_limit(session, result, limit), ending


def _reckon_wait(work: Work, table_run: TableRun | None, result: TableResult, attempt: int) -> float | None:
    """How long to wait before the table is begun again; None where it is not: nothing of ours is written twice or untold."""
    is_open = result.error is not None and result.outcome is Outcome.UNVERIFIED and not result.corrections.instants
    if table_run is None or not is_open or result.error is None or STOP.signal or table_run.limit.is_asked:
        return None
    return reckon_table_wait(result.error.type, result.error.message, attempt, work.lanes.config.run.retries)


@contextmanager
def _limit_work(world: World, session: Session, limit: TimeLimit) -> Iterator[Callable[[Edges], Edges]]:
    """A table's work within its time, as a block; yields what its edges are to be."""
    if not limit.is_set:
        yield lambda edges: edges
        return

    def cancel() -> None:
        for step in (cancel_own_jobs, partial(world.engine.close, at_once=True)):
            with suppress(Exception):  # Java or the database may be gone, and then nobody waits for them
                step()

    try:
        with tag_jobs(session.spark) as cancel_own_jobs, limit.watch(world.clock, cancel):
            yield lambda edges: limit_edges(edges, limit, cancel_own_jobs)
    finally:
        if limit.is_asked:
            world.engine.close()  # a cancellation that is still on its way meets no statement of the next table


def _name_time_limit(session: Session, result: TableResult, limit: TimeLimit) -> TableResult:
    """The result with its time's end as the error, where that came before a verdict; what was found and done stays."""
    if not limit.is_asked or STOP.signal or has_lost_java(session):
        return result
    if result.error is None and result.outcome is not Outcome.UNVERIFIED:
        return result
    error = limit.error()
    return replace(result, outcome=error.outcome, error=Failure(error.type, error.message, error.fix))


def _add_cost(
    table_run: TableRun, result: TableResult, sent_before: int, seconds: float, *, can_ask_java: bool
) -> TableResult:
    statements = table_run.edges.source.list_statements()
    can_count = can_ask_java and not has_lost_java(table_run.session)
    lake = table_run.edges.lake.count_files() if can_count else FilesRead(0, is_all=False)
    started, own = table_run.session.start_seconds, len(statements) - sent_before
    cost = sum_cost(result, table_run.edges, lake, seconds=seconds, session_seconds=started, statements=own)
    sql = {f"sql_{number + 1}": text for number, text in enumerate(statements[sent_before:])}
    return replace(result, cost=cost, provenance={**result.provenance, **sql})


def _ending(session: Session, error: BaseException, limit: TimeLimit) -> BaseException | None:
    """A stop, also where a `finally` put its own error in its place, the loss of the JVM, or the end of the table's time.

    None for any other error.
    """
    if isinstance(error, STOPS):
        return error
    if STOP.signal:
        return STOP.error()
    lost = explain_loss(session, error) or explain_lost_executor(error)
    return lost or (limit.error() if limit.is_asked else None)


def sum_cost(
    result: TableResult, edges: Edges, lake: FilesRead, *, seconds: float, session_seconds: float, statements: int
) -> Cost:
    """What all of a table's work cost, by its clock and by what its edges counted. Where there are phases, they sum to it."""
    spent = edges.source.report_cost()
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


def describe_landed_failure(table_run: TableRun, landed: LandedError) -> TableResult:
    """The result that tells of the commit, with the error that came after it."""
    return _describe_landed(landed, _ending(table_run.session, landed.error, table_run.limit) or landed.error)


def _describe_landed(landed: LandedError, error: BaseException) -> TableResult:
    failure = describe_failure_result(landed.result.name, error)
    guards = tuple(dict.fromkeys((*failure.guards, *landed.result.guards)))
    return replace(landed.result, outcome=failure.outcome, error=failure.error, guards=guards)


def describe_part_failure(table_run: TableRun, error: ReconcileError) -> TableResult:
    """As `describe_failure_result`, for an error that ended a part of a table's work. What is behind it is told: a stop, say."""
    return describe_failure_result(table_run.table.name, _ending(table_run.session, error, table_run.limit) or error)


def describe_failure_result(name: str, error: BaseException) -> TableResult:
    """The result of a table whose work ended in an error: a named one, a stop of the process, or one that nobody foresaw."""
    if isinstance(error, STOPS):
        return TableResult(name, Outcome.UNVERIFIED, error=_interruption(error, "before the table was done"))
    known = error if isinstance(error, ReconcileError) else translate_error(error)
    if known is None:
        log.error(describe_trace(error), extra={"table": name})
        return TableResult(name, Outcome.UNVERIFIED, error=describe_unforeseen(error, "stderr"))
    if known is not error:
        log.debug(describe_trace(error), extra={"table": name})
    guards = known.guards if isinstance(known, RefusedError) else ()
    return TableResult(name, known.outcome, error=Failure(known.type, known.message, known.fix), guards=guards)


def describe_unforeseen(error: BaseException, where: str) -> Failure:
    """How an error that nobody foresaw is told; its traceback is `where`."""
    kind = type(error).__name__
    return Failure(kind, f"unexpected {kind}; the traceback is on {where}", "report it with the traceback")
