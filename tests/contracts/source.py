"""What every source keeps to, on one table of `id, v, at` without a primary key. Run on the fake and on a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pytest

from hudi_reconcile.core.pull.cursor import Edge, Mark, Order, Window, build_full_window
from hudi_reconcile.core.sweep.coverage import count_all_segments
from hudi_reconcile.core.sweep.segments import (
    HashSegments,
    RangeSegments,
    Segmentation,
    SegmentSet,
    refine,
    refine_segment,
)
from hudi_reconcile.core.tables.agreement import Agreement, ComparedColumn
from hudi_reconcile.core.tables.partitions import CalendarRange, Equals
from hudi_reconcile.core.tables.values import SourceTable
from hudi_reconcile.ports import Frame, Source, Survey

Held = tuple[int | None, int | None, int | None]  # id, v, and microseconds of `at`
ROWS: tuple[Held, ...] = (
    (-3, 7, 10), (0, 7, 20), (1, 10, 20), (2, None, 20), (3, 30, 30), (5, 50, 40), (9, 90, 50), (40, 7, None),
    (None, 60, 60),
)  # fmt: skip
RANGES = RangeSegments("id", 0, 4, 3)
MD5, SPARKS_OWN = HashSegments(("id",), 4, "md5"), HashSegments(("id",), 4)
LAKE_TYPES = ("bigint", "bigint", "timestamp_ntz")
ORDER = Order(("at",))


class SourceGround(Protocol):
    """A source whose table holds `ROWS`, and what others may do to it meanwhile."""

    @property
    def port(self) -> Source: ...

    def read(self, frame: Frame) -> list[Held]: ...

    def write(self, key: int, value: int) -> None:
        """A transaction that changes `v` of a row alone."""
        ...

    def remove(self, key: int | None) -> None: ...


def in_order(rows: Sequence[Held]) -> list[Held]:
    return sorted(rows, key=repr)


def agreement_of(table: SourceTable) -> Agreement:
    items = tuple(ComparedColumn(i, c, LAKE_TYPES[i]) for i, c in enumerate(table.columns))
    return Agreement(items, items[:1], items[2:], ())


def held_in(ground: SourceGround, cut: Segmentation, *segments: int) -> list[Held]:
    port = ground.port
    return in_order(ground.read(port.read_rows(port.describe(), cut, SegmentSet.of(segments))))


class SourceContract:
    def test_description_names_columns_and_key_and_all_rows_are_read_without_segments(
        self, ground: SourceGround
    ) -> None:
        table = ground.port.describe()

        assert ([column.name for column in table.columns], table.key) == (["id", "v", "at"], ("id",))
        assert in_order(ground.read(ground.port.read_rows(table, RANGES))) == in_order(ROWS)
        assert ground.port.count_rows(table) == len(ROWS) == ground.port.survey(table, RANGES)().rows
        assert ground.port.survey(table, RANGES, SegmentSet.of([1]))() == Survey(None, ())

    @pytest.mark.parametrize("segments", [(0,), (1, 3), (0, 1, 2), (3,)])
    def test_segments_of_key_ranges_are_read_and_counted_alone(
        self, ground: SourceGround, segments: tuple[int, ...]
    ) -> None:
        wanted = in_order([row for row in ROWS if RANGES.find_segment(row[0]) in segments])

        assert held_in(ground, RANGES, *segments) == wanted
        assert ground.port.count_rows(ground.port.describe(), RANGES, SegmentSet.of(segments)) == len(wanted)

    @pytest.mark.parametrize("cut", [RANGES, RangeSegments("id", 0, 4, 1), RangeSegments("id", -4, 4, 2), MD5])
    def test_rows_of_each_segment_are_counted_as_they_are_read(self, ground: SourceGround, cut: Segmentation) -> None:
        read = {one: len(held_in(ground, cut, one)) for one in range(cut.count + 1)}

        assert ground.port.count_segments(ground.port.describe(), cut) == {s: rows for s, rows in read.items() if rows}

    @pytest.mark.parametrize("cut", [RANGES, MD5, SPARKS_OWN], ids=["ranges", "md5", "xxhash64"])
    def test_finer_segments_part_the_table_and_lack_no_row(self, ground: SourceGround, cut: Segmentation) -> None:
        table, finer = ground.port.describe(), refine(cut)

        def read(*segments: int) -> list[Held]:
            return ground.read(ground.port.read_rows(table, cut, SegmentSet(segments, finer)))

        parts = [read(*refine_segment(cut, finer, one)) for one in range(count_all_segments(cut))]
        every = read(*range(count_all_segments(finer)))

        assert in_order(every) == in_order(ROWS)
        assert set(ROWS) == {row for part in parts for row in part}
        for part, segment in zip(parts, range(count_all_segments(cut)), strict=True):
            assert set(held_in(ground, cut, segment)) <= set(part)

    def test_segments_of_sparks_own_hash_are_not_counted(self, ground: SourceGround) -> None:
        assert ground.port.count_segments(ground.port.describe(), SPARKS_OWN) is None

    def test_segments_of_the_databases_hash_part_the_table_and_are_read_and_counted_alone(
        self, ground: SourceGround
    ) -> None:
        table = ground.port.describe()
        parts = [held_in(ground, MD5, one) for one in range(MD5.count)]

        assert ground.port.tells_buckets(table, agreement_of(table))
        assert in_order([row for part in parts for row in part]) == in_order(ROWS)
        assert max(map(len, parts)) < len(ROWS)
        assert held_in(ground, MD5, 0, 2) == in_order(parts[0] + parts[2])
        counts = [ground.port.count_rows(table, MD5, SegmentSet.of([one])) for one in range(MD5.count)]
        assert counts == list(map(len, parts))

    def test_segments_of_sparks_hash_lack_no_row_and_are_never_counted_by_the_source(
        self, ground: SourceGround
    ) -> None:
        read = [row for one in range(SPARKS_OWN.count) for row in held_in(ground, SPARKS_OWN, one)]

        assert set(read) == set(ROWS)
        with pytest.raises(ValueError, match="Spark's own hash"):
            ground.port.count_rows(ground.port.describe(), SPARKS_OWN, SegmentSet.of([1]))

    def test_rows_near_some_partitions_hold_all_of_them_and_are_counted_as_they_are_read(
        self, ground: SourceGround
    ) -> None:
        table = ground.port.describe()
        _, v, at = table.columns
        near = ((Equals(v, 7), CalendarRange(at, 20, 30)), (CalendarRange(at, 50, 61),))

        read = ground.read(ground.port.read_rows(table, RANGES, near=near))

        assert {row[0] for row in read} >= {0, 9, None}
        assert ground.port.count_rows(table, near=near) == len(read)

    def test_rows_named_by_their_keys_are_never_too_few_and_counted_by_the_source(self, ground: SourceGround) -> None:
        table = ground.port.describe()

        named = ground.port.find_named_rows(table, [("-3",), ("40",), (None,), ("77",)])

        assert named is not None
        read = ground.read(named.read())
        assert {row[0] for row in read} >= {-3, 40, None}
        assert named.rows == len(read)
        gone = ground.port.find_named_rows(table, [("77",)])
        assert gone is not None
        assert (gone.rows, ground.read(gone.read())) == (0, [])

    def test_frozen_source_shows_one_moment_whatever_others_commit_meanwhile(self, ground: SourceGround) -> None:
        table = ground.port.describe()
        with ground.port.freeze() as name:
            ground.write(1, 99)
            ground.remove(5)
            assert name is not None
            assert in_order(ground.read(ground.port.read_rows(table, RANGES))) == in_order(ROWS)
            assert ground.port.count_rows(table) == len(ROWS)

        after = ground.read(ground.port.read_rows(table, RANGES))
        assert set(after) == {(1, 99, 20), *ROWS} - {(1, 10, 20), (5, 50, 40)}

    def test_moment_bounds_what_it_saw_and_has_another_name_once_something_was_committed(
        self, ground: SourceGround
    ) -> None:
        first = ground.port.read_moment()
        ground.write(1, 99)
        then = ground.port.read_moment()

        assert first.bound_micros <= first.clock_micros <= then.clock_micros
        assert first.snapshot != then.snapshot
        assert first.version_bound is not None
        assert then.version_bound is not None
        assert first.version_bound < then.version_bound

    def test_extent_holds_every_key_and_sums_leave_nulls_out(self, ground: SourceGround) -> None:
        table = ground.port.describe()

        extent, total = ground.port.measure_extent(table), ground.port.sum_column(table, "v")

        assert (extent.low, extent.high) == (-3, 40)
        assert (total.sum, total.least, total.greatest) == ("261", "7", "90")

    def test_versions_and_digests_move_in_the_segments_that_were_written_and_in_no_other(
        self, ground: SourceGround
    ) -> None:
        table = ground.port.describe()
        agreement, port = agreement_of(table), ground.port

        def look() -> tuple[dict[int, object], dict[int, object]]:
            versions = port.row_versions(table, agreement).begin(RANGES)()
            digests = port.digest_inside(table, agreement, RANGES)()
            assert [one.segment for one in versions] == [one.segment for one in digests] == [0, 1, 2, 3]
            assert [one.rows for one in versions] == [one.rows for one in digests] == [5, 1, 2, 1]
            return {one.segment: one for one in versions}, {one.segment: one for one in digests}

        assert port.find_hindrance(table, agreement) == ""
        before = look()
        assert look() == before
        ground.write(9, 91)
        after = look()
        moved = [{one for one in was if was[one] != now[one]} for was, now in zip(before, after, strict=True)]
        assert moved == [{2}, {2}]
        ground.write(9, 90)
        back = look()
        assert back[1] == before[1], "the same rows have the same digest"
        assert back[0][2] not in (before[0][2], after[0][2]), "a row written back is another version"

    def test_planned_read_of_a_window_expects_rows_but_no_more_than_of_the_table_and_reads_none(
        self, ground: SourceGround
    ) -> None:
        table, port = ground.port.describe(), ground.port

        some = port.plan_read(table, RANGES, Window(ORDER, Edge(Mark(10)), Edge(Mark(50), inclusive=True)))
        every = port.plan_read(table, RANGES, build_full_window(ORDER))

        assert 0 < some.rows <= every.rows
        assert some.parts
        assert some.fetch_rows > 0
        assert port.report_cost().parts == 0

    def test_probe_measures_a_sample_and_no_figure_is_negative(self, ground: SourceGround) -> None:
        table = ground.port.describe()

        probe = ground.port.probe(table, agreement_of(table))

        assert probe.row_bytes > 0
        assert probe.link_byte_seconds >= 0
        assert probe.digest_row_seconds >= 0

    def test_keys_that_are_null_throughout_are_counted_and_there_are_none_once_they_are_gone(
        self, ground: SourceGround
    ) -> None:
        table = ground.port.describe()

        before = ground.port.find_key_faults(table)
        ground.remove(None)
        after = ground.port.find_key_faults(table)

        assert (before.duplicated_keys, before.null_keys) == (0, 1)
        assert (after.duplicated_keys, after.null_keys, after.sample) == (0, 0, ())

    def test_pulls_window_is_staged_whole_and_its_greatest_mark_lies_below_the_bound(
        self, ground: SourceGround
    ) -> None:
        table, port = ground.port.describe(), ground.port
        window = Window(ORDER, Edge(Mark(10)), Edge(Mark(50), inclusive=True))

        some = port.stage_rows(table, RANGES, window, 50)
        every = port.stage_rows(table, RANGES, build_full_window(ORDER), None)

        wanted = in_order([row for row in ROWS if row[2] is not None and 10 < row[2] <= 50])
        assert (in_order(ground.read(some.frame)), some.rows) == (wanted, len(wanted))
        assert (some.greatest, some.null_watermark_rows) == (Mark(40), 0)
        assert (in_order(ground.read(every.frame)), every.rows) == (in_order(ROWS), len(ROWS))
        assert (every.greatest, every.null_watermark_rows) == (Mark(60), 1)

    def test_look_ahead_names_the_next_rows_of_the_window_and_the_ids_at_one_watermark(
        self, ground: SourceGround
    ) -> None:
        table, port = ground.port.describe(), ground.port
        by_id = Order(("at",), "id")

        ahead = port.look_ahead(table, Window(ORDER, Edge(Mark(10))), 4, None)
        at_twenty = port.look_ahead(table, Window(by_id, Edge(Mark(20, 0))), None, 20)

        assert (ahead.rows, ahead.first, ahead.last) == (4, 20, 30)
        assert (at_twenty.rows, at_twenty.first, at_twenty.last) == (2, 1, 2)

    def test_signs_count_rows_without_a_mark_and_ahead_of_the_clock_and_tell_of_a_source_that_went_back(
        self, ground: SourceGround
    ) -> None:
        table, port = ground.port.describe(), ground.port

        behind = port.count_signs(table, ORDER, reached=Mark(30), now=45)
        beyond = port.count_signs(table, ORDER, reached=Mark(70), now=None)

        assert (behind.unmarked_rows, behind.future_rows, behind.greatest) == (1, 2, None)
        assert beyond.greatest is not None
