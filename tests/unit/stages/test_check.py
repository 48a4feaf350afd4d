"""The rules of a table on a fake lake: order of work, what is pinned, and what is never reported as a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from hudi_reconcile.core.errors import LakeError, UnverifiedError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.rules.rules import (
    Drift,
    Freshness,
    Gx,
    InSet,
    Matches,
    NotNull,
    Rule,
    RuleSet,
    Total,
    Unique,
    ValueRange,
)
from hudi_reconcile.core.rules.verdict import FailedKeys, Measured, Totals, report_unrun_rules
from hudi_reconcile.core.tables.masking import Masking
from hudi_reconcile.ports import Frame, KeysTarget
from hudi_reconcile.stages.check import NewestComparison, RuleJob, add_rules, check
from tests.fakes.rows import rows_of
from tests.fakes.world import World, job, pulled

NULLS, DOUBLES = Rule("nulls", NotNull("v")), Rule("doubles", Unique(("v",)))


@dataclass
class FakeEngine:
    """Counts NULLs of `v`, whatever the rule; its filter may miss some rows."""

    missed: int = 0
    problem: str = ""
    observed: str = ""
    broken_keys: bool = False
    targets: list[KeysTarget] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None

    def measure(self, rows: Frame, rules: tuple[Rule, ...]) -> Mapping[str, Measured]:
        self.meanwhile()
        nulls = sum(row["v"] is None for row in rows_of(rows))
        return {
            rule.id: Measured(nulls, len(rows_of(rows)), problem=self.problem, detail=self.observed) for rule in rules
        }

    def save_keys(self, rows: Frame, rule: Rule, target: KeysTarget) -> FailedKeys | None:
        self.targets.append(target)
        if self.broken_keys:
            raise UnverifiedError("the disk is full", fix="free some")
        if rule.id == "doubles":
            return None
        found = [{"id": row["id"]} for row in rows_of(rows) if row["v"] is None][self.missed :]
        return FailedKeys(len(found), target.path, tuple(found))

    def sum_column(self, rows: Frame, column: str) -> Totals:
        return Totals(Decimal(sum(row[column] or 0 for row in rows_of(rows))))


def checked(
    world: World,
    *rules: Rule,
    engine: FakeEngine | None = None,
    compared: NewestComparison | None = None,
    **settings: Any,
) -> TableResult:
    rule_job = RuleJob(job(**settings), RuleSet("t", rules, file="rules/t.yaml"))
    folder = ("/run/t/rules/x", "t/rules/x")
    return check(rule_job, world.edges, engine or FakeEngine(), compared=compared, keys_folder=lambda _: folder)


def test_expectation_with_which_every_table_passes_cannot_run() -> None:
    endless = Rule("most", Gx("expect_column_max_to_be_between", {"column": "v"}))

    result = checked(with_nulls(), endless, Rule("there", NotNull("id")))

    assert [(one.id, one.status) for one in result.rules] == [("most", "error"), ("there", "fail")]
    assert "every table passes" in result.rules[0].why
    assert result.outcome is Outcome.UNVERIFIED


def with_nulls() -> World:
    return pulled((1, None, 10), (2, 5, 20), (3, None, 30))


def test_failed_rule_names_its_rows_and_the_run_is_drift() -> None:
    engine = FakeEngine()

    result = checked(with_nulls(), NULLS, engine=engine)

    (rule,) = result.rules
    assert (result.outcome, rule.status, rule.failed_rows) == (Outcome.DRIFT, "fail", 2)
    assert rule.keys == FailedKeys(2, "t/rules/x", ({"id": 1}, {"id": 3}))
    assert engine.targets == [KeysTarget(("id",), "/run/t/rules/x", "t/rules/x", 2)]
    assert result.lake is not None
    assert result.lake.rows == 3


@pytest.mark.parametrize(
    ("kwargs", "settings", "shown"),
    [
        ({"column": "v"}, {}, True),
        ({"column": "v"}, {"masking": Masking.of({"V": "redact"}, "redact")}, False),
        ({"column": "v"}, {"masking": Masking.of({"w": "hmac"}, "redact"), "rename": {"w": "v"}}, False),
        ({"column_A": "id", "column_B": "salary"}, {}, False),
        ({"column_list": ["id", "email"]}, {}, False),
        ({"query": "select max(salary) from {batch}"}, {}, False),
    ],
)
def test_what_an_expectation_observed_is_not_told_where_it_may_be_a_masked_columns_value(
    kwargs: dict[str, Any], settings: dict[str, Any], *, shown: bool
) -> None:
    rule, engine = (
        Rule("most", Gx("expect_column_max_to_be_between", {**kwargs, "max_value": 1})),
        FakeEngine(observed="observed 250000"),
    )

    (found,) = checked(with_nulls(), rule, engine=engine, **settings).rules

    assert found.status == "fail"
    assert ("250000" in str(found)) is shown


SECRETS = ("SECRET-1@x.org", "SECRET-2@x.org", "SECRET-3@x.org")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (InSet("v", SECRETS), "v is one of 3 values"),
        (InSet("v", SECRETS[:1]), "v is one of 1 value"),
        (Matches("v", "^SECRET-"), "v matches a pattern"),
        (ValueRange("v", *SECRETS[:2]), "v is at least a value and at most a value"),
        (ValueRange("v", max="SECRET-1"), "v is at most a value"),
        (NotNull("v"), "v is not null"),
    ],
)
@pytest.mark.parametrize(
    "settings",
    [
        {"masking": Masking.of({"V": "redact"}, "redact")},
        {"masking": Masking.of({"w": "hmac"}, "redact"), "rename": {"w": "v"}},
    ],
)
def test_rule_on_a_masked_column_tells_none_of_its_own_values(rule: Any, said: str, settings: dict[str, Any]) -> None:
    (found,) = checked(with_nulls(), Rule("r", rule), **settings).rules

    assert found.what == said
    assert "SECRET" not in str(found)


def test_rule_on_a_column_that_is_shown_tells_its_values() -> None:
    (found,) = checked(with_nulls(), Rule("r", InSet("v", SECRETS))).rules

    assert found.what == "v is one of SECRET-1@x.org, SECRET-2@x.org, SECRET-3@x.org"


def test_rules_of_a_table_that_could_not_be_asked_tell_no_value_of_their_own() -> None:
    (found,) = report_unrun_rules(RuleSet("t", (Rule("r", InSet("v", SECRETS)),)), "the lake is gone", "pull")

    assert (found.status, found.what) == ("error", "v is one of 3 values")


def test_keys_are_asked_for_failed_rules_only() -> None:
    engine = FakeEngine()

    assert checked(pulled((1, 5, 10)), NULLS, engine=engine).outcome is Outcome.CLEAN
    assert engine.targets == []


def test_rule_whose_rows_cannot_all_be_named_is_an_error() -> None:
    (rule,) = checked(with_nulls(), NULLS, engine=FakeEngine(missed=1)).rules

    assert (rule.status, rule.failed_rows, rule.keys) == ("error", 0, None)
    assert rule.why == "Great Expectations counts 2 failed rows, a filter of the same rule finds 1"


def test_rule_whose_keys_cannot_be_written_is_an_error_and_hides_no_other() -> None:
    result = checked(with_nulls(), NULLS, Rule("kinds", Drift(("deleted",))), engine=FakeEngine(broken_keys=True),
                     compared=NewestComparison("run-1", {}, 3))  # fmt: skip

    assert [(rule.id, rule.status) for rule in result.rules] == [("nulls", "error"), ("kinds", "pass")]
    assert result.outcome is Outcome.UNVERIFIED


def test_rule_that_names_no_rows_says_so() -> None:
    (rule,) = checked(with_nulls(), DOUBLES).rules

    assert (rule.status, rule.notes) == ("fail", ("its rows are counted, not named",))


def test_snapshot_that_changed_while_rules_ran_gives_no_verdict_on_its_rows() -> None:
    world = with_nulls()
    world.lake.in_flight = {"20260101000000999"}
    engine = FakeEngine(meanwhile=world.lake.in_flight.clear)

    result = checked(
        world,
        NULLS,
        Rule("sum", Total("v")),
        Rule("kinds", Drift(("deleted",))),
        compared=NewestComparison("r", {}, 3),
        engine=engine,
    )

    assert [(rule.id, rule.status) for rule in result.rules] == [
        ("nulls", "error"),
        ("sum", "error"),
        ("kinds", "pass"),
    ]


def test_checks_of_both_sides_and_of_the_checkpoint_are_judged_beside_the_rows() -> None:
    world = pulled((1, 2, 10), (2, 5, 20))
    world.source.put(2, 6, 20)

    result = checked(
        world, Rule("sum", Total("v")), Rule("kinds", Drift(("deleted",))), Rule("age", Freshness(timedelta(days=1)))
    )

    assert [(rule.id, rule.status, rule.failed_rows) for rule in result.rules] == [
        ("sum", "fail", 1),
        ("kinds", "error", 0),
        ("age", "pass", 0),
    ]
    assert result.rules[0].why == "source 8, lake 7, difference 1"


def test_lake_that_is_not_there_is_no_verdict_at_all() -> None:
    with pytest.raises(LakeError, match="there is no Hudi table"):
        checked(World.new(), NULLS)


@pytest.mark.parametrize(
    ("work", "rules", "both"),
    [
        (Outcome.CLEAN, Outcome.DRIFT, Outcome.DRIFT),
        (Outcome.CORRECTED, Outcome.CLEAN, Outcome.CORRECTED),
        (Outcome.REFUSED, Outcome.UNVERIFIED, Outcome.UNVERIFIED),
        (Outcome.INCOMPLETE, Outcome.DRIFT, Outcome.INCOMPLETE),
    ],
)
def test_graver_of_work_and_rules_is_the_tables_outcome(work: Outcome, rules: Outcome, both: Outcome) -> None:
    checked_only = replace(TableResult("t", rules), rules=checked(with_nulls(), NULLS).rules)

    found = add_rules(TableResult("t", work), checked_only)

    assert (found.outcome, found.rules) == (both, checked_only.rules)
