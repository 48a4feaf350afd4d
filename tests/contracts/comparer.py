"""What every comparer keeps to, on frames of `id, v, at`. Run on the fake and on Spark frames without Hudi."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Protocol

from hudi_reconcile.core.pull.cursor import Mark
from hudi_reconcile.core.sweep.drift import PendingRange
from hudi_reconcile.core.sweep.segments import RangeSegments, SegmentSet, refine
from hudi_reconcile.ports import Comparer, Frame, Look
from hudi_reconcile.stages.comparison import join_sums

Held = tuple[int, int | None, int]  # id, v, microseconds of `at`
Shown = tuple[int, int | None, int, str]  # and the version that Hudi gave the row
CUT = RangeSegments("id", 0, 10, 8)
ALL = SegmentSet.of(range(8))
PENDING = PendingRange(Mark(100), 2**62)
SOURCE: tuple[Held, ...] = (
    (1, 1, 1), (10, 1, 1), (20, 1, 1), (21, None, 1), (30, 1, 1), (50, 1, 1), (60, 1, 1), (61, 2, 1), (70, 1, 1),
)  # fmt: skip
LAKE: tuple[Shown, ...] = (
    (1, 1, 1, "a"), (10, 2, 1, "b"), (20, None, 1, "c"), (21, None, 1, "d"), (40, 1, 1, "e"), (50, 1, 1, "f"),
    (50, 1, 1, "g"), (60, 2, 1, "h"), (61, 1, 1, "i"), (70, 1, 2, "j"),
)  # fmt: skip
# What a sweep finds and an apply corrects: 4 and 13 late, 5 and 14 updated, 6 regressed, 7 and 12 deleted, 8 doubled.
DRIFTED: tuple[Held, ...] = (
    (1, 1, 1), (4, 4, 4), (5, 55, 5), (6, 6, 5), (8, 8, 8), (13, 13, 13), (14, 15, 14),
)  # fmt: skip
BESIDE: tuple[Shown, ...] = (
    (1, 1, 1, "a"), (5, 5, 5, "e"), (6, 6, 6, "f"), (7, 7, 7, "g"), (8, 8, 8, "h"), (8, 9, 8, "i"), (12, 12, 12, "l"),
    (14, 14, 14, "n"),
)  # fmt: skip


class ComparerGround(Protocol):
    """A comparer of `id, v, at`, cut by `CUT`, and frames for it."""

    @property
    def port(self) -> Comparer: ...

    @property
    def cutting(self) -> Comparer:
        """The same, but that `at` meets on five digits after the point."""
        ...

    def source(self, *rows: Held) -> Frame: ...

    def lake(self, *rows: Shown) -> Frame:
        """The number of the read that brought a row is a hundred times its id."""
        ...

    def held(self, rules: Mapping[int, Sequence[str]]) -> Frame:
        """Ids, and the rules that their rows break, as `Quarantine` names them."""
        ...

    def mark(self, frame: Frame, *ids: int) -> Frame:
        """Rows of either side, those of these ids marked as in the partitions that are compared."""
        ...

    def told(self, frame: Frame, column: str) -> dict[int, Any]:
        """What a column says of each key, which is there once."""
        ...

    def ids(self, frame: Frame, column: str) -> list[int]:
        """The ids of rows of either side, in order."""
        ...

    def versions(self, expected: Frame) -> set[tuple[int, str | None]]:
        """What a corrective expects."""
        ...

    def kept(self, frame: Frame, rows: int) -> Frame:
        """The findings after `save` and `load`."""
        ...


def unread_lake() -> NoReturn:
    """The whole lake, where no key is written with Hudi's words: it is not read."""
    raise AssertionError("the whole lake was read")


def look(ground: ComparerGround, source: tuple[Held, ...] = DRIFTED, lake: tuple[Shown, ...] = BESIDE) -> Look:
    return Look(ground.source(*source), ground.lake(*lake))


