from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from hudi_reconcile.core.pull.cursor import Mark
from hudi_reconcile.core.sweep.drift import (
    NOT_DRIFT,
    Facts,
    FindingKind,
    PendingRange,
    RepairAction,
    choose_repair,
    classify,
)

MICROS = (None, 5, 10, 15)
PENDINGS = (
    None, PendingRange(None), PendingRange(Mark(10)), PendingRange(Mark(4), 10), PendingRange(Mark(10, 5)),
    PendingRange(Mark(5), by_id=True),
)  # fmt: skip


def number(value: object) -> int:
    assert isinstance(value, int)
    return value


def every_combination() -> list[Facts]:
    """Every combination of facts that a key can have; what is absent has no watermark and equals nothing."""
    grid = product((True, False), (0, 1, 2), (True, False), (True, False), MICROS, MICROS, PENDINGS, (None, 4, 6))
    return [
        facts
        for facts in (Facts(*values) for values in grid)
        if (facts.in_source or facts.source_micros is None)
        and (facts.lake_copies or facts.lake_micros is None)
        and (not facts.equal or (facts.in_source and facts.lake_copies == 1))
        and (not facts.equal or facts.source_micros == facts.lake_micros)
        and (facts.in_source or facts.source_id is None)
    ]


def pending(f: Facts) -> bool:
    after = f.pending
    if after is None:
        return False
    if after.by_id:
        return f.lake_copies == 0 and f.source_id is not None and f.source_id > 5
    if f.source_micros is None or number(f.source_micros) > (after.until_micros or 99):
        return False
    reached = after.after
    if reached is None or number(f.source_micros) > number(reached.value):
        return True
    return f.source_micros == reached.value and f.source_id is not None and f.source_id > (reached.id or 0)


def single(f: Facts) -> bool:
    return f.in_source and f.lake_copies < 2 and not f.equal and not pending(f)


def same_watermark(f: Facts) -> bool:
    return f.source_micros is None or f.source_micros == f.lake_micros


def older(f: Facts) -> bool:
    return f.source_micros is not None and f.lake_micros is not None and number(f.source_micros) < number(f.lake_micros)


# The decision table once more, each row with conditions of its own: exactly one must hold for every combination.
TABLE: dict[FindingKind, Callable[[Facts], bool]] = {
    FindingKind.SETTLED: lambda f: f.equal or (not f.in_source and f.lake_copies == 0),
    FindingKind.DUPLICATE_KEY: lambda f: f.in_source and f.lake_copies > 1 and f.unchanged,
    FindingKind.PENDING: lambda f: f.in_source and f.lake_copies < 2 and not f.equal and pending(f),
    FindingKind.MOVING: lambda f: (
        not f.unchanged
        and (single(f) or (f.in_source and f.lake_copies > 1) or (not f.in_source and f.lake_copies > 0))
    ),
    FindingKind.DELETED: lambda f: not f.in_source and f.lake_copies > 0 and f.unchanged,
    FindingKind.UPDATED_WITHOUT_WATERMARK: lambda f: (
        single(f) and f.unchanged and f.lake_copies == 1 and same_watermark(f)
    ),
    FindingKind.REGRESSED: lambda f: single(f) and f.unchanged and f.lake_copies == 1 and older(f),
    FindingKind.LATE_ARRIVING: lambda f: (
        single(f) and f.unchanged and (f.lake_copies == 0 or (not same_watermark(f) and not older(f)))
    ),
}


def test_kinds_are_a_partition_and_the_decision_follows_the_contracts_table() -> None:
    grid = every_combination()
    matched = {facts: [kind for kind, holds in TABLE.items() if holds(facts)] for facts in grid}

    assert {facts: kinds for facts, kinds in matched.items() if len(kinds) != 1} == {}
    assert {facts: classify(facts) for facts in grid} == {facts: kinds[0] for facts, kinds in matched.items()}
    by_key = {FindingKind.ODD_KEY}  # of no facts but the key itself (tests/unit/core/test_odd_keys.py)
    assert set(FindingKind) - by_key == {classify(facts) for facts in grid}


NO_WATERMARK = {"source_micros": None, "lake_micros": None, "pending": PendingRange(Mark(5), by_id=True)}


def facts(**changes: object) -> Facts:
    base: dict[str, object] = {
        "in_source": True,
        "lake_copies": 1,
        "equal": False,
        "unchanged": True,
        "source_micros": 5,
        "lake_micros": 5,
        "pending": PendingRange(Mark(10)),
    }
    return Facts(**{**base, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"lake_copies": 0, "lake_micros": None}, "late_arriving"),
        ({"lake_micros": 4}, "late_arriving"),
        ({"source_micros": 10, "lake_copies": 0, "lake_micros": None}, "late_arriving"),
        ({"lake_micros": None}, "late_arriving"),
        ({}, "updated_without_watermark"),
        ({"lake_micros": 7}, "regressed"),
        ({"in_source": False, "source_micros": None}, "deleted"),
        # At the checkpoint's own watermark the id decides, under the strategy that has one.
        ({"source_micros": 10, "lake_copies": 0, "source_id": 6, "pending": PendingRange(Mark(10, 5))}, "pending"),
        (
            {"source_micros": 10, "lake_copies": 0, "source_id": 5, "pending": PendingRange(Mark(10, 5))},
            "late_arriving",
        ),
        # Without a watermark the id tells of missing rows only.
        ({**NO_WATERMARK, "lake_copies": 0, "source_id": 6}, "pending"),
        ({**NO_WATERMARK, "lake_copies": 0, "source_id": 5}, "late_arriving"),
        ({**NO_WATERMARK, "source_id": 6}, "updated_without_watermark"),
        ({"in_source": False, "source_micros": None, "lake_copies": 2}, "deleted"),
        ({"lake_copies": 2}, "duplicate_key"),
        ({"lake_copies": 2, "source_micros": 11}, "duplicate_key"),
        ({"source_micros": 11, "lake_copies": 0, "lake_micros": None}, "pending"),
        ({"source_micros": 11}, "pending"),
        ({"source_micros": 11, "unchanged": False}, "pending"),
        ({"equal": True, "unchanged": False}, "settled"),
        ({"in_source": False, "source_micros": None, "lake_copies": 0, "lake_micros": None}, "settled"),
        ({"unchanged": False}, "moving"),
        ({"in_source": False, "source_micros": None, "unchanged": False}, "moving"),
        # A source row whose watermarks are all NULL is never pending.
        ({"source_micros": None, "lake_copies": 0, "lake_micros": None}, "late_arriving"),
        ({"source_micros": None}, "updated_without_watermark"),
        ({"source_micros": None, "lake_micros": 4}, "updated_without_watermark"),
        # Without a checkpoint nothing can be pending.
        ({"source_micros": 99, "lake_micros": 99, "pending": None}, "updated_without_watermark"),
        ({"source_micros": 99, "lake_copies": 0, "lake_micros": None, "pending": None}, "late_arriving"),
    ],
)
def test_kind_of_a_difference_is_the_contracts(changes: dict[str, object], kind: str) -> None:
    assert classify(facts(**changes)) == kind


def test_only_deleted_is_repaired_by_a_delete_and_what_is_not_drift_not_at_all() -> None:
    actions = {kind: choose_repair(kind) for kind in FindingKind}

    assert {kind for kind, action in actions.items() if action is RepairAction.DELETE} == {FindingKind.DELETED}
    assert {kind for kind, action in actions.items() if action is RepairAction.NONE} == NOT_DRIFT
