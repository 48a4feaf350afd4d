"""The real world that a history is played in: PostgreSQL, Hudi, and the edges that the commands open, for one table of a config.

The calls of the stages pass a journal, so that others come between, or a command is killed, where they do over fakes. What
another process does is done in this one, between two calls of ours: one that is in flight beside us is
`test_second_writer.py`'s, a real SIGKILL `test_kill.py`'s.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import psycopg
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hudi_reconcile.app import connections
from hudi_reconcile.app.jobs import build_job
from hudi_reconcile.config.load import load_config
from hudi_reconcile.core.plan.plan import Approval, Plan
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.tables.values import LakePin
from hudi_reconcile.lake import lease
from hudi_reconcile.lake.bridge import Timeline, TimelineAction
from hudi_reconcile.lake.lease import format_lease, parse_lease
from hudi_reconcile.lake.reads import read_pinned
from hudi_reconcile.lake.timeline import CHECKPOINT, PREFIX, convert_action, parse_checkpoint
from hudi_reconcile.ports import Edges, Frame, NamedRows
from hudi_reconcile.stages.apply.apply import apply
from hudi_reconcile.stages.job import TableJob
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.sweep.sweep import Swept, sweep
from hudi_reconcile.stages.undo import undo
from tests.fakes.lake import Commit
from tests.fakes.played import FakePlayed
from tests.fakes.rows import SEQNO, Journal
from tests.fakes.steps import STEPS_EACH, drawn, take
from tests.fakes.story import BETWEEN, ENDS, Story
from tests.fakes.world import World, change_job
from tests.integration.project import Project
from tests.support.second_writer import OPTIMISTIC

_ZERO = datetime(2025, 1, 1)  # noqa: DTZ001 - the column has no zone
_MICRO = timedelta(microseconds=1)


def sql_time(at: int) -> str:
    return f"timestamp '{_ZERO + at * _MICRO}'"


class _Seen:
    """An edge whose calls the journal sees."""

    def __init__(self, edge: Any, name: str, journal: Journal) -> None:
        self._edge, self._name, self._journal = edge, name, journal

    def __getattr__(self, method: str) -> Any:
        found, point = getattr(self._edge, method), f"{self._name}.{method}"
        if point not in (*BETWEEN, *ENDS):
            return found

        def called(*given: Any, **named: Any) -> Any:
            self._journal.reached(point)
            return found(*given, **named)

        return called


class _SeenSource(_Seen):
    """Whose reads of rows may lack one."""

    def __init__(self, edge: Any, journal: Journal, lost: set[int]) -> None:
        super().__init__(edge, "source", journal)
        self._lost = lost

    def read_rows(self, *given: Any, **named: Any) -> Frame:
        self._journal.reached("source.read_rows")
        return self._left(self._edge.read_rows(*given, **named))

    def find_named_rows(self, *given: Any) -> NamedRows | None:
        found: NamedRows | None = self._edge.find_named_rows(*given)
        return None if found is None else NamedRows(found.rows, lambda: self._left(found.read()))

    def _left(self, frame: Frame) -> Frame:
        rows = cast("DataFrame", frame)
        return Frame(rows.where(~F.col("c0").isin(*self._lost))) if self._lost else frame


@dataclass(slots=True)
class RealPlayed:
    """One table `orders`. `project` is where its config is."""

    spark: SparkSession
    project: Project
    edges: Edges
    settings: TableJob
    journal: Journal
    lost: set[int]
    now_micros: int = 1_000
    in_flight: bool = False
    opened: psycopg.Connection[Any] | None = None
    written: int = 0  # rows that the history changed at the source
    known: list[Commit] = field(default_factory=list)

    # --- the source ---

    def put(self, key: int, value: int, at: int) -> None:
        with self.project.database.connect() as connection:
            self.written += connection.execute(self._write(key, value, at)).rowcount

    def delete(self, key: int) -> None:
        with self.project.database.connect() as connection:
            self.written += connection.execute(self._write(key, None, 0)).rowcount

    def begin(self, key: int, value: int | None, at: int) -> None:
        self.opened = self.project.database.connect()
        self.written += self.opened.execute(self._write(key, value, at)).rowcount

    def commit(self) -> None:
        assert self.opened is not None
        with self.opened:
            self.opened.commit()
        self.opened = None

    def changes_at_the_source(self) -> int:
        """Rows that anybody inserted, updated or deleted, as the table's own trigger tells."""
        return int(self.project.database.query("select count(*) from changed")[0][0])

    @staticmethod
    def _write(key: int, value: int | None, at: int) -> str:
        if value is None:
            return f"delete from orders where id = {key}"
        row = f"{key}, {value}, {sql_time(at)}"
        return f"insert into orders values ({row}) on conflict (id) do update set v = excluded.v, at = excluded.at"

    def lose(self, key: int) -> None:
        self.lost.add(key)

    def find(self) -> None:
        self.lost.clear()

    @property
    def is_losing(self) -> bool:
        return bool(self.lost)

    def source_holds(self) -> dict[int, tuple[int, int]]:
        return {key: (v, (at - _ZERO) // _MICRO) for key, v, at in self.project.database.query("select * from orders")}

    # --- the lake ---

    def lake_holds(self) -> dict[int, tuple[int, int]]:
        return {row["id"]: (row["v"], row["at"]) for row in self.commits()[-1].rows}

    def commits(self) -> Sequence[Commit]:
        """All of them, each read as a reader of that instant sees it, once."""
        if self.project.lake.exists():
            line = Timeline(self.spark, self.settings.lake.path)
            done = sorted(line.list_completed(), key=lambda one: one.completed or "")
            self.known += [self._commit(line, one) for one in done[len(self.known) :]]
        return self.known

    def _commit(self, line: Timeline, one: TimelineAction) -> Commit:
        rows = read_pinned(self.spark, self.settings.lake.path, LakePin(convert_action(one), ())).select(
            "id", "v", "at", SEQNO
        )
        told = json.loads(line.commit_json(one))["extraMetadata"]
        labels = {name.removeprefix(PREFIX): text for name, text in told.items() if name.startswith(PREFIX)}
        held = tuple({**row.asDict(), "at": (row["at"] - _ZERO) // _MICRO} for row in rows.collect())
        reached = parse_checkpoint(told[CHECKPOINT]) if CHECKPOINT in told else None
        return Commit(convert_action(one), held, reached and self._from_zero(reached), labels)

    @staticmethod
    def _from_zero(reached: Any) -> Any:
        zero = (_ZERO - datetime(1970, 1, 1)) // _MICRO  # noqa: DTZ001 - as above
        marks = reached.watermark_micros
        return reached if marks is None else replace(reached, watermark_micros=marks - zero)

    def other_writer(self) -> None:
        seq = time.time_ns() // 1000
        rows = [(key, v, _ZERO + at * _MICRO, seq) for key, (v, at) in self.source_holds().items()]
        if not rows:
            return
        frame = self.spark.createDataFrame(rows, "id bigint, v bigint, at timestamp_ntz, _hr_read_seq bigint")
        options = {"hoodie.table.name": "orders", "hoodie.datasource.write.operation": "upsert", **OPTIMISTIC}
        frame.write.format("hudi").options(**options).mode("append").save(str(self.project.lake))

    # --- our commands ---

    def died(self) -> None:
        """The lease it left is a dead process's."""
        path = Path(lease.build_lease_path(self.settings.lake.path))
        left = parse_lease(path.read_text()) if path.exists() else None
        if left is not None:
            path.write_text(format_lease(replace(left, holder=replace(left.holder, started="before"))))

    def pull(self, run_id: str) -> TableResult:
        return pull(self._job(run_id), self.edges, full=False)

    def sweep(self, run_id: str) -> Swept:
        done = sweep(self._job(run_id), self.edges)
        if done.draft is None:
            return done
        folder = Path(self._findings(done.draft))
        done.save(str(folder))
        files = {f"findings/{path.relative_to(folder)}": "" for path in folder.rglob("*.parquet")}
        return replace(done, draft=replace(done.draft, files=files))

    def findings(self, plan: Plan) -> list[tuple[int, str]]:
        rows = self.spark.read.parquet(self._findings(plan)).select("line", "action").collect()
        return [(json.loads(row["line"])["key"]["id"], row["action"]) for row in rows]

    def apply(self, plan: Plan, approval: Approval, run_id: str, **settings: Any) -> TableResult:
        return apply(self._job(run_id, **settings), plan, self._findings(plan), approval, self.edges)

    def undo(self, run: str, run_id: str) -> TableResult:
        return undo(self._job(run_id), run, self.edges)

    def twin(self) -> None:
        return None

    def _job(self, run_id: str, **settings: Any) -> TableJob:
        return change_job(self.settings, run_id=run_id, **settings)

    def _findings(self, plan: Plan) -> str:
        return str(self.project.folder / plan.run_id)


@contextmanager
def real(spark: SparkSession, project: Project, kind: str) -> Iterator[RealPlayed]:
    """A table of the same columns, and the same settings, as the fake one has."""
    project.database.execute(
        "create table orders (id bigint primary key, v bigint, at timestamp)",
        "create table changed (at timestamp default now())",
        "create function note() returns trigger language plpgsql as 'begin insert into changed default values; return null; end'",
        "create trigger note after insert or update or delete on orders for each row execute function note()",
    )
    project.settings |= {
        "pull": {"strategy": "timestamp", "watermark": ["at"], "overlap": "0s"},
        "lake": {"path": "lake/orders", "type": kind},
        "sweep": {"segments": 1, "settle": "0s", "settle_limit": "0s"},
        "policy": {"savepoint": "never"},
    }
    config = load_config(project.write_config(), os.environ)
    (table,) = config.tables
    journal, lost = Journal(), set[int]()
    with connections.open_world(config) as opened, connections.hold_session(opened):
        edges = opened.edges(table)
        source: Any = _SeenSource(edges.source, journal, lost)
        lake: Any = _Seen(edges.lake, "lake", journal)
        clock: Any = _Seen(edges.clock, "clock", journal)
        # Of one row in the lake, two may be written: more than a config can allow.
        settings = change_job(build_job(table, "none"), max_delete_share=100.0, max_upsert_share=100.0)
        played = RealPlayed(spark, project, Edges(source, lake, edges.make, clock), settings, journal, lost)
        yield played
        if played.opened is not None:
            played.opened.close()


KINDS = ("copy_on_write", "merge_on_read")


def play(spark: SparkSession, project: Project, kind: str, seed: int) -> None:
    """One history in both worlds, step by step: what is told, and what source and lake hold, is the same after each."""
    history = drawn(Story(FakePlayed(World.new())), seed, STEPS_EACH)
    fakes = Story(FakePlayed(World.new()))
    with real(spark, project, kind) as played:
        story = Story(played)
        for taken in [("begin", {}), *history]:
            for one in (fakes, story):
                one.told.clear()
                take(one, taken)
            assert story.told == fakes.told, (taken, history)
            assert played.source_holds() == fakes.world.source_holds(), (taken, history)
            assert played.lake_holds() == fakes.world.lake_holds(), (taken, history)
        assert played.changes_at_the_source() == played.written, "I15: rows of the source were written by somebody else"
