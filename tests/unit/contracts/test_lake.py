"""The fake lake keeps the contract of `tests/contracts/lake.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from hudi_reconcile.core.tables.values import READ_SEQ
from hudi_reconcile.ports import Frame
from tests.contracts.lake import NO_VERSION, Image, LakeContract
from tests.fakes.lake import FakeLake
from tests.fakes.rows import Journal, rows_of


@dataclass(frozen=True, slots=True)
class FakeGround:
    port: FakeLake

    def images(self, *rows: Image) -> Frame:
        return Frame([{"id": key, "v": value, "at": 5, READ_SEQ: read_seq} for key, value, read_seq in rows])

    def source_rows(self, *rows: tuple[int, int | None]) -> Frame:
        return Frame([{"c0": key, "c1": value, "c2": 5} for key, value in rows])

    def expected(self, versions: Mapping[int, list[str]]) -> Frame:
        pairs = [(key, one) for key, seqnos in versions.items() for one in seqnos or NO_VERSION]
        return Frame([{"id": key, "_hr_seqno": one} for key, one in pairs])

    def keep(self, rows: Frame, *keys: int) -> Frame:
        return Frame([row for row in rows_of(rows) if row["id"] in keys])

    def read(self, rows: Frame, *columns: str) -> list[tuple[object, ...]]:
        return sorted((tuple(row[name] for name in columns) for row in rows_of(rows)), key=str)

    def names(self, rows: Frame) -> set[str]:
        return {name for row in rows_of(rows) for name in row}

    def double(self, key: int, value: int) -> None:
        copy = self.port.stamped({"id": key, "v": value, "at": 5, READ_SEQ: 1})
        self.port.plant([*self.port.now, copy])

    def begin(self) -> str:
        return self.port.begin("9" * 17)


@pytest.fixture
def ground() -> FakeGround:
    return FakeGround(FakeLake(Journal()))


class TestFakeLake(LakeContract):
    pass
