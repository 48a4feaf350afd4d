"""`config show | validate | schema` and `init` end to end, without a database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from hudi_reconcile.cli.main import run

CANARY = "hunter2-canary"
CONFIG = """\
version: 1
source: {url: "postgresql://reader@${env:DB_HOST}/d", password: "${env:DB_PASSWORD}"}
tables:
  - {name: orders, source: {table: orders}, lake: {path: lake}}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DB_HOST", f"{CANARY}.example")
    monkeypatch.setenv("DB_PASSWORD", CANARY)
    (tmp_path / "reconcile.yaml").write_text(CONFIG, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("form", ["text", "json"])
def test_show_prints_the_resolved_config_without_any_secret(
    home: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    assert run(["config", "show", "--format", form]) == 0

    out, err = capsys.readouterr()
    assert CANARY not in out + err
    shown = json.loads(out)["config"] if form == "json" else YAML(typ="safe").load(out)
    assert shown["source"]["url"] == "postgresql://reader@***/d"
    assert shown["source"]["password"] == "***"
    assert shown["tables"][0]["lake"]["path"] == str(home / "lake")
    assert shown["tables"][0]["policy"]["max_delete_share"] == "5%"


def test_validate_says_ok_and_names_the_tables(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert home.is_dir()
    assert run(["config", "validate"]) == 0
    assert capsys.readouterr().out == "reconcile.yaml: ok (1 table: orders)\n"

    assert run(["config", "validate", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["outcome"], document["error"], document["tables"]) == ("clean", None, ["orders"])


def test_validate_names_every_variable_of_a_secret_that_is_not_set(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "reconcile.yaml").write_text(f"{CONFIG}audit: {{key: '${{env:AUDIT_KEY}}'}}\n", encoding="utf-8")
    monkeypatch.setenv("DB_PASSWORD", "")
    monkeypatch.delenv("AUDIT_KEY", raising=False)

    assert run(["config", "validate", "--format", "json"]) == 2

    error = json.loads(capsys.readouterr().out)["error"]
    assert error["problems"] == [
        "reconcile.yaml: source.password: environment variable DB_PASSWORD is not set, or empty",
        "reconcile.yaml: audit.key: environment variable AUDIT_KEY is not set, or empty",
    ]


def test_validate_lists_every_problem_and_exits_2(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = CONFIG.replace("lake:", "lak:") + f"pasword: {CANARY}\n"
    (home / "reconcile.yaml").write_text(wrong, encoding="utf-8")

    assert run(["config", "validate", "--format", "json"]) == 2

    out, err = capsys.readouterr()
    assert [problem.split(": ")[:2] for problem in json.loads(out)["error"]["problems"]] == [
        ["reconcile.yaml:4", "tables[0].lake"],
        ["reconcile.yaml:4", "tables[0].lak"],
        ["reconcile.yaml:5", "pasword"],
    ]
    assert CANARY not in out + err


def test_schema_is_json_and_needs_no_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(["config", "schema"]) == 0

    assert json.loads(capsys.readouterr().out)["required"] == ["version", "source", "tables"]


def test_init_writes_three_files_that_validate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", str(tmp_path / "new")]) == 0

    files = {str(path.relative_to(tmp_path / "new")) for path in (tmp_path / "new").rglob("*") if path.is_file()}
    assert files == {"reconcile.yaml", "rules/orders.yaml", ".gitignore"}
    assert run(["-c", str(tmp_path / "new/reconcile.yaml"), "config", "validate"]) == 0
    assert "ok (1 table: orders)" in capsys.readouterr().out


def test_init_never_overwrites_and_writes_nothing_where_a_file_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".gitignore").write_text("mine\n", encoding="utf-8")

    assert run(["init", str(tmp_path), "--format", "json"]) == 2

    assert str(tmp_path / ".gitignore") in json.loads(capsys.readouterr().out)["error"]["message"]
    assert [path.name for path in tmp_path.iterdir()] == [".gitignore"]
    assert (tmp_path / ".gitignore").read_text(encoding="utf-8") == "mine\n"


def test_init_into_a_place_that_cannot_be_a_folder_is_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")

    assert run(["init", str(tmp_path / "file")]) == 2
    assert "cannot write" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["init", "--from-props", "x"], ["-c", "x.yaml", "init"]])
def test_init_refuses_what_it_would_not_honour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(arguments) == 2
    assert list(tmp_path.iterdir()) == []
