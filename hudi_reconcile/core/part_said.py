"""What a sweep of a part of a table says of the rest: what was not compared, how much, and what to type. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from hudi_reconcile.core.partitions import PartitionRows
from hudi_reconcile.core.result import Unverified

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a sweep of a part came.

    `asked` are the partitions, none where all were meant, and `lake` those that the lake has. Of `segments` it compared
    `compared` within `budget`, the text of the option. `source_rows_left_out` is the table's own count less what was read.
    """

    table: str
    segments: int
    compared: int
    asked: tuple[str, ...] = ()
    lake: tuple[PartitionRows, ...] = ()
    budget: str = ""
    source_rows_left_out: int = 0

    @property
    def is_whole(self) -> bool:
        """True where nothing was left out."""
        return not self.asked and self.compared == self.segments

    @property
    def others(self) -> tuple[PartitionRows, ...]:
        """The lake's partitions that were not asked for."""
        return tuple(one for one in self.lake if self.asked and one.path not in self.asked)

    @property
    def absent(self) -> tuple[str, ...]:
        """Partitions that were asked for and that the lake does not have."""
        there = {one.path for one in self.lake}
        return tuple(path for path in self.asked if path not in there)


def not_compared(reached: Reached) -> tuple[Unverified, ...]:
    """What was left out; nothing where all was compared."""
    table, found = shlex.quote(reached.table), []
    if reached.asked:
        fix = f"sweep without --where-partition: hudi-reconcile sweep -t {table}"
        found.append(Unverified("rows", reached.table, _partitions(reached), fix))
    left = reached.segments - reached.compared
    if left:
        why = f"the budget of {reached.budget} was spent: {left} of {reached.segments} segments were not compared"
        again = "".join(f" --where-partition {shlex.quote(path)}" for path in reached.asked)
        fix = (
            "run the same command again, it begins with what was compared longest ago: "
            f"hudi-reconcile sweep -t {table}{again} --budget {reached.budget}"
        )
        found.append(Unverified("segment", reached.table, why, fix))
    return tuple(found)


def part_text(reached: Reached) -> str | None:
    """What was compared, in words; None where it was the whole table."""
    said = [f"partitions {', '.join(reached.asked)}"] if reached.asked else []
    if reached.compared < reached.segments:
        said.append(f"{reached.compared} of {reached.segments} segments")
    return ", ".join(said) or None


def part_notes(reached: Reached) -> tuple[str, ...]:
    """What a reader of the numbers must know."""
    part = part_text(reached)
    if part is None:
        return ()
    notes = [f"only {part} compared: rows, totals and shares are of those"]
    if reached.absent:
        notes.append(f"not in the lake: {', '.join(reached.absent)}")
    return tuple(notes)


def _partitions(reached: Reached) -> str:
    others = reached.others
    rows = sum(one.rows for one in others)
    source = f"and {reached.source_rows_left_out} source rows lie outside {', '.join(reached.asked)}"
    if not others:
        return f"only some partitions were compared: 0 other partitions of the lake {source}"
    return (
        f"{len(others)} of {len(reached.lake)} partitions of the lake were not compared ({_named(others)}): "
        f"{rows} lake rows {source}"
    )


def _named(partitions: Sequence[PartitionRows]) -> str:
    shown = ", ".join(one.path for one in partitions[:_SHOWN])
    return f"{shown}, …" if len(partitions) > _SHOWN else shown
