"""The four change queries over random histories: for every range, state(from) + changes = state(to), and all four agree."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations_with_replacement
from typing import Any

import pytest
from hypothesis import given

from hudi_reconcile.core.changes.queries import (
    BrokenChainError,
    Change,
    Image,
    answer,
    apply_changes,
    compare_states,
    is_same_image,
    name_op,
    write_soft_delete_condition,
)
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.tables.values import READ_SEQ, LakeColumn, LakeTable
from tests.support.histories import History, commits, history_of


def ranges(history: History) -> list[tuple[int, int]]:
    return list(combinations_with_replacement(range(len(history.states)), 2))


def values(state: Mapping[Any, Image]) -> dict[object, object]:
    return {key: image["v"] for key, image in state.items()}


@given(writes=commits)
def test_full_delta_applied_to_any_state_gives_the_state_at_the_end_of_the_range(
    writes: list[dict[int, int | None]],
) -> None:
    history = history_of(writes)
    for first, last in ranges(history):
        found = answer("full-delta", history.between(first, last))
        assert apply_changes(history.states[first], found) == history.states[last]
        assert len({(one.commit, one.key) for one in found}) == len(found)


@given(writes=commits)
def test_min_delta_holds_exactly_the_keys_whose_row_is_another_at_the_end(writes: list[dict[int, int | None]]) -> None:
    history = history_of(writes)
    for first, last in ranges(history):
        before, after = history.states[first], history.states[last]
        found = answer("min-delta", history.between(first, last))
        assert values(apply_changes(before, found)) == values(after)
        differing = {
            key
            for key in {*before, *after}
            if key not in before or key not in after or not is_same_image(before[key], after[key])
        }
        assert sorted(str(one.key) for one in found) == sorted(map(str, differing))
        assert all(one.before == before.get(one.key) and one.after == after.get(one.key) for one in found)
        assert all(one.op == name_op(one.before, one.after) for one in found)


@given(writes=commits)
def test_append_only_and_upsert_agree_with_full_delta_and_min_delta(writes: list[dict[int, int | None]]) -> None:
    history = history_of(writes)
    for first, last in ranges(history):
        log = history.between(first, last)
        full, least = answer("full-delta", log), answer("min-delta", log)
        assert list(answer("append-only", log)) == [one for one in full if one.op == "i"]
        upserts = {one.key: one for one in answer("upsert", log)}
        alive = {key: row for key, row in history.states[last].items() if first <= int(str(row[READ_SEQ])) < last}
        assert {key: one.after for key, one in upserts.items()} == alive
        assert {one.op for one in upserts.values()} <= {"upsert"}
        assert {one.key for one in least if one.after is not None} <= set(upserts)
        as_they_were = set(upserts) - {one.key for one in least}
        assert all(
            is_same_image(history.states[first][int(str(key))], history.states[last][int(str(key))])
            for key in as_they_were
        )


@given(writes=commits)
def test_min_delta_of_two_ranges_in_a_row_is_that_of_both_together(writes: list[dict[int, int | None]]) -> None:
    history = history_of(writes)
    end = len(history.states) - 1
    whole = values(apply_changes({}, answer("min-delta", history.log)))
    for middle in range(end + 1):
        left = apply_changes({}, answer("min-delta", history.between(0, middle)))
        assert values(apply_changes(left, answer("min-delta", history.between(middle, end)))) == whole


def test_delete_then_insert_in_one_range_is_an_update_and_insert_then_delete_nothing() -> None:
    a, b = {"v": 1, READ_SEQ: 1}, {"v": 2, READ_SEQ: 3}
    log = [Change(0, 1, a, None), Change(1, 1, None, b), Change(0, 2, None, a), Change(1, 2, a, None)]

    assert answer("min-delta", log) == (Change(1, 1, a, b),)
    assert [one.op for one in answer("min-delta", log)] == ["u"]


def test_row_read_again_is_a_change_of_full_delta_only_where_its_commit_wrote_it() -> None:
    before, after = {1: {"v": 1, READ_SEQ: 1}}, {1: {"v": 1, READ_SEQ: 2}}

    assert list(compare_states(0, before, after)) == []
    again = list(compare_states(0, before, after, rewritten=[1]))
    assert [one.op for one in again] == ["u"]
    assert answer("min-delta", again) == ()


@pytest.mark.parametrize("kind", ["upsert", "min-delta"])
def test_key_whose_copies_come_one_after_the_other_is_refused_where_one_row_is_asked_for(kind: str) -> None:
    image = {"v": 1}
    log = [Change(0, 1, None, image), Change(1, 1, None, image)]

    assert len(answer("append-only", log)) == 2
    with pytest.raises(BrokenChainError):
        answer(kind, log)  # type: ignore[arg-type]


def table_of(*columns: tuple[str, str]) -> LakeTable:
    found = tuple(LakeColumn(*column) for column in columns)
    return LakeTable("/t", "t", "copy_on_write", 9, found, ("id",), ("day",), ("ts",), "event_time")


def test_rule_for_soft_deletes_is_of_columns_beside_key_partition_and_ordering_or_a_boolean_one() -> None:
    table = table_of(("id", "int"), ("day", "date"), ("ts", "bigint"), ("a b", "string"), ("gone", "boolean"))

    assert write_soft_delete_condition("all-null", table) == "row.`a b` is null and row.`gone` is null"
    assert write_soft_delete_condition("gone", table) == "coalesce(row.`gone`, false)"
    with pytest.raises(UsageError, match="no boolean column"):
        write_soft_delete_condition("a b", table)
    with pytest.raises(UsageError, match="every column"):
        write_soft_delete_condition("all-null", table_of(("id", "int"), ("day", "date"), ("ts", "bigint")))
