"""What a duel left behind, judged: the lake's snapshots against what the source ever held, the applies against the timeline.

Every change of a row has a number that rises by key; `Ghost` is the list of them in the order of their commits, None for
a delete's row. Pure: values in, sentences about what is wrong out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Ghost = Mapping[int, Sequence[tuple[int, bool]]]  # by key: number of the change, whether the row was there after it


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole table after one commit: how often each key is there, its number and the version of its row in Hudi."""

    requested: str
    completed: str
    labels: Mapping[str, str]
    checkpoint: int | None
    copies: Mapping[int, int]
    numbers: Mapping[int, int]
    versions: Mapping[int, str]


@dataclass(slots=True)
class Judged:
    """What was counted on the way, and every fault."""

    faults: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def history(snapshots: Sequence[Snapshot], ghost: Ghost) -> Judged:
    """No key twice, no number that the source never had, no older one after a newer, no checkpoint that falls."""
    found, reached, mark = Judged(), dict[int, int](), -1
    before: Mapping[int, int] = {}
    for shot in snapshots:
        doubled = [key for key, copies in shot.copies.items() if copies > 1]
        found.faults += [f"{shot.requested}: key {key} is there {shot.copies[key]} times" for key in doubled]
        if shot.checkpoint is not None and shot.checkpoint < mark:
            found.faults.append(f"{shot.requested}: the checkpoint fell from {mark} to {shot.checkpoint}")
        mark = mark if shot.checkpoint is None else shot.checkpoint
        written = {key: number for key, number in shot.numbers.items() if before.get(key) != number}
        removed = {key: before[key] for key in before.keys() - shot.numbers.keys()}
        found.faults += [f"{shot.requested}: {what}" for what in _wrong_steps(written, removed, reached, ghost)]
        found.counts.update({"versions of rows": len(written), "rows removed": len(removed)})
        before = shot.numbers
    return found


def _wrong_steps(
    written: Mapping[int, int], removed: Mapping[int, int], reached: dict[int, int], ghost: Ghost
) -> Iterator[str]:
    """What one commit did that it must not; `reached`, the newest change of each key that was shown, goes on."""
    for key, number in written.items():
        if (number, True) not in ghost[key]:
            yield f"the source never held number {number} of key {key}"
        if number < reached.get(key, 0):
            yield f"key {key} fell back from {reached[key]} to {number}"
        reached[key] = number
    for key, shown in removed.items():
        deleted = [number for number, there in ghost[key] if not there and number > shown]
        if not deleted:
            yield f"key {key} was removed while the source held it"
        reached[key] = min(deleted, default=shown)


def applies(snapshots: Sequence[Snapshot], results: Sequence[Mapping[str, Any]]) -> Judged:
    """Every apply's outcomes sum to its plan, its commit changed as many rows as it says, and no plan is written twice.

    `results` are the applies' tables as the evidence has them. Commits without one are of applies that were killed.
    """
    found = Judged()
    plans = Counter(shot.labels["plan"] for shot in snapshots if "plan" in shot.labels)
    found.faults += [f"plan {plan} was committed {times} times" for plan, times in plans.items() if times > 1]
    changed = _changes(snapshots)
    told = set()
    for result in results:
        rows = result["corrections"]
        planned = rows["upserts"] + rows["deletes"]
        outcomes = Counter({name: rows[name] for name in ("applied", "superseded", "moved", "failed")})
        found.counts[f"applies {result['outcome']}{', applied before' if result['already_applied'] else ''}"] += 1
        told.update(rows["instants"])
        if result["already_applied"] or result["outcome"] in ("refused", "unverified"):
            continue
        found.counts.update({f"rows {name}": count for name, count in outcomes.items()})
        found.counts["rows planned"] += planned
        if outcomes.total() != planned:
            found.faults.append(f"plan {result['plan_id']}: {dict(outcomes)} do not add up to {planned}")
        wrote = sum(changed[instant] for instant in rows["instants"] if instant in changed)
        if wrote != rows["applied"] + rows["failed"] * bool(rows["instants"]):
            found.faults.append(f"plan {result['plan_id']}: {wrote} rows changed, {rows['applied']} were reported")
        found.faults += [
            f"plan {result['plan_id']}: instant {one} is not there" for one in rows["instants"] if one not in changed
        ]
    ours = {shot.completed for shot in snapshots if "plan" in shot.labels}
    found.counts["applies' commits"] = len(ours)
    found.counts["applies' commits that only the timeline tells of"] = len(ours - told)
    return found


def _changes(snapshots: Sequence[Snapshot]) -> dict[str, int]:
    """How many rows each commit wrote or removed, by its completion."""
    found, before = {}, Snapshot("", "", {}, None, {}, {}, {})
    for shot in snapshots:
        keys = before.versions.keys() | shot.versions.keys()
        found[shot.completed] = sum(before.versions.get(key) != shot.versions.get(key) for key in keys)
        before = shot
    return found
