"""Tables worked on side by side in one Spark session: the same results as one after another, within the connection cap."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Self

import pytest

from tests.integration.project import Project
from tests.support.postgres import Database

TABLES = ("orders", "items", "parts", "notes")
CAP = 4
RULES = """version: 1
table: {name}
rules:
  - {{id: a-1, check: not_null, column: note}}
  - {{id: a-2, check: sql, query: "SELECT order_id FROM {{batch}} WHERE note = '{name}'"}}
"""


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """Four tables with rules; a rule of each asks for rows that only another table would have."""
    project = Project.of(tmp_path, pg, capsys)
    entries = []
    for number, name in enumerate(TABLES):
        pg.execute(
            f"create table {name} (order_id bigint primary key, note text, updated_at timestamp not null)",
            f"insert into {name} select i, '{TABLES[number - 1]}', timestamp '2025-01-01' + i * interval '1 hour'"
            f" from generate_series(1, {40 + number}) i",
        )
        rules = tmp_path / f"{name}.yaml"
        rules.write_text(RULES.format(name=name))
        lake = {"path": f"lake/{name}", "partition_by": ["month(updated_at)"]}
        own = {"name": name, "source": {"table": f"public.{name}"}, "lake": lake, "rules": str(rules)}
        entries.append({**project.settings, **own})
    project.settings, project.more = entries[0], entries[1:]
    project.source["max_connections"] = CAP
    return project


class Counter:
    """Counts our connections to a database, over and over, until it is told to stop."""

    def __init__(self, database: Database) -> None:
        self.most = 0
        self._database, self._over = database, threading.Event()
        self._thread = threading.Thread(target=self._count)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _count(self) -> None:
        query = "select count(*) from pg_stat_activity where application_name = 'hudi-reconcile'"
        while not self._over.wait(0.01):
            ((found,),) = self._database.query(query)
            self.most = max(self.most, found)


def test_tables_side_by_side_are_pulled_corrected_and_judged_as_one_after_another(project: Project) -> None:
    with Counter(project.database) as counted:
        first = project.json("pull", "--jobs", "2")
    assert first.code == 0, first
    assert counted.most <= CAP
    assert [table["pull"]["rows"] for table in first.document["tables"]] == [40, 41, 42, 43]

    for name in TABLES:
        project.database.execute(
            f"update {name} set note = 'silent' where order_id = 7", f"delete from {name} where order_id = 9"
        )
    with Counter(project.database) as counted:
        night = project.json("run", "--apply", "--jobs", "2")

    assert night.code == 0, night
    assert counted.most <= CAP
    for table in night.document["tables"]:
        assert table["outcome"] == "corrected", table
        assert (table["corrections"]["upserts"], table["corrections"]["deletes"]) == (1, 1)
        assert {rule["id"]: rule["status"] for rule in table["rules"]} == {"a-1": "pass", "a-2": "pass"}
    assert [table["outcome"] for table in project.json("sweep", "--jobs", "2").document["tables"]] == ["clean"] * 4
    assert project.json("check", "--jobs", "2").code == 0
    assert project.run("audit", "verify").code == 0


def test_more_tables_side_by_side_than_the_cap_serves_are_a_wrong_call(project: Project) -> None:
    refused = project.json("pull", "--jobs", "3")

    assert refused.code == 2
    assert "--jobs 3 needs 6 connections" in refused.document["error"]["message"]
    assert "--jobs 2" in refused.document["error"]["fix"]
