"""What the wheel carries beside its modules is what the locks and the commands make: constraints and the man page."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib

import pytest
from packaging.requirements import Requirement

from hudi_reconcile.cli.registry import COMMANDS
from tests.support import man
from tests.support.constraints import PLACE, constraints
from tests.support.docs import ROOT

PAGE = ROOT / "docs" / "hudi-reconcile.1"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_constraints_of_the_wheel_are_the_pins_of_the_lock() -> None:
    lock = (ROOT / "requirements.lock").read_text("utf-8")

    assert PLACE.read_text("utf-8") == constraints(lock), "python -m tests.support.constraints"
    assert PLACE.read_text("utf-8").count("==") == lock.count("==")


def test_constraints_pin_every_dependency_within_its_range() -> None:
    pins = [Requirement(line) for line in PLACE.read_text("utf-8").splitlines() if not line.startswith("#")]
    by_name = {plain(pin.name): next(iter(pin.specifier)).version for pin in pins}

    for text in PROJECT["project"]["dependencies"]:
        wanted = Requirement(text)
        assert wanted.specifier.contains(by_name[plain(wanted.name)]), text


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_man_page_is_the_one_that_the_commands_make_and_the_wheel_installs_it() -> None:
    assert PAGE.read_text("utf-8") == man.page(), "make man"
    shared = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert shared == {"docs/hudi-reconcile.1": "share/man/man1/hudi-reconcile.1"}


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_man_page_reads_as_text_with_every_command_and_without_a_warning() -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-P-cbou", str(PAGE)],  # noqa: S607 - Debian's
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stderr == ""
    for name in COMMANDS:
        assert re.search(rf"^ {{2,5}}{name} ", done.stdout, re.MULTILINE), name
    assert "--from-database" in done.stdout
    assert "130, 143" in done.stdout
