"""What `approve` and `apply` take for the plans of a run: those that it made, to the byte, and that were looked at."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from hudi_reconcile.app.approve import select_plans
from hudi_reconcile.app.archive import RunArchive
from hudi_reconcile.app.commands import read_plans
from hudi_reconcile.app.store import plan_document
from hudi_reconcile.config.load import load_config
from hudi_reconcile.config.model import Config
from hudi_reconcile.core.errors import RefusedError, UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.plan import Plan
from hudi_reconcile.core.result import RunResult, TableResult, run_document
from hudi_reconcile.core.result_parts import Unverified
from hudi_reconcile.core.sweep.coverage import SweepReach, list_left_out
from hudi_reconcile.evidence import audit_log
from hudi_reconcile.evidence.audit_log import KeyRing, audit_key
from hudi_reconcile.evidence.files import hash_file
from hudi_reconcile.evidence.store import Store, read_plan
from hudi_reconcile.evidence.verify import verify
from tests.unit.core.test_plan import PLAN

NOON_MICROS = 1_795_262_400_000_000
CONFIG = """version: 1
source: {url: "postgresql+psycopg://r@h/d"}
tables:
  - {name: orders, source: {table: a}, lake: {path: a}}
"""
COLUMN = Unverified("column", "note", "its type is not compared", "exclude it")
MOVING = Unverified("rows", "orders", "3 rows changed between all looks: they were not judged", "sweep again")
OUTSIDE = list_left_out(SweepReach("orders", 1, 1, asked=("region=eu",)))  # what a sweep of a partition leaves out


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
        plan = replace(PLAN, run_id=folder.run_id, files={"findings/part-0.parquet": hash_file(part)})
        folder.write_plan("orders", plan_document(plan))
        swept = TableResult("orders", Outcome.DRIFT, unverified=(COLUMN, MOVING, *OUTSIDE))
        folder.write_result(run_document(RunResult(folder.run_id, "sweep", "s", "e", (swept,))))
        folder.finish()
    return plan


def test_plan_that_nobody_touched_is_taken(config: Config, plan: Plan) -> None:
    assert read_plans(config, "latest", ())["orders"].plan == plan


def test_plan_comes_with_the_rows_that_its_sweep_could_not_judge(config: Config, plan: Plan) -> None:
    assert read_plans(config, plan.run_id, ())["orders"].unjudged == (MOVING,)


@pytest.mark.parametrize("field", ["steps", "created_utc", "expires_utc", "more"])
def test_plan_edited_beside_what_its_id_covers_is_refused_and_told_by_audit_verify(
    config: Config, plan: Plan, field: str
) -> None:
    path = config.reports / plan.run_id / "orders" / "plan.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: []}))

    with pytest.raises(RefusedError, match="not what the audit log has of it") as refused:
        read_plans(config, plan.run_id, ())
    assert "audit verify" in refused.value.fix
    assert [flaw.what for flaw in verify(config.reports).flaws] == ["orders/plan.json was changed"]


def later_run(config: Config) -> None:
    """Another run: its line in the log proves the one before."""
    with Store(config.reports).begin(NOON_MICROS + 1_000_000) as folder:
        folder.write_result(
            run_document(RunResult(folder.run_id, "pull", "s", "e", (TableResult("orders", Outcome.PULLED),)))
        )
        folder.finish()


def lines_of(config: Config) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (config.reports / "audit.jsonl").read_text().splitlines()]


def write_lines(config: Config, lines: list[dict[str, Any]]) -> None:
    (config.reports / "audit.jsonl").write_bytes(b"".join(audit_log.write_canonical(line) + b"\n" for line in lines))


def edit_both(config: Config, plan: Plan, *, hashed: bool) -> None:
    """The file, and with it the hash that the log has of it; `hashed`: the line's own hash too."""
    path, lines = config.reports / plan.run_id / "orders" / "plan.json", lines_of(config)
    path.write_text(json.dumps({**json.loads(path.read_text()), "steps": []}))
    lines[0]["files"]["orders/plan.json"] = hash_file(path)
    if hashed:
        lines[0]["hash"] = audit_log.record_hash(lines[0])
    write_lines(config, lines)


@pytest.mark.parametrize("hashed", [False, True])
def test_plan_whose_line_in_the_log_was_edited_with_it_is_refused(config: Config, plan: Plan, *, hashed: bool) -> None:
    later_run(config)
    edit_both(config, plan, hashed=hashed)

    with pytest.raises(RefusedError, match="the audit log was edited") as refused:
        read_plans(config, plan.run_id, ())
    assert "audit verify" in refused.value.fix


