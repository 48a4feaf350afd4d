"""How far back an undo reaches, and what must add up."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from hudi_reconcile.core.errors import LakeError, RefusedError
from hudi_reconcile.core.tables.values import Instant
from hudi_reconcile.lake.timeline import WrittenKeys, format_keys, parse_keys
from hudi_reconcile.lake.undo import MOST_COMMITS_SINCE, Wrote, find_snapshot_fault, refuse_unlike

BEFORE, AT = "20260101000000001", "20260101000000002"


@pytest.mark.parametrize(
    ("since", "kept", "cleaned", "why"),
    [
        (0, (), (), None),
        (MOST_COMMITS_SINCE, (), (), None),
        (MOST_COMMITS_SINCE + 1, (), (), "11 commits since"),
        (MOST_COMMITS_SINCE + 1, (BEFORE,), (), None),
        (1, (), (BEFORE,), "a cleaner ran since"),
        (1, (), (BEFORE, AT), "a cleaner ran since"),
        (1, (BEFORE,), (AT,), "cannot be told from later changes"),
        (None, (BEFORE,), (), "no longer on the active timeline"),
    ],
)
def test_snapshots_around_a_commit_are_whole_only_where_no_cleaner_can_have_taken_files(
    since: int | None, kept: Collection[str], cleaned: Collection[str], why: str | None
) -> None:
    found = find_snapshot_fault(BEFORE, AT, since=since, kept=kept, cleaned=cleaned)

    assert found is None if why is None else why in (found or "")


def test_commit_without_a_forerunner_is_not_taken_back() -> None:
    assert find_snapshot_fault(None, AT, since=0, kept=(), cleaned=()) is not None


@pytest.mark.parametrize(
    ("said", "there", "new", "adds_up"),
    [
        (WrittenKeys(2, 1), 2, 1, True),
        (WrittenKeys(2, 1), 1, 1, False),
        (WrittenKeys(2, 1), 1, 2, False),  # a row whose version from before is cleaned looks like a new one
        (WrittenKeys(2, 1), 3, 1, False),
        (None, 2, 1, True),  # written by an earlier version
        (None, 0, 0, False),
        (WrittenKeys(0, 0), 0, 0, False),
    ],
)
def test_rows_that_history_shows_must_be_those_that_the_commit_says_it_wrote(
    said: WrittenKeys | None, there: int, new: int, *, adds_up: bool
) -> None:
    counts = {("upsert", "ready"): there, ("delete", "superseded"): new}
    wrote = Wrote(Instant(AT, AT), said, anew=False)

    if adds_up:
        refuse_unlike(counts, wrote, "/lake/t")
    else:
        with pytest.raises(RefusedError, match=f"shows {there} and {new}"):
            refuse_unlike(counts, wrote, "/lake/t")


def test_number_of_keys_survives_its_text_and_any_other_text_is_refused() -> None:
    assert parse_keys(format_keys(WrittenKeys(3, 2))) == WrittenKeys(3, 2)
    for text in ("", "3", "[]", '{"there":1}', '{"there":1,"new":"2"}', '{"there":1,"new":2,"more":3}'):
        with pytest.raises(LakeError):
            parse_keys(text)
