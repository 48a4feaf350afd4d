"""Small runs to write and read back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import RunResult, TableResult, run_document
from hudi_reconcile.core.result_parts import Corrections
from hudi_reconcile.evidence.store import Store

NOON_MICROS = 1_795_262_400_000_000
SECOND = 1_000_000

RunWriter = Callable[..., str]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "reports")


@pytest.fixture
def result_of() -> Callable[..., Mapping[str, Any]]:
    def build(command: str = "sweep", table: str = "orders", run_id: str = "r") -> Mapping[str, Any]:
        done = TableResult(table, Outcome.DRIFT, findings={"deleted": 3}, corrections=Corrections(deletes=3))
        return run_document(RunResult(run_id, command, "2026-11-21T12:00:00Z", "2026-11-21T12:00:09Z", (done,)))

    return build


@pytest.fixture
def write_run(store: Store, result_of: Callable[..., Mapping[str, Any]]) -> RunWriter:
    """Write a finished run; later calls are later runs."""
    calls = iter(range(1_000))

    def write(command: str = "sweep", table: str = "orders") -> str:
        with store.begin(NOON_MICROS + next(calls) * SECOND) as folder:
            folder.write_result(result_of(command, table, folder.run_id))
            folder.write_text("report.html", "<p>report</p>")
            folder.finish()
        return folder.run_id

    return write
