"""The world that a history is played in: what a history may do to it, and ask of it; and the one over fakes.

The real one is in `tests/integration/histories.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol, Self

from hudi_reconcile.core.plan.plan import Approval, Plan
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.tables.values import READ_SEQ
from hudi_reconcile.stages.apply.apply import apply
from hudi_reconcile.stages.job import TableJob
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.sweep.sweep import Swept, sweep
from hudi_reconcile.stages.undo import undo
from tests.fakes.lake import Commit
from tests.fakes.rows import Journal, Row
from tests.fakes.world import World, job


class Played(Protocol):
    """One table at the source and in the lake, keys 0 and 1, columns `id, v, at`; times are the source's own, in microseconds.

    Every change at the source lies below the bound of the next pull. `journal` has the points of the stages' calls.
    """

    now_micros: int

    @property
    def journal(self) -> Journal: ...

    @property
    def in_flight(self) -> bool:
        """Whether another writer is."""
        ...

    def put(self, key: int, value: int, at: int) -> None: ...

    def delete(self, key: int) -> None: ...

    def begin(self, key: int, value: int | None, at: int) -> None:
        """A transaction that writes the row, None: deletes it, and stays open."""
        ...

    def commit(self) -> None:
        """It commits."""
        ...

    def lose(self, key: int) -> None:
        """Reads of rows lack this one from now on."""
        ...

    def find(self) -> None:
        """Reads of rows are whole again."""
        ...

    @property
    def is_losing(self) -> bool:
        """Whether reads of rows lack one now."""
        ...

    def source_holds(self) -> dict[int, tuple[int, int]]:
        """Key to (v, at)."""
        ...

    def lake_holds(self) -> dict[int, tuple[int, int]]:
        """The same of the lake."""
        ...

    def commits(self) -> Sequence[Commit]:
        """All of them, oldest first."""
        ...

    def other_writer(self) -> None:
        """A pull of another process, without our lease: whole rows as the source has them, checkpoint untouched."""
        ...

    def died(self) -> None:
        """The process that ran a command of ours was killed."""
        ...

    def pull(self, run_id: str) -> TableResult: ...

    def sweep(self, run_id: str) -> Swept:
        """Where it made a plan, `findings` has it."""
        ...

    def findings(self, plan: Plan) -> list[tuple[int, str]]:
        """Key and action of each finding."""
        ...

    def apply(self, plan: Plan, approval: Approval, run_id: str, **settings: Any) -> TableResult: ...

    def undo(self, run: str, run_id: str) -> TableResult: ...

    def twin(self) -> Self | None:
        """The same world once more, None where there can be one only."""
        ...


@dataclass(slots=True)
class FakePlayed:
    """The same in memory."""

    world: World
    opened: tuple[int, int | None, int] | None = None
    slow: tuple[list[Row], int] | None = None  # what a slow writer has read, and how many commits there were

    @property
    def now_micros(self) -> int:
        return self.world.clock.now_micros

    @now_micros.setter
    def now_micros(self, value: int) -> None:
        self.world.clock.now_micros = value

    @property
    def journal(self) -> Journal:
        return self.world.journal

    @property
    def in_flight(self) -> bool:
        return self.slow is not None

    def put(self, key: int, value: int, at: int) -> None:
        self.world.source.put(key, value, at)

    def delete(self, key: int) -> None:
        self.world.source.delete(key)

    def begin(self, key: int, value: int | None, at: int) -> None:
        self.opened = (key, value, at)

    def commit(self) -> None:
        assert self.opened is not None
        (key, value, at), self.opened = self.opened, None
        if value is None:
            self.delete(key)
        else:
            self.put(key, value, at)

    def lose(self, key: int) -> None:
        self.world.source.lost_in_reads = {key}

    def find(self) -> None:
        self.world.source.lost_in_reads = set()

    @property
    def is_losing(self) -> bool:
        return bool(self.world.source.lost_in_reads)

    def source_holds(self) -> dict[int, tuple[int, int]]:
        return {int(key or 0): (row["v"], row["at"]) for key, row in self.world.source.table.items()}

    def lake_holds(self) -> dict[int, tuple[int, int]]:
        return {key: (row[0], row[1]) for key, row in self.world.lake_holds().items()}

    def commits(self) -> Sequence[Commit]:
        return self.world.lake.commits

    def other_writer(self) -> None:
        self._brings(self._read())

    def slow_writer_begins(self) -> None:
        """It has read the source and is in flight."""
        self.slow = self._read(), len(self.world.lake.commits)
        self.world.lake.in_flight.add("slow")

    def slow_writer_ends(self) -> None:
        """Hudi's conflict check: a commit that came first, to the same file, makes this one fail."""
        assert self.slow is not None
        (rows, commits), self.slow = self.slow, None
        lake = self.world.lake
        lake.in_flight.clear()
        if len(lake.commits) == commits or not lake.checks_conflicts:
            self._brings(rows)

    def died(self) -> None:
        self.world.source.snapshot = None

    def pull(self, run_id: str) -> TableResult:
        return pull(self._job(run_id), self.world.edges, full=False)

    def sweep(self, run_id: str) -> Swept:
        done = sweep(self._job(run_id), self.world.edges)
        if done.draft is not None:
            done.save(done.draft.plan_id)
        return done

    def findings(self, plan: Plan) -> list[tuple[int, str]]:
        return [(row["key"][0], row["action"]) for row in self.world.disk[plan.plan_id]]

    def apply(self, plan: Plan, approval: Approval, run_id: str, **settings: Any) -> TableResult:
        return apply(self._job(run_id, **settings), plan, plan.plan_id, approval, self.world.edges)

    def undo(self, run: str, run_id: str) -> TableResult:
        return undo(self._job(run_id), run, self.world.edges)

    def twin(self) -> FakePlayed:
        return deepcopy(self)

    def _job(self, run_id: str, **settings: Any) -> TableJob:
        return job(run_id=run_id, **settings)

    def _read(self) -> list[Row]:
        source = self.world.source.table.values()
        return [{**{name: row[name] for name in ("id", "v", "at")}, READ_SEQ: self.now_micros} for row in source]

    def _brings(self, rows: list[Row]) -> None:
        lake, read = self.world.lake, {row["id"] for row in rows}
        lake.plant([*(row for row in lake.now if row["id"] not in read), *map(lake.stamped, rows)])
