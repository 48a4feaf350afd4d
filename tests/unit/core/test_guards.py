from __future__ import annotations

import pytest

from hudi_reconcile.core.plan.guards import PlanCounts, Policy, judge_guards, list_failed_guards

POLICY = Policy(max_deletes=10, max_delete_share=0.05, max_upsert_share=0.2)


def held(*, upserts: int = 0, deletes: int = 0, source: int = 1000, lake: int = 1000) -> dict[str, bool]:
    return {guard.name: guard.ok for guard in judge_guards(PlanCounts(upserts, deletes, source, lake), POLICY)}


def refused(
    *, deletes: int = 0, approved: int | None = None, allow_empty: bool = False, upserts: int = 0, source: int = 1000
) -> set[str]:
    found = judge_guards(PlanCounts(upserts, deletes, source, 1000), POLICY)
    return {
        guard.name for guard in list_failed_guards(found, deletes=deletes, approved=approved, allow_empty=allow_empty)
    }


def test_plan_within_every_limit_passes_every_guard() -> None:
    assert held(upserts=200, deletes=10) == {
        "empty_source": True,
        "max_deletes": True,
        "max_delete_share": True,
        "max_upsert_share": True,
        "key_overlap": True,
        "same_column_share": True,
    }


@pytest.mark.parametrize(
    ("counts", "guard"),
    [
        ({"deletes": 11}, "max_deletes"),
        ({"deletes": 6, "lake": 100}, "max_delete_share"),
        ({"upserts": 201}, "max_upsert_share"),
        ({"source": 0}, "empty_source"),
    ],
)
def test_one_beyond_a_limit_fails_that_guard_alone(counts: dict[str, int], guard: str) -> None:
    assert {name for name, ok in held(**counts).items() if not ok} == {guard}


def test_guard_tells_limit_found_and_the_approval_to_type() -> None:
    guard = next(g for g in judge_guards(PlanCounts(0, 11, 1000, 1000), POLICY) if g.name == "max_deletes")

    assert (guard.limit, guard.found) == (10, 11)
    assert "--approve-deletes 11" in guard.fix


def test_lake_without_rows_lets_a_first_load_pass() -> None:
    assert all(held(upserts=500, source=500, lake=0).values())


@pytest.mark.parametrize(("table_rows", "ok"), [(900, True), (0, False)])
def test_empty_source_is_told_by_the_whole_table_where_only_a_part_was_compared(table_rows: int, *, ok: bool) -> None:
    found = judge_guards(PlanCounts(0, 10, 0, 100, table_rows=table_rows), POLICY)

    by_name = {guard.name: guard for guard in found}
    assert (by_name["empty_source"].found, by_name["empty_source"].ok) == (table_rows, ok)
    assert (by_name["max_delete_share"].found, by_name["max_delete_share"].ok) == (0.1, False)


def test_both_sides_empty_is_no_broken_source() -> None:
    assert all(held(source=0, lake=0).values())


def test_deletes_beyond_the_limits_are_refused_without_and_allowed_with_the_plans_number() -> None:
    assert refused(deletes=60) == {"max_deletes", "max_delete_share"}
    assert refused(deletes=60, approved=60) == set()


@pytest.mark.parametrize("approved", [0, 2, 4, 1000])
def test_wrong_approval_is_refused_even_where_the_limits_allow_the_deletes(approved: int) -> None:
    assert refused(deletes=3, approved=approved) == {"approve_deletes"}


def test_wrong_approval_beside_a_broken_limit_is_refused_by_both() -> None:
    assert refused(deletes=60, approved=59) == {"max_deletes", "max_delete_share", "approve_deletes"}


def test_right_approval_within_the_limits_is_fine() -> None:
    assert refused(deletes=3, approved=3) == set()
    assert refused(deletes=0, approved=0) == set()


def test_empty_source_is_refused_whatever_was_approved_but_for_its_own_word() -> None:
    assert "empty_source" in refused(deletes=1000, approved=1000, source=0)
    assert refused(deletes=1000, approved=1000, source=0, allow_empty=True) == set()


def test_empty_source_that_is_meant_still_needs_its_deletes_approved() -> None:
    assert refused(deletes=1000, source=0, allow_empty=True) == {"max_deletes", "max_delete_share"}


def test_upserts_beyond_their_share_cannot_be_approved_as_deletes() -> None:
    assert refused(upserts=201, deletes=3, approved=3) == {"max_upsert_share"}


@pytest.mark.parametrize(
    ("source", "lake", "deletes", "ok"),
    [
        (10, 10, 5, True),
        (10, 10, 6, False),
        (9, 9, 9, True),  # of so few keys a share says nothing
        (5, 100, 95, True),  # a source that shrank is no wrong mapping
        (1000, 10, 6, False),
        (0, 100, 100, True),  # that is empty_source's to say
    ],
)
def test_key_overlap_is_what_the_lake_shares_with_the_smaller_side(
    source: int, lake: int, deletes: int, *, ok: bool
) -> None:
    assert held(source=source, lake=lake, deletes=deletes)["key_overlap"] is ok


@pytest.mark.parametrize(("lake", "rows", "ok"), [(100, 20, True), (100, 21, False), (99, 99, True)])
def test_same_column_share_counts_the_column_that_differs_most(lake: int, rows: int, *, ok: bool) -> None:
    counts = PlanCounts(rows, 0, lake, lake, {"a": 1, "b": rows})

    (guard,) = [one for one in judge_guards(counts, POLICY) if one.name == "same_column_share"]

    assert guard.ok is ok
    assert "column b" in guard.fix


def test_accepted_guard_alone_is_passed() -> None:
    found = judge_guards(PlanCounts(500, 6, 1000, 10, {}), POLICY)

    no = list_failed_guards(found, deletes=6, approved=6, allow_empty=False, accepted={"key_overlap"})

    assert {guard.name for guard in no} == {"max_upsert_share"}
