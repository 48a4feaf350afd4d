"""A table that takes longer than its time limit is ended by name, never within a commit, and the others go on."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hudi_reconcile.app import table_work
from hudi_reconcile.app.host import HostClock
from hudi_reconcile.app.run import Call, perform
from hudi_reconcile.app.table_work import TableRun
from hudi_reconcile.app.time_limit import TimeLimit
from hudi_reconcile.config.load import load_config
from hudi_reconcile.core.deadline import Deadline, name_table_limit
from hudi_reconcile.core.errors import RefusedError, SourceError, Terminated, TimeLimitError
from hudi_reconcile.core.lake.catalog_sync import SyncOutcome
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import RunResult, TableResult
from hudi_reconcile.core.result_parts import Failure
from hudi_reconcile.evidence.verify import verify
from hudi_reconcile.stages.job import LandedError
from hudi_reconcile.stages.pull.pull import pull
from tests.fakes.world import World, job, swept

SECONDS = 20
SOON = Deadline(name_table_limit("t"), "50ms", 0.05)
NEVER = Deadline(name_table_limit("t"), "1h", 3_600)
AT_ZERO = SimpleNamespace(monotonic_seconds=lambda: 0.0, utc_micros=lambda: 0, sleep=time.sleep)


def nothing() -> None:
    """Nothing is under way."""


def wait_for(limit: TimeLimit) -> None:
    """Work on until the time is over."""
    patience = time.monotonic() + SECONDS
    while not limit.is_asked:
        assert time.monotonic() < patience
        time.sleep(0.005)


# --- one table's limit ---


def test_work_is_cancelled_again_and_again_until_it_has_ended_and_never_after() -> None:
    limit, cancelled, third = TimeLimit("t", SOON), list[float](), threading.Event()

    def cancel() -> None:
        cancelled.append(time.monotonic())
        if len(cancelled) == 3:
            third.set()

    with limit.watch(AT_ZERO, cancel):
        assert third.wait(SECONDS)
    ended = time.monotonic()
    time.sleep(0.5)

    assert all(at <= ended for at in cancelled)


def test_work_that_is_done_in_time_is_not_cancelled() -> None:
    limit, cancelled = TimeLimit("t", NEVER), list[str]()

    with limit.watch(AT_ZERO, lambda: cancelled.append("cancelled")):
        pass

    assert (cancelled, limit.is_asked) == ([], False)


def test_commit_that_is_being_made_is_kept_whole_and_noted_and_no_other_is_begun() -> None:
    limit, told, own = TimeLimit("t", SOON), list[str](), threading.Event()

    def commits() -> None:
        with limit.hold(own.set):
            assert own.wait(SECONDS)
            time.sleep(0.5)
            told.append("landed")

    with limit.watch(AT_ZERO, lambda: told.append("cancelled")):
        with pytest.raises(TimeLimitError):
            commits()
        with pytest.raises(TimeLimitError), limit.hold(nothing):
            told.append("second")

    assert told[0] == "landed"
    assert "second" not in told


def test_error_that_the_cancellation_of_a_commit_led_to_is_told_as_the_limit() -> None:
    limit, own = TimeLimit("t", SOON), threading.Event()

    def commit() -> None:
        with limit.hold(own.set):
            assert own.wait(SECONDS)
            raise RuntimeError("the job was cancelled")

    with limit.watch(AT_ZERO, nothing), pytest.raises(TimeLimitError) as raised:
        commit()

    assert isinstance(raised.value.__cause__, RuntimeError)


def test_sleeper_is_woken_by_the_limit() -> None:
    limit, begun = TimeLimit("t", SOON), time.monotonic()

    with limit.watch(AT_ZERO, nothing), pytest.raises(TimeLimitError):
        limit.wait(SECONDS)

    assert time.monotonic() - begun < SECONDS / 2


def test_table_without_a_limit_takes_its_time() -> None:
    limit = TimeLimit()

    with limit.watch(AT_ZERO, nothing):
        limit.refuse()
        limit.wait(0)

    assert not limit.is_set


# --- runs ---


class Spark:
    """A session in which each thread's jobs carry its tag, and end when that is cancelled."""

    def __init__(self) -> None:
        self.sparkContext = self
        self._of_thread = threading.local()
        self._ended = defaultdict[str, threading.Event](threading.Event)

    def addJobTag(self, tag: str) -> None:  # noqa: N802 - Spark's name
        self._of_thread.tag = tag

    def removeJobTag(self, tag: str) -> None:  # noqa: N802
        assert self._of_thread.tag == tag
        self._of_thread.tag = None

    def cancelJobsWithTag(self, tag: str) -> None:  # noqa: N802
        self._ended[tag].set()

    def cancelAllJobs(self) -> None:  # noqa: N802
        raise AssertionError("other tables have jobs, too")

    def job(self, seconds: float = SECONDS) -> None:
        """A job of this thread, of so many seconds."""
        if self._ended[self._of_thread.tag].wait(seconds):
            raise RuntimeError("Job 7 cancelled part of cancelled job tags")


