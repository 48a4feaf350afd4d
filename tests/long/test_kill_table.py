"""`make kills`: a run over ten tables ends at each of twenty places, three ways; no evidence of a done table is lost.

The same command again must end right, and everything that the first run committed must be named or found by `audit lake`.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.demo.postgres import PostgresServer
from tests.integration.killed import started
from tests.integration.project import Project, in_table
from tests.support.kill_places import Place
from tests.support.postgres import Database, fresh_database
from tests.support.stop_places import NIGHT

TABLES = tuple(f"t{number}" for number in range(10))
CHANGED = (
    "t0",
    "t4",
    "t9",
)  # the first, the fifth and the last; the others are pulled and compared, and nothing is new
PATIENCE_SECONDS = 480.0
WAYS = {  # how the process ends, what its result says, and the error of a table that it was not done with
    "SIGKILL": (-signal.SIGKILL, 137, "Killed"),
    "SIGTERM": (143, 143, "Interrupted"),
    "Java": (3, 3, "SparkLostError"),
}
# A signal waits there: the run is over, and ends as it would have. Java is not needed any more, or not yet.
_OVER = ("publish", "finish", "write_result")
UNTOUCHED: dict[str, tuple[str, ...]] = {"SIGKILL": (), "SIGTERM": _OVER, "Java": (*_OVER, "work_through")}
ENDS = [(way, place) for way in WAYS for place in NIGHT if place.function not in UNTOUCHED[way]]
CORRECTION = re.compile(rb"_hr\.kind.apply", re.DOTALL)  # in Avro: the label, the length of its value, the value


@pytest.fixture(scope="module")
def database(postgres_server: PostgresServer) -> Iterator[Database]:
    with fresh_database(postgres_server) as found:
        for name in TABLES:
            found.execute(
                f"create table {name} (order_id bigint primary key, note text, updated_at timestamp not null)",
                f"insert into {name} select i, 'n' || i, timestamp '2025-01-01' + i * interval '1 hour'"
                " from generate_series(1, 40) i",
            )
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kills")


@pytest.fixture
def project(database: Database, folder: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """Ten tables that were pulled; since then three of them got a new row, and one that changed without its watermark."""
    project = Project.of(folder, database, capsys)
    settings = {**project.settings, "policy": {"savepoint": "never"}}
    tables = [
        {**settings, "name": name, "source": {"table": f"public.{name}"}, "lake": {"path": f"lake/{name}"}}
        for name in TABLES
    ]
    project.settings, project.more = tables[0], tables[1:]
    if not (folder / "before-lake").exists():
        play_day(project)
    for part in ("lake", "reports"):  # as they were before any kill
        shutil.rmtree(folder / part, ignore_errors=True)
        shutil.copytree(folder / f"before-{part}", folder / part)
    return project


def play_day(project: Project) -> None:
    """The first pull, and what happens in the database after it."""
    assert project.json("pull").code == 0
    for name in CHANGED:
        project.database.execute(
            f"update {name} set note = 'silent' where order_id = 7",
            f"insert into {name} values (41, 'new', timestamp '2025-02-01')",
        )
    for part in ("lake", "reports"):
        (project.folder / part).rename(project.folder / f"before-{part}")


def end_at(project: Project, place: str, way: str) -> None:
    module = ("tests.support.stop_places", place, way)
    process: subprocess.Popen[bytes] = started(project, "run", "--apply", "--format", "json", module=module)
    assert process.wait(PATIENCE_SECONDS) == WAYS[way][0], (project.folder / "killed.log").read_text()


def corrections_of(project: Project, run_id: str, name: str) -> list[str]:
    """The completion times of the run's corrections in a table, by its timeline."""
    folder = project.folder / "lake" / name / ".hoodie" / "timeline"
    made = [path for path in folder.glob("*_*commit") if run_id.encode() in path.read_bytes()]
    return sorted(path.stem.partition("_")[2] for path in made if CORRECTION.search(path.read_bytes()))


