"""What `make help` lists."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.support.docs import ROOT

GROUPS = ["Everyday", "Longer tests", "Speed", "Evidence", "Upkeep"]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
PHONY = {name for line in re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE) for name in line.split()}
TARGETS = sorted(PHONY | set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE)))


@pytest.fixture(scope="module")
def lines() -> list[str]:
    done = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S607
    return done.stdout.splitlines()


def test_help_lists_its_commands_in_five_groups(lines: list[str]) -> None:
    assert [line for line in lines if line and not line.startswith(" ")] == GROUPS
    assert lines[0] == GROUPS[0]


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_stands_in_the_help_with_a_description(lines: list[str], target: str) -> None:
    assert [line for line in lines if re.fullmatch(rf"  {target} +\S.*", line)]


def test_descriptions_begin_in_one_column(lines: list[str]) -> None:
    commands = [line for line in lines if line.startswith("  ")]

    assert len({len(line) - len(re.sub(r"^  \S+ +", "", line)) for line in commands}) == 1
