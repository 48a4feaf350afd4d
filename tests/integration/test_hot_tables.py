"""Sweeps beside writers that never pause: each row is judged, and what cannot be is named; nothing else is held up by it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.integration.project import Project
from tests.support.postgres import Database

ROWS = 5_000
PLANTED = {"updated_without_watermark": [100, 200, 300], "deleted": [400, 500]}  # writers leave the hundreds alone
# Commands join the one session: a JVM of their own each costs 10 s.
pytestmark = pytest.mark.usefixtures("spark")
NOW = "clock_timestamp() at time zone 'UTC'"


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    pg.execute(
        "create table orders (order_id bigint primary key, note text not null, updated_at timestamp not null)",
        f"insert into orders select i, 'n', timestamp '2025-01-01' from generate_series(1, {ROWS}) i",
    )
    project = Project.of(tmp_path, pg, capsys)
    assert project.run("pull").code == 0
    return project


def plant(project: Project) -> None:
    project.database.execute(
        "update orders set note = 'silent' where order_id in (100, 200, 300)",
        "delete from orders where order_id in (400, 500)",
    )


def plant_again(project: Project) -> None:
    project.database.execute(
        "update orders set note = 'silent again' where order_id in (100, 200, 300)",
        "delete from orders where order_id in (600, 700)",
    )


class Writers:
    """Threads that write until they are stopped; what one of them raises is raised at the end. Counts changed rows."""

    def __init__(self, url: str) -> None:
        self._url, self._stop, self._errors = url, threading.Event(), list[Exception]()
        self._threads: list[threading.Thread] = []
        self.changes = 0

    def start(self, turn: Callable[[psycopg.Connection, int], int]) -> None:
        """One more thread, which does one turn after another."""

        def work() -> None:
            try:
                with psycopg.connect(self._url, autocommit=True) as connection:
                    number = 0
                    while not self._stop.is_set():
                        self.changes += turn(connection, number)
                        number += 1
            except psycopg.Error as error:
                self._errors.append(error)

        self._threads.append(threading.Thread(target=work, daemon=True))
        self._threads[-1].start()

    def end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        assert not self._errors, self._errors


@contextmanager
def beside(project: Project, *turns: Callable[[psycopg.Connection, int], int]) -> Iterator[Writers]:
    server = project.database.server
    url = f"postgresql://{server.user}:{server.password}@{server.host}:{server.port}/{project.database.name}"
    writers = Writers(url)
    for turn in turns:
        writers.start(turn)
    try:
        yield writers
    finally:
        writers.end()


def with_watermark(connection: psycopg.Connection, number: int) -> int:
    """A hundred rows of the lower half in one transaction."""
    time.sleep(0.02)
    first = number * 100 % (ROWS // 2)
    rows = f"order_id between {first} and {first + 99} and order_id % 100 <> 0"
    return connection.execute(f"update orders set note = '{number}', updated_at = {NOW} where {rows}").rowcount


def watermark_last(connection: psycopg.Connection, number: int) -> int:
    """Twenty rows of the upper half change for a while without their watermark, and get it in the end."""
    first = ROWS // 2 + number * 20 % (ROWS // 2)
    rows, changes = f"order_id between {first} and {first + 19} and order_id % 100 <> 0", 0
    for _ in range(20):
        changes += connection.execute(f"update orders set note = note || 'y' where {rows}").rowcount
        time.sleep(0.02)
    return changes + connection.execute(f"update orders set updated_at = {NOW} where {rows}").rowcount


def counters(connection: psycopg.Connection, number: int) -> int:
    """Three rows change without an end, and never their watermark."""
    time.sleep(0.005)
    return connection.execute(f"update orders set note = '{number}' where order_id in (4001, 4002, 4003)").rowcount


def found_keys(project: Project, *kinds: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for item in project.findings(*[word for kind in kinds for word in ("--kind", kind)]):
        found.setdefault(item["kind"], []).append(item["key"]["order_id"])
    return {kind: sorted(keys) for kind, keys in found.items()}


@pytest.mark.parametrize("mode", ["stream", "pushdown"])
def test_sweep_beside_writers_that_never_pause_finds_exactly_what_was_planted(project: Project, mode: str) -> None:
    project.settings["sweep"] = {"mode": mode}
    with beside(project, with_watermark, watermark_last) as writers:
        time.sleep(0.5)
        clean = project.json("sweep")
        plant(project)
        drift = project.json("sweep")
        keys = found_keys(project)

    assert (clean.code, clean.drift, clean.table["unverified"]) == (0, {}, []), clean
    assert (drift.code, drift.table["unverified"]) == (1, []), drift
    assert keys == PLANTED
    assert writers.changes > 1_000


def test_rows_that_never_rest_are_named_beside_the_drift_and_alone_leave_the_table_unverified(project: Project) -> None:
    project.settings["sweep"] = {"settle_limit": "2s"}
    project.settings["policy"] = {"max_delete_share": "20%"}
    with beside(project, with_watermark, counters):
        time.sleep(0.2)
        alone = project.json("sweep")
        plant(project)
        drift = project.json("sweep")
        drifted, moving = found_keys(project), found_keys(project, "moving")
        applied = project.json("apply", "latest", "--yes")
        again = project.json("apply", drift.document["run_id"], "--yes")
        plant_again(project)
        mended = project.json("run", "--apply")

    note = "changes without its watermark: 3 rows; no pull by it brings such changes"
    assert (alone.code, alone.drift, alone.table["not_drift"]["moving"]) == (3, {}, 3), alone
    assert (drift.code, drift.document["outcome"]) == (1, "drift"), drift
    assert (drifted, moving) == (PLANTED, {"moving": [4001, 4002, 4003]})
    assert [one["why"] for one in drift.table["unverified"]] == [
        "3 rows changed between all looks: they were not judged"
    ]
    assert note in drift.table["notes"]
    # All drift is corrected and verified, and still the table is not called corrected: not by the plan, and not by the run.
    assert (applied.code, applied.document["outcome"], applied.table["unverified"]) == (
        3,
        "unverified",
        drift.table["unverified"],
    )
    assert (applied.table["corrections"]["applied"], applied.table["verified_at"] is not None) == (5, True)
    assert (again.code, again.document["outcome"], again.table["already_applied"]) == (3, "unverified", True), again
    assert (mended.code, mended.document["outcome"]) == (3, "unverified"), mended
    assert (mended.table["corrections"]["applied"], mended.table["verified_at"] is not None) == (5, True)
