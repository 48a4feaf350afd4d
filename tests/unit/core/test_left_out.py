"""Tables of a run without a plan: an apply of the others never makes them seem right."""

from __future__ import annotations

from typing import Any

import pytest

from hudi_reconcile.core.outcome import Outcome, find_gravest
from hudi_reconcile.core.result_queries import restore_result_without_plan

RUN = "20261122T034415Z-f15190"


def table(outcome: str, **more: Any) -> dict[str, Any]:
    return {"name": "ts2", "outcome": outcome, "error": None, "unverified": [], **more}


@pytest.mark.parametrize("outcome", ["clean", "corrected"])
def test_table_that_was_found_right_is_not_told_of(outcome: str) -> None:
    assert restore_result_without_plan(table(outcome), RUN) is None


def test_table_that_could_not_be_tried_keeps_its_outcome_and_its_error() -> None:
    error = {"type": "ConfigError", "message": "watermark columns of two kinds", "fix": "name columns of one kind"}

    found = restore_result_without_plan(table("usage", error=error), RUN)

    assert found is not None
    assert found.outcome is Outcome.USAGE
    assert found.error is not None
    assert found.error.message == "watermark columns of two kinds"
    assert RUN in found.unverified[0].why
    assert found.unverified[0].fix == "name columns of one kind; then: hudi-reconcile sweep -t ts2"


def test_table_that_was_not_compared_keeps_a_run_of_corrections_from_being_corrected() -> None:
    found = restore_result_without_plan(
        table("unverified", unverified=[{"what": "rows", "name": "a", "why": "w", "fix": "f"}]), RUN
    )

    assert found is not None
    assert found.unverified[0].fix == "f; then: hudi-reconcile sweep -t ts2"
    assert find_gravest((Outcome.CORRECTED, found.outcome)) is Outcome.UNVERIFIED


def test_table_whose_rules_alone_failed_stays_drift_with_a_note() -> None:
    found = restore_result_without_plan(table("drift"), RUN)

    assert found is not None
    assert found.outcome is Outcome.DRIFT
    assert "not repaired" in found.notes[0]
