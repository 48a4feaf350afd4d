from __future__ import annotations

from dataclasses import asdict

import pytest

from hudi_reconcile.core.sweep.segments import Probe
from hudi_reconcile.report.dry_run import sweep_plan_text
from hudi_reconcile.stages.job import PartialSweep
from hudi_reconcile.stages.pull.dry_run import dry_run
from hudi_reconcile.stages.sweep.dry_run import dry_run as sweep_dry_run
from tests.fakes.world import World, job, pulled

READS_AND_WRITES = {"source.stage_rows", "source.read_rows", "lake.create", "lake.upsert", "lake.lease"}


def test_dry_run_tells_window_and_parts_and_touches_nothing() -> None:
    world: World = pulled((1, 10, 100))
    world.source.put(2, 20, 800)

    plan = dry_run(job(), world.edges, full=False)

    assert (plan.mode, plan.create) == ("incremental", None)
    assert plan.read is not None
    assert plan.read.rows == 1
    assert not READS_AND_WRITES & set(world.journal.calls)


def test_dry_run_of_a_first_pull_tells_what_would_be_created() -> None:
    plan = dry_run(job(), World.new().edges, full=False)

    assert plan.mode == "full"
    assert plan.create is not None
    assert plan.create.record_key == ("id",)


def test_dry_run_of_a_pull_in_pages_says_so() -> None:
    plan = dry_run(job(limit_rows=250), World.new().edges, full=False)

    assert [note for note in plan.notes if "pages of 250 rows" in note]


def test_dry_run_of_a_sweep_counts_segments_and_cost_and_compares_nothing() -> None:
    world: World = pulled((1, 10, 100), (2, 20, 200))
    world.source.delete(2)
    world.source.measured = Probe(row_bytes=100, link_byte_seconds=1e-8, digest_row_seconds=1e-6)
    calls = len(world.journal.calls)

    plan = sweep_dry_run(job(segments=4, mode="stream"), world.edges, PartialSweep())

    assert (plan.mode, plan.segments.by, plan.not_compared) == ("stream", "ranges of id", ())
    assert plan.estimate is not None
    assert plan.estimate.link_bytes == 100 * plan.source_rows
    assert (plan.estimate.source_seconds, plan.estimate.budget_segments) == (None, None)
    assert not (READS_AND_WRITES | {"lake.read_rows", "lake.pin"}) & set(world.journal.calls[calls:])


def test_dry_run_of_a_sweep_inside_the_source_sends_no_row_and_says_whose_seconds_it_takes() -> None:
    world: World = pulled((1, 10, 100), (2, 20, 200))
    world.source.measured = Probe(row_bytes=100, link_byte_seconds=0, digest_row_seconds=0.5)

    plan = sweep_dry_run(job(segments=4, mode="pushdown"), world.edges, PartialSweep())

    assert plan.estimate is not None
    assert (plan.estimate.link_bytes, plan.estimate.source_seconds) == (0, 0.5 * plan.source_rows)


@pytest.mark.parametrize(("seconds", "segments"), [(0.0, 1), (1e6, None)])
def test_dry_run_of_a_budget_says_how_many_segments_it_suffices_for(seconds: float, segments: int | None) -> None:
    plan = sweep_dry_run(
        job(segments=4), pulled(*((key, 1, key) for key in range(1, 13))).edges, PartialSweep((), seconds, "x")
    )

    assert plan.estimate is not None
    assert plan.estimate.budget_segments == (segments or plan.segments.count)


def test_dry_run_where_the_source_digests_nothing_has_no_figures_and_says_why() -> None:
    world: World = pulled((1, 10, 100))
    world.source.no_digests = "H2 cannot digest its own rows here"

    plan = sweep_dry_run(job(segments=4), world.edges, PartialSweep())

    assert plan.estimate is None
    assert "no estimate: H2 cannot digest its own rows here" in plan.notes[0]


def test_text_of_a_sweep_that_did_not_happen_names_what_is_left_out_and_is_no_verdict() -> None:
    left_out = {"what": "column", "name": "x", "why": "unknown type"}
    plan = asdict(sweep_dry_run(job(segments=4), pulled((1, 10, 100)).edges, PartialSweep()))

    text = sweep_plan_text([{**plan, "name": "t", "error": None, "not_compared": [left_out]}])

    assert "this is no verdict" in text
    assert "  left out    column x: unknown type" in text
