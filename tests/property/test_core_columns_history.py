"""Columns that come, go, come back and get wider between pulls, sweeps and corrections: clean means equal in every one."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.stages.pull.pull import pull
from tests.fakes.world import World, applied, job, pulled, swept

QTY, MEMO = Column("qty", Kind.INTEGER, "integer", bits=32), Column("memo", Kind.TEXT, "text")
WIDE = Column("qty", Kind.INTEGER, "bigint", bits=64)
KEYS, NAMES = st.integers(1, 3), st.sampled_from(["qty", "memo"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.integers(0, 3)),
        st.tuples(st.just("change silently"), KEYS, st.integers(0, 3)),
        st.tuples(st.just("delete"), KEYS, st.none()),
        st.tuples(st.just("add"), NAMES, st.sampled_from([None, 5])),
        st.tuples(st.just("drop"), NAMES, st.none()),
        st.tuples(st.just("widen"), st.none(), st.none()),
        st.tuples(st.just("pull"), st.sampled_from([None, 1]), st.booleans()),
        st.tuples(st.just("sweep"), st.booleans(), st.none()),
    ),
    max_size=12,
)


@given(STEPS)
def test_clean_sweep_means_that_all_but_pending_rows_are_equal_in_every_column_of_the_source(
    steps: list[tuple[str, Any, Any]],
) -> None:
    world = pulled((1, 1, 100), (2, 2, 200))

    for what, which, value in [*steps, ("pull", None, False), ("sweep", True, None), ("sweep", False, None)]:
        world.clock.now_micros += 1_000
        if what == "sweep":
            sweep(world, and_apply=which)
        elif what == "pull":
            begin = {row["id"]: row for row in world.lake.now}
            try:
                pull(job(limit_rows=which), world.edges, full=value)
            except RefusedError:
                assert {row["id"]: row for row in world.lake.now} == begin
        else:
            change(world, what, which, value)

    assert swept(world).result.outcome is Outcome.CLEAN


def change(world: World, what: str, which: Any, value: Any) -> None:
    """Something that happens at the source; its last row is never deleted."""
    source = world.source
    more = {column.name: made(column.name, value) for column in source.columns if column.name in ("qty", "memo")}
    if what == "put":
        source.put(which, value, world.clock.now_micros - 500, **more)
    elif what == "change silently" and which in source.table:
        source.put(which, value, source.table[which]["at"], **more)
    elif what == "delete" and len(source.table) > 1:
        source.delete(which)
    elif what in ("add", "drop", "widen"):
        alter(world, what, which, value)


def alter(world: World, what: str, name: str, value: int | None) -> None:
    source = world.source
    there = any(column.name == name for column in source.columns)
    if what == "widen":
        source.columns = tuple(WIDE if column.name == "qty" else column for column in source.columns)
    elif there == (what == "drop"):
        kept = tuple(column for column in source.columns if column.name != name)
        source.columns = kept if there else (*kept, QTY if name == "qty" else MEMO)
        for row in source.table.values():
            row.pop(name, None)
            row.update({} if there else {name: made(name, value)})


def made(name: str, value: int | None) -> Any:
    return value if value is None or name == "qty" else f"m{value}"


def sweep(world: World, *, and_apply: bool) -> None:
    found = swept(world)
    if found.result.outcome is Outcome.CLEAN:
        names = [column.name for column in world.source.columns]
        ours = {key: [row.get(name) for name in names] for key, row in world.source.table.items()}
        theirs = {row["id"]: [row.get(name) for name in names] for row in world.lake.now}
        unequal = [key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)]
        assert (len(unequal), found.result.whole) == (found.result.not_drift["pending"], True)
    if and_apply and found.draft is not None:
        try:
            applied(world, found.draft)
        except RefusedError as refused:
            assert "went at the source since the last pull" in refused.message  # noqa: PT017 - nothing else may refuse
