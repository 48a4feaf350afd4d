"""A consumer that is killed anywhere, over and over, beside a writer: its target ends as the lake is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.changes.consumers import (
    ConsumerPosition,
    Progress,
    TargetMark,
    advance_position,
    begin_delivery,
    check_delivery,
    check_mark,
    check_name,
    check_place,
    count_chunks_out,
    cut_chunks,
    end_delivery,
    format_position,
    list_deliveries,
    measure_lag,
    move_position,
    parse_position,
)
from hudi_reconcile.core.changes.queries import QueryType, answer, apply_changes
from hudi_reconcile.core.changes.range import Commit, Cut
from hudi_reconcile.core.errors import LakeError, UsageError
from hudi_reconcile.core.tables.values import Instant
from tests.support.histories import History, commits, history_of

KILLS = 20


class Killed(Exception):  # noqa: N818 - what happens to a process
    pass


class Consumer:
    """What survives a kill: the stored position and the target."""

    def __init__(self, history: History, kind: QueryType, random: Random) -> None:
        self.history, self.kind, self.random, self.kills = history, kind, random, KILLS
        self.position = ConsumerPosition("c", kind)
        self.target: dict[Any, Any] = {}

    def call(self, newest: int) -> None:
        """As the app does: the range's end is stored, the range delivered, the position moved on."""
        for _, upto in list_deliveries(self.position, stamp(newest)):
            self.may_die()
            self.position = replace(self.position, pending=upto)
            self.may_die()
            first, last = number(self.position.instant), number(upto)
            self.target = apply_changes(self.target, answer(self.kind, self.history.between(first, last)))
            self.may_die()
            self.position = parse_position(
                format_position(replace(self.position, instant=upto, pending=None)), "c", "p"
            )

    def may_die(self) -> None:
        if self.kills and self.random.random() < 0.5:
            self.kills -= 1
            raise Killed


def stamp(commits_done: int) -> str:
    return f"{commits_done:017d}" if commits_done else ""


def number(instant: str) -> int:
    return int(instant or 0)


@pytest.mark.parametrize("kind", ["min-delta", "full-delta"])
@given(writes=commits, seed=st.integers(0, 2**32))
def test_consumer_killed_at_random_ends_with_the_target_equal_to_the_lake(
    writes: list[dict[int, int | None]], seed: int, kind: QueryType
) -> None:
    history, random = history_of(writes), Random(seed)  # noqa: S311 - examples
    consumer, newest = Consumer(history, kind, random), 0
    while newest < len(writes) or number(consumer.position.instant) < newest:
        newest = min(len(writes), newest + random.randint(0, 2))
        try:
            consumer.call(newest)
        except Killed:
            continue

    assert bare(consumer.target) == bare(history.states[-1])


def bare(state: Mapping[Any, Any]) -> dict[Any, Any]:
    return {key: row["v"] for key, row in state.items()}


@pytest.mark.parametrize("text", ["", "[]", "{}", format_position(ConsumerPosition("c", "upsert", "yesterday"))])
def test_damaged_position_is_refused_and_never_taken_for_the_beginning(text: str) -> None:
    with pytest.raises(LakeError):
        parse_position(text, "c", "p")


def test_position_of_another_consumer_under_this_ones_name_is_refused() -> None:
    with pytest.raises(LakeError, match="no position of consumer copy"):
        parse_position(format_position(ConsumerPosition("shop", "upsert")), "copy", "copy.json")


@given(writes=commits, seed=st.integers(0, 2**32))
def test_consumer_that_is_told_to_begin_earlier_again_still_ends_with_the_target_equal_to_the_lake(
    writes: list[dict[int, int | None]], seed: int
) -> None:
    history, random = history_of(writes), Random(seed)  # noqa: S311 - examples
    consumer, done = Consumer(history, "min-delta", random), completed(len(writes))
    for newest in range(1, len(writes) + 1):
        try:
            consumer.call(newest)
        except Killed:
            continue
        finally:
            told = stamp(random.randint(0, number(consumer.position.instant)))
            if consumer.position.pending is None:
                consumer.position = move_position(consumer.position, told, done, None)
    consumer.kills = 0
    consumer.call(len(writes))

    assert bare(consumer.target) == bare(history.states[-1])


def test_consumer_begins_at_the_last_commit_before_where_it_is_told_to_so_that_its_position_is_one_the_table_has() -> (
    None
):
    done = [Commit(Instant(stamp(one), stamp(one + 1))) for one in (5, 7)]
    cut = Cut(stamp(4), "older commits are archived")
    new = ConsumerPosition("c", "upsert")

    begun = {after: move_position(new, stamp(after), done, cut) for after in (4, 5, 6, 7, 8, 9)}

    assert {after: number(one.instant) for after, one in begun.items()} == {4: 4, 5: 4, 6: 6, 7: 6, 8: 8, 9: 8}
    for one in begun.values():
        assert one.pending is None
        check_place(one, done, cut)


