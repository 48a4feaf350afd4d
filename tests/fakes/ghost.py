"""What must hold of a lake's commits, whoever made them, for all that the source ever held.

Every change at the source has a number of its own, which is also the row's value `v`: an older number in the lake after a
newer one is a regression. An undo alone may bring an older number back: exactly the rows of the apply that it takes back,
as they were, where nobody touched them since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hudi_reconcile.stages.apply.recovery import UNDID
from tests.fakes.lake import Commit
from tests.fakes.rows import SEQNO

Row = dict[str, Any]


def by_key(commit: Commit) -> dict[int, Row]:
    """The table after a commit. Fails where a key is there twice."""
    found = {row["id"]: row for row in commit.rows}
    assert len(found) == len(commit.rows), f"a key is there twice: {commit.rows}"
    return found


def versions_of(commit: Commit) -> dict[int, str]:
    return {key: row[SEQNO] for key, row in by_key(commit).items()}


def changed_by(commits: Sequence[Commit], place: int) -> set[int]:
    """The keys that a commit wrote or removed."""
    now = versions_of(commits[place])
    before = versions_of(commits[place - 1]) if place else {}
    return {key for key in before | now if before.get(key) != now.get(key)}


def untouched_since(commits: Sequence[Commit], place: int) -> set[int]:
    """The keys that a commit wrote or removed and no later commit did."""
    later = set().union(*(changed_by(commits, number) for number in range(place + 1, len(commits))))
    return changed_by(commits, place) - later


def taken_back(commits: Sequence[Commit], place: int) -> int | None:
    """Where the commit is that a commit took back; None where it is no undo."""
    undid = commits[place].labels.get(UNDID)
    if undid is None:
        return None
    (found,) = [number for number, one in enumerate(commits) if one.instant.requested == undid]
    return found


@dataclass(slots=True)
class Ghost:
    """The source's own history, and how far each key of the lake has come: after each commit what may not be undercut."""

    versions: dict[int, list[int | None]] = field(default_factory=lambda: {0: [], 1: []})  # None where deleted
    floors: list[dict[int, int]] = field(default_factory=list)

    def tell(self, key: int, number: int | None) -> None:
        """The source holds another version of the key, or none."""
        self.versions[key].append(number)

    def hold(self, commits: Sequence[Commit]) -> None:
        """Judge the commits that were not there when it was asked last."""
        marks = [one.checkpoint.watermark_micros or -1 for one in commits if one.checkpoint is not None]
        assert marks == sorted(marks), "I6: the checkpoint fell"
        for place in range(len(self.floors), len(commits)):
            self._judge(commits[: place + 1], place)

    def _judge(self, commits: Sequence[Commit], place: int) -> None:
        floor = dict(self.floors[-1]) if self.floors else {}
        undone = taken_back(commits, place)
        if undone is not None:
            self._restored(commits, place, undone)
            before = self.floors[undone - 1] if undone else {}
            floor |= {key: before.get(key, 0) for key in changed_by(commits, place)}
        else:
            self._forward(commits, place, floor)
        self.floors.append(floor)

    def _restored(self, commits: Sequence[Commit], place: int, undone: int) -> None:
        """I13: all rows of the apply that nobody touched since, and no other, are as they were before it."""
        restored = changed_by(commits, place)
        assert restored == untouched_since(commits[:place], undone), "I13: not the rows that nobody touched since"
        was, now = by_key(commits[undone - 1]), by_key(commits[place])
        for key in restored:
            values = [None if row is None else (row["v"], row["at"]) for row in (was.get(key), now.get(key))]
            assert values[0] == values[1], "I13: not as it was before the apply"

    def _forward(self, commits: Sequence[Commit], place: int, floor: dict[int, int]) -> None:
        """I1 and I2: what a commit changes is a state the source was in, and not an older one than the lake had."""
        now, before = by_key(commits[place]), by_key(commits[place - 1]) if place else {}
        for key, row in now.items():
            assert row["v"] in self.versions[key], "I2: the source never held this"
            assert row["v"] >= floor.get(key, 0), "I1: the lake fell back"
            floor[key] = row["v"]
        for key in before.keys() - now.keys():
            since = self.versions[key][self.versions[key].index(before[key]["v"]) :]
            assert None in since, "I1: a row that the source still holds was deleted"
            floor[key] = before[key]["v"] + 1  # the version that was removed must not come back
