"""A result as text: the verdict first, the next command last, and nothing that did not happen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hudi_reconcile.cli.render import render_run
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.apply_outcome import Uncorrected, count_unfinished, count_untouched
from hudi_reconcile.core.result import RunResult, TableResult, build_table_document
from hudi_reconcile.core.result_parts import Corrections, Failure, Guard, Pulled, Unverified
from hudi_reconcile.core.result_queries import count_open_rules
from hudi_reconcile.report.words.rules import describe_rule_counts
from tests.unit.report.stories import CHECKED, ORDERS, RUN_ID

FAILED = "1 of 5 rules could not run: r-error. 1 of 5 rules failed: r-fail. 1 of 5 rules failed as a warning: r-warn."


def text_of(table: TableResult, command: str = "sweep") -> list[str]:
    return render_run(RunResult(RUN_ID, command, "2026-11-21T13:26:16Z", "2026-11-21T13:26:31Z", (table,))).splitlines()


def test_drift_starts_with_the_verdict_and_ends_with_the_commands() -> None:
    lines = text_of(ORDERS)

    assert lines[0] == "DRIFT  9 rows of orders differ between source and lake."
    assert lines[-2:] == [f"  hudi-reconcile plan {RUN_ID}", f"  hudi-reconcile apply {RUN_ID}"]
    assert "  drift       9: late_arriving 1, updated_without_watermark 5, deleted 3" in lines
    assert "  not drift   settled 2" in lines
    assert "  plan        6 upserts, 3 deletes; 3 of 3 guards ok" in lines
    assert not [line for line in lines if "corrected" in line or "NOT OK" in line]


def test_what_stands_in_the_way_comes_before_the_figures_with_its_fix() -> None:
    gap = Unverified("column", "tags", "text[] has no tested rule", "exclude it: compare.exclude: [tags]")
    guard = Guard("max_deletes", 1000, 4811, ok=False, fix="see why")

    lines = text_of(replace(ORDERS, outcome=Outcome.UNVERIFIED, unverified=(gap,), guards=(guard,)))

    assert lines[3:7] == [
        "  NOT OK      column tags: text[] has no tested rule",
        "              fix: exclude it: compare.exclude: [tags]",
        "  NOT OK      max_deletes: found 4,811, limit 1,000",
        "              fix: see why",
    ]


def test_guards_that_refused_an_apply_are_told_once_each_with_its_fix() -> None:
    no = (Guard("max_deletes", 1, 3, ok=False, fix="see why"), Guard("empty_source", 1, 0, ok=False, fix="look there"))
    message = "guard max_deletes: limit 1, found 3; guard empty_source: limit 1, found 0"
    failed = replace(ORDERS, outcome=Outcome.REFUSED, error=Failure("RefusedError", message, "see why"), guards=no)

    lines = text_of(failed, "apply")

    assert lines[3:7] == [
        "  NOT OK      max_deletes: found 3, limit 1",
        "              fix: see why",
        "  NOT OK      empty_source: found 0, limit 1",
        "              fix: look there",
    ]
    assert len([line for line in lines if "NOT OK" in line]) == 2


def test_error_that_says_more_than_its_guards_is_told_beside_them() -> None:
    guard = Guard("approval", 1, 0, ok=False, fix="ask")
    error = Failure("RefusedError", "table orders: the plan was approved by nobody", "ask")

    lines = text_of(replace(ORDERS, outcome=Outcome.REFUSED, error=error, guards=(guard,)), "apply")

    assert "  NOT OK      table orders: the plan was approved by nobody" in lines


def test_table_that_failed_shows_its_error_and_no_counts() -> None:
    failed = TableResult("orders", Outcome.UNVERIFIED, error=Failure("SourceError", "did not\nanswer", "start it"))

    lines = text_of(failed)

    assert lines[0].startswith("UNVERIFIED  Not verified")
    assert lines[3:6] == ["  NOT OK      did not", "              answer", "              fix: start it"]
    assert not [line for line in lines if "drift" in line]


def test_corrections_name_what_was_written_and_whether_it_was_verified() -> None:
    done = Corrections(6, 3, 7, moved=1, superseded=1, instants=("20261121133002417",))
    part = replace(ORDERS, outcome=Outcome.INCOMPLETE, corrections=done)

    lines = text_of(part, "apply")

    assert "  corrected   7 applied, 1 moved, 1 superseded of 9 in commit 20261121133002417" in lines
    assert "  verified    NO, not compared again" in lines


def test_corrections_that_are_all_written_beside_rows_that_still_differ_say_both() -> None:
    done = Corrections(6, 3, 9, instants=("20261121133002417",))
    again = {"late_arriving": 3}
    part = replace(
        ORDERS, outcome=Outcome.INCOMPLETE, corrections=done, findings_left=again, verified_at="20261121133002417"
    )

    said = text_of(part, "apply")[0]

    assert said.endswith(
        "Corrected in part: 9 of 9 corrections of orders. 3 rows differ in the segments that were compared again."
    )


def test_undo_that_is_repeated_is_not_reported_as_an_applied_plan() -> None:
    lines = text_of(replace(ORDERS, outcome=Outcome.CORRECTED, already_applied=True, plan_id=None), "undo")

    assert "  corrected   taken back before; nothing was written" in lines


def test_plan_applied_before_is_not_reported_as_written() -> None:
    lines = text_of(replace(ORDERS, outcome=Outcome.CORRECTED, already_applied=True, plan_id="p"), "apply")

    assert "  corrected   this plan was applied before; nothing was written" in lines
    assert not [line for line in lines if "verified " in line]


def test_pull_names_its_checkpoints_and_offers_a_sweep() -> None:
    pulled = Pulled(1240, "incremental", None, "2026-11-20T23:59:58Z", "20261121132501872", null_watermark_rows=1)

    lines = text_of(TableResult("orders", Outcome.PULLED, pull=pulled), "pull")

    assert "  pulled      1,240 rows, incremental" in lines
    assert "  checkpoint  none -> 2026-11-20T23:59:58Z" in lines
    assert "              1 row without a watermark" in lines
    assert lines[-1] == "  hudi-reconcile sweep"


def test_rules_that_did_not_pass_are_told_with_what_to_know_and_the_others_are_counted() -> None:
    lines = text_of(CHECKED, "check")

    assert lines[0] == f"UNVERIFIED  orders: {FAILED}"
    start = lines.index("  rules       5: 1 could not run, 1 failed, 1 failed as a warning, 1 waived, 1 passed")
    assert lines[start + 1 : start + 10] == [
        "  ERROR       r-error: the query returns no row (warning)",
        "              the query is no Spark SQL",
        "              fix: mend it",
        "  FAIL        r-fail: email matches <script>.*@ (1,200 rows)",
        "              ask the <b>shop</b> team",
        "              keys: orders/rules/r-fail (Parquet, in the run's folder)",
        "  FAIL        r-warn: amount is at most 100 (3 rows, allowed 0.1%) (warning)",
        "  WAIVED      r-waived: email is unique (2 rows)",
        "              waived until 2026-12-01 (TICKET-1, finance)",
    ]
    assert lines[-2:] == ["next          orders: mend it; then:", "  hudi-reconcile check"]


COMPARED = replace(ORDERS, outcome=Outcome.UNVERIFIED, whole=True, rules=CHECKED.rules)
MENDED = replace(
    COMPARED, corrections=Corrections(6, 3, 9), verified_at="1", findings_left={}, uncorrected=Uncorrected()
)
HELD = replace(
    MENDED,
    corrections=Corrections(6, 3, 8, held=1),
    findings_left={"late_arriving": 1},
    uncorrected=Uncorrected(1, {"held": 1}, 1, "orders/uncorrected", by_kind={"late_arriving": 1}),
)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (replace(COMPARED, findings={}, corrections=Corrections()), "Source and lake agree on orders."),
        (COMPARED, "9 rows of orders differ between source and lake."),
        (MENDED, "9 corrections of orders written and verified."),
        (HELD, "8 of 9 corrections of orders written and verified; 1 row differs."),
        (replace(HELD, findings_left=None), "9 rows of orders differ between source and lake."),
    ],
)
def test_rule_that_could_not_run_does_not_hide_what_was_compared_and_corrected(table: TableResult, said: str) -> None:
    assert text_of(table, "run")[0] == f"UNVERIFIED  {said} {FAILED}"


@pytest.mark.parametrize(
    "gap",
    [
        {"unverified": (Unverified("column", "tags", "odd", "x"),)},
        {"error": Failure("E", "lost", "x")},
        {"whole": False},
        {"lake": None},
        {"rules": CHECKED.rules[:1]},
    ],
)
def test_table_of_which_anything_was_not_compared_is_not_said_to_agree(gap: Any) -> None:
    table = replace(COMPARED, findings={}, corrections=Corrections(), **gap)

    assert text_of(table, "run")[0].startswith("UNVERIFIED  Not verified: this run cannot say whether orders agrees.")


def test_held_row_is_named_in_what_to_do_next_beside_the_rule_that_could_not_run() -> None:
    assert text_of(HELD, "run")[-3:] == [
        "next          orders: mend it; 1 row was held back: correct it at the source, or waive the rule; then:",
        f"  hudi-reconcile findings {RUN_ID} --uncorrected --reason held",
        "  hudi-reconcile run",
    ]


def test_held_row_is_named_in_what_to_do_next_after_an_apply_that_did_not_do_all() -> None:
    said = text_of(replace(HELD, outcome=Outcome.INCOMPLETE), "apply")
    held = "1 row was held back: correct it at the source, or waive the rule"

    assert said[-4:] == [
        f"next          What is left needs a new comparison and a new plan; {held}:",
        f"  hudi-reconcile findings {RUN_ID} --uncorrected --reason held",
        "  hudi-reconcile sweep",
        "  hudi-reconcile plan latest",
    ]


def test_verdict_and_history_count_the_same_failed_rules_with_and_without_warnings() -> None:
    strict = replace(CHECKED, provenance={"fail_on": "warn"})

    for table, failed in (
        (CHECKED, "1 of 5 rules failed: r-fail. 1 of"),
        (strict, "2 of 5 rules failed: r-fail, r-warn."),
    ):
        document = build_table_document(table)
        assert failed in text_of(table, "check")[0]
        assert f"1 could not run, {count_open_rules(document) - 1} failed," in describe_rule_counts(document)
    assert "warning" not in text_of(strict, "check")[0]


def test_check_never_says_that_source_and_lake_agree() -> None:
    clean = replace(CHECKED, outcome=Outcome.CLEAN, rules=CHECKED.rules[:1])

    assert text_of(clean, "check")[0] == "CLEAN  orders: 1 rule holds."
    assert "agree" not in "\n".join(text_of(clean, "check"))


def test_no_text_of_a_rule_a_note_or_an_error_is_a_workflow_command() -> None:
    said = "x\n::stop-commands::abc\n \u3000::add-mask::e"
    rule = replace(CHECKED.rules[1], why=said, fix="::error::f", notes=("::debug::n",))
    failure = Failure("LakeError", said, said)
    table = replace(
        CHECKED, name="::group::t", rules=(rule, replace(rule, status="error")), notes=(said,), error=failure
    )

    lines = text_of(table, "check")

    assert not [line for line in lines if line.strip().startswith("::")]
    assert sum("| ::stop-commands::abc" in line for line in lines) >= 3


def test_apply_that_left_rows_counts_them_by_reason_and_names_the_command_that_lists_them() -> None:
    left = Uncorrected(3, {"moved": 1, "held": 2}, 3, "orders/uncorrected")
    done = replace(
        ORDERS, outcome=Outcome.INCOMPLETE, corrections=Corrections(6, 3, 6, moved=1, held=2), uncorrected=left
    )

    lines = text_of(done, "apply")

    at = lines.index("  left        3 planned rows not corrected: held 2, moved 1")
    assert lines[at + 1] == f"              list: hudi-reconcile findings {RUN_ID} --uncorrected"


def test_apply_that_left_nothing_or_cannot_list_it_names_no_list() -> None:
    whole = replace(ORDERS, outcome=Outcome.CORRECTED, corrections=Corrections(6, 3, 9), uncorrected=Uncorrected())
    cut = replace(
        whole, outcome=Outcome.UNVERIFIED, uncorrected=count_unfinished({"failed": 2, "applied": 7}, 2, RUN_ID)
    )

    assert not [line for line in text_of(whole, "apply") if line.startswith("  left") or "list:" in line]
    lines = text_of(cut, "apply")
    assert [line for line in lines if line.startswith("  left        2 planned rows not corrected: failed 2; an error")]
    assert not [line for line in lines if "list:" in line]


def test_run_that_wrote_nothing_of_a_plan_does_not_say_that_no_run_corrected_its_rows() -> None:
    left = count_untouched(3, RUN_ID, "error", "the connection was lost")

    lines = text_of(replace(ORDERS, outcome=Outcome.UNVERIFIED, uncorrected=left), "apply")

    assert "  left        3 planned rows not corrected by this run: error 3; the connection was lost" in lines


APPLY_THEN_SWEEP = [
    "  hudi-reconcile apply 20261121T120000Z-0006eb",
    "  hudi-reconcile sweep",
    "  hudi-reconcile plan latest",
]


@pytest.mark.parametrize(
    ("reasons", "commands"),
    [
        ({"not_asked": 3}, ["  hudi-reconcile apply 20261121T120000Z-0006eb"]),
        ({"not_asked": 2, "not_committed": 1}, ["  hudi-reconcile apply 20261121T120000Z-0006eb"]),
        ({"moved": 3}, ["  hudi-reconcile sweep", "  hudi-reconcile plan latest"]),
        ({"not_asked": 2, "moved": 1}, APPLY_THEN_SWEEP),
    ],
)
def test_apply_whose_rest_the_same_plan_still_does_says_to_apply_it_and_not_to_sweep(
    reasons: dict[str, int], commands: list[str]
) -> None:
    left = Uncorrected(3, reasons, 3, "orders/uncorrected", plan_run="20261121T120000Z-0006eb")
    clean = dict.fromkeys(ORDERS.findings, 0)
    done = replace(
        ORDERS, outcome=Outcome.INCOMPLETE, corrections=Corrections(6, 3, 6), uncorrected=left, findings=clean
    )

    lines = text_of(done, "apply")

    assert lines[-len(commands) :] == commands


def test_apply_of_a_part_after_which_the_segments_still_differ_says_to_apply_the_rest_and_then_to_sweep() -> None:
    left = Uncorrected(3, {"not_asked": 3}, 3, "orders/uncorrected", plan_run=RUN_ID)
    done = replace(ORDERS, outcome=Outcome.INCOMPLETE, corrections=Corrections(6, 3, 6), uncorrected=left)

    *_, what, apply, sweep, plan = text_of(done, "apply")
    assert what.endswith(
        "The same plan still does what --only left out; what else is left needs a new comparison and a new plan:"
    )
    assert [apply, sweep, plan] == [f"  hudi-reconcile apply {RUN_ID}", *APPLY_THEN_SWEEP[1:]]
