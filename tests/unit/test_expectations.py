"""What docs/expectations.md says is held by a test, and shown by a command that the tool takes."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from hudi_reconcile.cli.main import group
from hudi_reconcile.cli.registry import COMMANDS
from tests.support.docs import ROOT, TOOL

TEXT = (ROOT / "docs" / "expectations.md").read_text("utf-8")
ENTRIES = [
    tuple(entry.split("\n", 1)) for entry in re.split(r"^### |^## .*\n", TEXT, flags=re.MULTILINE)[1:] if entry.strip()
]
TEST = re.compile(r"^- `tests/[\w/.]+::\w+`$", re.MULTILINE)
WIDEST = 120
CALLS = sorted(set(re.findall(rf"`{TOOL} ([^`]+)`", TEXT)))


@pytest.mark.parametrize("call", CALLS)
def test_command_that_shows_an_expectation_is_one_that_the_tool_takes(call: str) -> None:
    word, *rest = shlex.split(call)
    command: click.Command = COMMANDS[word].load()
    with group.make_context(TOOL, [word, *rest]) as context:
        if isinstance(command, click.Group):
            command, rest = command.commands[rest[0]], rest[1:]

        assert command.make_context(word, rest, parent=context).command is command


def test_targets_that_are_named_are_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))

    assert set(re.findall(r"`make ([a-z-]+)`", TEXT)) <= targets


def test_every_expectation_is_held_by_a_test_or_called_not_yet() -> None:
    assert len(ENTRIES) > 20
    for expected, body in ENTRIES:
        missing = body.strip() == "Not yet."
        assert missing is (TEST.search(body) is None), expected
        assert missing or re.search(r"^See it: \S", body, re.MULTILINE), expected


def test_lines_of_the_expectations_fit_a_terminal() -> None:
    assert [line for line in TEST.sub("", TEXT).splitlines() if len(line) > WIDEST] == []
