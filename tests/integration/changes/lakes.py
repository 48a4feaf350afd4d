"""A small lake table of five keys, the state after each of its commits, and random commits on it."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession

from hudi_reconcile.core.tables.values import READ_SEQ, ChangeLog, PartitionField, TableType
from hudi_reconcile.lake.changes.history import HudiHistory
from hudi_reconcile.lake.commit import Target, commit
from hudi_reconcile.lake.hudi_lake import HudiLake
from hudi_reconcile.lake.options import WriteOptions, build_create_options
from hudi_reconcile.lake.timeline import commit_metadata
from hudi_reconcile.ports import Corrective, NewTable
from tests.integration.lake.support import checkpoint, content, corrective, frame, table_of, versions

SCHEMA = f"id bigint, part string, v int, {READ_SEQ} bigint"
COLUMNS = ("id", "part", "v", READ_SEQ)
State = dict[int, dict[str, Any]]


class Lake:
    """A table, the state after each of its commits, and when those completed."""

    def __init__(
        self, spark: SparkSession, path: Path, kind: TableType, log: ChangeLog | None, version: int | None = None
    ) -> None:
        """With the table version that the tool makes, or with an older one, as another writer would have made it."""
        self.spark = spark
        self.lake = HudiLake(spark, str(path), name="t", options={})
        rows = frame(spark, SCHEMA, *[(one, "a", 0, 1) for one in (1, 2, 3)])
        table = NewTable("t", kind, ("id",), (PartitionField("part"),), change_log=log)
        if version is None:
            first = self.lake.create(rows, table, checkpoint(1), {"kind": "pull"})
        else:
            older = {"hoodie.write.table.version": str(version), "hoodie.write.auto.upgrade": "false"}
            options, carried = build_create_options(WriteOptions(), table) | older, commit_metadata(checkpoint(1), {})
            first = commit(Target(spark, str(path), "t", exists=False), cast("DataFrame", rows), options, carried)
        self.completed = [first.completed]
        self.states: list[State] = [{}, self.state()]

    def state(self) -> State:
        return {row[0]: dict(zip(COLUMNS, row, strict=True)) for row in content(self.lake, *COLUMNS)}

    def correct(self, upserts: dict[int, tuple[str, int]], deletes: set[int]) -> None:
        """One commit of upserts (id to partition and value) and deletes."""
        seq = len(self.states) + 1
        rows = [(one, part, value, seq) for one, (part, value) in upserts.items()]
        expected = versions(self.lake, ("id",), *[(one,) for one in (*upserts, *deletes)])
        wanted = f"id in ({', '.join(map(str, deletes or {-1}))})"
        batch: Corrective = corrective(self.spark, self.lake, SCHEMA, upserts=rows, deletes=wanted, expected=expected)
        self.note(
            self.lake.correct(batch, table_of(self.lake), checkpoint(seq), {"kind": "apply", "run_id": "r"}).completed
        )

    def pull(self, upserts: dict[int, tuple[str, int]], *, replace: bool = False, seq: int | None = None) -> None:
        """One commit of upserts, or of these rows instead of all; what is there of a higher `seq` is left as it is."""
        seq = len(self.states) + 1 if seq is None else seq
        rows = frame(self.spark, SCHEMA, *[(one, part, value, seq) for one, (part, value) in upserts.items()])
        write = self.lake.overwrite if replace else self.lake.upsert
        self.note(write(rows, table_of(self.lake), checkpoint(seq), {"kind": "pull"}).completed)

    def note(self, completed: str) -> None:
        self.completed.append(completed)
        self.states.append(self.state())

    def history(self) -> HudiHistory:
        return HudiHistory(self.spark, str(self.lake._path))


def moves(random: Random, ids: set[int]) -> tuple[dict[int, tuple[str, int]], set[int]]:
    """Upserts over five keys, some of them into another partition, and deletes of keys that are there."""
    upserts = {one: (random.choice("ab"), random.randint(0, 2)) for one in random.sample(range(1, 6), 2)}
    gone = {one for one in ids if one not in upserts and random.random() < 0.3}
    return upserts, gone
