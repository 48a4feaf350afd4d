"""Sentences, plan and history as text: the right words, and a next command that can be pasted."""

from __future__ import annotations

import copy
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import Corrections, Failure, Guard, Pulled, Unverified
from hudi_reconcile.report.safe import spell_hidden, spell_value
from hudi_reconcile.report.text import describe_consumer, describe_past_run, describe_past_tables, plan_text
from hudi_reconcile.report.words.advice import advise
from hudi_reconcile.report.words.scope import list_scope_lines
from hudi_reconcile.report.words.verdict import describe_coverage, list_reasons, write_verdict
from tests.unit.report.stories import ORDERS, RULES, Story, all_stories, run_of


def plan_of(story: Story) -> dict[str, Any]:
    return copy.deepcopy(dict(story.plans["orders"]))


def test_plan_says_what_apply_would_do_and_how_to_start_it(stories: Mapping[str, Story]) -> None:
    text = plan_text(stories["drift"].run, plan_of(stories["drift"]))

    assert text.startswith("orders: 6 upserts, 3 deletes")
    assert "  3. Write 6 upserts and 3 deletes in one commit" in text
    assert "NOT OK" not in text
    assert text.endswith("hudi-reconcile -c shop/reconcile.yaml apply 20261121T132616Z-3f9a1c -t orders")


def test_plan_with_a_guard_that_says_no_shows_the_fix_and_does_not_offer_apply(stories: Mapping[str, Story]) -> None:
    plan = plan_of(stories["drift"])
    plan["guards"][0] |= {"ok": False, "found": 4811, "fix": "approve them: --approve-deletes 4811"}

    text = plan_text(stories["drift"].run, plan)

    assert "NOT OK  max_deletes" in text
    assert "fix: approve them: --approve-deletes 4811" in text
    assert "yaml apply " not in text


def test_fix_of_a_guard_names_the_config_of_the_run_in_the_plan_and_in_what_to_do_next(
    stories: Mapping[str, Story],
) -> None:
    run, plan = stories["drift"].run, plan_of(stories["drift"])
    plan["guards"][0] |= {"ok": False, "found": 4811, "fix": "see: hudi-reconcile findings latest"}

    fix = "see: hudi-reconcile -c shop/reconcile.yaml findings latest"
    assert f"fix: {fix}" in plan_text(run, plan)
    assert fix in advise(run, guards={"orders": plan["guards"]}).sentence


def test_plan_that_needs_an_approval_says_who_gave_one_and_else_how_to_ask_for_it(stories: Mapping[str, Story]) -> None:
    run, plan = stories["drift"].run, plan_of(stories["drift"])
    word = {"by": "alice\x1b", "login": "alice@desk", "at_utc": "2026-11-21T14:00:00Z"}

    nobody = plan_text(run, plan, {"approver": "other", "given": [], "why": ""})
    given = plan_text(run, plan, {"approver": "any", "given": [word], "why": ""})
    unknown = plan_text(run, plan, {"approver": "any", "given": None, "why": "line 2 is not as it was written"})

    approve = "hudi-reconcile -c shop/reconcile.yaml approve 20261121T132616Z-3f9a1c -t orders --as NAME\n"
    assert "given by nobody yet\n  counts of somebody who neither planned nor applies it" in nobody
    assert [approve in text for text in (nobody, given, unknown)] == [True, False, True]
    assert "alice⟨ESC⟩ (alice@desk) at 2026-11-21T14:00:00Z" in given
    assert "cannot be told: line 2 is not as it was written" in unknown
    assert all(text.endswith("apply 20261121T132616Z-3f9a1c -t orders") for text in (nobody, given, unknown))


def test_plan_without_corrections_has_nothing_to_apply(stories: Mapping[str, Story]) -> None:
    plan = plan_of(stories["drift"]) | {"upserts": 0, "deletes": 0, "by_kind": {}}

    assert plan_text(stories["drift"].run, plan).endswith("next: nothing to apply")


