"""Digests inside the source: when they are used, what they find, and what they may not hide."""

from __future__ import annotations

from typing import Any

import pytest

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.sweep.segments import HashSegments, Probe, parse
from hudi_reconcile.stages.sweep.sweep import Swept
from tests.fakes.world import World, applied, pulled, swept


@pytest.fixture
def world() -> World:
    return pulled((1, 1, 100), (2, 2, 200), (3, 3, 300))


def pushed(world: World, **settings: Any) -> Swept:
    return swept(world, mode="pushdown", segments=3, **settings)


def test_equal_sides_are_clean_without_a_row_read(world: World) -> None:
    found = pushed(world)

    assert (found.result.outcome, found.rows_fetched) == (Outcome.CLEAN, 0)
    assert "source.read_rows" not in world.journal.calls
    assert found.result.provenance["digests"] == "inside the source (sweep.mode: pushdown)"


def test_drift_is_found_and_repaired_as_by_streaming(world: World) -> None:
    world.source.table[1]["v"] = 7
    world.source.delete(2)

    found = pushed(world)

    assert {kind: count for kind, count in found.result.findings.items() if count} == {
        "updated_without_watermark": 1,
        "deleted": 1,
    }
    assert found.rows_fetched == 2 * (len(world.source.table) - 1)
    assert applied(world, found.draft).outcome is Outcome.CORRECTED
    assert pushed(world).result.outcome is Outcome.CLEAN


def test_row_that_source_and_spark_write_differently_is_unverified_never_clean(world: World) -> None:
    world.source.mistold = {2}

    found = pushed(world)

    assert found.result.outcome is Outcome.UNVERIFIED
    (item,) = found.result.unverified
    assert (item.what, item.name) == ("segment", "t")
    assert "1 segments differ by the source's own digest while their rows are equal" in item.why
    assert "sweep.mode: stream" in item.fix


def test_row_that_is_equal_when_it_is_read_and_digested_again_is_clean(world: World) -> None:
    world.source.table[2]["v"] = 7
    world.journal.before("source.read_rows", lambda: world.source.put(2, 2, world.source.table[2]["at"]))

    assert pushed(world).result.outcome is Outcome.CLEAN
    assert world.journal.calls.count("source.digest_inside") == 2


def test_row_that_changes_again_behind_the_second_look_is_left_to_the_next_sweep(world: World) -> None:
    world.source.table[2]["v"] = 7
    world.journal.before("source.read_rows", lambda: world.source.table[2].update(v=2))
    world.journal.before(
        "source.digest_inside",
        lambda: world.journal.before("source.digest_inside", lambda: world.source.put(2, 9, 900)),
    )

    assert pushed(world).result.unverified == ()


def test_key_without_integer_is_cut_by_a_hash_that_the_source_knows(world: World) -> None:
    world.source.table.clear()
    world.source.has_extent = False
    world.source.put("a", 1, 1)

    found = pushed(world)

    assert found.draft is not None
    cut = parse(found.draft.segmentation)
    assert isinstance(cut, HashSegments)
    assert cut.by == "md5"


@pytest.mark.parametrize("mode", ["auto", "stream"])
def test_source_that_cannot_digest_is_streamed(world: World, mode: Any) -> None:
    world.source.no_digests = "this engine has no md5"

    found = swept(world, mode=mode)

    assert found.result.outcome is Outcome.CLEAN
    assert found.result.provenance["digests"].startswith("in Spark")
    assert ("no md5" in found.result.provenance["digests"]) == (mode == "auto")


def test_pushdown_that_cannot_be_is_refused_by_name(world: World) -> None:
    world.source.no_digests = "this engine has no md5"

    with pytest.raises(UsageError, match="pushdown is not possible: this engine has no md5"):
        pushed(world)


def test_auto_measures_a_large_table_and_takes_the_cheaper_way(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hudi_reconcile.stages.sweep.mode.SMALL_ROWS", 1)
    world.source.measured = Probe(row_bytes=1e9, link_byte_seconds=1e-6, digest_row_seconds=1e-6)

    assert swept(world, mode="auto").result.provenance["digests"].startswith("inside the source (auto: 3 rows")
    world.source.measured = Probe(row_bytes=100, link_byte_seconds=0, digest_row_seconds=1e3)
    assert swept(world, mode="auto").result.provenance["digests"].startswith("in Spark (auto: 3 rows")


def test_auto_does_not_measure_a_small_table(world: World) -> None:
    swept(world, mode="auto")

    assert "source.probe" not in world.journal.calls
