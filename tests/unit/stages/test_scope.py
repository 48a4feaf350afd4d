from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from hudi_reconcile.core.errors import UsageError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result_parts import Precision
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.schema_drift import KnownColumns
from hudi_reconcile.core.tables.values import LakeColumn, LakeTable
from hudi_reconcile.stages.comparison import mark_altered, match_columns
from hudi_reconcile.stages.pull.schema import CannotFollowError
from tests.fakes.lake import FakeLake
from tests.fakes.rows import COLUMNS
from tests.fakes.world import World, applied, job, pulled, swept

ROWS = ((1, 10, 100), (2, 20, 200), (3, 30, 300))
FINER = Column("v", Kind.DECIMAL, "numeric(12,1)", precision=12, scale=1)


def with_lake_type(monkeypatch: pytest.MonkeyPatch, name: str, kind: str, fraction_digits: int | None = None) -> None:
    """The fake lake says that a column has another type; its values stay."""
    look = FakeLake.look

    def other(lake: FakeLake) -> LakeTable | None:
        found = look(lake)
        assert found is not None
        changed = LakeColumn(name, kind, fraction_digits)
        columns = tuple(changed if c.name == name else c for c in found.columns)
        return LakeTable(
            found.path, found.name, found.type, found.version, columns, found.record_key, found.partition_fields,
            found.ordering_fields, found.ordering,
        )  # fmt: skip

    monkeypatch.setattr(FakeLake, "look", other)


@pytest.fixture
def finer(monkeypatch: pytest.MonkeyPatch) -> World:
    """The source has one digit after the point, the lake has none."""
    world = pulled(*ROWS)
    world.source.columns = (COLUMNS[0], FINER, COLUMNS[2])
    with_lake_type(monkeypatch, "v", "decimal(12,0)")
    return world


def test_column_on_fewer_digits_is_listed_and_the_verdict_stands_where_nothing_is_hidden(finer: World) -> None:
    done = swept(finer)
    result = done.result

    assert done.rows_fetched == 2 * 3  # compared once, counted once
    assert result.precision == (Precision("v", "numeric(12,1)", "decimal(12,0)", "0 digits after the point", 0),)
    assert (result.outcome, result.unverified) == (Outcome.CLEAN, ())
    assert [(one.what, one.compared) for one in result.schema] == [("retyped", True)]


def test_hidden_digits_make_the_table_unverified_with_their_number_and_both_fixes(finer: World) -> None:
    finer.source.put(1, 11, 100)  # to the fake, the last digit of v is the one after the point

    result = swept(finer).result

    assert (result.outcome, result.precision[0].rows_hidden) == (Outcome.UNVERIFIED, 1)
    (item,) = result.unverified
    assert (item.what, item.name) == ("column", "v")
    assert "1 row has more at the source" in item.why
    assert "widen the lake's column" in item.fix
    assert "tolerance: {v: 1}" in item.fix


def test_source_is_not_read_for_precision_where_nothing_is_cut() -> None:
    world = pulled(*ROWS)

    result = swept(world).result

    assert result.precision == ()
    assert "comparer.count_hidden_rows" not in world.journal.calls


def test_tolerance_takes_the_place_of_the_cut(finer: World) -> None:
    result = swept(finer, tolerance={"v": Decimal(1)}).result

    assert result.precision == ()
    assert any("compare.tolerance" in note and "v up to 1" in note for note in result.notes)


def test_apply_says_what_it_did_not_compare_as_the_sweep_does(monkeypatch: pytest.MonkeyPatch) -> None:
    world = pulled(*ROWS)
    with_lake_type(monkeypatch, "at", "timestamp_ntz", fraction_digits=3)
    world.source.put(1, 11, 105)  # to the fake, the last digit is the one that the lake does not hold
    world.source.delete(2)

    result = applied(world, swept(world).draft)

    assert (result.outcome, [item.name for item in result.unverified]) == (Outcome.UNVERIFIED, ["at"])
    assert (result.corrections.applied, result.precision[0].rows_hidden) == (2, 1)


def test_correction_is_refused_where_the_lake_cannot_hold_the_digits_that_it_would_write(finer: World) -> None:
    finer.source.put(1, 11, 100)
    draft = swept(finer).draft
    calls = len(finer.lake.commits)

    with pytest.raises(
        CannotFollowError, match=r"v: the source's numeric\(12,1\) does not fit the lake's decimal\(12,0\)"
    ):
        applied(finer, draft)
    assert len(finer.lake.commits) == calls


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gone", "which the source does not have"),
        ("id", "a key column"),
        ("at", "a watermark column"),
        ("note", "holds no number"),
    ],
)
def test_tolerance_is_for_numbers_that_are_neither_key_nor_watermark(name: str, why: str) -> None:
    world = pulled(*ROWS)
    world.source.columns = (*COLUMNS, Column("note", Kind.TEXT, "text"))

    with pytest.raises(UsageError, match=why) as caught:
        swept(world, tolerance={name: Decimal(1)})
    assert caught.value.fix == "numeric columns are: v"


def test_settings_in_force_are_named() -> None:
    world = pulled(*ROWS)

    notes = swept(world, exclude=frozenset({"v"}), rename={"a": "b"}).result.notes

    assert notes[:2] == (
        "left out on purpose (compare.exclude): v",
        "compared under another name (compare.rename): a is b in the lake",
    )


def test_key_that_is_excluded_is_compared_all_the_same_and_named() -> None:
    notes = swept(pulled(*ROWS), exclude=frozenset({"id"})).result.notes

    assert notes[0] == "compare.exclude names id, of the key: keys are always compared"


def test_whole_rows_keep_the_excluded_columns_that_a_comparison_does_not_read() -> None:
    world = pulled(*ROWS)
    settings: dict[str, Any] = {"exclude": frozenset({"v"})}
    lake = world.lake.look()
    assert lake is not None

    read = match_columns(job(**settings), world.source.describe(), lake)
    written = match_columns(job(**settings), world.source.describe(), lake, whole=True)

    assert [column.name for column in read.table.columns] == ["id", "at"]
    assert [column.name for column in written.table.columns] == ["id", "v", "at"]
    assert (read.schema, written.schema) == ((), ())


def test_values_that_the_read_alters_are_unverified_in_typed_columns_and_fine_in_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = pulled(*ROWS)
    world.source.altered = ("at",)
    assert [item.name for item in swept(world).result.unverified] == ["at"]

    with_lake_type(monkeypatch, "at", "string")
    lake = world.lake.look()
    assert lake is not None
    scope = mark_altered(job(watermark=()), match_columns(job(watermark=()), world.source.describe(), lake), ("at",))

    assert (scope.unverified, scope.schema) == ((), ())


def test_result_records_both_sides_types_for_the_runs_to_come() -> None:
    result = swept(pulled(*ROWS)).result

    assert result.columns["source"] == {"id": "bigint", "v": "bigint", "at": "timestamp"}
    assert result.columns["lake"]["v"] == "bigint"


def test_type_that_changed_since_the_last_pull_is_listed_and_changes_no_verdict() -> None:
    known = KnownColumns(source={"id": "bigint", "v": "integer", "at": "timestamp"})

    result = swept(pulled(*ROWS), known=known).result

    assert [(one.what, one.side, one.column, one.compared) for one in result.schema] == [
        ("widened", "source", "v", True)
    ]
    assert result.outcome is Outcome.CLEAN
