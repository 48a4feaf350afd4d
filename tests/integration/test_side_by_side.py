"""Tables worked on side by side in one Spark session: the same results as one after another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.project import Project
from tests.support.postgres import Database

TABLES = ("orders", "items")
RULES = """version: 1
table: {name}
rules:
  - {{id: a-1, check: not_null, column: note}}
  - {{id: a-2, check: sql, query: "SELECT order_id FROM {{batch}} WHERE note = '{name}'"}}
"""


@pytest.fixture
def project(pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """Two tables with rules; a rule of each asks for rows that only the other would have."""
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
        source, lake = {"table": f"public.{name}"}, {"path": f"lake/{name}"}
        own = {"name": name, "source": source, "lake": lake, "rules": str(rules)}
        entries.append({**project.settings, **own})
    project.settings, project.more = entries[0], entries[1:]
    return project


def test_tables_side_by_side_are_pulled_corrected_and_judged_as_one_after_another(project: Project) -> None:
    first = project.json("pull", "--jobs", "2")
    assert first.code == 0, first
    assert [table["pull"]["rows"] for table in first.document["tables"]] == [40, 41]

    for name in TABLES:
        project.database.execute(
            f"update {name} set note = 'silent' where order_id = 7", f"delete from {name} where order_id = 9"
        )
    night = project.json("run", "--apply", "--jobs", "2")

    assert night.code == 0, night
    for table in night.document["tables"]:
        assert table["outcome"] == "corrected", table
        assert (table["corrections"]["upserts"], table["corrections"]["deletes"]) == (1, 1)
        assert {rule["id"]: rule["status"] for rule in table["rules"]} == {"a-1": "pass", "a-2": "pass"}
    assert [table["outcome"] for table in project.json("sweep", "--jobs", "2").document["tables"]] == ["clean"] * 2
    assert project.run("audit", "verify").code == 0


def test_more_tables_side_by_side_than_the_cap_serves_are_a_wrong_call(project: Project) -> None:
    refused = project.json("pull", "--jobs", "2", "--set", "source.max_connections=3")

    assert refused.code == 2
    assert "--jobs 2 needs 4 connections" in refused.document["error"]["message"]
    assert "--jobs 1" in refused.document["error"]["fix"]
