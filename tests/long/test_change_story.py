"""`make change-histories`: every command of docs/change-queries.md on a table that was pulled and corrected, and an undo.

Not a part of `make test`, which has the same table and fewer questions (`tests/integration/test_changes.py`).
"""

from __future__ import annotations

import shlex
from decimal import Decimal
from pathlib import Path

import pytest

from hudi_reconcile.cli.main import run
from tests.integration.changes.story import HIDDEN, ROWS, changes, copied, in_step_with, told_story
from tests.integration.project import Project, Ran
from tests.integration.test_changes import assert_corrections_are_shown
from tests.support.docs import ROOT, commands
from tests.support.postgres import Database


@pytest.mark.usefixtures("spark")
def test_commands_of_the_document_do_what_it_says_and_an_undo_is_told_as_such(
    pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    story = told_story(pg, tmp_path, capsys, monkeypatch)
    project = story.project
    printed = documented(project)
    assert "amount: 2.20 -> 99.00" in printed["--type full-delta"]
    (late,) = printed["--type append-only --corrections-only"].splitlines()[1:]
    assert "order_id=42" in late
    assert "late_arriving" in late
    assert_corrections_are_shown((tmp_path / "corrected.html").read_text())
    assert project.run("changes", "-t", "orders", "--type", "upsert", "--from", "latest").out == ""

    bring = in_step_with(project, monkeypatch)
    bring("--to", story.second)
    pulled_only = copied(project)
    assert {row[0] for row in pulled_only} == set(range(1, ROWS + 2))
    bring()
    assert project.json("undo", story.run_id, "--yes").code == 0
    undone = changes(project, "--type", "full-delta", "--from", story.third, "--corrections-only")
    assert {(one["op"], one["key"]["order_id"], one["correction"]["kind"]) for one in undone} == {
        ("u", 2, "undo"),
        ("i", 3, "undo"),
        ("d", 42, "undo"),
    }
    bring()
    assert copied(project) == pulled_only
    assert {row[0]: row[2] for row in pulled_only}[2] == Decimal("2.20")


def type_line(project: Project, *arguments: str) -> Ran:
    """As in the user's folder: a table that is named by its path is asked without the config."""
    if "--path" not in arguments:
        return project.run(*arguments)
    project.captured.readouterr()
    code = run(list(arguments))
    streams = project.captured.readouterr()
    return Ran(code, streams.out, streams.err)


def documented(project: Project) -> dict[str, str]:
    """What each command of docs/change-queries.md prints, by its arguments after the table's."""
    printed = {}
    for line in commands(ROOT / "docs" / "change-queries.md"):
        ran = type_line(project, *shlex.split(line, comments=True)[1:])
        assert ran.code == 0, (line, ran)
        hidden = (
            HIDDEN[1:] if "--path" in line else HIDDEN
        )  # without the config, columns are masked by their names alone
        assert not any(word in ran.out + ran.err for word in hidden)
        printed[line.partition("-t orders ")[2].strip()] = ran.out
    return printed
