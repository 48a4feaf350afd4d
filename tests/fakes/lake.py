"""The lake in memory: one Hudi table as a list of commits."""
# ruff: noqa: ARG002 - the signatures are those of the port

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hudi_reconcile.core.errors import LakeError, RefusedError, SupersededError
from hudi_reconcile.core.lake.ownership import Writers
from hudi_reconcile.core.tables import kinds
from hudi_reconcile.core.tables.kinds import Column
from hudi_reconcile.core.tables.partitions import (
    DEFAULT,
    PartitionRows,
    PartitionScope,
    PathRule,
)
from hudi_reconcile.core.tables.values import (
    IN_SCOPE,
    READ_SEQ,
    Checkpoint,
    CheckpointAt,
    Foreign,
    Instant,
    LakeColumn,
    LakePin,
    LakeTable,
    PartitionField,
)
from hudi_reconcile.ports import (
    AS_SOURCE,
    Batch,
    BatchShape,
    Corrective,
    FilesRead,
    Frame,
    NewTable,
    Origin,
    Replaced,
    TakenBack,
)
from tests.fakes.rows import SEQNO, Journal, Row, rows_of


@dataclass(frozen=True, slots=True)
class Commit:
    """One completed commit: the whole table after it, what it carries, and which keys it wrote or removed."""

    instant: Instant
    rows: tuple[Row, ...]
    checkpoint: Checkpoint | None
    labels: Mapping[str, str]


def _version(row: Row | None) -> str | None:
    return None if row is None else str(row[SEQNO])


