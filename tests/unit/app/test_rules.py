"""What a drift rule may rely on, and which tables `check` is for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from hudi_reconcile.app import rules
from hudi_reconcile.app.host import find_actor
from hudi_reconcile.app.rules import check_after, read_comparison, read_newest_comparison, select_ruled_tables
from hudi_reconcile.app.run import Call, add_provenance, describe_maker
from hudi_reconcile.app.table_work import TableRun
from hudi_reconcile.config.load import load_config
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.apply_outcome import Uncorrected
from hudi_reconcile.core.result import RunResult, TableResult, build_table_document, run_document
from hudi_reconcile.core.result_parts import Corrections, Failure, Pulled, SideState, Unverified
from hudi_reconcile.core.rules.rules import Drift, Rule, RuleSet
from hudi_reconcile.evidence.run_folder import RunFolder
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.stages.job import LandedError

DRIFTED = TableResult("t", Outcome.DRIFT, SideState(5, "s"), SideState(7, "l"), findings={"deleted": 2})
AT = "postgres://h:5432/d"
CONFIG = """version: 1
source: {url: "postgresql+psycopg://r@h/d"}
tables:
  - {name: a, source: {table: a}, lake: {path: a}, rules: rules/a.yaml}
  - {name: b, source: {table: b}, lake: {path: b}}
