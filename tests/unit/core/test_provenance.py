"""Which commits are corrections, by their labels."""

from __future__ import annotations

from hudi_reconcile.core.changes.queries import CorrectionOrigin, read_correction_origin


def test_apply_is_a_correction_of_its_run_plan_and_sweep_whichever_of_its_commits() -> None:
    labels = {"kind": "apply", "run_id": "r2", "sweep": "r1", "plan": "abc:all:first", "wrote": "r2"}

    assert read_correction_origin(labels) == CorrectionOrigin("r2", "abc", "r1")


def test_undo_is_a_correction_that_has_a_kind_and_no_plan() -> None:
    assert read_correction_origin({"kind": "undo", "run_id": "r3"}) == CorrectionOrigin("r3", kind="undo")


def test_pulls_marks_and_commits_of_others_are_none() -> None:
    assert [read_correction_origin(one) for one in ({"kind": "pull", "run_id": "r"}, {"kind": "state"}, {})] == [
        None
    ] * 3