@pytest.mark.parametrize("files", [[], "orders/plan.json", {}])
def test_plan_that_the_line_of_its_run_does_not_name_is_refused(config: Config, plan: Plan, files: object) -> None:
    (line,) = lines_of(config)
    line["files"] = files
    write_lines(config, [{**line, "hash": audit_log.record_hash(line)}])

    with pytest.raises(RefusedError, match="not what the audit log has of it"):
        read_plans(config, plan.run_id, ())


def test_plan_whose_line_was_cut_out_of_the_log_is_refused(config: Config, plan: Plan) -> None:
    later_run(config)
    write_lines(config, lines_of(config)[1:])

    with pytest.raises(RefusedError, match="the audit log was edited"):
        read_plans(config, plan.run_id, ())


def test_plan_of_a_run_that_was_copied_by_itself_is_taken_by_its_id(config: Config, plan: Plan) -> None:
    (config.reports / "audit.jsonl").unlink()
    assert read_plans(config, plan.run_id, ())["orders"].plan == plan

    later_run(config)
    assert read_plans(config, plan.run_id, ())["orders"].plan == plan


@pytest.mark.parametrize(
    "files", [{}, {"findings/part-0.txt": sha256(b"rows").hexdigest()}], ids=["none", "no Parquet"]
)
def test_plan_that_names_no_parquet_file_for_its_corrections_is_refused(
    config: Config, plan: Plan, files: dict[str, str]
) -> None:
    folder = config.reports / plan.run_id / "orders"
    (config.reports / "audit.jsonl").unlink()  # copied by itself: the id alone speaks for the plan, and it is right
    (folder / "plan.json").write_text(json.dumps(plan_document(replace(plan, files=files))))
    (folder / "findings" / "part-0.parquet").rename(folder / "findings" / "part-0.txt")
    if not files:
        (folder / "findings" / "part-0.txt").unlink()

    with pytest.raises(RefusedError, match=r"holds 3 corrections and names no Parquet file of theirs") as refused:
        read_plans(config, plan.run_id, ())

    assert refused.value.fix.endswith("hudi-reconcile sweep -t orders")


def test_plan_made_after_lines_were_lost_from_the_log_is_taken(config: Config) -> None:
    later_run(config)
    later_run(config)
    write_lines(config, lines_of(config)[1:])
    with Store(config.reports).begin(NOON_MICROS + 3_000_000) as folder:
        made = replace(PLAN, run_id=folder.run_id)
        folder.write_plan("orders", plan_document(made))
        folder.write_result(
            run_document(RunResult(folder.run_id, "sweep", "s", "e", (TableResult("orders", Outcome.DRIFT),)))
        )
        folder.finish()

    assert verify(config.reports).flaws
    assert read_plan(Store(config.reports), made.run_id, "orders") == made


def test_plan_whose_own_line_is_proven_is_taken_beside_flaws_elsewhere(config: Config, plan: Plan) -> None:
    later_run(config)
    lines = lines_of(config)
    later_run(config)
    write_lines(config, [*lines, {**lines_of(config)[-1], "by": "somebody else"}])
    with (config.reports / "audit.jsonl").open("ab") as log:
        log.write(b'{"cut by a cra')

    assert read_plans(config, plan.run_id, ())["orders"].plan == plan


def test_plan_whose_line_was_written_anew_without_the_key_that_seals_the_log_is_refused(
    config: Config, plan: Plan
) -> None:
    write_lines(config, [])
    sealed = Store(config.reports, KeyRing(audit_key("k" * 32, "audit.key")))
    with sealed.begin(NOON_MICROS + 2_000_000) as folder:
        folder.write_plan("orders", plan_document(replace(plan, run_id=folder.run_id)))
        folder.write_result(
            run_document(RunResult(folder.run_id, "sweep", "s", "e", (TableResult("orders", Outcome.DRIFT),)))
        )
        folder.finish()
    made = replace(plan, run_id=folder.run_id)
    unread = Store(config.reports, KeyRing(audit_key("n" * 32, "audit.key")))
    assert read_plan(sealed, made.run_id, "orders") == made
    with pytest.raises(RefusedError, match=r"sealed with key .* which is not the one given"):
        read_plan(unread, made.run_id, "orders")

    edit_both(config, made, hashed=True)

    with pytest.raises(RefusedError, match="the audit log was edited"):
        read_plan(sealed, made.run_id, "orders")


