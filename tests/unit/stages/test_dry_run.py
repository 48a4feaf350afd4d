from __future__ import annotations

from hudi_reconcile.stages.pull.dry_run import dry_run
from tests.fakes.world import World, job, pulled

READS_AND_WRITES = {"source.staged", "source.rows", "lake.create", "lake.upsert", "lake.lease"}


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