Work = Callable[[TableRun, Spark], TableResult]


def performed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    limits: str,
    act: Work,
    *,
    jobs: int = 1,
    command: str = "sweep",
    sync: Callable[[], SyncOutcome | None] = lambda: None,
) -> tuple[RunResult, list[bool]]:
    """A run of three tables with the real evidence, and how the database was closed: at once, or not.

    `sync` is what the catalog of each table does.
    """
    own = dict(one.split("=") for one in limits.split())
    entries = [
        f"  - {{name: {name}, source: {{table: {name}}}, lake: {{path: {name}}}, time_limit: {own.get(name, 'null')}}}\n"
        for name in "abc"
    ]
    text = f'version: 1\nsource: {{url: "postgresql+psycopg://r@h/d"}}\nrun: {{time_limit: {own.get("run", "null")}}}\n'
    (tmp_path / "reconcile.yaml").write_text(f"{text}tables:\n{''.join(entries)}")
    config = load_config(tmp_path / "reconcile.yaml", {})
    spark, closed = Spark(), list[bool]()

    def close(*, at_once: bool = False) -> None:
        closed.append(at_once)

    opened = SimpleNamespace(
        clock=HostClock(),
        engine=SimpleNamespace(sent=(), close=close),
        expect_rows=lambda _: 0,
        edges=lambda _: replace(World.new().edges, sync_catalog=sync),
    )

    @contextmanager
    def session(*_: object, **__: object) -> Iterator[Any]:
        time.sleep(0.01)
        yield SimpleNamespace(
            spark_version="", java_version="", jars=(), start_seconds=0.0, jvm=None, driver_memory="1g", spark=spark
        )  # fmt: skip

    monkeypatch.setattr(table_work, "open_world", lambda _: nullcontext(opened))
    monkeypatch.setattr(table_work, "hold_session", session)
    call = Call(config, "reconcile.yaml", config.tables, jobs=jobs)
    done = perform(command, call, lambda one: act(one, spark), asks_source=False)
    assert verify(tmp_path / "reports").flaws == []
    return done.result, closed


def clean(one: TableRun) -> TableResult:
    return TableResult(one.table.name, Outcome.CLEAN)


def told(run: RunResult) -> list[str]:
    return [table.error.type if table.error else table.outcome.value for table in run.tables]


def slow_b(one: TableRun, spark: Spark) -> TableResult:
    """The second table's job does not end by itself."""
    if one.table.name == "b":
        spark.job()
    return clean(one)


def test_table_over_its_limit_is_unverified_by_name_and_the_tables_after_it_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, closed = performed(tmp_path, monkeypatch, "b=50ms", slow_b)

    assert told(run) == ["clean", "TimeLimitError", "clean"]
    assert (run.tables[1].outcome, run.exit_code) == (Outcome.UNVERIFIED, 3)
    assert run.tables[1].error is not None
    assert "tables[b].time_limit of 50ms is over" in run.tables[1].error.message
    assert closed[0]
    assert not closed[-1]


