"""What a content proof says, when it says nothing any more, and the file that it is kept in."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.sweep.coverage import Coverage
from hudi_reconcile.core.sweep.proof import (
    MOST_TRANSACTIONS,
    NO_ROWS,
    ContentProof,
    ProvenSegment,
    SegmentVersions,
    Standing,
    build_proof_document,
    find_changed,
    find_doubt,
    parse,
    renew_proof,
    take_turns,
)
from hudi_reconcile.core.sweep.segments import RangeSegments, SegmentSet

CUT = RangeSegments("id", 0, 10, 9)  # and the segment of NULL keys
ALL = SegmentSet.of(range(10))
HERE = Standing({"server": "1", "start": "2", "table": "3", "catalog": "4"}, 100)
ENTRY = ProvenSegment(10, 2**64 - 1, -5, 7)
NIGHT = 86_400_000_000


def proof(**equal: ProvenSegment) -> ContentProof:
    empty = ContentProof(HERE, Coverage("subject", CUT, None), SegmentSet(()), {})
    held = {int(name.removeprefix("s")): entry for name, entry in equal.items()}
    return renew_proof(empty, ALL, {**dict.fromkeys(range(10), NO_ROWS), **held}, 1_000, "run-1")


def test_proof_is_the_same_after_it_was_written_and_read() -> None:
    found = renew_proof(proof(s1=ENTRY, s2=ENTRY), SegmentSet((2, 3)), {3: ENTRY}, 2_000, "run-2")

    assert parse(json.loads(json.dumps(build_proof_document("t", found)))) == found
    assert found.open_segments.ids == (2,)
    assert 2 not in found.list_proven()


@pytest.mark.parametrize(
    "damage",
    [
        {"version": 2}, {"segments": [1, 1]}, {"segments": [1, 77]}, {"rows": []}, {"versions": ["x", "1"]}, {"open": ["2"]},
        {"standing": []}, {"transactions": None}, {"coverage": {}}, {"rows": ["a", "b"]}, {"open": [1]}, {"high": [True, False]},
    ],
)  # fmt: skip
def test_damaged_proof_is_none(damage: dict[str, Any]) -> None:
    written = build_proof_document("t", proof(s1=ENTRY, s2=ENTRY))

    with pytest.raises(ValueError, match=r"proof|coverage|invalid|zip"):
        parse({**written, **damage})
    with pytest.raises(ValueError, match="lacks a field"):
        parse({name: value for name, value in written.items() if name != next(iter(damage))})


@pytest.mark.parametrize("altered", ["v", [1], {}])
def test_proof_that_names_altered_columns_oddly_is_none_and_one_that_does_not_say_knows_of_none(
    altered: object,
) -> None:
    written = build_proof_document("t", replace(proof(s1=ENTRY), altered=("v",)))

    with pytest.raises(ValueError, match="altered columns"):
        parse({**written, "altered": altered})
    assert parse(written).altered == ("v",)
    assert parse({name: value for name, value in written.items() if name != "altered"}).altered is None


@pytest.mark.parametrize("name", HERE.facts)
def test_another_fact_or_one_more_or_one_less_ends_a_proof(name: str) -> None:
    known = proof()

    assert find_doubt(known, "subject", HERE) == ""
    assert find_doubt(known, "another", HERE)
    assert find_doubt(known, "subject", Standing({**HERE.facts, name: "other"}, 100))
    assert find_doubt(known, "subject", Standing({**HERE.facts, "further": "1"}, 100))
    assert find_doubt(known, "subject", Standing({k: v for k, v in HERE.facts.items() if k != name}, 100))


@pytest.mark.parametrize(
    ("count", "doubted"),
    [(99, True), (100, False), (99 + MOST_TRANSACTIONS, False), (100 + MOST_TRANSACTIONS, True)],
)
def test_count_of_transactions_that_fell_or_ran_half_a_round_ends_a_proof(count: int, *, doubted: bool) -> None:
    assert bool(find_doubt(proof(), "subject", Standing(HERE.facts, count))) is doubted


def test_segment_meets_where_its_source_changed_or_gained_or_lost_its_rows() -> None:
    known = proof(s1=ENTRY, s2=ENTRY, s3=ENTRY)
    now = [SegmentVersions(1, 10, ENTRY.versions), SegmentVersions(2, 10, 1), SegmentVersions(4, 1, 1)]

    assert take_turns(known, now, 100, 1_000).changed.ids == (2, 3, 4)
    assert find_changed(known, {1: (10, -5, 7), 2: (10, -5, 8), 5: (1, 0, 0)}, SegmentSet((2,))).ids == (3, 5)


def test_segments_that_were_compared_a_rotation_of_days_ago_are_due_however_few_sweeps_there_were() -> None:
    known = renew_proof(proof(), SegmentSet((4, 5)), {4: NO_ROWS, 5: NO_ROWS}, 5 * NIGHT, "run-2")

    assert take_turns(known, (), 7, 7 * NIGHT).due.ids == (0, 1)
    assert take_turns(known, (), 7, 7 * NIGHT + 1_000).due.ids == (0, 1, 2, 3, 6, 7, 8, 9)


@given(
    st.integers(1, 12),
    st.lists(st.tuples(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)), st.integers(-5, 5)), max_size=30),
)
def test_each_segment_meets_within_the_rotation_whatever_else_meets_and_however_the_clock_runs(
    rotation: int, nights: list[tuple[set[int], set[int], int]]
) -> None:
    known, last, now = proof(), dict.fromkeys(range(10), 0), 1_000

    for number, (changed, unequal, ahead) in enumerate(nights, start=1):
        now += ahead
        versions = [SegmentVersions(one, 1, number) for one in changed]
        met = take_turns(known, versions, rotation, now).segments
        last |= dict.fromkeys(met.ids, number)
        known = renew_proof(known, met, {one: NO_ROWS for one in met.ids if one not in unequal}, now, f"run-{number}")

        assert changed <= set(met.ids)
        assert all(number - one < rotation for one in last.values())
