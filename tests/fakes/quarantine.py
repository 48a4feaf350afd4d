"""A quarantine in memory: rules are Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hudi_reconcile.ports import HELD_RULES, Frame, QuarantinedRows
from tests.fakes.rows import Row, rows_of

Breaks = Callable[[Row], bool]


@dataclass
class FakeQuarantine:
    """Holds back what breaks one of the rules, each by its id."""

    rules: Mapping[str, Breaks]
    asked: list[Any] = field(default_factory=list)
    listed: list[Row] = field(default_factory=list)

    def hold_rows(self, images: Frame, key: tuple[str, ...]) -> QuarantinedRows:
        rows = rows_of(images)
        self.asked += [row["id"] for row in rows]
        broken = [(row, [name for name, breaks in self.rules.items() if breaks(row)]) for row in rows]
        held = [{**{name: row[name] for name in key}, HELD_RULES: names} for row, names in broken if names]
        self.listed += held
        counts = {name: sum(name in row[HELD_RULES] for row in held) for name in sorted(self.rules)}
        return QuarantinedRows(Frame(held), {name: rows for name, rows in counts.items() if rows})
