"""The Dagster and Airflow examples beside a tool that answers as ours does. `make examples` runs them in the real ones.

The stand-ins hold what the examples use of their hosts, and nothing else.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import click
import pytest

from hudi_reconcile.cli.main import group
from hudi_reconcile.cli.registry import COMMANDS
from tests.support.docs import ROOT, TOOL
from tests.unit.report.stories import all_stories

EXAMPLES = ROOT / "examples"
STORIES = {name: story.run for name, story in all_stories().items()}
REFUSED = {"version": 1, "exit_code": 2, "outcome": "usage", "error": {"message": "no such table", "fix": "name one"}}


@dataclass(frozen=True, slots=True)
class Tool:
    """A `hudi-reconcile` that notes how it was called and answers with a document and its exit code."""

    folder: Path

    def answers(self, document: Mapping[str, Any]) -> None:
        (self.folder / "answer.json").write_text(json.dumps(document))

    @property
    def calls(self) -> list[list[str]]:
        return [json.loads(line) for line in (self.folder / "calls").read_text().splitlines()]


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    script = tmp_path / TOOL
    script.write_text(f"""#!{sys.executable}
import json, sys
print(json.dumps(sys.argv[1:]), file=open({str(tmp_path / "calls")!r}, "a"))
answer = json.load(open({str(tmp_path / "answer.json")!r}))
print(json.dumps(answer))
raise SystemExit(answer["exit_code"])
""")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return Tool(tmp_path)


def taken_by_the_tool(call: list[str]) -> bool:
    """True where the command line is one that the tool takes."""
    with group.make_context(TOOL, list(call)) as context:
        word, *rest = context._protected_args + context.args
        command: click.Command = COMMANDS[word].load()
        if isinstance(command, click.Group):
            command, rest = command.commands[rest[0]], rest[1:]
        return command.make_context(word, rest, parent=context).command is command


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


def test_dagster_checks_call_the_tool_as_it_wants_to_be_called(tool: Tool, dagster_checks: Mapping[str, Check]) -> None:
    for name, story in (("rules", "rules hold"), ("copy_of_the_source", "clean")):
        tool.answers(STORIES[story])
        dagster_checks[name].run()

    assert [call[2:5] for call in tool.calls] == [["check", "-t", "orders"], ["sweep", "-t", "orders"]]
    assert all(taken_by_the_tool(call) for call in tool.calls)


@pytest.mark.parametrize(
    ("check", "story", "passed"),
    [
        ("rules", "rules hold", True),
        ("rules", "rules failed", False),
        ("copy_of_the_source", "clean", True),
        ("copy_of_the_source", "drift", False),
    ],
)
def test_dagster_check_passes_exactly_where_the_tool_says_so(
    tool: Tool, dagster_checks: Mapping[str, Check], check: str, story: str, *, passed: bool
) -> None:
    tool.answers(STORIES[story])

    found = dagster_checks[check].run()

    assert found.passed is passed
    assert found.metadata["run"] == STORIES[story]["run_id"]
    assert len(found.metadata) > 1


@pytest.mark.parametrize("document", [REFUSED, STORIES["checked"]], ids=["usage", "unverified"])
def test_dagster_check_of_which_nobody_knows_has_no_result(
    tool: Tool, dagster_checks: Mapping[str, Check], document: Mapping[str, Any]
) -> None:
    tool.answers(document)

    with pytest.raises(DagsterFailureError, match="fix: "):
        dagster_checks["rules"].run()


# --- Airflow ---


@dataclass(slots=True)
class Dag:
    name: str
    tasks: list[Task] = field(default_factory=list)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __enter__(self) -> Self:
        DAGS.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        pass


@dataclass(slots=True)
class Task:
    task_id: str
    bash_command: str
    trigger_rule: str
    then: list[Task] = field(default_factory=list)

    def __rshift__(self, other: Task) -> Task:
        self.then.append(other)
        return other


DAGS: list[Dag] = []


@pytest.fixture
def dag(monkeypatch: pytest.MonkeyPatch) -> Dag:
    DAGS.clear()

    def task(task_id: str, bash_command: str, trigger_rule: str = "all_success") -> Task:
        DAGS[-1].tasks.append(Task(task_id, bash_command, trigger_rule))
        return DAGS[-1].tasks[-1]

    def made(name: str, **settings: Any) -> Dag:
        return Dag(name, settings=settings)

    parts: Mapping[str, Mapping[str, Any]] = {
        "airflow.sdk": {"DAG": made},
        "airflow.providers.standard.operators.bash": {"BashOperator": task},
    }
    for name, values in parts.items():
        words = name.split(".")
        for end in range(1, len(words) + 1):
            monkeypatch.setitem(sys.modules, ".".join(words[:end]), ModuleType(".".join(words[:end])))
        vars(sys.modules[name]).update(values)
    runpy.run_path(str(EXAMPLES / "airflow" / "reconcile_dag.py"))
    return DAGS[-1]


@pytest.mark.parametrize("story", ["clean", "drift", "unverified"])
def test_airflow_tasks_call_the_tool_and_end_with_its_exit_code(tool: Tool, dag: Dag, story: str) -> None:
    tool.answers(STORIES[story])

    codes = [subprocess.run(["/bin/bash", "-c", one.bash_command], check=False).returncode for one in dag.tasks]

    assert codes == [STORIES[story]["exit_code"]] * 2
    assert [call[2:] for call in tool.calls] == [["run", "--apply"], ["audit", "verify"]]
    assert all(taken_by_the_tool(call) for call in tool.calls)


def test_airflow_tries_nothing_again_and_looks_at_the_audit_log_whatever_the_run_found(dag: Dag) -> None:
    run, verify = dag.tasks

    assert dag.settings["default_args"]["retries"] == 0
    assert dag.settings["max_active_runs"] == 1
    assert (run.then, verify.trigger_rule) == ([verify], "all_done")