def test_consumer_with_a_delivery_under_way_does_not_begin_before_its_end() -> None:
    under_way = ConsumerPosition("c", "min-delta", stamp(2), stamp(6))

    with pytest.raises(UsageError, match="same range must come again first"):
        move_position(under_way, stamp(4), completed(8), None)
    assert move_position(under_way, stamp(6), completed(8), None) == ConsumerPosition("c", "min-delta", stamp(6))


def completed(count: int) -> list[Commit]:
    return [Commit(Instant(stamp(one), stamp(one))) for one in range(1, count + 1)]


def test_consumer_told_to_wait_for_an_instant_ahead_of_the_clock_stands_at_the_last_commit() -> None:
    done = [Commit(Instant(stamp(one), stamp(one + 1))) for one in (1, 3)]

    assert [advance_position(stamp(upto), done) for upto in (1, 2, 3, 4, 9)] == [
        "",
        stamp(2),
        stamp(2),
        stamp(4),
        stamp(4),
    ]


def test_position_at_a_commit_that_the_table_does_not_have_is_refused_and_what_the_cut_tells_is_left_to_it() -> None:
    done = [Commit(Instant(stamp(one), stamp(one + 1))) for one in (5, 7)]
    cut = Cut(stamp(4), "older commits are archived")

    for legal in (
        ConsumerPosition("c", "upsert"),
        ConsumerPosition("c", "upsert", stamp(6), stamp(8)),
        ConsumerPosition("c", "upsert", stamp(2)),
    ):
        check_place(legal, done, cut)
    check_place(ConsumerPosition("c", "upsert", stamp(4)), done, cut)
    for lost in (ConsumerPosition("c", "upsert", stamp(7)), ConsumerPosition("c", "upsert", stamp(6), stamp(9))):
        with pytest.raises(UsageError, match="no such commit"):
            check_place(lost, done, cut)
    with pytest.raises(UsageError, match="no such commit"):
        check_place(ConsumerPosition("c", "upsert", stamp(2)), done, None)


def test_lag_counts_commits_after_the_position_and_how_long_the_oldest_waits() -> None:
    begin = 20260101000000000
    done = [Commit(Instant(str(begin + one), str(begin + one + 1))) for one in (0, 10_000, 20_000)]
    midnight = 1_767_225_600_000_000

    def lag(instant: str, cut: Cut | None = None) -> tuple[int | None, float | None, bool]:
        found = measure_lag(ConsumerPosition("c", "upsert", instant), done, cut, midnight + 30_000_000)
        return found.behind_commits, found.waiting_seconds, bool(found.why)

    assert lag("") == (3, 29.999, False)
    assert lag(done[0].instant.completed) == (2, 19.999, False)
    assert lag(done[2].instant.completed) == (0, 0.0, False)
    assert lag(str(begin + 5)) == (None, None, True)  # no commit of this table
    cut = Cut(done[1].instant.completed, "older commits are archived")
    assert lag(done[0].instant.completed, cut) == (None, None, True)
    assert lag(done[1].instant.completed, cut) == (1, 9.999, False)
    assert (
        measure_lag(ConsumerPosition("c", "upsert"), done, None, midnight - 1).waiting_seconds == 0.0
    )  # a clock that lags


@pytest.mark.parametrize("name", ["", "a/b", "..", "a b", "x" * 101])
def test_name_that_is_no_file_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        check_name(name)


@given(counts=st.lists(st.integers(0, 40), max_size=12), most=st.integers(1, 20))
def test_chunks_hold_each_change_once_in_order_and_no_more_than_allowed(counts: list[int], most: int) -> None:
    chunks = cut_chunks(counts, most)

    # A share of a commit is not empty, and holds what its keys' hash gives it: here the same of each.
    rows = [sum(counts[one.first : one.end]) / one.shares for one in chunks]
    assert sum(rows) == pytest.approx(sum(counts))
    assert all(count <= most for count in rows)
    places = [(one.first, one.share) for one in chunks]
    assert places == sorted(set(places))
    covered = [place for one in chunks if one.share == 0 for place in range(one.first, one.end)]
    assert [place for place in covered if counts[place]] == [place for place, count in enumerate(counts) if count]
    assert all(one.share < one.shares and one.end - one.first == 1 for one in chunks if one.shares > 1)


def test_progress_counts_for_the_same_range_with_the_same_rows_alone() -> None:
    progress = Progress(chunks=3, chunk_rows=10, rows=45)
    position = ConsumerPosition("c", "upsert", "", "20260101000000000", progress)

    assert parse_position(format_position(position), "c", "p") == position
    assert count_chunks_out(position, "20260101000000000", 45) == (3, 10)
    assert count_chunks_out(position, "20260101000000000", 44)[0] == 0
    assert count_chunks_out(position, "20260102000000000", 45)[0] == 0
    earlier = '{"consumer": "c", "instant": "", "pending": null, "type": "upsert", "version": 1}'
    assert parse_position(earlier, "c", "p") == ConsumerPosition("c", "upsert")
    with pytest.raises(LakeError):
        parse_position(format_position(position).replace('"chunks": 3', '"chunks": "x"'), "c", "p")


