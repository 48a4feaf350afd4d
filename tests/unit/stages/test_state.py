"""The checkpoint by hand: an empty commit from which the next pull goes on; refused where rows would be lost for good."""

from __future__ import annotations

from typing import Any

import pytest

from hudi_reconcile.core.errors import RefusedError, UsageError
from hudi_reconcile.core.pull.cursor import watermark_micros, watermark_text
from hudi_reconcile.core.tables.kinds import Kind
from hudi_reconcile.core.tables.values import Instant
from hudi_reconcile.ports import Origin
from hudi_reconcile.stages.pull.pull import pull
from hudi_reconcile.stages.state import read_state, set_state
from tests.fakes.world import World, job, pulled

ROWS = ((1, 1, 100), (2, 2, 200), (3, 3, 300))


def text(micros: int) -> str:
    return watermark_text(Kind.TIMESTAMP, micros)


def next_rows(world: World) -> int:
    found = pull(job(), world.edges, full=False).pull
    assert found is not None
    return found.rows


def test_checkpoint_that_is_set_is_where_the_next_pull_goes_on() -> None:
    world = pulled(*ROWS)
    held = world.lake_holds()

    result = set_state(job(), world.edges, text(100), by="me@here")

    assert result.pull is not None
    assert (result.pull.checkpoint_before, result.pull.checkpoint_after) == (text(300), text(100))
    assert world.lake_holds() == held
    assert world.lake.commits[-1].labels == {"kind": "state", "run_id": "run-1", "state": "set", "by": "me@here"}
    assert next_rows(world) == 2


def test_reset_lets_the_next_pull_read_from_the_beginning_and_the_read_sequence_rises() -> None:
    world = pulled(*ROWS)

    set_state(job(), world.edges, None, by="me@here")

    assert next_rows(world) == 3
    sequences = [commit.checkpoint.read_seq for commit in world.lake.commits if commit.checkpoint]
    assert sequences == sorted(set(sequences))


@pytest.mark.parametrize(
    ("value", "error", "match"),
    [
        ("soon", UsageError, "expected an ISO time"),
        ("2026-01-01T00:00:00Z", UsageError, "the column has none"),
        (text(990), RefusedError, "at or above the safe bound"),
    ],
)
def test_value_that_is_none_or_lies_ahead_is_refused(value: str, error: type[Exception], match: str) -> None:
    world = pulled(*ROWS)
    commits = list(world.lake.commits)

    with pytest.raises(error, match=match):
        set_state(job(), world.edges, value, by="me@here")

    assert world.lake.commits == commits
    assert world.lake.held_by is None


def test_strategy_without_a_watermark_has_no_checkpoint_to_set() -> None:
    with pytest.raises(UsageError, match="no watermark"):
        set_state(job(strategy="full", watermark=()), pulled(*ROWS).edges, text(1), by="me@here")


def test_table_of_the_streamer_shows_its_checkpoint_and_the_refusal_says_how_to_adopt_it() -> None:
    world = pulled(*ROWS)
    world.lake.ordering = ("ts",)
    at = Instant("20260101000000000", "20260101000001000")
    world.lake.made_by = Origin("org.apache.hudi.keygen.SimpleKeyGenerator", "deltastreamer.checkpoint.key", "777", at)

    assert read_state(world.lake).origin.streamer_checkpoint == "777"
    calls: list[Any] = [
        lambda: set_state(job(), world.edges, None, by="me@here"),
        lambda: pull(job(), world.edges, full=False),
    ]
    for call in calls:
        with pytest.raises(RefusedError) as caught:
            call()
        assert "(ordering field: ts), and it is not adopted" in caught.value.message
        assert "lake: {adopt: true}" in caught.value.fix
        assert "'777' (deltastreamer.checkpoint.key of commit 20260101000001000)" in caught.value.message
        assert "keys are made by SimpleKeyGenerator from id" in caught.value.message


def test_table_that_is_not_there_has_no_state() -> None:
    assert read_state(World.new().lake).table is None


@pytest.mark.parametrize("kind", [Kind.TIMESTAMP, Kind.TIMESTAMPTZ])
@pytest.mark.parametrize("micros", [0, -1, 1_700_000_000_123_456, -62_000_000_000_000_000])
def test_text_of_a_watermark_is_read_back(kind: Kind, micros: int) -> None:
    assert watermark_micros(kind, watermark_text(kind, micros)) == micros


def test_zoned_watermark_needs_a_zone() -> None:
    with pytest.raises(ValueError, match="with its zone"):
        watermark_micros(Kind.TIMESTAMPTZ, "2026-01-01T00:00:00")
