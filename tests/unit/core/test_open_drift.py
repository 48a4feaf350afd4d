"""What a run leaves open: findings are closed only where all of them were corrected and verified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.apply_outcome import Uncorrected
from hudi_reconcile.core.result import TableResult, build_table_document
from hudi_reconcile.core.result_parts import Corrections
from hudi_reconcile.core.result_queries import count_open_rules, find_open_drift, is_wholly_corrected
from hudi_reconcile.core.rules.verdict import RuleResult

DONE = TableResult(
    "t",
    Outcome.CORRECTED,
    findings={"deleted": 2, "duplicate_key": 1},
    not_drift={"pending": 5, "settled": 1},
    corrections=Corrections(upserts=1, deletes=2, applied=3),
    verified_at="20261121133002417",
)


def made(**changed: Any) -> Mapping[str, Any]:
    return build_table_document(replace(DONE, **changed))


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"outcome": Outcome.DRIFT},  # a rule failed: the findings are corrected all the same
        {"corrections": Corrections(1, 2, applied=1, applied_before=2)},
        {"corrections": Corrections(1, 2, applied_before=3), "already_applied": True},
        {"findings": {}},
    ],
)
def test_findings_that_were_all_corrected_and_verified_are_open_no_more(changed: Any) -> None:
    assert is_wholly_corrected(made(**changed))
    assert find_open_drift(made(**changed)) == {}


@pytest.mark.parametrize(
    "changed",
    [
        {"verified_at": None},
        {"corrections": Corrections(1, 2)},
        {"corrections": Corrections(1, 2, applied=2)},
        {"corrections": Corrections(1, 2, applied=2, moved=1)},
        {"corrections": Corrections(1, 2, applied=3, superseded=1)},
        {"corrections": Corrections(1, 2, applied=3, held=1)},
        {"corrections": Corrections(1, 2, applied=3, failed=1)},
        {"corrections": Corrections(0, 2, applied=2)},  # of three findings
        {"outcome": Outcome.INCOMPLETE},  # the touched segments still held drift
        {"outcome": Outcome.UNVERIFIED},
    ],
)
def test_findings_of_which_anything_is_left_are_open_all(changed: Any) -> None:
    assert not is_wholly_corrected(made(**changed))
    assert find_open_drift(made(**changed)) == {"deleted": 2, "duplicate_key": 1}


HELD = {
    "outcome": Outcome.INCOMPLETE,
    "findings": {"late_arriving": 1, "updated_without_watermark": 5, "deleted": 2, "regressed": 1},
    "corrections": Corrections(7, 2, applied=8, held=1),
    "findings_left": {"updated_without_watermark": 1},
    "uncorrected": Uncorrected(1, {"held": 1}, 1, "t/uncorrected", by_kind={"updated_without_watermark": 1}),
}


def test_one_held_row_leaves_that_row_open_and_none_that_the_same_run_corrected() -> None:
    assert find_open_drift(made(**HELD)) == {"updated_without_watermark": 1}


EACH = {"late_arriving": 1, "updated_without_watermark": 1, "deleted": 1, "regressed": 1}


@pytest.mark.parametrize(
    ("changed", "left"),
    [
        # The verification found a row that was written: it differs still, or again.
        ({"findings_left": {"late_arriving": 1, "updated_without_watermark": 1}}, ("late_arriving",)),
        ({"findings_left": {}}, ()),  # both sides show the held row alike now: it was not corrected, so it counts
        ({"uncorrected": Uncorrected(1, {"held": 1})}, tuple(EACH)),  # not listed, so of no known kind
    ],
)
def test_row_left_of_which_the_kind_is_not_known_counts_for_each_kind(changed: Any, left: tuple[str, ...]) -> None:
    open_ = {kind: EACH[kind] for kind in {*left, "updated_without_watermark"}}

    assert find_open_drift(made(**{**HELD, **changed})) == open_


def test_rows_that_no_list_and_no_count_explains_are_open_in_each_kind() -> None:
    fewer = made(**{**HELD, "corrections": Corrections(6, 2, applied=7, held=1)})

    assert find_open_drift(fewer) == {**EACH, "updated_without_watermark": 2}


@pytest.mark.parametrize("missing", [{"findings_left": None}, {"verified_at": None}, {"uncorrected": None}])
def test_findings_are_open_all_where_nothing_proves_the_rest_of_them(missing: Any) -> None:
    assert find_open_drift(made(**{**HELD, **missing})) == HELD["findings"]


def test_table_without_drift_has_none_open_and_nothing_corrected() -> None:
    clean = made(outcome=Outcome.CLEAN, findings={}, corrections=Corrections(), verified_at=None)

    assert (is_wholly_corrected(clean), find_open_drift(clean)) == (False, {})


def test_result_of_an_earlier_version_counts_what_it_says() -> None:
    old = dict(made())
    old["corrections"] = {k: v for k, v in old["corrections"].items() if k not in ("applied_before", "held")}

    assert is_wholly_corrected(old)


def test_rules_are_open_where_they_could_not_run_or_failed_for_the_run() -> None:
    endings = [("error", "pass"), ("error", "fail"), ("error", "waived"), ("warn", "fail"), ("warn", "error")]
    rules = tuple(
        RuleResult(f"r{n}", severity, status, 0)  # type: ignore[arg-type]
        for n, (severity, status) in enumerate(endings)
    )

    assert count_open_rules(made(rules=rules)) == 2
    assert count_open_rules(made(rules=rules, provenance={"fail_on": "warn"})) == 3
    assert count_open_rules(made()) == 0
