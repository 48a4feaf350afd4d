"""What every lake keeps to, on tables of `id, v, at`. Run on the fake and on real Hudi tables, whose commits cost seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import pytest

from hudi_reconcile.core.errors import LakeError, RefusedError, SupersededError
from hudi_reconcile.core.tables.kinds import Column, Kind
from hudi_reconcile.core.tables.partitions import DEFAULT, PartitionRows, PartitionScope, PathField, PathRule
from hudi_reconcile.core.tables.values import (
    IN_SCOPE,
    READ_SEQ,
    Checkpoint,
    Instant,
    LakeColumn,
    LakePin,
    LakeTable,
    PartitionField,
)
from hudi_reconcile.ports import BatchShape, Corrective, Frame, Lake, NewTable

Image = tuple[int, int | None, int]  # id, v, and the number of the read that brought it
NO_VERSION: tuple[str | None, ...] = (None,)  # of a key that was absent
TABLE = NewTable("t", "copy_on_write", ("id",), ())
COLUMNS = (
    Column("id", Kind.INTEGER, "bigint", nullable=False, bits=64),
    Column("v", Kind.INTEGER, "bigint", bits=64),
    Column("at", Kind.TIMESTAMP, "timestamp", precision=6),
)


class LakeGround(Protocol):
    """A lake without a table, and what a test makes of rows."""

    @property
    def port(self) -> Lake: ...

    def images(self, *rows: Image) -> Frame:
        """Full lake images."""
        ...

    def source_rows(self, *rows: tuple[int, int | None]) -> Frame:
        """Rows `c0, c1, c2` of `COLUMNS`."""
        ...

    def expected(self, versions: Mapping[int, list[str]]) -> Frame:
        """The versions of keys as `Corrective` wants them; no version where the key was absent."""
        ...

    def keep(self, rows: Frame, *keys: int) -> Frame:
        """Of these rows those of some keys."""
        ...

    def read(self, rows: Frame, *columns: str) -> list[tuple[object, ...]]:
        """Ordered by their text."""
        ...

    def names(self, rows: Frame) -> set[str]:
        """The columns that the rows have."""
        ...

    def double(self, key: int, value: int) -> None:
        """Another writer adds a copy of a key."""
        ...

    def begin(self) -> str:
        """Another writer begins a commit, keeps no heartbeat and does not end it; its instant as it was requested."""
        ...


def checkpoint(read_seq: int) -> Checkpoint:
    return Checkpoint("timestamp", ("at",), read_seq * 10, None, read_seq, "server:1/table:2")


def pinned(ground: LakeGround) -> LakePin:
    pin = ground.port.pin()
    assert pin is not None
    return pin


def table_of(ground: LakeGround) -> LakeTable:
    table = ground.port.look()
    assert table is not None
    return table


def shown(ground: LakeGround, pin: LakePin | None = None) -> list[tuple[object, ...]]:
    """(id, v) at a pin, or now."""
    return ground.read(ground.port.read_rows(pin or pinned(ground)), "id", "v")


def versions(ground: LakeGround) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for key, seqno in ground.read(ground.port.read_rows(pinned(ground)), "id", "_hoodie_commit_seqno"):
        assert isinstance(key, int)
        found.setdefault(key, []).append(str(seqno))
    return found


def create(ground: LakeGround, *rows: Image, table: NewTable = TABLE) -> Instant:
    return ground.port.create(ground.images(*rows), table, checkpoint(1), {"run": "first"})


def upsert(ground: LakeGround, read_seq: int, *rows: tuple[int, int | None]) -> Instant:
    images = ground.images(*((key, value, read_seq) for key, value in rows))
    return ground.port.upsert(images, table_of(ground), checkpoint(read_seq), {"run": f"of {read_seq}"})


def batch(
    ground: LakeGround, seen: Mapping[int, list[str]], *upserts: Image, deletes: tuple[int, ...] = ()
) -> Corrective:
    """A correction of keys that were seen in these versions."""
    keys = (*(key for key, _, _ in upserts), *deletes)
    now = ground.port.read_rows(pinned(ground))
    expected = ground.expected({key: seen.get(key, []) for key in keys})
    return Corrective(ground.images(*upserts), ground.keep(now, *deletes), expected)


class LakeContract:
    def test_lake_without_a_table_shows_nothing_and_lets_one_owner_in_at_a_time(self, ground: LakeGround) -> None:
        port = ground.port

        assert (port.look(), port.pin(), port.find_checkpoint(), port.find_labels("run")) == (None, None, None, ())
        with port.lease("one"):
            with pytest.raises(RefusedError, match="one"), port.lease("two"):
                pytest.fail("two owners")
            with pytest.raises(RefusedError, match="one"), port.lease("three"):
                pytest.fail("the owner that was refused ended the lease of the first")
        with pytest.raises(ZeroDivisionError), port.lease("two"):
            _ = 1 / 0
        with port.lease("three"):
            pass

    def test_pins_stay_and_checkpoints_and_labels_are_found_again_while_newer_rows_are_merged(
        self, ground: LakeGround
    ) -> None:
        port = ground.port
        first = create(ground, (1, 10, 1), (2, None, 1), (3, 30, 1))
        pin, was = pinned(ground), versions(ground)
        files = port.count_files()
        mixed = ground.images((2, 20, 5), (4, 40, 5), (3, -3, 0))
        second = port.upsert(mixed, table_of(ground), checkpoint(5), {"run": "second"})

        assert (pin.instant, pin.in_flight, pinned(ground).instant) == (first, (), second)
        assert shown(ground, pin) == [(1, 10), (2, None), (3, 30)]
        assert shown(ground) == [(1, 10), (2, 20), (3, 30), (4, 40)], "of two images the newest by ordering is kept"
        assert (port.count_rows(pin), port.count_rows(pinned(ground))) == (3, 4)
        assert port.is_intact(pin)
        now = versions(ground)
        assert {key for key in was if was[key] != now[key]} == {2}, (
            "a version moves where the row was written, only there"
        )
        assert (files.is_all, port.count_files().is_all) == (True, False)

        third = port.mark(table_of(ground), checkpoint(6), {"run": "mark"})
        port.hand_back(table_of(ground), "deltastreamer.checkpoint.key", "orders,0:7")

        assert versions(ground) == now, "neither writes a row"
        found = port.find_checkpoint()
        assert found is not None
        assert (found.checkpoint, found.instant) == (checkpoint(6), third)
        assert port.find_labels("run") == (("mark", third), ("second", second), ("first", first))
        assert port.find_labels("plan") == ()
        origin = port.read_origin()
        assert (origin.streamer_checkpoint, origin.instant) == ("orders,0:7", pinned(ground).instant)
        assert port.read_origin(third).streamer_checkpoint is None, "not of what completed later"
        assert shown(ground, pin) == [(1, 10), (2, None), (3, 30)]

    def test_correction_is_refused_where_a_planned_key_changed_and_else_one_commit_that_can_be_taken_back(
        self, ground: LakeGround
    ) -> None:
        port = ground.port
        create(ground, (1, 10, 1), (2, 20, 1), (3, 30, 1))
        seen = versions(ground)
        second = upsert(ground, 2, (3, 33), (4, 40))
        before, pin = shown(ground), pinned(ground)
        superseded = {
            "a row that was written since": batch(ground, seen, (1, 11, 3), (3, 31, 3)),
            "a row that came since": batch(ground, seen, (4, 41, 3), deletes=(2,)),
        }
        for name, correction in superseded.items():
            with pytest.raises(SupersededError):
                port.correct(correction, table_of(ground), checkpoint(3), {"plan": name})
            assert (shown(ground), pinned(ground)) == (before, pin), name
        apart = versions(ground)

        instant = port.correct(
            batch(ground, seen, (1, 11, 3), (5, 50, 3), deletes=(2,)), table_of(ground), checkpoint(3), {"plan": "p"}
        )

        assert shown(ground) == [(1, 11), (3, 33), (4, 40), (5, 50)]
        assert (pinned(ground).instant, port.find_labels("plan")) == (instant, (("p", instant),))
        assert (versions(ground)[3], versions(ground)[4]) == (apart[3], apart[4])
        was, at = port.pin_around(instant)
        assert was.instant.requested == second.requested
        assert (shown(ground, was), shown(ground, at)) == (before, shown(ground))

        upsert(ground, 4, (5, 55))
        taken = port.prepare_undo(instant, table_of(ground), 5)
        assert taken.counts == {("upsert", "ready"): 2, ("delete", "superseded"): 1}
        assert port.count_shown(taken.batch.upserts, table_of(ground)) == 0
        port.correct(taken.batch, table_of(ground), checkpoint(5), {})
        assert shown(ground) == [(1, 10), (2, 20), (3, 33), (4, 40), (5, 55)]
        assert port.count_shown(taken.batch.upserts, table_of(ground)) == 2

    def test_copies_of_a_key_are_replaced_by_one_row_unless_there_is_another_copy_than_was_seen(
        self, ground: LakeGround
    ) -> None:
        port = ground.port
        create(ground, (1, 10, 1), (2, 20, 1), (3, 30, 1))
        single = versions(ground)
        ground.double(1, 12)
        seen = versions(ground)
        assert len(seen[1]) == 2
        upsert(ground, 2, (3, 33))  # another key: its row stays, and nothing is refused
        with pytest.raises(SupersededError):
            port.replace(batch(ground, single, (1, 11, 3)), table_of(ground), checkpoint(3), {})
        assert shown(ground) == [(1, 10), (1, 12), (2, 20), (3, 33)]

        instant = port.replace(batch(ground, seen, (1, 11, 3)), table_of(ground), checkpoint(3), {"plan": "p"})

        assert shown(ground) == [(1, 11), (2, 20), (3, 33)]
        assert port.find_labels("plan") == (("p", instant),)

    def test_overwrite_keeps_nothing_else_and_a_snapshot_has_one_savepoint_of_ours(self, ground: LakeGround) -> None:
        port = ground.port
        create(ground, (1, 10, 7), (2, 20, 7))
        one = port.savepoint("first")
        assert port.savepoint("again") == one == pinned(ground).instant.requested
        rows = ground.images((2, -2, 3), (9, 90, 3))

        told = port.compare_overwrite(rows, table_of(ground))
        instant = port.overwrite(rows, table_of(ground), checkpoint(8), {})

        assert (told.lake_rows, told.gone_rows) == (2, 1)
        assert (shown(ground), pinned(ground).instant) == ([(2, -2), (9, 90)], instant)
        assert port.savepoint("earlier", ("none such", one)) == one
        two = port.savepoint("newer", ("none such",))
        assert two == instant.requested
        assert (port.drop_savepoints(two), port.drop_savepoints(two)) == ((one,), ())
        assert port.savepoint("kept", (one, two)) == two
        with pytest.raises(LakeError):
            create(ground, (1, 1, 1))
        port.correct(batch(ground, versions(ground), (2, 22, 1), (9, 91, 9)), table_of(ground), checkpoint(9), {})
        assert shown(ground) == [(2, -2), (9, 91)], "a correction is merged by the ordering too"

    def test_batch_has_the_lakes_names_the_number_of_the_read_and_the_shape_that_was_asked_for(
        self, ground: LakeGround
    ) -> None:
        rows = ground.source_rows((1, 10), (2, None))
        shape = BatchShape(dropped=(LakeColumn("old", "string"),), left_out=frozenset({"v"}))

        whole = ground.port.build_batch(rows, COLUMNS, (), 7)
        shaped = ground.port.build_batch(rows, COLUMNS, (), 7, shape)

        assert ground.read(whole.rows, "id", "v", READ_SEQ) == [(1, 10, 7), (2, None, 7)]
        assert ground.read(shaped.rows, "id", "old", READ_SEQ) == [(1, None, 7), (2, None, 7)]
        assert ground.names(shaped.rows) == {"id", "old", "at", READ_SEQ}

    def test_partitions_are_listed_by_path_with_their_rows_and_rows_of_both_sides_are_marked_by_them(
        self, ground: LakeGround
    ) -> None:
        port = ground.port
        in_parts = replace(TABLE, partition_by=(PartitionField("v"),))
        create(ground, (1, 20, 1), (2, 10, 1), (3, 20, 1), (4, None, 1), table=in_parts)
        pin = pinned(ground)
        rule = PathRule((PathField("v", "bigint", COLUMNS[1], 1, "identity"),), hive_style=True, encoded=False)
        scope = PartitionScope(rule, ("v=20", f"v={DEFAULT}"), None)

        lake = port.mark_scope(port.read_rows(pin), "lake", scope)
        source = port.mark_scope(ground.source_rows((1, 20), (2, None), (3, 10), (4, 2)), "source", scope)

        assert port.list_partitions(pin, rule) == (
            PartitionRows("v=10", 1),
            PartitionRows("v=20", 2),
            PartitionRows(f"v={DEFAULT}", 1),
        )
        assert ground.read(lake, "id", IN_SCOPE) == [(1, True), (2, False), (3, True), (4, True)]
        assert ground.read(source, "c0", IN_SCOPE) == [(1, True), (2, True), (3, False), (4, False)]

    def test_writer_that_does_not_end_is_pinned_and_named_and_keeps_corrections_out_until_it_is_rolled_back(
        self, ground: LakeGround
    ) -> None:
        port = ground.port
        assert port.list_silent_writers() == ()
        create(ground, (1, 10, 1), (2, 20, 1))
        assert (port.list_silent_writers(), port.list_writers().without_heartbeat) == ((), ())
        seen = versions(ground)
        other = ground.begin()
        pin = pinned(ground)

        with pytest.raises(SupersededError):
            port.correct(batch(ground, seen, (1, 11, 3)), table_of(ground), checkpoint(3), {})

        assert (pin.in_flight, port.list_silent_writers()) == ((other,), (other,))
        assert port.list_writers().without_heartbeat == (other,)
        assert port.is_intact(pin)
        port.roll_back(other)
        assert (port.list_silent_writers(), pinned(ground).in_flight) == ((), ())
        assert port.is_intact(pin), "it did not complete"
        port.correct(batch(ground, seen, (1, 11, 3)), table_of(ground), checkpoint(3), {})
        assert shown(ground) == [(1, 11), (2, 20)]