def test_command_to_paste_quotes_what_a_shell_would_split(stories: Mapping[str, Story]) -> None:
    run = copy.deepcopy(dict(stories["unverified"].run))
    run["provenance"]["config"] = "my shop/it's.yaml"
    run["tables"][0]["name"] = "a; rm -rf b"

    (command,) = advise(run).commands

    assert shlex.split(command)[:3] == ["hudi-reconcile", "-c", "my shop/it's.yaml"]
    assert shlex.split(command)[3:] == ["sweep", "-t", "a; rm -rf b", "-t", "payments"]


def test_default_config_is_not_named_in_commands(stories: Mapping[str, Story]) -> None:
    run = {**stories["drift"].run, "provenance": {"config": "reconcile.yaml"}}

    assert advise(run).commands[1] == "hudi-reconcile apply 20261121T132616Z-3f9a1c"


def test_drift_whose_plan_will_be_refused_is_not_sent_to_apply(stories: Mapping[str, Story]) -> None:
    guard = {"name": "max_deletes", "limit": 1, "found": 3, "ok": False, "fix": "see why."}

    found = advise(stories["drift"].run, guards={"orders": [guard]})

    assert "max_deletes" in found.sentence
    assert "see why." in found.sentence
    assert not [command for command in found.commands if " apply " in command]


def test_plan_that_was_applied_before_is_not_called_written(stories: Mapping[str, Story]) -> None:
    run = copy.deepcopy(dict(stories["corrected"].run))
    run["tables"][0] |= {"already_applied": True, "corrections": {**run["tables"][0]["corrections"], "applied": 0}}

    assert "applied before" in write_verdict(run)


def test_undo_that_is_repeated_is_not_called_an_applied_plan(stories: Mapping[str, Story]) -> None:
    run = copy.deepcopy(dict(stories["corrected"].run)) | {"command": "undo"}
    run["tables"][0] |= {"already_applied": True, "plan_id": None}

    assert "plan" not in write_verdict(run)
    assert "taken back before" in write_verdict(run)


def test_history_of_a_run_names_its_tables_with_their_drift() -> None:
    tables = [
        {"name": "orders", "outcome": "corrected", "findings": {"deleted": 3}, "applied": 3},
        {"name": "it\x1bems", "outcome": "clean", "findings": {}, "applied": 0},
    ]

    assert describe_past_tables(tables) == "orders corrected (deleted 3, 3 applied), it⟨ESC⟩ems clean"


def past_run(*tables: dict[str, Any], why: str = "") -> dict[str, Any]:
    return {"run_id": "r1", "command": "run", "outcome": "unverified", "tables": tables, "why": why}


def test_history_of_several_tables_has_a_line_for_each_with_what_became_of_it() -> None:
    orders = {"name": "orders", "outcome": "corrected", "findings": {"deleted": 3}, "applied": 3, "pulled_rows": 1234,
              "error": None, "seconds": 61.04}  # fmt: skip
    items = {"name": "items", "outcome": "unverified", "findings": {}, "applied": 0, "pulled_rows": None,
             "error": "SourceError", "seconds": 2.0}  # fmt: skip

    assert list(describe_past_run(past_run(orders, items, items))) == [
        "r1  run         unverified  3 tables: 1 corrected, 2 unverified",
        "    orders corrected (deleted 3, 1,234 pulled, 3 applied), 61.0 s",
        "    items unverified (SourceError), 2.0 s",
        "    items unverified (SourceError), 2.0 s",
    ]
    assert list(describe_past_run(past_run(orders))) == [
        "r1  run         unverified  orders corrected (deleted 3, 1,234 pulled, 3 applied)"
    ]


def test_history_of_a_run_that_cannot_be_read_is_its_reason() -> None:
    assert list(describe_past_run(past_run(why="its folder is missing"))) == [
        "r1  run         unverified  its folder is missing"
    ]


def test_history_says_that_rules_failed_where_the_drift_was_corrected_or_there_was_none() -> None:
    tables = [
        {"name": "orders", "outcome": "drift", "findings": {"deleted": 3}, "applied": 3, "open_rules": 1},
        {"name": "items", "outcome": "drift", "findings": {}, "applied": 0, "open_rules": 2},
    ]

    told = describe_past_tables(tables)

    assert told == "orders drift (deleted 3, 3 applied, 1 rule failed), items drift (2 rules failed)"


