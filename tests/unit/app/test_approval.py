"""`approve` and what apply makes of it, on real run folders; no Spark and no database is needed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hudi_reconcile.app import host as actors
from hudi_reconcile.app.approvals import check_duties, plan_approvals
from hudi_reconcile.app.approve import run_approve
from hudi_reconcile.app.commands import PlanFile
from hudi_reconcile.app.host import HostClock
from hudi_reconcile.app.run import Call
from hudi_reconcile.app.table_work import TableRun
from hudi_reconcile.cli.render import render_run
from hudi_reconcile.config.load import load_config
from hudi_reconcile.core.changes.queries import UNDONE_PLANS
from hudi_reconcile.core.errors import RefusedError, UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.plan import Plan
from hudi_reconcile.core.result import RunResult, TableResult, run_document
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.evidence.verify import verify
from tests.unit.core.test_plan import PLAN

CONFIG = """version: 1
source: {url: "postgresql+psycopg://r@h/d"}
tables:
  - {name: orders, source: {table: a}, lake: {path: a}, policy: {require_approval: true}}
"""

Approve = Callable[..., TableResult]


@pytest.fixture
def call(tmp_path: Path) -> Call:
    (tmp_path / "reconcile.yaml").write_text(CONFIG)
    config = load_config(tmp_path / "reconcile.yaml", {})
    return Call(config, "reconcile.yaml", config.select(()))


@pytest.fixture
def plan(call: Call, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A plan of a sweep that the service made."""
    monkeypatch.setenv(actors.NAME, "service")
    now = HostClock().utc_micros()
    with Store(call.config.reports).begin(now) as folder:
        swept = TableResult("orders", Outcome.DRIFT)
        said = {"by": "service", "login": "svc@batch"}
        folder.write_result(run_document(RunResult(folder.run_id, "sweep", "s", "e", (swept,), said)))
        folder.finish()
    return replace(PLAN, run_id=folder.run_id, created_micros=now)


@pytest.fixture
def approve(call: Call, plan: Plan) -> Approve:
    def run(name: str, approved: Plan = plan) -> TableResult:
        return run_approve(call, {"orders": PlanFile(approved, Path("findings"))}, name).result.tables[0]

    return run


def table_run(call: Call) -> TableRun:
    unused = cast("Any", None)
    folder = cast("Any", type("Folder", (), {"run_id": "this-run"})())
    return TableRun(call.tables[0], unused, folder, Store(call.config.reports), unused)


def log_in(monkeypatch: pytest.MonkeyPatch, login: str) -> None:
    user, host = login.split("@")
    monkeypatch.setattr("pwd.getpwuid", lambda _: SimpleNamespace(pw_name=user))
    monkeypatch.setattr("socket.gethostname", lambda: host)


