"""What `demo` refuses before it starts anything. The story itself is in tests/integration/demo."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudi_reconcile.cli.main import run


def test_folder_that_is_not_empty_is_refused_and_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("mine")

    assert run(["demo", "--keep", str(tmp_path)]) == 2
    assert "the folder is not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_too_few_rows_are_refused_before_a_folder_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--rows", "99", "--keep", str(tmp_path / "new")]) == 2
    assert "at least 100 orders" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