MARK = TargetMark(
    table="5/16390",
    transaction=800,
    columns={"id": 1, "v": 2},
    left_out=("note", "more", "gone"),
    server="71",
    timeline=1,
)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"server": "72"}, "it is on another server"),
        ({"table": "5/16399"}, "it was made anew"),
        ({"timeline": 2}, "its server was restored, or failed over to a replica"),
        ({"transaction": 799}, "its server was restored to an earlier state"),
        (
            {"columns": {"id": 1, "v": 2, "new": 3, "note": 4, "more": 5}, "left_out": ()},
            "it has new columns: note, more",
        ),
        ({"columns": {"id": 1, "v": 3}}, "it has new columns: v"),
    ],
)
@pytest.mark.parametrize("pending", [None, stamp(6)])
def test_table_that_may_lack_what_was_delivered_is_refused_until_its_consumer_is_moved(
    change: dict[str, Any], why: str, pending: str | None
) -> None:
    begun = ConsumerPosition("c", "min-delta", stamp(2), sink="h:5432/d table a")
    kept = parse_position(format_position(replace(end_delivery(begun, stamp(4), MARK), pending=pending)), "c", "p")
    mark = replace(MARK, **change)

    with pytest.raises(UsageError, match=f"table a in step, and {why}") as refused:
        check_mark(kept, mark, None)

    assert f"--from {stamp(4)} where nothing is missing" in refused.value.fix
    moved = parse_position(format_position(move_position(kept, stamp(4), completed(8), None)), "c", "p")
    check_mark(moved, mark, None)
    assert list_deliveries(moved, stamp(8), completed(8)) == list_deliveries(kept, stamp(8), completed(8))
    check_mark(end_delivery(moved, stamp(8), mark), mark, None)


def test_table_that_lost_its_rows_is_filled_from_the_lake_where_its_history_is_cut() -> None:
    kept = end_delivery(ConsumerPosition("c", "min-delta", sink="t"), stamp(4), MARK)

    with pytest.raises(UsageError) as refused:
        check_mark(kept, replace(MARK, table="5/1"), Cut(stamp(3), "older commits are archived"))

    assert f"fill it from the lake as of an instant from {stamp(3)} on" in refused.value.fix


def test_server_that_tells_less_or_has_come_further_is_the_same() -> None:
    kept = end_delivery(ConsumerPosition("c", "min-delta"), stamp(4), MARK)

    for change in (
        {},
        {"transaction": 900},
        {"columns": {"id": 1, "new in both": 7}, "left_out": ()},
        {"server": "", "timeline": 0},
    ):
        check_mark(kept, replace(MARK, **change), None)


@given(writes=commits, seed=st.integers(0, 2**32))
def test_table_that_was_restored_ends_with_the_lake_from_whatever_commit_it_stands_at(
    writes: list[dict[int, int | None]], seed: int
) -> None:
    history, random, newest = history_of(writes), Random(seed), len(writes)  # noqa: S311 - examples
    reached = random.randint(0, newest)
    told = random.randint(0, reached)
    table = {**history.states[random.randint(told, reached)]}
    position = end_delivery(ConsumerPosition("c", "min-delta", sink="t"), stamp(reached), MARK)
    if random.random() < 0.5:
        position = begin_delivery(position, stamp(newest))  # in one transaction: it is in the table, or not at all
        table = {**history.states[random.choice([random.randint(told, reached), newest])]}

    position = move_position(position, stamp(told), completed(newest), None)
    while number(position.instant) < newest or position.pending:
        for _, upto in list_deliveries(position, stamp(newest), completed(newest)):
            position = parse_position(format_position(begin_delivery(position, upto)), "c", "p")
            table = apply_changes(table, answer("min-delta", history.between(number(position.instant), number(upto))))
            if random.random() < 0.3:
                break  # killed: the position is as it was stored, the table has the delivery
            position = end_delivery(position, upto, MARK)

    assert bare(table) == bare(history.states[-1])


def test_consumer_keeps_one_table_in_step() -> None:
    first = check_delivery(ConsumerPosition("c", "upsert", "20260101000000000"), "upsert", "h:5432/d table a")
    kept = parse_position(format_position(first), "c", "p")

    assert kept.sink == "h:5432/d table a"
    assert check_delivery(kept, "upsert", "h:5432/d table a") == check_delivery(kept, "upsert", None) == kept
    with pytest.raises(UsageError, match="delivers to h:5432/d table a, not to x") as refused:
        check_delivery(kept, "upsert", "x")
    assert "--from 20260101000000000" in refused.value.fix
    with pytest.raises(UsageError, match="is fed with upsert, not min-delta"):
        check_delivery(kept, "min-delta", "h:5432/d table a")
