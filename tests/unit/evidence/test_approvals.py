"""Approvals are read from the audit log, and not from one that was edited."""

from __future__ import annotations

import json

import pytest

from hudi_reconcile.core.errors import RefusedError
from hudi_reconcile.core.outcome import Outcome
from hudi_reconcile.core.result import RunResult, TableResult, run_document
from hudi_reconcile.core.result_parts import Approved
from hudi_reconcile.evidence.store import Store
from hudi_reconcile.evidence.trust import list_approvals
from tests.unit.evidence.conftest import NOON_MICROS, SECOND, RunWriter


def word(by: str, table: str = "orders") -> TableResult:
    given = Approved("ab" * 32, "r1", 3, 2, by, f"{by}@desk", "2026-11-21T12:00:00Z")
    return TableResult(table, Outcome.APPROVED, approval=given)


def approve(store: Store, second: int, *tables: TableResult) -> None:
    with store.begin(NOON_MICROS + second * SECOND) as folder:
        result = RunResult(folder.run_id, "approve", "2026-11-21T12:00:00Z", "2026-11-21T12:00:01Z", tables)
        folder.write_result(run_document(result))
        folder.finish()


def test_approvals_come_oldest_first_and_nothing_else_with_them(store: Store, write_run: RunWriter) -> None:
    assert list(list_approvals(store.reports)) == []
    write_run()
    approve(store, 10, word("alice"), word("alice", "items"))
    write_run("apply")
    approve(store, 20, word("bob"))

    assert [one.by for one in list_approvals(store.reports)] == ["alice", "alice", "bob"]
    assert next(list_approvals(store.reports)) == word("alice").approval


@pytest.mark.parametrize("edit", ["forged", "removed", "added"])
def test_log_that_was_edited_approves_nothing(store: Store, write_run: RunWriter, edit: str) -> None:
    write_run()
    approve(store, 10, word("alice"))
    approve(store, 20, word("bob"))
    log = store.reports / "audit.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    forged = json.loads(lines[1])
    forged["tables"][0]["approval"]["by"] = "mallory"
    edited = {
        "forged": [lines[0], json.dumps(forged, sort_keys=True, separators=(",", ":")) + "\n", lines[2]],
        "removed": [lines[0], lines[2]],
        "added": [*lines, lines[1]],
    }
    log.write_text("".join(edited[edit]))

    with pytest.raises(RefusedError, match="cannot be trusted"):
        list(list_approvals(store.reports))
