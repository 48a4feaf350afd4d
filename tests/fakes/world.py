"""Source, lake, comparer and clock in memory, and what the tests of the stages do with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from hudi_reconcile.core.plan.apply_outcome import REASONS
from hudi_reconcile.core.plan.guards import Policy
from hudi_reconcile.core.plan.plan import Approval, Plan
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.sweep.segments import Segmentation
from hudi_reconcile.core.tables.agreement import Agreement
from hudi_reconcile.ports import Edges
from hudi_reconcile.stages.apply.apply import apply
from hudi_reconcile.stages.apply.uncorrected import Listing
from hudi_reconcile.stages.job import LakeSettings, PageLimits, PartialSweep, PullSettings, SweepSettings, TableJob
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.sweep.partial import WHOLE
from hudi_reconcile.stages.sweep.sweep import Swept, sweep
from tests.fakes.comparer import FakeComparer
from tests.fakes.lake import FakeLake
from tests.fakes.rows import FakeClock, Journal, Row
from tests.fakes.source import FakeSource


@dataclass(slots=True)
class World:
    """Everything that one table's work touches, in memory. `make` may be replaced by a test."""

    journal: Journal
    clock: FakeClock
    source: FakeSource
    lake: FakeLake
    disk: dict[str, list[Row]] = field(default_factory=dict)
    comparer: type[FakeComparer] = FakeComparer

    @staticmethod
    def new() -> World:
        journal = Journal()
        clock = FakeClock(journal)
        return World(journal, clock, FakeSource(journal, clock), FakeLake(journal))

    @property
    def edges(self) -> Edges:
        def make(agreement: Agreement, cut: Segmentation) -> FakeComparer:
            return self.comparer(self.journal, self.disk, agreement, cut)

        return Edges(self.source, self.lake, make, self.clock)

    def lake_holds(self) -> dict[Any, tuple[Any, ...]]:
        """Key to (v, at), as the lake shows it; a key that is there twice fails."""
        keys = [row["id"] for row in self.lake.now]
        assert len(keys) == len(set(keys)), keys
        return {row["id"]: (row["v"], row["at"]) for row in self.lake.now}

    def source_holds(self) -> dict[Any, tuple[Any, ...]]:
        return {key: (row["v"], row["at"]) for key, row in self.source.table.items()}

    def silently_change_lake(self, key: int, value: int) -> None:
        """Another writer changes a row in the lake and moves its version."""
        rows = [self.lake.stamped({**row, "v": value}) if row["id"] == key else row for row in self.lake.now]
        self.lake.plant(rows)


def job(**changes: Any) -> TableJob:
    """The table's settings: watermark `at`, one segment, no wait, wide limits. `changes` name the settings of any part."""
    plain = TableJob(
        name="t",
        run_id="run-1",
        lake=LakeSettings(path="/lake/t", type="copy_on_write"),
        pull=PullSettings(strategy="timestamp", watermark=("at",)),
        sweep=SweepSettings(segments=1),
        policy=Policy(1000, 100.0, 100.0),
        savepoint="never",
    )
    return change_job(plain, **changes)


def change_job(settings: TableJob, **changes: Any) -> TableJob:
    """The same settings with `changes`, each in the part that knows it; a name that none knows is a TypeError."""
    pages = {name: changes.pop(name) for name in ("limit_rows", "most", "stop_after_seconds") if name in changes}
    if pages:
        changes["pages"] = PageLimits(**pages)
    for part in ("lake", "source", "pull", "columns", "sweep", "policy"):
        value = getattr(settings, part)
        own = {f.name: changes.pop(f.name) for f in fields(value) if f.name in changes}
        settings = replace(settings, **{part: replace(value, **own)})
    return replace(settings, **changes)


def pulled(*rows: tuple[int, int | None, int | None], partitioned: bool = False) -> World:
    """A world whose source holds these (id, v, at) and whose lake has pulled them; `partitioned` by `v`."""
    world = World.new()
    world.lake.partition_fields = ("v",) if partitioned else ()
    for key, value, at in rows:
        world.source.put(key, value, at)
    pull(job(), world.edges, full=False)
    world.journal.calls.clear()
    return world


def swept(world: World, **settings: Any) -> Swept:
    """A sweep whose findings are on the fake disk under `findings`."""
    return swept_part(world, WHOLE, **settings)


def swept_part(world: World, part: PartialSweep, **settings: Any) -> Swept:
    """The same of a part of the table."""
    found = sweep(job(**settings), world.edges, part)
    found.save("findings")
    return found


def applied(world: World, plan: Plan | None, approval: Approval = Approval(), **settings: Any) -> TableResult:  # noqa: B008
    """The apply of a plan whose findings `swept` saved; what it leaves is in `left`, and must add up."""
    assert plan is not None
    asked = (job(**settings), plan, "findings", approval, world.edges)
    return listed(world, lambda listing: apply(*asked, listing=listing))


def listed(world: World, act: Callable[[Listing], TableResult]) -> TableResult:
    """An apply whose list must have every planned row that its result does not call applied, now or before."""
    world.disk.pop("uncorrected", None)
    result = act(Listing("uncorrected", "t/uncorrected"))
    done, told = result.corrections, result.uncorrected
    assert told is not None
    rows = done.upserts + done.deletes - done.applied - done.applied_before
    assert (told.rows, sum(told.by_reason.values())) == (rows, rows), "the reasons do not add up"
    assert set(told.by_reason) <= set(REASONS), told
    assert len(left(world)) == told.listed_rows, "the list does not hold what the result says"
    assert bool(told.why) == (told.listed_rows < rows), told
    return result


def left(world: World) -> dict[Any, str]:
    """Why each row was not corrected, by key, as the last apply listed it."""
    return {row["key"][0]: row["reason"] for row in world.disk.get("uncorrected", [])}


def at_checkpoint(world: World, **changes: Any) -> None:
    """The newest checkpoint once more, with changes, in a commit of its own."""
    found = world.lake.find_checkpoint()
    assert found is not None
    world.lake.plant(world.lake.now, replace(found.checkpoint, **changes))