@dataclass(slots=True)
class FakeLake:
    """One Hudi table as a list of commits, each with the whole table.

    `checks_versions` False forgets compare-and-set, `checks_conflicts` False forgets writers in flight.
    """

    journal: Journal
    commits: list[Commit] = field(default_factory=list)
    key: tuple[str, ...] = ("id",)
    ordering: tuple[str, ...] = (READ_SEQ,)
    path: str = "/lake/t"
    key_type: str = "bigint"
    at_type: str = "timestamp_ntz"
    v_type: str = "bigint"
    more_columns: tuple[LakeColumn, ...] = ()
    held_by: str | None = None
    holders: list[str] = field(default_factory=list)  # who took the lease and has not ended, lost or not
    in_flight: set[str] = field(default_factory=set)
    rolled_back: set[str] = field(default_factory=set)
    checks_versions: bool = True
    checks_conflicts: bool = True
    dropped_writes: set[int] = field(default_factory=set)
    writes: int = 0
    cannot_replace: str = ""
    savepoints: list[str] = field(default_factory=list)
    made_by: Origin = field(default_factory=Origin)
    made_before: Origin = field(default_factory=Origin)  # as of instants before that of `made_by`
    partition_fields: tuple[str, ...] = ()
    misplaced: set[int] = field(default_factory=set)  # rows that lie where their columns do not tell
    cleaned: bool = False  # snapshots from before the newest commits are gone
    files: set[str] = field(default_factory=set)  # of the commits that were read: one file holds the whole table
    wrote: bool = False
    others: Writers = field(default_factory=Writers)
    foreign: Foreign = field(default_factory=lambda: Foreign("SimpleKeyGenerator"))
    spelled: bool = False

    @property
    def now(self) -> list[Row]:
        blank = {column.name: None for column in self.more_columns}
        return [{**blank, **row} for row in self.commits[-1].rows] if self.commits else []

    def plant(self, rows: list[Row], checkpoint: Checkpoint | None = None, **labels: str) -> Instant:
        """A commit of whoever: the whole table anew."""
        number = f"{len(self.commits) + 1:017d}"
        self.commits.append(Commit(Instant(number, number), tuple(dict(row) for row in rows), checkpoint, labels))
        return self.commits[-1].instant

    def stamped(self, row: Row) -> Row:
        self.writes += 1
        return {**row, SEQNO: f"s{self.writes:06d}"}

    def begin(self, requested: str) -> str:
        """A writer that keeps no heartbeat begins a commit."""
        self.in_flight.add(requested)
        self.others = replace(self.others, without_heartbeat=(*self.others.without_heartbeat, requested))
        return requested

    # --- ports.Lake ---

    def look(self) -> LakeTable | None:
        if not self.commits:
            return None
        columns = (
            LakeColumn("id", self.key_type), LakeColumn("v", self.v_type), LakeColumn("at", self.at_type), *self.more_columns,
        )  # fmt: skip
        if self.ordering != (READ_SEQ,):
            return LakeTable(
                self.path, "t", "copy_on_write", 9, columns, self.key, (), self.ordering, "event_time", foreign=self.foreign,
            )  # fmt: skip
        return LakeTable(
            self.path, "t", "copy_on_write", 9, (*columns, LakeColumn(READ_SEQ, "bigint")), self.key, self.partition_fields,
            self.ordering, "tool", spelled=self.spelled,
        )  # fmt: skip

    def pin(self) -> LakePin | None:
        self.journal.reached("lake.pin")
        if not self.commits:
            return None
        return LakePin(self.commits[-1].instant, tuple(sorted(self.in_flight)))

    def is_intact(self, pin: LakePin) -> bool:
        return all(writer in self.in_flight | self.rolled_back for writer in pin.in_flight)

    def find_checkpoint(self) -> CheckpointAt | None:
        self.journal.reached("lake.find_checkpoint")
        for commit in reversed(self.commits):
            if commit.checkpoint is not None:
                return CheckpointAt(commit.checkpoint, commit.instant)
        return None

    def count_rows(self, pin: LakePin) -> int:
        return len(rows_of(self.read_rows(pin)))

    def read_rows(self, pin: LakePin) -> Frame:
        self.journal.reached("lake.read_rows")
        (found,) = [commit for commit in self.commits if commit.instant == pin.instant]
        self.files.add(found.instant.completed)
        blank = {column.name: None for column in self.more_columns}
        return Frame([{**blank, **row} for row in found.rows])

    def list_partitions(self, pin: LakePin, rule: PathRule) -> tuple[PartitionRows, ...]:
        self.journal.reached("lake.list_partitions")
        held = [(self._path_of(row, rule, "lake"), row["id"] in self.misplaced) for row in rows_of(self.read_rows(pin))]
        unlike = Counter(path for path, misplaced in held if misplaced)
        return tuple(PartitionRows(path, n, unlike[path]) for path, n in sorted(Counter(p for p, _ in held).items()))

    def mark_scope(self, rows: Frame, side: Literal["source", "lake"], scope: PartitionScope) -> Frame:
        return Frame([{**row, IN_SCOPE: self._path_of(row, scope.rule, side) in scope.paths} for row in rows_of(rows)])

    def _path_of(self, row: Row, rule: PathRule, side: str) -> str:
        """Of tables with one plain partition column."""
        (field_,) = rule.fields
        value = row[field_.lake_name if side == "lake" else f"c{field_.index}"]
        text = DEFAULT if value is None else str(value)
        return f"{field_.lake_name}={text}" if rule.hive_style else text

    def build_batch(
        self,
        rows: Frame,
        columns: tuple[Column, ...],
        partition_by: tuple[PartitionField, ...],
        read_seq: int,
        shape: BatchShape = AS_SOURCE,
    ) -> Batch:
        named = {f"c{i}": c.lake_name for i, c in enumerate(columns) if c.lake_name not in shape.left_out}
        blank = {column.name: None for column in shape.dropped}
        images = [{**{name: row[c] for c, name in named.items()}, **blank, READ_SEQ: read_seq} for row in rows_of(rows)]
        mixes = shape.into is not None and not shape.into.spelled
        held = [row for row in images if mixes and row["id"] == ""]  # the one odd key of one column
        return Batch(Frame([row for row in images if row not in held]), len(held), ('[""]',) if held else ())

    def create(self, rows: Frame, table: NewTable, checkpoint: Checkpoint, labels: Mapping[str, str]) -> Instant:
        self._writes("lake.create")
        if self.commits:
            raise LakeError("the table is there", fix="pull into it")
        self.key = table.record_key
        self.partition_fields = tuple(one.lake_name for one in table.partition_by) or self.partition_fields
        self.spelled = table.spelled and any(row["id"] == "" for row in rows_of(rows))
        return self.plant([self.stamped(row) for row in rows_of(rows)], checkpoint, **labels)

    def upsert(self, rows: Frame, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]) -> Instant:
        self._writes("lake.upsert")
        self._become(table, rows)
        return self.plant(self._merged(self._newest(rows_of(rows)), set()), checkpoint, **labels)

    def compare_overwrite(self, rows: Frame, table: LakeTable) -> Replaced:
        there = {row["id"] for row in rows_of(rows)}
        return Replaced(len(self.now), sum(row["id"] not in there for row in self.now))

    def overwrite(self, rows: Frame, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]) -> Instant:
        self._writes("lake.overwrite")
        self._become(table, rows)
        return self.plant([self.stamped(row) for row in rows_of(rows)], checkpoint, **labels)

    def mark(self, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]) -> Instant:
        self._writes("lake.mark")
        return self.plant(self.now, checkpoint, **labels)

    def read_origin(self, upto: Instant | None = None) -> Origin:
        self.journal.reached("lake.read_origin")
        later = (
            upto is not None and self.made_by.instant is not None and self.made_by.instant.completed > upto.completed
        )
        return self.made_before if later else self.made_by

    def hand_back(self, table: LakeTable, key: str, value: str) -> Instant:
        self._writes("lake.hand_back")
        instant = self.plant(self.now)
        self.made_by = replace(self.made_by, streamer_key=key, streamer_checkpoint=value, instant=instant)
        return instant

    def correct(
        self, batch: Corrective, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]
    ) -> Instant:
        self._writes("lake.correct")
        doubled = Counter(row["id"] for row in self.now)
        assert all(doubled[row["id"]] < 2 for row in rows_of(batch.expected)), "Hudi would write every copy"
        self._become(table, batch.upserts)
        # In another tool's table, rows that its ordering would drop are written by `replace` (`lake/hudi_lake.py`).
        merged = self._newest(rows_of(batch.upserts)) if table.owned else rows_of(batch.upserts)
        return self._corrected(replace(batch, upserts=Frame(merged)), checkpoint, labels)

    def replace(
        self, batch: Corrective, table: LakeTable, checkpoint: Checkpoint, labels: Mapping[str, str]
    ) -> Instant:
        self._writes("lake.replace")
        if self.cannot_replace:
            raise RefusedError(self.cannot_replace, fix="another lake.path")
        self._become(table, batch.upserts)
        instant = self._corrected(batch, checkpoint, labels)
        self.commits[-1] = replace(self.commits[-1], rows=tuple(self.stamped(row) for row in self.now))
        return instant

    def _become(self, table: LakeTable, rows: Frame) -> None:
        """The table's columns are those of the newest commit; no commit may lack one, or have a narrower."""
        types = {column.name: column.type for column in table.columns}
        # What another tool's table has no column for is not written into it (`lake/foreign_table.py`).
        unwritten = {SEQNO} if table.owned else {SEQNO, READ_SEQ}
        assert all(row.keys() - unwritten == types.keys() for row in rows_of(rows)), "rows of other columns"
        was = self.look()
        assert was is None or all(kinds.holds(types[column.name], column.type) for column in was.columns)
        self.v_type = types["v"]
        ours = {"id", "v", "at", READ_SEQ}
        self.more_columns = tuple(column for column in table.columns if column.name not in ours)

    def _corrected(self, batch: Corrective, checkpoint: Checkpoint, labels: Mapping[str, str]) -> Instant:
        if self.checks_conflicts and self.in_flight:
            raise SupersededError("another writer is in flight", fix="sweep again")
        expected: dict[Any, list[str]] = {}
        for row in rows_of(batch.expected):
            expected.setdefault(row["id"], []).extend([row["_hr_seqno"]] if row["_hr_seqno"] else [])
        found = {key: sorted(row[SEQNO] for row in self.now if row["id"] == key) for key in expected}
        if self.checks_versions and found != {key: sorted(seqnos) for key, seqnos in expected.items()}:
            raise SupersededError("another writer was faster", fix="sweep again")
        upserts = [row for row in rows_of(batch.upserts) if row["id"] not in self.dropped_writes]
        gone = {row["id"] for row in rows_of(batch.deletes)} - self.dropped_writes
        return self.plant(self._merged(upserts, gone), checkpoint, **labels)

    def list_writers(self) -> Writers:
        return self.others

    def list_silent_writers(self) -> tuple[str, ...]:
        self.journal.reached("lake.list_silent_writers")
        return self.others.without_heartbeat

    def roll_back(self, requested: str) -> None:
        self.journal.reached("lake.roll_back")
        left = tuple(one for one in self.others.without_heartbeat if one != requested)
        self.others = replace(self.others, without_heartbeat=left)
        self.in_flight.discard(requested)
        self.rolled_back.add(requested)

    def pin_around(self, commit: Instant) -> tuple[LakePin, LakePin]:
        if self.cleaned:
            raise RefusedError("the rows from before may be cleaned", fix="sweep")
        place = next(number for number, one in enumerate(self.commits) if one.instant == commit)
        return LakePin(self.commits[place - 1].instant, ()), LakePin(commit, ())

    def prepare_undo(self, commit: Instant, table: LakeTable, read_seq: int) -> TakenBack:
        self.journal.reached("lake.prepare_undo")
        place = next(number for number, one in enumerate(self.commits) if one.instant == commit)
        before, at, now = (
            {row["id"]: row for row in rows}
            for rows in (self.commits[place - 1].rows, self.commits[place].rows, self.now)
        )
        wrote = [key for key in before | at if _version(before.get(key)) != _version(at.get(key))]
        status = {key: "ready" if _version(at.get(key)) == _version(now.get(key)) else "superseded" for key in wrote}
        since = {row["id"] for one in self.commits[place + 1 :] for row in one.rows}
        status |= {key: "superseded" for key in wrote if key not in at and key in since}
        counts = Counter(("upsert" if key in before else "delete", status[key]) for key in wrote)
        ready = [key for key in wrote if status[key] == "ready"]
        upserts = [{**before[key], READ_SEQ: read_seq} for key in ready if key in before]
        expected = [{"id": key, "_hr_seqno": _version(now.get(key))} for key in ready]
        deletes = [now[key] for key in ready if key not in before]
        return TakenBack(counts, Corrective(Frame(upserts), Frame(deletes), Frame(expected)))

    def count_shown(self, upserts: Frame, table: LakeTable) -> int:
        self.journal.reached("lake.count_shown")
        held = [{name: row[name] for name in ("id", "v", "at")} for row in self.now]
        return sum({name: row[name] for name in ("id", "v", "at")} in held for row in rows_of(upserts))

    def savepoint(self, comment: str, earlier: Sequence[str] = ()) -> str:
        self.journal.reached("lake.savepoint")
        stands = [one for one in earlier if one in self.savepoints]
        if stands:
            return stands[0]
        requested = self.commits[-1].instant.requested
        self.savepoints += [] if requested in self.savepoints else [requested]
        return requested

    def drop_savepoints(self, keep: str) -> tuple[str, ...]:
        self.journal.reached("lake.drop_savepoints")
        old = tuple(one for one in self.savepoints if one != keep)
        self.savepoints[:] = [one for one in self.savepoints if one == keep]
        return old

    def find_labels(self, key: str) -> tuple[tuple[str, Instant], ...]:
        return tuple((one.labels[key], one.instant) for one in reversed(self.commits) if key in one.labels)

    @contextmanager
    def lease(self, owner: str) -> Iterator[None]:
        if self.held_by is not None:
            raise RefusedError(f"held by {self.held_by}", fix="wait")
        self.held_by = owner
        self.holders.append(owner)
        try:
            yield
        finally:
            self.holders.remove(owner)
            self.held_by = None if self.held_by == owner else self.held_by

    def count_files(self) -> FilesRead:
        return FilesRead(len(self.files), is_all=not self.wrote)

    def _writes(self, point: str) -> None:
        self.journal.reached(point)
        self.wrote = self.wrote or bool(self.commits)
        if self.holders and self.held_by != self.holders[-1]:
            raise SupersededError("the lease was lost", fix="run it again")

    def _newest(self, upserts: list[Row]) -> list[Row]:
        """Those that Hudi's merge does not drop: no row of the lake stands above them in the ordering."""
        ranks = {row["id"]: self._rank(row) for row in self.now}
        return [row for row in upserts if row["id"] not in ranks or self._rank(row) >= ranks[row["id"]]]

    def _rank(self, row: Row) -> tuple[tuple[bool, Any], ...]:
        return tuple((row.get(name) is not None, row.get(name) or 0) for name in self.ordering)

    def _merged(self, upserts: list[Row], gone: set[Any]) -> list[Row]:
        replaced = {row["id"] for row in upserts} | gone
        return [row for row in self.now if row["id"] not in replaced] + [self.stamped(row) for row in upserts]
