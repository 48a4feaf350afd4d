"""What a drift rule may rely on, and which tables `check` is for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hudi_reconcile.app.rules import compared_of, with_rules_only
from hudi_reconcile.app.run import Call
from hudi_reconcile.config.load import load_config
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import Failure, SideState, TableResult, Unverified, table_document

DRIFTED = TableResult("t", Outcome.DRIFT, SideState(5, "s"), SideState(7, "l"), findings={"deleted": 2})
CONFIG = """version: 1
source: {url: "postgresql+psycopg://r@h/d"}
tables:
  - {name: a, source: {table: a}, lake: {path: a}, rules: rules/a.yaml}
  - {name: b, source: {table: b}, lake: {path: b}}
"""


def test_drift_rules_see_what_the_comparison_found_and_the_larger_side() -> None:
    found = compared_of("run-1", table_document(DRIFTED))

    assert (found.run_id, found.findings["deleted"], found.rows, found.gap) == ("run-1", 2, 7, "")


def test_what_a_run_corrected_and_verified_is_no_drift_any_more() -> None:
    assert not any(compared_of("r", table_document(replace(DRIFTED, outcome=Outcome.CORRECTED))).findings.values())
    assert compared_of("r", table_document(replace(DRIFTED, outcome=Outcome.INCOMPLETE))).findings["deleted"] == 2


@pytest.mark.parametrize(
    ("result", "gap"),
    [
        (replace(DRIFTED, unverified=(Unverified("column", "note", "odd type", "x"),)), "column note: odd type"),
        (TableResult("t", Outcome.UNVERIFIED, error=Failure("E", "no lake", "x")), "no lake"),
        (TableResult("t", Outcome.PULLED), "the table was not compared"),
    ],
)
def test_comparison_that_left_something_out_cannot_be_relied_on(result: TableResult, gap: str) -> None:
    assert compared_of("r", table_document(result)).gap == gap


@pytest.fixture
def call(tmp_path: Path) -> Callable[..., Call]:
    (tmp_path / "reconcile.yaml").write_text(CONFIG)
    config = load_config(tmp_path / "reconcile.yaml", {})

    def of(*names: str) -> Call:
        return Call(config, "reconcile.yaml", config.select(names))

    return of


def test_check_of_all_tables_leaves_out_those_without_rules_and_names_them(call: Callable[..., Call]) -> None:
    found, without = with_rules_only(call(), ())

    assert ([table.name for table in found.tables], without) == (["a"], ("b",))


@pytest.mark.parametrize("names", [("b",), ("a", "b")])
def test_check_of_a_named_table_without_rules_is_usage(call: Callable[..., Call], names: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="no rules for b: nothing would be checked"):
        with_rules_only(call(*names), names)