def test_hidden_characters_are_spelled_out_and_plain_text_is_left_alone() -> None:
    assert spell_hidden("Zürich 東京 😀") == "Zürich 東京 😀"
    assert spell_hidden("a\nb\u200bc\ud800") == "a⟨LF⟩b⟨U+200B⟩c⟨U+D800⟩"
    assert spell_value(" a\u00a0b  ") == "␣a⟨U+00A0⟩b␣␣"
    assert spell_value("   ") == "␣␣␣"


def test_columns_that_came_apart_and_lost_digits_are_said_in_one_line_each() -> None:
    table = all_stories()["unverified"].run["tables"][0]
    price = "price (source numeric(12,4), lake decimal(12,2))"

    assert list_scope_lines(table) == [
        "memo may be note renamed at the source (source text, lake string): not compared, first seen 2026-11-20T02:00:00Z",
        "amount widened in the lake (source integer, lake bigint): compared",
        f"{price} compared to 2 digits after the point: digits of 1,200 source rows not compared",
        "rate (source numeric(5,3), lake decimal(5,2)) compared to 2 digits after the point: hides none",
    ]


def test_results_of_earlier_versions_say_nothing_of_columns() -> None:
    assert list_scope_lines({"name": "orders"}) == []


def partial(**coverage: Any) -> dict[str, Any]:
    run = copy.deepcopy(dict(all_stories()["unverified"].run))
    shown: dict[str, Any] = {
        "segments": 9,
        "compared": 9,
        "never_compared": 0,
        "oldest_utc": None,
        "budget": None,
        "partitions": [],
    }
    for table in run["tables"]:
        table["coverage"] = {**shown, **coverage}
    return run


def test_next_command_of_a_spent_budget_goes_on_with_it() -> None:
    part = partial(compared=4, budget="10m", partitions=["region=e u"])

    (command,) = advise(part).commands

    assert command.endswith(" --where-partition 'region=e u' --budget 10m")
    assert "--budget" not in advise(partial(budget="10m")).commands[0]
    assert "--where" not in advise(partial(partitions=["region=eu"])).commands[0]


def test_plan_of_a_part_says_so(stories: Mapping[str, Story]) -> None:
    plan = plan_of(stories["drift"]) | {"requirements": [{"name": "part", "expected": "partitions region=eu"}]}

    assert "part      only partitions region=eu compared" in plan_text(stories["drift"].run, plan)
    assert "  part  " not in plan_text(stories["drift"].run, plan_of(stories["drift"]))


def test_coverage_says_part_age_and_what_was_never_compared() -> None:
    part = {"segments": 9, "compared": 4, "never_compared": 2, "oldest_utc": "2026-03-01T10:00:00Z"}

    assert describe_coverage(None) == describe_coverage({**part, "compared": 9}) == ""
    assert describe_coverage({**part, "partitions": ["a", "b"]}) == (
        "only a and b, 4 of 9 segments compared, 2 never yet, oldest comparison 2026-03-01T10:00:00Z"
    )


def test_consumer_is_told_in_one_line_with_where_it_is_and_why_it_would_be_refused() -> None:
    lag: dict[str, Any] = {
        "table": "orders",
        "consumer": "shop",
        "type": "upsert",
        "instant": "",
        "pending": None,
        "why": "",
    }

    behind = describe_consumer(lag | {"behind_commits": 1, "waiting_seconds": 7.4, "pending": "20261121145100499"})
    refused = describe_consumer(
        lag | {"behind_commits": None, "waiting_seconds": None, "why": "older commits are archived"}
    )

    assert behind.endswith("at the beginning, under way to 20261121145100499, 1 commit behind, the oldest for 7 s")
    assert refused.endswith("at the beginning, REFUSED: older commits are archived")
    assert describe_consumer(lag | {"behind_commits": 0, "waiting_seconds": 0.0}).endswith("in step")


