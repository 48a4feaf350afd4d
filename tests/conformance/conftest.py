"""Real parts as in tests/integration, below a JVM whose machine is in another zone, and the table that is printed at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hudi_reconcile.spark.session import Session
from tests.conformance import tally
from tests.conformance.support import page_of
from tests.integration import conftest as real
from tests.support.postgres import Database

postgres_server, maria_server, pg, maria, spark = (
    real.postgres_server,
    real.maria_server,
    real.pg,
    real.maria,
    real.spark,
)


@pytest.fixture(scope="session")
def spark_session() -> Iterator[Session]:
    """The tests' session; the machine around it is in a zone with summer time."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Europe/Berlin"
    try:
        with real.small_session() as session:
            yield session
    finally:
        os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)


@pytest.fixture
def latin_pg(pg: Database) -> Iterator[Database]:
    name = f"{pg.name}_latin"
    with pg.connect(autocommit=True) as admin:
        admin.execute(f"create database {name} template template0 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'")
        try:
            yield Database(pg.server, name)
        finally:
            admin.execute(f"drop database {name} with (force)")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if place := os.environ.get("SUPPORT_PAGE"):
        Path(place).write_text(page_of(tally.TRIED), "utf-8")
    for line in tally.lines():
        terminalreporter.write_line(line)