@pytest.mark.parametrize("cut", [{}, {"kind": "round"}, {"kind": "hash", "columns": None, "count": 1}])
def test_plan_with_a_right_id_and_a_cut_that_no_sweep_makes_is_refused(
    config: Config, plan: Plan, cut: dict[str, Any]
) -> None:
    forged = replace(plan, segmentation=cut)
    path = config.reports / plan.run_id / "orders" / "plan.json"
    path.write_text(json.dumps(plan_document(forged)))
    (config.reports / "audit.jsonl").unlink()

    with pytest.raises(RefusedError, match="cuts the table in a way that no sweep does"):
        read_plans(config, plan.run_id, ())


def test_id_that_is_of_no_plan_of_the_run_is_refused_beside_one_that_is(config: Config, plan: Plan) -> None:
    with pytest.raises(RefusedError, match="00000000"):
        select_plans(config, "latest", (), (plan.plan_id[:8], "0" * 8))


def test_plan_is_approved_under_the_id_that_was_looked_at_and_under_no_other(config: Config, plan: Plan) -> None:
    assert select_plans(config, "latest", (), (plan.plan_id[:8],))["orders"].plan == plan

    with pytest.raises(RefusedError, match=plan.plan_id):
        select_plans(config, plan.run_id, (), ("0" * 8,))


def test_one_plan_of_a_run_over_several_tables_is_approved_without_the_others(tmp_path: Path) -> None:
    items = "  - {name: items, source: {table: b}, lake: {path: b}}\n"
    (tmp_path / "reconcile.yaml").write_text(CONFIG + items)
    config = load_config(tmp_path / "reconcile.yaml", {})
    plans = {}
    with Store(config.reports).begin(NOON_MICROS) as folder:
        for table in ("orders", "items"):
            part = folder.findings_dir(table) / "part-0.parquet"
            part.parent.mkdir()
            part.write_bytes(table.encode())
            files = {"findings/part-0.parquet": hash_file(part)}
            plans[table] = replace(PLAN, table=table, run_id=folder.run_id, files=files)
            folder.write_plan(table, plan_document(plans[table]))
        swept = tuple(TableResult(table, Outcome.DRIFT) for table in plans)
        folder.write_result(run_document(RunResult(folder.run_id, "sweep", "s", "e", swept)))
        folder.finish()
    first, second = plans["orders"].plan_id, plans["items"].plan_id

    assert set(select_plans(config, "latest", (), (second,))) == {"items"}
    assert set(select_plans(config, "latest", (), (first[:8], second[:8]))) == {"orders", "items"}
    assert set(select_plans(config, "latest", ("items",), (second,))) == {"items"}
    with pytest.raises(RefusedError, match="another than --plan names"):
        select_plans(config, "latest", ("orders", "items"), (second,))
    with pytest.raises(RefusedError, match="00000000"):
        select_plans(config, "latest", (), (second, "0" * 8))


def test_latest_is_not_approved_beside_a_newer_run_under_way_and_the_run_itself_is(config: Config, plan: Plan) -> None:
    with Store(config.reports).begin(NOON_MICROS + 1_000_000) as begun:
        with pytest.raises(RefusedError, match=begun.run_id) as refused:
            select_plans(config, "latest", (), ())
        assert f"approve {plan.run_id} -t orders" in refused.value.fix
        for run, ids in ((plan.run_id, ()), ("latest", (plan.plan_id,))):
            assert select_plans(config, run, (), ids)["orders"].plan == plan
    assert select_plans(config, "latest", (), ())["orders"].plan == plan


def test_latest_is_approved_beside_a_run_that_began_earlier_and_one_that_died(
    config: Config, request: pytest.FixtureRequest
) -> None:
    with Store(config.reports).begin(NOON_MICROS - 1_000_000):
        plan = request.getfixturevalue("plan")
        (config.reports / ".tmp-20991121T100000Z-000000").mkdir()

        assert select_plans(config, "latest", (), ())["orders"].plan == plan


def test_table_that_the_run_never_had_is_refused_in_the_words_of_plan(plan: Plan, tmp_path: Path) -> None:
    items = "  - {name: items, source: {table: b}, lake: {path: b}}\n"
    (tmp_path / "reconcile.yaml").write_text(CONFIG + items)
    with_items = load_config(tmp_path / "reconcile.yaml", {})

    with pytest.raises(UsageError, match=f"run {plan.run_id} has no table items") as applied:
        read_plans(with_items, "latest", ("items",))
    with pytest.raises(UsageError) as shown:
        RunArchive.of(with_items.reports).plans("latest", tables=("items",))
    assert (applied.value.message, applied.value.fix) == (shown.value.message, shown.value.fix)
    assert applied.value.fix == "use one of orders"
