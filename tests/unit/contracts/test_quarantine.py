"""The fake quarantine keeps the contract of `tests/contracts/quarantine.py`."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from hudi_reconcile.core.rules.rules import NotNull, Rule, ValueRange
from hudi_reconcile.ports import HELD_RULES, Frame
from tests.contracts.quarantine import RULES, Image, QuarantineContract
from tests.fakes.quarantine import Breaks, FakeQuarantine
from tests.fakes.rows import rows_of


@dataclass(frozen=True, slots=True)
class FakeGround:
    port: FakeQuarantine

    def images(self, *rows: Image) -> Frame:
        return Frame([{"id": key, "v": value} for key, value in rows])

    def held(self, keys: Frame) -> dict[int, list[str]]:
        found = {row["id"]: row[HELD_RULES] for row in rows_of(keys)}
        assert all(row.keys() == {"id", HELD_RULES} for row in rows_of(keys))
        assert len(found) == len(rows_of(keys))
        return found

    def listed(self) -> set[int]:
        return {row["id"] for row in self.port.listed}


def breach(rule: Rule) -> Breaks:
    """The rule in Python."""
    if isinstance(rule.check, NotNull):
        return lambda row: row["v"] is None
    assert isinstance(rule.check, ValueRange)
    most = int(str(rule.check.max))
    return lambda row: row["v"] is not None and row["v"] > most


@pytest.fixture
def ground() -> FakeGround:
    return FakeGround(FakeQuarantine({rule.id: breach(rule) for rule in RULES}))


class TestFakeQuarantine(QuarantineContract):
    pass
