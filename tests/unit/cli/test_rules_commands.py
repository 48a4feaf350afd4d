"""`rules lint | schema` and the calls of `check` that end before Spark starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from hudi_reconcile.cli.main import run
from tests.support.docs import ROOT, blocks

CONFIG = """version: 1
source: {url: "postgresql+psycopg://r@127.0.0.1:1/d"}
tables:
  - {name: orders, source: {table: orders}, lake: {path: orders}, rules: rules/orders.yaml}
  - {name: items, source: {table: items}, lake: {path: items}}
"""
HEAD = "version: 1\ntable: orders\nrules:\n"
GOOD = "  - {id: r-1, check: not_null, column: c}\n"


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reconcile.yaml").write_text(CONFIG)
    (tmp_path / "rules").mkdir()
    return tmp_path / "rules" / "orders.yaml"


def test_lint_says_ok_and_what_is_in_each_file(rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules.write_text(f"{HEAD}{GOOD}waivers:\n  - {{rule: r-1, reason: x, expires: 2020-01-01}}\n")

    assert run(["rules", "lint"]) == 0

    assert capsys.readouterr().out == (
        "rules/orders.yaml: ok (table orders, 1 rule, 1 waiver)\n"
        "  note: the waiver of r-1 expired on 2020-01-01: it waives nothing\n"
    )


def test_lint_names_a_query_that_only_spark_can_read(rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read = "  - {id: r-2, check: sql, query: 'SELECT id FROM {batch} WHERE id > 9'}\n"
    unread = "  - {id: r-3, check: sql, query: 'SELECT map(id) FROM {batch}'}\n"
    rules.write_text(HEAD + GOOD + read + unread)

    assert run(["rules", "lint"]) == 0

    assert capsys.readouterr().out == (
        "rules/orders.yaml: ok (table orders, 3 rules)\n"
        "  note: the query of r-3 was not judged: only Spark can read it, and does so before `check` runs it\n"
    )


@pytest.mark.parametrize("block", [one for one in blocks(ROOT / "docs" / "rules.md", "yaml") if "rules:" in one])
def test_rules_that_the_document_shows_are_rules(rules: Path, block: str) -> None:
    rules.write_text(block if block.startswith("version") else f"version: 1\ntable: orders\n{block}")

    assert run(["rules", "lint"]) == 0


@pytest.mark.parametrize("call", [["rules", "lint"], ["check"], ["run"], ["rules", "lint", "rules/orders.yaml"]])
def test_wrong_rules_file_ends_every_command_that_needs_it_with_file_and_line(
    rules: Path, capsys: pytest.CaptureFixture[str], call: list[str]
) -> None:
    rules.write_text(f"{HEAD}  - {{id: r-1, check: not_nul, column: c}}\n")

    assert run([*call, "--format", "json"]) == 2

    error = json.loads(capsys.readouterr().out)["error"]
    assert error["message"].startswith("rules/orders.yaml:4: rules[0].check: expected not_null | ")
    assert error["fix"] == "correct the lines above, then: hudi-reconcile rules lint"


@pytest.mark.parametrize("call", [["rules", "lint"], ["check"], ["run"]])
def test_quarantine_by_rules_that_can_hold_nothing_back_is_named(
    rules: Path, capsys: pytest.CaptureFixture[str], call: list[str]
) -> None:
    config = rules.parent.parent / "reconcile.yaml"
    config.write_text(CONFIG.replace("rules/orders.yaml}", "rules/orders.yaml, policy: {quarantine: true}}"))
    rules.write_text(f"{HEAD}{GOOD.replace('}', ', severity: warn}')}  - {{id: r-2, check: unique, columns: [c]}}\n")

    assert run(call) == 2

    shown = capsys.readouterr().err
    assert "rules/orders.yaml:1: has no not_null, between, in_set or matches of severity error" in shown
    rules.write_text(HEAD + GOOD)
    assert run(["rules", "lint"]) == 0


def test_rules_file_that_is_missing_is_usage(rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not rules.exists()
    assert run(["check"]) == 2
    assert "rules/orders.yaml: there is no such rules file" in capsys.readouterr().err


def test_check_of_a_table_without_rules_is_usage(rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules.write_text(HEAD + GOOD)

    assert run(["check", "-t", "items"]) == 2
    assert "no rules for items: nothing would be checked" in capsys.readouterr().err


def test_lint_names_ends_in_the_wrong_order_and_a_regex_that_java_does_not_take(
    rules: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules.write_text(
        f'{HEAD}  - {{id: a, check: matches, column: c, regex: "(["}}\n'
        "  - {id: b, check: between, column: c, min: 5, max: 1}\n"
        f"{GOOD}"
    )

    assert run(["rules", "lint"]) == 2

    lines = capsys.readouterr().err.splitlines()
    assert lines[1:3] == [
        "rules/orders.yaml:4: rules[0]: regex: '[' is not closed",
        "rules/orders.yaml:5: rules[1]: min is above max: no value lies between them",
    ]


def test_lint_asks_great_expectations_for_types_and_arguments(rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules.write_text(
        f"{HEAD}  - {{id: a, check: gx, type: expect_column_values_to_be_uniqe, kwargs: {{column: c}}}}\n"
        "  - {id: b, check: gx, type: expect_column_values_to_be_unique, kwargs: {colum: c}}\n"
        "  - {id: c, check: gx, type: expect_column_values_to_be_unique, kwargs: {}}\n"
        "  - {id: d, check: gx, type: expect_column_values_to_be_unique, kwargs: {column: c}}\n"
    )

    assert run(["rules", "lint"]) == 2

    lines = capsys.readouterr().err.splitlines()
    assert [line.split(": ", 2)[:2] for line in lines[1:4]] == [
        [f"rules/orders.yaml:{n}", f"rules[{n - 4}]"] for n in (4, 5, 6)
    ]
    assert "did you mean 'expect_column_values_to_be_unique'?" in lines[1]
    assert lines[2].endswith("takes no 'colum'; did you mean 'column'?")
    assert "column: field required" in lines[3]


def test_schema_is_a_json_schema_that_names_every_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "schema"]) == 0

    schema = json.loads(capsys.readouterr().out)
    Draft202012Validator.check_schema(schema)
    assert set(schema["properties"]["rules"]["items"]["discriminator"]["mapping"]) == {
        "not_null", "unique", "between", "in_set", "matches", "sql", "drift", "total", "freshness", "gx",
    }  # fmt: skip
