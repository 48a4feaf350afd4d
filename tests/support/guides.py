"""The guides of CONTRIBUTING as tests walk them: the files that one names, and a copy of the package to follow it in."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.docs import ROOT

PACKAGE = "hudi_reconcile"
NAME = "NAME"  # what a guide calls the thing that is not there yet
_FILE = re.compile(rf"`(?:{PACKAGE}/)?((?:[A-Za-z_]+/)+[A-Za-z_]+\.(?:py|html|lock))`")


def guide_text(title: str) -> str:
    """One guide, without its title."""
    return (ROOT / "CONTRIBUTING.md").read_text("utf-8").split(f"## {title}\n")[1].split("\n## ")[0]


def guide_files(title: str, name: str = NAME) -> set[str]:
    """The files of the package that the steps of a guide name, for a new thing of that name."""
    found = {path.replace(NAME, name) for path in _FILE.findall(_steps(title))}
    return {path for path in found if not path.startswith(("tests/", "docs/"))}


def guide_pages(title: str) -> set[str]:
    """The documents and files of tests that the steps of a guide name."""
    return set(re.findall(r"(?:tests|docs)/[\w/.-]+\.(?:py|md)", _steps(title)))


def _steps(title: str) -> str:
    return "\n".join(re.findall(r"^\d\. .*(?:\n   .*)*", guide_text(title), re.MULTILINE))


@dataclass(frozen=True, slots=True)
class Walk:
    """A copy of the package, and what was done to it. Paths are relative to the package."""

    place: Path
    added: dict[str, str] = field(default_factory=dict)
    edited: dict[str, int] = field(default_factory=dict)

    @classmethod
    def begin(cls, place: Path) -> Walk:
        """An untouched copy."""
        shutil.copytree(ROOT / PACKAGE, place / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
        return cls(place)

    def add(self, path: str, text: str) -> None:
        """A new file."""
        file = self.place / PACKAGE / path
        assert not file.exists(), f"{path} is there already"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
        self.added[path] = text

    def insert(self, path: str, text: str, *, before: str) -> None:
        """New lines in front of one that is there once."""
        file = self.place / PACKAGE / path
        lines = file.read_text("utf-8").splitlines(keepends=True)
        (at,) = [number for number, line in enumerate(lines) if line.strip() == before]
        file.write_text("".join((*lines[:at], text, *lines[at:])), "utf-8")
        self.edited[path] = self.edited.get(path, 0) + len(text.splitlines())

    def change(self, path: str, old: str, new: str) -> None:
        """One line that is there once reads otherwise."""
        file = self.place / PACKAGE / path
        text = file.read_text("utf-8")
        assert text.count(f"\n{old}\n") == 1, f"{path} has no such line: {old}"
        file.write_text(text.replace(f"\n{old}\n", f"\n{new}\n"), "utf-8")
        self.edited[path] = self.edited.get(path, 0) + 1

    @property
    def touched(self) -> set[str]:
        """Every file that is new or edited."""
        return {*self.added, *self.edited}

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Python with the copy in place of the package; the tests' own modules are these."""
        environment = {**os.environ, "PYTHONPATH": f"{self.place}{os.pathsep}{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
        call = [sys.executable, *words]
        return subprocess.run(call, cwd=self.place, env=environment, capture_output=True, text=True, check=False)
