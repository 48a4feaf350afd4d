"""A history of source, pulls, sweeps and applies as a Hypothesis machine, and what must hold after each step.

Every change at the source gets a number of its own, which is also the row's value `v`: an older number in the lake
after a newer one is a regression, whoever wrote it. Another writer may pull without our lease, at any moment that matters
to a sweep or an apply, and slowly: it reads now and commits later. Any of our commands may be killed at any such moment.
Both keys lie in one segment, and in one file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan import Approval, Plan
from hudi_reconcile.core.values import Checkpoint
from hudi_reconcile.stages.pull import pull
from hudi_reconcile.stages.sweep import Swept
from tests.fakes.world import Row, World, applied, job, swept

keys = st.integers(0, 1)
points = st.sampled_from(["clock.sleep", "lake.correct", "source.rows", "lake.upsert"])
ends = st.sampled_from(["clock.sleep", "lake.pin", "lake.correct", "source.rows", "lake.upsert", "source.rows_now"])
SILENT, LATE, MOVED, DELETED = "silent", "late", "moved", "deleted"
changes = st.sampled_from([SILENT, LATE, MOVED, DELETED])


def everything(plan: Plan) -> Approval:
    return Approval(approve_deletes=plan.deletes, allow_empty_source=True)


class KilledError(BaseException):
    """SIGKILL: nothing of ours runs any more."""


def die() -> None:
    raise KilledError


class History(RuleBasedStateMachine):
    """`new_world` is what a mutant replaces."""

    @staticmethod
    def new_world() -> World:
        return World.new()

    @initialize()
    def begin(self) -> None:
        self.world = self.new_world()
        self.number = 0
        self.versions: dict[int, list[int | None]] = {0: [], 1: []}  # numbers by key; None where deleted
        self.plan: Plan | None = None
        self.seen_commits = 0
        self.slow: tuple[list[Row], int] | None = None  # what a slow writer has read, and how many commits there were
        self.lake_number: dict[int, int] = {}
        self.change(0, MOVED)
        self.change(1, MOVED)
        pull(job(), self.world.edges, full=False)

    # --- the source ---

    def change(self, key: int, how: str) -> None:
        source, clock = self.world.source, self.world.clock
        if how == DELETED:
            source.delete(key)
            self.versions[key].append(None)
            return
        self.number += 1
        clock.now_micros += 20  # a change is below the bound by the next step
        at = clock.now_micros - 20
        found = source.table.get(key)
        if how == SILENT and found is not None:
            at = found["at"]
        if how == LATE:
            at -= 500
        source.put(key, self.number, at)
        self.versions[key].append(self.number)

    @rule(key=keys, how=changes)
    def change_now(self, key: int, how: str) -> None:
        self.change(key, how)

    @rule(key=keys, how=changes, point=points)
    def change_at(self, key: int, how: str, point: str) -> None:
        self.world.journal.before(point, lambda: self.change(key, how))

    # --- the lake ---

    def other_writer(self) -> None:
        """A pull of another process, without our lease: whole rows as the source has them, checkpoint untouched."""
        source, lake = self.world.source, self.world.lake
        rows = [lake.stamped(dict(row)) for row in source.table.values()]
        kept = [row for row in lake.now if row["id"] not in source.table]
        lake.plant([*kept, *rows])

    @precondition(lambda self: self.slow is None)
    @rule()
    def other_writer_begins(self) -> None:
        """It has read the source and is in flight."""
        self.slow = ([dict(row) for row in self.world.source.table.values()], len(self.world.lake.commits))
        self.world.lake.in_flight.add("slow")

    @precondition(lambda self: self.slow is not None)
    @rule()
    def other_writer_ends(self) -> None:
        """Hudi's conflict check: a commit that came first, to the same file, makes this one fail."""
        assert self.slow is not None
        rows, commits = self.slow
        lake, self.slow = self.world.lake, None
        lake.in_flight.clear()
        if len(lake.commits) == commits or not lake.checks_conflicts:
            read = {row["id"] for row in rows}
            lake.plant([*(row for row in lake.now if row["id"] not in read), *map(lake.stamped, rows)])

    # Not inside a pull: there Hudi's conflict check and the read sequence decide, which the fake lake does not play.
    @rule(point=st.sampled_from(["clock.sleep", "lake.correct", "source.rows"]))
    def other_writer_at(self, point: str) -> None:
        self.world.journal.before(point, self.other_writer)

    @rule()
    def pull(self) -> None:
        with self.mortal():
            pull(job(), self.world.edges, full=False)

    # --- kills ---

    @contextmanager
    def mortal(self) -> Iterator[None]:
        """A command of ours, which a kill ends."""
        try:
            yield
        except KilledError:
            self.world.source.snapshot = None

    @rule(point=ends)
    def kill_at(self, point: str) -> None:
        self.world.journal.before(point, die)

    @rule(point=ends)
    def kill_after_the_next_commit_at(self, point: str) -> None:
        journal = self.world.journal
        journal.before("lake.correct", lambda: journal.before(point, die))

    # --- the reconciler ---

    @rule()
    def sweep(self) -> None:
        with self.mortal():
            self.sweep_until_killed()

    def sweep_until_killed(self) -> None:
        world, first = self.world, {}
        quiet = not any(point in ("clock.sleep", "source.rows") for point, _ in world.journal.planned)
        world.journal.planned.insert(0, ("clock.sleep", lambda: first.update(world.source_holds())))
        done = swept(world)
        world.journal.planned[:] = [item for item in world.journal.planned if item[0] != "clock.sleep"]
        self.plan = done.draft or self.plan
        if done.draft is not None:
            world.disk[done.draft.plan_id] = world.disk["findings"]
            self.is_sound(world.disk["findings"], first)
        if quiet or self.looked_twice_at_the_head(done):
            drift = self.differences()
            assert done.result.outcome is not Outcome.CLEAN or not drift, ("I7: clean, but", drift)
            assert not quiet or (done.result.outcome is Outcome.DRIFT) == bool(drift)

    @rule(key=keys, how=changes)
    def heal_and_drift_between_the_looks(self, key: int, how: str) -> None:
        """What differed is brought by another writer, and then the other row differs: only the second look can see it."""
        self.change(key, SILENT)
        self.world.journal.before("clock.sleep", self.other_writer)
        self.world.journal.before("clock.sleep", lambda: self.change(1 - key, how))
        self.sweep()

    def looked_twice_at_the_head(self, done: Swept) -> bool:
        """Whether the second look saw what both sides hold now."""
        pinned = done.result.lake
        return (
            done.findings is not None
            and pinned is not None
            and self.world.lake.commits[-1].instant.completed == pinned.at
        )

    def is_sound(self, findings: list[dict[str, Any]], first: dict[Any, Any]) -> None:
        """I4 and its like: what would be corrected was so at the first look and is so now."""
        now = self.world.source_holds()
        for row in findings:
            if row["action"] != "none":
                key = row["key"][0]
                assert (key in now) == (row["action"] == "upsert"), "planned against what the source holds now"
                assert first.get(key) == now.get(key), "planned though it moved between the looks"

    @precondition(lambda self: self.slow is None)
    @rule(key=keys, how=changes)
    def correct_beside_a_slow_writer(self, key: int, how: str) -> None:
        """A writer reads, the row changes, the change is planned and applied, and only then the writer ends."""
        self.other_writer_begins()
        self.change(key, how)
        self.sweep()
        if self.plan is not None:
            self.apply()
        self.other_writer_ends()

    @rule(key=keys, how=changes)
    def change_and_sweep(self, key: int, how: str) -> None:
        self.change(key, how)
        self.sweep()

    @rule(key=keys, how=changes)
    def change_and_apply(self, key: int, how: str) -> None:
        self.change(key, how)
        if self.plan is not None:
            self.apply()

    @rule(key=keys, how=changes)
    def race(self, key: int, how: str) -> None:
        """A row changes and another writer brings it, just before our commit."""
        self.change(key, SILENT)
        self.sweep()
        self.world.journal.before("lake.correct", lambda: self.change(key, how))
        self.world.journal.before("lake.correct", self.other_writer)
        if self.plan is not None:
            self.apply()

    def differences(self) -> dict[int, Any]:
        """Keys that differ now and that the next pull would not bring."""
        found = self.world.lake.checkpoint()
        reached = None if found is None else found.checkpoint.watermark_micros
        ours, theirs = self.world.source_holds(), self.world.lake_holds()
        return {
            key: (ours.get(key), theirs.get(key))
            for key in ours | theirs
            if ours.get(key) != theirs.get(key) and not (key in ours and reached is not None and ours[key][1] > reached)
        }

    @precondition(lambda self: self.plan is not None)
    @rule()
    def apply(self) -> None:
        with self.mortal():
            self.apply_until_killed()

    def apply_until_killed(self) -> None:
        assert self.plan is not None
        self.world.disk["findings"] = self.world.disk[self.plan.plan_id]
        quiet = not self.world.journal.planned and self.slow is None
        result = applied(self.world, self.plan, everything(self.plan))
        done = result.corrections
        total = done.applied + done.applied_before + done.superseded + done.moved + done.failed
        assert total == self.plan.upserts + self.plan.deletes, "I5: a planned row without an outcome"
        if result.outcome is Outcome.CORRECTED:
            assert done.applied + done.applied_before == total, "I5: corrected, but not every row was written"
            drift = self.differences()
            assert not quiet or not drift, ("I8: corrected, but", drift)

    @precondition(lambda self: self.plan is not None)
    @rule()
    def apply_twice(self) -> None:
        assert self.plan is not None
        self.apply()
        label = f"{self.plan.plan_id}:all"
        landed = [commit for commit in self.world.lake.commits if commit.labels.get("plan") == label]
        assert len(landed) <= 1
        if landed:
            before = list(self.world.lake.commits)
            self.apply()
            assert self.world.lake.commits == before

    @rule()
    def quiesce(self) -> None:
        """Nothing else happens: one round brings the lake to the source's state (I8)."""
        world = self.world
        world.journal.planned.clear()
        if self.slow is not None:
            self.other_writer_ends()
        world.clock.now_micros += 100
        pull(job(), world.edges, full=False)
        done = swept(world)
        if done.draft is not None:
            assert applied(world, done.draft, everything(done.draft)).outcome is Outcome.CORRECTED
        assert swept(world).result.outcome is Outcome.CLEAN
        assert world.lake_holds() == world.source_holds()

    # --- what must hold ---

    @invariant()
    def nothing_falls_back(self) -> None:
        """I1 and I2: what a commit changes is a state the source was in, and not an older one than the lake had."""
        commits = self.world.lake.commits
        reached: list[Checkpoint] = [commit.checkpoint for commit in commits if commit.checkpoint is not None]
        marks = [item.watermark_micros or -1 for item in reached]
        assert marks == sorted(marks), "I6: the checkpoint fell"
        while self.seen_commits < len(commits):
            before = {row["id"] for row in commits[self.seen_commits - 1].rows} if self.seen_commits else set()
            after = {row["id"]: row["v"] for row in commits[self.seen_commits].rows}
            for key, number in after.items():
                assert number in self.versions[key], "I2: the source never held this"
                assert number >= self.lake_number.get(key, 0), "I1: the lake fell back"
                self.lake_number[key] = number
            for key in before - after.keys():
                self.removed(key)
            self.seen_commits += 1

    def removed(self, key: int) -> None:
        """A delete is right only where the source lost the row after the version that was removed."""
        versions = self.versions[key]
        place = versions.index(self.lake_number[key])
        assert None in versions[place:], "I1: a row that the source still holds was deleted"
        self.lake_number[key] += 1  # the version that was removed must not come back
