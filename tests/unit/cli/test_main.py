"""The command line as people and scripts meet it: help, unknown words, settings."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hudi_reconcile import __version__
from hudi_reconcile.cli.main import run
from hudi_reconcile.cli.registry import COMMANDS, find_command

CONTRACT = {
    "init", "doctor", "config", "pull", "sweep", "findings", "plan", "apply", "run", "check", "changes", "report",
    "history", "audit", "jars", "demo", "state",
}  # fmt: skip


def test_help_lists_every_command_of_the_contract_with_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0

    listed = dict(re.findall(r"^  ([a-z]+)  +([A-Z].*)$", capsys.readouterr().out, re.MULTILINE))
    assert set(listed) == set(COMMANDS) == CONTRACT | {"undo", "rules", "diff", "approve"}
    assert all(line.endswith(".") for line in listed.values())


def test_version_is_a_line_for_the_tool_and_one_for_each_part_of_a_session(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0

    out, err = capsys.readouterr()
    assert (out.splitlines()[0], err) == (f"hudi-reconcile {__version__}", "")
    assert re.findall(r"^(\w+) [\d.]+ \(.+\)$", out, re.MULTILINE) == ["Spark", "Hudi", "Java"]


USAGE = [
    ([], "a command is missing", "hudi-reconcile --help"),
    (["swep"], "no command 'swep'; did you mean 'sweep'? (legal: init,", "hudi-reconcile --help"),
    (["xyzzy"], "no command 'xyzzy' (legal: init,", "hudi-reconcile --help"),
    (["--nope"], "No such option", "hudi-reconcile --help"),
    (["config"], "a command is missing", "hudi-reconcile config --help"),
    (["config", "shw"], "No such command 'shw'", "hudi-reconcile config --help"),
    (["config", "show", "--formt", "x"], "No such option", "hudi-reconcile config show --help"),
    (["config", "show", "--format", "xml"], "Invalid value for '--format'", "hudi-reconcile config show --help"),
    (["-q", "-v", "config", "show"], "-q and -v exclude each other", "give one of them"),
    (["sweep", "--budget", "soon"], "--budget 'soon': not a duration", "for example --budget 10m"),
    (["changes"], "Missing option '--type'", "hudi-reconcile changes --help"),
    (["changes", "--type", "upsert"], "which table", "-t T, or --path TABLE"),
]


@pytest.mark.parametrize(("arguments", "message", "fix"), USAGE)
def test_wrong_call_is_usage_and_names_the_next_command(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str, fix: str
) -> None:
    assert run(arguments) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert message in err
    assert err.endswith(f"\nfix: {fix}\n")


@pytest.mark.parametrize("arguments", [arguments for arguments, _, _ in USAGE if arguments[-1:] != ["xml"]])
def test_wrong_call_with_format_json_is_a_document_too(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert run([*arguments, "--format=json"]) == 2

    document = json.loads(capsys.readouterr().out)
    assert (document["version"], document["outcome"], document["exit_code"]) == (1, "usage", 2)
    assert set(document["error"]) == {"type", "message", "fix"}


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ([], None),
        (["--nope"], None),
        (["nope"], None),
        (["sweep", "-t", "config"], "sweep"),
        (["-c", "sweep", "-v", "pull"], "pull"),
        (["config"], "config"),
        (["config", "show"], "config show"),
        (["audit", "--format", "json"], "audit"),
        (["--log-format", "json", "sweep"], "sweep"),
        (["--log-format=json", "sweep"], "sweep"),
    ],
)
def test_called_command_is_made_out_of_the_arguments(arguments: list[str], command: str | None) -> None:
    assert find_command(arguments) == command


def test_config_option_names_the_file_that_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-c", str(tmp_path / "other.yaml"), "config", "validate"]) == 2
    assert f"error: {tmp_path}/other.yaml: there is no such config file" in capsys.readouterr().err
