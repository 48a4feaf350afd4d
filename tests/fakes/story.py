"""The steps of which a history of source, pulls, sweeps, applies and undos is made, and what each must have for an outcome.

A step may be taken in any world (`played.py`). What holds after every step, of all commits, is in `ghost.py`. `told` is
what the commands said, so that two worlds in which one history is played can be held against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.plan.plan import Approval, Plan
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.stages.apply.recovery import PLAN_LABEL, RUN_LABEL, UNDID, UNDOABLE
from hudi_reconcile.stages.sweep.sweep import Swept
from tests.fakes.ghost import Ghost, by_key, changed_by, untouched_since
from tests.fakes.played import Played

KEYS = (0, 1)
SILENT, LATE, MOVED, DELETED = CHANGES = ("silent", "late", "moved", "deleted")
# Where in a command another may come between, and where ours may be killed.
BETWEEN = ("clock.sleep", "lake.correct", "source.read_rows", "lake.upsert")
ENDS = ("clock.sleep", "lake.pin", "lake.correct", "source.read_rows", "lake.upsert", "source.count_rows")
# Which reads of a sweep lack a row: all of its first look, of its second, of both; the very first alone.
FIRST, SECOND, BOTH, ONCE = LOOKS = ("first", "second", "both", "once")


class KilledError(BaseException):
    """SIGKILL: nothing of ours runs any more."""


def die() -> None:
    raise KilledError


def everything(plan: Plan) -> Approval:
    return Approval(approve_deletes=plan.deletes, allow_empty_source=True)


@dataclass(slots=True)
class Story:
    """One history as it is played. Its steps are listed in `STEPS` (`steps.py`).

    `sees_all_twice`: both keys lie in one segment, of which the second look reads every row.
    """

    sees_all_twice: ClassVar[bool] = True

    world: Played
    ghost: Ghost = field(default_factory=Ghost)
    number: int = 0
    runs: int = 0
    plan: Plan | None = None
    opened: tuple[int, int | None] | None = None
    told: list[tuple[Any, ...]] = field(default_factory=list)

    def begin(self) -> None:
        """Two rows that were pulled."""
        self.change_now(0, MOVED)
        self.change_now(1, MOVED)
        self.pull()

    def holds(self) -> None:
        """What must hold after each step."""
        self.ghost.hold(self.world.commits())

    # --- the source ---

    def change_now(self, key: int, how: str) -> None:
        if self.opened is not None and self.opened[0] == key:
            self.transaction_commits()  # its row is locked till then
        if how == DELETED:
            self.world.delete(key)
            self.ghost.tell(key, None)
            return
        at = self._next(key, how)
        self.world.put(key, self.number, at)
        self.ghost.tell(key, self.number)

    def change_at(self, key: int, how: str, point: str) -> None:
        self.world.journal.before(point, lambda: self.change_now(key, how))

    def transaction_begins(self, key: int, how: str) -> None:
        """Its row has number and time by now, and is seen when it commits."""
        if self.opened is not None:
            self.transaction_commits()
        at = self._next(key, how)
        value = None if how == DELETED else self.number
        self.world.begin(key, value, at)
        self.opened = (key, value)

    def transaction_commits(self) -> None:
        assert self.opened is not None
        (key, value), self.opened = self.opened, None
        self.world.commit()
        self.ghost.tell(key, value)

    def _next(self, key: int, how: str) -> int:
        """The watermark of the next number."""
        self.number += 1
        self.world.now_micros += 20  # a change is below the bound by the next step
        at = self.world.now_micros - 20
        if how == SILENT:
            return self.world.source_holds().get(key, (0, at))[1]
        return at - 500 if how == LATE else at

    # --- the lake, by others ---

    def other_writer_at(self, point: str) -> None:
        self.world.journal.before(point, self.world.other_writer)

    # --- our commands ---

    def pull(self) -> None:
        with self._mortal():
            done = self.world.pull(self._run())
            self._tell("pull", done.outcome, rows=None if done.pull is None else done.pull.rows)

    def sweep(self) -> None:
        quiet = self._is_quiet("clock.sleep", "source.read_rows")
        with self._mortal():
            self._swept(quiet=quiet, whole=True)

    def sweep_losing(self, key: int, look: str) -> None:
        """A read of the source loses a row without an error."""
        world, journal, quiet = self.world, self.world.journal, self._is_quiet("clock.sleep", "source.read_rows")

        def lose() -> None:
            world.lose(key)

        def lose_once() -> None:
            world.lose(key)
            journal.before("source.read_rows", world.find)

        if look in (FIRST, BOTH):
            world.lose(key)
        if look == FIRST:
            journal.before("clock.sleep", world.find)
        if look == SECOND:
            journal.before("clock.sleep", lose)
        if look == ONCE:
            journal.before("source.read_rows", lose_once)
        with self._mortal():
            self._swept(quiet=quiet, whole=False)
        journal.planned[:] = [item for item in journal.planned if item[1] not in (lose, lose_once, world.find)]
        world.find()

    def apply(self) -> None:
        if self.plan is not None:
            with self._mortal():
                self._applied(self.plan, whole=True)

    def apply_losing(self, key: int) -> None:
        """Every read of its rows lacks one."""
        if self.plan is not None:
            self.world.lose(key)
            with self._mortal():
                self._applied(self.plan, whole=False)
            self.world.find()

    def apply_twice(self) -> None:
        """I3: the second writes nothing."""
        self.apply()
        landed = self._commits_of_plan()
        assert landed <= 1, "I3: a plan has two commits"
        if landed:
            before = self._commits_of_ours()
            self.apply()
            assert self._commits_of_ours() == before, "I3: a plan that is done was written again"

    def apply_beyond_the_limits(self) -> None:
        """I11: not a byte is written."""
        plan = self.plan
        if plan is None or self._commits_of_plan():
            return
        before = len(self.world.commits())
        self.world.journal.planned.clear()
        limits = {"max_deletes": 0, "max_delete_share": 0.0, "max_upsert_share": 0.0}
        done = self.world.apply(plan, Approval(), self._run(), **limits)
        assert done.outcome is Outcome.REFUSED, "I11: beyond the limits, and not refused"
        assert len(self.world.commits()) == before, "I11: beyond the limits, and written"

    def undo(self) -> None:
        """Of the newest apply that wrote, whether it was taken back before or not."""
        with self._mortal():
            self._undone()

    # --- kills ---

    def kill_at(self, point: str) -> None:
        self.world.journal.before(point, die)

    def kill_after_the_next_commit_at(self, point: str) -> None:
        journal = self.world.journal
        journal.before("lake.correct", lambda: journal.before(point, die))

    def apply_killed_and_run_again(self, point: str) -> None:
        """I5: nothing else happens, so it ends as if nobody had killed it."""
        if self.plan is not None and self._is_quiet():
            self.kill_at(point)
            self._run_twice(self.apply)

    def apply_killed_after_its_commit_and_run_again(self, point: str) -> None:
        if self.plan is not None and self._is_quiet():
            self.kill_after_the_next_commit_at(point)
            self._run_twice(self.apply)

    def pull_killed_and_run_again(self, point: str) -> None:
        if self._is_quiet():
            self.kill_at(point)
            self._run_twice(self.pull)

    # --- several of these at once, which chance would seldom put together ---

    def change_and_sweep(self, key: int, how: str) -> None:
        self.change_now(key, how)
        self.sweep()

    def change_and_apply(self, key: int, how: str) -> None:
        self.change_now(key, how)
        self.apply()

    def change_and_correct(self, key: int, how: str) -> None:
        self.change_now(key, how)
        self.sweep()
        self.apply()

    def commit_late(self, key: int, how: str) -> None:
        """A transaction that is open while a pull runs, and commits after a younger one that was pulled."""
        self.transaction_begins(key, how)
        self.change_now(1 - key, MOVED)
        self.pull()
        if self.opened is not None:
            self.transaction_commits()

    def heal_and_drift_between_the_looks(self, key: int, how: str) -> None:
        """What differed is brought by another writer, and then the other row differs: only the second look can see it."""
        self.change_now(key, SILENT)
        self.other_writer_at("clock.sleep")
        self.change_at(1 - key, how, "clock.sleep")
        self.sweep()

    def race(self, key: int, how: str) -> None:
        """A row changes and another writer brings it, just before our commit."""
        self.change_now(key, SILENT)
        self.sweep()
        self.change_at(key, how, "lake.correct")
        self.other_writer_at("lake.correct")
        self.apply()

    def come_back_unseen(self, key: int, how: str) -> None:
        """A row goes, its delete is planned, and it is there again when the apply's reads lose it."""
        self.change_now(key, DELETED)
        self.sweep()
        self.change_now(key, how)
        self.apply_losing(key)

    def arrive_late_and_unseen(self, key: int, look: str) -> None:
        """A row that the lake has not, and a read that lacks it: then both sides seem equal."""
        self.change_and_correct(key, DELETED)
        self.change_now(key, LATE)
        self.sweep_losing(key, look)

    def undo_beside_others(self, key: int, how: str) -> None:
        """A row is corrected and then changed, and another writer brings it before the undo, or just before its commit."""
        self.change_and_correct(key, SILENT)
        self.change_now(key, how)
        self.world.other_writer()
        self.undo()

    def undo_raced(self, key: int, how: str) -> None:
        self.change_and_correct(key, SILENT)
        self.change_at(key, how, "lake.correct")
        self.other_writer_at("lake.correct")
        self.undo()

    def undo_and_apply_again(self) -> None:
        self.undo()
        self.apply()

    def quiesce(self) -> None:
        """Nothing else happens: one round brings the lake to the source's state (I8)."""
        world = self.world
        world.journal.planned.clear()
        if self.opened is not None:
            self.transaction_commits()
        world.now_micros += 100
        self.pull()
        done = self._swept(quiet=True, whole=True)
        if done.draft is not None:
            self._applied(done.draft, whole=True)
            done = self._swept(quiet=True, whole=True)
        assert done.result.outcome is Outcome.CLEAN, "I8: not clean after one round"
        assert world.lake_holds() == world.source_holds(), "I8: not equal after one round"

    # --- how they are judged ---

    def _swept(self, *, quiet: bool, whole: bool) -> Swept:
        """`quiet`: nobody comes between. `whole`: no read loses a row."""
        world, first, unequal = self.world, {}, set[int]()

        def note_first_look() -> None:
            first.update(world.source_holds())
            unequal.update(self._unequal())

        world.journal.planned.insert(0, ("clock.sleep", note_first_look))
        done = world.sweep(self._run())
        world.journal.planned[:] = [item for item in world.journal.planned if item[0] != "clock.sleep"]
        result = done.result
        self._tell("sweep", result.outcome, planned=done.draft is not None, **{**result.findings, **result.not_drift})
        if done.draft is not None:
            self.plan = done.draft
            # A row that is lost while others change may be planned to be deleted: the apply asks for its key.
            if quiet or whole:
                self._is_sound(world.findings(done.draft), first)
        if quiet or (whole and self._looked_twice_at_the_head(done)):
            every = quiet or self.sees_all_twice
            drift = {key: kind for key, kind in self.differences().items() if every or key in unequal}
            assert result.outcome is not Outcome.CLEAN or not drift, ("I7: clean, but", drift)
        if quiet and whole:
            self._is_complete(result)
        return done

    def _is_complete(self, result: TableResult) -> None:
        """I6, I9 and I10: all rows were seen, and each that differs has its one kind."""
        ours, theirs = self.world.source_holds(), self.world.lake_holds()
        assert result.source is not None
        assert result.lake is not None
        assert (result.source.rows, result.lake.rows) == (len(ours), len(theirs)), "I9: not every row was compared"
        expected: dict[str, int] = {}
        for kind in self.differences().values():
            expected[kind] = expected.get(kind, 0) + 1
        found = {kind: rows for kind, rows in result.findings.items() if rows}
        assert found == expected, ("I10: not the kinds of what differs", found, expected)
        assert (result.outcome is Outcome.DRIFT) == bool(expected)

    def _unequal(self) -> set[int]:
        ours, theirs = self.world.source_holds(), self.world.lake_holds()
        return {key for key in ours | theirs if ours.get(key) != theirs.get(key)}

    def differences(self) -> dict[int, str]:
        """Keys that differ now and that the next pull would not bring (I6), and of which kind each is."""
        marks = [one.checkpoint.watermark_micros for one in self.world.commits() if one.checkpoint is not None]
        reached = marks[-1] if marks else None
        ours, theirs = self.world.source_holds(), self.world.lake_holds()
        found = {}
        for key in ours | theirs:
            row, held = ours.get(key), theirs.get(key)
            waits = row is not None and reached is not None and row[1] > reached
            if row != held and not waits:
                found[key] = _kind(row, held)
        return found

    def _looked_twice_at_the_head(self, done: Swept) -> bool:
        """Whether the second look saw what both sides hold now."""
        pinned = done.result.lake
        head = self.world.commits()[-1].instant.completed
        return done.findings is not None and pinned is not None and pinned.at == head

    def _is_sound(self, findings: list[tuple[int, str]], first: Mapping[int, Any]) -> None:
        """I4 and its like: what would be corrected was so at the first look and is so now; no key is there twice."""
        now = self.world.source_holds()
        assert len({key for key, _ in findings}) == len(findings), "I10: a key has two findings"
        for key, action in findings:
            if action != "none":
                assert (key in now) == (action == "upsert"), "planned against what the source holds now"
                assert first.get(key) == now.get(key), "planned though it moved between the looks"

    def _applied(self, plan: Plan, *, whole: bool) -> None:
        quiet, undone = self._is_quiet(), self._was_undone(plan)
        before, run = len(self.world.commits()), self._run()
        try:
            result = self.world.apply(plan, everything(plan), run)
        except RefusedError:
            assert undone, "refused, though the plan was not undone"
            assert len(self.world.commits()) == before
            self.told.append(("refused",))
            return
        assert not undone, "I13: a plan that was undone was applied again"
        done = result.corrections
        self._tell("apply", result.outcome, applied=done.applied, before=done.applied_before, superseded=done.superseded,
                   moved=done.moved, failed=done.failed)  # fmt: skip
        total = done.applied + done.applied_before + done.superseded + done.moved + done.failed
        assert total == plan.upserts + plan.deletes, ("I5: a planned row without an outcome", done, result.error)
        wrote = 0 if result.already_applied else done.applied + done.failed
        assert self._rows_of(before, run) == wrote, "I14: not the rows that the commit changed"
        if result.outcome is Outcome.CORRECTED:
            assert done.applied + done.applied_before == total, "I5: corrected, but not every row was written"
            drift = self.differences()
            assert not (quiet and whole) or not drift, ("I8: corrected, but", drift)
        if quiet:
            gone = by_key(self.world.commits()[before - 1]).keys() - self.world.lake_holds().keys()
            assert not gone & self.world.source_holds().keys(), "I4: a row that the source holds was deleted"

    def _undone(self) -> None:
        run = next((one.labels[UNDOABLE] for one in reversed(self.world.commits()) if UNDOABLE in one.labels), None)
        if run is None:
            return
        quiet, commits = self._is_quiet(), list(self.world.commits())
        place = max(number for number, one in enumerate(commits) if one.labels.get(UNDOABLE) == run)
        again, mine = self._undid(commits[place].instant.requested), self._run()
        restored = set() if again else untouched_since(commits, place)
        result = self.world.undo(run, mine)
        done = result.corrections
        self._tell("undo", result.outcome, again=result.already_applied, applied=done.applied, superseded=done.superseded,
                   before=done.applied_before, failed=done.failed)  # fmt: skip
        total = done.applied + done.applied_before + done.superseded + done.failed
        assert total == done.upserts + done.deletes == len(changed_by(commits, place)), "I13: a row without an outcome"
        wrote = 0 if again else done.applied + done.failed
        assert self._rows_of(len(commits), mine) == wrote, "I14: not the rows that the commit changed"
        assert not quiet or done.applied == len(restored), "I13: not every row that nobody touched is as it was"
        if result.outcome is Outcome.CORRECTED:
            assert done.applied + done.applied_before == total

    def _run_twice(self, command: Callable[[], None]) -> None:
        """A kill is planned for the first; the twin's command is not killed."""
        twin = self.world.twin()
        command()
        self.world.journal.planned.clear()
        command()
        if twin is None:
            return
        twin.journal.planned.clear()
        alone = Story(twin, plan=self.plan, runs=1_000)
        alone.ghost = Ghost({key: list(found) for key, found in self.ghost.versions.items()})
        getattr(alone, command.__name__)()
        assert self.world.lake_holds() == twin.lake_holds(), "I5: not what it would be without the kill"
        assert _counted(self.told[-1]) == _counted(alone.told[-1]), "I5: it tells other counts than without the kill"

    def _commits_of_plan(self) -> int:
        assert self.plan is not None
        label = f"{self.plan.plan_id}:all"
        return sum(one.labels.get(PLAN_LABEL) == label for one in self.world.commits())

    def _commits_of_ours(self) -> int:
        """Commits with a label or a checkpoint: another writer, which leaves neither, may come while a command of ours runs."""
        return sum(bool(one.labels) or one.checkpoint is not None for one in self.world.commits())

    def _was_undone(self, plan: Plan) -> bool:
        mine = [one for one in self.world.commits() if one.labels.get(PLAN_LABEL) == f"{plan.plan_id}:all"]
        return any(self._undid(one.instant.requested) for one in mine)

    def _undid(self, requested: str) -> bool:
        return any(one.labels.get(UNDID) == requested for one in self.world.commits())

    def _rows_of(self, since: int, run: str) -> int:
        """The rows that commits of a run changed."""
        commits = self.world.commits()
        mine = [number for number in range(since, len(commits)) if commits[number].labels.get(RUN_LABEL) == run]
        return sum(len(changed_by(commits, number)) for number in mine)

    def _run(self) -> str:
        self.runs += 1
        return f"run-{self.runs}"

    def _is_quiet(self, *points: str) -> bool:
        """Nobody else writes, and nothing waits to come between; at these points, or at any."""
        planned = [point for point, _ in self.world.journal.planned if not points or point in points]
        return not planned and (bool(points) or not self.world.in_flight)

    def _tell(self, command: str, outcome: Outcome, **counts: Any) -> None:
        self.told.append((command, outcome.value, {name: found for name, found in counts.items() if found}))

    @contextmanager
    def _mortal(self) -> Iterator[None]:
        """A command of ours, which a kill ends."""
        try:
            yield
        except KilledError:
            self.told.append(("killed",))
            self.world.died()


def _kind(row: tuple[int, int] | None, held: tuple[int, int] | None) -> str:
    if row is None:
        return "deleted"
    if held is None or row[1] > held[1]:
        return "late_arriving"
    return "regressed" if row[1] < held[1] else "updated_without_watermark"


def _counted(told: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a command said, whichever of its runs wrote the rows."""
    if told[0] != "apply":
        return told[:1]
    counts = dict(told[2])
    counts["applied"] = counts.get("applied", 0) + counts.pop("before", 0)
    return (*told[:2], counts)
