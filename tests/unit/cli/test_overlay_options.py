"""`--profile` and `--set`, before a command's name and after it: what they change, and what is said of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hudi_reconcile.cli.main import run

CANARY = "hunter2-canary"
CONFIG = """\
version: 1
source: {url: "postgresql+psycopg://reader@127.0.0.1:1/shop"}
tables:
  - {name: orders, source: {table: orders}, lake: {path: lake/orders}, rules: rules.yaml}
  - {name: users, source: {table: users}, lake: {path: lake/users}}
profiles:
  prod: {reports: prod, defaults: {tags: [big]}, source: {max_connections: 8}}
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reconcile.yaml").write_text(CONFIG, encoding="utf-8")
    rules = "version: 1\ntable: orders\nrules: [{id: o-1, check: not_null, column: id}]\n"
    (tmp_path / "rules.yaml").write_text(rules, encoding="utf-8")
    return tmp_path


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The document of a call."""
    run([*arguments, "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("place", ["before", "after", "both"])
def test_shown_config_is_that_of_the_call(capsys: pytest.CaptureFixture[str], place: str) -> None:
    words = ["--profile", "prod", "--set", "source.statement_timeout=7s"]
    more = ["--set", "tables.users.sweep.settle=2s"]
    before, after = {"before": ([*words, *more], []), "after": ([], [*words, *more]), "both": (words, more)}[place]

    shown = called(capsys, *before, "config", "show", *after)["config"]

    assert (shown["source"]["max_connections"], shown["source"]["statement_timeout"]) == (8, "7s")
    assert Path(shown["reports"]).name == "prod"
    assert [(table["tags"], table["sweep"]["settle"]) for table in shown["tables"]] == [
        (["big"], "0s"),
        (["big"], "2s"),
    ]


def test_option_after_the_command_is_stronger_than_the_one_before_it(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--set", "source.max_connections=2", "--profile", "none"]

    shown = called(capsys, *words, "config", "show", "--profile", "prod", "--set", "source.max_connections=3")["config"]

    assert (shown["source"]["max_connections"], Path(shown["reports"]).name) == (3, "prod")


@pytest.mark.parametrize(
    "command",
    [
        ["pull"], ["pull", "--dry-run"], ["sweep"], ["run"], ["check"], ["config", "show"], ["config", "validate"],
        ["apply", "latest"], ["plan", "latest"], ["findings", "latest"], ["history"], ["report", "latest"], ["undo", "latest"],
        ["state", "show"], ["rules", "lint"], ["jars", "list"], ["audit", "verify"],
        ["changes", "-t", "orders", "--type", "upsert"], ["approve", "latest", "--as", "me"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_every_command_that_reads_the_config_takes_both(
    capsys: pytest.CaptureFixture[str], home: Path, command: list[str]
) -> None:
    for words, problem in (
        (["--profile", "prd"], "no profile 'prd' in the config; did you mean 'prod'?"),
        (["--set", "sorce.url=x"], "--set sorce: unknown key; did you mean 'source'?"),
    ):
        for arguments in ([*command, *words], [*words, *command]):
            assert run(arguments) == 2
            assert problem in capsys.readouterr().err
    assert {path.name for path in home.iterdir()} == {"reconcile.yaml", "rules.yaml"}


def test_doctor_looks_at_the_config_of_the_call(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    checks = {one["name"]: one for one in called(capsys, "doctor", "--profile", "prod")["checks"]}
    assert checks["reports"]["detail"].startswith(str(home / "prod"))

    found = called(capsys, "doctor", "--profile", "prd")
    assert found["exit_code"] == 2
    (config,) = (one for one in found["checks"] if one["name"] == "config")
    assert (config["status"], config["fix"]) == ("fail", "legal after --profile: prod")


def test_run_names_profile_and_keys_but_no_value_and_its_commands_carry_the_profile(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    secret = f"tables.orders.source.where=note = '{CANARY}'"

    found = called(capsys, "sweep", "--profile", "prod", "--set", secret, "--set", "source.max_connections=2")

    assert (found["provenance"]["profile"], found["provenance"]["set"]) == (
        "prod",
        "tables.orders.source.where, source.max_connections",
    )
    assert found["tables"][0]["error"]["fix"].endswith("hudi-reconcile --profile prod doctor")
    assert {path.parent for path in home.rglob("result.json")} == {home / "prod" / found["run_id"]}
    assert CANARY not in (home / "prod" / found["run_id"] / "result.json").read_text(encoding="utf-8")
    run(["report", "latest", "--profile", "prod", "-o", "report.html"])
    assert "hudi-reconcile --profile prod sweep" in (home / "report.html").read_text(encoding="utf-8")


def test_run_without_overlay_says_nothing_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert not {"profile", "set"} & set(called(capsys, "sweep")["provenance"])


def test_errors_fix_carries_the_profile(capsys: pytest.CaptureFixture[str]) -> None:
    found = called(capsys, "plan", "latest", "--profile", "prod")

    assert "hudi-reconcile --profile prod " in found["error"]["fix"]


@pytest.mark.parametrize("words", [["--profile", "prod"], ["--set", "reports=x"]])
@pytest.mark.parametrize("command", [["init", "new"], ["pull", "--props", "x.properties"]], ids=" ".join)
def test_command_without_a_config_refuses_what_it_would_not_honour(
    capsys: pytest.CaptureFixture[str], home: Path, command: list[str], words: list[str]
) -> None:
    found = called(capsys, *command, *words)

    assert (found["exit_code"], "--profile" in found["error"]["message"]) == (2, True)
    assert not (home / "new").exists()


def test_profile_needs_a_config_also_where_reports_alone_would_do(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    (home / "reconcile.yaml").unlink()
    (home / "reports").mkdir()

    assert called(capsys, "history")["exit_code"] == 0
    assert "there is no such config file" in called(capsys, "history", "--profile", "prod")["error"]["message"]


def test_assignment_without_a_value_is_usage_that_repeats_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "show", "--set", CANARY]) == 2
    assert CANARY not in "".join(capsys.readouterr())


def test_validate_tells_all_problems_of_all_layers_as_json(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    (home / "more.yaml").write_text("tables: [{name: x, source: {table: x}, lake: {pth: x}}]\n", encoding="utf-8")
    (home / "reconcile.yaml").write_text(CONFIG + "include: [more.yaml]\ndefaults: {sweep: {setle: 1s}}\n", "utf-8")

    problems = called(capsys, "config", "validate", "--profile", "prod", "--set", "jars.mode=x")["error"]["problems"]

    assert [one.partition(" (")[0].partition(", found")[0] for one in problems] == [
        "reconcile.yaml:9: defaults.sweep.setle: unknown key; did you mean 'settle'?",
        "more.yaml:1: tables[0].lake.path: is missing",
        "more.yaml:1: tables[0].lake.pth: unknown key; did you mean 'path'?",
        "--set jars.mode: expected auto | packages | paths",
    ]
