"""When rows whose watermark is another in the lake are said to come from a writer in another time zone."""

from __future__ import annotations

import pytest

from hudi_reconcile.core.sweep.drift_profile import WatermarkShift, find_shift_note

MINUTE = 60_000_000


@pytest.mark.parametrize(
    ("rows", "least", "most", "said"),
    [
        (9, 120, 120, "by exactly +2 h in the lake"),
        (9, -330, -330, "by exactly -5 h 30 min in the lake"),
        (9, 15, 15, "by exactly +15 min in the lake"),
        (9, 60, 120, "by +1 h to +2 h in the lake"),
        (9, 60, 135, None),  # more than a summer's hour
        (9, 1_575, 1_575, None),  # no two zones are so far apart
        (8, 120, 120, None),
    ],
)
def test_shift_is_named_where_every_drifted_row_has_it_as_zones_would(
    rows: int, least: int, most: int, said: str | None
) -> None:
    note = find_shift_note(WatermarkShift(rows, least * MINUTE, most * MINUTE), 9, ("a", "b"))

    assert (None if note is None else f"9 of 9 rows differ in a, b {said}" in note) == (None if said is None else True)


def test_one_row_alone_and_no_shift_at_all_name_nothing() -> None:
    assert find_shift_note(WatermarkShift(1, 120 * MINUTE, 120 * MINUTE), 1, ("a",)) is None
    assert find_shift_note(None, 9, ("a",)) is None
