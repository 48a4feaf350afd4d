"""`make nights`: thirty nights of `run --apply` in one Spark that lives on, with faults on some; nobody watches.

Each night's verdict and exit code must be what they should be. No table may be called clean or corrected that is not equal to
its source, which a reader of Hudi checks that knows nothing of the run. Runs, timeline, files and memory must stay bounded.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from bench.memory import Memory, read_memory
from tests.integration.killed import started
from tests.integration.project import Project, in_table
from tests.support import nights
from tests.support.nights import DRIFT, PULLED, TABLES, Night
from tests.support.one_session import OneSession
from tests.support.postgres import Database

PATIENCE_SECONDS = 300.0
KEPT_SECONDS = 60  # runs that are older go each night, as after `audit purge --older-than 30d`
HEAP = "1g"
KEPT_COMMITS = 6
FEWEST_ACTIVE, MOST_ACTIVE = 8, 12  # commits on the active timeline
OPTIONS = {"hoodie.keep.min.commits": str(FEWEST_ACTIVE), "hoodie.keep.max.commits": str(MOST_ACTIVE)}
LAKES: dict[str, dict[str, Any]] = {
    "orders": {"type": "copy_on_write"},
    "events": {"type": "merge_on_read", "partition_by": ["day(created_at)"]},
}
ENDINGS = {"SIGKILL": -signal.SIGKILL, "SIGTERM": 143, "Java": 3}
COLUMNS = ("order_id", "created_at", "region", "note", "amount", "updated_at")
MOST_GROWTH = 1.15


@dataclass(frozen=True, slots=True)
class Done:
    """One command: its exit code and its document, empty where it was killed."""

    code: int
    document: dict[str, Any]

    @property
    def outcomes(self) -> dict[str, str]:
        return {table["name"]: table["outcome"] for table in self.document.get("tables", ())}

    @property
    def drift(self) -> int:
        return sum(sum(table["findings"].values()) for table in self.document.get("tables", ()))

    @property
    def applied(self) -> int:
        return sum(table["corrections"]["applied"] for table in self.document.get("tables", ()))

    @property
    def pulled(self) -> int:
        return sum(table["pull"]["rows"] for table in self.document.get("tables", ()) if table["pull"])


@dataclass(frozen=True, slots=True)
class Kept:
    """What is there after a night: runs, and below the lakes commits on the longest active timeline and files."""

    runs: int
    commits: int
    timeline_files: int
    data_files: int
    kib: int
    memory: Memory
    seconds: float


@dataclass(slots=True)
class Month:
    """A project, the Spark that lives through its nights, and what each night left."""

    project: Project
    spark: SparkSession
    session: OneSession
    columns: list[str] = field(default_factory=lambda: list(COLUMNS))
    kept: list[Kept] = field(default_factory=list)

    def command(self, *arguments: str) -> Done:
        """One command in the Spark that lives on. Whatever it says of a table is held against the table."""
        code, out = self.session.run(*arguments, "--format", "json")
        done = Done(code, json.loads(out))
        assert done.document["exit_code"] == code, done
        if arguments[0] in ("run", "apply"):
            self.hold_against_tables(done)
        return done

    def end_at(self, place: str, way: str) -> Done:
        """`run --apply` in a process of its own, which ends at the place."""
        before = self.runs()
        process = started(self.project, "run", "--apply", module=("tests.support.stop_places", place, way))
        assert process.wait(PATIENCE_SECONDS) == ENDINGS[way], (self.project.folder / "killed.log").read_text()
        found = [json.loads((run / "result.json").read_text()) for run in self.runs() - before]
        done = Done(process.returncode, found[0] if found else {})
        self.hold_against_tables(done)
        return done

    def runs(self) -> set[Path]:
        """The folders of all runs that are kept."""
        return {path.parent for path in (self.project.folder / "reports").glob("*/result.json")}

    def hold_against_tables(self, done: Done) -> None:
        """A table that is called clean or corrected is equal to its source."""
        good = {name for name, outcome in done.outcomes.items() if outcome in ("clean", "corrected")}
        assert {name for name in good if not self.is_equal(name)} == set(), done
        if done.code == 0 and done.document["command"] == "run":
            assert good == set(TABLES), done

    def is_equal(self, name: str) -> bool:
        path = self.project.folder / "lake" / name
        found = in_table(self.spark, path, *self.columns)
        rows = sorted(self.project.database.query(f"select {', '.join(self.columns)} from {name}"), key=str)
        return found == rows

    def look(self, seconds: float) -> Kept:
        lake = self.project.folder / "lake"
        timelines = [list((lake / name / ".hoodie" / "timeline").glob("*.*")) for name in TABLES]
        files = [path for path in lake.rglob("*") if path.is_file()]
        return Kept(
            len(self.runs()),
            max(sum("_" in path.name and path.name.endswith("commit") for path in line) for line in timelines),
            sum(map(len, timelines)),
            sum(".hoodie" not in path.parts for path in files),
            sum(path.stat().st_size for path in files) // 1024,
            read_memory(self.session.process.pid),
            seconds,
        )


@pytest.fixture
def month(spark: SparkSession, pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Month]:
    nights.make_tables(pg)
    project = Project.of(tmp_path, pg, capsys)
    tables = [
        {
            **project.settings,
            "name": name,
            "source": {"table": f"public.{name}"},
            "lake": {"path": f"lake/{name}", "keep_commits": KEPT_COMMITS, "options": OPTIONS, **lake},
        }
        for name, lake in LAKES.items()
    ]
    project.settings, project.more = tables[0], tables[1:]
    project.top = {
        "audit": {"retention": f"{KEPT_SECONDS}s"},
        "spark": {"conf": {"spark.driver.memory": HEAP}},
    }
    config = project.write_config()
    with OneSession(config, tmp_path / "session.log") as session:
        found = Month(project, spark, session)
        assert found.command("pull").code == 0
        yield found


# --- what goes wrong -------------------------------------------------------------------------------------------------


@contextmanager
def locked(month: Month, name: str) -> Iterator[None]:
    """Another session alters the table, and does not come to its end."""
    with month.project.database.connect() as other:
        other.execute(f"lock table {name} in access exclusive mode")
        yield
        other.rollback()


def crash_the_database(database: Database, crashed: threading.Event) -> None:
    """SIGKILL to the backend of a read: the server ends every session and recovers, as after a crash."""
    until = time.monotonic() + PATIENCE_SECONDS
    asked = (
        "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        " and backend_type = 'client backend' and query like '%events%' limit 1"
    )
    while not (found := database.query(asked)) and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(found[0][0], signal.SIGKILL)
    crashed.set()


def come_through(month: Month, night: Night) -> list[Done]:
    """The commands of a night, the last of which ends right; each before it ended as the fault wants."""
    if night.number in nights.ENDED:
        return [month.end_at(*nights.ENDED[night.number]), month.command("run", "--apply")]
    play = {
        nights.SWEEP_ONLY: leave_drift,
        nights.CRASH: lose_the_database,
        nights.LOCKED: meet_a_lock,
        nights.NEW_COLUMN: add_a_column,
        nights.MASS_DELETE: delete_a_tenth,
        nights.PURGED_SOURCE: empty_a_table,
    }.get(night.fault)
    return play(month) if play else [month.command("run", "--apply")]


def leave_drift(month: Month) -> list[Done]:
    found = month.command("run")
    assert (found.code, set(found.outcomes.values())) == (1, {"drift"})
    assert found.drift == len(TABLES) * sum(DRIFT.values())
    return [found, month.command("run", "--apply")]


def lose_the_database(month: Month) -> list[Done]:
    """The run begins the table again by itself, and ends right."""
    crashed = threading.Event()
    threading.Thread(target=crash_the_database, args=(month.project.database, crashed), daemon=True).start()
    done = month.command("run", "--apply")
    assert crashed.is_set()
    return [done]


def meet_a_lock(month: Month) -> list[Done]:
    with locked(month, "events"):
        met = month.command("run", "--apply")
    assert met.code == 3
    assert met.outcomes == {"orders": "corrected", "events": "unverified"}
    return [met, month.command("run", "--apply")]


def add_a_column(month: Month) -> list[Done]:
    """A column that changes no row, and three rows that fill it without their watermark."""
    for name in TABLES:
        month.project.database.execute(
            f"alter table {name} add column extra text",
            f"update {name} set extra = 'filled' where note = 'silent' and order_id % 40 = 16",
        )
    month.columns.append("extra")
    return [month.command("run", "--apply")]


def delete_a_tenth(month: Month) -> list[Done]:
    """More deletes than the policy allows: refused until a person names their number."""
    month.project.database.execute(f"delete from orders where order_id between {nights.ROWS - 199} and {nights.ROWS}")
    refused = month.command("run", "--apply")
    assert refused.code == 5
    assert refused.outcomes == {"orders": "refused", "events": "corrected"}
    approved = ("--approve-deletes", str(200 + DRIFT["deleted"]), "--yes")
    applied = month.command("apply", refused.document["run_id"], "-t", "orders", *approved)
    assert (applied.code, applied.outcomes) == (0, {"orders": "corrected"})
    return [refused, applied, month.command("run", "--apply")]


def empty_a_table(month: Month) -> list[Done]:
    """A table is reloaded while the night comes: empty, it empties no lake."""
    database = month.project.database
    database.execute("create table aside as table events", "truncate events")
    met = month.command("run", "--apply")
    assert met.code == 5
    assert met.outcomes == {"orders": "corrected", "events": "refused"}
    database.execute("insert into events table aside", "drop table aside")
    return [met, month.command("run", "--apply")]


# --- the month -------------------------------------------------------------------------------------------------------


def live_through(month: Month, night: Night) -> str:
    """A day, its night, and the purge after it. One line of the printed table."""
    if night.has_changes:
        nights.play_day(month.project.database, night)
    begun = time.monotonic()
    done = come_through(month, night)
    last = done[-1]
    assert last.code == 0, last
    if night.is_plain:
        planted = len(TABLES) * sum(DRIFT.values())
        assert set(last.outcomes.values()) == {"corrected"}, last
        assert (last.pulled, last.drift, last.applied) == (len(TABLES) * PULLED, planted, planted)
    elif not night.has_changes:
        assert (set(last.outcomes.values()), last.pulled, last.drift, last.applied) == ({"clean"}, 0, 0, 0)
    month.kept.append(month.look(time.monotonic() - begun))
    purge(month)
    return row_of_table(night, done, month.kept[-1])


def purge(month: Month) -> None:
    """What is older than the retention goes, all of it and nothing else, and the log holds."""
    begun = {run: begun_at(run) for run in month.runs()}
    before = datetime.now(UTC)
    purged = month.command("audit", "purge", "--older-than", f"{KEPT_SECONDS}s", "--yes")
    assert purged.code == 0, purged
    gone = set(begun) - month.runs()
    assert all((datetime.now(UTC) - begun[run]).total_seconds() >= KEPT_SECONDS for run in gone)
    assert all((before - begun[run]).total_seconds() <= KEPT_SECONDS for run in set(begun) - gone)
    assert month.command("audit", "verify").code == 0


def begun_at(run: Path) -> datetime:
    return datetime.fromisoformat(json.loads((run / "result.json").read_text())["started_utc"])


def row_of_table(night: Night, done: Sequence[Done], kept: Kept) -> str:
    memory = (kept.memory.python_mib, kept.memory.java_mib)
    codes = ", ".join(str(one.code) for one in done)
    counts = (max(one.drift for one in done), sum(one.applied for one in done))
    sizes = (kept.runs, kept.commits, kept.timeline_files, kept.data_files, kept.kib)
    cells = (night.number, night.fault, codes, *counts, *sizes, f"{kept.seconds:.0f}", *memory)
    return f"| {' | '.join(map(str, cells))} |\n"


@pytest.mark.timeout(7200)
def test_thirty_nights_with_faults_end_equal_and_what_they_keep_is_bounded(month: Month) -> None:
    for night in nights.nights():
        line = live_through(month, night)
        with month.project.captured.disabled():
            sys.stdout.write(line)
            sys.stdout.flush()

    assert {name for name in TABLES if not month.is_equal(name)} == set()
    assert month.command("audit", "lake").code == 0
    half, late = month.kept[10:15], month.kept[-5:]
    assert max(kept.commits for kept in month.kept) <= MOST_ACTIVE + 2  # a night's two come before its archiver
    for name in ("commits", "timeline_files", "data_files"):
        assert most(late, name) <= MOST_GROWTH * most(half, name), (name, month.kept)
    for side in ("python_mib", "java_mib"):
        assert typical(month.kept[25:], side) <= MOST_GROWTH * typical(month.kept[7:12], side), (side, month.kept)


def most(kept: Sequence[Kept], name: str) -> int:
    found: list[int] = [getattr(one, name) for one in kept]
    return max(found)


def typical(kept: Sequence[Kept], side: str) -> float:
    """The median, for a collection of garbage may come before a look or after it."""
    found: list[int] = [getattr(one.memory, side) for one in kept]
    return statistics.median(found)
