"""`make examples`: the examples in what they are for, each in a venv of its own. They are too large to be locked for all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from tests.integration.project import Project
from tests.support.docs import ROOT
from tests.support.postgres import Database

pytestmark = pytest.mark.timeout(3600)  # Airflow is two hundred packages
EXAMPLES = ROOT / "examples"
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
IN_JUPYTER = """
import json, sys
import nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
nbformat.validate(notebook)
NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
print(json.dumps({
    "html": [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})],
    "text": "".join(output.get("text", "") for output in outputs),
    "errors": [output["ename"] for output in outputs if output["output_type"] == "error"],
}))
"""


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """A table that is pulled, with a rule that it keeps."""
    project = Project.make_orders(tmp_path, pg, capsys)
    assert project.run("pull").code == 0
    return project


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


def beside_the_tool(folder: Path, *packages: str) -> str:
    """The Python of a venv with the packages, which finds the tool and all that it needs behind its own."""
    python = venv(folder, *packages) / "python"
    (path,) = folder.glob("lib/python*/site-packages")
    (path / "tool.pth").write_text("\n".join([sysconfig.get_paths()["purelib"], str(ROOT)]))
    return str(python)


def said(command: list[str], project: Project, **more: str) -> dict[str, Any]:
    """The last line that a command prints, as JSON."""
    folder = str(project.folder)
    home = {"HOME": folder, "AIRFLOW_HOME": folder, "DAGSTER_HOME": "", "DAGSTER_DISABLE_TELEMETRY": "yes"}
    environ = {**os.environ, **home, "RECONCILE_CONFIG": str(project.write_config()), **more}
    done = subprocess.run(command, env=environ, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_dagster_tells_what_the_tool_says(project: Project) -> None:
    python = beside_the_tool(project.folder / "venv", "dagster==1.13.28")
    script = project.folder / "in_dagster.py"
    script.write_text(IN_DAGSTER)
    call = [python, str(script), str(EXAMPLES / "dagster" / "reconcile_checks.py")]

    hold = said(call, project)
    project.database.execute("update orders set note = 'silent' where order_id = 3")
    drift = said(call, project)
    project.database.execute("drop table orders")
    unknown = said(call, project)

    assert hold == {"success": True, "told": {"rules": True, "copy_of_the_source": True}}
    assert drift == {"success": True, "told": {"rules": True, "copy_of_the_source": False}}
    assert unknown == {"success": False, "told": {"rules": True}}


def test_airflow_fails_a_task_on_any_exit_code_but_0(project: Project) -> None:
    python = venv(project.folder / "venv", "apache-airflow==3.3.2") / "python"
    script = project.folder / "in_airflow.py"
    script.write_text(IN_AIRFLOW)
    call = [str(python), str(script), str(EXAMPLES / "airflow" / "reconcile_dag.py")]

    project.database.execute("update orders set note = 'silent' where order_id = 3")
    corrected = said(call, project, RECONCILE_PYTHON=sys.executable)["ends"]
    project.database.execute("drop table orders")
    (log,) = project.folder.glob("reports/audit.jsonl")
    log.write_text(log.read_text().replace('"outcome":"corrected"', '"outcome":"clean"'))
    failed = said(call, project, RECONCILE_PYTHON=sys.executable)["ends"]

    assert corrected == {"reconcile": "success", "audit": "success"}
    assert failed == {"reconcile": "AirflowException", "audit": "AirflowException"}


def test_notebook_runs_in_jupyter_and_shows_its_results(project: Project) -> None:
    python = beside_the_tool(project.folder / "venv", "nbclient==0.10.4", "ipykernel==7.1.0", "nbformat==5.10.4")
    subprocess.run([python, "-m", "ipykernel", "install", "--prefix", str(project.folder / "venv")], check=True)
    script = project.folder / "in_jupyter.py"
    script.write_text(IN_JUPYTER)
    project.database.execute("delete from orders where order_id = 3")

    found = said([python, str(script), str(EXAMPLES / "notebook" / "morning_after.ipynb")], project)

    assert found["errors"] == []
    assert "orders drift {'deleted': 1}" in found["text"]
    assert '{"order_id":3}|deleted' in found["text"].replace(" ", "")
    assert len(found["html"]) == 2
    assert project.json("sweep").code == 0


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
