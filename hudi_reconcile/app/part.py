"""A sweep of some partitions, or within a budget: what each table is to compare, and how long it may take."""

from __future__ import annotations

from dataclasses import dataclass, field

from hudi_reconcile.app.run import TableRun
from hudi_reconcile.core.budget import share_seconds
from hudi_reconcile.evidence.coverage import past_coverage
from hudi_reconcile.stages.request import Part


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says: partitions as Hudi stores them, and a budget with its text."""

    partitions: tuple[str, ...] = ()
    budget_seconds: float | None = None
    budget_text: str = ""


ALL = Asked()


@dataclass(slots=True)
class Watch:
    """Shares a budget out among the tables, in their order. It begins with the first of them: Spark's start is not in it."""

    asked: Asked
    tables: tuple[str, ...]
    until: float | None = field(default=None, init=False)

    def part_of(self, one: TableRun) -> Part:
        """What this table compares."""
        asked, budget = self.asked, self.asked.budget_seconds
        if budget is None:
            return Part(asked.partitions)
        now = one.edges.clock.monotonic_seconds()
        if self.until is None:
            self.until = now + budget
        left = len(self.tables) - self.tables.index(one.table.name)
        earlier = past_coverage(one.store, one.table.name)
        return Part(asked.partitions, share_seconds(self.until - now, left), asked.budget_text, earlier)
