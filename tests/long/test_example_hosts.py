"""`make examples`: the examples in what they are for, each in a venv of its own. They are too large to be locked for all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.docs import ROOT, TOOL
from tests.unit.report.stories import all_stories

pytestmark = pytest.mark.timeout(3600)  # Airflow is two hundred packages
EXAMPLES = ROOT / "examples"
STORIES = {name: story.run for name, story in all_stories().items()}
IN_DAGSTER = """
import json, runpy, sys
from dagster import DagsterInstance, asset, materialize
defs = runpy.run_path(sys.argv[1])["defs"]
@asset
def orders(): return None
ran = materialize([orders, *defs.asset_checks], raise_on_error=False, instance=DagsterInstance.ephemeral())
told = {one.check_name: one.passed for one in ran.get_asset_check_evaluations()}
print(json.dumps({"success": ran.success, "told": told}))
"""
IN_AIRFLOW = """
import json, runpy, sys
dag = runpy.run_path(sys.argv[1])["dag"]
ends = {}
for task in dag.tasks:
    task.retries == 0 or sys.exit("retries")
    try:
        task.execute({"ti": None})
        ends[task.task_id] = "success"
    except Exception as error:
        ends[task.task_id] = type(error).__name__
print(json.dumps({"tasks": list(dag.task_ids), "ends": ends}))
"""


def venv(folder: Path, *packages: str) -> Path:
    """The bin folder of a venv with the packages."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = [
        str(folder / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-compile",
    ]
    subprocess.run([*python, *packages], check=True)
    return folder / "bin"


def said(command: list[str], folder: Path, answers: Mapping[str, Any]) -> dict[str, Any]:
    """The last line that a command prints, as JSON, beside a `hudi-reconcile` that answers with a document."""
    (folder / "answer.json").write_text(json.dumps(dict(answers)))
    tool = folder / TOOL
    tool.write_text(f"#!/bin/sh\ncat {folder}/answer.json\nexit {answers['exit_code']}\n")
    tool.chmod(0o755)
    home = {"HOME": str(folder), "AIRFLOW_HOME": str(folder), "DAGSTER_HOME": "", "DAGSTER_DISABLE_TELEMETRY": "yes"}
    environ = {**os.environ, **home, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, env=environ, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_dagster_tells_what_the_tool_says(tmp_path: Path) -> None:
    python = venv(tmp_path / "venv", "dagster==1.13.28") / "python"
    script = tmp_path / "in_dagster.py"
    script.write_text(IN_DAGSTER)
    call = [str(python), str(script), str(EXAMPLES / "dagster" / "reconcile_checks.py")]

    hold, fail = (said(call, tmp_path, STORIES[story]) for story in ("rules hold", "rules failed"))

    assert hold == {"success": True, "told": {"rules": True, "copy_of_the_source": True}}
    assert fail == {"success": False, "told": {"rules": False, "copy_of_the_source": False}}
    unknown = said(call, tmp_path, STORIES["checked"])
    assert unknown == {"success": False, "told": {}}


def test_airflow_fails_a_task_on_any_exit_code_but_0(tmp_path: Path) -> None:
    python = venv(tmp_path / "venv", "apache-airflow==3.3.2") / "python"
    script = tmp_path / "in_airflow.py"
    script.write_text(IN_AIRFLOW)
    call = [str(python), str(script), str(EXAMPLES / "airflow" / "reconcile_dag.py")]

    clean, drift = (said(call, tmp_path, STORIES[story])["ends"] for story in ("clean", "drift"))

    assert clean == {"run": "success", "audit": "success"}
    assert drift == {"run": "AirflowException", "audit": "AirflowException"}


def test_workflow_and_cron_job_are_what_their_schemas_say(tmp_path: Path) -> None:
    folder = venv(tmp_path / "venv", "check-jsonschema==0.39.0", "kubernetes-validate==1.37.0")
    workflow, job = EXAMPLES / "ci" / "github-actions.yml", EXAMPLES / "kubernetes" / "cronjob.yaml"
    broken = {"workflow": tmp_path / "workflow.yml", "job": tmp_path / "job.yaml"}
    broken["workflow"].write_text(workflow.read_text().replace("runs-on:", "run-on:"))
    broken["job"].write_text(job.read_text().replace("concurrencyPolicy:", "concurencyPolicy:"))

    by_schema = [str(folder / "check-jsonschema"), "--builtin-schema", "vendor.github-workflows"]
    by_kind = [str(folder / "kubernetes-validate"), "--strict"]
    codes = {
        str(path): subprocess.run([*call, str(path)], capture_output=True, check=False).returncode
        for call, paths in ((by_schema, (workflow, broken["workflow"])), (by_kind, (job, broken["job"])))
        for path in paths
    }

    assert {path: bool(code) for path, code in codes.items()} == {
        str(workflow): False, str(broken["workflow"]): True, str(job): False, str(broken["job"]): True
    }  # fmt: skip
