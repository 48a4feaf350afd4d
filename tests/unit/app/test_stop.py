"""A run that is stopped, or loses Spark's Java, leaves its evidence: what was done, and which tables were not reached."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Event, current_thread, main_thread
from types import SimpleNamespace
from typing import Any, cast

import pytest
from py4j.protocol import Py4JNetworkError

from hudi_reconcile.app import table_work
from hudi_reconcile.app.log_context import get_table
from hudi_reconcile.app.run import Call, Finished, perform
from hudi_reconcile.app.stop import StopRequest
from hudi_reconcile.app.table_work import TableRun
from hudi_reconcile.config.load import load_config
from hudi_reconcile.config.model import Config
from hudi_reconcile.core.errors import STOPS, LakeError, RefusedError, Terminated, UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import TableResult, run_document
from hudi_reconcile.core.result_parts import Corrections
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.evidence.verify import verify
from hudi_reconcile.ports import Edges, FilesRead
from hudi_reconcile.stages.job import LandedError
from tests.fakes.world import World

CONFIG = """version: 1
source: {url: "postgresql+psycopg://r@h/d"}
tables:
  - {name: a, source: {table: a}, lake: {path: a}}
  - {name: b, source: {table: b}, lake: {path: b}}
  - {name: c, source: {table: c}, lake: {path: c}}
