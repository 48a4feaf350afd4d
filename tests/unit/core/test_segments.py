from __future__ import annotations

import pytest

from hudi_reconcile.core.sweep.segments import (
    MAX_SEGMENTS,
    HashSegments,
    KeyExtent,
    KeyRange,
    RangeSegments,
    SegmentSet,
    choose,
    merge_ranges,
    parse,
    spread,
)


def test_auto_cuts_about_64_rows_a_segment() -> None:
    cut = choose(("id",), KeyExtent(0, 6399, 6400), integer_key=True, wanted=None)

    assert cut == RangeSegments("id", 0, 64, 100)


def test_estimate_of_a_huge_table_is_capped() -> None:
    cut = choose(("id",), KeyExtent(0, 10**12, 10**12), integer_key=True, wanted=None)

    assert cut.count <= MAX_SEGMENTS + 1


@pytest.mark.parametrize(
    ("extent", "integer_key"),
    [(KeyExtent(None, None, 0), True), (KeyExtent(None, None, 5000), False), (KeyExtent(1, 9, 9), False)],
)
def test_key_that_cannot_be_ranged_is_cut_by_hash_of_all_its_columns(extent: KeyExtent, *, integer_key: bool) -> None:
    cut = choose(("a", "b"), extent, integer_key=integer_key, wanted=7)

    assert cut == HashSegments(("a", "b"), 7)


def test_wanted_number_below_one_becomes_one() -> None:
    assert choose(("id",), KeyExtent(0, 99, 100), integer_key=True, wanted=0).count == 1


def test_null_segment_has_no_bounds() -> None:
    with pytest.raises(ValueError, match="no key bounds"):
        RangeSegments("id", 0, 10, 3).bounds(3)


def test_neighbouring_segments_are_read_as_one_range_and_null_comes_last() -> None:
    cut = RangeSegments("id", 0, 10, 6)

    found = merge_ranges(cut, SegmentSet.of([6, 2, 1, 4, 2]))

    assert found == (KeyRange(10, 30), KeyRange(40, 50), KeyRange(None, None, nulls=True, keys=False))


def test_first_and_last_segment_are_read_with_open_ends() -> None:
    assert merge_ranges(RangeSegments("id", 0, 10, 3), SegmentSet.of([0, 2])) == (
        KeyRange(None, 10),
        KeyRange(20, None),
    )


def test_one_part_reads_every_row_null_keys_too() -> None:
    assert spread(RangeSegments("id", 0, 10, 3), 1) == (KeyRange(None, None, nulls=True),)


def test_unknown_kind_in_a_plan_is_named() -> None:
    with pytest.raises(ValueError, match="'tree' is not known"):
        parse({"kind": "tree"})
