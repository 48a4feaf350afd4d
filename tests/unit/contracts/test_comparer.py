"""The fake comparer keeps the contract of `tests/contracts/comparer.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from hudi_reconcile.core.tables.agreement import Agreement, ComparedColumn
from hudi_reconcile.core.tables.values import IN_SCOPE, READ_SEQ
from hudi_reconcile.ports import HELD_RULES, Frame
from tests.contracts.comparer import CUT, ComparerContract, Held, Shown
from tests.fakes.comparer import FakeComparer
from tests.fakes.rows import COLUMNS, SEQNO, Journal, rows_of


@dataclass(frozen=True, slots=True)
class FakeGround:
    port: FakeComparer
    cutting: FakeComparer

    def source(self, *rows: Held) -> Frame:
        return Frame([{"c0": row[0], "c1": row[1], "c2": row[2]} for row in rows])

    def lake(self, *rows: Shown) -> Frame:
        return Frame([{"id": k, "v": v, "at": at, SEQNO: seqno, READ_SEQ: 100 * k} for k, v, at, seqno in rows])

    def held(self, rules: Mapping[int, Sequence[str]]) -> Frame:
        return Frame([{"id": key, HELD_RULES: list(broken)} for key, broken in rules.items()])

    def mark(self, frame: Frame, *ids: int) -> Frame:
        return Frame([{**row, IN_SCOPE: row["c0" if "c0" in row else "id"] in ids} for row in rows_of(frame)])

    def told(self, frame: Frame, column: str) -> dict[int, Any]:
        found = {row["key"][0]: row[column] for row in rows_of(frame)}
        assert len(found) == len(rows_of(frame))
        return found

    def ids(self, frame: Frame, column: str) -> list[int]:
        return sorted(row[column] for row in rows_of(frame))

    def versions(self, expected: Frame) -> set[tuple[int, str | None]]:
        return {(row["id"], row["_hr_seqno"]) for row in rows_of(expected)}

    def kept(self, frame: Frame, rows: int) -> Frame:
        self.port.save(frame, "findings", rows)
        return self.port.load("findings", ["part"])


def comparer(digits: int | None = None) -> FakeComparer:
    items = tuple(
        ComparedColumn(i, column, kind, fraction_digits=digits if column.name == "at" else None)
        for i, (column, kind) in enumerate(zip(COLUMNS, ("bigint", "bigint", "timestamp_ntz"), strict=True))
    )
    return FakeComparer(Journal(), {}, Agreement(items, items[:1], items[2:], ()), CUT)


@pytest.fixture
def ground() -> FakeGround:
    return FakeGround(comparer(), comparer(5))


class TestFakeComparer(ComparerContract):
    pass
