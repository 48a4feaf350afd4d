"""Rules files: what is legal becomes values, and everything that is wrong is said at once, with its line."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hudi_reconcile.config.fields import Place
from hudi_reconcile.config.load import parse_config
from hudi_reconcile.config.rules_load import load_rules, parse_rules, rules_schema
from hudi_reconcile.config.show import RULES as TEMPLATE
from hudi_reconcile.config.show import shown_tree
from hudi_reconcile.config.yaml_document import read_document
from hudi_reconcile.core.errors import ConfigError
from hudi_reconcile.core.rules.rules import (
    Allow,
    Drift,
    Freshness,
    Gx,
    InSet,
    Matches,
    NotNull,
    Rule,
    Sql,
    Total,
    Unique,
    ValueRange,
    Waiver,
)
from tests.support.docs import ROOT, blocks

DOCUMENTED, SERVICE_LEVELS, OUTPUTS = blocks(ROOT / "docs" / "rules.md", "yaml")


def one(rule: str) -> Rule:
    (found,) = parse_rules(f"version: 1\ntable: t\nrules:\n  - {rule}\n", "r.yaml", "t").rules
    return found


def problems(text: str, table: str | None = "t") -> list[str]:
    with pytest.raises(ConfigError) as raised:
        parse_rules(text, "r.yaml", table)
    assert raised.value.fix == "correct the lines above, then: hudi-reconcile rules lint"
    return list(raised.value.problems)


def problems_of(rule: str) -> list[str]:
    return problems(f"version: 1\ntable: t\nrules:\n  - {rule}\n")


def test_documented_file_means_what_it_says() -> None:
    found = parse_rules(DOCUMENTED, "r.yaml", "orders")

    kinds = ("late_arriving", "updated_without_watermark", "deleted")
    sql = "SELECT order_id FROM {batch} WHERE status = 'PAID' AND paid_at IS NULL"
    mail = "the mailer needs it; ask the shop team"
    assert found.rules == (
        Rule("ord-001", NotNull("customer_id")),
        Rule("ord-002", Unique(("order_id",))),
        Rule("ord-003", ValueRange("amount", 0, 1_000_000), "warn", Allow(share=Decimal("0.001"))),
        Rule("ord-004", InSet("status", ("NEW", "PAID", "SHIPPED"))),
        Rule("ord-005", Matches("email", "^[^@]+@[^@]+$"), why=mail),
        Rule("ord-006", Sql(sql)),
        Rule("ord-007", Drift(kinds)),
        Rule("ord-008", Total("amount", Decimal("0.01"))),
        Rule("ord-009", Freshness(timedelta(hours=26))),
        Rule("ord-010", Gx("expect_column_values_to_be_unique", {"column": "order_id"})),
    )
    assert found.waivers == (Waiver("ord-003", "TICKET-123", date(2026, 12, 1), "finance"),)


def test_documented_outputs_are_a_part_of_the_config() -> None:
    source, table = '{url: "postgresql+psycopg://h/d"}', "{name: t, source: {table: t}, lake: {path: t}}"
    text = f"version: 1\nsource: {source}\ntables: [{table}]\n{OUTPUTS}"

    secrets = {"SLACK_WEBHOOK": "https://h/canary", "OPENLINEAGE_API_KEY": "canary"}
    loaded = parse_config(text, Place("c", Path("/base")), secrets, lambda _: "")

    assert None not in loaded.config.outputs.model_dump().values()
    assert "canary" not in str(shown_tree(loaded))


@pytest.mark.parametrize("text", [DOCUMENTED, TEMPLATE, f"version: 1\ntable: orders\n{SERVICE_LEVELS}"])
def test_schema_accepts_what_the_reader_accepts(text: str) -> None:
    parse_rules(text, "r.yaml", None)

    Draft202012Validator(rules_schema()).validate(read_document(text).values)


WRONG = [
    ("{id: a, check: notnull, column: c}", "rules[0].check: expected not_null | unique | between"),
    ("{id: a, check: notnull, column: c}", "found 'notnull'; did you mean 'not_null'?"),
    ("{id: a, column: c}", "rules[0].check: is missing (legal: not_null | "),
    ("{id: a, check: not_null, colum: c}", "rules[0].colum: unknown key; did you mean 'column'? (legal: id, "),
    ("{id: a, check: not_null}", "rules[0].column: is missing"),
    ("{check: not_null, column: c}", "rules[0].id: is missing"),
    ("{id: a/b, check: not_null, column: c}", "rules[0].id: must work as a folder name"),
    ("{id: a, check: not_null, column: c, severity: warning}", "expected warn | error, found 'warning'; did you mean 'warn'?"),
    ("{id: a, check: not_null, column: c, allow: 1.5}", "rules[0].allow: must be a count of rows (5) or a share"),
    ("{id: a, check: not_null, column: c, allow: -1}", "rules[0].allow: must be a count of rows (5) or a share"),
    ("{id: a, check: not_null, column: c, allow: true}", "rules[0].allow: must be a count of rows (5) or a share"),
    ("{id: a, check: not_null, column: c, allow: 101%}", "rules[0].allow: more than 100%"),
    ("{id: a, check: unique, columns: []}", "rules[0].columns: must have at least one entry"),
    ("{id: a, check: unique, columns: c}", "rules[0].columns: expected a list"),
    ("{id: a, check: between, column: c}", "rules[0]: needs `min` or `max`"),
    ("{id: a, check: between, column: c, min: true}", "rules[0].min: must be a number, a date, a time or a text"),
    ("{id: a, check: between, column: c, max: .nan}", "rules[0].max: must be a finite number"),
    ("{id: a, check: in_set, column: c, values: []}", "rules[0].values: must have at least one entry"),
    ("{id: a, check: in_set, column: c, values: [[1]]}", "rules[0].values[0]: must be a number, a text or true or false"),
    ("{id: a, check: sql, query: select 1}", "rules[0].query: must select from {batch}"),
    ("{id: a, check: sql, query: 'drop table {batch}'}", "rules[0].query: no query: it begins with SELECT"),
    ("{id: a, check: sql, query: '-- select\n insert into {batch} values (1)'}", "rules[0].query: no query"),
    ("{id: a, check: drift, kinds: [late]}", "rules[0].kinds[0]: expected late_arriving | "),
    ("{id: a, check: drift, kinds: [pending]}", "rules[0].kinds[0]: expected late_arriving | "),
    ("{id: a, check: total, column: c, tolerance: -1}", "rules[0].tolerance: must be a number from 0 up"),
    ("{id: a, check: total, column: c, allow: 1}", "rules[0].allow: unknown key"),
    ("{id: a, check: freshness, max_age: 26}", "rules[0].max_age: not a duration"),
    ("3", "rules[0]: expected a mapping such as {id: r-1"),
    ("{id: a, id: b, check: not_null, column: c}", "rules[0].id: is given twice, first on line 4"),
    ("{id: a, check: not_null, column: &c c}", "anchors and aliases"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "said"), WRONG)
def test_wrong_rule_is_named_with_file_line_and_key(rule: str, said: str) -> None:
    found = problems_of(rule)

    assert [line for line in found if re.match(r"r\.yaml:4: ", line) and said in line], found


# What an editor can tell from the schema alone: words, keys and types. The reader has the last word.
TOLD_BY_SCHEMA = ("expected ", "is missing", "unknown key", "not a duration", "must be a number from 0 up")


@pytest.mark.parametrize("rule", sorted({rule for rule, said in WRONG if any(word in said for word in TOLD_BY_SCHEMA)}))
def test_schema_refuses_wrong_words_keys_and_types(rule: str) -> None:
    values = read_document(f"version: 1\ntable: t\nrules:\n  - {rule}\n").values

    assert not Draft202012Validator(rules_schema()).is_valid(values)


def test_all_problems_of_a_file_are_told_at_once_in_the_order_of_their_lines() -> None:
    text = """version: 1