"""


def test_drift_rules_see_what_the_comparison_found_and_the_larger_side() -> None:
    found = read_comparison("run-1", build_table_document(DRIFTED))

    assert (found.run_id, found.findings["deleted"], found.rows, found.gap) == ("run-1", 2, 7, "")


@pytest.mark.parametrize(
    ("outcome", "applied", "left"), [(Outcome.CORRECTED, 2, 0), (Outcome.DRIFT, 2, 0), (Outcome.INCOMPLETE, 1, 2)]
)
def test_what_a_run_corrected_and_verified_is_no_drift_any_more_though_a_rule_failed(
    outcome: Outcome, applied: int, left: int
) -> None:
    done = replace(DRIFTED, outcome=outcome, corrections=Corrections(deletes=2, applied=applied), verified_at="1")

    assert read_comparison("r", build_table_document(done)).findings.get("deleted", 0) == left


def test_row_that_quarantine_held_is_all_the_drift_that_is_left_of_what_the_same_run_corrected() -> None:
    held = replace(
        DRIFTED,
        outcome=Outcome.INCOMPLETE,
        findings={"deleted": 2, "late_arriving": 5, "regressed": 1},
        findings_left={"late_arriving": 1},
        corrections=Corrections(upserts=6, deletes=2, applied=7, held=1),
        uncorrected=Uncorrected(1, {"held": 1}, 1, "t/uncorrected", by_kind={"late_arriving": 1}),
        verified_at="1",
    )

    assert read_comparison("r", build_table_document(held)).findings == {"late_arriving": 1}


@pytest.mark.parametrize(
    ("result", "gap"),
    [
        (replace(DRIFTED, unverified=(Unverified("column", "note", "odd type", "x"),)), "column note: odd type"),
        (TableResult("t", Outcome.UNVERIFIED, error=Failure("E", "no lake", "x")), "no lake"),
        (TableResult("t", Outcome.PULLED), "the table was not compared"),
    ],
)
def test_comparison_that_left_something_out_cannot_be_relied_on(result: TableResult, gap: str) -> None:
    assert read_comparison("r", build_table_document(result)).gap == gap


def ran(store: Store, command: str, result: TableResult) -> str:
    """A finished run of one table, a second after the last."""
    with store.begin(1_795_262_400_000_000 + len(store.run_ids()) * 1_000_000) as folder:
        folder.write_result(run_document(RunResult(folder.run_id, command, "s", "2026-11-21T12:00:00Z", (result,))))
        folder.finish()
    return folder.run_id


KILLED = Failure("Killed", "the run was killed before the table was done", "x")
CLEAN = TableResult("a", Outcome.CLEAN, SideState(5, "s"), SideState(5, "l"))
UNDONE = TableResult("a", Outcome.CORRECTED, corrections=Corrections(3, applied=3))
MADE = TableResult("a", Outcome.PULLED, pull=Pulled(5, "full", None, None, "i", created=True))


@pytest.mark.parametrize(
    ("command", "result", "gap"),
    [
        ("undo", UNDONE, "corrections were taken back since"),
        ("undo", replace(UNDONE, corrections=Corrections(3, applied_before=3)), "corrections were taken back since"),
        ("undo", replace(UNDONE, corrections=Corrections(3, superseded=3)), ""),
        ("undo", TableResult("a", Outcome.UNVERIFIED, error=KILLED), "corrections may have been taken back since"),
        ("undo", TableResult("a", Outcome.REFUSED, error=KILLED), ""),
        ("pull", MADE, "the lake table was made anew since"),
        ("pull", replace(MADE, pull=replace(cast("Pulled", MADE.pull), created=False)), ""),
        ("approve", TableResult("a", Outcome.APPROVED), ""),
    ],
)
def test_comparison_of_what_is_another_table_since_cannot_be_relied_on(
    call: Callable[..., Call], command: str, result: TableResult, gap: str
) -> None:
    store, table = Store(call().config.reports), call("a").tables[0]
    ran(store, "sweep", add_provenance(CLEAN, table, AT, "s"))
    later = ran(store, command, result)

    found = read_newest_comparison(store, table, AT)

    assert found is not None
    assert found.gap.removesuffix(", which broke off") == (f"{gap}, by run {later}" if gap else "")
    assert found.compared_utc == "2026-11-21T12:00:00Z"


def test_comparison_is_as_old_as_the_turn_of_its_table_and_not_as_the_end_of_its_run(call: Callable[..., Call]) -> None:
    """Three hundred tables later the run ended, and `max_age` asks about this one."""
    store, table = Store(call().config.reports), call("a").tables[0]
    early = replace(CLEAN, provenance={"begun_utc": "2026-11-21T04:00:00Z"})
    ran(store, "sweep", add_provenance(early, table, AT, "s"))

    found = read_newest_comparison(store, table, AT)

    assert found is not None
    assert found.compared_utc == "2026-11-21T04:00:00Z"


SWEPT = TableResult(
    "a", Outcome.DRIFT, SideState(5, "s"), SideState(7, "l"), findings={"deleted": 2, "late_arriving": 1}, plan_id="p"
)
APPLIED = TableResult(
    "a",
    Outcome.CORRECTED,
    corrections=Corrections(1, 2, applied=3),
    findings_left={},
    uncorrected=Uncorrected(),
    plan_id="p",
    verified_at="1",
)
HELD = replace(
    APPLIED,
    outcome=Outcome.INCOMPLETE,
    corrections=Corrections(1, 2, applied=2, held=1),
    findings_left={"late_arriving": 1},
    uncorrected=Uncorrected(1, {"held": 1}, 1, "a/uncorrected", by_kind={"late_arriving": 1}),
)


@pytest.mark.parametrize(
    ("later", "left"),
    [
        ([APPLIED], {}),
        ([HELD], {"late_arriving": 1}),
        ([HELD, replace(APPLIED, corrections=Corrections(1, 2, applied=1, applied_before=2))], {}),
        # Refused, or broken off: the one before it stands.
        ([APPLIED, TableResult("a", Outcome.REFUSED, corrections=Corrections(1, 2), plan_id="p")], {}),
        ([replace(APPLIED, plan_id="other")], SWEPT.findings),
        ([replace(APPLIED, plan_id=None)], SWEPT.findings),
        ([replace(APPLIED, verified_at=None, findings_left=None)], SWEPT.findings),
        ([replace(APPLIED, outcome=Outcome.UNVERIFIED, findings_left=None)], SWEPT.findings),
    ],
)
def test_what_an_apply_of_the_newest_sweeps_plan_corrected_and_verified_is_no_drift_any_more(
    call: Callable[..., Call], later: list[TableResult], left: dict[str, int]
) -> None:
    store, table = Store(call().config.reports), call("a").tables[0]
    ran(store, "sweep", add_provenance(SWEPT, table, AT, "s"))
    runs = [ran(store, "apply", one) for one in later]

    found = read_newest_comparison(store, table, AT)

    assert found is not None
    assert (dict(found.findings), found.gap, found.rows) == (left, "", 7)
    assert found.corrected_by in ("", *runs)
    assert bool(found.corrected_by) is (left != SWEPT.findings)


def test_sweep_without_a_plan_takes_no_apply_for_its_own(call: Callable[..., Call]) -> None:
    store, table = Store(call().config.reports), call("a").tables[0]
    ran(store, "sweep", add_provenance(replace(SWEPT, plan_id=None), table, AT, "s"))
    ran(store, "apply", replace(APPLIED, plan_id=None))

    found = read_newest_comparison(store, table, AT)

    assert found is not None
    assert dict(found.findings) == SWEPT.findings


def test_apply_that_was_taken_back_leaves_nothing_to_rely_on(call: Callable[..., Call]) -> None:
    store, table = Store(call().config.reports), call("a").tables[0]
    ran(store, "sweep", add_provenance(SWEPT, table, AT, "s"))
    ran(store, "apply", APPLIED)
    back = ran(store, "undo", UNDONE)

    found = read_newest_comparison(store, table, AT)

    assert found is not None
    assert found.gap == f"corrections were taken back since, by run {back}"


def test_undo_that_wrote_is_named_and_not_a_later_one_that_found_nothing_to_write(call: Callable[..., Call]) -> None:
    store, table = Store(call().config.reports), call("a").tables[0]
    ran(store, "sweep", add_provenance(CLEAN, table, AT, "s"))
    wrote = ran(store, "undo", UNDONE)
    ran(store, "undo", replace(UNDONE, corrections=Corrections(3, applied_before=3), already_applied=True))

    found = read_newest_comparison(store, table, AT)

    assert found is not None
    assert found.gap == f"corrections were taken back since, by run {wrote}"


@pytest.mark.parametrize(
    ("line", "now"),
    [
        ("source: {table: a}, lake: {path: other}", "/other)"),
        ("source: {table: old}, lake: {path: a}", "it compared a (now old)"),
        ("source: {table: a, where: v > 1}, lake: {path: a}", "it compared a (now a where "),
        ("source: {table: a, columns: [id, v]}, lake: {path: a}", "it compared all columns (now columns id, v)"),
        ("source: {table: a, key: [id]}, lake: {path: a}", "it compared the catalog's key (now key id)"),
        ("source: {table: a}, lake: {path: a}, compare: {exclude: [v]}", "with another compare.exclude"),
        ("source: {table: a}, lake: {path: a}, compare: {tolerance: {v: 10}}", "with another compare.tolerance"),
        ("source: {table: a}, lake: {path: a}, compare: {rename: {v: w}}", "with another compare.rename"),
    ],
)
def test_comparison_of_another_lake_table_filter_or_source_or_by_other_settings_cannot_be_relied_on(
    call: Callable[..., Call], tmp_path: Path, line: str, now: str
) -> None:
    store = Store(call().config.reports)
    ran(store, "sweep", add_provenance(CLEAN, call("a").tables[0], AT, "s"))
    (tmp_path / "reconcile.yaml").write_text(CONFIG.replace("source: {table: a}, lake: {path: a}", line))
    changed = load_config(tmp_path / "reconcile.yaml", {}).select(("a",))[0]

    found = read_newest_comparison(store, changed, AT)

    assert found is not None
    assert found.gap.startswith("it compared ")
    assert now in found.gap
    assert "v > 1" not in found.gap


def test_comparison_with_another_database_cannot_be_relied_on(call: Callable[..., Call]) -> None:
    store, table = Store(call().config.reports), call("a").tables[0]
    ran(store, "sweep", add_provenance(CLEAN, table, "postgresql://staging:5432/d", "s"))

    found = read_newest_comparison(store, table, AT)

    assert found is not None
    assert found.gap == f"it compared postgresql://staging:5432/d (now {AT})"


def test_error_in_the_rules_that_nobody_foresaw_keeps_what_was_committed(
    call: Callable[..., Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = cast("TableRun", SimpleNamespace(table=call("a").tables[0], folder=SimpleNamespace(run_id="r")))
    corrected = replace(
        DRIFTED, outcome=Outcome.CORRECTED, corrections=Corrections(deletes=2, applied=2, instants=("5",))
    )

    def fails(*_: object) -> TableResult:
        raise OSError("the disk is full")

    monkeypatch.setattr(rules, "_judge_rules", fails)
    with pytest.raises(LandedError) as raised:
        check_after(one, corrected, RuleSet("a", (Rule("gone", Drift(("deleted",))),), file="a.yaml"), "error")

    kept = raised.value.result
    assert (kept.outcome, kept.corrections, kept.findings) == (
        Outcome.UNVERIFIED,
        corrected.corrections,
        corrected.findings,
    )
    assert [rule.status for rule in kept.rules] == ["error"]


@pytest.fixture
def call(tmp_path: Path) -> Callable[..., Call]:
    (tmp_path / "reconcile.yaml").write_text(CONFIG)
    config = load_config(tmp_path / "reconcile.yaml", {})

    def of(*names: str) -> Call:
        return Call(config, "reconcile.yaml", config.select(names))

    return of


def test_check_of_all_tables_leaves_out_those_without_rules_and_names_them(call: Callable[..., Call]) -> None:
    found = select_ruled_tables(call(), ())

    assert ([table.name for table in found.tables], found.without_rules) == (["a"], ("b",))


def test_tables_that_a_gate_leaves_out_stand_in_its_result(call: Callable[..., Call]) -> None:
    folder = cast("RunFolder", SimpleNamespace(head_before=None))

    assert describe_maker(select_ruled_tables(call(), ()), find_actor({}), folder)["without_rules"] == ["b"]
    assert "without_rules" not in describe_maker(select_ruled_tables(call("a"), ("a",)), find_actor({}), folder)


@pytest.mark.parametrize("names", [("b",), ("a", "b")])
def test_check_of_a_named_table_without_rules_is_usage(call: Callable[..., Call], names: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="no rules for b: nothing would be checked"):
        select_ruled_tables(call(*names), names)
