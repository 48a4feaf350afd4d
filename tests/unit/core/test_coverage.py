from __future__ import annotations

import pytest

from hudi_reconcile.core.sweep.coverage import Coverage, Stretch, build_coverage_document, continue_coverage, parse
from hudi_reconcile.core.sweep.segments import HashSegments, RangeSegments, Segmentation

OLD = RangeSegments("id", 0, 10, 8)
HASH = HashSegments(("a",), 8, "md5")


def coverage(cut: Segmentation, *, subject: str = "s", wanted: int | None = None) -> Coverage:
    return Coverage(subject, cut, wanted, (Stretch(0, 3, 5, "run"),))


@pytest.mark.parametrize(
    ("old", "fresh"),
    [
        (OLD, RangeSegments("id", 0, 10, 9)),  # a few more keys
        (OLD, RangeSegments("id", 0, 15, 8)),
        (HASH, HashSegments(("a",), 15, "md5")),
    ],
)
def test_coverage_goes_on_where_the_table_has_grown_a_little(old: Segmentation, fresh: Segmentation) -> None:
    earlier = coverage(old)

    assert continue_coverage([earlier], "s", fresh, None) == (old, earlier)


@pytest.mark.parametrize(
    ("old", "fresh"),
    [
        (OLD, RangeSegments("id", 0, 10, 17)),  # twice as many rows
        (OLD, RangeSegments("id", 0, 30, 8)),  # keys far beyond
        (OLD, RangeSegments("id", -300, 10, 8)),
        (OLD, RangeSegments("other", 0, 10, 8)),
        (OLD, HASH),
        (HASH, OLD),
        (HASH, HashSegments(("a",), 8, "xxhash64")),
        (HASH, HashSegments(("a", "b"), 8, "md5")),
    ],
)
def test_coverage_starts_anew_where_the_table_is_cut_otherwise(old: Segmentation, fresh: Segmentation) -> None:
    assert continue_coverage([coverage(old)], "s", fresh, None) == (fresh, None)


@pytest.mark.parametrize(("subject", "wanted"), [("other", None), ("s", 8)])
def test_coverage_of_another_subject_or_number_of_segments_is_passed_over(subject: str, wanted: int | None) -> None:
    other, ours = coverage(OLD, subject=subject, wanted=wanted), coverage(OLD)

    assert continue_coverage([other, ours], "s", OLD, None) == (OLD, ours)
    assert continue_coverage([other], "s", OLD, None) == (OLD, None)


STRETCH = {"low": 0, "high": 3, "compared_micros": 1, "run_id": "r"}


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"stretches": [{"low": 0, "high": 3, "compared_micros": 1, "run_id": "r"}] * 2},
        {"stretches": [{"low": 0, "high": 99, "compared_micros": 1, "run_id": "r"}]},
        {"stretches": [{"low": 0}]},
        *(
            {"stretches": [STRETCH, {**STRETCH, "low": 3, "high": 4, **odd}]}
            for odd in (
                {"low": "3"},
                {"high": True},
                {"compared_micros": "1"},
                {"compared_micros": 0.5},
                {"run_id": 7},
            )
        ),
        {"subject": 7},
        {"wanted": "8"},
        {"segmentation": {"kind": "other"}},
        {"segmentation": {"kind": "hash", "columns": ["id"], "count": "8"}},
        {"subject": ...},
    ],
)
def test_file_that_is_no_coverage_is_refused(change: dict[str, object]) -> None:
    found = {**build_coverage_document("t", coverage(OLD)), **change}
    if change.get("subject") is ...:
        del found["subject"]

    with pytest.raises(ValueError, match=r"coverage|segmentation"):
        parse(found)