def test_plan_is_applied_once_another_person_has_approved_it(
    call: Call, plan: Plan, approve: Approve, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_in(monkeypatch, "svc@batch")
    with pytest.raises(RefusedError, match="by nobody"):
        check_duties(table_run(call), plan)
    log_in(monkeypatch, "alice@desk")
    result = approve("Alice")
    log_in(monkeypatch, "svc@batch")

    people = check_duties(table_run(call), plan)

    assert (result.outcome, result.outcome.exit_code) == (Outcome.APPROVED, 0)
    assert (people["planned_by"], people["applied_by"]) == ("service", "service")
    assert people["approved_by"].startswith("Alice (alice@desk) at ")
    assert verify(call.config.reports).flaws == []


def test_word_of_whoever_swept_is_refused_and_of_whoever_applies_does_not_count(
    call: Call, plan: Plan, approve: Approve, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_in(monkeypatch, "svc@batch")
    with pytest.raises(RefusedError, match="is no other"):
        approve("Service")
    approve("Alice")
    monkeypatch.setenv(actors.NAME, "alice")

    with pytest.raises(RefusedError, match=r"Alice \(svc@batch\) only"):
        check_duties(table_run(call), plan)


def test_approval_holds_for_no_other_plan(
    call: Call, plan: Plan, approve: Approve, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_in(monkeypatch, "alice@desk")
    approve("Alice")
    log_in(monkeypatch, "svc@batch")

    with pytest.raises(RefusedError, match="by nobody"):
        check_duties(table_run(call), replace(plan, deletes=plan.deletes + 1))


@pytest.mark.parametrize("edited", [{"by": "bob", "login": "bob@desk"}, {}], ids=["another planner", "no planner"])
def test_planner_who_edits_the_sweeps_result_cannot_approve_the_plan(
    call: Call, plan: Plan, approve: Approve, monkeypatch: pytest.MonkeyPatch, edited: dict[str, str]
) -> None:
    approve("Service 2")
    swept = call.config.reports / plan.run_id / "result.json"
    document = json.loads(swept.read_text())
    swept.write_text(json.dumps({**document, "provenance": edited}))
    monkeypatch.setenv(actors.NAME, "night")
    log_in(monkeypatch, "cron@other")

    with pytest.raises(RefusedError, match=r"result\.json is not what the audit log has of it"):
        check_duties(table_run(call), plan)


def test_whoever_looks_at_a_plan_sees_who_approved_it_and_not_who_approved_another(
    call: Call, plan: Plan, approve: Approve, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = {"table": "orders", "plan_id": plan.plan_id, "upserts": plan.upserts, "deletes": plan.deletes}
    before = plan_approvals(call.config, [shown])
    log_in(monkeypatch, "alice@desk")
    approve("Alice")

    (given,) = plan_approvals(call.config, [shown])["orders"]["given"]

    assert before == {"orders": {"approver": "other", "given": [], "why": ""}}
    assert (given["by"], given["login"]) == ("Alice", "alice@desk")
    assert plan_approvals(call.config, [shown | {"plan_id": "another"}])["orders"]["given"] == []
    assert plan_approvals(call.config, [shown | {"table": "elsewhere"}]) == plan_approvals(None, [shown]) == {}
    log = call.config.reports / "audit.jsonl"
    log.write_bytes(log.read_bytes().replace(b"Alice", b"Alicf"))
    edited = plan_approvals(call.config, [shown])["orders"]
    assert edited["given"] is None
    assert "cannot be trusted" in edited["why"]


def test_plan_too_old_to_be_applied_is_not_approved_and_leaves_no_run(call: Call, plan: Plan, approve: Approve) -> None:
    before = Store(call.config.reports).run_ids()

    with pytest.raises(RefusedError, match="too old"):
        approve("Alice", replace(plan, created_micros=1))
    with pytest.raises(UsageError, match="printable"):
        approve(" ")

    assert Store(call.config.reports).run_ids() == before


def undone(call: Call, plan_ids: str) -> str:
    with Store(call.config.reports).begin(HostClock().utc_micros() + 1_000_000) as folder:
        told = TableResult("orders", Outcome.INCOMPLETE, provenance={UNDONE_PLANS: plan_ids})
        folder.write_result(run_document(RunResult(folder.run_id, "undo", "s", "e", (told,))))
        folder.finish()
    return folder.run_id


def test_plan_that_was_undone_is_not_approved_and_leaves_no_run(call: Call, plan: Plan, approve: Approve) -> None:
    run_id = undone(call, f"another, {plan.plan_id}")
    before = Store(call.config.reports).run_ids()

    with pytest.raises(RefusedError, match=f"was undone by run {run_id}") as caught:
        approve("Alice")

    assert caught.value.fix == "sweep again: hudi-reconcile sweep -t orders"
    assert Store(call.config.reports).run_ids() == before


def test_undo_of_another_plan_keeps_nobody_from_approving(call: Call, approve: Approve) -> None:
    undone(call, "another")

    assert approve("Alice").outcome is Outcome.APPROVED


def test_page_of_an_approval_says_who_and_what(call: Call, approve: Approve) -> None:
    approve("Alice")

    store = Store(call.config.reports)
    folder = store.reports / store.run_ids()[0]
    page = (folder / "report.html").read_text("utf-8")
    assert "Alice approved the plan of run" in page
    assert "1 upsert and 2 deletes" in page
    line = json.loads((store.reports / "audit.jsonl").read_text().splitlines()[-1])
    assert line["tables"][0]["approval"]["by"] == "Alice"


def test_terminal_shows_which_plan_was_approved(call: Call, plan: Plan) -> None:
    done = run_approve(call, {"orders": PlanFile(plan, Path("findings"))}, "alice").result

    assert f"plan {plan.plan_id} of run {plan.run_id}" in render_run(done)


def test_approval_is_told_to_the_outputs(call: Call, plan: Plan, tmp_path: Path) -> None:
    outputs = call.config.outputs.model_copy(update={"ndjson": tmp_path / "runs.ndjson"})
    telling = replace(call, config=call.config.model_copy(update={"outputs": outputs}))

    run_approve(telling, {"orders": PlanFile(plan, Path("findings"))}, "alice")

    (line,) = (tmp_path / "runs.ndjson").read_text().splitlines()
    assert (json.loads(line)["command"], json.loads(line)["outcome"]) == ("approve", "approved")
