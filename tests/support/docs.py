"""The documents as tests see them: code blocks by language, and the commands of console blocks."""

from __future__ import annotations

import ast
import re
import shlex
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "rules" / "README.md",
        ROOT / "reports/sample/README.md",
    ]
)
TOOL = "hudi-reconcile"

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(document: Path, language: str) -> list[str]:
    """The code blocks of a language, in order."""
    return [body for found, body in _BLOCK.findall(document.read_text("utf-8")) if found == language]


def commands(document: Path) -> list[str]:
    """Every line of the console blocks that starts with `$ `, without its comment, in order."""
    lines = [line for body in blocks(document, "console") for line in body.splitlines() if line.startswith("$ ")]
    return [re.sub(r"\s+#.*", "", line.removeprefix("$ ")) for line in lines]


def shown_calls(document: Path) -> list[list[str]]:
    """The arguments of every call of the tool that a code block of any language shows."""
    pattern = re.compile(rf"^\$ {TOOL} (.*)$", re.MULTILINE)
    lines = [found for _, body in _BLOCK.findall(document.read_text("utf-8")) for found in pattern.findall(body)]
    return [shlex.split(line, comments=True) for line in lines]


@cache
def names_of_tests(path: str) -> frozenset[str]:
    """The names of the test functions of a file."""
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))
