"""The fake source keeps the contract of `tests/contracts/source.py`."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from hudi_reconcile.ports import Frame
from tests.contracts.source import ROWS, Held, SourceContract
from tests.fakes.rows import FakeClock, Journal, rows_of
from tests.fakes.source import FakeSource


@dataclass(frozen=True, slots=True)
class FakeGround:
    port: FakeSource

    def read(self, frame: Frame) -> list[Held]:
        return [(row["c0"], row["c1"], row["c2"]) for row in rows_of(frame)]

    def write(self, key: int, value: int) -> None:
        self.port.put(key, value, self.port.table[key]["at"])

    def remove(self, key: int | None) -> None:
        self.port.delete(key)


@pytest.fixture
def ground() -> FakeGround:
    journal = Journal()
    port = FakeSource(journal, FakeClock(journal))
    for row in ROWS:
        port.put(*row)
    return FakeGround(port)


class TestFakeSource(SourceContract):
    pass
