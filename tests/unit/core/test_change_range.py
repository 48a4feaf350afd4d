"""Ranges of change queries: how positions are written, which end is inside, and what is said where history is gone."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.changes.range import (
    Commit,
    Cut,
    check_order,
    find_commit_from_the_future,
    find_cut,
    find_entangled,
    infer_offset_minutes,
    read_instant,
    select_span,
)
from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.tables.values import Instant


def at(requested: int, completed: int, *groups: str) -> Commit:
    return Commit(Instant(stamp(requested), stamp(completed)), frozenset(("", group) for group in groups))


def stamp(seconds: int) -> str:
    return f"202601010000{seconds:02d}000"


COMMITS = [at(1, 2), at(3, 4), at(5, 6)]


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("20261121145100499", "20261121145100499"),
        ("2026-11-21T14:51:00.499Z", "20261121145100499"),
        ("2026-11-21T14:51:00.499999Z", "20261121145100499"),
        ("2026-11-21T14:51:00", "20261121145100000"),
        ("2026-11-21 16:51:00+02:00", "20261121145100000"),
        ("2026-11-21", "20261121000000000"),
        (" earliest ", "earliest"),
        ("latest", "latest"),
    ],
)
def test_positions_are_instants_iso_times_in_utc_or_words(text: str, instant: str) -> None:
    assert read_instant(text, "--from") == instant


@pytest.mark.parametrize("text", ["", "now", "Latest", "20261321145100499", "20261121145100", "2026-13-01", "1"])
def test_other_positions_are_refused_with_the_forms_that_are_legal(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_instant(text, "--from")
    assert "earliest" in refused.value.fix


@pytest.mark.parametrize(
    ("start", "end", "inside"),
    [
        ("earliest", "latest", [0, 1, 2]),
        (stamp(2), stamp(6), [1, 2]),
        (stamp(1), stamp(3), [0]),
        (stamp(3), stamp(5), [1]),
        (stamp(2), stamp(2), []),
        ("latest", "latest", []),
        ("earliest", "earliest", []),
        ("earliest", stamp(1), []),
    ],
)
def test_ranges_are_open_at_their_start_closed_at_their_end_and_in_completion_time(
    start: str, end: str, inside: list[int]
) -> None:
    assert [COMMITS.index(one) for one in select_span(start, end, COMMITS, None).commits] == inside


def test_backward_range_is_refused() -> None:
    with pytest.raises(UsageError, match="backwards"):
        select_span(stamp(4), stamp(2), COMMITS, None)


@pytest.mark.parametrize("start", ["earliest", stamp(3)])
def test_range_that_begins_where_history_is_gone_names_the_first_usable_instant(start: str) -> None:
    cut = Cut(stamp(4), "gone")
    with pytest.raises(UsageError) as refused:
        select_span(start, "latest", COMMITS, cut)

    assert stamp(4) in refused.value.fix
    assert [one.instant.completed for one in select_span(stamp(4), "latest", COMMITS, cut).commits] == [stamp(6)]


def test_position_that_is_a_requested_time_is_named_with_its_completion_time() -> None:
    (note,) = select_span(stamp(3), "latest", COMMITS, None).notes

    assert stamp(3) in note
    assert stamp(4) in note


def test_position_that_is_no_commit_is_named() -> None:
    (note,) = select_span("earliest", stamp(7), COMMITS, None).notes

    assert note.startswith(f"--to {stamp(7)} is no commit")


@pytest.mark.parametrize(
    ("retained_from", "archived", "usable"),
    [
        (None, None, None),
        (stamp(1), None, stamp(2)),
        (stamp(3), None, stamp(4)),
        (stamp(5), stamp(2), stamp(6)),
        (stamp(3), stamp(4), stamp(4)),
        ("20260101000000999", stamp(2), stamp(2)),
    ],
)
def test_history_is_whole_from_the_last_commit_that_the_cleaner_or_the_archiver_took(
    retained_from: str | None, archived: str | None, usable: str | None
) -> None:
    found = find_cut(COMMITS, retained_from, archived)

    assert (None if found is None else found.instant) == usable


def test_writers_of_one_file_group_that_overlap_are_found_and_others_are_not() -> None:
    first, second = at(1, 4, "a"), at(3, 5, "a")

    assert find_entangled([second, first], [second, first]) == (first, second)
    for other in (at(3, 5, "b"), at(5, 6, "a")):
        assert find_entangled([first, other], [first, other]) is None


def test_writers_of_one_file_group_that_did_not_end_in_the_order_that_they_began_in_are_found() -> None:
    early, late = at(20, 2, "a"), at(21, 1, "a")  # ends before begins: files whose times a copy made anew

    assert find_entangled([early], [early, late]) == (early, late)
    assert find_entangled([late], [early, at(21, 2, "a")]) == (early, at(21, 2, "a"))
    assert find_entangled([early], [early, at(21, 3, "a")]) is None
    assert find_entangled([early], [early, at(21, 1, "b")]) is None


def test_writer_that_overlaps_the_range_from_outside_is_found_and_two_of_them_that_do_not_are_left_alone() -> None:
    slow, inside, later = at(1, 9, "a"), at(3, 4, "a"), at(5, 6, "a")

    assert find_entangled([inside], [slow, inside]) == (slow, inside)
    assert find_entangled([later], [slow, inside, later]) == (slow, later)
    assert find_entangled([at(10, 11, "a")], [slow, inside, later, at(10, 11, "a")]) is None


def test_commit_beside_which_its_files_were_compacted_is_found_and_one_that_came_after_the_plan_is_not() -> None:
    slow, after_the_plan, service = at(1, 9, "a", "b"), at(4, 5, "a"), at(3, 7, "a")

    assert find_entangled([slow], [slow], [service]) == (slow, service)
    assert find_entangled([after_the_plan], [after_the_plan], [service]) is None
    assert find_entangled([at(1, 3, "a")], [at(1, 3, "a")], [service]) is None
    assert find_entangled([slow], [slow], [at(3, 7, "c")]) is None


NOON_UTC_MILLIS = 1_767_268_800_000  # 2026-01-01 12:00


@pytest.mark.parametrize(
    ("completed", "minutes"),
    [
        ("20260101115958000", 0),
        ("20260101135959000", 120),
        ("20260101065955000", -300),
        ("20260101172959900", 330),
        ("20260101115000000", 0),  # written ten minutes later: a copy
        ("20251224120000000", 0),
    ],
)
def test_zone_of_a_writer_is_told_by_when_the_file_of_its_commit_was_written(completed: str, minutes: int) -> None:
    assert infer_offset_minutes(completed, NOON_UTC_MILLIS) == minutes


def test_commits_of_writers_in_several_zones_are_refused_where_their_names_are_in_another_order() -> None:
    check_order([("20260101120000000", 1_000), ("20260101140000000", 2_000)])
    with pytest.raises(UsageError, match="different time zones"):
        check_order([("20260101140000000", 1_000), ("20260101120100000", 2_000)])


def test_commit_that_was_requested_hours_after_it_completed_is_found() -> None:
    ahead = Commit(Instant("20260101140000000", "20260101120001000"))

    assert find_commit_from_the_future([*COMMITS, ahead]) == ahead
    assert find_commit_from_the_future([*COMMITS, at(9, 8)]) is None
