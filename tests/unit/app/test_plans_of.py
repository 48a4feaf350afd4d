"""What `approve` and `apply` take for the plans of a run: those that it made, to the byte, and that were looked at."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hudi_reconcile.app.approve import plans_to_approve
from hudi_reconcile.app.commands import plans_of
from hudi_reconcile.app.plan_document import plan_document
from hudi_reconcile.config.load import load_config
from hudi_reconcile.config.model import Config
from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan import Plan
from hudi_reconcile.core.result import RunResult, TableResult, run_document
from hudi_reconcile.evidence.files import file_sha256
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.evidence.verify import verify
from tests.unit.core.test_plan import PLAN

NOON_MICROS = 1_795_262_400_000_000
CONFIG = """version: 1
source: {url: "postgresql+psycopg://r@h/d"}
tables:
  - {name: orders, source: {table: a}, lake: {path: a}}
"""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    (tmp_path / "reconcile.yaml").write_text(CONFIG)
    return load_config(tmp_path / "reconcile.yaml", {})


@pytest.fixture
def plan(config: Config) -> Plan:
    """A plan that a sweep left, with one file of findings."""
    with Store(config.reports).begin(NOON_MICROS) as folder:
        part = folder.findings_dir("orders") / "part-0.parquet"
        part.parent.mkdir()
        part.write_bytes(b"rows")
        plan = replace(PLAN, run_id=folder.run_id, files={"findings/part-0.parquet": file_sha256(part)})
        folder.write_plan("orders", plan_document(plan))
        swept = TableResult("orders", Outcome.DRIFT)
        folder.write_result(run_document(RunResult(folder.run_id, "sweep", "s", "e", (swept,))))
        folder.finish()
    return plan


def test_plan_that_nobody_touched_is_taken(config: Config, plan: Plan) -> None:
    assert plans_of(config, "latest", ())["orders"].plan == plan


@pytest.mark.parametrize("field", ["steps", "created_utc", "expires_utc", "more"])
def test_plan_edited_beside_what_its_id_covers_is_refused_and_told_by_audit_verify(
    config: Config, plan: Plan, field: str
) -> None:
    path = config.reports / plan.run_id / "orders" / "plan.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: []}))

    with pytest.raises(RefusedError, match="not what the audit log has of it") as refused:
        plans_of(config, plan.run_id, ())
    assert "audit verify" in refused.value.fix
    assert [flaw.what for flaw in verify(config.reports).flaws] == ["orders/plan.json was changed"]


def test_plan_is_approved_under_the_id_that_was_looked_at_and_under_no_other(config: Config, plan: Plan) -> None:
    assert plans_to_approve(config, "latest", (), (plan.plan_id[:8],))["orders"].plan == plan

    with pytest.raises(RefusedError, match=plan.plan_id):
        plans_to_approve(config, plan.run_id, (), ("0" * 8,))


def test_latest_is_not_approved_beside_a_newer_run_under_way_and_the_run_itself_is(config: Config, plan: Plan) -> None:
    with Store(config.reports).begin(NOON_MICROS + 1_000_000) as begun:
        with pytest.raises(RefusedError, match=begun.run_id) as refused:
            plans_to_approve(config, "latest", (), ())
        assert f"approve {plan.run_id} -t orders" in refused.value.fix
        for run, ids in ((plan.run_id, ()), ("latest", (plan.plan_id,))):
            assert plans_to_approve(config, run, (), ids)["orders"].plan == plan
    assert plans_to_approve(config, "latest", (), ())["orders"].plan == plan


def test_latest_is_approved_beside_a_run_that_began_earlier_and_one_that_died(config: Config, plan: Plan) -> None:
    with Store(config.reports).begin(NOON_MICROS - 1_000_000):
        (config.reports / ".tmp-20991121T100000Z-000000").mkdir()

        assert plans_to_approve(config, "latest", (), ())["orders"].plan == plan