def done_tables(place: str) -> int:
    """How many tables were done when the place was reached, and kept."""
    words = {"before Spark": 0, "first table: its result was kept": 1, "first table": 0, "fifth table": 4}
    return next((count for word, count in words.items() if place.startswith(word)), 10)


def done_of(ended: dict[str, Any]) -> list[dict[str, Any]]:
    """The tables that the run was done with."""
    return [table for table in ended["tables"] if table["outcome"] in ("corrected", "clean")]


def unnamed_corrections(project: Project, ended: dict[str, Any]) -> int:
    """How many corrections the run made that its result does not name."""
    made = {table["name"]: corrections_of(project, ended["run_id"], table["name"]) for table in ended["tables"]}
    return sum(len(set(made[table["name"]]) - set(table["corrections"]["instants"])) for table in ended["tables"])


def assert_evidence_is_complete(project: Project, ended: dict[str, Any], place: str, way: str) -> None:
    _, code, kind = WAYS[way]
    is_logged = place.startswith("between the line")
    assert ended["exit_code"] == (0 if is_logged else code)
    least = done_tables(place) if way != "Java" else len(TABLES) - 1
    done = done_of(ended)
    assert [table["name"] for table in ended["tables"]] == list(TABLES)
    assert len(done) == least if way == "SIGKILL" else len(done) >= least
    assert {table["error"]["type"] for table in ended["tables"] if table not in done} <= {kind}
    for table in ended["tables"]:
        if table in done or way == "SIGTERM":
            named = sorted(table["corrections"]["instants"])
            assert named == corrections_of(project, ended["run_id"], table["name"]), (place, table)
        if table in done:
            work = int(table["name"] in CHANGED)
            assert table["outcome"] == ("corrected" if work else "clean")
            assert (table["corrections"]["applied"], table["pull"]["rows"]) == (work, work)
        if table in done and table["name"] in CHANGED:
            folder = project.folder / "reports" / ended["run_id"] / table["name"]
            assert json.loads((folder / "plan.json").read_text())["plan_id"] == table["plan_id"]
            assert list((folder / "findings").glob("*.parquet"))


@pytest.mark.parametrize(("way", "place"), ENDS, ids=[f"{way}, {place.name}" for way, place in ENDS])
def test_run_over_ten_tables_that_is_ended_anywhere_keeps_the_evidence_of_each_done_table(
    spark: SparkSession, project: Project, way: str, place: Place
) -> None:
    before = {path.name for path in (project.folder / "reports").iterdir()}
    end_at(project, place.name, way)

    again = project.json("run", "--apply")

    assert again.code == 0, again
    runs = sorted({path.name for path in (project.folder / "reports").iterdir()} - before)
    assert (len(runs), runs[-1]) == (2, again.document["run_id"])
    ended = json.loads((project.folder / "reports" / runs[0] / "result.json").read_text())
    assert_evidence_is_complete(project, ended, place.name, way)
    assert project.run("audit", "verify").code == 0
    assert project.run("audit", "lake").code == 0
    for name in TABLES:
        found = in_table(spark, project.folder / "lake" / name, "order_id", "note", "updated_at")
        rows = project.database.query(f"select order_id, note, updated_at from {name}")
        assert found == sorted(rows, key=str), name
    with project.captured.disabled():
        sys.stdout.write(row_of_table(project, place, way, ended, again.document))
        sys.stdout.flush()


def row_of_table(project: Project, place: Place, way: str, ended: dict[str, Any], again: dict[str, Any]) -> str:
    """One line of the table in docs/stopping.md."""
    pulled = sum(table["pull"]["rows"] for table in again["tables"])
    applied = sum(table["corrections"]["applied"] for table in again["tables"])
    cells = (place.name, way, ended["exit_code"], len(done_of(ended)), unnamed_corrections(project, ended))
    return f"| {' | '.join(map(str, (*cells, again['exit_code'], pulled, applied)))} |\n"
