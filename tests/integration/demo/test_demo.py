"""The demo as a whole process on a machine without Java: the story must end well, and leave what it says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.docs import ROOT, blocks


@pytest.mark.timeout(900)
def test_demo_without_java_on_path_ends_well_and_leaves_its_reports(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    environ = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environ["PATH"] = str(path_without_java(tmp_path))
    command = [sys.executable, "-m", "hudi_reconcile", "demo", "--rows", "500", "--keep", str(folder)]

    done = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, env=environ, check=False)

    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["outcome"], document["exit_code"], document["error"]) == ("clean", 0, None)
    told = [(one["command"], one["outcome"]) for one in document["reports"]]
    assert told == [
        ("pull", "pulled"),
        ("pull", "pulled"),
        ("sweep", "drift"),
        ("apply", "corrected"),
        ("sweep", "clean"),
    ]
    assert all(Path(one["path"]).is_file() for one in document["reports"])
    assert "499 rows on both sides, and not one differs" in done.stderr
    assert story_of_the_readme() - without_numbers(done.stderr) == set()
    assert password_is_nowhere_but_in_its_file(folder)


def story_of_the_readme() -> set[str]:
    """What the README shows of the demo."""
    (shown,) = blocks(ROOT / "README.md", "text")
    return without_numbers(shown)


def without_numbers(text: str) -> set[str]:
    """The lines, whatever the counts and instants in them."""
    return {re.sub(r"\d[\d,]*", "#", line).strip() for line in text.splitlines()}


def path_without_java(tmp_path: Path) -> Path:
    """A PATH of one folder with all that PATH has, but for java."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).glob("*"):
            link = folder / program.name
            if program.name != "java" and not link.is_symlink():
                link.symlink_to(program)
    return folder


def password_is_nowhere_but_in_its_file(folder: Path) -> bool:
    secret = folder / "secrets" / "shop_password"
    password = secret.read_bytes().strip()
    return [path for path in folder.rglob("*") if path.is_file() and password in path.read_bytes()] == [secret]
