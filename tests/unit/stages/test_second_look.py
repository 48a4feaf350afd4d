"""The second look reads about the candidates where these explain what differed, and whole segments where they do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.sweep import segments
from hudi_reconcile.core.sweep.segments import (
    GREATEST_KEY,
    LEAST_KEY,
    MAX_SEGMENTS,
    HashSegments,
    RangeSegments,
    Segmentation,
    SegmentSet,
    refine,
    refine_segment,
)
from hudi_reconcile.ports import KeyPlace, SegmentDigest
from hudi_reconcile.stages.sweep.second_look import choose_finer, estimate_rows
from tests.fakes.rows import segment_of
from tests.fakes.world import World, pulled, swept

CUTS: tuple[Segmentation, ...] = (
    RangeSegments("id", 0, 64, 10),
    RangeSegments("id", -90, 45, 7),
    RangeSegments("id", 0, 3, 4),
    RangeSegments("id", LEAST_KEY, 2**60, 16),
    HashSegments(("id",), 7, "md5"),
)
KEYS = st.one_of(
    st.none(), st.integers(-200, 800), st.integers(LEAST_KEY, GREATEST_KEY), st.sampled_from([LEAST_KEY, GREATEST_KEY])
)
ROWS = tuple((key, key, 100 + key) for key in range(1, 200))
SILENT, LATE = 12, 14  # of one segment


@given(st.sampled_from(CUTS), KEYS)
def test_key_lies_in_a_finer_segment_of_its_segment(cut: Segmentation, key: int | None) -> None:
    finer = refine(cut)

    assert segment_of(finer, (key,)) in refine_segment(cut, finer, segment_of(cut, (key,)))


@given(st.sampled_from(CUTS))
def test_edges_of_finer_segments_are_bigints_and_they_are_narrower(cut: Segmentation) -> None:
    finer = refine(cut)

    assert finer.count >= cut.count
    if isinstance(finer, RangeSegments) and isinstance(cut, RangeSegments):
        assert finer.width == max(1, cut.width // 32)
        assert finer.start % finer.width == 0
        edges = [edge for at in (0, finer.count - 1) for edge in finer.bounds(at) if edge is not None]
        assert all(LEAST_KEY <= edge <= GREATEST_KEY for edge in edges)


@given(st.sampled_from(CUTS), st.dictionaries(KEYS, st.integers(1, 2**40), max_size=8), st.sets(st.integers(0, 7)))
def test_every_key_that_differed_is_read_again_whichever_of_them_the_candidates_lack(
    cut: Segmentation, gaps: dict[int | None, int], lost: set[int]
) -> None:
    finer = refine(cut)
    by_segment: dict[int, list[int | None]] = {}
    for key in gaps:
        by_segment.setdefault(segment_of(cut, (key,)), []).append(key)
    digests = [
        SegmentDigest(segment, 10 + len(keys), 10, equal=False, gap=(sum(gaps[key] for key in keys), 0))
        for segment, keys in by_segment.items()
    ]
    candidates = [key for place, key in enumerate(gaps) if place not in lost]
    places = [KeyPlace(segment_of(cut, (key,)), segment_of(finer, (key,)), 1, (gaps[key], 0)) for key in candidates]

    again = choose_finer(cut, finer, digests, places)

    assert again.finer == finer
    assert all(segment_of(finer, (key,)) in again.ids for key in gaps)


def test_segment_whose_digest_tells_no_gap_is_read_whole() -> None:
    cut = RangeSegments("id", 0, 64, 10)
    finer = refine(cut)
    places = [
        KeyPlace(1, segment_of(finer, (70,)), 0, (5, 0)),
        KeyPlace(2, segment_of(finer, (130,)), 1, (7, 1)),
    ]
    digests = (SegmentDigest(1, 64, 64, equal=False), SegmentDigest(2, 64, 63, equal=False, gap=(7, 1)))

    again = choose_finer(cut, finer, digests, places)

    assert again.ids == (*range(32, 64), 65)
    assert estimate_rows(cut, digests, again) == 66
    assert estimate_rows(cut, digests, SegmentSet((1, 2))) == 128
    others = (*digests, SegmentDigest(3, 64, 64, equal=True))
    assert estimate_rows(cut, others, SegmentSet.of(range(MAX_SEGMENTS + 1), finer)) == 192, "the source sends all rows"


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every number of segments counts as many."""
    monkeypatch.setattr(segments, "MANY_SEGMENTS", 0)


def drifted() -> World:
    """Two rows of one segment differ: one was changed silently, one came late."""
    world = pulled(*(row for row in ROWS if row[0] != LATE))
    world.source.put(SILENT, 99, 100 + SILENT)
    world.source.put(LATE, 1, 50)
    return world


@pytest.mark.usefixtures("many")
def test_second_look_reads_the_rows_about_the_candidates_alone() -> None:
    world = drifted()

    found = swept(world, segments=3)

    assert (found.result.outcome, found.result.findings["late_arriving"]) == (Outcome.DRIFT, 1)
    (_, first), (_, candidates), (_, second) = world.source.reads
    assert (first, candidates) == (199, 66)
    assert second <= 6


@pytest.mark.usefixtures("many")
def test_row_that_the_candidates_read_lost_is_found_though_the_other_one_of_its_segment_settles() -> None:
    world = drifted()

    def lose() -> None:
        world.source.lost_in_reads = {LATE}
        world.journal.before("clock.sleep", heal)

    def heal() -> None:
        world.source.lost_in_reads = set()
        world.source.put(SILENT, SILENT, 100 + SILENT)

    world.journal.before("source.read_rows", lambda: world.journal.before("source.read_rows", lose))

    assert swept(world, segments=3).result.outcome is not Outcome.CLEAN