CORRECTED_NIGHT = replace(
    ORDERS, outcome=Outcome.DRIFT, corrections=Corrections(6, 3, 9), verified_at="20261121133002417", rules=RULES[:2]
)


def test_night_that_corrected_all_and_has_a_failed_rule_speaks_of_the_rule_and_of_no_open_drift() -> None:
    run = run_of("run", CORRECTED_NIGHT)

    assert write_verdict(run) == "9 corrections of orders written and verified. 1 of 2 rules failed: r-fail."
    assert advise(run).commands == ("hudi-reconcile -c shop/reconcile.yaml run",)


def test_drift_of_one_table_beside_another_that_was_corrected_is_counted_alone() -> None:
    other = replace(ORDERS, name="items")

    told = write_verdict(run_of("run", CORRECTED_NIGHT, other))

    assert told.startswith(
        "9 rows of items differ between source and lake. 9 corrections of orders written and verified."
    )


def test_night_that_a_guard_stopped_after_its_pull_does_not_say_that_nothing_was_written() -> None:
    pull = Pulled(500, "incremental", None, None, "20261121132501872")
    stopped = TableResult("orders", Outcome.REFUSED, pull=pull)

    told = [write_verdict(run_of("run", one)) for one in (stopped, replace(stopped, pull=None))]

    assert told[0] == "Refused: a guard stopped orders. The pull was made; nothing was corrected."
    assert told[1] == "Refused: a guard stopped orders. Nothing was written to it."


def test_advice_names_the_table_that_a_guard_stops_and_applies_the_others() -> None:
    no = Guard("max_deletes", 1, 3, ok=False, fix="apply with --approve-deletes 3")
    stopped = replace(ORDERS, name="items", guards=(no, Guard("empty_source", 0, 9, ok=True)))
    free = replace(ORDERS, guards=())

    both, alone = advise(run_of("sweep", stopped, free)), advise(run_of("sweep", stopped))

    assert both.sentence == (
        "items: 1 guard will refuse the plan (max_deletes). apply with --approve-deletes 3. Look at the plan first; then "
        "apply what no guard stops (orders):"
    )
    run_id = run_of("sweep", free)["run_id"]
    tool = "hudi-reconcile -c shop/reconcile.yaml"
    assert both.commands == (f"{tool} plan {run_id}", f"{tool} apply {run_id} -t orders")
    assert alone.commands == (f"{tool} plan {run_id}",)


def test_advice_of_a_table_that_waits_for_a_word_names_approve_before_apply() -> None:
    found = advise(run_of("sweep", replace(ORDERS, guards=(), provenance={"require_approval": "true"})))

    assert found.sentence == "Look at the plan, let somebody else approve it, then apply it:"
    assert [command.split()[3] for command in found.commands] == ["plan", "approve", "apply"]


@pytest.mark.parametrize("check", ["drift", "total"])
def test_advice_after_a_failed_rule_that_holds_both_sides_is_to_compare(check: str) -> None:
    checked = replace(ORDERS, findings={}, corrections=Corrections(), rules=(replace(RULES[1], check=check),))

    found = advise(run_of("check", checked))

    assert RULES[1].status == "fail"
    assert [command.split()[3] for command in found.commands] == ["sweep", "plan"]


def test_guard_for_which_a_word_was_given_is_no_reason_any_more() -> None:
    table = replace(ORDERS, guards=(Guard("max_deletes", 1, 3, ok=False, fix="x"),))

    told = {
        outcome: list_reasons(run_of("apply", replace(table, outcome=outcome))["tables"][0])
        for outcome in (Outcome.CORRECTED, Outcome.REFUSED)
    }

    assert told == {Outcome.CORRECTED: [], Outcome.REFUSED: [("max_deletes: found 3, limit 1", "x")]}


