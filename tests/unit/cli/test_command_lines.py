"""What errors and guards say to type is what the call was: with its config file, once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hudi_reconcile.cli.main import run
from hudi_reconcile.cli.registry import COMMANDS
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.result_parts import Failure, Guard, Unverified
from hudi_reconcile.core.result_queries import add_config, add_config_to_fixes
from hudi_reconcile.core.rules.rules import NotNull, Rule, RuleSet
from hudi_reconcile.core.rules.verdict import report_unrun_rules

WITHOUT_CONFIG = {"init", "jars", "demo"}
ASK = "let somebody look and say so: hudi-reconcile approve RUN -t orders --as NAME"


def test_fixes_of_a_result_name_the_config_file_of_the_call() -> None:
    result = TableResult(
        "orders",
        Outcome.REFUSED,
        error=Failure("RefusedError", "the plan was approved by nobody", ASK),
        guards=(Guard("approval", 1, 0, ok=False, fix=ASK),),
        unverified=(Unverified("rows", "orders", "a part", "hudi-reconcile sweep -t orders"),),
    )

    told = add_config_to_fixes(result, "shop.yaml")

    assert told.error is not None
    assert told.error.fix == told.guards[0].fix
    assert told.error.fix.endswith("hudi-reconcile -c shop.yaml approve RUN -t orders --as NAME")
    assert told.unverified[0].fix == "hudi-reconcile -c shop.yaml sweep -t orders"
    assert add_config_to_fixes(told, "shop.yaml") == told
    assert add_config_to_fixes(result, "reconcile.yaml") == add_config_to_fixes(result, None) == result


def test_fixes_of_rules_and_of_the_doctor_name_the_config_file_of_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = RuleSet("orders", (Rule("r1", NotNull("id")),))
    result = TableResult(
        "orders", Outcome.UNVERIFIED, rules=report_unrun_rules(rules, "no table", "hudi-reconcile pull -t orders")
    )
    assert add_config_to_fixes(result, "shop.yaml").rules[0].fix == "hudi-reconcile -c shop.yaml pull -t orders"

    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.yaml").write_text("version: 1\n")
    assert run(["-c", "shop.yaml", "doctor", "--format", "json"]) == 2
    (config,) = [one for one in json.loads(capsys.readouterr().out)["checks"] if one["name"] == "config"]
    assert "hudi-reconcile -c shop.yaml config validate" in config["fix"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_reads_the_config_gets_it(command: str) -> None:
    found = add_config(f"type: hudi-reconcile {command}", "shop.yaml")

    assert ("-c shop.yaml" in found) == (command not in WITHOUT_CONFIG)


def test_run_that_failed_says_what_to_type_with_its_config_on_every_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    source = 'source: {url: "postgresql+psycopg://r@127.0.0.1:1/d", password: x}'
    tables = "tables:\n  - {name: orders, source: {table: a}, lake: {path: a}}"
    (tmp_path / "shop.yaml").write_text(f"version: 1\n{source}\n{tables}\n")

    assert run(["-c", "shop.yaml", "sweep"]) == 3

    said = capsys.readouterr()
    named = [line for line in (said.out + said.err).splitlines() if "hudi-reconcile " in line]
    assert len(named) >= 4
    assert all("hudi-reconcile -c shop.yaml " in line for line in named)