table: u
ruls: 3
rules:
  - {id: a, check: not_null, column: 3}
  - {id: A, check: unique, columns: [c]}
waivers:
  - {rule: b, reason: x, expires: 2026-13-01}
  - {rule: a, reason: x, expires: 2026-12-01, ownr: me}
"""
    assert problems(text) == [
        "r.yaml:2: table: is 'u', but reconcile.yaml names this file for the table 't'",
        "r.yaml:3: ruls: unknown key; did you mean 'rules'? (legal: version, table, rules, waivers)",
        "r.yaml:5: rules[0].column: expected text; put it in quotes, found 3",
        "r.yaml:6: rules[1].id: is the id of the rule on line 5 already; case does not count",
        "r.yaml:8: waivers[0].expires: must be a date such as 2026-12-01, found '2026-13-01'",
        "r.yaml:8: waivers[0].rule: there is no rule 'b'",
        "r.yaml:9: waivers[1].ownr: unknown key; did you mean 'owner'? (legal: rule, reason, expires, owner)",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("- 1", "expected a mapping that starts with `version: 1`"),
        ("version: 2\ntable: t\nrules: []", "this release knows version 1 only"),
        ("version: 1\ntable: t\nrules: []", "rules: must have at least one entry"),
        ("version: 1\ntable: t", "rules: is missing"),
        ("version: [1", "is not YAML"),
    ],
)
def test_file_that_is_no_rules_file_is_refused(text: str, said: str) -> None:
    assert said in "\n".join(problems(text))


def test_file_that_is_not_there_is_named_as_people_typed_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=re.escape("rules/t.yaml: there is no such rules file")):
        load_rules(tmp_path / "t.yaml", shown="rules/t.yaml", table="t")


@given(st.integers(0, 10**30))
def test_whole_numbers_stay_whole_whatever_their_size(number: int) -> None:
    assert one(f"{{id: a, check: between, column: c, min: {number}}}").check == ValueRange("c", number)


@given(st.decimals(-(10**9), 10**9, places=6))
def test_decimal_numbers_are_read_as_they_are_written(number: Decimal) -> None:
    assert one(f"{{id: a, check: total, column: c, tolerance: {abs(number)}}}").check == Total("c", abs(number))


@given(st.text())
def test_no_text_makes_the_reader_fail_in_another_way(text: str) -> None:
    with suppress(ConfigError):
        assert parse_rules(text, "r.yaml", "t").rules


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("12345678901234567890.12", "12345678901234567890.12"),
        ("-0.12345678901234567891", "-0.12345678901234567891"),
        ("1_234_567_890_123_456_789.5", "1234567890123456789.5"),
        ("0.1", "0.1"),
    ],
)
def test_number_of_more_digits_than_a_float_holds_is_read_to_the_last(written: str, meant: str) -> None:
    between = one(f"{{id: a, check: between, column: c, min: {written}}}").check
    total = one(f"{{id: a, check: total, column: c, tolerance: {written.lstrip('-')}}}").check
    among = one(f"{{id: a, check: in_set, column: c, values: [{written}]}}").check

    assert between == ValueRange("c", Decimal(meant), None)
    assert total == Total("c", abs(Decimal(meant)))
    assert among == InSet("c", (Decimal(meant),))


@pytest.mark.parametrize("number", ["1e999", "1e-999999999", "1e-99999999999999999999", "-.inf"])
def test_number_beyond_what_anything_holds_is_named_with_its_line(number: str) -> None:
    (said,) = problems_of(f"{{id: a, check: between, column: c, min: {number}}}")

    assert said.startswith("r.yaml:4: rules[0].min: must be a finite number")


def test_number_that_great_expectations_would_round_is_named_with_its_line() -> None:
    kwargs = "{column: c, within: [{max_value: 0.12345678901234567891}, {min_value: 0.1}]}"
    (said,) = problems_of(f"{{id: a, check: gx, type: t, kwargs: {kwargs}}}")

    assert said.startswith("r.yaml:4: rules[0].kwargs")
    assert "17 digits" in said
