"""The examples: every call is one that the tool takes, every file is what it says it is, and the pytest gate gates."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from ruamel.yaml import YAML

from hudi_reconcile.cli.main import group
from hudi_reconcile.cli.registry import COMMANDS
from tests.support.docs import ROOT, TOOL
from tests.unit.report.stories import all_stories

EXAMPLES = ROOT / "examples"


def calls(path: Path) -> Iterator[list[str]]:
    """The tool's arguments wherever a line of the file calls it."""
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        text = text.replace('f"{TOOL}', f" {TOOL} -c x").replace(
            '["hudi-reconcile", "-c", config, "check"', f"{TOOL} check "
        )
    text = re.sub(r"args: \[(.*)\]", lambda found: found.group(1).replace(",", ""), text)
    for line in text.splitlines():
        found = re.search(rf"(?:^|[\s/]){TOOL} ((?:-c|-q|-v|rules|check|run|audit) .*)$", line)
        if found and not line.lstrip().startswith(("#", "TOOL")):
            yield shlex.split(re.split(r'[")]|, "--format', found.group(1))[0])


FILES = [path for path in sorted(EXAMPLES.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
CALLS = [(path.name, call) for path in FILES for call in calls(path)]


@pytest.mark.parametrize(("file", "call"), CALLS, ids=[f"{name}: {' '.join(call)}" for name, call in CALLS])
def test_call_of_an_example_is_one_that_the_tool_takes(file: str, call: list[str]) -> None:
    assert file
    with group.make_context(TOOL, list(call)) as context:
        word, *rest = context._protected_args + context.args
        command: click.Command = COMMANDS[word].load()
        if isinstance(command, click.Group):
            command, rest = command.commands[rest[0]], rest[1:]

        assert command.make_context(word, rest, parent=context).command is command


def test_every_example_calls_the_tool() -> None:
    silent = {"README.md", "hudi-reconcile.timer"}
    elsewhere = {"reconcile_checks.py"}  # test_example_hosts.py looks at how it calls the tool

    assert {name for name, _ in CALLS} == {path.name for path in FILES} - silent - elsewhere


def test_files_are_of_their_kind() -> None:
    for path in FILES:
        if path.suffix in (".yaml", ".yml"):
            assert isinstance(YAML(typ="safe").load(path), dict)
        elif path.suffix in (".service", ".timer"):
            parser = configparser.ConfigParser(interpolation=None)
            parser.read(path)
            assert "Unit" in parser.sections()
        elif path.suffix == ".py":
            compile(path.read_text("utf-8"), str(path), "exec")


def gate(folder: Path, document: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """The pytest gate beside a tool that answers with a document."""
    (folder / "answer.json").write_text(json.dumps(document))
    tool = folder / TOOL
    tool.write_text(f"#!{sys.executable}\nprint(open({str(folder / 'answer.json')!r}).read())\nraise SystemExit(1)\n")
    tool.chmod(0o755)
    environ = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    call = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA", "--rootdir", str(folder)]
    test = EXAMPLES / "ci" / "test_data_quality.py"
    return subprocess.run([*call, str(test)], env=environ, cwd=folder, capture_output=True, text=True, check=False)


def test_pytest_gate_has_a_test_for_each_rule_that_ends_as_the_rule_did(tmp_path: Path) -> None:
    done = gate(tmp_path, dict(all_stories()["checked"].run))

    assert done.returncode == 1
    assert re.search(r"3 failed, 2 passed, 1 skipped", done.stdout), done.stdout
    assert "email matches <script>.*@: 1200 failed rows. ask the <b>shop</b> team" in done.stdout


def test_pytest_gate_ends_with_the_tools_exit_code_where_nothing_could_be_asked(tmp_path: Path) -> None:
    error = {"type": "UsageError", "message": "no rules", "fix": "name a file"}

    done = gate(tmp_path, {"version": 1, "command": "check", "outcome": "usage", "exit_code": 2, "error": error})

    assert done.returncode == 2
    assert "no rules" in done.stdout + done.stderr


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze here")
    units = EXAMPLES / "nightly"
    service = (units / "hudi-reconcile.service").read_text()
    (tmp_path / "hudi-reconcile.timer").write_text((units / "hudi-reconcile.timer").read_text())

    def verified(text: str) -> str:
        (tmp_path / "hudi-reconcile.service").write_text(re.sub(r"(?m)^ExecStart=\S+", "ExecStart=/bin/true", text))
        call = ["systemd-analyze", "verify", "hudi-reconcile.service", "hudi-reconcile.timer"]
        done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
        return "\n".join(line for line in done.stderr.splitlines() if "hudi-reconcile" in line)

    assert verified(service) == ""
    assert "Unknown key" in verified(service.replace("TimeoutStopSec", "TimeoutStop"))
