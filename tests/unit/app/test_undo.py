"""Which tables an undo is about: by the run's result, and without one by the config; on real run folders."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hudi_reconcile.app.run import _one
from hudi_reconcile.app.undo import applied_by
from hudi_reconcile.config.load import load_config
from hudi_reconcile.config.model import Config
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import Corrections, RunResult, TableResult, run_document
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.ports import ReadCost
from hudi_reconcile.stages.apply_result import LandedError

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

    assert applied_by(config, run, ()) == (run, {"orders": 2})


def test_run_that_landed_nothing_is_refused(config: Config) -> None:
    run = ran(config, superseded=3)

    with pytest.raises(UsageError, match="applied nothing"):
        applied_by(config, run, ())


def test_killed_run_may_have_written_any_table_or_those_that_are_named(config: Config) -> None:
    assert applied_by(config, KILLED, ()) == (KILLED, {"orders": None, "items": None})
    assert applied_by(config, KILLED, ("items",)) == (KILLED, {"items": None})
    with pytest.raises(UsageError):
        applied_by(config, KILLED, ("nothing",))


def test_name_that_is_no_run_is_a_wrong_call(config: Config) -> None:
    with pytest.raises(UsageError, match="there is no run"):
        applied_by(config, "yesterday", ())


def test_bug_after_a_commit_ends_in_the_result_that_names_the_commit() -> None:
    left = TableResult("orders", Outcome.UNVERIFIED, corrections=Corrections(1, 0, applied=1, instants=("7",)))
    source = SimpleNamespace(statements=tuple, spent=ReadCost)
    world = SimpleNamespace(
        clock=SimpleNamespace(monotonic_seconds=lambda: 0.0),
        engine=SimpleNamespace(sent=()),
    )
    one = SimpleNamespace(
        table=SimpleNamespace(name="orders"),
        edges=SimpleNamespace(source=source),
        session=SimpleNamespace(start_seconds=0.0),
    )

    def act(_: object) -> TableResult:
        raise LandedError(left, ZeroDivisionError())

    result = _one(cast("Any", world), cast("Any", one), act)

    assert (result.outcome, result.corrections) == (Outcome.UNVERIFIED, left.corrections)
    assert result.error is not None
    assert result.error.type == "ZeroDivisionError"