def changed(rows: tuple[Any, ...], *others: Any, gone: tuple[int, ...] = ()) -> tuple[Any, ...]:
    """The rows of one side, those of the others' keys in their place."""
    keys = {*gone, *(row[0] for row in others)}
    return (*(row for row in rows if row[0] not in keys), *others)


def plan_of(ground: ComparerGround) -> Frame:
    port, both = ground.port, look(ground)
    found = port.judge_candidates(port.find_candidates(both, ALL), both, ALL, PENDING, whole_lake=unread_lake)
    return port.select_corrections(found, None)


class ComparerContract:
    def test_digests_of_a_segment_are_equal_exactly_where_its_rows_are(self, ground: ComparerGround) -> None:
        both = look(ground, SOURCE, LAKE)

        found = ground.port.compare_digests(both, None)

        assert [(one.segment, one.source_rows, one.lake_rows, one.equal) for one in found] == [
            (0, 1, 1, True), (1, 1, 1, False), (2, 2, 2, False), (3, 1, 0, False), (4, 0, 1, False), (5, 1, 2, False),
            (6, 2, 2, False), (7, 1, 1, False),
        ]  # fmt: skip
        some = ground.port.compare_digests(both, SegmentSet.of([0, 5]))
        assert some == (found[0], found[5])

    def test_digests_of_one_side_move_in_the_segments_whose_rows_did(self, ground: ComparerGround) -> None:
        port = ground.port

        ours = [port.digest_side(ground.source(*rows), "source") for rows in (SOURCE, tuple(reversed(SOURCE)))]
        other = port.digest_side(ground.source(*changed(SOURCE, (21, 0, 1))), "source")
        theirs = port.digest_side(ground.lake(*LAKE), "lake")
        both = port.compare_digests(look(ground, SOURCE, LAKE), None)
        texts = port.digest_texts(ground.lake(*LAKE)), port.digest_texts(ground.lake(*changed(LAKE, (1, 7, 1, "z"))))

        assert ours[0] == ours[1], "whatever the order of the rows"
        assert [one.segment for one in ours[0]] == [0, 1, 2, 3, 5, 6, 7]
        assert join_sums(ours[0], theirs, native=True) == both, "digests of each side alone say what those of both do"
        assert {now.segment for was, now in zip(ours[0], other, strict=True) if was != now} == {2}
        assert {now.segment for was, now in zip(*texts, strict=True) if was != now} == {0}

    def test_rows_with_digits_that_are_cut_off_are_counted_by_column_and_none_where_nothing_is_cut(
        self, ground: ComparerGround
    ) -> None:
        rows = ground.source((1, 1, 10), (2, 1, 15), (3, None, 1_000_020), (4, 3, 7))

        assert ground.cutting.count_hidden_rows(rows) == {"at": 2}
        assert ground.cutting.count_hidden_rows(ground.source((1, 1, 10))) == {"at": 0}
        assert ground.port.count_hidden_rows(rows) == {}

    def test_candidates_are_the_keys_that_differ_in_the_segments_asked_for(self, ground: ComparerGround) -> None:
        port, both = ground.port, look(ground, SOURCE, LAKE)

        every, some = port.find_candidates(both, ALL), port.find_candidates(both, SegmentSet.of([0, 2, 4]))

        assert set(ground.told(every, "segment")) == {10, 20, 30, 40, 50, 60, 61, 70}
        assert set(ground.told(some, "segment")) == {20, 40}
        assert ground.ids(port.keep(both.lake, SegmentSet.of([2, 5])), "id") == [20, 21, 50, 50]
        rows, count = port.stage_rows(both.source)
        assert (ground.ids(rows, "c0"), count) == ([row[0] for row in SOURCE], len(SOURCE))

    def test_key_of_which_the_source_has_two_rows_differs_even_where_the_lake_has_one_of_them(
        self, ground: ComparerGround
    ) -> None:
        port, both = ground.port, look(ground, ((1, 1, 1), (1, 2, 1), (2, 2, 2)), ((1, 2, 1, "a"), (2, 2, 2, "b")))

        candidates = port.find_candidates(both, ALL)
        found = port.judge_candidates(candidates, both, ALL, None, whole_lake=unread_lake)

        assert set(ground.told(candidates, "segment")) == {1}
        assert port.count(found, "segment", "kind") == {"0 updated_without_watermark": 1}

    def test_candidates_are_placed_with_what_they_add_to_the_gap_of_their_segment(self, ground: ComparerGround) -> None:
        both = look(ground, SOURCE, LAKE)
        found, finer = ground.port.find_candidates(both, ALL), refine(CUT)

        places = ground.port.locate(found, finer, 8)

        assert places is not None
        assert sorted((one.segment, one.finer, one.rows_more) for one in places) == [
            (1, 10, 0), (2, 20, 0), (3, 30, 1), (4, 40, -1), (5, 50, -1), (6, 60, 0), (6, 61, 0), (7, 70, 0),
        ]  # fmt: skip
        gaps = {one.segment: one.gap for one in ground.port.compare_digests(both, None) if not one.equal}
        for segment, gap in gaps.items():
            held = [one.gap for one in places if one.segment == segment]
            assert tuple(map(sum, zip(*held, strict=True))) == gap, segment
        assert ground.port.locate(found, finer, 7) is None

    def test_rows_of_finer_segments_are_kept_judged_and_found_alone(self, ground: ComparerGround) -> None:
        port, both = ground.port, look(ground, SOURCE, LAKE)
        some = SegmentSet((50, 61), refine(CUT))

        kept = port.keep(both.lake, some)
        found = port.find_candidates(both, some)
        judged = port.judge_candidates(found, Look(both.source, kept), some, PENDING, whole_lake=unread_lake)

        assert ground.ids(kept, "id") == [50, 50, 61]
        assert ground.told(judged, "segment") == {50: 5, 61: 6}
        places = port.locate(ground.kept(judged, 2), refine(CUT), 2)
        assert sorted((one.segment, one.finer) for one in places or ()) == [(5, 50), (6, 61)]

    def test_candidates_of_one_side_are_counted_by_segment(self, ground: ComparerGround) -> None:
        found = ground.port.count_one_sided(ground.port.find_candidates(look(ground), ALL))

        late, deleted, others = (4, 13), (7, 12), (5, 6, 8, 14)
        assert set(found) == {CUT.find_segment(key) for key in (*late, *deleted, *others)}
        for segment, held in found.items():
            expected = [sum(CUT.find_segment(key) == segment for key in keys) for keys in (late, deleted)]
            assert [held.source_rows, held.lake_rows] == expected, segment

    def test_judgement_tells_drift_from_what_heals_moves_or_will_be_pulled(self, ground: ComparerGround) -> None:
        port = ground.port
        source = changed(DRIFTED, (2, 2, 2), (3, 3, 3), (9, 9, 200), (10, 10, 10))
        lake = changed(BESIDE, (10, 10, 10, "o"), (11, 11, 11, "p"))
        then = changed(source, (3, 33, 3), (10, 11, 10)), changed(lake, (2, 2, 2, "q"), gone=(11,))
        first = port.find_candidates(look(ground, source, lake), ALL)

        found = port.judge_candidates(first, look(ground, *then), ALL, PENDING, whole_lake=unread_lake)

        kinds = {
            2: "settled", 3: "moving", 4: "late_arriving", 5: "updated_without_watermark", 6: "regressed", 7: "deleted",
            8: "duplicate_key", 9: "pending", 10: "moving", 11: "settled", 12: "deleted", 13: "late_arriving",
            14: "updated_without_watermark",
        }  # fmt: skip
        assert ground.told(found, "kind") == kinds
        assert port.count(found, "kind")["moving"] == 2
        assert sorted(port.named_keys(found, "moving", 2) or ()) == [("10",), ("3",)]
        assert port.named_keys(found, "moving", 1) is None
        assert port.named_keys(found, "absent", 5) == (("11",),)
        assert ground.told(port.unsettle(found, "absent"), "kind") == {**kinds, 11: "moving"}
        doubted = port.unsettle(found, "deleted")
        assert ground.told(doubted, "kind") == {**kinds, 7: "moving", 12: "moving"}
        assert (ground.told(doubted, "action")[7], port.named_keys(doubted, "deleted", 5)) == ("none", ())
        plan = port.select_corrections(found, None)
        deletes, upserts = {7, 12}, {4, 5, 6, 8, 13, 14}
        actions = {**dict.fromkeys(deletes, "delete"), **dict.fromkeys(upserts, "upsert")}
        assert ground.told(ground.kept(plan, 8), "action") == actions
        assert set(ground.told(port.select_corrections(found, "delete"), "kind")) == deletes

        later = look(ground, changed(then[0], (10, 10, 10)), changed(then[1], gone=(5,)))
        again = port.judge_again(found, later, ALL, PENDING, whole_lake=unread_lake)

        assert ground.told(again, "kind") == {**kinds, 3: "late_arriving", 10: "settled"}, (
            "what was judged stays judged"
        )

    def test_recheck_lets_through_what_stands_as_it_was_compared_and_reads_back_what_the_lake_shows(
        self, ground: ComparerGround
    ) -> None:
        port, plan = ground.port, plan_of(ground)
        source = changed(DRIFTED, (5, 56, 5), (12, 12, 12), (14, 16, 14))
        lake = changed(BESIDE, (6, 6, 6, "w"), (13, 1, 1, "x"), (14, 14, 14, "y"))
        assert set(port.count(plan, "segment")) == {"0", "1"}

        rechecked = port.recheck(plan, look(ground, source, lake), ALL)

        statuses = {
            4: "ready", 5: "moved", 6: "superseded", 7: "ready", 8: "doubled", 12: "moved", 13: "superseded", 14: "superseded",
        }  # fmt: skip
        assert ground.told(rechecked, "status") == statuses
        assert port.count(rechecked, "status") == {"ready": 2, "moved": 2, "superseded": 3, "doubled": 1}
        assert (port.list_deletes(rechecked, 1), port.list_deletes(rechecked, 0)) == ((("7",),), None)
        moved = port.mark_existing(rechecked, ground.source((4, 4, 4), (7, 7, 7)))
        assert ground.told(moved, "status") == {**statuses, 7: "moved"}
        assert ground.told(port.mark_existing(rechecked, None), "status") == {**statuses, 7: "moved"}
        ready, doubled = port.build_corrective(rechecked), port.build_corrective(rechecked, "doubled")
        assert (ground.ids(ready.upserts, "c0"), ground.ids(ready.deletes, "id")) == ([4], [7])
        assert ground.versions(ready.expected) == {(4, None), (7, "g")}
        assert (ground.ids(doubled.upserts, "c0"), ground.versions(doubled.expected)) == ([8], {(8, "h"), (8, "i")})

        held = port.hold(rechecked, ground.held({4: ["r-1", "r-2"], 7: ["r-3"], 99: ["r-1"]}))
        assert ground.told(held, "status") == {**statuses, 4: "held"}, "a delete breaks no rule"
        assert ground.told(held, "rules")[4] == ["r-1", "r-2"]
        assert (ground.ids(port.build_corrective(held).upserts, "c0"), port.list_deletes(held, 1)) == ([], (("7",),))
        counts = port.count_statuses(rechecked)
        assert counts.rows == {"ready": 2, "moved": 2, "superseded": 3, "doubled": 1}
        assert (counts.deletes, counts.newest_seq) == (1, 800), "of rows that are replaced, not of those that stay"
        assert port.count_statuses(port.select_corrections(held, "upsert")).newest_seq == 800

        written = look(ground, source, changed(lake, (4, 4, 4, "z"), (8, 9, 8, "z"))).lake
        ends = port.read_back(rechecked, written, ALL)
        left = port.list_uncorrected(plan, [port.name_reasons(ends, "status", {"failed": "write_lost"})])

        assert ground.told(ends, "status") == {**statuses, 4: "applied", 7: "failed", 8: "failed"}
        reasons = {**statuses, 7: "write_lost", 8: "write_lost"}
        del reasons[4]
        assert ground.told(left, "reason") == reasons
        some = port.read_back(rechecked, written, ALL, written=("doubled",))
        assert ground.told(some, "status") == {**statuses, 8: "failed"}

    def test_recheck_supersedes_a_row_that_changed_under_the_version_it_was_compared_in(
        self, ground: ComparerGround
    ) -> None:
        # A part of a row that comes late into a merge_on_read table changes what is shown, and the row keeps its version.
        lake = changed(BESIDE, (7, 70, 7, "g"), (14, 140, 14, "n"))

        rechecked = ground.port.recheck(plan_of(ground), look(ground, DRIFTED, lake), ALL)

        assert {key: status for key, status in ground.told(rechecked, "status").items() if status != "ready"} == {
            7: "superseded", 8: "doubled", 14: "superseded",
        }  # fmt: skip

    def test_rows_outside_of_the_partitions_are_no_drift_and_a_key_that_moved_into_them_is(
        self, ground: ComparerGround
    ) -> None:
        port, whole = ground.port, look(ground, SOURCE, LAKE)
        # 1 and 70 on both sides, 10 moves in, 20 moves out; 30 is the source's alone, 40 the lake's, both outside.
        part = Look(ground.mark(whole.source, 1, 10, 70), ground.mark(whole.lake, 1, 20, 70))

        digests = port.compare_digests(part, None)
        candidates = port.find_candidates(part, ALL)
        found = port.judge_candidates(candidates, part, ALL, PENDING, whole_lake=unread_lake)

        assert [(one.segment, one.source_rows, one.lake_rows, one.equal) for one in digests] == [
            (0, 1, 1, True), (1, 1, 0, False), (2, 0, 1, False), (7, 1, 1, False),
        ]  # fmt: skip
        assert ground.told(found, "kind") == {
            10: "updated_without_watermark", 20: "updated_without_watermark", 70: "regressed",
        }  # fmt: skip

    def test_profile_counts_the_drift_by_kind_and_the_columns_that_differ(self, ground: ComparerGround) -> None:
        plan = plan_of(ground)

        told = ground.port.profile_drift(plan, 8, timed=False, reached_micros=None)

        kinds = {"late_arriving": 2, "updated_without_watermark": 2, "regressed": 1, "deleted": 2, "duplicate_key": 1}
        assert {one.kind: one.rows for one in told.cells} == kinds
        assert (dict(told.columns), told.other_rows, told.lateness) == ({"v": 3, "at": 1}, 0, None)

    def test_corrections_have_landed_where_one_commit_made_them_and_nobody_touched_them_since(
        self, ground: ComparerGround
    ) -> None:
        port, plan, before = ground.port, plan_of(ground), ground.lake(*BESIDE)
        after = changed(BESIDE, (4, 4, 4, "s"), (5, 55, 5, "s"), (6, 7, 5, "s"), (13, 13, 13, "s"), gone=(7,))
        now = changed(after, (13, 13, 13, "t"), (5, 55, 5, "u"), (12, 12, 12, "u"), (14, 14, 14, "u"))
        rechecked = port.recheck(plan, look(ground, DRIFTED, now), ALL)
        carried = changed(after, (5, 55, 5, "u"), (12, 12, 12, "u"), (14, 14, 14, "u"))
        later = [(ground.lake(*after), ground.lake(*carried))]

        landed = port.mark_landed(rechecked, (before, ground.lake(*after)), ALL, later)
        alone = port.mark_landed(rechecked, (before, ground.lake(*after)), ALL)

        made = {key for key, status in ground.told(landed, "status").items() if status == "landed"}
        assert made == {4, 5, 7}, "not 6 with another image, not 13, which somebody wrote again"
        assert {key for key, status in ground.told(alone, "status").items() if status == "landed"} == {4, 7}

        kept = port.carry_versions(plan, "delete", *later[0])
        statuses = ground.told(port.recheck(kept, look(ground, DRIFTED, carried), ALL), "status")
        assert (statuses[12], statuses[14]) == ("ready", "superseded")