@pytest.mark.parametrize("outcome", [Outcome.CORRECTED, Outcome.UNVERIFIED])
def test_apply_of_a_part_of_a_table_says_what_was_written_and_that_the_rest_is_not_proven(outcome: Outcome) -> None:
    rest = Unverified(
        "table", "orders", "only partitions 0 compared", "compare the rest: hudi-reconcile sweep -t orders"
    )
    part = replace(
        ORDERS, outcome=outcome, findings={}, corrections=Corrections(6, 3, 9), verified_at="1", unverified=(rest,)
    )

    run = run_of("apply", part)

    assert write_verdict(run) == (
        "9 corrections of orders written and verified. Not everything was compared: the rest is not proven."
    )
    assert any("sweep" in command for command in advise(run).commands)


def test_undo_says_that_the_source_differs_again_and_to_compare() -> None:
    run = run_of("undo", replace(CORRECTED_NIGHT, outcome=Outcome.CORRECTED, rules=(), findings={}, plan_id=None))

    assert write_verdict(run) == "9 corrections of orders taken back: the source differs again in these rows."
    assert [command.split()[3] for command in advise(run).commands] == ["sweep"]


def test_rules_that_failed_are_told_beside_a_table_that_a_guard_stopped() -> None:
    told = write_verdict(run_of("run", CORRECTED_NIGHT, TableResult("items", Outcome.REFUSED)))

    assert told == ("Refused: a guard stopped items. Nothing was written to it. orders: 1 of 2 rules failed: r-fail.")


MISFIT = TableResult(
    "missing", Outcome.USAGE, error=Failure("UsageError", "there is no public.nope", "mend the config")
)


def test_call_that_does_not_fit_one_table_hides_neither_the_drift_nor_the_stop_of_others() -> None:
    refused = TableResult("mixed", Outcome.REFUSED, error=Failure("RefusedError", "no", "look"))
    run = run_of("sweep", MISFIT, ORDERS, refused)

    assert write_verdict(run) == (
        "The call does not fit missing. Nothing was done there. In what was compared, 9 rows differ. "
        "Stopped too, for other reasons: mixed."
    )
    found = advise(run)
    assert found.sentence == "missing: mend the config; then run again, and look at the plan of orders:"
    tool = "hudi-reconcile -c shop/reconcile.yaml"
    assert found.commands == (f"{tool} sweep -t missing", f"{tool} plan {run['run_id']}")
    assert write_verdict(run_of("sweep", MISFIT)) == "The call does not fit missing. Nothing was done."


def test_table_that_could_not_be_compared_does_not_hide_that_others_were_stopped() -> None:
    unsure = replace(ORDERS, outcome=Outcome.UNVERIFIED, unverified=(Unverified("segment", "7", "moved", "sweep"),))

    assert write_verdict(run_of("sweep", unsure, MISFIT)).endswith("Stopped too, for other reasons: missing.")


def test_apply_of_some_tables_leads_to_a_sweep_of_these(stories: Mapping[str, Story]) -> None:
    run = stories["incomplete"].run
    one = {**run, "provenance": {**run["provenance"], "choice": ["-t", "orders"]}}

    assert "hudi-reconcile -c shop/reconcile.yaml sweep" in advise(run).commands
    assert "hudi-reconcile -c shop/reconcile.yaml sweep -t orders" in advise(one).commands


def test_command_to_run_again_is_the_one_that_was_typed_with_its_tables_and_options() -> None:
    broken = replace(MISFIT, outcome=Outcome.UNVERIFIED)
    run = run_of("run", broken)
    run = {
        **run,
        "provenance": {**run["provenance"], "choice": ["-t", "shop_*"], "options": ["--apply", "--jobs", "2"]},
    }
    beside = {**run_of("run", broken, ORDERS), "provenance": run["provenance"]}

    tool = "hudi-reconcile -c shop/reconcile.yaml"
    assert advise(run).commands == (f"{tool} run -t 'shop_*' --apply --jobs 2",)
    assert advise(beside).commands[0] == f"{tool} run -t missing --apply --jobs 2"
    forged = {**run, "provenance": {**run["provenance"], "options": ["; rm -rf x"]}}
    assert advise(forged).commands == (f"{tool} run -t 'shop_*' '; rm -rf x'",)