def test_limit_of_one_table_ends_no_table_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together, ended = threading.Barrier(2, timeout=SECONDS), threading.Event()

    def act(one: TableRun, spark: Spark) -> TableResult:
        if one.table.name == "a":
            together.wait()
            assert ended.wait(SECONDS)
            spark.job(0.4)
        if one.table.name == "b":
            together.wait()
            try:
                spark.job()
            finally:
                ended.set()
        return clean(one)

    run, _ = performed(tmp_path, monkeypatch, "a=1h b=50ms", act, jobs=2)

    assert told(run) == ["clean", "TimeLimitError", "clean"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_run_over_its_limit_ends_what_is_worked_on_and_says_of_the_rest_that_it_was_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    begun = set[str]()

    def act(one: TableRun, spark: Spark) -> TableResult:
        begun.add(one.table.name)
        spark.job()
        return clean(one)

    run, _ = performed(
        tmp_path, monkeypatch, "run=1s a=1h", act, jobs=jobs
    )  # a busy machine begins them later than others

    assert begun == set("abc"[:jobs])
    assert (told(run), run.exit_code) == (["TimeLimitError"] * 3, 3)
    assert {table.outcome for table in run.tables} == {Outcome.UNVERIFIED}
    words = [table.error.message.partition(":")[0] for table in run.tables if table.error]
    assert words == [
        f"table {name} was {'ended before it was done' if name in begun else 'not begun'}" for name in "abc"
    ]
    assert all("run.time_limit of 1s" in table.error.message for table in run.tables if table.error)


def test_run_that_is_over_before_its_first_table_compares_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, _ = performed(tmp_path, monkeypatch, "run=1ms", lambda one, _: clean(one))

    assert told(run) == ["TimeLimitError"] * 3


def test_verdict_that_was_reached_stands_though_the_time_was_over_by_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(one: TableRun, _: Spark) -> TableResult:
        if one.table.name == "b":
            wait_for(one.limit)
        return clean(one)

    run, _ = performed(tmp_path, monkeypatch, "b=50ms", act)

    assert told(run) == ["clean"] * 3


@pytest.mark.parametrize(
    "ending", [SourceError("a statement was cancelled", fix="raise source.statement_timeout"), ZeroDivisionError()]
)
def test_error_that_the_end_led_to_is_told_as_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: Exception
) -> None:
    def act(one: TableRun, _: Spark) -> TableResult:
        wait_for(one.limit)
        raise ending

    run, _ = performed(tmp_path, monkeypatch, "a=20ms b=20ms c=20ms", act)

    assert told(run) == ["TimeLimitError"] * 3


@pytest.mark.parametrize("error", [None, Failure("SourceError", "a statement was cancelled", "raise it")])
def test_result_without_a_verdict_that_the_end_led_to_is_told_as_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Failure | None
) -> None:
    def act(one: TableRun, _: Spark) -> TableResult:
        wait_for(one.limit)
        return TableResult(one.table.name, Outcome.UNVERIFIED, error=error, notes=("40 rows",))

    run, _ = performed(tmp_path, monkeypatch, "a=20ms b=20ms c=20ms", act)

    assert told(run) == ["TimeLimitError"] * 3
    assert [table.notes for table in run.tables] == [("40 rows",)] * 3


def test_error_within_the_time_stays_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def act(*_: object) -> TableResult:
        raise RefusedError("too many deletes", fix="look first")

    run, _ = performed(tmp_path, monkeypatch, "a=1h b=1h c=1h run=1h", act)

    assert (told(run), run.exit_code) == (["RefusedError"] * 3, 5)


def test_stop_of_the_process_is_told_as_such_within_a_table_that_has_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(*_: object) -> TableResult:
        raise Terminated

    run, _ = performed(tmp_path, monkeypatch, "a=1h", act)

    assert (told(run), run.exit_code) == (["Interrupted"] * 3, 143)


# --- with the stages ---

PAGES: dict[str, Any] = {"strategy": "incrementing", "watermark": (), "incrementing": "id", "limit_rows": 2}


def filled() -> World:
    world = World.new()
    for key in range(1, 7):
        world.source.put(key, key, None)
    return world


def test_limit_in_the_commit_of_a_page_keeps_that_page_and_the_next_pull_goes_on_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = filled()

    def act(one: TableRun, _: Spark) -> TableResult:
        if one.table.name != "a":
            return clean(one)
        world.journal.before("lake.upsert", lambda: wait_for(one.limit))
        edges = replace(one.edges, source=world.source, lake=world.lake)
        return pull(job(name="a", **PAGES), edges, full=False)

    run, _ = performed(tmp_path, monkeypatch, "a=100ms", act)

    assert told(run) == ["TimeLimitError", "clean", "clean"]
    pulled = run.tables[0].pull
    assert pulled is not None
    assert (pulled.rows, pulled.pages, pulled.checkpoint_after) == (4, 2, "4")
    assert world.lake_holds().keys() == {1, 2, 3, 4}
    again = pull(job(**PAGES), world.edges, full=False).pull
    assert again is not None
    assert again.rows == 2
    assert sum(swept(world, **PAGES).result.findings.values()) == 0


def test_what_was_done_before_the_limit_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def act(one: TableRun, _: Spark) -> TableResult:
        wait_for(one.limit)
        raise LandedError(TableResult(one.table.name, Outcome.PULLED, notes=("40 rows",)), RuntimeError())

    run, _ = performed(tmp_path, monkeypatch, "a=20ms b=20ms c=20ms", act)

    assert told(run) == ["TimeLimitError"] * 3
    assert [table.notes for table in run.tables] == [("40 rows",)] * 3
    assert {table.outcome for table in run.tables} == {Outcome.UNVERIFIED}
