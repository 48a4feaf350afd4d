"""A user's folder with a config, a database and a lake, and the command line run in it, in this process and its Spark."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.cli.main import run
from tests.support.postgres import Database

_NOTE_RULES = """version: 1
table: orders
rules: [{id: o-1, check: not_null, column: note}]
"""


@dataclass(frozen=True, slots=True)
class Ran:
    """What one call printed and returned."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """What stdout holds, as the one JSON document that it must be."""
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def table(self) -> dict[str, Any]:
        """The only table of the document."""
        (found,) = self.document["tables"]
        return dict(found)

    @property
    def drift(self) -> dict[str, int]:
        """Kinds with a count."""
        return {kind: count for kind, count in self.table["findings"].items() if count}


@dataclass(slots=True)
class Project:
    """One table `orders`. `settings` are the table's in the config, `source` the source's; both may be changed.

    `more` are further tables of the same config, `top` its further sections.
    """

    folder: Path
    database: Database
    captured: pytest.CaptureFixture[str]
    settings: dict[str, Any] = field(default_factory=dict)
    source: dict[str, Any] = field(default_factory=dict)
    more: list[dict[str, Any]] = field(default_factory=list)
    top: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(folder: Path, database: Database, captured: pytest.CaptureFixture[str]) -> Project:
        server = database.server
        project = Project(folder, database, captured)
        (folder / "password").write_text(server.password)
        (folder / "password").chmod(0o600)
        project.source = {
            "url": f"postgresql+psycopg://{server.user}@{server.host}:{server.port}/{database.name}",
            "password": "${file:password}",
        }
        project.settings = {
            "name": "orders",
            "source": {"table": "public.orders"},
            "pull": {"strategy": "timestamp", "watermark": ["updated_at"]},
            "lake": {"path": "lake/orders", "type": "copy_on_write"},
        }
        return project

    @staticmethod
    def make_orders(folder: Path, database: Database, captured: pytest.CaptureFixture[str]) -> Project:
        """Forty orders with a note and a watermark, a rule that they keep, and a written config; nothing is pulled yet."""
        database.execute(
            "create table orders (order_id bigint primary key, note text, updated_at timestamp not null)",
            "insert into orders select i, 'n' || i, timestamp '2025-01-01' + i * interval '1 hour' "
            "from generate_series(1, 40) i",
        )
        project = Project.of(folder, database, captured)
        (folder / "rules.yaml").write_text(_NOTE_RULES)
        project.settings["rules"] = "rules.yaml"
        project.write_config()
        return project

    @property
    def lake(self) -> Path:
        path: str = self.settings["lake"]["path"]
        return self.folder / path

    def write_config(self) -> Path:
        path = self.folder / "reconcile.yaml"
        tables = [self.settings, *self.more]
        path.write_text(json.dumps({"version": 1, "source": self.source, **self.top, "tables": tables}))
        return path

    def run(self, *arguments: str) -> Ran:
        """Run a command line; the exit code stands in the document too, where there is one."""
        config = self.write_config()
        self.captured.readouterr()
        code = run(["-c", str(config), *arguments])
        found = self.captured.readouterr()
        ran = Ran(code, found.out, found.err)
        if arguments[-2:] == ("--format", "json"):
            assert ran.document["exit_code"] == code, ran
        return ran

    def json(self, *arguments: str) -> Ran:
        return self.run(*arguments, "--format", "json")

    def findings(self, *arguments: str) -> list[dict[str, Any]]:
        ran = self.run("findings", "latest", *arguments, "--format", "ndjson")
        assert ran.code == 0, ran
        return [json.loads(line) for line in ran.out.splitlines()]

    def left(self, ran: Ran) -> dict[int, str]:
        """Why the apply did not correct a row, by `order_id`; every planned row that was not applied must be there."""
        listed = self.run("findings", ran.document["run_id"], "--uncorrected", "--format", "ndjson")
        assert listed.code == 0, listed
        rows = [json.loads(line) for line in listed.out.splitlines()]
        done, told = ran.table["corrections"], ran.table["uncorrected"]
        planned = done["upserts"] + done["deletes"]
        assert len(rows) == told["listed_rows"] == planned - done["applied"] - done["applied_before"], (listed, told)
        assert Counter(row["reason"] for row in rows) == told["by_reason"]
        return {row["key"]["order_id"]: row["reason"] for row in rows}

    def last_run(self) -> Path:
        """The newest run's folder that holds a plan."""
        return max(path.parent.parent for path in (self.folder / "reports").glob("*/*/plan.json"))


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file below a folder."""
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def in_lake(spark: SparkSession, project: Project, *columns: str) -> list[tuple[Any, ...]]:
    """The lake's rows as any reader of Hudi sees them, sorted as text."""
    return in_table(spark, project.lake, *columns)


def in_table(spark: SparkSession, lake: Path, *columns: str) -> list[tuple[Any, ...]]:
    """The rows of one Hudi table as any reader sees them, sorted as text."""
    frame = spark.read.format("hudi").load(str(lake)).select(*columns)
    return sorted((tuple(row) for row in frame.collect()), key=str)


def in_source(project: Project, *columns: str) -> list[tuple[Any, ...]]:
    """The source's rows, sorted as text."""
    return sorted(project.database.query(f"select {', '.join(columns)} from orders"), key=str)
