"""The commands as functions: the page's own example on a real table, and what a notebook shows."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import hudi_reconcile
from hudi_reconcile.core.errors import ConfigError, RefusedError, UsageError
from tests.integration.project import Project, in_lake, in_source
from tests.support.docs import ROOT
from tests.support.postgres import Database


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project.make_orders(tmp_path, pg, capsys)


def test_example_of_the_page_corrects_a_table_and_prints_what_the_command_line_knows(
    spark: SparkSession, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert project.run("pull").code == 0
    project.database.execute("delete from orders where order_id = 3", "update orders set note = 'x' where order_id = 4")
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text("utf-8"), re.DOTALL)
    monkeypatch.chdir(project.folder)
    project.captured.readouterr()

    exec(example, {})  # noqa: S102 - the page's own

    counts, said = project.captured.readouterr().out.splitlines()
    assert counts == "1 1"
    outcome, exit_code, run_id, report = said.split()
    assert (outcome, exit_code) == ("corrected", "0")
    assert Path(report).is_file()
    assert run_id == json.loads((Path(report).parent / "result.json").read_text())["run_id"]
    assert in_lake(spark, project, "order_id", "note") == in_source(project, "order_id", "note")
    assert project.run("audit", "verify").code == 0


def test_notebook_of_the_examples_finds_a_deleted_row_and_corrects_it(
    spark: SparkSession, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert project.run("pull").code == 0
    project.database.execute("delete from orders where order_id = 3")
    monkeypatch.chdir(project.folder)
    notebook = json.loads((ROOT / "examples" / "notebook" / "morning_after.ipynb").read_text("utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    project.captured.readouterr()

    names: dict[str, Any] = {}
    for cell in cells:
        exec(cell, names)  # noqa: S102 - the example's own

    out = project.captured.readouterr().out
    assert "orders drift {'deleted': 1}\norders 0 1 []\n" in out
    assert '|d  |{"order_id":3}|deleted|' in out
    assert [names[shown].outcome for shown in ("found", "done")] == ["drift", "corrected"]
    assert in_lake(spark, project, "order_id", "note") == in_source(project, "order_id", "note")
    for cell in cells:
        exec(cell, names)  # noqa: S102 - once more, where nothing drifted
    assert [names[shown].outcome for shown in ("found", "done")] == ["clean", "clean"]


@pytest.mark.usefixtures("spark")
def test_results_are_the_documents_and_refuse_to_be_changed(project: Project) -> None:
    loaded = hudi_reconcile.load(project.folder / "reconcile.yaml")

    done = hudi_reconcile.run(loaded, ["ord*"])
    checked = hudi_reconcile.check(loaded)

    assert (done.outcome, done.exit_code) == ("clean", 0)
    assert done.tables["orders"].findings["deleted"] == 0
    kept = json.loads((done.folder / "result.json").read_text())
    assert json.loads(json.dumps(done.to_dict())) == kept
    assert [rule.status for rule in checked.tables["orders"].rules] == ["pass"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        done.run = checked.run  # type: ignore[misc]
    with pytest.raises(TypeError):
        done.tables["other"] = done.tables["orders"]  # type: ignore[index]
    assert "orders" in done._repr_html_()
    assert "<script" not in done._repr_html_()


def test_wrong_calls_are_named_before_anything_is_read(project: Project) -> None:
    file = project.folder / "reconcile.yaml"
    loaded = hudi_reconcile.load(file)

    with pytest.raises(UsageError, match="no table 'items'"):
        hudi_reconcile.sweep(loaded, ["items"])
    with pytest.raises(UsageError, match="tables is 'orders'"):
        hudi_reconcile.sweep(loaded, "orders")
    with pytest.raises(UsageError, match="tables is"):
        hudi_reconcile.pull(loaded, [])
    with pytest.raises(UsageError, match="budget"):
        hudi_reconcile.sweep(loaded, budget="soon")
    with pytest.raises(UsageError, match="holds no"):
        hudi_reconcile.plan(loaded)
    with pytest.raises(UsageError, match="accept holds everything"):
        hudi_reconcile.apply(loaded, "latest", accept=["everything"])
    with pytest.raises(ConfigError, match="overrides"):
        hudi_reconcile.load(file, overrides={"source.max_conections": 2})
    with pytest.raises(UsageError, match="profile"):
        hudi_reconcile.load(file, profile="night")
    assert not (project.folder / "reports").exists()


@pytest.mark.usefixtures("spark")
def test_plan_that_was_edited_is_refused(project: Project) -> None:
    loaded = hudi_reconcile.load(project.folder / "reconcile.yaml")
    hudi_reconcile.pull(loaded)
    project.database.execute("update orders set note = 'x' where order_id = 4")
    found = hudi_reconcile.sweep(loaded)
    plan = found.folder / "orders" / "plan.json"
    plan.chmod(0o600)
    plan.write_text(plan.read_text().replace('"upserts": 1', '"upserts": 2'))

    with pytest.raises(RefusedError):
        hudi_reconcile.apply(loaded, found.run_id)
