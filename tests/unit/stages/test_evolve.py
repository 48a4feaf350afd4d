"""Columns that change at the source between pulls, followed through pull, sweep and apply in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from hudi_reconcile.core.errors import RefusedError, SourceError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import TableResult
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.values import LakeColumn
from hudi_reconcile.stages.job import LandedError
from hudi_reconcile.stages.pull.dry_run import dry_run
from hudi_reconcile.stages.pull.pull import pull
from tests.fakes.rows import COLUMNS
from tests.fakes.world import World, applied, at_checkpoint, job, pulled, swept

ROWS = ((1, 10, 100), (2, 20, 200), (3, 30, 300))
QTY = Column("qty", Kind.INTEGER, "integer", bits=32)
MEMO = Column("memo", Kind.TEXT, "text")
WIDE = tuple(replace(one, kind=Kind.DECIMAL, declared="numeric(12,2)", precision=12, scale=2) if one.name == "v" else one
             for one in COLUMNS)  # fmt: skip


def later(world: World, **settings: object) -> TableResult:
    """A pull when more time has gone by."""
    world.clock.now_micros += 10_000
    return pull(job(**settings), world.edges, full=False)


def test_new_column_is_added_with_null_for_old_rows_and_the_sweep_finds_those_that_the_source_filled() -> None:
    world = pulled(*ROWS)
    world.source.columns = (*COLUMNS, QTY)
    for row in world.source.table.values():
        row["qty"] = 5  # ALTER TABLE … ADD COLUMN qty integer DEFAULT 5
    world.source.put(4, 40, 1_500, qty=7)

    result = later(world)

    assert [(one.what, one.column, one.lake_type) for one in result.schema] == [("added", "qty", "int")]
    assert any("qty (integer) is new" in note for note in result.notes)
    assert {row["id"]: row["qty"] for row in world.lake.now} == {1: None, 2: None, 3: None, 4: 7}
    found = swept(world)
    assert (found.result.outcome, found.result.unverified) == (Outcome.DRIFT, ())
    assert found.result.findings["updated_without_watermark"] == 3
    assert applied(world, found.draft).outcome is Outcome.CORRECTED
    assert {row["qty"] for row in world.lake.now} == {5, 7}
    assert swept(world).result.outcome is Outcome.CLEAN


def test_new_column_without_a_row_to_pull_is_added_all_the_same_and_once() -> None:
    world = pulled(*ROWS)
    world.source.columns = (QTY, *COLUMNS)

    assert (later(world).schema[0].column, later(world).schema) == ("qty", ())
    assert swept(world).result.outcome is Outcome.CLEAN
    assert [call for call in world.journal.calls if call == "lake.upsert"] == ["lake.upsert"]


def test_dropped_column_keeps_its_values_is_null_in_new_rows_and_leaves_the_sweep_clean_with_its_name() -> None:
    world = World.new()
    world.source.columns = (*COLUMNS, MEMO)
    world.lake.more_columns = (LakeColumn("memo", "string"),)
    for key, value, at in ROWS:
        world.source.put(key, value, at, memo=f"m{key}")
    pull(job(), world.edges, full=False)
    world.source.columns = COLUMNS
    world.source.put(2, 21, 1_500)

    before = swept(world).result
    assert (before.outcome, [one.name for one in before.unverified]) == (Outcome.UNVERIFIED, ["memo"])
    result = later(world)

    assert [(one.what, one.column) for one in result.schema] == [("dropped", "memo")]
    assert {row["id"]: row["memo"] for row in world.lake.now} == {1: "m1", 2: None, 3: "m3"}
    after = swept(world).result
    assert (after.outcome, after.unverified) == (Outcome.CLEAN, ())
    assert [(one.what, one.column, one.compared) for one in after.schema] == [("dropped", "memo", False)]
    assert "gone at the source, kept in the lake and compared with nothing: memo" in after.notes
    world.source.put(1, 99, 100)
    corrected = applied(world, swept(world).draft)
    assert (corrected.outcome, later(world).schema) == (Outcome.CORRECTED, ())
    assert {row["id"]: row["memo"] for row in world.lake.now} == {1: None, 2: None, 3: "m3"}


def test_correction_waits_for_a_pull_where_the_source_dropped_a_column_and_leaves_a_new_one_to_it() -> None:
    world = World.new()
    world.source.columns = (*COLUMNS, MEMO)
    world.lake.more_columns = (LakeColumn("memo", "string"),)
    for key, value, at in ROWS:
        world.source.put(key, value, at, memo="m")
    pull(job(), world.edges, full=False)
    world.source.put(1, 99, 100, memo="m")
    world.source.columns = (*COLUMNS, MEMO, QTY)

    result = applied(world, swept(world).draft)

    assert (result.corrections.applied, [one.name for one in result.unverified]) == (1, ["qty"])
    assert "qty" not in world.lake.now[0]
    world.source.put(1, 98, 100, memo="m")
    world.source.columns = COLUMNS
    with pytest.raises(
        RefusedError, match="memo went at the source since the last pull; nothing was written"
    ) as caught:
        applied(world, swept(world).draft)
    assert caught.value.fix.endswith("hudi-reconcile pull -t t")


def test_type_is_widened_by_pull_and_by_correction_alike() -> None:
    for by_pull in (True, False):
        world = pulled(*ROWS)
        world.lake.v_type = "decimal(10,2)"
        world.source.columns = WIDE
        world.source.put(1, 99, 100)
        if by_pull:
            assert [(one.what, one.lake_type) for one in later(world).schema] == [("widened", "decimal(12,2)")]
        result = applied(world, swept(world).draft)

        assert (result.outcome, world.lake.v_type) == (Outcome.CORRECTED, "decimal(12,2)")
        assert any("type is now decimal(12,2)" in note for note in result.notes) is not by_pull
        assert swept(world).result.outcome is Outcome.CLEAN


def test_what_cannot_follow_is_refused_before_a_row_is_read_in_a_dry_run_too() -> None:
    world = pulled(*ROWS)
    world.source.columns = (COLUMNS[0], replace(COLUMNS[1], kind=Kind.DATE, declared="date"), COLUMNS[2], QTY)

    for call in (lambda: later(world), lambda: dry_run(job(), world.edges, full=False)):
        with pytest.raises(RefusedError, match="v: the source's date does not fit the lake's bigint"):
            call()
    assert not {"source.stage_rows", "lake.upsert"} & set(world.journal.calls)


def test_dry_run_tells_what_would_become_of_the_columns_and_changes_nothing() -> None:
    world = pulled(*ROWS)
    world.source.columns = (*COLUMNS, QTY)

    plan = dry_run(job(), world.edges, full=False)

    assert [(one.what, one.column) for one in plan.schema] == [("added", "qty")]
    assert any("qty (integer) is new" in note for note in plan.notes)
    assert world.lake.more_columns == ()


def test_only_the_first_page_changes_the_columns_and_each_page_has_them() -> None:
    world = pulled(*ROWS)
    world.source.columns = (*COLUMNS, QTY)
    for key in range(4, 10):
        world.source.put(key, key, 1_000 + key, qty=key)

    result = later(world, limit_rows=2)

    assert result.pull is not None
    assert (result.pull.pages, len(result.schema)) == (3, 1)
    assert {row["id"]: row["qty"] for row in world.lake.now} == {
        **dict.fromkeys((1, 2, 3)),
        **{k: k for k in range(4, 10)},
    }


@pytest.mark.parametrize("columns", [WIDE, (*COLUMNS, QTY), COLUMNS[:1] + COLUMNS[2:]])
def test_column_that_changes_between_pages_ends_the_pull_before_a_row_is_cut_to_its_old_type(
    columns: tuple[Column, ...],
) -> None:
    world = pulled(*ROWS)
    for key in range(4, 10):
        world.source.put(key, key, 1_000 + key)

    def altered() -> None:
        world.source.columns = columns

    world.journal.before("lake.upsert", lambda: world.journal.before("source.stage_rows", altered))
    with pytest.raises(LandedError, match=r"columns (v|qty) of the source changed while its rows were read") as caught:
        later(world, limit_rows=2)

    assert isinstance(caught.value.error, SourceError)
    assert caught.value.error.fix.endswith("hudi-reconcile pull -t t")
    found = world.lake.find_checkpoint()
    assert found is not None
    assert (found.checkpoint.watermark_micros, set(world.lake_holds())) == (1_005, {1, 2, 3, 4, 5})


def test_column_that_changes_while_a_table_is_replaced_leaves_it_as_it_was() -> None:
    world = pulled(*ROWS)
    world.source.put(4, 40, 400)

    def altered() -> None:
        world.source.columns = WIDE

    world.journal.before("source.stage_rows", altered)
    with pytest.raises(SourceError, match="columns v of the source changed"):
        pull(job(full_mode="overwrite"), world.edges, full=True)

    assert set(world.lake_holds()) == {1, 2, 3}


def test_new_column_with_values_that_no_lake_type_holds_comes_as_text_and_an_old_one_is_refused() -> None:
    world = pulled(*ROWS)
    world.source.columns = (*COLUMNS, Column("seen", Kind.TIMESTAMP, "timestamp", precision=6))
    world.source.altered = ("seen",)

    assert later(world).schema[0].lake_type == "string"
    world.source.altered = ("v",)
    with pytest.raises(RefusedError, match="v hold values that the lake's column cannot hold"):
        later(world)


def test_checkpoint_of_an_earlier_version_has_no_record_and_the_next_pull_makes_one() -> None:
    world = pulled(*ROWS)
    at_checkpoint(world, columns=(), dropped=())
    world.lake.more_columns = (LakeColumn("memo", "string"),)
    world.source.put(4, 40, 1_500)

    assert [one.column for one in later(world).schema] == ["memo"]
    found = world.lake.find_checkpoint()
    assert found is not None
    assert (found.checkpoint.columns, found.checkpoint.dropped) == (("at", "id", "v"), ("memo",))


def with_qty(world: World) -> None:
    """The source gets a column, and a pull takes it over, while somebody else is at work."""
    world.source.columns = (*COLUMNS, QTY)
    for row in world.source.table.values():
        row["qty"] = 5
    later(world)


@pytest.mark.parametrize("point", ["lake.pin", "source.read_rows", "clock.sleep"])
@pytest.mark.parametrize("alter", [with_qty, lambda world: setattr(world.source, "columns", (*COLUMNS, QTY))])
def test_column_that_comes_in_during_a_sweep_leaves_it_unverified_and_without_a_plan(
    point: str, alter: Callable[[World], None]
) -> None:
    world = pulled(*ROWS)
    if point == "clock.sleep":  # between the looks: there are two only where something differs
        world.source.put(1, 99, 100)
    world.journal.before(point, lambda: alter(world))

    found = swept(world)

    assert (found.result.outcome, found.result.whole, found.draft, found.coverage) == (
        Outcome.UNVERIFIED, False, None, None,
    )  # fmt: skip
    assert any("columns changed during the sweep" in one.why for one in found.result.unverified)


def test_pull_that_changes_no_column_during_a_sweep_disturbs_it_in_nothing() -> None:
    world = pulled(*ROWS)
    world.source.put(4, 40, 400)

    def pull_it() -> None:
        later(world)

    world.journal.before("lake.pin", pull_it)

    found = swept(world)

    assert (found.result.outcome, found.result.whole) == (Outcome.CLEAN, True)


def test_column_that_is_at_the_source_again_is_told_once_with_what_its_rows_hold() -> None:
    world = World.new()
    world.source.columns = (*COLUMNS, MEMO)
    world.lake.more_columns = (LakeColumn("memo", "string"),)
    world.source.put(1, 10, 100, memo="m1")
    pull(job(), world.edges, full=False)
    world.source.columns = COLUMNS
    world.source.put(2, 20, 1_500)
    later(world)
    world.source.columns = (*COLUMNS, MEMO)
    world.source.table[2]["memo"] = "m2"
    world.source.put(3, 30, 15_000, memo="m3")

    notes = [[note for note in later(world).notes if "memo is at the source again" in note] for _ in range(2)]

    assert [len(found) for found in notes] == [1, 0]
    assert swept(world).result.findings["updated_without_watermark"] == 1
