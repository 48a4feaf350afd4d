"""`-t PATTERN`, `--tag`, `--exclude` as each command takes them, with a database that is not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hudi_reconcile.cli.main import run

CONFIG = """\
version: 1
source: {url: "postgresql+psycopg://reader@127.0.0.1:1/shop"}
tables:
  - {name: orders, source: {table: orders}, lake: {path: lake/orders}, tags: [night, shop]}
  - {name: users, source: {table: users}, lake: {path: lake/users}, tags: [night], rules: rules.yaml}
  - {name: order_lines, source: {table: order_lines}, lake: {path: lake/order_lines}, tags: [shop]}
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reconcile.yaml").write_text(CONFIG, encoding="utf-8")
    rules = "version: 1\ntable: users\nrules: [{id: u-1, check: not_null, column: id}]\n"
    (tmp_path / "rules.yaml").write_text(rules, encoding="utf-8")
    return tmp_path


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The document of a call."""
    run([*arguments, "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("command", ["pull", "sweep", "run"])
@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        (["-t", "order*"], ["orders", "order_lines"]),
        (["-t", "order_lines", "-t", "?????"], ["users", "order_lines"]),
        (["--tag", "shop", "--exclude", "*_lines"], ["orders"]),
        (["-t", "o*", "--tag", "night", "--tag", "shop"], ["orders", "order_lines"]),
        ([], ["orders", "users", "order_lines"]),
    ],
)
def test_words_choose_the_tables_of_a_run_in_the_order_of_the_config(
    capsys: pytest.CaptureFixture[str], command: str, words: list[str], chosen: list[str]
) -> None:
    assert [one["name"] for one in called(capsys, command, *words)["tables"]] == chosen


def test_doctor_looks_at_the_chosen_tables_alone(capsys: pytest.CaptureFixture[str]) -> None:
    checks = called(capsys, "doctor", "-t", "order*", "--exclude", "orders")["checks"]

    assert [one["name"] for one in checks if one["name"].endswith(": lake")] == ["order_lines: lake"]


def test_check_of_a_pattern_takes_the_tables_with_rules_and_names_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(["check", "--tag", "night", "--format", "json"])
    found = capsys.readouterr()

    assert [one["name"] for one in json.loads(found.out)["tables"]] == ["users"]
    assert "note: no rules for orders: not checked" in found.err


def test_check_of_a_table_that_is_named_and_has_no_rules_is_usage(capsys: pytest.CaptureFixture[str]) -> None:
    found = called(capsys, "check", "-t", "orders", "-t", "us*")

    assert (found["exit_code"], found["error"]["type"]) == (2, "UsageError")
    assert found["error"]["message"].startswith("no rules for orders")


@pytest.mark.parametrize("command", ["pull", "sweep", "run", "check", "doctor"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-t", "x*"], "no table matches -t 'x*'"),
        (["-t", "order"], "no table 'order' in the config; did you mean 'orders'?"),
        (["--tag", "nigt"], "no table has the tag 'nigt'; did you mean 'night'?"),
        (["--exclude", "*"], "--exclude '*' leaves no table"),
    ],
)
def test_choice_of_nothing_exits_2_and_names_what_there_is(
    capsys: pytest.CaptureFixture[str], home: Path, command: str, words: list[str], message: str
) -> None:
    found = called(capsys, command, *words)

    assert (found["exit_code"], found["error"]["message"]) == (2, message)
    assert "orders" in found["error"]["fix"] or "night" in found["error"]["fix"]
    assert not (home / "reports").exists()


@pytest.mark.parametrize("words", [["--tag", "night"], ["--exclude", "orders"]])
def test_props_and_a_choice_among_the_tables_of_a_config_exclude_each_other(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    found = called(capsys, "pull", "--props", "orders.properties", *words)

    assert (found["exit_code"], "--props names one table" in found["error"]["message"]) == (2, True)


def test_tag_that_stands_twice_is_an_error_of_its_line(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    (home / "reconcile.yaml").write_text(CONFIG.replace("[night, shop]", "[night, night]"), encoding="utf-8")

    found = called(capsys, "config", "validate")

    assert found["error"]["problems"] == ["reconcile.yaml:4: tables[0].tags: holds an entry twice"]


def test_command_to_run_again_has_the_words_that_were_typed(capsys: pytest.CaptureFixture[str]) -> None:
    run(["run", "--apply", "--jobs", "2", "-t", "order*", "--exclude", "order_lines"])

    told = capsys.readouterr().out.splitlines()

    assert "  hudi-reconcile run -t 'order*' --exclude order_lines --apply --jobs 2" in told
