"""The commits of an apply: one for upserts and deletes; one more where the lake holds planned keys more than once.

The second writes partitions anew, which gives every row in them a new version, so it comes last. Decides the order and
what is counted when one of them is not made; which rows may be written is decided before. An apply that was killed between
the two is finished by the next: what its first commit made is known by the plan's id on the timeline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hudi_reconcile.core.errors import RefusedError, SupersededError
from hudi_reconcile.core.plan import Plan
from hudi_reconcile.core.segments import SegmentSet
from hudi_reconcile.core.standing import UNKNOWN, Standing
from hudi_reconcile.core.values import Checkpoint, Instant
from hudi_reconcile.ports import Corrective, Frame, Lake, Look, Quarantine
from hudi_reconcile.stages.confirm import pinned
from hudi_reconcile.stages.evolve import Followed
from hudi_reconcile.stages.request import TableJob
from hudi_reconcile.stages.scope import Scope
from hudi_reconcile.stages.sides import Sides

PLAN_LABEL = "plan"
UNDOABLE = "wrote"  # the commit that `undo` takes back, by the run that made it
READY, DOUBLED, LANDED = "ready", "doubled", "landed"
PARTS = ("all", "upsert", "delete")
_FIRST = ":first"


@dataclass(frozen=True, slots=True)
class Work:
    """A plan's corrections that are still to be made, and where.

    `followed` is the lake table as they leave it. `first`: an earlier apply made its first commit only. `accepted`: the
    filter and history that a person took over for the lake's rows. `as_of_micros`: the source's time that they show.
    """

    job: TableJob
    plan: Plan
    action: str | None
    sides: Sides
    rows: Frame
    touched: SegmentSet
    scope: Scope
    followed: Followed
    first: Instant | None = None
    quarantine: Quarantine | None = None
    accepted: Standing = UNKNOWN
    as_of_micros: int | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """What became of every planned row, by status; the commits that were made; why one was not."""

    status: Mapping[str, int]
    instants: tuple[Instant, ...] = ()
    notes: tuple[str, ...] = ()
    savepoint: str | None = None


def first_of(plan_id: str, action: str | None, lake: Lake) -> Instant | None:
    """The first of two commits that an apply of the same part made, or of the whole; the newest where there are more."""
    labels = {f"{plan_id}:{part}{_FIRST}" for part in (PARTS if action is None else ("all", action))}
    found = [lake.find_commit(PLAN_LABEL, label) for label in sorted(labels)]
    return max((one for one in found if one is not None), key=lambda one: one.completed, default=None)


def with_landed(work: Work, rechecked: Frame) -> Frame:
    """What the first commit of a killed apply made is not superseded by it. Unknown where its forerunner may be cleaned."""
    if work.first is None:
        return rechecked
    lake = work.sides.lake
    try:
        before, at = lake.around(work.first)
    except RefusedError:
        return rechecked
    return work.sides.comparer.landed(rechecked, lake.rows(before), lake.rows(at), work.touched)


def write_corrections(work: Work, rechecked: Frame, earlier: Checkpoint | None, clock_micros: int) -> Written:
    """Make the commits and read back what the lake shows.

    Raises RefusedError where Hudi cannot carry a correction out and nothing was written yet.
    """
    rechecked, held = _held_back(work, rechecked)
    counts = dict(work.sides.comparer.count(rechecked, "status"))
    rows = {status: counts.pop(status, 0) for status in (READY, DOUBLED)}
    landed = counts.pop(LANDED, 0)
    read_seq = max(clock_micros, 0 if earlier is None else earlier.read_seq + 1)
    instants: list[Instant] = []
    savepoint = _savepoint(work) if any(rows.values()) else None
    written: list[str] = []
    notes = [f"held back: {found} corrections break rule {rule}" for rule, found in held.items()]
    for status in [status for status, found in rows.items() if found]:
        last = status == DOUBLED or not rows[DOUBLED]
        try:
            instants.append(_commit(work, rechecked, _carried(work, earlier, read_seq), status, last=last))
            written.append(status)
        except SupersededError:
            counts["superseded"] = counts.get("superseded", 0) + rows[status]
        except RefusedError as error:
            if not instants:
                raise
            counts["failed"] = counts.get("failed", 0) + rows[status]
            notes.append(f"{error.message}; {error.fix}")
    for name, found in _read_back(work, rechecked, tuple(written)).items() if written else ():
        counts[name] = counts.get(name, 0) + found
    if savepoint and instants:
        work.sides.lake.drop_savepoints(keep=savepoint)
    kept = savepoint if instants else None
    if landed and work.first is not None:
        counts["applied"] = counts.get("applied", 0) + landed
        instants.insert(0, work.first)
        notes.append(f"an apply of this plan was killed between its two commits; {landed} rows are from the first")
    return Written(counts, tuple(instants), tuple(notes), kept)


def _held_back(work: Work, rechecked: Frame) -> tuple[Frame, Mapping[str, int]]:
    """Upserts whose new image breaks a rule of the quarantine are not written: status `held`, and how many by rule."""
    if work.quarantine is None:
        return rechecked, {}
    sides, found = work.sides, Counter[str]()
    for status in (READY, DOUBLED):
        upserts = sides.comparer.ready(rechecked, status).upserts
        images = sides.lake.batch(upserts, sides.table.columns, work.job.partition_by, 0, work.followed.shape)
        key = tuple(column.lake_name for column in sides.table.key_columns)
        held = work.quarantine.held(images, key)
        if held.by_rule:
            rechecked = sides.comparer.hold(rechecked, held.keys)
            found.update(held.by_rule)
    return rechecked, found


def _savepoint(work: Work) -> str | None:
    """One savepoint a table is kept: the newest from before an apply that wrote."""
    deletes = work.plan.deletes > 0 and work.action != "upsert"
    wanted = {"always": True, "deletes": deletes}.get(work.job.savepoint, False)
    return work.sides.lake.savepoint(f"before apply {work.job.run_id}") if wanted else None


def _carried(work: Work, earlier: Checkpoint | None, read_seq: int) -> Checkpoint:
    # The pull's own progress is carried on unchanged; only the read sequence rises, so that nothing older wins later.
    if earlier is None:
        blank = Checkpoint(work.job.strategy, work.job.watermark, None, None, read_seq, work.sides.table.identity)
        return replace(blank, incrementing=work.job.incrementing)
    taken = work.accepted
    earlier = replace(earlier, where=taken.where or earlier.where, timeline=taken.timeline or earlier.timeline)
    earlier = replace(earlier, position=taken.position or earlier.position)
    as_of = max((at for at in (earlier.as_of_micros, work.as_of_micros) if at is not None), default=None)
    return replace(earlier, read_seq=read_seq, as_of_micros=as_of)


def _commit(work: Work, rechecked: Frame, carried: Checkpoint, status: str, *, last: bool) -> Instant:
    sides, job = work.sides, work.job
    found = sides.comparer.ready(rechecked, status)
    shape = work.followed.shape
    upserts = sides.lake.batch(found.upserts, sides.table.columns, job.partition_by, carried.read_seq, shape)
    # A plan counts as applied by the label of its last commit; a kill between the two leaves it to be applied again.
    part = f"{work.plan.plan_id}:{work.action or 'all'}"
    labels = {
        **job.labels("apply"),
        "sweep": work.plan.run_id,
        PLAN_LABEL: part if last else part + _FIRST,
    }
    if status == READY:
        labels[UNDOABLE] = job.run_id
    batch = Corrective(upserts, found.deletes, found.expected)
    write = sides.lake.replace if status == DOUBLED else sides.lake.correct
    return write(batch, work.followed.table, carried, labels)


def _read_back(work: Work, rechecked: Frame, written: tuple[str, ...]) -> Mapping[str, int]:
    sides = work.sides
    pin, _ = pinned(sides.lake)
    look = Look(sides.source.rows(sides.table, sides.cut, work.touched), sides.lake.rows(pin))
    return sides.comparer.read_back(rechecked, look, work.touched, written=written)
