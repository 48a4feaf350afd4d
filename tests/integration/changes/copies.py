"""A lake table that is written on, a PostgreSQL table kept in step with it by a consumer, and both held against each other."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from hudi_reconcile.cli.main import run
from hudi_reconcile.core.tables.values import READ_SEQ, ChangeLog, TableType
from tests.integration.changes.lakes import COLUMNS, Lake, moves
from tests.support.postgres import Database


@dataclass(frozen=True, slots=True)
class Copy:
    """`t` in the lake, `copy` in the database, and the command that brings the one in step with the other."""

    folder: Path
    lake: Lake
    database: Database
    random: Random

    @staticmethod
    def of(spark: SparkSession, folder: Path, database: Database, kind: TableType, log: ChangeLog | None) -> Copy:
        database.execute(f"create table copy (id bigint primary key, part text, v int, {READ_SEQ} bigint)")
        config = {
            "version": 1,
            "source": {"url": "postgresql+psycopg://nobody@127.0.0.1:1/none"},  # is not asked
            "tables": [{"name": "t", "source": {"table": "t"}, "lake": {"path": "t"}}],
        }
        (folder / "reconcile.yaml").write_text(json.dumps(config))
        return Copy(folder, Lake(spark, folder / "t", kind, log), database, Random(20))  # noqa: S311 - examples

    @property
    def arguments(self) -> tuple[str, ...]:
        server = self.database.server
        url = f"postgresql+psycopg://{server.user}@{server.host}:{server.port}/{self.database.name}"
        how = ("--type", "min-delta", "--consumer", "copy", "--commit-position", "--into", url, "--into-table", "copy")
        return ("-c", str(self.folder / "reconcile.yaml"), "changes", "-t", "t", *how)

    @property
    def environment(self) -> Mapping[str, str]:
        return {**os.environ, "PGPASSWORD": self.database.server.password}

    def write(self) -> None:
        """One more commit of upserts, moves to another partition, and deletes."""
        self.lake.correct(*moves(self.random, set(self.lake.states[-1])))

    def bring(self, monkeypatch: pytest.MonkeyPatch) -> int:
        """Run the command in this process; its exit code."""
        monkeypatch.setenv("PGPASSWORD", self.database.server.password)
        return run(list(self.arguments))

    def rows(self) -> list[tuple[object, ...]]:
        """What the database holds, but for the tool's own sequence."""
        return sorted(self.database.query("select id, part, v from copy"))

    def states(self) -> list[list[tuple[object, ...]]]:
        """What the lake held before its first commit and after each."""
        names = COLUMNS[:-1]
        return [sorted(tuple(row[name] for name in names) for row in state.values()) for state in self.lake.states]
