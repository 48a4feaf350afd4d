"""Which tables an undo is about: by the run's result, and without one by the config; on real run folders."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hudi_reconcile.app import table_work
from hudi_reconcile.app.run import Call
from hudi_reconcile.app.table_work import Work, _one
from hudi_reconcile.app.undo import find_applied_run, run_undo
from hudi_reconcile.config.load import load_config
from hudi_reconcile.config.model import Config
from hudi_reconcile.config.tables import SweepConfig
from hudi_reconcile.core import result_parts
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import RunResult, TableResult, run_document
from hudi_reconcile.core.result_parts import Corrections, Failure
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.ports import FilesRead, ReadCost
from hudi_reconcile.stages.job import LandedError
from hudi_reconcile.stages.stage_log import TableLog
from tests.fakes.world import World as FakeWorld
from tests.fakes.world import applied, pulled, swept

CONFIG = """version: 1
source: {url: "postgresql+psycopg://r@h/d"}
tables:
  - {name: orders, source: {table: a}, lake: {path: a}}
  - {name: items, source: {table: b}, lake: {path: b}}
"""
KILLED = "20261121T132616Z-400a1c"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    (tmp_path / "reconcile.yaml").write_text(CONFIG)
    return load_config(tmp_path / "reconcile.yaml", {})


def ran(config: Config, **corrections: Any) -> str:
    """An apply of `orders`."""
    with Store(config.reports).begin(1) as folder:
        table = TableResult("orders", Outcome.INCOMPLETE, corrections=Corrections(3, 0, **corrections))
        folder.write_result(run_document(RunResult(folder.run_id, "apply", "", "", (table,))))
        folder.finish()
        return folder.run_id


def test_run_that_found_its_plan_applied_names_the_rows_of_before(config: Config) -> None:
    run = ran(config, applied_before=2, superseded=1, instants=("1",))

    assert find_applied_run(config, run, ()) == (run, {"orders": 2})


def test_run_that_landed_nothing_is_refused(config: Config) -> None:
    run = ran(config, superseded=3)

    with pytest.raises(UsageError, match="applied nothing"):
        find_applied_run(config, run, ())


def test_killed_run_may_have_written_any_table_or_those_that_are_named(config: Config) -> None:
    assert find_applied_run(config, KILLED, ()) == (KILLED, {"orders": None, "items": None})
    assert find_applied_run(config, KILLED, ("items",)) == (KILLED, {"items": None})
    with pytest.raises(UsageError):
        find_applied_run(config, KILLED, ("nothing",))


def test_table_that_a_killed_run_was_not_done_with_may_have_been_written(config: Config) -> None:
    killed = TableResult("items", Outcome.UNVERIFIED, error=Failure(result_parts.KILLED, "", ""))
    done = TableResult("orders", Outcome.CORRECTED, corrections=Corrections(3, 0, applied=3, instants=("1",)))
    with Store(config.reports).begin(1) as folder:
        folder.write_result(run_document(RunResult(folder.run_id, "run", "", "", (done, killed), stop_code=137)))
        folder.finish()

    assert find_applied_run(config, folder.run_id, ()) == (folder.run_id, {"orders": 3, "items": None})


def test_name_that_is_no_run_is_a_wrong_call(config: Config) -> None:
    with pytest.raises(UsageError, match="there is no run"):
        find_applied_run(config, "yesterday", ())


def undone_in(config: Config, monkeypatch: pytest.MonkeyPatch, **worlds: FakeWorld) -> RunResult:
    """The undo of the killed run in these tables, with the real evidence; only database, Spark and Hudi are not there."""
    session = SimpleNamespace(spark_version="", java_version="", jars=(), start_seconds=0.0, jvm=None)
    opened = SimpleNamespace(
        clock=SimpleNamespace(monotonic_seconds=lambda: 0.0, utc_micros=lambda: 0),
        engine=SimpleNamespace(sent=()),
        expect_rows=lambda _: 0,
        edges=lambda table: worlds[table.name].edges,
    )
    monkeypatch.setattr(table_work, "open_world", lambda _: nullcontext(opened))
    monkeypatch.setattr(table_work, "hold_session", lambda *_, **__: nullcontext(session))
    call = Call(config, "reconcile.yaml", config.select(tuple(find_applied_run(config, KILLED, ())[1])))
    return run_undo(call, KILLED).result


def wrote() -> FakeWorld:
    """The killed run changed row 2."""
    world = pulled((1, 10, 100), (2, 20, 200))
    world.source.put(2, 21, 200)
    applied(world, swept(world).draft, run_id=KILLED)
    return world


@pytest.mark.parametrize("written", ["orders", "items"])
def test_undo_of_a_killed_run_is_about_the_tables_that_it_wrote(
    written: str, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    worlds = {name: wrote() if name == written else pulled((1, 10, 100)) for name in ("orders", "items")}

    result = undone_in(config, monkeypatch, **worlds)

    assert worlds[written].lake_holds()[2] == (20, 200)
    assert (result.outcome.exit_code, [one.name for one in result.tables]) == (0, [written])
    assert [note for note in result.tables[0].notes if "1 of the 2 tables" in note]
    assert run_document(result)["provenance"]["options"] == [KILLED], "what is typed again names the run"


def test_undo_of_a_run_that_nothing_names_is_a_wrong_call(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    result = undone_in(config, monkeypatch, orders=pulled((1, 10, 100)), items=FakeWorld.new())

    assert (result.outcome.exit_code, [one.name for one in result.tables]) == (2, ["orders", "items"])
    assert all(one.error is not None and KILLED in one.error.message for one in result.tables)


def test_table_that_could_not_be_asked_is_not_left_out_of_the_undo_of_a_killed_run(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = pulled((1, 10, 100))
    held.lake.held_by = "somebody"

    result = undone_in(config, monkeypatch, orders=wrote(), items=held)

    assert (result.outcome, [one.name for one in result.tables]) == (Outcome.REFUSED, ["orders", "items"])


def test_bug_after_a_commit_ends_in_the_result_that_names_the_commit() -> None:
    left = TableResult("orders", Outcome.UNVERIFIED, corrections=Corrections(1, 0, applied=1, instants=("7",)))
    source = SimpleNamespace(list_statements=tuple, report_cost=ReadCost)
    edges = SimpleNamespace(source=source, lake=SimpleNamespace(count_files=lambda: FilesRead(0, is_all=True)))
    world = SimpleNamespace(
        clock=SimpleNamespace(monotonic_seconds=lambda: 0.0, utc_micros=lambda: 0),
        engine=SimpleNamespace(sent=()),
        edges=lambda _: edges,
    )
    session = SimpleNamespace(start_seconds=0.0, jvm=None)

    def act(_: object) -> TableResult:
        raise LandedError(left, ZeroDivisionError())

    work = Work(
        act=act,
        folder=cast("Any", None),
        store=cast("Any", None),
        lanes=cast("Any", None),
        log=TableLog(1),
        results={},
        provenance={},
        keep=lambda _: None,
    )
    _one(
        cast("Any", world),
        cast("Any", session),
        cast("Any", SimpleNamespace(name="orders", time_limit=None, sweep=SweepConfig())),
        work,
    )

    result = work.results["orders"]
    assert (result.outcome, result.corrections) == (Outcome.UNVERIFIED, left.corrections)
    assert result.error is not None
    assert result.error.type == "ZeroDivisionError"
