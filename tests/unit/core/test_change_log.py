"""What Hudi's own change log must hold of some commits, and when that is read sooner than the files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.changes.range import (
    Commit,
    LoggedCommit,
    RowCounts,
    WrittenFile,
    count_images,
    count_rows_written,
    find_log_span,
    is_shorter,
    list_log_counts,
)
from hudi_reconcile.core.tables.values import Instant

Change = tuple[int, int, int]  # inserted, updated, deleted


def stamp(second: int, milliseconds: int = 0) -> str:
    return f"202601010000{second:02d}{milliseconds:03d}"


def commits(first_rows: int, *changes: Change) -> list[Commit]:
    """A commit that begins one file group with so many rows, and others that each log their changes of it."""
    counts, rows = [RowCounts(first_rows, first_rows)], first_rows
    for inserted, updated, deleted in changes:
        rows += inserted - deleted
        counts.append(RowCounts(rows, inserted, updated, deleted))
    return [commit(second, one) for second, one in enumerate(counts)]


def commit(second: int, counts: RowCounts | None) -> Commit:
    previous = stamp(second - 1) if second else None
    file = WrittenFile(("p", "a"), f"p/a_{second}.parquet", previous, counts, has_log=second > 0)
    return Commit(Instant(stamp(second), stamp(second, 500)), frozenset({file.group}), files=(file,))


WRITES = commits(100, (3, 20, 0), (0, 0, 5), (1, 1, 1))


def test_log_must_hold_what_each_commit_counted_and_a_new_file_group_has_none() -> None:
    found = list_log_counts(WRITES, WRITES)

    assert found is not None
    assert [(one.n, one.inserted_rows, one.updated_rows, one.deleted_rows, one.has_log) for one in found] == [
        (0, 100, 0, 0, False),
        (1, 3, 20, 0, True),
        (2, 0, 0, 5, True),
        (3, 1, 1, 1, True),
    ]
    assert find_log_span(found) == ("20260101000000999", stamp(3, 500))
    assert find_log_span(found[:1]) is None
    assert count_images(found) == 100 + 43 + 5 + 4
    assert count_rows_written(WRITES) == 100 + 23 + 0 + 2
    assert count_rows_written([*WRITES, commit(9, None)]) == math.inf


def test_counts_of_all_file_groups_of_a_commit_are_added_up() -> None:
    other = replace(WRITES[1].files[0], group=("p", "b"), previous=None, has_log=False, counts=RowCounts(7, 7))
    both = replace(WRITES[1], files=(*WRITES[1].files, other))

    assert list_log_counts([both], WRITES) == (LoggedCommit(0, stamp(1), stamp(1, 500), 10, 20, 0, has_log=True),)


def without(**other: object) -> Sequence[Commit]:
    return [WRITES[0], replace(WRITES[1], files=(replace(WRITES[1].files[0], **other),)), *WRITES[2:]]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "writes",
    [
        without(counts=None),
        without(has_log=False),  # an insert that Hudi adds to a file group without a log
        without(counts=RowCounts(104, 3, 20, 0)),  # more rows than it was made from and inserted
        without(previous="20250101000000000"),  # of a version that nobody knows
        without(previous=None),  # new, with a log and updates
        [],
    ],
)
def test_commit_that_does_not_account_for_its_rows_by_a_log_is_left_to_the_files(writes: Sequence[Commit]) -> None:
    assert list_log_counts(writes[1:2], writes) is None


@given(st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=1, max_size=5), st.data())
def test_row_that_a_commit_does_not_account_for_is_always_seen(changes: list[Change], data: st.DataObject) -> None:
    writes = commits(1_000, *changes)
    assert list_log_counts(writes, writes) is not None
    at = data.draw(st.integers(0, len(changes)))
    counts = writes[at].files[0].counts
    assert counts is not None
    lost = replace(writes[at], files=(replace(writes[at].files[0], counts=replace(counts, rows=counts.rows - 1)),))

    assert list_log_counts([*writes[:at], lost, *writes[at + 1 :]], [*writes[:at], lost, *writes[at + 1 :]]) is None


def test_log_is_read_where_the_files_hold_many_rows_for_each_image_of_it() -> None:
    few, many = commits(10_000, (0, 50, 50)), commits(10_000, *[(0, 700, 0)] * 9)

    log = [list_log_counts(one[1:], one) for one in (few, many)]
    assert log[0] is not None
    assert log[1] is not None
    assert is_shorter(log[0], few[1:], latest_only=False)  # 150 images, 9,950 rows
    assert is_shorter(log[0], few[1:], latest_only=True)
    assert not is_shorter(log[1], many[1:], latest_only=False)  # 12,600 images, 90,000 rows
    assert not is_shorter(log[1], many[1:], latest_only=True)
