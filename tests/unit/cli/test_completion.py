"""Completion as bash, zsh and fish ask for it: in a process of its own, by the variables that their scripts set."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hudi_reconcile.cli.registry import COMMANDS

VARIABLE = "_HUDI_RECONCILE_COMPLETE"
FIRST_TABLE = Path(__file__).resolve().parents[3] / "docs" / "first-table.md"
TOOL = [sys.executable, "-m", "hudi_reconcile"]
SIGNS = {"bash": "complete -o nosort -F", "zsh": "#compdef hudi-reconcile", "fish": "complete --no-files --command"}
# What each shell's script sets for `hudi-reconcile swe<TAB>`, and what it reads back.
ASKED = [
    ("bash", "1", "plain,sweep\n"),
    ("zsh", "1", "plain\nsweep\nCompare source and lake"),
    ("fish", "swe", "plain,sweep\tCompare source and lake"),
]


def ask(instruction: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, VARIABLE: instruction, **variables}
    return subprocess.run(TOOL, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("shell", SIGNS)
def test_script_of_a_shell_is_printed_and_nothing_else(shell: str) -> None:
    done = ask(f"{shell}_source")

    assert (done.returncode, done.stderr) == (0, "")
    assert SIGNS[shell] in done.stdout
    assert f"{VARIABLE}={shell}_complete" in done.stdout


@pytest.mark.parametrize(("shell", "word", "answer"), ASKED)
def test_tab_is_answered_with_the_command_and_nothing_else(shell: str, word: str, answer: str) -> None:
    done = ask(f"{shell}_complete", COMP_WORDS="hudi-reconcile swe", COMP_CWORD=word)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(answer)


def test_bash_completes_every_command_and_option_of_the_tool(tmp_path: Path) -> None:
    tool = tmp_path / "hudi-reconcile"
    tool.write_text(f'#!/bin/sh\nexec {sys.executable} -m hudi_reconcile "$@"\n')
    tool.chmod(0o755)
    script = f"""
        PATH={tmp_path}:$PATH
        eval "$({VARIABLE}=bash_source hudi-reconcile)"
        COMP_WORDS=(hudi-reconcile ""); COMP_CWORD=1
        _hudi_reconcile_completion hudi-reconcile; echo "${{COMPREPLY[*]}}"
        COMPREPLY=(); COMP_WORDS=(hudi-reconcile sweep --bu); COMP_CWORD=2
        _hudi_reconcile_completion hudi-reconcile; echo "${{COMPREPLY[*]}}"
    """

    done = subprocess.run(["/bin/bash", "-c", script], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [" ".join(COMMANDS), "--budget"]


def test_line_that_the_document_shows_for_a_shell_asks_for_its_script() -> None:
    shown = dict(re.findall(rf"{VARIABLE}=(\w+)_source (hudi-reconcile)", FIRST_TABLE.read_text("utf-8")))

    assert shown == dict.fromkeys(SIGNS, "hudi-reconcile")


@pytest.mark.parametrize("instruction", ["tcsh_source", "bash_nothing"])
def test_shell_that_is_not_known_is_usage_and_lists_the_known_ones(instruction: str) -> None:
    done = ask(instruction)

    assert (done.returncode, done.stdout) == (2, "")
    assert f"no completion for '{instruction}'" in done.stderr
    assert f"{VARIABLE}=bash_source hudi-reconcile" in done.stderr
    assert "Traceback" not in done.stderr
