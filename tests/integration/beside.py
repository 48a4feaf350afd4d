"""An apply beside a second writer: a table with drift of each kind, what either wrote, and what must hold afterwards."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from hudi_reconcile.core.tables.values import LakePin
from hudi_reconcile.lake.bridge import Timeline
from hudi_reconcile.lake.reads import read_pinned
from hudi_reconcile.lake.timeline import convert_action, list_writers_in_flight
from tests.integration.project import Project, Ran, in_lake, in_source
from tests.support.second_writer import DEFAULT, OPTIMISTIC, Gate, Point, SecondWriter, held_after_validators

COLUMNS = ("order_id", "region", "note")
ROWS = 40
AT = "2025-01-01T00:00:00"
# Of the plan: rows to update, to delete, to insert; 101 into a partition, so into a file, that is not there yet.
UPDATED, DELETED, INSERTED = (1, 2), (3, 4), (101, 102)
PLANNED = len(UPDATED) + len(DELETED) + len(INSERTED)
# What the second writer writes: keys of the plan, one of each kind; keys of the same file; a key of no file.
SAME, OTHERS, NEW = (1, 3, 101), (5, 6), (101,)


@dataclass(slots=True)
class Beside:
    """A table `orders` that was swept, its plan not yet applied, and the second writer."""

    spark: SparkSession
    project: Project
    second: SecondWriter
    base: dict[int, tuple[str, str]] = field(default_factory=dict)
    theirs: dict[int, tuple[str, str]] = field(default_factory=dict)

    def swept(self, kind: str) -> Beside:
        """Pull, let the two sides drift apart in silence, and sweep."""
        self.project.database.execute(
            "create table orders (order_id bigint primary key, region text not null, note text, updated_at timestamp not null)",
            f"insert into orders select i, 'a', 'n' || i, '{AT}' from generate_series(1, {ROWS - 1}) i",
            f"insert into orders values ({ROWS}, 'a', 'n{ROWS}', timestamp '{AT}' + interval '1 day')",
        )
        self.project.settings["lake"] = {"path": "lake/orders", "type": kind, "partition_by": ["region"]}
        self.project.settings["policy"] = {"max_delete_share": "20%"}
        assert self.project.run("pull").code == 0
        self.base = self.lake()
        self.project.database.execute(
            f"update orders set note = 'right' where order_id in {UPDATED}",
            f"delete from orders where order_id in {DELETED}",
            f"insert into orders values (101, 'new', 'right', '{AT}'), (102, 'a', 'right', '{AT}')",
        )
        assert self.project.run("sweep").code == 1
        return self

    def writes(
        self,
        keys: Sequence[int],
        options: Mapping[str, str],
        hold: tuple[Point, Gate] | None = None,
        word: str = "theirs",
    ) -> Path:
        """Begin an upsert of these keys by the second writer."""
        self.theirs = {key: ("new" if key == 101 else "a", word) for key in keys}
        seq = time.time_ns() // 1000
        rows = [
            {"order_id": key, "region": region, "note": note, "updated_at": AT, "_hr_read_seq": seq}
            for key, (region, note) in self.theirs.items()
        ]
        return self.second.upsert(self.project.lake, rows, options, hold)

    def apply(self) -> Ran:
        """Apply the newest plan while nobody else moves; no instant of ours is left."""
        before = self.in_flight()
        ran = self._applied()
        assert set(self.in_flight()) <= set(before), "an instant of ours is left in flight"
        return ran

    def _applied(self) -> Ran:
        """Apply the newest plan; what it says adds up."""
        ran = self.project.json("apply", "latest", "--yes")
        if ran.table["error"] is None:
            assert sum(statuses(ran).values()) == PLANNED, ran
            assert len(self.project.left(ran)) == PLANNED - statuses(ran).get("applied", 0)
        return ran

    def apply_held(
        self, gate: Gate, keys: Sequence[int], options: Mapping[str, str], held: tuple[Point, Gate] | None = None
    ) -> tuple[Ran, Path, Any]:
        """Apply, and let the second writer begin between our validators and our commit.

        We go on when it has ended, stands at the table's lock, or has come to where it is `held`. Returns what our apply
        said, the file of the other's answer, and that answer if it had ended.
        """

        def other() -> tuple[Path, Any]:
            try:
                gate.wait()
                answer = self.writes(keys, options, held)
                if held is None:
                    return answer, self.second.ended_or_waits(answer)
                held[1].wait()
                return answer, None
            finally:
                gate.open()

        with ThreadPoolExecutor(1) as pool, held_after_validators(self.spark, gate):
            begun = pool.submit(other)
            ran = self._applied()
            return ran, *begun.result()

    def in_flight(self) -> tuple[str, ...]:
        return list_writers_in_flight(Timeline(self.spark, str(self.project.lake)))

    def lake(self) -> dict[int, tuple[str, str]]:
        """The lake's rows by key; no key is there twice."""
        return by_key(in_lake(self.spark, self.project, *COLUMNS))

    def shows(self, *, ours: bool, theirs: bool = True, read_earlier: bool = False) -> None:
        """The lake holds all of our plan or none of it, and over it whatever the second writer was told is committed.

        Rows that the second writer had `read_earlier` than we read ours are in the lake only where we left none.
        """
        wanted = dict(self.base)
        if ours:
            wanted |= dict.fromkeys((*UPDATED, 102), ("a", "right")) | {101: ("new", "right")}
            wanted = {key: row for key, row in wanted.items() if key not in DELETED}
        if theirs:
            wanted = {**self.theirs, **wanted} if read_earlier else {**wanted, **self.theirs}
        found = self.lake()
        assert found == wanted, (
            f"the lake shows {found} and not {wanted}"
        )  # a message of its own: nobody rewrites this module's

    def goes_on(self) -> None:
        """Nothing is in flight, and a writer with Hudi's defaults is not hindered."""
        assert self.in_flight() == ()
        found = self.second.ended(self.writes((30,), DEFAULT, word="default"))
        assert found == "committed", found
        assert self.lake()[30] == ("a", "default")

    def ends_right(self) -> None:
        """A writer with Hudi's defaults goes on; the next sweep and apply bring what is left; no state was a step back."""
        theirs = dict(self.theirs)
        self.goes_on()
        assert self.project.run("sweep").code == 1
        again = self.project.json("apply", "latest", "--yes")
        assert (again.code, again.document["outcome"]) == (0, "corrected"), again
        assert self.lake() == by_key(in_source(self.project, *COLUMNS))
        self._never_steps_back(theirs)

    def _never_steps_back(self, theirs: Mapping[int, tuple[str, str]]) -> None:
        """In the snapshot of every commit each key is there once; what the second writer wrote stays until it is swept."""
        path = str(self.project.lake)
        done = sorted(Timeline(self.spark, path).list_completed(), key=lambda one: one.completed or "")
        seen = [
            by_key(
                [
                    tuple(row)
                    for row in read_pinned(self.spark, path, LakePin(convert_action(one), ()))
                    .select(*COLUMNS)
                    .collect()
                ]
            )
            for one in done
        ]
        written = [all(state.get(key) == row for key, row in theirs.items()) for state in seen[:-1]]
        if theirs and any(written):
            assert all(written[written.index(True) :]), "a row of the second writer's was written over unseen"


