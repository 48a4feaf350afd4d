from __future__ import annotations

from collections import Counter
from itertools import chain

import pytest

from hudi_reconcile.core.pull.read_plan import Limits, Statistics, fetch_rows, plan
from hudi_reconcile.core.tables.key_encoding import KeyValue, parse_key
from hudi_reconcile.core.tables.kinds import Column, Kind

ROWS = 1_000_000
# 90 % of the rows in 1 % of the key range, the rest far apart.
SKEWED = sorted({*range(5_000_000, 5_090_000), *range(0, 9_000_000, 900)})
EVERY_CORE = Limits(8, 8)


def histogram(keys: list[int], buckets: int = 100) -> tuple[int, ...]:
    """As PostgreSQL makes it: bounds of equal shares."""
    return tuple(keys[i * (len(keys) - 1) // buckets] for i in range(buckets + 1))


def sizes(keys: list[int], found: Statistics, limits: Limits = EVERY_CORE) -> list[int]:
    parts = plan(found, limits, columns=8, can_hash=False)
    counts = Counter(parts.find_part(key) for key in keys)
    return [counts[index] for index in range(len(parts.parts))]


@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
def test_skewed_and_gappy_keys_give_balanced_parts(lanes: int) -> None:
    known = Statistics(len(SKEWED), "histogram", bounds=histogram(SKEWED))

    found = sizes(SKEWED, known, Limits(lanes, lanes))

    assert len(found) == lanes
    assert max(found) <= 1.5 * sum(found) / len(found)


def test_rows_that_came_after_the_statistics_are_shared_out() -> None:
    keys = list(range(100_000))
    stale = Statistics(100_000, "old", rows_known=10_000, bounds=histogram(keys[:10_000]), low=0, high=99_999)

    found = sizes(keys, stale)

    assert max(found) <= 1.5 * sum(found) / len(found)


def test_key_value_that_fills_buckets_is_a_part_of_its_own_or_hashed() -> None:
    heavy = Statistics(ROWS, "histogram", bounds=(1, 7, 7, 7, 7, 7, 7, 7, 9), rows_known=ROWS)

    by_range = plan(heavy, Limits(4, 4), columns=8, can_hash=False)
    by_hash = plan(heavy, Limits(4, 4), columns=8, can_hash=True)

    assert (by_range.how, by_hash.how, len(by_hash.parts)) == ("range", "hash", 4)
    assert "few key values hold most rows" in by_hash.why
    assert sum(part.rows for part in by_range.parts) == pytest.approx(ROWS, rel=0.01)


def test_common_values_and_nulls_count_for_the_parts_that_hold_them() -> None:
    known = Statistics(
        ROWS, "both", rows_known=ROWS, bounds=tuple(range(0, 1001, 10)), common=((500, 0.2),), null_share=0.1
    )

    parts = plan(known, Limits(5, 5), columns=8, can_hash=False).parts

    assert parts[0].rows >= ROWS * 0.1
    assert max(part.rows for part in parts) <= 1.5 * ROWS / len(parts)
    assert sum(part.rows for part in parts) == pytest.approx(ROWS, rel=0.01)


@pytest.mark.parametrize(
    ("found", "can_hash", "how"),
    [
        (Statistics(49_999, "few", bounds=(1, 2, 3)), True, "whole"),
        (Statistics(ROWS, "none"), True, "hash"),
        (Statistics(ROWS, "none"), False, "whole"),
        (Statistics(ROWS, "ends", low=1, high=1000), True, "range"),
        (Statistics(ROWS, "one key", low=7, high=7), False, "whole"),
    ],
)
def test_way_to_cut_follows_from_what_is_known(found: Statistics, *, can_hash: bool, how: str) -> None:
    parts = plan(found, Limits(4, 2), columns=3, can_hash=can_hash)

    assert parts.how == how
    assert any(found.why in why for why in parts.why)


def test_parts_grow_with_rows_and_bytes_in_whole_rounds_of_the_connections() -> None:
    def count(rows: int, row_bytes: float, limits: Limits) -> int:
        known = Statistics(rows, "", row_bytes=row_bytes, bounds=tuple(range(1001)))
        return len(plan(known, limits, columns=8, can_hash=False).parts)

    assert count(1_000_000, 80, Limits(4, 2)) == 2
    assert count(5_000_000, 80, Limits(4, 3)) == 12
    assert count(1_000_000, 4_000, Limits(4, 4)) == 32  # 4 GB
    assert count(10**9, 80, Limits(4, 4)) == 512
    assert count(10**9, 80, Limits(4, 64, waits=False)) == 4


def test_text_is_cut_at_known_values_only() -> None:
    known = Statistics(ROWS, "", bounds=tuple(f"k{i:04d}".encode() for i in range(101)))

    parts = plan(known, EVERY_CORE, columns=8, can_hash=False).parts
    edges = {edge for part in parts for edge in (part.low, part.high) if edge is not None}

    assert edges <= set(known.bounds)
    assert max(part.rows for part in parts) <= 1.5 * ROWS / len(parts)


@pytest.mark.parametrize(
    ("row_bytes", "rows"), [(None, 3_048), (0.0, 7_812), (80.0, 4_807), (10_000.0, 100), (1e9, 100)]
)
def test_fetch_size_is_about_a_megabyte(row_bytes: float | None, rows: int) -> None:
    assert fetch_rows(row_bytes, 8) == rows


VALUES: list[tuple[Kind, str, KeyValue | None]] = [
    (Kind.INTEGER, "-12", -12),
    (Kind.DECIMAL, "18446744073709551615.5", 184467440737095516155),
    (Kind.DECIMAL, "NaN", None),
    (Kind.DATE, "1970-01-02", 1),
    (Kind.DATE, "infinity", None),
    (Kind.DATE, "0044-03-15 BC", None),
    (Kind.TIMESTAMP, "1970-01-01 00:00:01.5", 1_500_000),
    (Kind.TIMESTAMP, "2024-01-01 00:00:00+02", None),
    (Kind.UUID, "00000000-0000-0000-0000-0000000000ff", 255),
    (Kind.TEXT, "Ä'", "Ä'".encode()),
    (Kind.TEXT, "a\\b", None),
    (Kind.TEXT, "a\nb", None),
    (Kind.CHAR, "a", None),
]


@pytest.mark.parametrize(("kind", "text", "value"), VALUES, ids=[f"{kind} {text!r}" for kind, text, _ in VALUES])
def test_key_value_is_known_only_where_its_order_is(kind: Kind, text: str, value: KeyValue | None) -> None:
    assert parse_key(Column("k", kind, "t", scale=1), text) == value


def test_every_row_is_expected_once() -> None:
    known = Statistics(len(SKEWED), "", rows_known=len(SKEWED), bounds=histogram(SKEWED))
    parts = plan(known, EVERY_CORE, columns=8, can_hash=False).parts

    assert sum(part.rows for part in parts) == pytest.approx(len(SKEWED), abs=len(parts))
    assert list(chain.from_iterable((part.low, part.high) for part in parts))[1:-1:2] == [p.high for p in parts[:-1]]
