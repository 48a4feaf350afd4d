"""Tables that take longer than their time limit, on real Spark and PostgreSQL: ended by name, and nothing of them works on."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.integration.project import Project
from tests.support.postgres import Database

TABLES = ("items", "orders", "parts")
ROW_SECONDS = 5


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """Three pulled tables, of which the first is a view."""
    for name in ("stock", "orders", "parts"):
        pg.execute(
            f"create table {name} (order_id bigint primary key, note text, updated_at timestamp not null)",
            f"insert into {name} select i, 'n' || i, timestamp '2025-01-01' + i * interval '1 hour'"
            " from generate_series(1, 40) i",
        )
    pg.execute("create view items as select * from stock")
    project = Project.of(tmp_path, pg, capsys)
    common = project.settings
    project.settings = {**common, "name": "items", "lake": {"path": "lake/items"}}
    project.settings["source"] = {"table": "public.items", "key": ["order_id"]}
    project.more = [
        {**common, "name": name, "source": {"table": f"public.{name}"}, "lake": {"path": f"lake/{name}"}}
        for name in TABLES[1:]
    ]
    assert project.json("pull").code == 0
    return project


def slow_down(project: Project, *, for_spark: bool = False) -> None:
    """From now on the view takes minutes to read; `for_spark`: only where Spark reads it, which proves its session first."""
    asked = "current_query() like '%hr_lost%'" if for_spark else "true"
    sleep = f"pg_sleep(case when {asked} then {ROW_SECONDS} else 0 end) is not null"
    project.database.execute(f"create or replace view items as select * from stock where {sleep}")


def sessions_at_work(project: Project) -> int:
    """How many of our sessions the server works for."""
    database = project.database
    query = "select count(*) from pg_stat_activity where application_name like 'hudi-reconcile%' and state = 'active'"
    return int(database.query(f"{query} and datname = '{database.name}'")[0][0])


@pytest.mark.parametrize(
    ("mode", "command"),
    [("stream", ("sweep",)), ("pushdown", ("sweep", "--jobs", "2")), ("stream", ("pull", "--full"))],
    ids=["Spark reads", "the database digests, beside another table", "pull"],
)
def test_table_over_its_limit_is_ended_at_the_server_too_and_the_others_are_done(
    project: Project, mode: str, command: tuple[str, ...]
) -> None:
    slow_down(project, for_spark=mode == "stream")
    project.settings |= {"time_limit": "8s", "sweep": {"mode": mode}}
    commits = sorted((project.folder / "lake" / "items" / ".hoodie" / "timeline").glob("*.commit"))
    begun = time.monotonic()

    ran = project.json(*command)

    assert time.monotonic() - begun < 40 * ROW_SECONDS / 2
    assert ran.code == 3, ran
    first, *others = ran.document["tables"]
    assert (first["outcome"], first["error"]["type"]) == ("unverified", "TimeLimitError"), ran
    assert "tables[items].time_limit of 8s is over" in first["error"]["message"]
    assert {table["outcome"] for table in others} == {"clean" if "sweep" in command else "pulled"}
    assert sorted((project.folder / "lake" / "items" / ".hoodie" / "timeline").glob("*.commit")) == commits
    assert sessions_at_work(project) == 0
    assert project.run("audit", "verify").code == 0

    project.database.execute("create or replace view items as select * from stock")
    del project.settings["time_limit"]
    again = project.json("sweep", "-t", "items")
    assert again.code == 0, again


def test_run_over_its_limit_ends_the_table_and_begins_no_other(project: Project) -> None:
    slow_down(project)

    ran = project.json("sweep", "--set", "run.time_limit=4s")

    assert ran.code == 3, ran
    assert [table["error"]["type"] for table in ran.document["tables"]] == ["TimeLimitError"] * 3
    words = [table["error"]["message"].partition(":")[0] for table in ran.document["tables"]]
    assert words[1:] == ["table orders was not begun", "table parts was not begun"]
    assert sessions_at_work(project) == 0