def superseded_whole(beside: Beside, gate: Gate, point: Point, keys: tuple[int, ...]) -> None:
    """An optimistic writer is held in its write while we apply."""
    answer = beside.writes(keys, OPTIMISTIC, (point, gate))
    gate.wait()
    theirs = beside.in_flight()
    assert len(theirs) == 1

    ran = beside.apply()

    assert (ran.code, statuses(ran)) == (4, {"superseded": PLANNED}), ran
    assert beside.in_flight() == theirs
    beside.shows(ours=False, theirs=False)
    gate.open()
    assert beside.second.ended(answer) == "committed"
    beside.shows(ours=False)


def waits_for_our_commit(beside: Beside, gate: Gate, keys: tuple[int, ...]) -> None:
    """Our apply is held between its validators and its commit while an optimistic writer begins."""
    ran, answer, early = beside.apply_held(gate, keys, OPTIMISTIC)

    assert beside.second.ended(answer) == "committed"
    beside.shows(ours=statuses(ran).get("applied", 0) > 0)
    assert early is None, f"it did not wait for us: {early}"
    # It goes on when we have committed, and may be seen or not by our look at what we wrote.
    assert statuses(ran) in ({"applied": PLANNED}, written_over(keys)), ran
    assert ran.code == 4 or (ran.code, statuses(ran)) == (0, {"applied": PLANNED}), ran


def written_over(keys: Sequence[int]) -> dict[str, int]:
    """Statuses where these keys were written again between our commit and the look at what it made."""
    lost = sum(key in (*UPDATED, *DELETED, *INSERTED) for key in keys)
    return {"applied": PLANNED - lost, **({"failed": lost} if lost else {})}


def by_key(rows: Sequence[tuple[Any, ...]]) -> dict[int, tuple[str, str]]:
    """Rows by key. Fails where a key is there twice."""
    found = {key: (region, note) for key, region, note in rows}
    assert len(found) == len(rows), f"a key is there twice: {sorted(rows)}"
    return found


def statuses(ran: Ran) -> dict[str, int]:
    """What became of the planned corrections."""
    names = ("applied", "superseded", "moved", "failed", "held")
    return {name: ran.table["corrections"][name] for name in names if ran.table["corrections"].get(name)}
