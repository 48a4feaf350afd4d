"""The Dagster and Airflow examples on a real table, in stand-ins of their hosts. `make examples` runs them in the real ones.

The stand-ins hold what the examples use of their hosts, and nothing else.
"""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import pytest
from pyspark.sql import SparkSession

from tests.integration.project import Project, in_lake, in_source
from tests.support.docs import ROOT
from tests.support.postgres import Database

EXAMPLES = ROOT / "examples"


@pytest.fixture
def project(
    pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    """A table that is pulled, with a rule that it keeps, as the examples find it by their environment."""
    project = Project.make_orders(tmp_path, pg, capsys)
    assert project.run("pull").code == 0
    monkeypatch.setenv("RECONCILE_CONFIG", str(project.write_config()))
    monkeypatch.setenv("RECONCILE_PYTHON", sys.executable)
    return project


# --- Dagster ---


@dataclass(frozen=True, slots=True)
class CheckResult:
    passed: bool
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Check:
    asset: str
    name: str
    blocking: bool
    run: Callable[[], CheckResult]


class DagsterFailureError(Exception):
    pass


def asset_check(*, asset: str, name: str, blocking: bool = False) -> Callable[[Callable[[], CheckResult]], Check]:
    return lambda act: Check(asset, name, blocking, act)


@pytest.fixture
def dagster_checks(monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Check]:
    """The example's checks; where its config lies is the `project` fixture's to say, before."""
    dagster = ModuleType("dagster")
    vars(dagster).update(
        AssetCheckResult=CheckResult,
        AssetKey=str,
        Definitions=lambda asset_checks: {one.name: one for one in asset_checks},
        Failure=DagsterFailureError,
        asset_check=asset_check,
    )
    monkeypatch.setitem(sys.modules, "dagster", dagster)
    checks: Mapping[str, Check] = runpy.run_path(str(EXAMPLES / "dagster" / "reconcile_checks.py"))["defs"]
    return checks


@pytest.mark.usefixtures("spark")
def test_dagster_check_passes_exactly_where_the_tool_says_so_and_has_no_result_of_what_nobody_knows(
    project: Project, dagster_checks: Mapping[str, Check]
) -> None:
    rules, copy = dagster_checks["rules"], dagster_checks["copy_of_the_source"]

    assert (rules.run().passed, copy.run().passed) == (True, True)
    project.database.execute("update orders set note = null, updated_at = '2025-06-01' where order_id = 3")
    project.database.execute("update orders set note = 'silent' where order_id = 4")
    drift = copy.run()
    assert (drift.passed, drift.metadata["updated_without_watermark"], drift.metadata["deleted"]) == (False, 1, 0)
    assert project.run("pull").code == 0
    failed = rules.run()
    assert failed.passed is False
    assert failed.metadata["o-1"] == "fail: note is not null, 1 failed rows"
    assert (project.folder / "reports" / failed.metadata["run"] / "result.json").is_file()
    project.database.execute("drop table orders")
    with pytest.raises(DagsterFailureError, match=r"orders: .*; fix: "):
        copy.run()


# --- Airflow ---


@dataclass(slots=True)
class Task:
    """A task of a DAG; `act` is what its worker does."""

    name: str
    act: Callable[[], None]
    trigger_rule: str = "all_success"
    then: list[Task] = field(default_factory=list)

    def __rshift__(self, other: Task) -> Task:
        self.then.append(other)
        return other


@dataclass(slots=True)
class Dag:
    settings: Mapping[str, Any]
    tasks: list[Task] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def dag(monkeypatch: pytest.MonkeyPatch) -> Dag:
    """The example's DAG; where its config lies is the `project` fixture's to say, before."""
    made: list[Dag] = []

    def new_dag(_: str, **settings: Any) -> Dag:
        made.append(Dag(settings))
        return made[-1]

    def kept(task: Task) -> Task:
        made[-1].tasks.append(task)
        return task

    def external_python(*, python: str, expect_airflow: bool) -> Callable[[Callable[..., Any]], Callable[..., Task]]:
        assert python.endswith("/python" if "RECONCILE_PYTHON" not in os.environ else sys.executable)
        assert not expect_airflow
        return lambda act: lambda *given: kept(Task(act.__name__, lambda: act(*given)))

    def bash(*, trigger_rule: str) -> Callable[[Callable[[], str]], Callable[[], Task]]:
        def act(command: str) -> None:
            subprocess.run(["/bin/bash", "-c", command], check=True, capture_output=True)

        return lambda tell: lambda: kept(Task(tell.__name__, lambda: act(tell()), trigger_rule))

    sdk, task = ModuleType("airflow.sdk"), ModuleType("task")
    vars(task).update(external_python=external_python, bash=bash)
    vars(sdk).update(DAG=new_dag, task=task)
    monkeypatch.setitem(sys.modules, "airflow", ModuleType("airflow"))
    monkeypatch.setitem(sys.modules, "airflow.sdk", sdk)
    runpy.run_path(str(EXAMPLES / "airflow" / "reconcile_dag.py"))
    return made[-1]


def test_airflow_corrects_drift_and_fails_each_task_whose_answer_is_no(
    spark: SparkSession, project: Project, dag: Dag
) -> None:
    reconcile, audit = dag.tasks

    project.database.execute("update orders set note = 'silent' where order_id = 3")
    reconcile.act()
    audit.act()
    assert in_lake(spark, project, "order_id", "note") == in_source(project, "order_id", "note")
    project.database.execute("drop table orders")
    with pytest.raises(RuntimeError, match=r"exit [^0]\): see .*report\.html"):
        reconcile.act()
    log = project.folder / "reports" / "audit.jsonl"
    log.write_text(log.read_text().replace('"outcome":"usage"', '"outcome":"clean"'))
    with pytest.raises(subprocess.CalledProcessError):
        audit.act()


def test_airflow_tries_nothing_again_and_looks_at_the_audit_log_whatever_the_run_found(dag: Dag) -> None:
    reconcile, audit = dag.tasks

    assert dag.settings["default_args"]["retries"] == 0
    assert dag.settings["max_active_runs"] == 1
    assert (reconcile.then, audit.trigger_rule) == ([audit], "all_done")
