"""A process and a JVM whose machine is in another zone, and the table that is printed at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import tally
from tests.conformance.support import page_of
from tests.support.postgres import Database
from tests.support.real_parts import ZONE


@pytest.fixture(autouse=True)
def summer_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is where its JVM is: in a zone with summer time."""
    monkeypatch.setenv("TZ", ZONE)


@pytest.fixture
def latin_pg(pg: Database) -> Iterator[Database]:
    name = f"{pg.name}_latin"
    with pg.connect(autocommit=True) as admin:
        admin.execute(f"create database {name} template template0 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'")
        try:
            yield Database(pg.server, name)
        finally:
            admin.execute(f"drop database {name} with (force)")


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[tally.KEY] = tally.counts()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker's counts, which came home with it."""
    tally.add(getattr(node, "workeroutput", {}).get(tally.KEY, {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if place := os.environ.get("SUPPORT_PAGE"):
        Path(place).write_text(page_of(tally.TRIED), "utf-8")
    for line in tally.lines():
        terminalreporter.write_line(line)