"""
NAMES = ("a", "b", "c")


class Jvm:
    """A JVM that says why it ended, once it did."""

    def __init__(self, words: str) -> None:
        self.is_gone = False
        self.output = SimpleNamespace(tail=lambda: words)
        self.gateway = SimpleNamespace(proc=self)

    def wait(self, timeout: float) -> int:
        if not self.is_gone:
            raise subprocess.TimeoutExpired("java", timeout)
        return 3

    def ask(self) -> None:
        if self.is_gone:
            raise Py4JNetworkError("Answer from Java side is empty")


def edges_by(jvm: Jvm) -> Edges:
    """The edges of a table, which ask Java as they are made and as the files are counted."""
    jvm.ask()
    edges = World.new().edges
    counted = edges.lake.count_files()

    class Lake:
        def __getattr__(self, name: str) -> object:
            return getattr(edges.lake, name)

        def count_files(self) -> FilesRead:
            jvm.ask()
            return counted

    return replace(edges, lake=cast("Any", Lake()))


CAPS: list[int] = []


def opened_with(config: Config, world: Any) -> Any:
    """The world, once it is noted how many connections its config gives it."""
    CAPS.append(config.source.max_connections)
    return world


def performed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    act: Callable[[TableRun, Jvm], TableResult],
    words: str = "",
    *,
    most_jvms: int = 9,
    jobs: int = 1,
) -> tuple[Finished, list[Jvm]]:
    """A run of three tables with the real evidence; database, Spark and Hudi are not there. Also the JVMs it was given."""
    (tmp_path / "reconcile.yaml").write_text(CONFIG)
    config = load_config(tmp_path / "reconcile.yaml", {})
    jvms: list[Jvm] = []
    opened = SimpleNamespace(
        clock=SimpleNamespace(monotonic_seconds=lambda: 0.0, utc_micros=lambda: 0),
        engine=SimpleNamespace(sent=(), close=lambda: None),
        expect_rows=lambda _: 0,
        edges=lambda _: edges_by(jvms[-1]),
    )

    @contextmanager
    def session(*_: object, **__: object) -> Iterator[Any]:
        if len(jvms) == most_jvms:
            raise UsageError("Java ended before Spark answered", fix="check spark.conf")
        jvms.append(Jvm(words))
        yield SimpleNamespace(
            spark_version="", java_version="", jars=(), start_seconds=0.0, jvm=jvms[-1], driver_memory="1024m",
            spark=SimpleNamespace(sparkContext=SimpleNamespace(cancelAllJobs=lambda: None)),
        )  # fmt: skip

    monkeypatch.setattr(table_work, "open_world", lambda config: nullcontext(opened_with(config, opened)))
    monkeypatch.setattr(table_work, "hold_session", session)
    call = Call(config, "reconcile.yaml", config.tables, jobs=jobs)
    return perform("sweep", call, lambda one: act(one, jvms[-1]), asks_source=False), jvms


def clean(one: TableRun) -> TableResult:
    return TableResult(one.table.name, Outcome.CLEAN)


@pytest.mark.parametrize(
    ("stop", "code", "word"), [(Terminated, 143, "terminated"), (KeyboardInterrupt, 130, "interrupted")]
)
def test_run_that_is_stopped_leaves_its_folder_its_line_and_every_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: type[BaseException], code: int, word: str
) -> None:
    def act(one: TableRun, _: Jvm) -> TableResult:
        if one.table.name == "b":
            raise stop
        return clean(one)

    done, _ = performed(tmp_path, monkeypatch, act)

    store = Store(tmp_path / "reports")
    document = store.result(done.result.run_id)
    assert document == json.loads(json.dumps(run_document(done.result)))
    assert (document["outcome"], document["exit_code"], done.result.exit_code) == ("unverified", code, code)
    assert [(table["name"], table["outcome"]) for table in document["tables"]] == [
        ("a", "clean"), ("b", "unverified"), ("c", "unverified"),
    ]  # fmt: skip
    errors = [table["error"] for table in document["tables"][1:]]
    assert [error["type"] for error in errors] == ["Interrupted"] * 2
    assert [error["message"] for error in errors] == [
        f"the run was {word} before the table was done", f"the run was {word} before this table's turn",
    ]  # fmt: skip
    assert verify(tmp_path / "reports").flaws == []
    (line,) = (tmp_path / "reports" / "audit.jsonl").read_text().splitlines()
    assert (json.loads(line)["run_id"], json.loads(line)["exit_code"]) == (done.result.run_id, code)


def test_stop_after_a_commit_tells_of_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    landed = TableResult("a", Outcome.UNVERIFIED, corrections=Corrections(1, 0, applied=1, instants=("7",)))

    def act(*_: object) -> TableResult:
        raise LandedError(landed, Terminated())

    done, _ = performed(tmp_path, monkeypatch, act)

    first = done.result.tables[0]
    assert (first.corrections.instants, first.outcome) == (("7",), Outcome.UNVERIFIED)
    assert first.error is not None
    assert first.error.type == "Interrupted"
    assert done.result.exit_code == 143


def test_stop_that_came_while_spark_started_leaves_a_run_of_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(table_work, "describe_session", refuse)

    done, _ = performed(tmp_path, monkeypatch, lambda one, _: clean(one))

    assert {table.error.type for table in done.result.tables if table.error} == {"Interrupted"}
    assert done.result.exit_code == 130


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("Terminating due to java.lang.OutOfMemoryError: Java heap space\n", "ran out of memory (it may use 1024m)"),
        ("", "Spark's Java ended while the table was worked on"),
    ],
)
def test_lost_jvm_is_named_and_the_tables_after_it_get_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, says: str
) -> None:
    def act(one: TableRun, jvm: Jvm) -> TableResult:
        if one.table.name == "b":
            jvm.is_gone = True
            raise Py4JNetworkError("Answer from Java side is empty")
        assert not jvm.is_gone
        return clean(one)

    done, jvms = performed(tmp_path, monkeypatch, act, words)

    assert len(jvms) == 2
    assert [table.outcome.value for table in done.result.tables] == ["clean", "unverified", "clean"]
    error = done.result.tables[1].error
    assert error is not None
    assert error.type == "SparkLostError"
    assert says in error.message
    assert ("spark.driver.memory" in error.fix) is bool(words)
    assert done.result.exit_code == 3


def test_error_of_a_jvm_that_lives_costs_no_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def act(*_: object) -> TableResult:
        raise Py4JNetworkError("for another reason")

    done, jvms = performed(tmp_path, monkeypatch, act)

    assert len(jvms) == 1
    assert {table.error.type for table in done.result.tables if table.error} == {"Py4JNetworkError"}


def test_named_error_that_a_lost_jvm_led_to_is_told_as_the_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(one: TableRun, jvm: Jvm) -> TableResult:
        if one.table.name == "b":
            jvm.is_gone = True
            try:
                jvm.ask()
            except Py4JNetworkError as error:
                raise LakeError("its timeline cannot be read", fix="hudi-reconcile doctor") from error
        return clean(one)

    done, jvms = performed(tmp_path, monkeypatch, act)

    assert len(jvms) == 2
    assert [table.outcome.value for table in done.result.tables] == ["clean", "unverified", "clean"]
    assert [table.error.type for table in done.result.tables if table.error] == ["SparkLostError"]


def test_refusal_that_java_had_no_part_in_stays_one_and_the_next_table_gets_another_jvm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(one: TableRun, jvm: Jvm) -> TableResult:
        if one.table.name == "b":
            jvm.is_gone = True
            raise RefusedError("too many deletes", fix="look first")
        return clean(one)

    done, jvms = performed(tmp_path, monkeypatch, act)

    assert len(jvms) == 2
    assert [table.outcome.value for table in done.result.tables] == ["clean", "refused", "clean"]


def test_jvm_that_ends_between_two_tables_costs_neither_a_table_nor_the_run_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(one: TableRun, jvm: Jvm) -> TableResult:
        jvm.is_gone = one.table.name != "c"
        return clean(one)

    done, jvms = performed(tmp_path, monkeypatch, act)

    assert len(jvms) == 3
    assert [table.outcome.value for table in done.result.tables] == ["clean"] * 3
    assert not done.result.tables[0].cost.lake_files_counted
    assert verify(tmp_path / "reports").flaws == []


def test_jvm_that_cannot_be_started_again_leaves_what_was_done_and_names_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(one: TableRun, jvm: Jvm) -> TableResult:
        jvm.is_gone = True
        return clean(one)

    done, _ = performed(tmp_path, monkeypatch, act, most_jvms=1)

    assert [table.outcome.value for table in done.result.tables] == ["clean", "usage", "usage"]
    assert {table.error.message for table in done.result.tables if table.error} == {"Java ended before Spark answered"}
    assert done.result.exit_code == 2
    assert verify(tmp_path / "reports").flaws == []


# --- side by side ---


def test_tables_side_by_side_are_told_in_the_order_of_the_config_and_each_line_names_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together, said = Barrier(2, timeout=20), dict[str, str | None]()

    def act(one: TableRun, _: Jvm) -> TableResult:
        if one.table.name != "c":
            together.wait()
        said[one.table.name] = get_table()
        return clean(one)

    CAPS.clear()
    done, _ = performed(tmp_path, monkeypatch, act, jobs=2)

    assert CAPS == [4, 1, 1]  # the first asks for the tables, and its connection is given back
    assert [(table.name, table.outcome.value) for table in done.result.tables] == [(name, "clean") for name in NAMES]
    assert said == {name: name for name in NAMES}
    assert verify(tmp_path / "reports").flaws == []


def test_more_tables_side_by_side_than_the_source_serves_are_refused_before_a_run_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="--jobs 3 needs 6 connections") as raised:
        performed(tmp_path, monkeypatch, lambda one, _: clean(one), jobs=3)

    assert "--jobs 2" in raised.value.fix
    assert not (tmp_path / "reports").exists()


def test_lost_jvm_costs_the_tables_in_it_and_the_others_get_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = Barrier(2, timeout=20)

    def act(one: TableRun, jvm: Jvm) -> TableResult:
        if one.table.name != "c":
            together.wait()
            jvm.is_gone = True
            jvm.ask()
        return clean(one)

    done, jvms = performed(tmp_path, monkeypatch, act, jobs=2)

    assert len(jvms) == 2
    assert [table.outcome.value for table in done.result.tables] == ["unverified", "unverified", "clean"]
    assert {table.error.type for table in done.result.tables if table.error} == {"SparkLostError"}


def test_stop_of_tables_side_by_side_leaves_the_folder_and_every_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = Barrier(2, timeout=20)

    def act(one: TableRun, _: Jvm) -> TableResult:
        if one.table.name != "c":
            together.wait()
        if one.table.name == "a":
            raise Terminated
        return clean(one)

    done, _ = performed(tmp_path, monkeypatch, act, jobs=2)

    assert done.result.exit_code == 143
    assert done.result.tables[0].outcome is Outcome.UNVERIFIED
    assert [table.name for table in done.result.tables] == list(NAMES)
    assert verify(tmp_path / "reports").flaws == []


# --- signals ---


def test_signal_outside_of_a_commit_raises_at_once_and_a_second_does_nothing() -> None:
    stop = StopRequest()

    with pytest.raises(Terminated):
        stop.arrive(signal.SIGTERM)
    stop.arrive(signal.SIGINT)

    assert stop.signal == signal.SIGTERM


def test_signal_in_a_commit_cancels_the_jobs_and_raises_once_the_commit_is_noted() -> None:
    stop, noted = StopRequest(), list[str]()
    is_cancelled = Event()

    def cancel() -> None:
        noted.append("cancelled" if current_thread() is not main_thread() else "cancelled over the connection in use")
        is_cancelled.set()

    def commit() -> None:
        with stop.hold(cancel):
            stop.arrive(signal.SIGINT)
            assert is_cancelled.wait(20)
            noted.append("landed")

    with pytest.raises(KeyboardInterrupt):
        commit()

    assert noted == ["cancelled", "landed"]


def test_signal_takes_the_place_of_the_error_that_it_led_to() -> None:
    stop = StopRequest()

    def fail() -> None:
        raise ConnectionError("Java is gone")

    def commit() -> None:
        with stop.hold(fail):
            stop.arrive(signal.SIGTERM)
            raise RuntimeError("the job was cancelled")

    with pytest.raises(STOPS) as raised:
        commit()

    assert isinstance(raised.value.__cause__, RuntimeError)


def test_error_in_a_commit_without_a_signal_stays_itself() -> None:
    with pytest.raises(RuntimeError, match="its own"), StopRequest().hold():
        raise RuntimeError("its own")


def test_signal_while_evidence_is_written_changes_nothing() -> None:
    stop = StopRequest()

    with stop.ignore():
        stop.arrive(signal.SIGTERM)

    assert stop.signal == 0


def test_interrupt_that_the_shell_had_ignored_stays_ignored() -> None:
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); from hudi_reconcile.app.stop import STOP; STOP.listen();"
        " print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN, signal.getsignal(signal.SIGTERM) == STOP.arrive)"
    )

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert said.split() == ["True", "True"]
