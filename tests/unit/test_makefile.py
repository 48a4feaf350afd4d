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


def test_everything_runs_all_that_make_test_leaves_out_and_make_test_names_it() -> None:
    parts = ("check", "real")
    of_real = ("integration", "conformance")
    (left_out,) = re.findall(r"^LEFT_OUT := (.*)$", MAKEFILE, re.MULTILINE)
    longer = MAKEFILE.split("##@ Longer tests")[1].split("##@")[0]
    names = [name for name in re.findall(r"^([a-z-]+):.*##", longer, re.MULTILINE) if name not in (*parts, *of_real)]

    assert sorted(left_out.split()) == sorted(names)
    done = subprocess.run(["make", "-n", "everything"], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S607
    assert f"left out, run by make everything: {left_out}" in done.stdout
    for name in (*parts, *names):
        (recipe,) = re.findall(rf"^{name}:.*##.*\n\t@?(.+)$", MAKEFILE, re.MULTILINE)
        assert re.sub(r"\$\(\w+\).*", "", recipe.replace("$(BIN)", ".venv/bin")) in done.stdout, name
        if name == "real":
            assert all(f" tests/{folder}" in recipe for folder in of_real), recipe
