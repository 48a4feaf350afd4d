"""A run that could not begin is told to the outputs as what it is, and raises the error that ended it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from junitparser import JUnitXml

from hudi_reconcile.app.run import Call, deliver_failure, perform
from hudi_reconcile.config.load import load_config
from hudi_reconcile.core.errors import LakeError, UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import Corrections

CONFIG = """version: 1
source: {url: "postgresql+psycopg://r@h/d", password: "${env:NOBODY_SET_THIS}"}
outputs:
  junit: ci/junit.xml
  prometheus: metrics
  ndjson: runs.ndjson
  openlineage: {namespace: shop, file: lineage.ndjson}
  github: true
tables:
  - {name: orders, source: {table: a}, lake: {path: a}}
  - {name: items, source: {table: b}, lake: {path: b}}
"""


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "reconcile.yaml").write_text(CONFIG)
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci" / "junit.xml").write_text("<testsuites>yesterday: all passed</testsuites>")
    config = load_config(tmp_path / "reconcile.yaml", {})
    return Call(config, "reconcile.yaml", config.select(()))


def never(_: object) -> TableResult:
    raise AssertionError("no table can be tried")


def hold_told(tmp_path: Path, error: UsageError) -> None:
    """Every output says of both tables that the run ended in this error."""
    suites = list(JUnitXml.fromfile(str(tmp_path / "ci" / "junit.xml")))
    assert [(suite.name, suite.errors) for suite in suites] == [("orders", 1), ("items", 1)]
    (metrics,) = (tmp_path / "metrics").glob("hudi_reconcile_sweep_*.prom")
    label = f'config="{Path("reconcile.yaml").absolute()}"'
    assert f'hudi_reconcile_run_exit_code{{command="sweep",{label}}} 2' in metrics.read_text()
    told = [json.loads(line) for line in (tmp_path / "runs.ndjson").read_text().splitlines()]
    assert [(one["table"], one["outcome"], one["error"]["message"]) for one in told] == [
        ("orders", "usage", error.message),
        ("items", "usage", error.message),
    ]
    events = [json.loads(line)["eventType"] for line in (tmp_path / "lineage.ndjson").read_text().splitlines()]
    assert events == ["START", "FAIL"] * 2
    assert "sweep: usage" in (tmp_path / "summary.md").read_text()
    assert [line.split(" ")[0] for line in error.__notes__] == ["::error"] * 2


def test_run_without_its_password_replaces_what_the_outputs_said_of_the_run_before(call: Call, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="NOBODY_SET_THIS") as ended:
        perform("sweep", call, never)

    hold_told(tmp_path, ended.value)
    assert not [path for path in (tmp_path / "reports").iterdir() if path.is_dir()]


def test_run_that_cannot_write_its_reports_folder_is_told_all_the_same(call: Call, tmp_path: Path) -> None:
    (tmp_path / "reports").write_text("a file stands in the way")

    with pytest.raises(UsageError, match="cannot be written") as ended:
        perform("sweep", call, never)

    hold_told(tmp_path, ended.value)


def test_what_stood_already_is_kept_under_the_error_that_ended_the_run(call: Call, tmp_path: Path) -> None:
    done = TableResult("orders", Outcome.CORRECTED, corrections=Corrections(1, 0, 1, instants=("20261121",)))

    def act() -> None:
        with deliver_failure("apply", call.config, "c", call.tables) as known:
            known["orders"] = done
            raise LakeError("the disk is full", fix="free space")

    with pytest.raises(LakeError):
        act()

    orders, items = (json.loads(line) for line in (tmp_path / "runs.ndjson").read_text().splitlines())
    assert (orders["outcome"], orders["corrections"]["instants"]) == ("unverified", ["20261121"])
    assert (items["outcome"], items["corrections"]["applied"]) == ("unverified", 0)


def test_bug_is_told_by_its_class_alone_and_raised_as_it_was(call: Call, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a row's value"), deliver_failure("sweep", call.config, "c", call.tables):
        raise ValueError("a row's value")

    assert "ValueError" in (tmp_path / "runs.ndjson").read_text()
    assert "a row's value" not in (tmp_path / "runs.ndjson").read_text() + (tmp_path / "ci" / "junit.xml").read_text()


def test_run_that_ends_well_tells_nothing_here(call: Call, tmp_path: Path) -> None:
    with deliver_failure("sweep", call.config, "c", call.tables):
        pass

    assert not (tmp_path / "runs.ndjson").exists()


def test_commits_of_a_run_whose_evidence_cannot_be_written_are_told_with_the_error(call: Call) -> None:
    applied = TableResult("orders", Outcome.CORRECTED, corrections=Corrections(1, 0, applied=1, instants=("7",)))

    def run_out_of_space() -> None:
        with deliver_failure("apply", call.config, "reconcile.yaml", call.tables) as known:
            known["orders"] = applied
            raise LakeError("result.json could not be written: No space left on device", fix="free space there")

    with pytest.raises(LakeError) as ended:
        run_out_of_space()

    assert ended.value.__notes__[0] == (
        "orders: commit 7 was made and stands in the lake, whatever this run could not write down"
    )
