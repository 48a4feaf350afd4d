"""A table that is pulled, drifts and is corrected, with a change log and masked columns, for the tests of `changes`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.project import Project
from tests.support.postgres import Database

TABLE = """create table orders (order_id bigint primary key, status varchar(10), amount numeric(12,2), note text, secret text,
                                paid boolean, placed_on date, updated_at timestamptz)"""
HIDDEN = ("private", "classified")


ROWS = 40


def insert(numbers: str, status: str, at: str) -> str:
    return (
        f"insert into orders select i, '{status}', i * 1.1, 'private' || i, 'classified' || i, true, date '2025-01-01' + i,"
        f" timestamptz '{at}+00' from {numbers} i"
    )


@dataclass(frozen=True, slots=True)
class Story:
    """Two pulls, which completed `first` and `second`, and the correction of three rows, by the run of `applied`, `third`."""

    project: Project
    first: str
    second: str
    third: str
    applied: dict[str, Any]

    @property
    def run_id(self) -> str:
        return str(self.applied["run_id"])


def told_story(
    pg: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Story:
    monkeypatch.chdir(tmp_path)
    project = Project.of(tmp_path, pg, capsys)
    project.settings["lake"] = {
        "path": "lake/orders",
        "type": "merge_on_read",
        "cdc": True,
        "cdc_logging": "op_key_only",
    }
    project.settings["mask"] = {"note": "hmac", "secret": "redact"}
    pg.execute(TABLE, insert(f"generate_series(1, {ROWS})", "NEW", "2025-01-01 00:01:00"))
    first = project.json("pull").table["pull"]["instant"]
    pg.execute(
        "update orders set status = 'PAID', updated_at = timestamptz '2025-01-02 00:00:00.5+00' where order_id = 1",
        insert("unnest(array[41])", "NEW", "2025-01-02 00:00:01"),
    )
    second = project.json("pull").table["pull"]["instant"]
    pg.execute(
        "update orders set amount = 99 where order_id = 2",
        "delete from orders where order_id = 3",
        insert("unnest(array[42])", "LATE", "2025-01-01 00:00:30"),
    )
    assert project.json("sweep").code == 1
    applied = project.json("apply", "latest", "--yes")
    (third,) = applied.table["corrections"]["instants"]
    return Story(project, first, second, third, applied.document)


def changes(project: Project, *arguments: str) -> list[dict[str, Any]]:
    ran = project.run("changes", "-t", "orders", "--format", "ndjson", *arguments)
    assert ran.code == 0, ran
    assert not any(word in ran.out + ran.err for word in HIDDEN)
    return [json.loads(line) for line in ran.out.splitlines()]


def in_step_with(project: Project, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """What brings a copy of the lake in PostgreSQL in step with it."""
    server = project.database.server
    monkeypatch.setenv("PGPASSWORD", server.password)
    project.database.execute("create table copy (like orders including all)")
    url = f"postgresql+psycopg://{server.user}@{server.host}:{server.port}/{project.database.name}"
    call = ("changes", "-t", "orders", "--type", "min-delta", "--consumer", "copy", "--commit-position")

    def bring(*to: str) -> None:
        ran = project.run(*call, "--into", url, "--into-table", "copy", *to)
        assert (ran.code, ran.out) == (0, ""), ran
        assert not any(word in ran.err for word in HIDDEN)

    return bring


def copied(project: Project, table: str = "copy") -> list[tuple[object, ...]]:
    return sorted(project.database.query(f"select * from {table}"))
