"""The judge of `make duel` sees every kind of fault that it is there for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bench.duel_check import Snapshot, applies, history

GHOST = {1: [(1, True), (2, True), (3, True)], 2: [(1, True), (2, False), (3, True)]}


def shot(
    number: int, rows: Mapping[int, int], *, twice: tuple[int, ...] = (), checkpoint: int = 0, plan: str = ""
) -> Snapshot:
    copies = {key: 2 if key in twice else 1 for key in rows}
    labels = {"plan": plan} if plan else {}
    versions = {key: f"s{value}" for key, value in rows.items()}
    return Snapshot(str(number), f"c{number}", labels, checkpoint, copies, rows, versions)


def test_table_that_follows_its_source_has_no_fault() -> None:
    shots = [shot(1, {1: 1, 2: 1}), shot(2, {1: 2}, checkpoint=5), shot(3, {1: 3, 2: 3}, checkpoint=5)]

    judged = history(shots, GHOST)

    assert judged.faults == []
    assert judged.counts == {"versions of rows": 5, "rows removed": 1}


@pytest.mark.parametrize(
    ("shots", "fault"),
    [
        ([shot(1, {1: 1}, twice=(1,))], "1: key 1 is there 2 times"),
        ([shot(1, {1: 2}), shot(2, {1: 1})], "2: key 1 fell back from 2 to 1"),
        ([shot(1, {1: 2}), shot(2, {})], "2: key 1 was removed while the source held it"),
        ([shot(1, {2: 1}), shot(2, {}), shot(3, {2: 1})], "3: key 2 fell back from 2 to 1"),
        ([shot(1, {2: 2})], "1: the source never held number 2 of key 2"),
        ([shot(1, {}, checkpoint=7), shot(2, {}, checkpoint=6)], "2: the checkpoint fell from 7 to 6"),
    ],
)  # fmt: skip
def test_fault_of_the_tables_history_is_named(shots: list[Snapshot], fault: str) -> None:
    assert history(shots, GHOST).faults == [fault]


def result(**changes: Any) -> dict[str, Any]:
    rows = {"upserts": 2, "deletes": 0, "applied": 1, "superseded": 1, "moved": 0, "failed": 0, "instants": ["c2"]}
    told = {"outcome": "incomplete", "already_applied": False, "plan_id": "p"}
    return {
        **{name: changes.get(name, value) for name, value in told.items()},
        "corrections": {name: changes.get(name, value) for name, value in rows.items()},
    }


SHOTS = [shot(1, {1: 1, 2: 1}), shot(2, {1: 2, 2: 1}, plan="p:all")]


def test_log_that_adds_up_is_counted() -> None:
    judged = applies([*SHOTS, shot(3, {1: 3, 2: 1}, plan="q:all")], [result()])

    assert judged.faults == []
    assert judged.counts["applies' commits"] == 2
    assert judged.counts["applies' commits that only the timeline tells of"] == 1
    assert applies(SHOTS, [result(outcome="refused", applied=0, instants=[])]).faults == []


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"superseded": 0}, "do not add up to 2"),
        ({"applied": 2, "superseded": 0}, "1 rows changed, 2 were reported"),
        ({"instants": ["c9"]}, "instant c9 is not there"),
    ],
)
def test_log_that_does_not_add_up_is_named(changes: dict[str, Any], fault: str) -> None:
    assert any(fault in found for found in applies(SHOTS, [result(**changes)]).faults)


def test_plan_that_was_committed_twice_is_named() -> None:
    assert applies([*SHOTS, shot(3, {1: 3, 2: 1}, plan="p:all")], []).faults == ["plan p:all was committed 2 times"]
