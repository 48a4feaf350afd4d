"""A PDF is printed whole or not at all, and where nothing prints it the error says what to install."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hudi_reconcile.app.pages import VARIABLE, print_page
from hudi_reconcile.core.errors import UsageError


def browser_that(does: str, folder: Path) -> dict[str, str]:
    """An environment whose only browser is a shell script."""
    script = folder / "chromium"
    script.write_text(
        f'#!/bin/sh\nfor word; do case "$word" in --print-to-pdf=*) to="${{word#*=}}";; esac; done\n{does}\n'
    )
    script.chmod(0o755)
    return {"PATH": str(folder)}


def test_machine_without_a_browser_is_told_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none of chromium, chromium-browser") as refused:
        print_page("<p>page</p>", {"PATH": str(tmp_path)})

    assert "apt-get install chromium" in refused.value.fix


def test_browser_that_was_named_and_is_none_is_not_replaced_by_another(tmp_path: Path) -> None:
    environ = {**browser_that('echo %PDF-1.4 > "$to"', tmp_path), VARIABLE: str(tmp_path / "nothing")}

    with pytest.raises(UsageError, match="is no program"):
        print_page("<p>page</p>", environ)


@pytest.mark.parametrize(
    ("does", "why"),
    [("exit 1", "CalledProcessError"), ("exit 0", "FileNotFoundError"), ('echo sorry > "$to"', "it wrote no PDF")],
)
def test_browser_that_prints_nothing_is_an_error(tmp_path: Path, does: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as refused:
        print_page("<p>page</p>", browser_that(does, tmp_path))

    assert "-o report.html" in refused.value.fix


def test_browser_gets_the_page_as_a_file_of_its_own_that_is_gone_afterwards(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    does = f'for page; do :; done; printf "%%PDF-1.4 %s" "$page" > "$to"; cat "${{page#file://}}" > {kept}'

    found = print_page(
        "<p>page</p>", {**browser_that(does, tmp_path), "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    )

    assert kept.read_text() == "<p>page</p>"
    assert not Path(found.decode().removeprefix("%PDF-1.4 file://")).exists()
